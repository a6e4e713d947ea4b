"""Driver of `_histogram.Growth`: one round of trees, in threads where the work is worth it.

Invariant: threads share the tasks of a round, never a sum; bits do not depend on their number.
"""

from dataclasses import dataclass

import numpy as np

from pellucid import parallel
from pellucid.tree._histogram import GROWN, Growth
from pellucid.tree.histogram_bins import WIDTH, Bins

WORTH_THREADS = 2**17  # cells of a round below which one thread is faster
POOL = 2**28  # bytes of histograms that are kept for subtraction
UNLIMITED = 2**31 - 1


@dataclass(frozen=True)
class Limits:
    """When a node is not divided."""

    l2: float = 0.0
    min_samples_leaf: float = 1.0
    min_samples_split: float = 2.0
    min_curvature: float = 1e-3
    min_gain: float = 0.0
    share: float = 1.0  # of the columns that a node may look at
    max_leaves: int = UNLIMITED
    max_depth: int = UNLIMITED
    steep: int = 0  # the side (1, -1) on which the loss bends up as the exponential function


def shift_of(samples: np.ndarray, n: int) -> int:
    """Bits that a sum of samples needs; no samples: one for each of n rows."""
    return int(samples.sum(dtype=np.int64) if len(samples) else n).bit_length()


class Grower:
    """Grows rounds of `n_drafts` trees on the same binned rows.

    samples (int32): how many a row counts for, at most; empty: every row for one.
    """

    def __init__(
        self,
        bins: Bins,
        words: np.ndarray,
        limits: Limits,
        n_drafts: int,
        samples: np.ndarray,
        signs: np.ndarray | None = None,
        groups: np.ndarray | None = None,
    ) -> None:
        d = len(bins.kinds)
        self.stop = parallel.StopFlag()
        self.n = words.shape[1]
        worth = self.n * n_drafts * d >= WORTH_THREADS
        self.threads = parallel.get_threads() if worth else 1
        signs = np.zeros(d, dtype=np.int8) if signs is None else signs
        slot = 16 * int(bins.n_bins.sum() + len(bins.n_bins))
        columns = np.ascontiguousarray(
            words.view(np.uint8).reshape(-1, self.n, WIDTH).transpose(0, 2, 1)
        )
        # Of one tree: smaller nodes are counted as fast as they are subtracted.
        wanted = min(limits.max_leaves, self.n // 256, 512) + 2
        desks = min(n_drafts, self.threads)
        self.growth = Growth(
            words, bins.n_bins, bins.kinds, signs, samples, shift_of(samples, self.n),
            columns.reshape(-1, self.n),
            np.zeros((0, d), dtype=np.uint8) if groups is None else groups, n_drafts,
            desks, max(1, min(wanted, POOL // slot // desks)),
            (
                limits.l2, limits.min_samples_leaf, limits.min_samples_split, limits.min_curvature,
                limits.min_gain, limits.share, limits.max_leaves, limits.max_depth,
                bool(signs.any()), limits.steep,
            ),
            self.stop.array,
        )  # fmt: skip
        self.n_drafts, self.d = n_drafts, d

    def grow(
        self,
        slopes: np.ndarray,
        rows: np.ndarray | None,
        keys: np.ndarray,
        raw: np.ndarray,
        rate: float,
        price: float = 0.0,
        update: bool = True,
    ) -> None:
        """The trees of one round with their leaves' values; branches not worth their price go.

        `rows`: of the trees, None: all. With `update` their predictions are brought up to date.
        """
        growth = self.growth
        growth.begin(slopes, rows, keys, raw, rate, price, update)
        n = self.n if rows is None else len(rows)
        if self.threads > 1 and n * self.n_drafts * self.d >= WORTH_THREADS:
            parallel.map(growth.work, range(self.threads), self.threads)
        else:
            growth.work(0)
        self.stop.check()

    def send(self, words: np.ndarray, raw: np.ndarray) -> None:
        """Add the last round's trees to the predictions (K, n) of binned rows."""
        n = words.shape[1]
        tasks = [
            (k, f, min(f + 2**13, n)) for k in range(self.n_drafts) for f in range(0, n, 2**13)
        ]
        jobs = None if n * self.n_drafts > 2**14 else 1
        parallel.map(lambda t: self.growth.send(words, t[0], raw[t[0]], t[1], t[2]), tasks, jobs)


__all__ = ["GROWN", "UNLIMITED", "Grower", "Limits"]
