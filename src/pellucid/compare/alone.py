"""How much a single column says about the target, without fitting a model.

A column becomes codes (levels, or up to 32 quantile bins; missing cells are a code of their own). Each
half of the rows is then predicted from the shares of the classes (or means) that its codes have in
the other half, so a column that merely numbers the rows says nothing. Numbers from numbers are also
predicted along the line through the means of the bins, which a copy with a little noise lies on, and
classes by the column's own order, in the direction that the other half shows. The best counts. The
score is the area under the ROC curve (mean over classes, one against the rest) or R2.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.compare.material import Material
from pellucid.data.cells import RawColumn, factorize
from pellucid.model_selection.metrics import r2, roc_auc

BINS = 32
LEAST_BINS = 4
ROWS_OF_A_BIN = 10
MOST_ROWS = 20_000  # more do not change the verdict


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


def score_alone(
    codes: np.ndarray, y: np.ndarray, weights: np.ndarray, n_classes: int, half: np.ndarray
) -> float:
    """The score of one column of codes; `half` divides the rows."""
    targets = np.eye(n_classes)[y] if n_classes else y[:, None].astype(float)
    said = np.empty_like(targets)
    for side in (False, True):
        here, there = half == side, half != side
        overall = np.average(targets[there], axis=0, weights=weights[there])
        size = int(codes.max()) + 1
        mass = np.bincount(codes[there], weights[there], minlength=size)
        for k in range(targets.shape[1]):
            total = np.bincount(codes[there], weights[there] * targets[there, k], minlength=size)
            mean = (total + overall[k]) / (mass + 1)  # one row of prior opinion
            said[here, k] = mean[codes[here]]
    if n_classes:
        return roc_auc(y, said, weights, np.arange(n_classes))
    return r2(y, said[:, 0], weights)


def score_along(codes: np.ndarray, x: np.ndarray, y: np.ndarray, w: np.ndarray, half: Any) -> float:
    """R2 of the line through the means of the bins, drawn on beyond the outer ones."""
    said = np.empty(len(y))
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
        said[here] = mean[k] + slope * (x[here] - at[k])
    return r2(y, said, w)


def by_order(x: np.ndarray, y: np.ndarray, w: np.ndarray, half: Any) -> float:
    """AUC of the column itself, one class against the rest; each half directs the other."""
    found = []
    for k in np.unique(y):
        sides = [roc_auc((y[s] == k).astype(int), x[s], w[s], np.arange(2)) for s in (half, ~half)]
        turned = np.where(np.array(sides[::-1]) < 0.5, 1 - np.array(sides), sides)
        found.append(turned.mean())
    return float(np.mean(found[-1:] if len(found) == 2 else found))


def alone(material: Material, rows: np.ndarray, seed: int) -> dict[str, float]:
    """{column: score of this column alone} on some rows."""
    rng = parallel.stream(parallel.seed_sequence(seed), "alone")
    if len(rows) > MOST_ROWS:
        rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
    half = rng.permutation(len(rows)) % 2 == 0
    n_classes = len(material.classes or ())
    bins = max(LEAST_BINS, min(BINS, len(rows) // ROWS_OF_A_BIN))
    y, weights = material.y[rows], material.weights[rows]
    out = {}
    for name, column in material.raw().items():
        codes = codes_of(column, bins)[rows]
        out[name] = score_alone(codes, y, weights, n_classes, half)
        if column.kind in ("number", "datetime") and codes.all():  # none missing
            other = by_order if n_classes else partial(score_along, codes)
            out[name] = float(np.fmax(out[name], other(column.values[rows], y, weights, half)))
    return out
