"""The base of curves that show how well scores rank rows: ROC, precision-recall, gain.

A class is compared with all others. `hits` and `false alarms` are the weights of positive and negative
rows whose score is at least the threshold.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from pellucid.data.targets import weights_or_ones
from pellucid.errors import DataError
from pellucid.metrics.inputs import check_lengths
from pellucid.metrics.ranked_scores import cumulated
from pellucid.plot.display import Display
from pellucid.plot.given_predictions import (
    by_class,
    class_scores,
    column_of,
    fitted_folds,
    table,
    two_or_more,
    vector,
)  # fmt: skip
from pellucid.plot.models.model_marks import Rings
from pellucid.plot.picture import Band, Line, Mark

GRID = np.linspace(0.0, 1.0, 101)  # where the curves of folds are averaged


@dataclass(frozen=True)
class Curve:
    """One curve: points, the score at each, and the area; over folds also a band.

    threshold: NaN at the points of a mean over folds.
    low, high: ends of the band over the folds.
    area_sd: standard deviation of the area over the folds.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    threshold: np.ndarray
    area: float
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    area_sd: float = float("nan")

    @property
    def mean(self) -> bool:
        """Whether the curve is a mean over folds."""
        return bool(np.isnan(self.threshold).all())


@dataclass(frozen=True)
class Ranked:
    """Hits and false alarms at every distinct score, from the highest down, after a start at 0."""

    threshold: np.ndarray
    hits: np.ndarray
    alarms: np.ndarray

    @classmethod
    def of(cls, positive: np.ndarray, score: np.ndarray, w: np.ndarray) -> Ranked:
        alarms, hits, threshold = cumulated(positive, score, w)
        return cls(np.append(np.inf, threshold), np.append(0.0, hits), np.append(0.0, alarms))


