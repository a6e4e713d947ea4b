"""Locality-sensitive hashing: rows on the same sides of random planes are candidates.

Each table has `bits` planes through the median of the rows along a random direction; rows with equal
sides share a bucket. A query searches its own bucket of each table and those across its nearest
planes; the distances of the candidates are computed exactly.

Invariant: the search is approximate, and its recall is known: it is measured on rows that were not used
for any choice, each without itself. Directions come from one fixed seed, so results are repeatable.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.neighbors import _loops, distances

TABLES = 4
BUCKET = 50  # approximate number of rows in a bucket
PROBES = (1, 2, 4, 8, 16)
WANTED = 0.95  # recall up to which more buckets are searched
SAMPLE = 100  # rows that choose the number of buckets; twice as many measure the recall
DEAREST = 60.0  # cost of one distance, relative to one from matrix products
WORST = 0.7  # smallest recall with which hashing is used
# Which of the nearest planes (0: the nearest) a probe crosses.
FLIPS = (
    (), (0,), (1,), (2,), (0, 1), (3,), (0, 2), (4,), (1, 2), (0, 3), (5,), (0, 1, 2), (1, 3), (6,),
    (0, 4), (2, 3),
)  # fmt: skip


def n_bits(n: int) -> int:
    """Planes per table."""
    return int(np.clip(np.floor(np.log2(max(n / BUCKET, 2.0))), 1, 16))


def directions(d: int, bits: int) -> np.ndarray:
    """(TABLES * bits, d), the same for every model of this size."""
    rng = parallel.stream(parallel.seed_sequence(0), "planes", d, bits)
    return rng.normal(size=(TABLES * bits, d))


@dataclass(frozen=True)
class Buckets:
    """thresholds (TABLES * bits,), members (TABLES * n,), starts (TABLES * 2**bits + 1,)."""

    thresholds: np.ndarray
    members: np.ndarray
    starts: np.ndarray
    probes: int

    @property
    def bits(self) -> int:
        return len(self.thresholds) // TABLES

    def keys(self, Q: np.ndarray, probes: int) -> np.ndarray:
        """Buckets that each query searches, (queries, TABLES * probes)."""
        bits, m = self.bits, len(Q)
        planes = directions(Q.shape[1], bits)
        margins = (Q @ planes.T - self.thresholds).reshape(m, TABLES, bits)
        powers = np.int64(1) << np.arange(bits)
        own = ((margins > 0) @ powers) + np.arange(TABLES) * (1 << bits)
        nearest = np.argsort(np.abs(margins), axis=2, kind="stable")
        side = np.where(margins > 0, -powers, powers)  # what crossing a plane adds to the key
        steps = np.take_along_axis(side, nearest, axis=2)
        flips = [flip for flip in FLIPS[:probes] if max(flip, default=0) < bits]
        found = [own + steps[:, :, list(flip)].sum(axis=2, dtype=np.int64) for flip in flips]
        return np.ascontiguousarray(np.concatenate(found, axis=1))

    def search(
        self, X: np.ndarray, Q: np.ndarray, near: np.ndarray, rows: np.ndarray, probes: int,
        left_out: np.ndarray, stop: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Fill the lists of nearest rows of a block of queries; returns their numbers of candidates."""
        counts = np.zeros(len(Q), dtype=np.int64)
        stamps = np.full(len(X), -1, dtype=np.int32)
        _loops.gather(
            Q, X, self.keys(Q, probes), self.starts, self.members, left_out, stamps, near, rows,
            counts, stop,
        )  # fmt: skip
        return counts


def build(X: np.ndarray) -> Buckets:
    """Planes at the medians, and the rows of each bucket in ascending order."""
    n, d = X.shape
    bits = n_bits(n)
    projected = X @ directions(d, bits).T
    thresholds = np.median(projected, axis=0)
    keys = ((projected > thresholds).reshape(n, TABLES, bits)) @ (np.int64(1) << np.arange(bits))
    members, starts = [], [np.zeros(1, dtype=np.int64)]
    for table in range(TABLES):
        members.append(np.argsort(keys[:, table], kind="stable").astype(np.int32))
        counts = np.bincount(keys[:, table], minlength=1 << bits)
        starts.append(np.cumsum(counts) + table * n)
    return Buckets(thresholds, np.concatenate(members), np.concatenate(starts), 1)


@dataclass(frozen=True)
class Verdict:
    """The buckets if they make the search faster, else None and the reason; their recall."""

    buckets: Buckets | None
    recall: float
    reason: str


def unsuitable(metric: Any) -> str:
    """Why hashing cannot be used, and for which metrics it can."""
    known = ", ".join(repr(name) for name, kind in distances.KINDS.items() if kind == "squared")
    if not isinstance(metric, str):
        reason = "the metric is a function"
    elif distances.KINDS.get(metric) == "squared":
        reason = "the table is large and sparse"
    else:
        reason = f"the metric is {metric!r}"
    return f"hashing works on dense rows for the metrics {known}, but {reason}"


def judge(X: np.ndarray, exact: Any, k: int) -> Verdict:
    """Build, choose the number of buckets on some rows, measure recall and cost on others.

    `exact(rows, k)` gives the k nearest rows of training rows, each without itself.
    """
    n = len(X)
    if n < 10 * SAMPLE or k >= n // 10:
        return Verdict(None, 1.0, f"an exact search of {n:,} rows is fast")
    buckets = build(X)
    rng = parallel.stream(parallel.seed_sequence(0), "sample", n)
    drawn = rng.choice(n, 3 * SAMPLE, replace=False)
    choose, measure = drawn[:SAMPLE], drawn[SAMPLE:]
    truth, probes = exact(choose, k), PROBES[0]
    for more in PROBES:
        recall, share = _recall(buckets, X, choose, truth, k, more)
        if share * DEAREST > 1:
            break
        probes = more
        if recall >= WANTED:
            break
    recall, share = _recall(buckets, X, measure, exact(measure, k), k, probes)
    if recall < WORST:
        return Verdict(None, 1.0, f"it would find only {recall:.0%} of the neighbours")
    if share * DEAREST > 1:
        return Verdict(None, 1.0, f"{share:.0%} of the rows would be candidates")
    chosen = Buckets(buckets.thresholds, buckets.members, buckets.starts, probes)
    return Verdict(chosen, recall, "")


def _recall(
    buckets: Buckets, X: np.ndarray, rows: np.ndarray, truth: np.ndarray, k: int, probes: int
) -> tuple[float, float]:
    """Share of the true neighbours found, and share of rows that were candidates."""
    near, found = np.full((len(rows), k), np.inf), np.full((len(rows), k), -1, dtype=np.int32)
    stop = np.zeros(1, dtype=np.int32)
    own = rows.astype(np.int32)
    counts = buckets.search(X, np.ascontiguousarray(X[rows]), near, found, probes, own, stop)
    hits = (found[:, :, None] == truth[:, None, :]).any(axis=1).mean()
    return float(hits), float(counts.mean() / len(X))
