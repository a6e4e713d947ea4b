"""Histograms: a number per row, by true class; predicted probabilities and projections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from pellucid.errors import ParameterError
from pellucid.plot.display import Display, as_function
from pellucid.plot.evaluation.probabilities import labels_and_probabilities, out_of_fold
from pellucid.plot.given_predictions import (
    class_scores,
    column_of,
    pair,
    probabilities,
    table,
    two_or_more,
    vector,
)
from pellucid.plot.picture import Axis, Mark, Panel, Picture, Rule, Steps


class HistogramDisplay(Display):
    """Histogram of a number per row: the rows, or per cent of each class with one outline per class.

    Parameters
    ----------
    counts : name of each class -> its rows in each bin; a single one is drawn as counts.
    edges : limits of the bins.
    label : what the number is.
    title : title of the picture.
    threshold : value marked by a dotted line, such as that of the decision.
    dates : the numbers are days since 1970, shown as dates.

    Examples
    --------
    >>> HistogramDisplay.from_values([1.0, 2.0, 4.0], None, [0, 2, 4], "size", "").frame()["rows"]
    [1, 2]
    """

    def __init__(
        self, counts: Mapping[str, Any], edges: Any, label: str, title: str,
        threshold: float | None = None, dates: bool = False,
    ) -> None:  # fmt: skip
        self.edges, self.threshold, self.dates = np.asarray(edges), threshold, dates
        self.label, self.title = label, title
        self.counts = {name: np.asarray(part) for name, part in counts.items()}

    @classmethod
    def from_values(
        cls, values: Any, y: Any, edges: Any, label: str, title: str,
        threshold: float | None = None,
    ) -> Self:  # fmt: skip
        """From the number and the true class of each row; y may be None."""
        if y is None:
            return cls(
                {"rows": np.histogram(vector(values, "values"), edges)[0]}, edges, label, title
            )
        truth, numbers = pair(y, values, ("y", "values"))
        counts = {str(c): np.histogram(numbers[truth == c], edges)[0] for c in np.unique(truth)}
        return cls(counts, edges, label, title, threshold)

    def columns(self) -> dict[str, Any]:
        n, k = len(self.edges) - 1, len(self.counts)
        shares = [100 * counts / max(counts.sum(), 1) for counts in self.counts.values()]
        return {
            "class": np.repeat(list(self.counts), n).tolist(),
            "from": np.tile(self.edges[:-1], k),
            "to": np.tile(self.edges[1:], k),
            "rows": np.concatenate(list(self.counts.values())),
            "% of the class": np.concatenate(shares),
        }

    def picture(self) -> Picture:
        marks: list[Mark] = [
            Steps(self.edges, 100 * counts / max(counts.sum(), 1), False, name, i)
            for i, (name, counts) in enumerate(self.counts.items())
        ]
        if self.threshold is not None:
            marks.append(Rule(x=self.threshold, name="threshold"))
        axis = Axis(self.label, grid=False, dates=self.dates)
        if len(self.counts) == 1:
            (name, counts), *_ = self.counts.items()
            marks[0] = Steps(self.edges, counts)
            return Picture((Panel(tuple(marks), axis, Axis(name)),), "Histogram", self.title)
        panel = Panel(tuple(marks), axis, Axis("% of each class"))
        return Picture((panel,), "Histogram by true class", self.title)


class ProbabilityHistogramDisplay(HistogramDisplay):
    """Histogram of the predicted probability of one class, by the true class.

    Examples
    --------
    >>> display = ProbabilityHistogramDisplay.from_predictions([0, 0, 1], [0.1, 0.2, 0.9], n_bins=2)
    >>> display.frame()["rows"]
    [2, 0, 0, 1]
    """

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, pos_label: Any = None, n_bins: int = 20
    ) -> Self:
        """From the probabilities of a fitted classifier; `pos_label` is the last class by default."""
        X, y = table(X, y)
        classes, p = probabilities(model, X)
        return cls._of(y, p, classes, pos_label, n_bins)

    @classmethod
    def from_cv(
        cls, model: Any, X: Any, y: Any, *, cv: Any = 5, pos_label: Any = None, n_bins: int = 20
    ) -> Self:
        """From probabilities of rows that the model was not trained on, over the folds of `cv`."""
        X, y = table(X, y)
        return cls._of(*out_of_fold(model, X, y, cv), pos_label, n_bins)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_prob: Any, *, pos_label: Any = None, n_bins: int = 20
    ) -> Self:
        """From true labels and probabilities of the positive class, or one column per class."""
        y, classes, p = labels_and_probabilities(y_true, y_prob, pos_label)
        return cls._of(y, p, classes, pos_label, n_bins)

    @classmethod
    def _of(
        cls, y: np.ndarray, p: np.ndarray, classes: np.ndarray, pos_label: Any, n_bins: int
    ) -> Self:
        k = column_of(classes, pos_label)
        label = f"predicted probability of {classes[k]}"
        title = "Predicted probability by true class"
        return cls.from_values(p[:, k], y, np.linspace(0, 1, n_bins + 1), label, title)


class ProjectionHistogramDisplay(HistogramDisplay):
    """Histogram of the rows along the direction that separates the classes, by the true class."""

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, n_bins: int = 30) -> Self:
        """The first discriminant of a model with `transform`, otherwise its decision function.

        A decision function of two classes has its threshold at 0.
        """
        X, y = table(X, y)
        two_or_more(y)
        if hasattr(model, "transform"):
            values = np.asarray(model.transform(X), dtype=float)
            values, label, threshold = values.reshape(len(y), -1)[:, 0], "first direction", None
        else:
            classes, scores, are_probabilities = class_scores(model, X)
            values, label, threshold = _decision(model, X, classes, scores, are_probabilities)
        low, high = float(values.min()), float(values.max())
        edges = np.linspace(low, high if high > low else low + 1, n_bins + 1)
        return cls.from_values(values, y, edges, label, "Projection by true class", threshold)


def _decision(
    model: Any, X: Any, classes: np.ndarray, scores: np.ndarray, are_probabilities: bool
) -> tuple[np.ndarray, str, float | None]:
    if len(classes) != 2:
        raise ParameterError(
            f"{type(model).__name__} has {len(classes)} decision functions, one per class, and no "
            "`transform`. A projection needs two classes or a discriminant analysis."
        )
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X), dtype=float)
        return values.reshape(len(scores), -1)[:, -1], "decision function", 0.0
    p = np.clip(scores[:, 1], 1e-15, 1 - 1e-15)
    return np.log(p / (1 - p)), f"log-odds of {classes[1]}", 0.0


def probability_histogram(
    model: Any, X: Any, y: Any, *, cv: Any = None, pos_label: Any = None, n_bins: int = 20
) -> ProbabilityHistogramDisplay:
    """Predicted probability of one class, by the true class."""
    options: dict[str, Any] = {"pos_label": pos_label, "n_bins": n_bins}
    if cv is not None:
        return ProbabilityHistogramDisplay.from_cv(model, X, y, cv=cv, **options)
    return ProbabilityHistogramDisplay.from_estimator(model, X, y, **options)


def histogram(
    values: Any, y: Any = None, *, bins: Any = 30, label: str = "", title: str = ""
) -> HistogramDisplay:
    """A column of numbers, by class if y is given.

    Parameters
    ----------
    values : numbers, one per row.
    y : classes, one per row.
    bins : number of bins, or their edges.
    label, title : what the numbers are, and the title.
    """
    numbers = vector(values, "values").astype(float)
    return HistogramDisplay.from_values(
        numbers, y, np.histogram_bin_edges(numbers, bins), label, title
    )


projection_histogram = as_function(
    "projection_histogram", ProjectionHistogramDisplay.from_estimator
)
