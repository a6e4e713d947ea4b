"""Bins: columns of a table as uint8, thresholds between bins in the units of the user.

A number's bin is the count of thresholds below it; thresholds are mid-points of neighbouring values,
all of them if there are few, else at weighted quantiles. A level has a bin of its own; if there are
too many for one column of bins there are several, each with a bin for the levels of all others. Missing
values have the bin after the last.

Invariant: x <= thresholds[b] exactly if its bin is <= b.
"""

from dataclasses import dataclass

import numpy as np

from pellucid import parallel
from pellucid.data.row_view import RowView
from pellucid.parallel.external import take
from pellucid.parallel.shard import shard
from pellucid.tree._presort import count_between, level_bins, number_bins
from pellucid.tree._shared.shared_bins import shared_neighbours

WIDTH = 4  # columns in a word of bins
FEWEST = 10  # rows below which a level has no bin of its own, if there are too many
PIVOTS = 4096  # sorted cells of a long column, between which the others are counted
WORTH_PIVOTS = 2**16  # rows from which a column is not sorted as a whole
MOST_PARTS = 16  # columns of bins of one column of levels


@dataclass(frozen=True)
class Bins:
    """How the columns of a table are cut: d columns of bins."""

    column: np.ndarray  # int32 (d,), of the table
    thresholds: list[np.ndarray]  # by column of bins, empty for levels
    bin_of: list[np.ndarray]  # by column of bins: bin of each level (uint8), empty for numbers
    kinds: np.ndarray  # uint8 (d,), 1: levels
    n_bins: np.ndarray  # int32, 0 for the columns that fill the last word

    def words(self, X: np.ndarray | RowView) -> np.ndarray:
        """Bins of new rows, (blocks of four columns, rows) as uint32."""
        n, d = X.shape[0], len(self.column)
        words = np.empty((len(self.n_bins) // WIDTH, n), dtype=np.uint32)
        table, order = (X, None)
        if isinstance(X, RowView):
            table, order = X.table, X.places.astype(np.intp)

        def fill(block: int) -> None:
            cells = np.zeros((len(table), WIDTH), dtype=np.uint8)
            for j in range(block * WIDTH, min((block + 1) * WIDTH, d)):
                self._fill(np.ascontiguousarray(table[:, self.column[j]]), j, cells)
            four = cells.view(np.uint32)[:, 0]
            words[block] = four if order is None else take(four, order)

        parallel.map(fill, range(len(words)), _threads(n * d))
        return words

    def _fill(self, column: np.ndarray, j: int, cells: np.ndarray) -> None:
        """Bins of column j in its place of the cells."""
        if self.kinds[j]:
            count = int(self.n_bins[j])
            level_bins(column, self.bin_of[j], count, cells, j % WIDTH)
        else:
            number_bins(column, self.thresholds[j], cells, j % WIDTH)


def _threads(cells: int) -> int | None:
    """Small tables are not worth a parallel region."""
    return None if cells >= 2**16 else 1


def learn_bins(
    X: np.ndarray | RowView,
    kinds: np.ndarray,
    n_levels: np.ndarray,
    weights: np.ndarray,
    max_bins: int,
) -> Bins:
    """Cut every column into at most `max_bins` bins, besides the one for missing values."""
    n, d = X.shape
    shared = shard() is not None
    equal = not shared and bool((weights == weights[0]).all())
    if isinstance(X, RowView) and equal and len(X.table) == n:
        X = X.table  # all rows: their order does not matter

    neighbours = (
        shared_neighbours(X, np.flatnonzero(kinds == 0), weights, max_bins) if shared else {}
    )

    def cut(j: int) -> list[tuple[np.ndarray, np.ndarray]]:
        if j in neighbours:
            return [(midpoints(*neighbours[j]), np.empty(0, np.uint8))]
        column = np.array(X[:, j], order="C")  # a copy, to be sorted
        if kinds[j]:
            parts = _bins_of_levels(column, weights, int(n_levels[j]), max_bins)
            return [(np.empty(0), bin_of) for bin_of in parts]
        return [(_thresholds(column, None if equal else weights, max_bins), np.empty(0, np.uint8))]

    found = parallel.map(cut, range(d), _threads(n * d))
    column = np.repeat(np.arange(d, dtype=np.int32), [len(parts) for parts in found])
    flat = [part for parts in found for part in parts]
    n_bins = np.zeros(-(-len(flat) // WIDTH) * WIDTH, dtype=np.int32)
    for k, (thresholds, bin_of) in enumerate(flat):
        n_bins[k] = int(bin_of.max(initial=0)) + 1 if kinds[column[k]] else len(thresholds) + 1
    return Bins(
        column, [part[0] for part in flat], [part[1] for part in flat],
        kinds[column].astype(np.uint8), n_bins,
    )  # fmt: skip


def _thresholds(values: np.ndarray, weights: np.ndarray | None, max_bins: int) -> np.ndarray:
    present = ~np.isnan(values)
    if not present.all():
        values = values[present]
        weights = None if weights is None else weights[present]
    if not len(values):
        return np.empty(0)
    if weights is None:
        if len(values) >= WORTH_PIVOTS:
            pivots = np.unique(values[:: len(values) // PIVOTS])
            if len(pivots) > max_bins:
                return _selected_thresholds(values, pivots, max_bins)
        values.sort()
        return _even_thresholds(values, max_bins)
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    first = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    distinct = values[first]
    if len(distinct) > max_bins:
        last = np.append(first[1:], len(values)) - 1
        total = np.cumsum(weights)[last]
        goals = total[-1] * (np.arange(1, max_bins) / max_bins)
        ends = np.unique(np.searchsorted(total, goals))
        ends = ends[ends < len(distinct) - 1]
    else:
        ends = np.arange(len(distinct) - 1)
    return midpoints(distinct[ends], distinct[ends + 1])


def _even_thresholds(values: np.ndarray, max_bins: int) -> np.ndarray:
    """The same for sorted values of one weight, without another array of their size but for marks."""
    n = len(values)
    changes = values[1:] != values[:-1]
    if np.count_nonzero(changes) < max_bins:
        last = np.flatnonzero(changes)
    else:
        goals = np.ceil(n * (np.arange(1, max_bins) / max_bins)).astype(np.int64)
        chosen = np.unique(values[np.maximum(goals, 1) - 1])
        last = np.searchsorted(values, chosen, side="right") - 1
    last = last[last < n - 1]
    return midpoints(values[last], values[last + 1])


def _selected_thresholds(values: np.ndarray, pivots: np.ndarray, max_bins: int) -> np.ndarray:
    """The same for unsorted values, of which `pivots` are some, more than `max_bins`.

    Only intervals (pivot, next pivot] are sorted that hold a quantile, with the ones behind them: the
    value above a quantile may be there.
    """
    n = len(values)
    which, counts = np.empty(n, dtype=np.uint16), np.zeros(len(pivots) + 1, dtype=np.int64)
    count_between(values, pivots, which, counts)
    ends = np.cumsum(counts)
    ranks = np.maximum(np.ceil(n * (np.arange(1, max_bins) / max_bins)).astype(np.int64), 1) - 1
    own = np.searchsorted(ends, ranks, side="right")
    wanted = np.zeros(len(counts), dtype=bool)
    wanted[own] = wanted[np.minimum(own + 1, len(pivots))] = True
    some = np.sort(values[wanted[which]])
    left_out = np.cumsum(np.where(wanted, 0, counts))  # values below that are not in `some`
    chosen = np.unique(some[ranks - left_out[own]])
    above = np.searchsorted(some, chosen, side="right")
    inside = above < len(some)
    return midpoints(chosen[inside], some[above[inside]])


def midpoints(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """low <= middle < high, whatever the size of the numbers."""
    middle = 0.5 * low + 0.5 * high
    return np.where((middle >= high) | (middle < low), low, middle)


def _bins_of_levels(
    codes: np.ndarray, weights: np.ndarray, n_levels: int, max_bins: int
) -> list[np.ndarray]:
    """Bins of the levels in one or more columns of bins; the most frequent levels come first."""
    if n_levels <= max_bins:
        return [np.arange(n_levels, dtype=np.uint8)]
    weights = np.where(np.isnan(codes), 0.0, weights)
    total = parallel.count_rows(np.nan_to_num(codes).astype(np.int64), weights, n_levels)
    rows = int(parallel.added(np.array([np.count_nonzero(weights)]))[0])
    order = np.argsort(-total, kind="stable")
    # Counts of rows would not be those of repeated rows: weights that are counts are the samples.
    known = int((total >= FEWEST * min(1.0, float(total.sum()) / max(rows, 1))).sum())
    own = max_bins - 1
    parts = min(max(-(-known // own), 1), MOST_PARTS)
    out = []
    for first in range(0, parts * own, own):
        levels = np.sort(order[first : first + own])
        bin_of = np.full(n_levels, own, dtype=np.uint8)
        bin_of[levels] = np.arange(len(levels), dtype=np.uint8)
        out.append(bin_of)
    return out
