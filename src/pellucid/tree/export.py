"""A tree as text, with the user's column names and level names."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pellucid.data import Schema
from pellucid.errors import DataError
from pellucid.tree.nodes import Nodes


def export_text(
    decision_tree: Any,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """The rules of a fitted tree, one line per node.

    Examples
    --------
    >>> from pellucid.tree import DecisionTreeClassifier, export_text
    >>> model = DecisionTreeClassifier().fit([[1.5], [1.7], [2.3], [2.7], [2.7]], [1, 1, 2, 2, 3])
    >>> print(export_text(model, feature_names=["x"]))
    |--- x <= 2.00
    |   |--- class: 1
    |--- x >  2.00
    |   |--- x <= 2.50
    |   |   |--- class: 2
    |   |--- x >  2.50
    |   |   |--- class: 2
    <BLANKLINE>
    """
    decision_tree._check_fitted()
    schema = decision_tree.schema_
    names = list(feature_names) if feature_names is not None else list(schema.columns)
    if len(names) != schema.n_columns:
        raise DataError(
            f"feature_names must contain {schema.n_columns} elements, got {len(names)}."
        )
    labels = class_names if class_names is not None else decision_tree.__dict__.get("classes_")
    if labels is not None and len(labels) != decision_tree.tree_.value.shape[1]:
        raise DataError(
            f"class_names must contain {decision_tree.tree_.value.shape[1]} elements, got "
            f"{len(labels)}."
        )
    printer = _Printer(
        decision_tree.tree_, schema, names, labels, max_depth, spacing, decimals, show_weights
    )
    printer.node(0, 0, {})
    return "\n".join(printer.lines) + "\n"


@dataclass
class _Printer:
    nodes: Nodes
    schema: Schema
    names: list[str]
    labels: Any
    max_depth: int
    spacing: int
    decimals: int
    show_weights: bool
    lines: list[str] = field(default_factory=list)

    def _line(self, depth: int, text: str) -> None:
        bar = "|" + " " * self.spacing
        self.lines.append(bar * depth + "|" + "-" * self.spacing + " " + text)

    def node(self, i: int, depth: int, reach: dict[int, np.ndarray]) -> None:
        """Print node i; `reach` are the levels that can still arrive here, by column."""
        if self.nodes.feature[i] < 0:
            self._line(depth, self._leaf(i))
        elif depth > self.max_depth:
            self._line(depth, f"truncated branch of depth {self._depth_below(i)}")
        else:
            for side, (text, narrowed) in enumerate(self._sides(i, reach)):
                self._line(depth, text)
                child = (self.nodes.right if side else self.nodes.left)[i]
                self.node(int(child), depth + 1, narrowed)

    def _sides(self, i: int, reach: dict[int, np.ndarray]) -> list[tuple[str, dict]]:
        f = int(self.nodes.feature[i])
        name = self.names[f]
        if self.nodes.set_start[i] >= 0:
            codes = reach.get(f, np.arange(self.nodes.n_levels[f]))
            left = self.nodes.levels_left(i)
            parts = [codes[np.isin(codes, left)], codes[~np.isin(codes, left)]]
            texts = [f"{name} in {self._levels(f, part)}" for part in parts]
            narrowed = [reach | {f: part} for part in parts]
        elif np.isinf(self.nodes.threshold[i]):
            return [(f"{name} is present", reach), (f"{name} is missing", reach)]
        else:
            shown = f"{self.nodes.threshold[i]:.{self.decimals}f}"
            texts, narrowed = [f"{name} <= {shown}", f"{name} >  {shown}"], [reach, reach]
        if self.schema.n_missing[f] > 0:
            texts[0 if self.nodes.missing_left[i] else 1] += " or missing"
        return list(zip(texts, narrowed, strict=True))

    def _levels(self, f: int, codes: np.ndarray) -> str:
        levels = self.schema.levels[f]
        shown = ", ".join(str(levels[k]) for k in codes[:8])
        return "{" + shown + (f", ... {len(codes)} levels" if len(codes) > 8 else "") + "}"

    def _leaf(self, i: int) -> str:
        value = self.nodes.value[i]
        if self.labels is None:
            return f"value: [{value[0]:.{self.decimals}f}]"
        weights = ""
        if self.show_weights:
            shown = (f"{w:.{self.decimals}f}" for w in value * self.nodes.weight[i])
            weights = f"weights: [{', '.join(shown)}] "
        return f"{weights}class: {self.labels[value.argmax()]}"

    def _depth_below(self, i: int) -> int:
        """Levels of the branch at node i, its own included; a branch is a run of numbers."""
        depths = self.nodes.depths()[i:]
        later = np.flatnonzero(depths[1:] <= depths[0])
        branch = depths[: 1 + later[0]] if len(later) else depths
        return int(branch.max() - depths[0]) + 1
