"""A tree as text, as rules and as a picture, with the names of columns and levels."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pellucid.data import Schema
from pellucid.data.schema import DATETIME
from pellucid.draw.number import number
from pellucid.errors import DataError, ParameterError
from pellucid.parameters import Integer, check
from pellucid.tree import formatting
from pellucid.tree.base import TreeModel
from pellucid.tree.nodes import Nodes

_PARAMETERS = {"max_depth": Integer(0), "spacing": Integer(1), "decimals": Integer(0)}


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

    Numbers have `decimals` places, or more digits where rounding would make the text wrong.

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
    printer = _printer(
        "export_text", decision_tree, feature_names, class_names, max_depth, spacing, decimals
    )
    printer.show_weights = show_weights
    return "\n".join(printer.text()) + "\n"


def export_rules(
    decision_tree: Any, *, feature_names: Any = None, class_names: Any = None, decimals: int = 2
) -> list[str]:
    """One rule per leaf of a fitted tree, from left to right: its conditions and its prediction.

    Numbers have `decimals` places, or more digits where rounding would make a rule wrong.

    Examples
    --------
    >>> from pellucid.tree import DecisionTreeClassifier, export_rules
    >>> model = DecisionTreeClassifier().fit([[1.5], [1.7], [2.3]], ["a", "a", "b"])
    >>> export_rules(model, feature_names=["x"])
    ['if x <= 2.00 then class: a (2 samples)', 'if x >  2.00 then class: b (1 samples)']
    """
    printer = _printer(
        "export_rules", decision_tree, feature_names, class_names, 2**31, 3, decimals
    )
    return printer.rules()


def export_svg(
    decision_tree: Any,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int = 3,
    decimals: int = 2,
    row: Any = None,
    title: str = "",
) -> str:
    """A picture of a fitted tree as SVG, which can be saved as a file.

    The root is on the left; of two children the upper one satisfies the condition. A box has the
    condition or the prediction of a node, its impurity, its rows by class and in total. Bars are the
    class frequencies, or the mean between the lowest and the highest leaf (averaged over several
    targets). A branch below `max_depth` is one dashed box. `row` is a table of one row, whose path is
    drawn bold. `pellucid.plot.tree` makes the same picture for notebooks, files and matplotlib.

    Examples
    --------
    >>> from pellucid.tree import DecisionTreeClassifier, export_svg
    >>> model = DecisionTreeClassifier().fit([[1.5], [1.7], [2.3]], ["a", "a", "b"])
    >>> export_svg(model, row=[[1.6]])[:4]
    '<svg'
    """
    from pellucid.draw import tree

    printer = _printer(
        "export_svg", decision_tree, feature_names, class_names, max_depth, 3, decimals
    )
    nodes, numbers = printer.picture()
    passed = [numbers[i] for i in path_of(decision_tree, row) if i in numbers]
    return tree(nodes, printer.labels or [], path=passed, title=title, table=False)


def path_of(decision_tree: Any, row: Any) -> list[int]:
    """The nodes that a table of one row passes; none without a row."""
    if row is None:
        return []
    path = decision_tree.decision_path(row)
    if path.shape[0] != 1:
        raise DataError(f"row must be a table of one row, got {path.shape[0]} rows.")
    return path.indices.tolist()


def drawn_nodes(
    decision_tree: Any, *, feature_names: Any, class_names: Any, max_depth: int, decimals: int
) -> tuple[list[Any], dict[int, int], list[str]]:
    """The boxes of `draw.tree`, their positions by the number of the node, and the class names."""
    printer = _printer(
        "plot.tree", decision_tree, feature_names, class_names, max_depth, 3, decimals
    )
    nodes, numbers = printer.picture()
    return nodes, numbers, printer.labels or []


def _printer(
    owner: str, decision_tree: Any, feature_names: Any, class_names: Any, max_depth: int,
    spacing: int, decimals: int,
) -> "_Printer":  # fmt: skip
    if not isinstance(decision_tree, TreeModel):
        hint = " Use one of its estimators_." if hasattr(decision_tree, "estimators_") else ""
        raise ParameterError(
            f"{owner} needs a fitted DecisionTreeClassifier or DecisionTreeRegressor. Got an "
            f"object of type {type(decision_tree).__name__}.{hint}"
        )
    check(owner, {"max_depth": max_depth, "spacing": spacing, "decimals": decimals}, _PARAMETERS)
    decision_tree._check_fitted()
    schema, nodes = decision_tree.schema_, decision_tree.tree_
    known = schema.columns
    if owner == "export_text" and schema.names is None:  # as in scikit-learn
        known = tuple(f"feature_{j}" for j in range(schema.n_columns))
    names = _names(owner, "feature_names", feature_names, known, schema.n_columns)
    labels = decision_tree.__dict__.get("classes_")
    if labels is not None:
        labels = _names(owner, "class_names", class_names, labels, nodes.value.shape[1])
    return _Printer(
        nodes, schema, [formatting.one_line(name) for name in names],
        None if labels is None else [formatting.one_line(label) for label in labels],
        max_depth, spacing, decimals, formatting.threshold_forms(nodes, max_depth, decimals),
        formatting.value_form(nodes, decimals) if labels is None else "", decision_tree.criterion,
    )  # fmt: skip


def _names(owner: str, parameter: str, wanted: Any, known: Any, count: int) -> list[Any]:
    """The names that the user gave, or those of the fit."""
    if wanted is not None and (isinstance(wanted, str) or not hasattr(wanted, "__len__")):
        raise ParameterError(
            f"The '{parameter}' parameter of {owner} must be a list of {count} names or None. Got "
            f"{wanted!r} instead."
        )
    names = list(known if wanted is None else wanted)
    if len(names) != count:
        raise DataError(f"{parameter} must contain {count} elements, got {len(names)}.")
    return names


@dataclass
class _Printer:
    nodes: Nodes
    schema: Schema
    names: list[str]
    labels: list[str] | None
    max_depth: int
    spacing: int
    decimals: int
    forms: dict[int, str]  # of thresholds, by column
    value_form: str
    criterion: str
    show_weights: bool = False
    lines: list[str] = field(default_factory=list)

    def _line(self, depth: int, text: str) -> None:
        bar = "|" + " " * self.spacing
        self.lines.append(bar * depth + "|" + "-" * self.spacing + " " + text)

    def _walk(self, max_depth: float) -> Iterator[tuple[int, int, str]]:
        """(node, depth, condition of its parent) in the order of the nodes, down to a depth. There is
        no recursion, because a tree may be deeper than Python's stack. `reach` are the levels that
        can arrive at a node, by column."""
        waiting: list[tuple[int, int, str, dict[int, np.ndarray]]] = [(0, 0, "", {})]
        while waiting:
            i, depth, condition, reach = waiting.pop()
            yield i, depth, condition
            if self.nodes.feature[i] >= 0 and depth <= max_depth:
                (left, reach_left), (right, reach_right) = self._sides(i, reach)
                waiting.append((int(self.nodes.right[i]), depth + 1, right, reach_right))
                waiting.append((int(self.nodes.left[i]), depth + 1, left, reach_left))

    def text(self) -> list[str]:
        """The lines of the tree."""
        for i, depth, condition in self._walk(self.max_depth):
            if depth:
                self._line(depth - 1, condition)
            if self.nodes.feature[i] < 0:
                self._line(depth, self._leaf(i))
            elif depth > self.max_depth:
                self._line(depth, f"truncated branch of depth {self._depth_below(i)}")
        return self.lines

    def rules(self) -> list[str]:
        """One rule for each leaf."""
        found: list[str] = []
        clauses: list[str] = []
        for i, depth, condition in self._walk(math.inf):
            if depth:
                clause = f"({condition})" if condition.endswith(" or missing") else condition
                clauses[depth - 1 :] = [clause]
            if self.nodes.feature[i] < 0:
                when = " and ".join(clauses) if clauses else "anything"
                found.append(f"if {when} then {self._leaf(i)} ({self.nodes.n_samples[i]} samples)")
        return found

    def picture(self) -> tuple[list[Any], dict[int, int]]:
        """The drawn nodes, and their numbers by the number of the node in the tree."""
        from pellucid.draw import Node

        depths = self.nodes.depths()
        numbers = {i: k for k, i in enumerate(np.flatnonzero(depths <= self.max_depth).tolist())}
        reach: dict[int, dict[int, np.ndarray]] = {0: {}}
        drawn = []
        for i in numbers:
            shares, samples = self._bar(i), float(self.nodes.n_samples[i])
            left, right = int(self.nodes.left[i]), int(self.nodes.right[i])
            if left < 0 or depths[i] == self.max_depth:
                hidden = self._splits_below(i)
                text, detail = self._prediction(i), self._detail(i)
                drawn.append(Node(text, samples, shares, hidden=hidden, detail=detail))
                continue
            (text, reach[left]), (_, reach[right]) = self._sides(i, reach[i])
            drawn.append(
                Node(text, samples, shares, numbers[left], numbers[right], detail=self._detail(i))
            )
        return drawn, numbers

    def _prediction(self, i: int) -> str:
        value = self.nodes.value[i]
        if self.labels is None:
            return ", ".join(format(v, self.value_form) for v in value)
        return self.labels[value.argmax()]

    def _detail(self, i: int) -> str:
        """The impurity of a node, and its weight by class."""
        impurity = f"{self.criterion.replace('_', ' ')} {number(float(self.nodes.impurity[i]), 3)}"
        if self.labels is None:
            return impurity
        counts = self.nodes.value[i] * self.nodes.weight[i]
        return f"{impurity}; {' / '.join(number(float(c), 4) for c in counts)}"

    def _bar(self, i: int) -> tuple[float, ...]:
        value = self.nodes.value
        if self.labels is not None:
            return tuple(value[i].tolist())
        low, high = 0.5 * value.min(axis=0), 0.5 * value.max(axis=0)
        share = np.ones(len(low))
        np.divide(0.5 * value[i] - low, high - low, out=share, where=high > low)
        return (float(share.mean()),)

    def _splits_below(self, i: int) -> int:
        depths = self.nodes.depths()[i:]
        later = np.flatnonzero(depths[1:] <= depths[0])
        end = i + 1 + (int(later[0]) if len(later) else len(depths) - 1)
        return int((self.nodes.feature[i:end] >= 0).sum())

    def _sides(self, i: int, reach: dict[int, np.ndarray]) -> list[tuple[str, dict]]:
        f = int(self.nodes.feature[i])
        name = self.names[f]
        if self.nodes.has_set[i]:
            codes = reach.get(f, np.arange(self.nodes.n_levels[f]))
            left = self.nodes.levels_left(i)
            parts = [codes[np.isin(codes, left)], codes[~np.isin(codes, left)]]
            texts = [f"{name} in {self._levels(f, part)}" for part in parts]
            narrowed = [reach | {f: part} for part in parts]
        elif np.isinf(self.nodes.threshold[i]):
            return [(f"{name} is present", reach), (f"{name} is missing", reach)]
        else:
            threshold = float(self.nodes.threshold[i])
            dated = self.schema.kinds[f] == DATETIME
            shown = formatting.date(threshold) if dated else format(threshold, self.forms[f])
            texts, narrowed = [f"{name} <= {shown}", f"{name} >  {shown}"], [reach, reach]
        if self.schema.n_missing[f] > 0:
            texts[0 if self.nodes.missing_left[i] else 1] += " or missing"
        return list(zip(texts, narrowed, strict=True))

    def _levels(self, f: int, codes: np.ndarray) -> str:
        levels = self.schema.levels[f]
        shown = ", ".join(formatting.level(levels[k]) for k in codes[:8])
        return "{" + shown + (f", ... {len(codes)} levels" if len(codes) > 8 else "") + "}"

    def _leaf(self, i: int) -> str:
        value = self.nodes.value[i]
        if self.labels is None:
            return f"value: [{self._prediction(i)}]"
        weights = ""
        if self.show_weights:
            shown = (f"{w:.{self.decimals}f}" for w in value * self.nodes.weight[i])
            weights = f"weights: [{', '.join(shown)}] "
        return f"{weights}class: {self.labels[value.argmax()]}"

    def _depth_below(self, i: int) -> int:
        """Depth of the branch at node i, plus 1; the nodes of a branch are numbered consecutively."""
        depths = self.nodes.depths()[i:]
        later = np.flatnonzero(depths[1:] <= depths[0])
        branch = depths[: 1 + later[0]] if len(later) else depths
        return int(branch.max() - depths[0]) + 1
