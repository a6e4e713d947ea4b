"""Search for the nearest training rows: panel by panel, by matrix products, or in a KD-tree.

Invariant: every method finds the k smallest pairs (distance, row), with the same bits. Blocks of queries
have a fixed size, so results do not depend on the number of threads. Memory is bounded: besides the rows
themselves, `HALVES` cells of copies in all and `BLOCK` x `CHUNK` scores per thread.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.neighbors import _loops, _tree, distances, inverted, overflow
from pellucid.numerics.row_blocks import as_dense, largest_cell

PANEL = 64  # rows in a panel without a tree
NARROW = 8, 512  # rows in a panel, from this number of columns on: a cache line of each column
PACKED = 128  # panels that one task writes
CHUNK = 1024  # rows whose products with a block of queries are in memory at a time
BLOCK = 256  # queries per task
CELLS = 2**22  # largest number of cells of a block or a chunk of very wide rows
HALVES = 2**21  # cells of single-precision copies in memory at a time
FEW = 16  # largest number of queries for which single-precision copies are not worth making
DENSE_CELLS = 2**25  # larger sparse tables become dense chunk by chunk
TREE_COLUMNS = 16  # largest number of columns for which a tree is faster
TREE_ROWS = 512  # smallest number of rows for which a tree is faster
GROUP = 64  # queries that search a tree together
TRIED = 32  # queries that measure whether a tree excludes rows
MANY = 16  # it is measured if there are at least this many times as many queries
SHARE = 0.5  # share of the rows visited in a tree above which matrix products are faster
NONE = np.iinfo(np.int32).max


def flat_starts(n: int, space: dict[str, Any]) -> np.ndarray:
    """Where the panels of n rows start, without a tree."""
    return np.append(np.arange(0, n, space.get("panel", PANEL), dtype=np.int64), n)


def tree_depth(n: int, leaf_size: int) -> int:
    """Levels until a leaf has at most 8 * leaf_size rows, and never more than 256.

    Large leaves are faster, because distances to a whole panel are cheaper than those to boxes.
    """
    return max(int(n - 1) // min(max(8 * leaf_size, 8), 256), 0).bit_length()


def tree_starts(n: int, depth: int) -> np.ndarray:
    return (np.arange(2**depth + 1, dtype=np.int64) * n) >> depth


def packed(X: np.ndarray, starts: np.ndarray, order: np.ndarray, out: Any = None) -> np.ndarray:
    """Panels of the rows X[order], written to `out` if given."""
    out = np.empty_like(X) if out is None else out
    tasks = [slice(i, i + PACKED + 1) for i in range(0, len(starts) - 1, PACKED)]
    parallel.map(lambda part: _loops.pack(X, order, out, starts[part]), tasks)
    return out


def unpacked(rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
    out, d = np.empty_like(rows), rows.shape[1]
    flat = rows.reshape(-1)
    for a, b in pairwise(starts):
        out[a:b] = flat[a * d : b * d].reshape(d, b - a).T
    return out


def build_tree(X: np.ndarray, leaf_size: int) -> dict[str, Any]:
    """The order of the rows in the tree, the bounding boxes of its nodes, and the first row in each."""
    n, d = X.shape
    depth = tree_depth(n, leaf_size)
    order, stop = np.arange(n, dtype=np.int32), parallel.StopFlag()
    boxes, least = np.zeros((2 << depth, 2, d)), np.zeros(2 << depth, dtype=np.int32)
    parallel.interruptible(_tree.build, X, depth, order, boxes, least, stop.array)
    stop.check()
    return {"order": order, "boxes": boxes, "least": least, "depth": depth}


@dataclass(frozen=True)
class Index:
    """Training rows in the space of a metric, ready to be searched.

    rows : packed panels (n, d), or CSR. tree : as `build_tree` returns it, or None.
    space, metric : from `distances`. buckets : hash tables, or None.
    """

    rows: Any
    tree: dict[str, Any] | None
    space: dict[str, Any]
    metric: Any
    buckets: dict[str, Any] | None = None

    @property
    def n(self) -> int:
        return self.rows.shape[0]

    @property
    def d(self) -> int:
        return self.rows.shape[1]

    @property
    def starts(self) -> np.ndarray:
        if self.tree is None:
            return flat_starts(self.n, self.space)
        return tree_starts(self.n, self.tree["depth"])

    def dense(self) -> Any:
        """The rows in the space of the metric, in the order of ties."""
        if not isinstance(self.rows, np.ndarray):
            return self.rows
        X = unpacked(self.rows, self.starts)
        if self.tree is None:
            return X
        out = np.empty_like(X)
        out[self.tree["order"]] = X
        return out

    def cells_of(self) -> Callable[[np.ndarray], np.ndarray]:
        """The function that returns the cells (m, d) of m row numbers."""
        if not isinstance(self.rows, np.ndarray):
            return lambda rows: self.rows[rows].toarray()
        flat, d, starts = self.rows.reshape(-1), self.d, self.starts
        place = np.arange(self.n)
        if self.tree is not None:
            place[self.tree["order"]] = np.arange(self.n)

        def cells(rows: np.ndarray) -> np.ndarray:
            panel = np.searchsorted(starts, place[rows], side="right") - 1
            first, wide = starts[panel], starts[panel + 1] - starts[panel]
            own = first * (d - 1) + place[rows]
            return flat[own[:, None] + np.arange(d) * wide[:, None]]

        return cells

    def nearest(self, Q: Any, k: int, jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Distances (n, k) and row numbers (n, k) of the k nearest rows, nearest first.

        Queries whose distances overflow or underflow are repeated in units of their own.
        """
        power = int(overflow.powers(self.space, self.space["reach"], self.space["reach"]))
        index, seen = self.scaled(power), overflow.scaled(Q, power)
        near, rows = index.least(seen, k, jobs)
        found, again = self.finished(near, power), overflow.lost(index, seen, near, rows)
        if len(again):
            for power, own in overflow.groups(self, Q[again], k, jobs):
                some = again[own]
                near, rows[some] = self.scaled(power).least(
                    overflow.scaled(Q[some], power), k, jobs
                )
                found[some] = self.finished(near, power)
        return found, rows

    def least(self, Q: Any, k: int, jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
        """The same with raw distances."""
        m = Q.shape[0]
        near, rows = np.full((m, k), np.inf), np.full((m, k), NONE, dtype=np.int32)
        stop, order = parallel.StopFlag(), self._query_order(Q)
        if self.space["kind"] in inverted.KINDS and not isinstance(self.rows, np.ndarray):
            inverted.search(self.space["kind"], self.rows, Q, near, rows, query_blocks(m), jobs)
            return near, rows
        for one in self._hashed() if self.buckets is not None else self._methods(Q, k):

            def task(block: slice, one: Any = one) -> None:
                own = block if order is None else order[block]
                best, found = near[own], rows[own]
                one(as_dense(Q[own]), best, found, stop.array)
                near[own], rows[own] = best, found

            parallel.map(task, query_blocks(m, self.d), jobs)
            stop.check()
        _loops.sort(near, rows)
        return near, rows

    def finished(self, raw: np.ndarray, power: int) -> np.ndarray:
        """Distances of the metric from raw ones of rows divided by 2**power."""
        found = distances.finish(self.space, self.metric, raw, self.d)
        if power == 0:
            return found
        with np.errstate(over="ignore"):
            return np.ldexp(found, power * (2 if self.metric == "sqeuclidean" else 1))

    def scaled(self, power: int) -> "Index":
        """The rows divided by a power of two, without buckets, whose thresholds would not fit."""
        if power == 0:
            return self
        tree = self.tree
        if tree is not None:
            tree = tree | {"boxes": overflow.scaled(tree["boxes"], power)}
        centre, largest = (np.atleast_1d(self.space[name]) for name in ("centre", "reach"))
        space = self.space | {
            "centre": overflow.scaled(centre, power),
            "reach": float(overflow.scaled(largest, power)[0]),
        }
        return Index(overflow.scaled(self.rows, power), tree, space, self.metric)

    def of_kind(self, kind: str) -> "Index":
        """The same rows with another compiled distance."""
        return Index(self.rows, self.tree, self.space | {"kind": kind}, self.metric)

    def _methods(self, Q: Any, k: int) -> Iterator[Any]:
        """Functions that together compare all rows with the nearest ones of a block of queries."""
        kind, p, m = distances.RAW[self.space["kind"]], self.space["p"], Q.shape[0]
        if self.tree is not None:
            search = self._by_tree(kind, p)
            if kind != 0 or not self._tree_is_slow(search, Q, k):
                yield search
                return
        if kind == 0 and (m > FEW or not isinstance(self.rows, np.ndarray)):
            yield from self._by_products()
        else:
            yield self._by_panels(kind, p)

    def _by_panels(self, kind: int, p: float) -> Any:
        scale = self.scale()

        def panels(Q: Any, near: Any, rows: Any, stop: Any) -> None:
            for first, chunk, starts in self.chunks():
                _loops.scan(kind, p, scale, Q, chunk, starts, first, near, rows, stop)

        return panels

    def _hashed(self) -> Iterator[Any]:
        """Candidates from the buckets; a query with fewer than k of them is searched exactly."""
        from pellucid.neighbors.hashing import Buckets

        assert self.buckets is not None
        buckets, X = Buckets(**self.buckets), self.dense()
        exact = self._by_panels(distances.RAW[self.space["kind"]], self.space["p"])

        def hashed(Q: Any, near: Any, rows: Any, stop: Any) -> None:
            none = np.full(len(Q), -1, dtype=np.int32)
            buckets.search(X, Q, near, rows, buckets.probes, none, stop)
            lacking = np.flatnonzero(rows[:, 0] == NONE)
            if len(lacking):
                own, places = np.full_like(near[lacking], np.inf), np.full_like(rows[lacking], NONE)
                exact(np.ascontiguousarray(Q[lacking]), own, places, stop)
                near[lacking], rows[lacking] = own, places

        yield hashed

    def _by_tree(self, kind: int, p: float) -> Any:
        tree = self.tree
        assert tree is not None
        order, boxes, least, depth = tree["order"], tree["boxes"], tree["least"], tree["depth"]

        def search(Q: Any, near: Any, rows: Any, stop: Any) -> int:
            group = GROUP if len(Q) > TRIED else 1
            return _tree.search(
                kind, p, Q, self.rows, order, boxes, least, depth, group, near, rows, stop
            )

        return search

    def _query_order(self, Q: Any) -> np.ndarray | None:
        """Queries in the order of their leaves, so that queries searched together are near."""
        if self.tree is None or len(Q) <= TRIED:
            return None
        leaf = np.empty(len(Q), dtype=np.int32)
        kind = distances.RAW[self.space["kind"]]
        _tree.homes(kind, self.space["p"], Q, self.tree["boxes"], self.tree["depth"], leaf)
        return np.argsort(leaf, kind="stable")

    def _tree_is_slow(self, search: Any, Q: Any, k: int) -> bool:
        """Whether a sample of many queries visits so many rows of the tree that matrix products are
        faster; both find the same rows.
        """
        if len(Q) < MANY * TRIED:
            return False
        some = np.ascontiguousarray(Q[:: len(Q) // TRIED][:TRIED])
        near, rows = np.full((TRIED, k), np.inf), np.full((TRIED, k), NONE, dtype=np.int32)
        return search(some, near, rows, np.zeros(1, dtype=np.int32)) > SHARE * self.n * TRIED

    def scale(self) -> np.ndarray:
        return self.space["scale"] if self.space["kind"] == "gower" else np.zeros(1)

    def chunks(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """About `CHUNK` rows at a time: position of the first, their panels, where each panel starts."""
        starts = self.starts
        many = max(chunk_rows(self.d) // int(np.diff(starts).max()), 1)
        for j in range(0, len(starts) - 1, many):
            first, last = int(starts[j]), int(starts[min(j + many, len(starts) - 1)])
            own = starts[j : j + many + 1] - first
            if isinstance(self.rows, np.ndarray):
                yield first, self.rows[first:last], own
            else:
                wide = np.ascontiguousarray(self.rows[first:last].toarray())
                yield first, packed(wide, own, np.arange(len(wide))), own

    def _by_products(self) -> Iterator[Any]:
        tree = self.tree
        numbers = np.arange(self.n, dtype=np.int32) if tree is None else tree["order"]
        for scored in self.scored():

            def multiply(Q: Any, near: Any, rows: Any, stop: Any, scored: Any = scored) -> None:
                for scores, lengths, bound, first, chunk, starts, unit in scored(Q):
                    _loops.screen(
                        scores, lengths, bound, Q, chunk, starts,
                        numbers[first : first + len(chunk)], unit, near, rows, stop,
                    )  # fmt: skip

            yield multiply

    def scored(self) -> Iterator[Any]:
        """|x|^2 / 2 - q x in single precision excludes most rows; distances of the others are exact.

        Rows are centred and scaled first. An error bound of the products that holds for any order of
        summation makes the exclusion safe; rows that overflow are not excluded. Each function serves
        as many rows as `HALVES` cells of single-precision copies hold.
        """
        centre, d = self.space["centre"], self.d
        power = int(np.clip(np.frexp(self.space["reach"])[1], -500, 500))
        factor = float(np.ldexp(1.0, -power))
        error = 1.5 * (d + 8) * 2.0**-24
        chunks = self._halved(centre, factor)
        while copies := list(islice(chunks, max(HALVES // (chunk_rows(d) * (d + 1)), 1))):
            longest = max(float(half[:, d].max(initial=0.0)) for *_, half in copies)

            def scored(Q: Any, copies: Any = copies, longest: float = longest) -> Iterator[tuple]:
                with np.errstate(over="ignore", invalid="ignore"):
                    C = Q - centre
                    C *= factor
                    lengths = 0.5 * np.einsum("ij,ij->i", C, C)
                    left = np.ones((len(C), d + 1), dtype=np.float32)
                    np.negative(C, out=left[:, :d], casting="same_kind")
                    bound = error * (lengths + 2.0 * longest) + 2.0**-120  # plus underflow
                    bound[~(lengths < 2.0**100)] = np.nan  # then no score excludes a row
                memory = np.empty(len(Q) * max(len(half) for *_, half in copies), dtype=np.float32)
                for first, chunk, starts, half in copies:
                    out = memory[: len(Q) * len(half)].reshape(len(Q), len(half))  # the same memory
                    with np.errstate(over="ignore", invalid="ignore"):
                        np.matmul(left, half.T, out=out)
                    yield out, lengths, bound, first, chunk, starts, factor**2

            yield scored

    def _halved(self, centre: np.ndarray, factor: float) -> Iterator[tuple[int, Any, Any, Any]]:
        for first, chunk, starts in self.chunks():
            half = np.empty((len(chunk), self.d + 1), dtype=np.float32)
            _loops.halve(chunk, starts, centre, factor, half)
            yield first, chunk, starts, half


def query_blocks(m: int, d: int = 1) -> list[slice]:
    """Blocks of queries of d columns, the same for any number of threads."""
    rows = max(1, min(BLOCK, CELLS // d))
    return [slice(i, min(i + rows, m)) for i in range(0, m, rows)]


def chunk_rows(d: int) -> int:
    """Number of rows of d columns that are visited at a time."""
    return max(1, min(CHUNK, CELLS // d))


def position(X: Any, kind: str, known: Any = None) -> dict[str, Any]:
    """The largest absolute value of the rows, and their centre; from a schema, if given."""
    if known is not None:
        largest = float(np.maximum(np.abs(known.low), np.abs(known.high)).max(initial=0.0)) or 1.0
        centre = known.mean if isinstance(X, np.ndarray) and kind == "squared" else 0.0 * known.mean
        if np.isfinite(largest):
            return {"reach": largest, "centre": centre}
    centre = np.zeros(X.shape[1])
    if isinstance(X, np.ndarray) and kind == "squared":
        with np.errstate(over="ignore", invalid="ignore"):
            centre = X.mean(axis=0)
    return {
        "reach": (largest_cell(X) or 1.0) if kind != "gower" else 1.0,
        "centre": np.where(np.isfinite(centre), centre, 0.0),
    }
