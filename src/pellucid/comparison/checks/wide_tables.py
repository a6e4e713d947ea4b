"""The scores of `univariate` for many columns at once, for tables with few rows.

Invariant: a column has the score that it has alone, to the last bit. For classes this needs weights
that are whole numbers, because then the sums of an AUC are exact in any order.

Matrices here have one row for each column of the table.
"""

from __future__ import annotations

from functools import cache
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from pellucid.data.raw_column import RawColumn

if TYPE_CHECKING:
    from pellucid.comparison.checks.univariate import Halves

MAX_ROWS = 512  # with more, the scores of a column take longer than the calls for it
CELLS = 1 << 18  # of one batch: they stay in the cache
LARGEST = 1e150  # squares of larger numbers overflow


def scores_at_once(
    raw: dict[str, RawColumn], rows: np.ndarray, halves: Halves, bins: int
) -> dict[str, float]:
    """{column: score} of the columns of numbers and dates; none if the table has many rows."""
    w = halves.weights
    exact = not halves.n_classes or ((w == np.floor(w)).all() and w.sum() < 2**26)
    numeric = {name: c.values for name, c in raw.items() if c.kind in ("number", "datetime")}
    n = max(map(len, numeric.values()), default=0)
    if not exact or n > MAX_ROWS:
        return {}
    found: dict[str, float] = {}
    names, at_once = list(numeric), CELLS // max(n, 1)
    for start in range(0, len(names), at_once):
        part = names[start : start + at_once]
        values = np.stack([numeric[name] for name in part])
        present = (~np.isnan(values)).sum(axis=1)
        present[np.abs(np.nan_to_num(values)).max(axis=1) > LARGEST] = -1
        for count in np.unique(present[present >= 0]):
            same = present == count
            scores = _scores(values[same], int(count), rows, halves, bins)
            found |= zip(compress(part, same), scores.tolist())
    return found


def _scores(
    values: np.ndarray, present: int, rows: np.ndarray, halves: Halves, bins: int
) -> np.ndarray:
    """The scores of columns that all have as many values."""
    codes, x = codes_of_many(values, present, bins)[:, rows], values[:, rows]
    scores, full = _score_codes(codes, halves), codes.all(axis=1)
    if full.any():
        codes, x = codes[full], x[full]
        other = _score_orders(x, halves) if halves.n_classes else _score_lines(codes, x, halves)
        scores[full] = np.fmax(scores[full], other)
    return scores


def codes_of_many(values: np.ndarray, present: int, bins: int) -> np.ndarray:
    """`codes_of` columns that all have as many values: levels or quantile bins, 0 for missing."""
    codes = np.zeros(values.shape, dtype=np.int64)
    if not present:
        return codes
    places = np.argsort(values, axis=1)[:, :present]
    ordered = np.take_along_axis(values, places, axis=1)
    np.put_along_axis(codes, places, np.cumsum(_first(ordered), axis=1), axis=1)
    many = codes.max(axis=1) > bins
    if many.any():
        edges, x = quantiles(ordered[many], bins), values[many]
        binned = np.zeros(x.shape, dtype=np.int64)
        for edge, new in zip(edges.T[:, :, None], _first(edges).T[:, :, None]):
            binned += new & (edge <= x)
        codes[many] = binned
    return codes


def quantiles(ordered: np.ndarray, bins: int) -> np.ndarray:
    """np.quantile(ordered, [0, 1 / bins, ...]) along the last axis, to the last bit and ten times as
    fast.
    """
    below, share = _places(ordered.shape[-1], bins)
    low, high = ordered[..., below], ordered[..., below + 1]
    step = high - low
    return np.where(share < 0.5, low + step * share, high - step * (1 - share))


