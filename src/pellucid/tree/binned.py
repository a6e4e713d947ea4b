"""Columns of numbers in at most 255 bins, for the histogram splitter of single trees.

Layout: bins (d, n) uint8, column after column; the bin after the last one is for missing values.
Columns of levels keep their codes and have no bins.
"""

from dataclasses import dataclass

import numpy as np

from pellucid import parallel
from pellucid.tree._histogram import number_bins
from pellucid.tree.histogram_bins import WIDTH, learn_bins

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
    nothing = np.zeros(1, dtype=np.int32)

    def cut(f: int) -> None:
        column = np.ascontiguousarray(X[:, f])
        plain = np.zeros(1, dtype=np.uint8)
        thresholds = learn_bins(column[:, None], plain, nothing, weights, MOST_BINS).thresholds[0]
        cells = np.zeros((n, WIDTH), dtype=np.uint8)
        number_bins(column, thresholds, cells, 0)
        out.bins[f] = cells[:, 0]
        out.n_bins[f] = len(thresholds) + 1
        values = np.sort(column)  # missing ones last
        ends = np.searchsorted(values, thresholds, side="right")
        out.high[f, : len(ends)], out.low[f, 1 : len(ends) + 1] = values[ends - 1], values[ends]

    jobs = None if n * d >= 2**16 else 1
    parallel.map(cut, np.flatnonzero(kinds == 0).tolist(), n_jobs=jobs)
    return out
