"""Canonical rows: identical (x, y) rows merged, the others ordered by a hash of their content.

A fit that depends on the order of rows (SGD, k-means, bagging, forests, ...) then sees the same
problem for weight k, for k copies, and for shuffled rows. Weights that are not counts do not say how
many samples a row stands for, so such rows are not merged; equal ones are ordered by their weights.
"""

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid import parallel
from pellucid.data import _loops
from pellucid.data.row_view import RowView
from pellucid.parallel import external
from pellucid.parallel.memory import is_limited

if TYPE_CHECKING:
    from pellucid.data.problem import Problem

_SEED = 0x9E3779B97F4A7C15
EXACT = 2.0**53  # sums of larger counts are not exact


@lru_cache(maxsize=8)
def _multipliers(p: int) -> np.ndarray:
    """One odd constant per column, the same for every table; not to be changed."""
    x = np.arange(1, p + 1, dtype=np.uint64) * np.uint64(_SEED)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))) | np.uint64(1)


def row_hash(X: Any, y: Any = None) -> np.ndarray:
    """64-bit hash of each row's content: equal rows, equal hash, dense or sparse.

    `y` is one array of further numbers, (n,) or (n, k), or a list of them.
    """
    n, p = X.shape
    c = _multipliers(p + 1)
    h = np.zeros(n, dtype=np.uint64)
    if isinstance(X, np.ndarray):
        parallel.map(lambda b: _loops.hash_rows(X[b], c, h[b]), parallel.row_blocks(n, p))
    else:
        cells = np.empty(len(X.data), dtype=np.uint64)
        _loops.mix_cells(X.data, cells)
        sums = np.concatenate([[np.uint64(0)], np.cumsum(cells * c[X.indices], dtype=np.uint64)])
        h = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    more = [] if y is None else [y] if isinstance(y, np.ndarray) else y
    # In place: the hashes may be all that a fit needs to hold.
    for rows in parallel.row_blocks(n, 8):
        own, place = h[rows], p + 1
        for part in more:
            Y = np.asarray(part[rows], dtype=float).reshape(len(own), -1)
            _loops.hash_rows(Y, _multipliers(place + Y.shape[1])[place:], own)
            place += Y.shape[1]
        own ^= own >> np.uint64(31)
        own *= np.uint64(0x94D049BB133111EB)
    return h


def _equal_to_previous(problem: "Problem", order: np.ndarray, suspects: np.ndarray) -> np.ndarray:
    """For sorted positions `suspects` (equal hash): is the row really equal to the one before?"""
    a, b = order[suspects - 1], order[suspects]
    X, y = problem.X, problem.y
    if isinstance(X, np.ndarray):
        same = ((X[a] == X[b]) | (np.isnan(X[a]) & np.isnan(X[b]))).all(axis=1)
    else:
        same = np.asarray(abs(X[a] - X[b]).sum(axis=1)).ravel() == 0
    if y is not None:
        same &= (y[a] == y[b]).reshape(len(a), -1).all(axis=1)
    if problem.offset is not None:
        same &= problem.offset[a] == problem.offset[b]
    return same


def _repeated(h: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Positions in `order` whose hash is that of the position before; by blocks, to hold little."""
    found = [np.empty(0, dtype=np.int64)]
    ordered = external.take(h, order) if is_limited() else None
    for rows in parallel.row_blocks(len(order) - 1, 1):
        both = slice(rows.start, rows.stop + 1)
        own = h[order[both]] if ordered is None else ordered[both]
        found.append(np.flatnonzero(own[1:] == own[:-1]) + rows.start + 1)
    return np.concatenate(found)


def _groups(problem: "Problem") -> tuple[np.ndarray, np.ndarray]:
    """All rows in hash order, and where a new set of identical rows begins."""
    extra = [part for part in (problem.y, problem.offset) if part is not None]
    h = row_hash(problem.X, extra)
    mergeable = problem.counts and problem.weights.sum() < EXACT
    order = external.argsort(h, None if mergeable else problem.weights)
    fresh = np.ones(problem.n, dtype=bool)
    suspects = _repeated(h, order) if mergeable else np.empty(0, dtype=np.int64)
    if suspects.size:
        fresh[suspects[_equal_to_previous(problem, order, suspects)]] = False
    return order, fresh


def _weights(problem: "Problem", order: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    weights = problem.weights
    if fresh.all() and (weights == weights[0]).all():  # the same in any order
        return weights
    return np.bincount(np.cumsum(fresh) - 1, external.take(weights, order))


def merged(
    problem: "Problem", positions: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The first of each set of identical rows, in hash order, their weights, and for every row of the
    user the `position` of the row it is merged into (None without `positions`).

    Only weights that are counts are added up.
    """
    order, fresh = _groups(problem)
    weights, position = _weights(problem, order, fresh), None
    if positions:
        position = np.empty(problem.n, dtype=np.int64)
        external.scatter(position, order, np.cumsum(fresh) - 1)
        if problem.position is not None:
            position = np.where(problem.position < 0, -1, position[problem.position])
    return order if fresh.all() else order[fresh], weights, position


def canonical(problem: "Problem") -> "Problem":
    """The problem on merged rows in hash order, copied."""
    first, weights, position = merged(problem)
    return problem.take(first, weights, position)


def canonical_view(problem: "Problem", positions: bool = False) -> "Problem":
    """The problem on merged rows in hash order; X is a `RowView` of the table, which is not copied.

    `positions`: whether `Problem.position` is needed.
    """
    if problem.n > np.iinfo(np.int32).max or problem.words:
        return canonical(problem)
    first, weights, position = merged(problem, positions)
    return replace(
        problem,
        X=RowView(problem.X, first.astype(np.int32)),
        y=None if problem.y is None else external.take(problem.y, first),
        weights=weights,
        offset=None if problem.offset is None else external.take(problem.offset, first),
        position=position,
    )
