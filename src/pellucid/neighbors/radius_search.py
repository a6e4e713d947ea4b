"""Search for all rows within a radius: in a KD-tree, by matrix products, or panel by panel.

Invariant: every method finds the same rows with the same bits, and what is found for a query does not
depend on the other queries.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.neighbors import _within, distances, overflow
from pellucid.neighbors.neighbor_search import BLOCK, CELLS, FEW, Index
from pellucid.neighbors.ragged import Lists, grouped, joined, merged
from pellucid.numerics.row_blocks import as_dense


def within(index: Index, Q: Any, radius: float, jobs: int | None) -> Lists:
    """For each query the distances and numbers of the rows within `radius`, nearest first.

    Where powers would overflow or underflow, distances are computed in units of the radius, or of the
    largest number if that is smaller.
    """
    length = np.sqrt(radius) if index.metric == "sqeuclidean" else radius
    largest = np.maximum(index.space["reach"], overflow.sizes(Q))
    own = overflow.powers(index.space, np.minimum(length, largest), largest)
    if index.metric == "cosine":  # directions have length 1
        own = 0 * own
    several = [(int(power), np.flatnonzero(own == power)) for power in np.unique(own)]
    if len(several) == 1:
        return _part(index, Q, radius, several[0][0], jobs)
    return merged([(rows, _part(index, Q[rows], radius, power, jobs)) for power, rows in several])


def _part(index: Index, Q: Any, radius: float, power: int, jobs: int | None) -> Lists:
    """The same for queries that need the same power of two."""
    seen, Q = index.scaled(power), overflow.scaled(Q, power)
    limit = distances.raw_radius(index.space, index.metric, radius, index.d, power)
    stop, rows = parallel.StopFlag(), max(1, min(BLOCK, CELLS // max(index.n, index.d, 1)))
    blocks = [slice(i, min(i + rows, Q.shape[0])) for i in range(0, Q.shape[0], rows)]
    found: list[Any] = [_within.Found() for _ in blocks]
    for one in _collectors(seen, limit, Q.shape[0]):

        def task(i: int, one: Any = one) -> None:
            one(as_dense(Q[blocks[i]]), found[i], stop.array)

        parallel.map(task, range(len(blocks)), jobs)
        stop.check()

    def listed(i: int) -> Lists:
        lists = grouped(found[i], blocks[i].stop - blocks[i].start)
        found[i] = None
        return lists.within(index.finished(lists.distances, power), radius)

    return joined(parallel.map(listed, range(len(blocks)), jobs))


def _collectors(index: Index, limit: float, m: int) -> Iterator[Any]:
    """Functions that together collect the rows within a raw distance for a block of queries."""
    kind, p, scale = distances.RAW[index.space["kind"]], index.space["p"], index.scale()
    if index.tree is not None:
        order, boxes, depth = (index.tree[name] for name in ("order", "boxes", "depth"))
        yield lambda Q, found, stop: _within.collect_down(
            kind, p, Q, index.rows, order, boxes, depth, limit, found, stop
        )
        return
    if kind == 0 and m > FEW and np.isfinite(limit):
        yield from _by_products(index, limit)
        return

    def panels(Q: Any, found: Any, stop: Any) -> None:
        for first, chunk, starts in index.chunks():
            _within.collect(kind, p, scale, Q, chunk, starts, first, limit, found, stop)

    yield panels


def _by_products(index: Index, limit: float) -> Iterator[Any]:
    for scored in index.scored():

        def multiply(Q: Any, found: Any, stop: Any, scored: Any = scored) -> None:
            for scores, lengths, bound, first, chunk, starts, unit in scored(Q):
                _within.collect_screened(
                    scores, lengths, bound, Q, chunk, starts, unit, first, limit, found, stop
                )

        yield multiply
