"""Gradient boosting in plain Python: every split of every column looked at, nothing binned.

`plain.GradientBoostedTrees` is the construction to read; here are also weights, penalties, missing
values, levels and leaves that are grown in the order of their gain.
"""

import numpy as np

SUPPORT = 10


def boost(X, kinds, y, weights, slopes, start, rounds, rate, max_leaves, min_samples, l2=0.0):
    """Raw predictions of the training rows; `slopes(y, raw)` gives (g, h) of one row's loss."""
    raw = np.full(len(y), float(start))
    for _ in range(rounds):
        g, h = (weights * part for part in slopes(y, raw))
        for rows in grow(X, kinds, g, h, weights, max_leaves, min_samples, l2):
            raw[rows] -= rate * g[rows].sum() / (h[rows].sum() + l2)
    return raw


def grow(X, kinds, g, h, c, max_leaves, min_samples, l2):
    """Rows of each leaf; the leaf whose split gains most is split next."""
    leaves, noise = [np.arange(len(g))], (g * g / c).sum() / h.sum()
    while len(leaves) < max_leaves:
        found = [best_split(X, kinds, rows, g, h, c, min_samples, l2, noise) for rows in leaves]
        gains = [-1.0 if f is None else f[0] for f in found]
        k = int(np.argmax(gains))
        if gains[k] <= 0:
            break
        left = found[k][1]
        rows = leaves.pop(k)
        leaves[k:k] = [rows[left], rows[~left]]
    return leaves


def best_split(X, kinds, rows, g, h, c, min_samples, l2, noise):
    """(gain, goes left, column) of the best split, ties to the lowest column; None: none."""
    best = None
    now = g[rows].sum() ** 2 / (h[rows].sum() + l2)
    for j in range(X.shape[1]):
        for left, choices in splits(X[rows, j], kinds[j], g[rows], h[rows], c[rows]):
            if min(c[rows][left].sum(), c[rows][~left].sum()) < min_samples:
                continue
            sides = [(g[rows][s].sum(), h[rows][s].sum()) for s in (left, ~left)]
            if min(side[1] for side in sides) < 1e-3:
                continue
            gain = sum(a * a / (b + l2) for a, b in sides) - now - 2 / np.pi * choices * noise
            if gain > 1e-10 and (best is None or gain > best[0] * (1 + 1e-9)):
                best = (gain, left, j)
    return best


def splits(x, is_set, g, h, c):
    """Every split of one column that boosting looks at, missing values on both sides; and, for
    levels, how many of them had a place to be chosen."""
    missing = np.isnan(x)
    groups = ordered_levels(x, g, h, c) if is_set else [x == v for v in np.unique(x[~missing])]
    for aside in (np.zeros(len(x), dtype=bool), missing)[: 1 + missing.any()]:
        left = aside
        for group in groups:
            left = left | group
            if not left.all():
                yield left, max(len(groups) - 2, 0) if is_set else 0


def ordered_levels(x, g, h, c):
    """Rows of each level by smoothed mean slope; levels with little support are one."""
    smooth = SUPPORT * h.sum() / c.sum()
    levels = [x == v for v in np.unique(x[~np.isnan(x)])]
    large = [rows for rows in levels if c[rows].sum() >= SUPPORT]
    small = [rows for rows in levels if c[rows].sum() < SUPPORT]
    if small:
        large.append(np.logical_or.reduce(small))
    return sorted(large, key=lambda rows: g[rows].sum() / (h[rows].sum() + smooth))
