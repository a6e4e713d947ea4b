"""How well a single column predicts the target, without fitting a model.

A column becomes codes (levels, or up to 32 quantile bins; missing cells have their own code). Each half
of the rows is predicted from the class shares (or means) of its codes in the other half, so a column
that merely numbers the rows has no score. Further predictions are tried, and the best score counts:

- numbers from numbers: the line through the means of the bins (finds a copy with a little noise);
- classes from numbers: the order of the column, in the direction that the other half shows;
- from text: whether a cell contains the word that predicts best in the other half.

The score is the area under the ROC curve (mean over classes, one against the rest) or R2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.comparison.checks.wide_tables import quantiles, scores_at_once
from pellucid.comparison.planning.dataset import Dataset
from pellucid.data.raw_column import RawColumn, factorize
from pellucid.data.text import Text, vocabulary, word_entries
from pellucid.model_selection.metrics import binary_auc, r2, roc_auc

BINS = 32
MIN_BINS = 4
ROWS_OF_A_BIN = 10
MAX_ROWS = 20_000  # more rows do not change the conclusion
MAX_TEXTS, MAX_WORDS = 4000, 500  # likewise; the most frequent words


def codes_of(column: RawColumn, bins: int = BINS) -> np.ndarray:
    """Small integers: levels or quantile bins, 0 for missing."""
    if column.kind == "categorical":
        return column.values.astype(np.int64) + 1
    if column.kind == "text":
        return factorize(column.values)[0].astype(np.int64) + 1
    values = column.values
    present = ~np.isnan(values)
    codes = np.zeros(len(values), dtype=np.int64)
    if present.any():
        shown = values[present]
        ordered = np.sort(shown)
        distinct = _without_repeats(ordered)
        if len(distinct) > bins:
            distinct = _without_repeats(quantiles(ordered, bins))
        codes[present] = np.searchsorted(distinct, shown, side="right")
    return codes


def _without_repeats(ordered: np.ndarray) -> np.ndarray:
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]


@dataclass(frozen=True)
class Halves:
    """The target of some rows, split in two; what does not depend on the column is computed once."""

    y: np.ndarray
    weights: np.ndarray
    n_classes: int  # 0 for numbers
    half: np.ndarray

    @cached_property
    def targets(self) -> np.ndarray:
        """(n, k): an indicator of each class (of two only the second), or the numbers."""
        if not self.n_classes:
            return self.y[:, None].astype(float)
        return np.eye(self.n_classes)[self.y][:, self.n_classes == 2 :]

    @cached_property
    def sides(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Rows to predict; rows to learn from, their weights, weighted targets and mean target."""
        found = []
        for here, there in ((self.half, ~self.half), (~self.half, self.half)):
            w, t = self.weights[there], self.targets[there]
            overall = np.average(t, axis=0, weights=w)
            found.append((np.flatnonzero(here), np.flatnonzero(there), w, w * t.T, overall))
        return found

    def score(self, predicted: np.ndarray) -> float:
        """Area under the ROC curve, or R2, of predictions (n, k)."""
        if self.n_classes == 2:
            return binary_auc(self.y == 1, predicted[:, 0], self.weights)
        if self.n_classes:
            return roc_auc(self.y, predicted, self.weights, np.arange(self.n_classes))
        return r2(self.y, predicted[:, 0], self.weights)

    def score_codes(self, codes: np.ndarray) -> float:
        """The score of a column of codes."""
        size, predicted = int(codes.max()) + 1, np.empty_like(self.targets)
        for here, there, w, sums_of, overall in self.sides:
            shares = _shares(codes[there], sums_of, w, size, overall)
            predicted[here] = shares[codes[here]]
        return self.score(predicted)


def _shares(
    codes: np.ndarray, targets: np.ndarray, weights: np.ndarray, size: int, overall: np.ndarray
) -> np.ndarray:
    """Mean of the targets by code, with the overall mean as one prior row; `targets` (k, n) are
    weighted.
    """
    mass = np.bincount(codes, weights, minlength=size)
    sums = [np.bincount(codes, t, minlength=size) for t in targets]
    return (np.stack(sums, axis=1) + overall) / (mass[:, None] + 1)


