"""Plain twins of the compiled loops: every division of a node, and a tree by recursion.

Nothing here is presorted, incremental or clever; costs follow from the definition.
"""

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

TIE = 1e-12


def cost(criterion, y, w, n_classes):
    """Impurity times weight of a set of rows."""
    total = w.sum()
    if total == 0:
        return 0.0
    if criterion == "squared_error":
        return float((w * (y - np.average(y, weights=w)) ** 2).sum())
    counts = np.bincount(y, w, minlength=n_classes)
    p = counts[counts > 0] / total
    if criterion == "gini":
        return float(total * (1 - (p**2).sum()))
    if criterion == "error":
        return float(total * (1 - p.max()))
    return float(-total * (p * np.log2(p)).sum())


@dataclass(frozen=True)
class Division:
    column: int
    threshold: float
    missing_left: bool
    left: np.ndarray  # mask over the node's rows
    cost: float = np.inf


def number_divisions(column, x):
    present = np.unique(x[~np.isnan(x)])
    missing = np.isnan(x)
    sides = (False, True) if missing.any() else (False,)
    for low, high in pairwise(present):
        middle = (low + high) / 2
        for side in sides:
            left = np.where(missing, side, np.where(missing, 0, x) <= middle)
            yield Division(column, middle, side, left.astype(bool))
    if missing.any() and len(present):
        yield Division(column, np.inf, False, ~missing)


def level_divisions(column, x):
    """All 2^(g-1) - 1 divisions of the levels and the missing rows; the first group is left."""
    groups = [*np.unique(x[~np.isnan(x)]), *([np.nan] if np.isnan(x).any() else [])]
    for size in range(len(groups) - 1):
        for others in combinations(groups[1:], size):
            chosen = np.array([groups[0], *others])
            left = np.isin(x, chosen[~np.isnan(chosen)])
            with_missing = bool(np.isnan(chosen).any())
            yield Division(column, 0.0, with_missing, left | (np.isnan(x) & with_missing))


def divisions(X, y, w, kinds, criterion, n_classes, min_rows=1, min_weight=0.0):
    """Every allowed division with its cost, by column and threshold, missing right before left."""
    for f in range(X.shape[1]):
        for found in (level_divisions if kinds[f] else number_divisions)(f, X[:, f]):
            left = found.left
            rows, weights = (left.sum(), (~left).sum()), (w[left].sum(), w[~left].sum())
            if min(rows) < max(min_rows, 1) or min(weights) < min_weight:
                continue
            both = cost(criterion, y[left], w[left], n_classes)
            both += cost(criterion, y[~left], w[~left], n_classes)
            yield Division(f, found.threshold, found.missing_left, left, both)


def best(found, parent):
    """The first division that none undercuts by more than a tie."""
    chosen = None
    for division in found:
        if chosen is None or division.cost < chosen.cost - TIE * max(parent, 1e-300):
            chosen = division
    return chosen


def goes_left(nodes, node, x):
    """Side of one row at a node, by the rules in the docstring of `nodes`."""
    value = x[nodes.feature[node]]
    if np.isnan(value):
        return bool(nodes.missing_left[node])
    if nodes.set_start[node] < 0:
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
