"""Bars: counts, shares or means per level, side by side or end to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from pellucid.data.raw_column import is_missing
from pellucid.draw.number import beside_marks
from pellucid.errors import DataError, ParameterError
from pellucid.metrics.inputs import check_lengths
from pellucid.plot.display import Display, as_function
from pellucid.plot.given_predictions import vector
from pellucid.plot.picture import Axis, Bars, Mark, Panel, Picture, Rule

MOST_BARS = 60
THICK = 0.72  # of a row


class BarsDisplay(Display):
    """Horizontal bars from 0, one row per name.

    Parameters
    ----------
    names : the rows, from top to bottom.
    series : name -> one value per row. Several series stand side by side, or end to end.
    label : what the values are.
    title, note : texts of the picture.
    stacked : whether the bars of a row are stacked.

    Examples
    --------
    >>> BarsDisplay.from_levels(["a", "b", "a"], [1.0, 2.0, 5.0]).frame()
    {'level': ['a', 'b'], 'mean of y': [3.0, 2.0]}
    >>> BarsDisplay.from_levels(["a", "b", "a"], ["yes", "no", "no"]).frame()
    {'level': ['a', 'b'], 'no': [1.0, 1.0], 'yes': [1.0, 0.0]}
    """

    def __init__(
        self, names: Sequence[str], series: Mapping[str, Any], label: str, title: str = "", *,
        note: str = "", stacked: bool = False,
    ) -> None:  # fmt: skip
        self.names, self.label, self.title, self.note = list(names), label, title, note
        self.series = {name: np.asarray(values, dtype=float) for name, values in series.items()}
        self.stacked = stacked
        if stacked and any((values < 0).any() for values in self.series.values()):
            raise ParameterError("Stacked bars cannot be negative.")

    @classmethod
    def from_levels(cls, values: Any, y: Any = None, *, title: str = "") -> Self:
        """One row per level: the rows of each class, the mean of a numeric y, or all rows.

        Parameters
        ----------
        values : the levels of a column.
        y : classes or numbers, one per row.
        title : the title.
        """
        levels = np.array([None if is_missing(v) else str(v) for v in np.asarray(values).tolist()])
        if not len(levels):
            raise DataError("The column has no rows.")
        names = sorted({v for v in levels.tolist() if v is not None})
        at = [levels == name for name in names]
        if y is None:
            return cls(names, {"rows": [own.sum() for own in at]}, "rows", title)
        target = vector(y, "y")
        check_lengths(levels, target, ("values", "y"))
        if target.dtype.kind == "f":
            means = {"mean of y": [target[own].mean() for own in at]}
            return cls(names, means, "mean of y", title)
        counts = {
            str(c): np.array([(target[own] == c).sum() for own in at]) for c in np.unique(target)
        }
        return cls(names, counts, "rows", title, stacked=True)

    def columns(self) -> dict[str, Any]:
        return {"level": self.names, **self.series}

    def picture(self) -> Picture:
        n, k = min(len(self.names), MOST_BARS), len(self.series)
        cut = f"Showing the first {n} of {len(self.names)} bars." if n < len(self.names) else ""
        side_by_side = k > 1 and not self.stacked
        texts = beside_marks(next(iter(self.series.values()))[:n].tolist()) if k == 1 else []
        panel = Panel(
            (*self._bars(n), Rule(x=0.0)), Axis(self.label, zero=True),
            Axis("", names=tuple(self.names[:n])), note=f"{self.note} {cut}".strip(),
            height=max(n, 1) * (8 + 13 * k if side_by_side else 24), right_texts=tuple(texts),
        )  # fmt: skip
        return Picture((panel,), f"Bars of {self.label}", self.title)

    def _bars(self, n: int) -> list[Mark]:
        at, k = np.arange(n, dtype=float), len(self.series)
        width = THICK if self.stacked else THICK / max(k, 1)
        start, marks = np.zeros(n), list[Mark]()
        for i, (name, values) in enumerate(self.series.items()):
            own = values[:n]
            place = at if self.stacked else at + (i - (k - 1) / 2) * width
            end = start + np.where(np.isfinite(own), own, 0.0) if self.stacked else own
            marks.append(Bars(place, start, end, width, name=name if k > 1 else "", index=i))
            start = end if self.stacked else start
        return marks


bars = as_function("bars", BarsDisplay.from_levels)
