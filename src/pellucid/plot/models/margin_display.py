"""The margin of a support vector classifier and its support vectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pellucid.draw.label_text import distinct
from pellucid.errors import DataError, ParameterError
from pellucid.plot.display import as_function
from pellucid.plot.models.answers import check_fitted, classes_of, codes_of, rows_of
from pellucid.plot.models.base import ModelDisplay
from pellucid.plot.models.model_marks import Rings, xy
from pellucid.plot.models.plane import plane, source
from pellucid.plot.models.region_displays import (
    RESOLUTION,
    Grid,
    check_resolution,
    class_points,
    level_line,
)
from pellucid.plot.picture import Mark, Panel, Picture, Regions

TOLERANCE = 1e-6  # of a row that counts as lying on the margin of a linear model


class MarginDisplay(ModelDisplay):
    """Decision boundary f = 0, margins f = -1 and f = 1, and the support vectors as rings.

    `frame()` has one row for each row of the table: its place, class, decision value, and whether it
    is a support vector. With more than two classes the regions show the boundaries, and there are no
    margins.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.svm import SVC
    >>> X, y = [[0, 0], [2, 2], [-1, 0], [3, 3]], [0, 1, 0, 1]
    >>> display = plot.margin(SVC(kernel="linear").fit(X, y), X, y, resolution=20)
    >>> display.frame()["support vector"]
    [True, True, False, False]
    """

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        columns: Any = None,
        resolution: int = RESOLUTION,
        title: str | None = None,
    ) -> Self:
        """The margin of a fitted classifier.

        Parameters
        ----------
        model : a fitted SVC, LinearSVC or other classifier with `decision_function`. Without `support_`,
            rows on or within the margin count as support vectors.
        X, y : the training table and its classes.
        columns, resolution, title : as in `regions`.
        """
        owner = "plot.margin"
        check_fitted(model, owner)
        if not hasattr(model, "decision_function") or not hasattr(model, "classes_"):
            raise ParameterError(
                f"{owner} needs a classifier with decision_function, such as SVC or LinearSVC. "
                f"Got {type(model).__name__}."
            )
        X, target = rows_of(X, y)
        if target is None:
            raise ParameterError(f"{owner} needs y: the support vectors are training rows.")
        classes = classes_of(model, owner) or ()
        codes = codes_of(target, classes)
        where = plane(source(X, owner), columns, codes)
        values = np.asarray(model.decision_function(X), dtype=float)
        support = support_rows(model, values, codes)
        grid = Grid(model, where, classes, check_resolution(resolution, owner), owner)
        names = distinct(classes)
        marks: list[Mark] = [Regions(grid.shaped(grid.found.values), names)]
        marks += _lines(model, grid) if len(classes) == 2 else []
        marks += class_points(where.points, codes, names)
        rings = where.points[support]
        marks.append(Rings(*xy(rings), name="support vector"))
        note = (
            f"{int(support.sum())} of {len(support)} rows are support vectors. {where.note}".strip()
        )
        panel = Panel(tuple(marks), *grid.axes(where), title=title or type(model).__name__,
                      note=note, width=460, height=320)  # fmt: skip
        data = dict(zip(where.labels, where.points.T.tolist()))
        data |= {"class": target.tolist(), **_decision_columns(values, classes)}
        data["support vector"] = support.tolist()
        return cls(Picture((panel,), kind="Margin and support vectors"), data)


def _decision_columns(values: np.ndarray, classes: tuple[Any, ...]) -> dict[str, list[float]]:
    if values.ndim == 1:
        return {"decision value": values.tolist()}
    names = classes if values.shape[1] == len(classes) else range(values.shape[1])
    return {f"decision value of {name}": values[:, k].tolist() for k, name in enumerate(names)}


def support_rows(model: Any, values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Mask of the support vectors: by number, or rows that are not beyond the margin of their class."""
    found = getattr(model, "support_", None)
    mask = np.zeros(len(codes), dtype=bool)
    if found is not None:
        if len(found) and np.max(found) >= len(codes):
            raise DataError(
                f"plot.margin needs the training rows: the model has support vectors up to row "
                f"{int(np.max(found))}, but X has {len(codes)} rows."
            )
        mask[np.asarray(found, dtype=int)] = True
        return mask
    if values.ndim == 1:
        return np.asarray(np.where(codes == 1, values, -values) <= 1 + TOLERANCE)
    own = np.where(np.arange(values.shape[1]) == codes[:, None], values, -values)
    return np.asarray((own <= 1 + TOLERANCE).any(axis=1))


def _lines(model: Any, grid: Grid) -> list[Mark]:
    z = grid.shaped(np.asarray(model.decision_function(grid.table), dtype=float))
    return [
        level_line(grid.x, grid.y, z, level, name, thin=bool(level))
        for level, name in ((0.0, "boundary"), (-1.0, "margin"), (1.0, "margin"))
    ]


margin = as_function("margin", MarginDisplay.from_estimator)
