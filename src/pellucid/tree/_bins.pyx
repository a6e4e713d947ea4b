"""The best threshold of a binned column: sums per bin, then one pass over the bins.

A cell holds the bin of its column (uint8), n_bins where it is missing. Nodes are `members` without
places: nothing is sorted. A threshold lies between the largest value of the last bin on the left and
the smallest value of the next bin that has rows here, so columns with few values are split exactly
as by the exact sweep.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy, memset

from pellucid.tree._buckets cimport (
    MOST_BUCKETS, Buckets, fill_sums, fill_words, fits_words, gather_words,
)
from pellucid.tree._impurity cimport TIE, keeps_order, split_cost
from pellucid.tree._row_order cimport Sorter, copy_column
from pellucid.tree._sweep cimport midpoint
from pellucid.tree._table cimport Node, Split, Table


cdef struct BinSplit:               # the best split of one pass
    double lowest, cost         # as in a sweep
    int32_t below, above        # the last bin on the left, the next one with rows or -1


cdef void pass_bins(const Table* t, const Node* node, const double* counts, int f,
                    const Buckets* b, const int32_t* rows, bint missing_left, double* left,
                    BinSplit* best) noexcept nogil:
    """Splits behind every bin that has rows, missing ones on the given side."""
    cdef int n_bins = t.columns.binned.n_bins[f], j, k, last = -1
    cdef Py_ssize_t here = 0, m = node.end - node.start
    cdef double wl = 0.0, cost
    best.lowest, best.cost, best.below, best.above = INFINITY, INFINITY, -1, -1
    memset(left, 0, t.y.size * sizeof(double))
    if missing_left:
        memcpy(left, b.sums + n_bins * t.y.size, t.y.size * sizeof(double))
        wl, here = b.weights[n_bins], rows[n_bins]
    for j in range(n_bins + 1):
        if j < n_bins and b.weights[j] == 0.0:
            continue
        if last >= 0 and best.below == last:
            best.above = j if j < n_bins else -1
        if j == n_bins or (j == n_bins - 1 and b.weights[n_bins] == 0.0):
            break
        for k in range(t.y.size):
            left[k] += b.sums[j * t.y.size + k]
        wl, here, last = wl + b.weights[j], here + rows[j], j
        if (here < t.rules.min_rows or m - here < t.rules.min_rows or wl < t.rules.min_weight
                or node.weight - wl < t.rules.min_weight
                or not keeps_order(t, node, counts, f, left, wl)):
            continue
        cost = split_cost(t, node, counts, left, wl)
        if cost < best.lowest:
            if best.cost > cost + TIE * node.cost:
                best.below, best.above, best.cost = j, -1, cost
            best.lowest = cost


cdef void split_bins(const Table* t, const Node* node, const double* counts, int f, Buckets* b,
                     Sorter* o, double* left, Split* out) noexcept nogil:
    """Best threshold of column f: missing rows right first, then left; lowest threshold on ties."""
    cdef int32_t rows[MOST_BUCKETS]
    cdef const uint8_t* bins
    cdef int n_bins = t.columns.binned.n_bins[f]
    cdef Py_ssize_t i, m = node.end - node.start
    cdef BinSplit s, mirrored
    out.cost, out.feature, out.missing_left = INFINITY, -1, 0
    copy_column(t, f)
    bins = t.columns.binned.bins + f * t.columns.n_rows
    memset(rows, 0, sizeof(rows))
    for i in range(m):
        o.keys[i] = bins[t.rows.members[node.start + i]]
        rows[o.keys[i]] += 1
    if fits_words(t, node):
        gather_words(t, node, b)
        fill_words(o.keys, m, 0, 0, t.y.K, n_bins + 1, b)
    else:
        fill_sums(t, node, counts, o.keys, m, 0, 0, n_bins + 1, b)
    if rows[n_bins] == m:
        return
    pass_bins(t, node, counts, f, b, rows, False, left, &s)
    if rows[n_bins] > 0:
        pass_bins(t, node, counts, f, b, rows, True, left, &mirrored)
        if mirrored.below >= 0 and mirrored.above < 0:
            mirrored.below = -1                    # nothing would be on the right
        if mirrored.below >= 0 and (mirrored.lowest + TIE * node.cost < s.lowest or (
                mirrored.lowest <= s.lowest + TIE * node.cost and mirrored.below < s.below)):
            s = mirrored
            out.missing_left = 1
    if s.below >= 0:
        out.feature, out.cost, out.at = f, s.cost, s.below
        out.below, out.above = s.below, s.above


cdef double bin_threshold(const Table* t, const Split* split) noexcept nogil:
    """Between two bins; beyond all numbers if only missing values are on the right."""
    if split.above < 0:
        return INFINITY
    return midpoint(t.columns.binned.high[256 * split.feature + split.below],
                    t.columns.binned.low[256 * split.feature + split.above])
