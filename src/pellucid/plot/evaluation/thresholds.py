"""What each threshold of a score gives: precision, recall, F1, accuracy and cost."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pellucid.draw.number import number
from pellucid.errors import ParameterError
from pellucid.plot.display import Display
from pellucid.plot.evaluation.ranking import Ranked
from pellucid.plot.given_predictions import (
    class_scores,
    column_of,
    fitted_folds,
    pair,
    table,
    two_or_more,
)  # fmt: skip
from pellucid.plot.picture import Axis, Line, Panel, Picture, Rule


class ThresholdDisplay(Display):
    """Precision, recall, F1 and cost if rows with a score of at least the threshold are positive.

    Parameters
    ----------
    positive : whether each row is of the positive class.
    score : the score of each row.
    name : name of the positive class.
    cost_fp, cost_fn : cost of a false positive and of a false negative.

    Attributes
    ----------
    best : the threshold with the smallest cost; infinity if no row should be called positive.

    Examples
    --------
    >>> display = ThresholdDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], cost_fn=5)
    >>> display.best
    0.35
    """

    def __init__(
        self, positive: Any, score: Any, name: str = "", cost_fp: float = 1.0, cost_fn: float = 1.0
    ) -> None:
        if not (cost_fp >= 0 and cost_fn >= 0 and np.isfinite(cost_fp + cost_fn)):
            raise ParameterError(
                f"cost_fp and cost_fn must be finite and not negative. Got {cost_fp}, {cost_fn}."
            )
        self.name, self.cost_fp, self.cost_fn = name, cost_fp, cost_fn
        truth = np.asarray(positive, dtype=bool)
        found = Ranked.of(truth, np.asarray(score, dtype=float), np.ones(len(truth)))
        self.threshold, self.tp, self.fp = found.threshold, found.hits, found.alarms
        self.fn, self.tn = self.tp[-1] - self.tp, self.fp[-1] - self.fp

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, pos_label: Any = None, cost_fp: float = 1.0,
        cost_fn: float = 1.0,
    ) -> Self:  # fmt: skip
        """From the probabilities, or the decision function, of a fitted classifier.

        `pos_label` is the positive class; by default the last one.
        """
        X, y = table(X, y)
        classes, scores, _ = class_scores(model, X)
        two_or_more(y)
        k = column_of(classes, pos_label)
        return cls(y == classes[k], scores[:, k], str(classes[k]), cost_fp, cost_fn)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_score: Any, *, pos_label: Any = None, cost_fp: float = 1.0,
        cost_fn: float = 1.0,
    ) -> Self:  # fmt: skip
        """From true labels and the scores of the positive class."""
        y, score = pair(y_true, y_score, ("y_true", "y_score"))
        classes = two_or_more(y)
        k = column_of(classes, pos_label)
        return cls(y == classes[k], score, str(classes[k]), cost_fp, cost_fn)

    @classmethod
    def from_cv(
        cls, model: Any, X: Any, y: Any, *, cv: Any = 5, pos_label: Any = None,
        cost_fp: float = 1.0, cost_fn: float = 1.0,
    ) -> Self:  # fmt: skip
        """From scores of rows that the model was not trained on, over the folds of `cv`."""
        X, y = table(X, y)
        known = two_or_more(y)
        chosen = known[column_of(known, pos_label)]
        truth, score = [], []
        for fitted, part, labels, _ in fitted_folds(model, X, y, cv):
            classes, scores, _ = class_scores(fitted, part)
            truth.append(labels == chosen)
            score.append(scores[:, column_of(classes, chosen)])
        return cls(np.concatenate(truth), np.concatenate(score), str(chosen), cost_fp, cost_fn)

    @property
    def cost(self) -> np.ndarray:
        """Mean cost per row at each threshold."""
        total = self.tp[-1] + self.fp[-1]
        return (self.cost_fp * self.fp + self.cost_fn * self.fn) / total

    @property
    def best(self) -> float:
        return float(self.threshold[self.cost.argmin()])

    @property
    def rates(self) -> dict[str, np.ndarray]:
        """Precision, recall, F1 and accuracy at each threshold; NaN where they are undefined."""

        def share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
            return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)

        total = self.tp[-1] + self.fp[-1]
        return {
            "precision": share(self.tp, self.tp + self.fp),
            "recall": share(self.tp, self.tp + self.fn),
            "F1": share(2 * self.tp, 2 * self.tp + self.fp + self.fn),
            "accuracy": (self.tp + self.tn) / total,
        }

    def columns(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in ("tp", "fp", "fn", "tn")}
        return {"threshold": self.threshold, **counts, **self.rates, "cost": self.cost}

    def picture(self) -> Picture:
        kept = np.isfinite(self.threshold)
        x = self.threshold[kept]
        lines = tuple(
            Line(x, values[kept], name, i, points=False)
            for i, (name, values) in enumerate(self.rates.items())
        )
        rule = (Rule(x=self.best, name="smallest cost"),) if np.isfinite(self.best) else ()
        where = f"threshold {number(self.best)}" if rule else "no row called positive"
        costs = f"False positive {number(self.cost_fp)}, false negative {number(self.cost_fn)}."
        label = f"threshold of the score of {self.name}" if self.name else "threshold"
        rates = Panel((*lines, *rule), Axis(label), Axis("", 0.0, 1.0), title="Rates by threshold")
        cost = Panel(
            (Line(x, self.cost[kept], points=False), *rule),
            Axis(label),
            Axis("cost per row", zero=True),
            title="Cost by threshold",
            note=f"{costs} Smallest cost {number(self.cost.min())} per row: {where}.",
        )
        return Picture((rates, cost), "Rates and cost by threshold", "Rates and cost by threshold")


def threshold_curve(
    model: Any, X: Any, y: Any, *, cv: Any = None, pos_label: Any = None, cost_fp: float = 1.0,
    cost_fn: float = 1.0,
) -> ThresholdDisplay:  # fmt: skip
    """Precision, recall, F1, accuracy and cost of a fitted classifier by threshold.

    With `cv`, from predictions of rows that the model was not trained on.
    """
    options = {"pos_label": pos_label, "cost_fp": cost_fp, "cost_fn": cost_fn}
    if cv is not None:
        return ThresholdDisplay.from_cv(model, X, y, cv=cv, **options)
    return ThresholdDisplay.from_estimator(model, X, y, **options)