@cache
def _places(n: int, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the quantiles lie among n ordered numbers: the place before, and the share of the way."""
    exact = (n - 1) * np.linspace(0, 1, bins + 1)[:-1]
    below = np.floor(exact).astype(np.int64)
    return below, exact - below


def _first(ordered: np.ndarray) -> np.ndarray:
    """Where a value differs from the one before."""
    return np.diff(ordered, axis=1, prepend=np.nan) != 0


def _score_codes(codes: np.ndarray, halves: Halves) -> np.ndarray:
    """`Halves.score_codes`."""
    m, size = len(codes), int(codes.max()) + 1
    predicted = np.empty((halves.targets.shape[1], *codes.shape))
    cells = codes + size * np.arange(m)[:, None]
    for here, there, w, sums_of, overall in halves.sides:
        mass = _sums(cells[:, there], w, m * size)
        for k, target in enumerate(sums_of):
            shares = (_sums(cells[:, there], target, m * size) + overall[k]) / (mass + 1)
            predicted[k][:, here] = shares[cells[:, here]]
    if halves.n_classes == 0:
        return _r2(halves.y, predicted[0], halves.weights)
    classes = [1] if halves.n_classes == 2 else range(halves.n_classes)
    aucs = [_aucs(halves.y == c, p, halves.weights) for c, p in zip(classes, predicted)]
    return np.stack(aucs, axis=1).mean(axis=1)


def _sums(cells: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """The sum of the weights in each cell, added in the order of the rows."""
    spread = np.broadcast_to(weights, cells.shape)
    return np.bincount(cells.ravel(), spread.ravel(), minlength=size)


def _score_orders(x: np.ndarray, halves: Halves) -> np.ndarray:
    """`score_order`."""
    found, y, w, half = [], halves.y, halves.weights, halves.half
    classes = np.flatnonzero(np.bincount(y))
    for k in classes[len(classes) == 2 :]:
        one, two = (_aucs(y[s] == k, x[:, s], w[s]) for s in (half, ~half))
        ends = np.where(two < 0.5, 1 - one, one) + np.where(one < 0.5, 1 - two, two)
        found.append(ends / 2)
    return np.stack(found, axis=1).mean(axis=1)


def _aucs(positive: np.ndarray, score: np.ndarray, w: np.ndarray) -> np.ndarray:
    """`binary_auc`; the weights are whole numbers."""
    pos, neg = w[positive].sum(), w[~positive].sum()
    if pos == 0 or neg == 0:
        return np.full(len(score), np.nan)
    order = np.argsort(score, axis=1)
    first = _first(np.take_along_axis(score, order, axis=1))
    last = np.append(first[:, 1:], np.ones((len(score), 1), dtype=bool), axis=1)
    at_neg = (w * ~positive)[order]
    up_to = np.cumsum(at_neg, axis=1)
    # Among equal scores: the weights below all of them, and up to the last of them.
    below = np.maximum.accumulate(np.where(first, up_to - at_neg, 0.0), axis=1)
    above = np.minimum.accumulate(np.where(last, up_to, np.inf)[:, ::-1], axis=1)[:, ::-1]
    return ((w * positive)[order] * ((below + above) / 2)).sum(axis=1) / (pos * neg)


def _score_lines(codes: np.ndarray, x: np.ndarray, halves: Halves) -> np.ndarray:
    """`score_piecewise_linear`."""
    m, size = len(codes), max(int(codes.max()) + 1, 2)
    cells, y = codes + size * np.arange(m)[:, None], halves.y
    predicted, good = np.zeros(x.shape), np.ones(m, dtype=bool)
    for here, there, w, *_ in halves.sides:
        mass = _sums(cells[:, there], w, m * size)
        sums = (_sums(cells[:, there], w * v, m * size) for v in (x[:, there], y[there]))
        with np.errstate(all="ignore"):  # cells without rows, and columns that are left out below
            at, mean = ((total / mass).reshape(m, size) for total in sums)
            used = mass.reshape(m, size) > 0
            count, order = used.sum(axis=1), np.argsort(~used, axis=1, kind="stable")
            at = np.take_along_axis(np.where(used, at, np.inf), order, axis=1)
            mean = np.take_along_axis(mean, order, axis=1)
            good &= (count > 1) & ~(np.diff(at, axis=1) <= 0).any(axis=1)
            below = sum(edge < x[:, here] for edge in at.T[:, :, None])
            k = np.clip(below, 1, np.maximum(count - 1, 1)[:, None])
            (x1, y1), (x0, y0) = (
                [np.take_along_axis(v, place, axis=1) for v in (at, mean)] for place in (k, k - 1)
            )
            predicted[:, here] = y1 + (y1 - y0) / (x1 - x0) * (x[:, here] - x1)
    good &= np.isfinite(predicted).all(axis=1)
    return np.where(good, _r2(y, np.where(good[:, None], predicted, 0.0), halves.weights), np.nan)


def _r2(y: np.ndarray, predicted: np.ndarray, w: np.ndarray) -> np.ndarray:
    """`r2`."""
    top = -np.frexp(np.maximum(np.abs(y).max(), np.abs(predicted).max(axis=1)))[1][:, None]
    y, predicted = np.ldexp(y, top), np.ldexp(predicted, top)
    mean = (w * y).sum(axis=1, keepdims=True) / w.sum()
    residual, spread = ((w * (y - centre) ** 2).sum(axis=1) for centre in (predicted, mean))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread > 0, 1 - residual / spread, np.where(residual == 0, 1.0, 0.0))
