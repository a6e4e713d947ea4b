"""Predicted probabilities: calibration, and histograms by the true class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Self

import numpy as np

from pellucid.errors import DataError, ParameterError
from pellucid.metrics.inputs import check_lengths
from pellucid.plot.display import Display
from pellucid.plot.given_predictions import (
    column_of,
    fitted_folds,
    probabilities,
    table,
    two_or_more,
    vector,
)  # fmt: skip
from pellucid.plot.picture import Axis, Intervals, Line, Mark, Panel, Picture, Steps


@dataclass(frozen=True)
class CalibrationBins:
    """Bins of one class: only those with rows. `low` and `high` are Wilson's interval of 95 %.

    edges, counts: of all bins, also empty ones; None leaves out their histogram.
    """

    name: str
    edges: np.ndarray | None
    counts: np.ndarray | None
    mean: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rows: np.ndarray
    brier: float


def _bins(positive: np.ndarray, p: np.ndarray, name: str, n_bins: int, strategy: str) -> Any:
    if strategy == "quantile":
        edges = np.percentile(p, np.linspace(0, 100, n_bins + 1))
    else:
        edges = np.linspace(0.0, 1.0, n_bins + 1)
    place = np.searchsorted(edges[1:-1], p)
    counts = np.bincount(place, minlength=n_bins).astype(float)
    kept = counts > 0
    rows = counts[kept]
    mean = np.bincount(place, p, n_bins)[kept] / rows
    observed = np.bincount(place, positive.astype(float), n_bins)[kept] / rows
    low, high = wilson(observed, rows)
    brier = float(np.mean((p - positive) ** 2))
    return CalibrationBins(name, edges, counts, mean, observed, low, high, rows, brier)


def wilson(share: np.ndarray, n: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval of a proportion."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


class CalibrationDisplay(Display):
    """Observed shares against predicted probabilities in bins, with 95 % intervals and counts.

    Attributes
    ----------
    bins : one `CalibrationBins` per class shown.

    Examples
    --------
    >>> display = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], n_bins=2)
    >>> [round(value, 3) for value in display.frame()["mean probability"]]
    [0.15, 0.85]
    """

    def __init__(self, bins: Sequence[CalibrationBins]) -> None:
        self.bins = tuple(bins)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, n_bins: int = 10, strategy: str = "uniform",
        pos_label: Any = None,
    ) -> Self:  # fmt: skip
        """From the probabilities of a fitted classifier.

        Parameters
        ----------
        n_bins : number of bins.
        strategy : "uniform" for bins of equal width, "quantile" for bins with equally many rows.
        pos_label : the class shown; by default the last of two, or every class if there are more.
        """
        X, y = table(X, y)
        classes, p = probabilities(model, X)
        return cls._from(y, p, classes, n_bins, strategy, pos_label)

    @classmethod
    def from_cv(
        cls, model: Any, X: Any, y: Any, *, cv: Any = 5, n_bins: int = 10,
        strategy: str = "uniform", pos_label: Any = None,
    ) -> Self:  # fmt: skip
        """From probabilities of rows that the model was not trained on, over the folds of `cv`."""
        X, y = table(X, y)
        return cls._from(*out_of_fold(model, X, y, cv), n_bins, strategy, pos_label)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_prob: Any, *, n_bins: int = 10, strategy: str = "uniform",
        pos_label: Any = None,
    ) -> Self:  # fmt: skip
        """From true labels and probabilities of the positive class, or one column per class."""
        y, classes, p = labels_and_probabilities(y_true, y_prob, pos_label)
        return cls._from(y, p, classes, n_bins, strategy, pos_label)

    @classmethod
    def _from(
        cls, y: np.ndarray, p: np.ndarray, classes: np.ndarray, n_bins: int, strategy: str,
        pos_label: Any,
    ) -> Self:  # fmt: skip
        if strategy not in ("uniform", "quantile"):
            raise ParameterError(
                f"strategy must be 'uniform' or 'quantile'. Got {strategy!r} instead."
            )
        if not isinstance(n_bins, int) or n_bins < 1:
            raise ParameterError(
                f"n_bins must be an integer of at least 1. Got {n_bins!r} instead."
            )
        two_or_more(y)
        single = pos_label is not None or len(classes) == 2
        which = [column_of(classes, pos_label)] if single else range(len(classes))
        return cls(
            [_bins(y == classes[k], p[:, k], str(classes[k]), n_bins, strategy) for k in which]
        )

    def columns(self) -> dict[str, Any]:
        def joined(name: str) -> np.ndarray:
            return np.concatenate([getattr(part, name) for part in self.bins])

        return {
            "class": [part.name for part in self.bins for _ in part.rows],
            "mean probability": joined("mean"),
            "observed share": joined("observed"),
            "low": joined("low"),
            "high": joined("high"),
            "rows": joined("rows"),
        }

    def picture(self) -> Picture:
        several = len(self.bins) > 1
        marks: list[Mark] = []
        for i, part in enumerate(self.bins):
            if not several:
                marks.append(
                    Intervals(part.mean, part.observed, part.low, part.high, False, index=i)
                )
            label = f"{part.name} (Brier score {part.brier:.3f})"
            marks.append(Line(part.mean, part.observed, label, i))
        marks.append(Line([0, 1], [0, 1], "perfect calibration", reference=True))
        known = not several and bool(np.isfinite(self.bins[0].low).any())
        histogram = self._counts()
        curve = Panel(
            tuple(marks),
            Axis("mean predicted probability", 0.0, 1.0),
            Axis("observed share", 0.0, 1.0),
            title="Observed against predicted" if histogram else "",
            note="Vertical lines: 95 % intervals (Wilson)." if known else "",
            height=300,
        )
        return Picture((curve, *histogram), "Calibration curve with counts", "Calibration")

    def _counts(self) -> tuple[Panel, ...]:
        several = len(self.bins) > 1
        steps = tuple(
            Steps(_strictly(part.edges), part.counts, not several, part.name if several else "", i)
            for i, part in enumerate(self.bins)
            if part.edges is not None
        )
        found = Panel(steps, Axis("predicted probability"), Axis("rows"), title="Rows per bin")
        return (found,) if steps else ()


def _strictly(edges: np.ndarray) -> np.ndarray:
    """Edges that increase, also where quantiles coincide."""
    return np.maximum.accumulate(edges + np.arange(len(edges)) * 1e-12)


def out_of_fold(
    model: Any, X: Any, y: np.ndarray, cv: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(true labels, probabilities, classes) of rows that the model was not trained on."""
    known = two_or_more(y)
    truth, parts = [], []
    for fitted, part, labels, _ in fitted_folds(model, X, y, cv):
        classes, p = probabilities(fitted, part)
        full = np.zeros((len(labels), len(known)))
        full[:, np.searchsorted(known, classes)] = p
        truth.append(labels)
        parts.append(full)
    return np.concatenate(truth), np.concatenate(parts), known


