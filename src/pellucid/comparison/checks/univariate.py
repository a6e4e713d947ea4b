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
        distinct = np.unique(shown)
        if len(distinct) > bins:
            distinct = np.unique(np.quantile(shown, np.linspace(0, 1, bins + 1)[:-1]))
        codes[present] = np.searchsorted(distinct, shown, side="right")
    return codes


def score_codes(
    codes: np.ndarray, y: np.ndarray, weights: np.ndarray, n_classes: int, half: np.ndarray
) -> float:
    """The score of a column of codes; `half` splits the rows in two."""
    targets, size = _targets(y, n_classes), int(codes.max()) + 1
    predicted = np.empty_like(targets)
    for here, there in ((half, ~half), (~half, half)):
        shares = _shares(codes[there], targets[there], weights[there], size)
        predicted[here] = shares[codes[here]]
    return _scored(y, predicted, weights, n_classes)


def _targets(y: np.ndarray, n_classes: int) -> np.ndarray:
    return np.eye(n_classes)[y] if n_classes else y[:, None].astype(float)


def _shares(codes: np.ndarray, targets: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Mean of the targets by code, with the overall mean as one prior row."""
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


def score_best_word(
    cells: np.ndarray, y: np.ndarray, w: np.ndarray, n_classes: int, half: Any
) -> float:
    """The score of a single word: for each half, the word that predicts best in the other half."""
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
    for here, there in ((half, ~half), (~half, half)):
        d = has[:, there] - has[:, there].mean(axis=1, keepdims=True)
        t = targets[there] - targets[there].mean(axis=0, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            goes = ((d @ t) ** 2 / (d**2).sum(axis=1, keepdims=True)).sum(axis=1)
        codes = has[int(np.nan_to_num(goes).argmax())].astype(np.int64)
        predicted[here] = _shares(codes[there], targets[there], w[there], 2)[codes[here]]
    return _scored(y, predicted, w, n_classes)


def score_order(x: np.ndarray, y: np.ndarray, w: np.ndarray, half: Any) -> float:
    """AUC of the column itself, one class against the rest, in the direction of the other half."""
    found = []
    for k in np.unique(y):
        sides = [roc_auc((y[s] == k).astype(int), x[s], w[s], np.arange(2)) for s in (half, ~half)]
        turned = np.where(np.array(sides[::-1]) < 0.5, 1 - np.array(sides), sides)
        found.append(turned.mean())
    return float(np.mean(found[-1:] if len(found) == 2 else found))


def univariate_scores(dataset: Dataset, rows: np.ndarray, seed: int) -> dict[str, float]:
    """{column: score of this column as the only predictor} on some rows."""
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
