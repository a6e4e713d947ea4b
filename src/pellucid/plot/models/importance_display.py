"""Impurity importance of the columns of trees and ensembles of trees."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pellucid.draw.label_text import distinct
from pellucid.errors import ParameterError, shown
from pellucid.plot.display import as_function
from pellucid.plot.models.answers import check_fitted
from pellucid.plot.models.base import ModelDisplay
from pellucid.plot.picture import Axis, Bars, Intervals, Mark, Panel, Picture

QUANTILES = (0.1, 0.9)


class ImportancesDisplay(ModelDisplay):
    """`feature_importances_` of a fitted model, the largest on top.

    `frame()` has one row for each column; for ensembles `low` and `high` are the 10 % and 90 %
    quantiles over the trees.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[1.5, 0], [1.7, 0], [2.3, 0]], ["a", "a", "b"])
    >>> plot.importances(model).frame()
    {'column': ['x0', 'x1'], 'importance': [1.0, 0.0]}
    """

    @classmethod
    def from_estimator(cls, model: Any, *, most: int = 20, title: str | None = None) -> Self:
        """Importances of a fitted model.

        Parameters
        ----------
        model : a fitted model with `feature_importances_`.
        most : largest number of columns.
        title : the title.
        """
        owner = "plot.importances"
        check_fitted(model, owner)
        values = getattr(model, "feature_importances_", None)
        if values is None:
            raise ParameterError(
                f"{owner} needs a model with feature_importances_. Got {type(model).__name__}: use "
                "permutation importance."
            )
        if not isinstance(most, int | np.integer) or most < 1:
            raise ParameterError(
                f"The 'most' parameter of {owner} must be an integer of at least 1. Got {shown(most)}."
            )
        values = np.asarray(values, dtype=float)
        order = np.argsort(-values, kind="stable")
        names = [_names(model, len(values))[j] for j in order]
        data: dict[str, Any] = {"column": names, "importance": values[order]}
        ends = _spread(model, len(values))
        if ends is not None:
            data |= {"low": ends[0][order], "high": ends[1][order]}
        return cls(_picture(data, int(most), title or f"{type(model).__name__}: importance"), data)


def _names(model: Any, n: int) -> list[str]:
    found = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(n)] if found is None else [str(name) for name in found]


def _spread(model: Any, n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Quantiles of the importances over the trees of an ensemble."""
    if not hasattr(model, "estimators_"):
        return None
    trees = np.ravel(np.asarray(model.estimators_, dtype=object))
    parts = [getattr(one, "feature_importances_", None) for one in trees]
    rows = [part for part in parts if part is not None and len(part) == n]
    if len(rows) < 2:
        return None
    low, high = np.quantile(np.array(rows, dtype=float), QUANTILES, axis=0)
    return low, high


def _picture(data: dict[str, Any], most: int, title: str) -> Picture:
    shown_names = distinct(data["column"][:most])
    at = np.arange(len(shown_names))
    values = data["importance"][:most]
    marks: list[Mark] = [Bars(at, np.zeros(len(at)), values)]
    note = ""
    if "low" in data:
        marks.append(Intervals(at, values, data["low"][:most], data["high"][:most], index=1))
        note = "Lines: 10 % to 90 % quantile over the trees."
    left = len(data["column"]) - len(at)
    if left:
        note = f"{note} The {len(at)} largest of {len(data['column'])}.".strip()
    panel = Panel(
        tuple(marks), x=Axis("share of the impurity decrease", zero=True),
        y=Axis(names=tuple(shown_names)), title=title, note=note, height=max(60, 24 * len(at)),
    )  # fmt: skip
    return Picture((panel,), kind="Importance of columns")


importances = as_function("importances", ImportancesDisplay.from_estimator)
