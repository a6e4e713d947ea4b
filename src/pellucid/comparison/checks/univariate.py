"""How much a single column says about the target, without fitting a model.

A column becomes codes (levels, or up to 32 quantile bins; missing cells are a code of their own). Each
half of the rows is then predicted from the shares of the classes (or means) that its codes have in
the other half, so a column that merely numbers the rows says nothing. Numbers from numbers are also
predicted along the line through the means of the bins, which a copy with a little noise lies on, and
classes by the column's own order, in the direction that the other half shows; of text also the one
word counts that says most in the other half: whether a cell has it. The best counts. The score is the
area under the ROC curve (mean over classes, one against the rest) or R2.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.comparison.planning.dataset import Dataset
from pellucid.data.raw_column import RawColumn, factorize
from pellucid.data.text import Text, vocabulary, word_entries
from pellucid.model_selection.metrics import r2, roc_auc

BINS = 32
MIN_BINS = 4
ROWS_OF_A_BIN = 10
MAX_ROWS = 20_000  # more do not change the verdict
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
        distinct = np.unique(shown)
        if len(distinct) > bins:
            distinct = np.unique(np.quantile(shown, np.linspace(0, 1, bins + 1)[:-1]))
        codes[present] = np.searchsorted(distinct, shown, side="right")
    return codes


def score_codes(
    codes: np.ndarray, y: np.ndarray, weights: np.ndarray, n_classes: int, half: np.ndarray
) -> float:
    """The score of one column of codes; `half` divides the rows."""
    targets = _targets(y, n_classes)
    predicted = np.empty_like(targets)
    for side in (False, True):
        here, there = half == side, half != side
        predicted[here] = _shares(
            codes[there], targets[there], weights[there], int(codes.max()) + 1
        )[codes[here]]
    return _scored(y, predicted, weights, n_classes)


def _targets(y: np.ndarray, n_classes: int) -> np.ndarray:
    return np.eye(n_classes)[y] if n_classes else y[:, None].astype(float)


def _shares(codes: np.ndarray, targets: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Mean of the targets by code, with one row of prior opinion."""
    overall = np.average(targets, axis=0, weights=weights)
    mass = np.bincount(codes, weights, minlength=size)
    sums = [np.bincount(codes, weights * t, minlength=size) for t in targets.T]
    return (np.stack(sums, axis=1) + overall) / (mass[:, None] + 1)


def _scored(y: np.ndarray, predicted: np.ndarray, weights: np.ndarray, n_classes: int) -> float:
    if n_classes:
        return roc_auc(y, predicted, weights, np.arange(n_classes))
    return r2(y, predicted[:, 0], weights)


def score_piecewise_linear(
    codes: np.ndarray, x: np.ndarray, y: np.ndarray, w: np.ndarray, half: Any
) -> float:
    """R2 of the line through the means of the bins, drawn on beyond the outer ones."""
    predicted = np.empty(len(y))
    for side in (False, True):
        here, there = half == side, half != side
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


def score_best_word(
    cells: np.ndarray, y: np.ndarray, w: np.ndarray, n_classes: int, half: Any
) -> float:
    """The score of a single word, for each half the one that goes best with the other's targets."""
    cells, y, w, half = (v[:MAX_TEXTS] for v in (cells, y, w, half))
    options = Text(min_df=0.02, max_words=MAX_WORDS)
    words = vocabulary(cells, np.ones(len(cells)), options)[0]
    if not words:
        return float("nan")
    row, word, _ = word_entries(cells, words, np.ones(len(words)), "binary", options.pattern)
    has = np.zeros((len(words), len(cells)))
    has[word, row] = 1.0
    targets = _targets(y, n_classes)
    predicted = np.empty_like(targets)
    for side in (False, True):
        here, there = half == side, half != side
        d, t = (
            v - v.mean(axis=axis, keepdims=True)
            for v, axis in ((has[:, there], 1), (targets[there], 0))
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            goes = ((d @ t) ** 2 / (d**2).sum(axis=1, keepdims=True)).sum(axis=1)
        codes = has[int(np.nan_to_num(goes).argmax())].astype(np.int64)
        predicted[here] = _shares(codes[there], targets[there], w[there], 2)[codes[here]]
    return _scored(y, predicted, w, n_classes)


def score_order(x: np.ndarray, y: np.ndarray, w: np.ndarray, half: Any) -> float:
    """AUC of the column itself, one class against the rest; each half directs the other."""
    found = []
    for k in np.unique(y):
        sides = [roc_auc((y[s] == k).astype(int), x[s], w[s], np.arange(2)) for s in (half, ~half)]
        turned = np.where(np.array(sides[::-1]) < 0.5, 1 - np.array(sides), sides)
        found.append(turned.mean())
    return float(np.mean(found[-1:] if len(found) == 2 else found))


def univariate_scores(dataset: Dataset, rows: np.ndarray, seed: int) -> dict[str, float]:
    """{column: score of this column alone} on some rows."""
    rng = parallel.stream(parallel.seed_sequence(seed), "alone")
    if len(rows) > MAX_ROWS:
        rows = np.sort(rng.choice(rows, MAX_ROWS, replace=False))
    half = rng.permutation(len(rows)) % 2 == 0
    n_classes = len(dataset.classes or ())
    bins = max(MIN_BINS, min(BINS, len(rows) // ROWS_OF_A_BIN))
    y, weights = dataset.y[rows], dataset.weights[rows]
    out = {}
    for name, column in dataset.raw().items():
        codes = codes_of(column, bins)[rows]
        out[name] = score_codes(codes, y, weights, n_classes, half)
        if column.kind in ("number", "datetime") and codes.all():  # none missing
            other = score_order if n_classes else partial(score_piecewise_linear, codes)
            out[name] = float(np.fmax(out[name], other(column.values[rows], y, weights, half)))
        if column.kind == "text":
            word = score_best_word(column.values[rows], y, weights, n_classes, half)
            out[name] = float(np.fmax(out[name], word))
    return out