class RankingDisplay(Display):
    """Base of the curves that compare one class with the rest, by the rank of its score.

    Parameters
    ----------
    curves : one per class.
    prevalence : share of the rows of each class.
    band : what the bands of the curves are.
    ring : a place on the curve marked by a ring: the decision threshold.
    """

    title: ClassVar[str]
    x_label: ClassVar[str]
    y_label: ClassVar[str]
    area_name: ClassVar[str] = ""

    def __init__(
        self, curves: Sequence[Curve], prevalence: Sequence[float], *,
        band: str = "one standard deviation", ring: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        self.curves, self.prevalence = tuple(curves), tuple(prevalence)
        self.band, self.ring = band, ring

    @staticmethod
    @abstractmethod
    def points(ranked: Ranked) -> tuple[np.ndarray, np.ndarray]:
        """x and y of the curve."""

    @staticmethod
    def area(positive: np.ndarray, score: np.ndarray, w: np.ndarray) -> float:
        """The area under the curve; NaN if it has no meaning."""
        return float("nan")

    @staticmethod
    def at(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The curve at the points of `GRID`."""
        return np.interp(GRID, x, y)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, pos_label: Any = None, sample_weight: Any = None
    ) -> Self:
        """From the probabilities, or the decision function, of a fitted classifier.

        Parameters
        ----------
        pos_label : the class to compare with the rest. By default the last of two classes, or every
            class in turn if there are more.
        """
        X, y = table(X, y)
        classes, scores, _ = class_scores(model, X)
        return cls._from_scores(y, scores, classes, pos_label, sample_weight)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_score: Any, *, classes: Any = None, pos_label: Any = None,
        sample_weight: Any = None,
    ) -> Self:  # fmt: skip
        """From true labels and scores.

        Parameters
        ----------
        y_score : the score of the positive class, or one column per class in the order of `classes`.
        classes : the classes; by default those of y_true, sorted.
        pos_label : the class to compare with the rest, as in `from_estimator`.
        """
        y = vector(y_true, "y_true")
        known = two_or_more(y) if classes is None else np.asarray(classes)
        scores = np.asarray(y_score, dtype=float)
        if scores.ndim == 1 and pos_label is not None:
            column = column_of(known, pos_label)
            spread = np.full((len(scores), len(known)), np.nan)
            spread[:, column] = scores
            return cls._from_scores(y, spread, known, pos_label, sample_weight)
        return cls._from_scores(y, by_class(scores, known), known, pos_label, sample_weight)

    @classmethod
    def _from_scores(
        cls, y: np.ndarray, scores: np.ndarray, classes: np.ndarray, pos_label: Any, weights: Any
    ) -> Self:
        check_lengths(y, scores, ("y_true", "y_score"))
        two_or_more(y)
        w = weights_or_ones(weights, len(y))
        curves, shares = [], []
        for k in _columns(classes, pos_label):
            positive = y == classes[k]
            curves.append(cls._curve(positive, scores[:, k], w, _name(classes, k)))
            shares.append(float(np.average(positive, weights=w)))
        return cls(curves, shares)

    @classmethod
    def _curve(cls, positive: np.ndarray, score: np.ndarray, w: np.ndarray, name: str) -> Curve:
        if not np.isfinite(score).all():
            raise DataError("The scores contain NaN or infinity. Every row needs a finite score.")
        if not w[positive].sum() > 0 or not w[~positive].sum() > 0:
            raise DataError(f"{name}: y_true needs rows of this class and of another class.")
        ranked = Ranked.of(positive, score, w)
        return Curve(name, *cls.points(ranked), ranked.threshold, cls.area(positive, score, w))

    @classmethod
    def from_cv(cls, model: Any, X: Any, y: Any, *, cv: Any = 5, pos_label: Any = None) -> Self:
        """The mean curve over folds, with a band of one standard deviation.

        Parameters
        ----------
        model : an estimator, which is cloned and fitted on every fold.
        cv : number of folds, folds of `pellucid.model_selection` or of scikit-learn, or a list of
            (training rows, test rows).
        pos_label : as in `from_estimator`.
        """
        X, y = table(X, y)
        known = two_or_more(y)
        found: dict[int, list[Curve]] = {k: [] for k in _columns(known, pos_label)}
        for fitted, part, truth, _ in fitted_folds(model, X, y, cv):
            classes, scores, _ = class_scores(fitted, part)
            for k, curves in found.items():
                positive = truth == known[k]
                if 0 < positive.sum() < len(truth) and known[k] in classes:
                    score = scores[:, column_of(classes, known[k])]
                    curves.append(cls._curve(positive, score, np.ones(len(truth)), str(known[k])))
        means = [cls._mean(curves, _name(known, k)) for k, curves in found.items()]
        return cls(means, [float(np.mean(y == known[k])) for k in found])

    @classmethod
    def _mean(cls, curves: list[Curve], name: str) -> Curve:
        if not curves:
            raise DataError(f"{name}: no fold has test rows of this class and of another class.")
        values = np.array([cls.at(curve.x, curve.y) for curve in curves])
        mean, sd = values.mean(axis=0), values.std(axis=0)
        areas = [curve.area for curve in curves]
        return Curve(
            name, GRID, mean, np.full(len(GRID), np.nan), float(np.mean(areas)),
            np.clip(mean - sd, 0, 1), np.clip(mean + sd, 0, 1), float(np.std(areas)),
        )  # fmt: skip

    def columns(self) -> dict[str, Any]:
        lengths = [len(curve.x) for curve in self.curves]
        names = np.repeat([curve.name for curve in self.curves], lengths).tolist()
        x, y = (np.concatenate([getattr(c, k) for c in self.curves]) for k in "xy")
        found: dict[str, Any] = {"class": names, self.x_label: x, self.y_label: y}
        if not self.curves[0].mean:
            return found | {"threshold": np.concatenate([c.threshold for c in self.curves])}
        for end in ("low", "high") if all(curve.low is not None for curve in self.curves) else ():
            found[end] = np.concatenate([getattr(curve, end) for curve in self.curves])
        return found

    def _marks(self) -> list[Mark]:
        marks: list[Mark] = [
            Band(curve.x, curve.low, curve.high, index=i)
            for i, curve in enumerate(self.curves)
            if curve.low is not None and curve.high is not None
        ]
        for i, curve in enumerate(self.curves):
            marks.append(Line(*self.drawn(curve), self._label(curve), i, points=False))
        if self.ring is not None:
            marks.append(Rings([self.ring[0]], [self.ring[1]], radius=6.0, movable=True))
        return marks

    @staticmethod
    def drawn(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
        """The points of the line."""
        return curve.x, curve.y

    def _label(self, curve: Curve) -> str:
        if not self.area_name or not np.isfinite(curve.area):
            return curve.name
        sd = f" ± {curve.area_sd:.3f}" if np.isfinite(curve.area_sd) else ""
        return f"{curve.name} ({self.area_name} {curve.area:.3f}{sd})"

    def _note(self) -> str:
        note = "Mean over the folds" if self.curves[0].mean else ""
        if any(curve.low is not None for curve in self.curves):
            note += f"; band: {self.band}"
        ring = "Ring: the decision threshold." if self.ring is not None else ""
        return f"{note}. {ring}".strip() if note else ring


def _columns(classes: np.ndarray, pos_label: Any) -> list[int]:
    """The classes that get a curve."""
    if pos_label is not None or len(classes) == 2:
        return [column_of(classes, pos_label)]
    return list(range(len(classes)))


def _name(classes: np.ndarray, k: int) -> str:
    return str(classes[k])