def score_piecewise_linear(
    codes: np.ndarray, x: np.ndarray, y: np.ndarray, w: np.ndarray, half: Any
) -> float:
    """R2 of the line through the means of the bins, extrapolated beyond the outer ones."""
    predicted = np.empty(len(y))
    for here, there in ((half, ~half), (~half, half)):
        mass = np.bincount(codes[there], w[there])
        used = mass > 0
        at, mean = (
            np.bincount(codes[there], w[there] * v[there])[used] / mass[used] for v in (x, y)
        )
        if len(at) < 2 or (np.diff(at) <= 0).any():
            return float("nan")
        k = np.clip(np.searchsorted(at, x[here]), 1, len(at) - 1)
        slope = (mean[k] - mean[k - 1]) / (at[k] - at[k - 1])
        predicted[here] = mean[k] + slope * (x[here] - at[k])
    return r2(y, predicted, w)


def score_best_word(cells: np.ndarray, rows: Halves) -> float:
    """The score of a single word: for each half, the word that predicts best in the other half."""
    cells = cells[:MAX_TEXTS]
    y, weights, half = (v[:MAX_TEXTS] for v in (rows.y, rows.weights, rows.half))
    rows = Halves(y, weights, rows.n_classes, half)
    options = Text(min_df=0.02, max_words=MAX_WORDS)
    words = vocabulary(cells, np.ones(len(cells)), options)[0]
    if not words:
        return float("nan")
    row, word, _ = word_entries(cells, words, np.ones(len(words)), "binary", options.pattern)
    has = np.zeros((len(words), len(cells)))
    has[word, row] = 1.0
    predicted = np.empty_like(rows.targets)
    for here, there, w, sums_of, overall in rows.sides:
        d = has[:, there] - has[:, there].mean(axis=1, keepdims=True)
        t = rows.targets[there] - rows.targets[there].mean(axis=0, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            goes = ((d @ t) ** 2 / (d**2).sum(axis=1, keepdims=True)).sum(axis=1)
        codes = has[int(np.nan_to_num(goes).argmax())].astype(np.int64)
        predicted[here] = _shares(codes[there], sums_of, w, 2, overall)[codes[here]]
    return rows.score(predicted)


def score_order(x: np.ndarray, y: np.ndarray, w: np.ndarray, half: Any) -> float:
    """AUC of the column itself, one class against the rest, in the direction of the other half."""
    found, classes = [], np.flatnonzero(np.bincount(y))
    for k in classes[len(classes) == 2 :]:
        one, two = (binary_auc(y[s] == k, x[s], w[s]) for s in (half, ~half))
        found.append(((1 - one if two < 0.5 else one) + (1 - two if one < 0.5 else two)) / 2)
    return float(np.mean(found))


def univariate_scores(
    dataset: Dataset, raw: dict[str, RawColumn], rows: np.ndarray, seed: int
) -> dict[str, float]:
    """{column: score of this column as the only predictor} on those of some rows that have a weight."""
    rows = rows[dataset.weights[rows] > 0]
    if len(rows) < 2:
        return dict.fromkeys(raw, float("nan"))
    rng = parallel.stream(parallel.seed_sequence(seed), "alone")
    if len(rows) > MAX_ROWS:
        rows = np.sort(rng.choice(rows, MAX_ROWS, replace=False))
    half = rng.permutation(len(rows)) % 2 == 0
    n_classes = len(dataset.classes or ())
    bins = max(MIN_BINS, min(BINS, len(rows) // ROWS_OF_A_BIN))
    y, weights = dataset.y[rows], dataset.weights[rows]
    halves = Halves(y, weights, n_classes, half)
    out = scores_at_once(raw, rows, halves, bins)
    for name, column in raw.items():
        if name in out:
            continue
        codes = codes_of(column, bins)[rows]
        out[name] = halves.score_codes(codes)
        if column.kind in ("number", "datetime") and codes.all():  # none missing
            other = score_order if n_classes else partial(score_piecewise_linear, codes)
            out[name] = float(np.fmax(out[name], other(column.values[rows], y, weights, half)))
        if column.kind == "text":
            word = score_best_word(column.values[rows], halves)
            out[name] = float(np.fmax(out[name], word))
    return out
