"""Plain twins of the compiled loops: every split of a node.

Nothing here is presorted, incremental or clever; costs follow from the definition. The tree of
`pellucid.plain` leaves out missing values and some criteria; these are here.
"""

from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np

from pellucid.plain.trees.decision_tree import value_and_impurity

TIE = 1e-12


def cost(criterion, y, w, n_classes):
    """Impurity times weight of a set of rows."""
    total = w.sum()
    if total == 0:
        return 0.0
    if y.ndim == 2:  # of several targets: the mean
        return float(np.mean([cost(criterion, column, w, n_classes) for column in y.T]))
    if criterion == "absolute_error":  # the best value is one of the values
        tried = y if len(y) < 16 else [weighted_median(y, w)]
        return min(float((w * np.abs(y - value)).sum()) for value in tried)
    if criterion in ("poisson", "gamma"):
        return float((w * half_deviance(criterion, y, np.average(y, weights=w))).sum())
    return float(total * value_and_impurity(criterion, y, w, n_classes)[1])


def half_deviance(criterion, y, mean):
    logs = np.log(np.where(y > 0, y, 1.0)) - np.log(mean) if mean > 0 else 0 * y
    logs = np.where(y > 0, logs, 0.0)
    return y * logs - y + mean if criterion == "poisson" else y / mean - 1 - logs


def value(criterion, y, w):
    """What a node says: the share of the second class, the mean or the median."""
    if criterion == "absolute_error":
        repeated = np.repeat(y, w.astype(int)) if (w == w.astype(int)).all() else None
        return float(np.median(repeated)) if repeated is not None else weighted_median(y, w)
    return float(np.average(y, weights=w))


def weighted_median(y, w):
    order = np.argsort(y)
    return float(y[order][np.argmax(np.cumsum(w[order]) >= w.sum() / 2)])


@dataclass(frozen=True)
class Split:
    column: int
    threshold: float
    missing_left: bool
    left: np.ndarray  # mask over the node's rows
    cost: float = np.inf


def number_splits(column, x):
    present = np.unique(x[~np.isnan(x)])
    missing = np.isnan(x)
    sides = (False, True) if missing.any() else (False,)
    for low, high in pairwise(present):
        middle = (low + high) / 2
        for side in sides:
            left = np.where(missing, side, np.where(missing, 0, x) <= middle)
            yield Split(column, middle, side, left.astype(bool))
    if missing.any() and len(present):
        yield Split(column, np.inf, False, ~missing)


def level_splits(column, x):
    """All 2^(g-1) - 1 splits of the levels and the missing rows; the first group is left."""
    groups = [*np.unique(x[~np.isnan(x)]), *([np.nan] if np.isnan(x).any() else [])]
    for size in range(len(groups) - 1):
        for others in combinations(groups[1:], size):
            chosen = np.array([groups[0], *others])
            left = np.isin(x, chosen[~np.isnan(chosen)])
            with_missing = bool(np.isnan(chosen).any())
            yield Split(column, 0.0, with_missing, left | (np.isnan(x) & with_missing))


def splits(X, y, w, kinds, criterion, n_classes, min_rows=1, min_weight=0.0):
    """Every allowed split with its cost, by column and threshold, missing right before left."""
    found = [
        split
        for f in range(X.shape[1])
        for split in (level_splits if kinds[f] else number_splits)(f, X[:, f])
    ]
    if not found:
        return []
    left = np.array([split.left for split in found])
    both = costs(criterion, left, y, w, n_classes) + costs(criterion, ~left, y, w, n_classes)
    rows = np.minimum(left.sum(axis=1), (~left).sum(axis=1))
    allowed = (rows >= max(min_rows, 1)) & (np.minimum(left @ w, ~left @ w) >= min_weight)
    if criterion == "poisson":  # no side predicts 0
        somewhere = y.reshape(len(y), -1).sum(axis=0) > 0
        for side in (left, ~left):
            allowed &= ((side @ y).reshape(len(side), -1) > 0)[:, somewhere].all(axis=1)
    return [replace(found[i], cost=float(both[i])) for i in np.flatnonzero(allowed)]


def costs(criterion, sides, y, w, n_classes):
    """The same as `cost` for many sets of rows at once, sides (sets, rows)."""
    if y.ndim == 2 and criterion != "squared_error":
        return np.mean([costs(criterion, sides, column, w, n_classes) for column in y.T], axis=0)
    if y.ndim == 2:
        weight = np.where(sides.any(axis=1), sides @ w, 1.0)
        r = y - np.average(y, axis=0, weights=w)
        squares = sides @ (w[:, None] * r * r) - (sides @ (w[:, None] * r)) ** 2 / weight[:, None]
        return squares.mean(axis=1)
    if n_classes:
        counts = sides @ (np.eye(n_classes)[y] * w[:, None])
        total = counts.sum(axis=1)
        p = counts / np.where(total > 0, total, 1.0)[:, None]
        if criterion == "gini":
            return total * (1 - (p**2).sum(axis=1)) * (total > 0)
        if criterion == "error":
            return total * (1 - p.max(axis=1)) * (total > 0)
        return -total * (p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=1)
    if criterion == "absolute_error":  # the best value is one of the values
        return (sides @ (w * np.abs(y - y[:, None])).T).min(axis=1)
    weight = np.where(sides.any(axis=1), sides @ w, 1.0)
    if criterion == "squared_error":
        r = y - np.average(y, weights=w)
        return sides @ (w * r * r) - (sides @ (w * r)) ** 2 / weight
    middle = np.average(y, weights=w) or 1.0
    u = y / middle
    logs = np.log(np.where(u > 0, u, 1.0))
    mean = sides @ (w * u) / weight
    log_mean = np.log(np.where(mean > 0, mean, 1.0))
    if criterion == "poisson":
        return middle * (sides @ (w * u * logs) - weight * mean * log_mean)
    return weight * log_mean * sides.any(axis=1) - sides @ (w * logs)


def best(found, parent):
    """The first split that none undercuts by more than a tie."""
    chosen = None
    for split in found:
        if chosen is None or split.cost < chosen.cost - TIE * max(parent, 1e-300):
            chosen = split
    return chosen


def goes_left(nodes, node, x):
    """Side of one row at a node, by the rules in the docstring of `nodes`."""
    value = x[nodes.feature[node]]
    if np.isnan(value):
        return bool(nodes.missing_left[node])
    if not nodes.has_set[node]:
        return bool(value <= nodes.threshold[node])
    if not 0 <= value < nodes.n_levels[nodes.feature[node]]:
        return bool(nodes.missing_left[node])
    return bool(value in nodes.levels_left(node))


def apply(nodes, x):
    """Leaf of one row."""
    node = 0
    while nodes.feature[node] >= 0:
        node = (nodes.left if goes_left(nodes, node, x) else nodes.right)[node]
    return node


def principal_best(sums, weights, cost_of):
    """Lowest cost of a prefix of groups in the order of the first principal component."""
    p = sums / weights[:, None]
    centred = p - np.average(p, axis=0, weights=weights)
    axis = np.linalg.eigh((centred * weights[:, None]).T @ centred)[1][:, -1]
    order = np.argsort(centred @ axis)
    return min(
        cost_of(sums[order[:k]].sum(axis=0)) + cost_of(sums[order[k:]].sum(axis=0))
        for k in range(1, len(order))
    )
