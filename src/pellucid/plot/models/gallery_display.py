"""Decision regions of several classifiers on one table, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from pellucid.draw.label_text import distinct
from pellucid.errors import NotFittedError, ParameterError
from pellucid.model_selection.copies import fresh
from pellucid.plot.display import as_function
from pellucid.plot.models.answers import check_fitted, classes_of, codes_of, rows_of
from pellucid.plot.models.base import ModelDisplay
from pellucid.plot.models.plane import plane, source
from pellucid.plot.models.region_displays import Grid, check_resolution, grid_columns, region_panel
from pellucid.plot.picture import Picture

MOST_NAMES = 4  # classes whose names have room inside the regions of a small panel


class GalleryDisplay(ModelDisplay):
    """Decision regions of several classifiers on one table, side by side.

    `frame()` has one row for each model and cell: model, centre, predicted class, probability.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.naive_bayes import GaussianNB
    >>> from pellucid.tree import DecisionTreeClassifier
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], ["a", "a", "b", "b"]
    >>> display = plot.gallery([GaussianNB(), DecisionTreeClassifier()], X, y, resolution=10)
    >>> sorted(set(display.frame()["model"]))
    ['DecisionTreeClassifier', 'GaussianNB']
    """

    _one_grid = True

    @classmethod
    def from_estimators(
        cls,
        models: Any,
        X: Any,
        y: Any,
        *,
        columns: Any = None,
        resolution: int = 60,
        title: str | None = None,
    ) -> Self:
        """Regions of each model; those that are not fitted are fitted here.

        Parameters
        ----------
        models : a list of classifiers, or a dict of them by name. Those that are not fitted are copied
            and fitted to X and y.
        X, y : the table and its classes.
        columns, resolution, title : as in `regions`.
        """
        owner = "plot.gallery"
        X, target = rows_of(X, y)
        if target is None:
            raise ParameterError(f"{owner} needs y: unfitted models are fitted to it.")
        table, panels = source(X, owner), []
        data: dict[str, list[Any]] = {}
        for name, model in _named(models, owner).items():
            one = _fitted(model, X, target, owner)
            classes = classes_of(one, owner)
            if classes is None:
                raise ParameterError(
                    f"{owner} needs classifiers, but {name!r} predicts numbers. Use plot.surface."
                )
            codes = codes_of(target, classes)
            where = plane(table, columns, codes)
            grid = Grid(one, where, classes, check_resolution(resolution, owner), owner)
            correct = float(np.mean(np.asarray(one.predict(X)) == target))
            note = f"Accuracy on these rows: {correct:.3f}."
            named = len(classes) <= MOST_NAMES
            look = {"note": note, "width": 300, "height": 190}
            panels.append(region_panel(grid, where, codes, name, named, **look))
            part = {"model": [name] * len(grid.flat_x)} | grid_columns(grid, where)
            part.setdefault("probability", [None] * len(grid.flat_x))
            for key, values in part.items():
                data.setdefault(key, []).extend(values)
        kind = "Decision regions of several models"
        return cls(Picture(tuple(panels), kind, title=title or "", columns=3), data)


def _named(models: Any, owner: str) -> dict[str, Any]:
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        listed = list(models) if isinstance(models, list | tuple) else [models]
        named = dict(zip(distinct([type(model).__name__ for model in listed]), listed))
    if not named:
        raise ParameterError(f"{owner} needs at least one model.")
    return named


def _fitted(model: Any, X: Any, y: np.ndarray, owner: str) -> Any:
    """The model, or a fitted copy if it is not fitted."""
    try:
        check_fitted(model, owner)
    except NotFittedError:
        return fresh(model, {}).fit(X, y)
    return model


gallery = as_function("gallery", GalleryDisplay.from_estimators)
