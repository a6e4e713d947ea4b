"""ROC, precision-recall, and cumulative gain and lift curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.metrics.ranked_scores import binary_auc, binary_average_precision
from pellucid.plot.evaluation.ranking import GRID, Curve, Ranked, RankingDisplay
from pellucid.plot.picture import Axis, Line, Panel, Picture, Rule


class RocCurveDisplay(RankingDisplay):
    """True positive rate against false positive rate, for every threshold of the score.

    Attributes
    ----------
    curves : one `Curve` per class, with its points and the area under it.

    Examples
    --------
    >>> display = RocCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> float(display.curves[0].area)
    0.75
    """

    title = "ROC curve"
    x_label, y_label, area_name = "false positive rate", "true positive rate", "AUC"
    area = staticmethod(binary_auc)

    @staticmethod
    def points(ranked: Ranked) -> tuple[np.ndarray, np.ndarray]:
        return ranked.alarms / ranked.alarms[-1], ranked.hits / ranked.hits[-1]

    @staticmethod
    def at(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        values = np.interp(GRID, x, y)
        values[0] = 0.0
        return values

    def picture(self) -> Picture:
        diagonal = Line([0, 1], [0, 1], "random scores", reference=True)
        panel = Panel(
            (*self._marks(), diagonal),
            Axis(self.x_label, 0.0, 1.0),
            Axis(self.y_label, 0.0, 1.0),
            note=self._note(),
            height=300,
        )
        return Picture((panel,), "ROC curve", self.title)


class PrecisionRecallDisplay(RankingDisplay):
    """Precision against recall, for every threshold of the score.

    Attributes
    ----------
    curves : one `Curve` per class, with its points and the average precision.

    Examples
    --------
    >>> display = PrecisionRecallDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(display.curves[0].area, 4)
    0.8333
    """

    title = "Precision-recall curve"
    x_label, y_label, area_name = "recall", "precision", "AP"
    area = staticmethod(binary_average_precision)

    @staticmethod
    def points(ranked: Ranked) -> tuple[np.ndarray, np.ndarray]:
        predicted = ranked.hits + ranked.alarms
        precision = np.divide(
            ranked.hits, predicted, out=np.ones(len(predicted)), where=predicted > 0
        )
        return ranked.hits / ranked.hits[-1], precision

    @staticmethod
    def at(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Steps: the precision at the smallest recall that is at least as large."""
        return y[np.searchsorted(x, GRID - 1e-12)]

    @staticmethod
    def drawn(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
        if curve.mean:
            return curve.x, curve.y
        return np.repeat(curve.x, 2)[:-1], np.repeat(curve.y, 2)[1:]

    def picture(self) -> Picture:
        share = self.prevalence[0]
        rules = [Rule(y=share, name="random scores")] if len(self.curves) == 1 else []
        panel = Panel(
            (*self._marks(), *rules),
            Axis(self.x_label, 0.0, 1.0),
            Axis(self.y_label, 0.0, 1.0),
            note=self._note(),
            height=300,
        )
        return Picture((panel,), "Precision-recall curve", self.title)


class GainDisplay(RankingDisplay):
    """Cumulative gain and lift: how many positive rows are among those with the highest scores.

    Gain is the share of all positive rows, lift is the gain divided by the share of rows taken.

    Examples
    --------
    >>> display = GainDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display.frame()["gain"]
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """

    title = "Cumulative gain and lift"
    x_label, y_label = "share of rows", "gain"

    @staticmethod
    def points(ranked: Ranked) -> tuple[np.ndarray, np.ndarray]:
        taken = ranked.hits + ranked.alarms
        return taken / taken[-1], ranked.hits / ranked.hits[-1]

    @staticmethod
    def lift(curve: Curve) -> np.ndarray:
        """Gain divided by the share of rows; NaN at 0 rows."""
        nothing = np.full(len(curve.x), np.nan)
        return np.divide(curve.y, curve.x, out=nothing, where=curve.x > 0)

    def columns(self) -> dict[str, Any]:
        lifts = np.concatenate([self.lift(curve) for curve in self.curves])
        return super().columns() | {"lift": lifts}

    def picture(self) -> Picture:
        perfect = [
            Line([0, self.prevalence[0], 1], [0, 1, 1], "perfect ranking", reference=True)
        ] if len(self.curves) == 1 else []  # fmt: skip
        gain = Panel(
            (*self._marks(), *perfect, Line([0, 1], [0, 1], "random order", reference=True)),
            Axis(self.x_label, 0.0, 1.0),
            Axis("gain", 0.0, 1.0),
            title="Cumulative gain",
            note=self._note(),
        )
        lines = [
            Line(
                curve.x,
                self.lift(curve),
                curve.name if len(self.curves) > 1 else "",
                i,
                points=False,
            )
            for i, curve in enumerate(self.curves)
        ]
        lift = Panel(
            (*lines, Rule(y=1.0, name="random order")),
            Axis(self.x_label, 0.0, 1.0),
            Axis("lift", zero=True),
            title="Lift",
        )
        return Picture((gain, lift), "Cumulative gain and lift", self.title)


def roc(model: Any, X: Any, y: Any, *, cv: Any = None, pos_label: Any = None) -> RocCurveDisplay:
    """The ROC curve of a fitted classifier, or its mean over the folds of `cv`.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.naive_bayes import GaussianNB
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "yes"]
    >>> plot.roc(GaussianNB().fit(X, y), X, y).curves[0].area
    0.75
    """
    if cv is not None:
        return RocCurveDisplay.from_cv(model, X, y, cv=cv, pos_label=pos_label)
    return RocCurveDisplay.from_estimator(model, X, y, pos_label=pos_label)


def precision_recall(
    model: Any, X: Any, y: Any, *, cv: Any = None, pos_label: Any = None
) -> PrecisionRecallDisplay:
    """The precision-recall curve of a fitted classifier, or its mean over the folds of `cv`."""
    if cv is not None:
        return PrecisionRecallDisplay.from_cv(model, X, y, cv=cv, pos_label=pos_label)
    return PrecisionRecallDisplay.from_estimator(model, X, y, pos_label=pos_label)


def gain(model: Any, X: Any, y: Any, *, cv: Any = None, pos_label: Any = None) -> GainDisplay:
    """Cumulative gain and lift of a fitted classifier, or their means over the folds of `cv`."""
    if cv is not None:
        return GainDisplay.from_cv(model, X, y, cv=cv, pos_label=pos_label)
    return GainDisplay.from_estimator(model, X, y, pos_label=pos_label)
