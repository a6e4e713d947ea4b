"""Columns of numbers in at most 255 bins, for the histogram splitter of single trees.

Layout: bins (d, n) uint8, column after column; the bin after the last one is for missing values.
Columns of levels keep their codes and have no bins.
"""

from dataclasses import dataclass

import numpy as np

from pellucid import parallel
from pellucid.tree._presort import cut_column, sort_column

MOST_BINS = 255


@dataclass(frozen=True)
class Binned:
    """Bins of the cells, and the smallest and largest value in each bin of each column."""

    bins: np.ndarray  # uint8 (d, n)
    n_bins: np.ndarray  # int32 (d,), 0 for levels
    low: np.ndarray  # float64 (d, 256)
    high: np.ndarray


def bin_columns(X: np.ndarray, kinds: np.ndarray, weights: np.ndarray) -> Binned:
    """Cut every column of numbers at mid-points: all of them if there are few, else quantiles."""
    n, d = X.shape
    out = Binned(
        np.zeros((d, n), dtype=np.uint8), np.zeros(d, dtype=np.int32),
        np.zeros((d, 256)), np.zeros((d, 256)),
    )  # fmt: skip
    own = None if (weights == weights[0]).all() else np.ascontiguousarray(weights)

    def cut(f: int) -> None:
        column, order = np.ascontiguousarray(X[:, f]), np.empty(n, dtype=np.int32)
        present = n - sort_column(column, order)[0]
        out.n_bins[f] = cut_column(
            column, order, present, own, MOST_BINS, out.bins[f], out.low[f], out.high[f]
        )

    jobs = None if n * d >= 2**16 else 1
    parallel.map(cut, np.flatnonzero(kinds == 0).tolist(), n_jobs=jobs)
    return out
