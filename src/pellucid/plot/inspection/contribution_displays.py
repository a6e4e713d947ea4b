"""Exact explanations as pictures: the contributions of one row, of all rows, and along one column."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pellucid.data.opening import opened
from pellucid.draw.number import beside_marks, number
from pellucid.errors import ParameterError
from pellucid.inspection.cells import Cells
from pellucid.model_selection.rows import taken
from pellucid.plot.display import Display, as_function
from pellucid.plot.given_predictions import column_of
from pellucid.plot.picture import Axis, Bars, Panel, Picture, Points, Rule
from pellucid.records import Explanation

MOST_BARS = 12
MOST_COLUMNS = 12
MOST_POINTS = 1800  # of all columns together
MOST_LEVELS = 24


def _explained(model: Any, X: Any) -> Explanation:
    """Contributions of the columns; an error for models without them."""
    name = type(model).__name__
    if not hasattr(model, "explain"):
        raise ParameterError(
            f"{name} has no `explain`. Use a model of this package, or plot.permutation_importance."
        )
    found = model.explain(X)
    if not isinstance(found, Explanation):
        raise ParameterError(
            f"{name} explains its predictions by training rows, not by columns. Use "
            "plot.permutation_importance or plot.partial_dependence."
        )
    return found


def _column(explanation: Explanation, pos_label: Any) -> int:
    """Which of the K predictions is shown."""
    if len(explanation.base) == 1:
        return 0
    classes = range(len(explanation.base)) if explanation.classes is None else explanation.classes
    return column_of(np.asarray(classes), pos_label)


def _scale(explanation: Explanation, k: int) -> str:
    if explanation.classes is None:
        return explanation.called
    return f"{explanation.called} of {explanation.classes[-len(explanation.base) :][k]}"


class WaterfallDisplay(Display):
    """From the baseline to the prediction of one row: what each column adds.

    Parameters
    ----------
    names : columns, with their values, the largest contribution first.
    contributions : what they add.
    base : the baseline; base + contributions is the prediction.
    scale : what is added up.
    title : the row and its prediction.

    Examples
    --------
    >>> from pellucid.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 4.0, 6.0]
    >>> frame = WaterfallDisplay.from_estimator(LinearRegression().fit(X, y), X, row=3).frame()
    >>> [(name, round(start, 2), round(end, 2)) for name, start, end in
    ...  zip(frame["column"], frame["start"], frame["end"])]
    [('x0 = 3', 3.0, 6.0)]
    """

    def __init__(
        self, names: Any, contributions: Any, base: float, scale: str, title: str = ""
    ) -> None:
        self.names, self.base, self.scale, self.title = list(names), float(base), scale, title
        self.contributions = np.asarray(contributions, dtype=float)
        ends = self.base + np.cumsum(self.contributions)
        self.start, self.end = np.concatenate([[self.base], ends[:-1]]), ends

    @classmethod
    def from_estimator(cls, model: Any, X: Any, row: int = 0, *, pos_label: Any = None) -> Self:
        """Explain one row of X.

        Parameters
        ----------
        row : position of the row.
        pos_label : the class to explain; by default the predicted one, and of two the second.
        """
        cells = Cells(opened(X)[0])
        if not 0 <= row < cells.n:
            raise ParameterError(f"X has {cells.n} rows, but no row {row}.")
        explanation = _explained(model, taken(cells.X, np.array([row])))
        outcome, _ = explanation.towards(0)
        k = outcome.k if pos_label is None else _column(explanation, pos_label)
        amounts = explanation.contributions[0, :, k]
        order = np.argsort(-np.abs(amounts), kind="stable")
        names = []
        for j in order:
            name = explanation.columns[j]
            value = cells.cell(cells.names.index(name), row) if name in cells.names else None
            names.append(f"{name} = {number(value)}" if value is not None else name)
        scale = _scale(explanation, k)
        return cls(names, amounts[order], explanation.base[k], scale, f"Row {row}: {outcome}")

    def columns(self) -> dict[str, Any]:
        return {
            "column": self.names, "contribution": self.contributions,
            "start": self.start, "end": self.end,
        }  # fmt: skip

    def picture(self) -> Picture:
        names, amounts = self.names, self.contributions.tolist()
        start, end = self.start, self.end
        if len(names) > MOST_BARS:  # the small ones as one bar
            kept = MOST_BARS - 1
            names = [*names[:kept], f"{len(names) - kept} other columns"]
            amounts = [*amounts[:kept], sum(amounts[kept:])]
            start, end = start[: kept + 1], np.append(end[:kept], end[-1])
        at, up = np.arange(len(names)), np.asarray(amounts) >= 0
        bars = [
            Bars(at[chosen], start[chosen], end[chosen], name=name, index=index)
            for index, (name, chosen) in enumerate((("raises", up), ("lowers", ~up)))
            if chosen.any()
        ]
        total = float(end[-1]) if len(end) else self.base
        low, high = min([self.base, *start, *end]), max([self.base, *start, *end])
        room = 0.06 * (high - low) or 0.5
        marks = (
            *bars,
            Rule(x=self.base, name=f"baseline {number(self.base, 3)}"),
            Rule(x=total, name=f"prediction {number(total, 3)}"),
        )
        panel = Panel(
            marks, Axis(self.scale, low - room, high + room), Axis("", names=tuple(names)),
            height=max(60, 26 * len(names)), right_texts=tuple(_signed(amounts)),
        )  # fmt: skip
        return Picture((panel,), "Contributions of the columns to one prediction", self.title)


def _signed(amounts: list[float]) -> list[str]:
    texts = beside_marks(amounts)
    return [text if text.startswith("-") else f"+{text}" for text in texts]


class BeeswarmDisplay(Display):
    """Contributions of each column in many rows; the colour shows the value of the column.

    Parameters
    ----------
    names : columns.
    contributions : (n, d), what the d columns add in the n rows.
    ranks : (n, d), the value of each cell as a share of the rows with smaller ones, 0 to 1; NaN for
        missing cells.
    scale : what is added up.

    Examples
    --------
    >>> from pellucid.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 4.0, 6.0]
    >>> frame = BeeswarmDisplay.from_estimator(LinearRegression().fit(X, y), X).frame()
    >>> [round(value, 2) for value in frame["contribution"]]
    [-3.0, -1.0, 1.0, 3.0]
    """

    def __init__(self, names: Any, contributions: Any, ranks: Any, scale: str) -> None:
        self.contributions, self.ranks = np.asarray(contributions, float), np.asarray(ranks, float)
        self.names, self.scale = list(names), scale
        size = np.abs(self.contributions).mean(axis=0)
        self.order = np.argsort(-size, kind="stable")[:MOST_COLUMNS]

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, pos_label: Any = None) -> Self:
        """Explain all rows of X.

        Parameters
        ----------
        pos_label : the class whose contributions are shown; the last one by default.
        """
        cells = Cells(opened(X)[0])
        explanation = _explained(model, cells.X)
        k = _column(explanation, pos_label)
        ranks = [_ranks(cells, name) for name in explanation.columns]
        scale = _scale(explanation, k)
        return cls(
            explanation.columns, explanation.contributions[:, :, k], np.transpose(ranks), scale
        )

    def columns(self) -> dict[str, Any]:
        n, order = len(self.contributions), self.order
        return {
            "column": [self.names[j] for j in order for _ in range(n)],
            "row": np.tile(np.arange(n), len(order)),
            "contribution": self.contributions[:, order].T.ravel(),
            "value rank": self.ranks[:, order].T.ravel(),
        }

    def picture(self) -> Picture:
        n, d = len(self.contributions), len(self.order)
        rows = np.unique(np.linspace(0, n - 1, min(n, MOST_POINTS // d)).round().astype(int))
        shown = self.contributions[rows][:, self.order]
        width = np.ptp(shown) or 1.0
        y = np.concatenate([i + _spread(shown[:, i], width) for i in range(d)])
        points = Points(
            shown.T.ravel(),
            y,
            "rank of the value",
            values=self.ranks[rows][:, self.order].T.ravel(),
        )
        note = f"{len(rows)} of {n} rows." if len(rows) < n else ""
        if d < len(self.names):
            note = f"{note} {d} of {len(self.names)} columns.".strip()
        panel = Panel(
            (Rule(x=0.0), points), Axis(f"contribution to the {self.scale}"),
            Axis("", names=tuple(self.names[j] for j in self.order)), note=note,
            width=480, height=max(80, 38 * d),
        )  # fmt: skip
        return Picture((panel,), "Contributions of the columns in all rows", "Contributions")


def _ranks(cells: Cells, name: str) -> np.ndarray:
    """The share of smaller cells of a column, 0 to 1; levels in their order."""
    if name not in cells.names:
        return np.full(cells.n, np.nan)
    j = cells.names.index(name)
    codes = cells.codes[j]
    if not cells.is_number(j):
        place = {codes[row]: float(i) for i, row in enumerate(cells.observed(j))}
        codes = np.array([place.get(code, np.nan) for code in codes])
    known = np.sort(codes[~np.isnan(codes)])
    below = np.searchsorted(known, codes, "left") + np.searchsorted(known, codes, "right") - 1
    middle = below / (2 * max(len(known) - 1, 1))
    return np.where(np.isnan(codes), np.nan, middle)


def _spread(x: np.ndarray, width: float) -> np.ndarray:
    """Offsets within +-0.4 that separate points with nearly equal x: 0, up, down, up, ..."""
    cells = np.floor((x - x.min()) / width * 90).astype(int)
    offsets = np.zeros(len(x))
    for cell in np.unique(cells):
        inside = np.flatnonzero(cells == cell)
        k = np.arange(len(inside))
        offsets[inside] = (k + 1) // 2 * np.where(k % 2, 1, -1)
    largest = max(float(np.abs(offsets).max()), 5.0)
    return 0.4 * offsets / largest


class ContributionDependenceDisplay(Display):
    """Contributions of one column against its values, one point per row.

    Parameters
    ----------
    name : the column.
    values : its values: numbers, or levels.
    contributions : what it adds in each row.
    scale : what is added up.
    colour : name and values (numbers) of another column that decides the colour.

    Examples
    --------
    >>> from pellucid.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 4.0, 6.0]
    >>> model = LinearRegression().fit(X, y)
    >>> ContributionDependenceDisplay.from_estimator(model, X, 0).frame()["x0"]
    [0.0, 1.0, 2.0, 3.0]
    """

    def __init__(
        self, name: str, values: Any, contributions: Any, scale: str,
        colour: tuple[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.values, self.scale, self.colour = name, list(values), scale, colour
        self.contributions = np.asarray(contributions, dtype=float)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, column: Any, *, colour: Any = None, pos_label: Any = None
    ) -> Self:
        """Explain all rows of X.

        Parameters
        ----------
        column : the column, by name or position.
        colour : a numeric column that decides the colour of the points.
        pos_label : the class whose contributions are shown; the last one by default.
        """
        cells = Cells(opened(X)[0])
        explanation = _explained(model, cells.X)
        k, j = _column(explanation, pos_label), cells.position(column)
        name = cells.names[j]
        numeric = cells.columns[j].kind == "number"
        values = cells.codes[j].tolist() if numeric else [cells.cell(j, i) for i in range(cells.n)]
        other = None
        if colour is not None:
            at = cells.position(colour)
            if not cells.is_number(at):
                raise ParameterError(f"colour must be a numeric column. {colour!r} has levels.")
            other = (cells.names[at], cells.codes[at])
        own = explanation.contributions[:, explanation.columns.index(name), k]
        return cls(name, values, own, _scale(explanation, k), other)

    def columns(self) -> dict[str, Any]:
        name = self.name if self.name != "contribution" else "(contribution)"
        found = {name: self.values, "contribution": self.contributions}
        if self.colour is not None:
            found[f"colour: {self.colour[0]}"] = self.colour[1]
        return found

    def picture(self) -> Picture:
        x, axis = self._places()
        colours = {} if self.colour is None else {"values": self.colour[1]}
        points = Points(x, self.contributions, "" if not colours else self.colour[0], **colours)  # type: ignore[index]
        missing = sum(value is None or value != value for value in self.values)
        note = (
            f"Without the {missing} missing values."
            if missing > 1
            else "Without a missing value."
            if missing
            else ""
        )
        y = Axis(f"contribution to the {self.scale}")
        panel = Panel((Rule(y=0.0), points), axis, y, note=note, height=280)
        return Picture((panel,), f"Contribution of {self.name}", f"Contribution of {self.name}")

    def _places(self) -> tuple[np.ndarray, Axis]:
        """Positions along x: numbers as they are, levels in bands and moved apart."""
        known = [value for value in self.values if value is not None]
        if all(isinstance(value, float) for value in known):
            return np.array(self.values, dtype=float), Axis(self.name, grid=False)
        levels = sorted(set(known), key=lambda v: (str(type(v)), v))
        if len(levels) > MOST_LEVELS:
            raise ParameterError(
                f"Column {self.name!r} has {len(levels)} levels, but a picture shows at most "
                f"{MOST_LEVELS}."
            )
        place = {level: float(i) for i, level in enumerate(levels)}
        x = np.array([place.get(value, np.nan) for value in self.values])
        turn = np.arange(len(x)) * 0.6180339887498949 % 1 - 0.5  # evenly, without an order
        return x + 0.5 * turn, Axis(self.name, names=tuple(map(str, levels)), grid=False)


waterfall = as_function("waterfall", WaterfallDisplay.from_estimator)
beeswarm = as_function("beeswarm", BeeswarmDisplay.from_estimator)
dependence = as_function("dependence", ContributionDependenceDisplay.from_estimator)
