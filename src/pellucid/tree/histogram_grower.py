"""Driver of `_histogram.Growth`: one round of trees, in threads where the work is worth it.

Invariant: threads share the tasks of a round, never a sum; bits do not depend on their number.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pellucid import parallel
from pellucid.parallel.memory import is_limited
from pellucid.parallel.shard import shard
from pellucid.tree._histogram import Growth
from pellucid.tree._histogram_passes import StreamedGrowth
from pellucid.tree._histogram_shared import SharedGrowth
from pellucid.tree._shared.shared_growth import grow_together
from pellucid.tree.histogram_bins import WIDTH, Bins

WORTH_THREADS = 2**17  # cells of a round below which one thread is faster
POOL = 2**28  # bytes of histograms that are kept for subtraction
PASS_ROWS = 2**16  # rows of a task of a pass
MOST_PARTS = 16  # threads of a pass: each has its own histograms
UNLIMITED = 2**31 - 1


@dataclass(frozen=True)
class HistogramLimits:
    """When a node is not split."""

    l2: float = 0.0
    min_samples_leaf: float = 1.0
    min_samples_split: float = 2.0
    min_curvature: float = 1e-3
    min_gain: float = 0.0
    share: float = 1.0  # of the columns that a node may look at
    max_leaves: int = UNLIMITED
    max_depth: int = UNLIMITED
    steep: int = 0  # the side (1, -1, 2: both) where curvature grows as exp, see `losses.Objective`


@dataclass(frozen=True, slots=True)
class HistogramConfig:
    """What a `Growth` grows trees from: the binned table, the limits, the memory."""

    words: np.ndarray  # uint32 (blocks of four columns, n)
    columns: np.ndarray  # uint8 (d, n), the bins again, column after column
    n_bins: np.ndarray  # int32 (d,), 0 for columns that only fill a word
    kinds: np.ndarray  # uint8, 1: bins are levels
    signs: np.ndarray  # int8, of monotone constraints
    samples: np.ndarray  # int32 (n,), how many a row counts for; empty: one each
    shift: int  # bits that a sum of samples needs
    groups: np.ndarray  # uint8, columns that may stand on one path; no rows: all
    limits: HistogramLimits
    n_trees: int  # of a round
    n_workspaces: int  # trees that grow at once
    n_slots: int  # histograms of a workspace
    stop: np.ndarray  # int32 (1,), of a `parallel.StopFlag`
    streamed: bool  # rows are visited in passes; `columns` is empty


def shift_of(samples: np.ndarray, n: int) -> int:
    """Bits that a sum of samples needs; no samples: one for each of n rows."""
    own = np.array([samples.sum(dtype=np.int64) if len(samples) else n])
    return int(parallel.added(own)[0]).bit_length()


def _columns(words: np.ndarray) -> np.ndarray:
    """Bins column after column, (d, n) uint8."""
    n = words.shape[1]
    cells = words.view(np.uint8).reshape(-1, n, WIDTH).transpose(0, 2, 1)
    return np.ascontiguousarray(cells).reshape(-1, n)


def _kind_of_growth(streamed: bool) -> type[Growth]:
    if shard() is not None:
        return SharedGrowth
    return StreamedGrowth if streamed else Growth


class HistogramGrower:
    """Grows rounds of `n_trees` trees on the same binned rows.

    samples (int32): how many a row counts for, at most; empty: every row for one.
    streamed: rows are visited in passes, with equal results; None: below a memory ceiling.
    """

    def __init__(
        self,
        bins: Bins,
        words: np.ndarray,
        limits: HistogramLimits,
        n_trees: int,
        samples: np.ndarray,
        signs: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        streamed: bool | None = None,
    ) -> None:
        d, n_all = len(bins.kinds), parallel.total_rows(words.shape[1])
        self.stop = parallel.StopFlag()
        self.n = words.shape[1]
        worth = self.n * n_trees * d >= WORTH_THREADS
        self.threads = parallel.get_threads() if worth else 1
        signs = np.zeros(d, dtype=np.int8) if signs is None else signs
        slot = 16 * int(bins.n_bins.sum() + len(bins.n_bins))
        self.streamed = is_limited() if streamed is None else streamed
        self.streamed = self.streamed or shard() is not None
        # Of one tree: smaller nodes are counted as fast as they are subtracted.
        wanted = (1 + self.streamed) * min(limits.max_leaves, n_all // 256, 512) + 2
        workspaces = 1 if self.streamed else min(n_trees, self.threads)
        self.growth = _kind_of_growth(self.streamed)(
            HistogramConfig(
                words=words,
                columns=_columns(words[:0] if self.streamed else words),
                n_bins=bins.n_bins,
                kinds=bins.kinds,
                signs=signs,
                samples=samples,
                shift=shift_of(samples, self.n),
                groups=np.zeros((0, d), dtype=np.uint8) if groups is None else groups,
                limits=limits,
                n_trees=n_trees,
                n_workspaces=workspaces,
                n_slots=max(1, min(wanted, POOL // slot // workspaces)),
                stop=self.stop.array,
                streamed=self.streamed,
            )
        )
        self.n_trees, self.d, self.samples = n_trees, d, samples

    def grow(
        self,
        gradients: np.ndarray,
        rows: np.ndarray | None,
        keys: np.ndarray,
        raw: np.ndarray,
        rate: float,
        ccp_alpha: float = 0.0,
        update: bool = True,
        weights: np.ndarray | None = None,
    ) -> None:
        """The trees of one round with the values of their leaves, pruned by `ccp_alpha`.

        `rows`: of the trees, None: all. With `update` their predictions are brought up to date. With
        `weights`, splits reduce the variance of the gradients; the values of leaves stay.
        """
        growth = self.growth
        growth.begin(gradients, rows, keys, raw, rate, ccp_alpha, update, weights)
        n = self.n if rows is None else len(rows)
        if isinstance(growth, SharedGrowth):
            assert rows is None
            assert weights is None
            grow_together(growth, gradients, self._count_in_passes(growth))
        elif isinstance(growth, StreamedGrowth):
            self._grow_in_passes(growth)
        elif self.threads > 1 and n * self.n_trees * self.d >= WORTH_THREADS:
            parallel.map(growth.work, range(self.threads), self.threads)
        else:
            growth.work(0)
        self.stop.check()

    def _count_in_passes(self, growth: StreamedGrowth) -> tuple[int, Callable[[], None]]:
        """Parts of a pass, and a function that counts all rows; threads share them."""
        blocks = [slice(i, min(i + PASS_ROWS, self.n)) for i in range(0, self.n, PASS_ROWS)]
        n_parts = min(self.threads, len(blocks), MOST_PARTS)
        free = list(range(n_parts))

        def count(rows: slice) -> None:
            part = free.pop()
            growth.count(rows.start, rows.stop, part)
            free.append(part)

        def count_all() -> None:
            parallel.map(count, blocks, n_parts)
            self.stop.check()

        return n_parts, count_all

    def _grow_in_passes(self, growth: StreamedGrowth) -> None:
        """One tree after the other."""
        n_parts, count = self._count_in_passes(growth)
        for k in range(self.n_trees):
            more = growth.begin_tree(k, n_parts)
            while more:
                count()
                more = growth.search()
            growth.set_leaves()

    def add_round(self, words: np.ndarray, raw: np.ndarray) -> None:
        """Add the last round's trees to the predictions (K, n) of binned rows."""
        n = words.shape[1]
        if n * self.n_trees <= 2**14:
            for k in range(self.n_trees):
                self.growth.add_values(words, k, raw[k], 0, n)
            return
        tasks = [(k, f, min(f + 2**13, n)) for k in range(self.n_trees) for f in range(0, n, 2**13)]
        parallel.map(lambda t: self.growth.add_values(words, t[0], raw[t[0]], t[1], t[2]), tasks)
