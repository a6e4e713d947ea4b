"""The diagram of a decision tree: conditions, impurity, class counts and bars, the path of a row."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np

from pellucid import draw
from pellucid.draw.tree_chart import DETAIL, GAP, ROW, TALL, places
from pellucid.errors import ParameterError, shown
from pellucid.plot.display import as_function
from pellucid.plot.models.answers import check_fitted
from pellucid.plot.models.base import ModelDisplay
from pellucid.plot.models.model_marks import Outline, Shapes, columns_of, joined, xy
from pellucid.plot.picture import Axis, Mark, Panel, Picture, Text
from pellucid.tree.export import drawn_nodes, path_of
from pellucid.tree.nodes import Nodes

BOX = 250.0  # width of a box in matplotlib, in pixels


class TreeDisplay(ModelDisplay):
    """A decision tree, the root on the left; of two children the upper one satisfies the condition.

    `frame()` has one row for each node that is drawn: its number in the tree, depth, text (condition or
    prediction), children, rows, impurity and class counts, and whether the row of `row` passes it.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[1.5], [1.7], [2.3]], ["a", "a", "b"])
    >>> display = plot.tree(model, row=[[1.6]])
    >>> display.frame()["text"]
    ['x0 <= 2.00', 'a', 'b']
    >>> display.frame()["on the path"]
    [True, True, False]
    """

    _one_grid: ClassVar[bool] = True

    def __init__(self, nodes: list[draw.Node], classes: list[str], path: list[int], title: str,
                 columns: dict[str, Any], note: str = "") -> None:  # fmt: skip
        self._nodes, self._classes, self._path = nodes, classes, path
        self._title, self._note = title, note
        super().__init__(_picture(nodes, classes, path, title), columns)

    def _wide_svg(self, style: bool = True) -> str:
        path, title = self._path, self._title
        return draw.tree(
            self._nodes, self._classes, path=path, title=title, table=False, style=style,
            note=self._note,
        )  # fmt: skip

    @classmethod
    def from_nodes(
        cls, nodes: list[draw.Node], classes: list[str], *, path: Sequence[int] = (),
        title: str = "Decision tree", note: str = "",
    ) -> Self:  # fmt: skip
        """From boxes that are known already, the root first; `path` are the bold ones."""
        columns = {
            "node": list(range(len(nodes))),
            "text": [node.text for node in nodes],
            "yes": [None if node.left < 0 else node.left for node in nodes],
            "no": [None if node.right < 0 else node.right for node in nodes],
            "rows": [node.samples for node in nodes],
            "on the path": [i in path for i in range(len(nodes))],
        }
        return cls(nodes, classes, list(path), title, columns, note)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        tree: int = 0,
        row: Any = None,
        max_depth: int = 3,
        feature_names: Any = None,
        class_names: Any = None,
        decimals: int = 2,
        title: str | None = None,
    ) -> Self:
        """The diagram of a fitted tree.

        Parameters
        ----------
        model : a fitted DecisionTreeClassifier or DecisionTreeRegressor, an ensemble of them with
            `estimators_`, or the nodes of a tree (`tree_`).
        tree : which tree of an ensemble.
        row : a table of one row, whose path is drawn bold.
        max_depth : deeper splits are not drawn; dashed boxes count them.
        feature_names, class_names : other names of the columns and classes.
        decimals : of thresholds and predictions; more where rounding would make the text wrong.
        title : the title; None is the name of the model's class.
        """
        if isinstance(model, Nodes) and row is not None:
            raise ParameterError("plot.tree needs the fitted model, not its nodes, for a row.")
        one, known, name = _single(model, tree)
        path = path_of(one, row)
        nodes, numbers, classes = drawn_nodes(
            one, feature_names=feature_names, class_names=known if class_names is None else class_names,
            max_depth=max_depth, decimals=decimals,
        )  # fmt: skip
        columns = _columns(one.tree_, nodes, numbers, classes, path)
        passed = [numbers[i] for i in path if i in numbers]
        return cls(nodes, classes, passed, name if title is None else title, columns)


def _single(model: Any, number: int) -> tuple[Any, Any, str]:
    """The tree to draw, the names of its classes (None if it has them), and a title."""
    if isinstance(model, Nodes):
        return _plain_tree(model), None, "Decision tree"
    check_fitted(model, "plot.tree")
    if not hasattr(model, "estimators_"):
        return model, None, type(model).__name__
    trees = list(np.ravel(np.asarray(model.estimators_, dtype=object)))
    if not isinstance(number, int | np.integer) or not 0 <= number < len(trees):
        raise ParameterError(
            f"The 'tree' parameter of plot.tree must be an integer from 0 to {len(trees) - 1}. "
            f"Got {shown(number)} instead."
        )
    labels = getattr(model, "classes_", None)
    own = getattr(trees[number], "classes_", None)
    known = labels is not None and own is not None and len(own) == len(labels)
    names = np.asarray(labels).tolist() if known else None
    return trees[number], names, f"{type(model).__name__}: tree {number}"


def _plain_tree(nodes: Nodes) -> Any:
    """A fitted tree around exported nodes: columns and levels have numbers for names."""
    from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor

    shares = np.isclose(nodes.value.sum(axis=1), 1.0).all() and nodes.value.shape[1] > 1
    one: Any = DecisionTreeClassifier() if shares else DecisionTreeRegressor()
    levels = nodes.n_levels.tolist()
    one.schema_ = SimpleNamespace(
        columns=[f"x{j}" for j in range(len(levels))], n_columns=len(levels),
        n_missing=[0] * len(levels),
        kinds=["categorical" if k else "number" for k in levels],
        levels=[[f"level {i}" for i in range(k)] for k in levels],
    )  # fmt: skip
    one.tree_, one.n_features_in_ = nodes, len(levels)
    if shares:
        one.classes_ = np.array([f"class {k}" for k in range(nodes.value.shape[1])])
    return one


def _columns(
    nodes: Nodes,
    drawn: list[draw.Node],
    numbers: dict[int, int],
    classes: list[str],
    path: list[int],
) -> dict[str, Any]:
    order = list(numbers)
    back = [*order, None]  # child -1 has no number
    found: dict[str, Any] = {
        "node": order,
        "depth": nodes.depths()[order],
        "text": [node.text for node in drawn],
        "yes": [back[node.left] for node in drawn],
        "no": [back[node.right] for node in drawn],
        "rows": nodes.n_samples[order],
        "impurity": nodes.impurity[order],
    }
    counts = nodes.value[order] * (nodes.weight[order, None] if classes else 1.0)
    if classes:
        found |= {f"rows of {name}": counts[:, k] for k, name in enumerate(classes)}
    else:
        found["prediction"] = counts[:, 0]
    return found | {"on the path": [i in path for i in order]}


def _picture(nodes: list[draw.Node], classes: list[str], path: list[int], title: str) -> Picture:
    """The same diagram as marks, for matplotlib: pixels to the right and downwards."""
    levels, rows = places(nodes)
    step, tall = ROW + DETAIL, TALL + DETAIL
    left = np.array(levels) * (BOX + GAP)
    middle = -np.array(rows) * step
    marks: list[Mark] = []
    for on in (False, True):
        own = [_box(left[i], middle[i], tall) for i in range(len(nodes)) if (i in path) is on]
        marks.append(Outline(*xy(joined(own)), width=2.5 if on else 1.0))
    marks += _branches(nodes, left, middle, path)
    marks += _bars(nodes, classes, left, middle - tall / 2 + 8)
    texts = [(x + 8, y + tall / 2 - 11, n.text, n.left < 0) for n, x, y in zip(nodes, left, middle)]
    for bold in (False, True):
        some = [text[:3] for text in texts if text[3] is bold]
        if some:
            marks.append(Text(*columns_of(some), anchor="start", bold=bold, em=18.0))
    below = [(x + 8, y + tall / 2 - 26, f"{n.detail} ({n.samples:g} rows)") for n, x, y in
             zip(nodes, left, middle)]  # fmt: skip
    marks.append(Text(*columns_of(below), anchor="start", size=10, em=23.0))
    n_leaves = sum(node.left < 0 for node in nodes)
    plain = Axis(ticks=False, grid=False)
    width, height = int(left.max() + BOX), int(n_leaves * step)
    panel = Panel(tuple(marks), plain, plain, title=title, width=width, height=height)
    return Picture((panel,), kind="Decision tree")


def _box(x: float, y: float, tall: float) -> np.ndarray:
    a, b = y - tall / 2, y + tall / 2
    return np.array([[x, a], [x + BOX, a], [x + BOX, b], [x, b], [x, a]])


def _branches(
    nodes: list[draw.Node], left: np.ndarray, middle: np.ndarray, path: list[int]
) -> list[Mark]:
    marks: list[Mark] = []
    for on in (False, True):
        lines, texts = [], []
        for i, node in enumerate(nodes):
            for child, answer in ((node.left, "yes"), (node.right, "no")):
                if child >= 0 and (i in path and child in path) is on:
                    x, turn = left[i] + BOX, left[i] + BOX + 0.3 * GAP
                    ends = [[x, middle[i]], [turn, middle[i]], [turn, middle[child]]]
                    lines.append(np.array([*ends, [left[child], middle[child]]]))
                    texts.append((left[child] - 3, middle[child] + 8, answer))
        if lines:
            marks.append(Outline(*xy(joined(lines)), width=2.5 if on else 1.0))
            marks.append(Text(*columns_of(texts), anchor="end", size=10, bold=on))
    return marks


def _bars(
    nodes: list[draw.Node], classes: list[str], left: np.ndarray, bottom: np.ndarray
) -> list[Mark]:
    marks: list[Mark] = []
    for k in range(max(len(node.shares) for node in nodes)):
        parts = []
        for node, x, y in zip(nodes, left + 8, bottom):
            start, end = sum(node.shares[:k]), sum(node.shares[: k + 1])
            if end > start:
                a, b = x + start * (BOX - 16), x + end * (BOX - 16)
                parts.append(np.array([[a, y], [b, y], [b, y + 7], [a, y + 7]]))
        name = classes[k] if classes else ""
        marks.append(Shapes(*xy(joined(parts)), name=name, index=k, opacity=0.85))
    return marks


tree = as_function("tree", TreeDisplay.from_estimator)