def labels_and_probabilities(
    y_true: Any, y_prob: Any, pos_label: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(true labels, classes, one column of probabilities per class)."""
    y = vector(y_true, "y_true")
    classes = two_or_more(y)
    p = np.asarray(y_prob, dtype=float)
    check_lengths(y, p, ("y_true", "y_prob"))
    if not np.all((p >= 0) & (p <= 1)):
        raise DataError("y_prob must be probabilities between 0 and 1.")
    if p.ndim == 1:
        if len(classes) > 2 and pos_label is None:
            raise DataError(
                f"{len(classes)} classes need one column of probabilities each, or pos_label."
            )
        k = column_of(classes, pos_label)
        full = np.zeros((len(y), len(classes)))
        full[:, k] = p
        if len(classes) == 2:
            full[:, 1 - k] = 1 - p
        p = full
    if p.shape[1] != len(classes):
        raise DataError(f"y_prob has {p.shape[1]} columns, but there are {len(classes)} classes.")
    return y, classes, p


def calibration(
    model: Any, X: Any, y: Any, *, cv: Any = None, n_bins: int = 10, strategy: str = "uniform",
    pos_label: Any = None,
) -> CalibrationDisplay:  # fmt: skip
    """Calibration of a fitted classifier, or of its clones on the folds of `cv`."""
    options: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy, "pos_label": pos_label}
    if cv is not None:
        return CalibrationDisplay.from_cv(model, X, y, cv=cv, **options)
    return CalibrationDisplay.from_estimator(model, X, y, **options)
