"""The best threshold of a column in which most rows of a node have one common value.

The rows with other values are found in order (`_row_order.rare_rows`); the common ones are one step
between them. The result is that of a sweep over all rows.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t

from pellucid.tree._impurity cimport TIE
from pellucid.tree._row_order cimport Sorter, rare_rows
from pellucid.tree._table cimport Node, Split, Table


cdef inline int64_t products(const int64_t* c, int K) noexcept nogil:
    """Sum of c_i c_j over pairs i < j."""
    cdef int64_t total = 0, before = 0
    cdef int k
    for k in range(K):
        total += c[k] * before
        before += c[k]
    return total


cdef inline void move_left(const int64_t* w, int K, int64_t* left, int64_t* right, int64_t* wl,
                           int64_t* wr) noexcept nogil:
    cdef int k
    for k in range(K):
        left[k] += w[k]
        right[k] -= w[k]
        wl[0] += w[k]
        wr[0] -= w[k]


cdef void split_rare(const Table* t, const Node* node, const double* counts, int f, Sorter* o,
                     Split* out) noexcept nogil:
    """For a column that `is_rare`, Gini and class weights that fit words: a sweep over the rare
    rows; all others are one of its steps. Sums and products of weights are exact."""
    cdef const double* x = t.columns.X + f * t.columns.column_step
    cdef int32_t shared = t.rows.lists[f * t.rows.stride + t.rows.common[2 * f]]
    cdef Py_ssize_t low, i, found = rare_rows(t, node, f, o, &low), step = t.columns.row_step
    cdef int64_t left[4]
    cdef int64_t right[4]
    cdef int64_t common[4]
    cdef int64_t own[4]
    cdef int64_t wl = 0, wr = 0, both
    cdef double bar = INFINITY, tie = TIE * node.cost
    cdef uint32_t p
    cdef int k, K = t.y.K
    out.cost, out.feature, out.missing_left = INFINITY, -1, 0
    for k in range(K):
        left[k] = own[k] = 0
        right[k] = common[k] = <int64_t> counts[k]
        wr += right[k]
    for i in range(found):
        p = t.y.packed[o.rows[i]]
        common[p & 3] -= p >> 2
    if found < node.end - node.start:              # the common rows stand behind `low` rare ones
        for i in range(found, low, -1):
            o.rows[i] = o.rows[i - 1]
        o.rows[low] = shared
        found += 1
    else:
        low = -1
    for i in range(found - 1):
        if i == low:
            move_left(common, K, left, right, &wl, &wr)
        else:
            p = t.y.packed[o.rows[i]]
            own[p & 3] = p >> 2
            move_left(own, K, left, right, &wl, &wr)
            own[p & 3] = 0
        both = products(left, K) * wr + products(right, K) * wl
        if (<double> both < bar * <double> (wl * wr) and wl >= t.rules.min_weight
                and wr >= t.rules.min_weight
                and x[o.rows[i] * step] != x[o.rows[i + 1] * step]):
            bar = <double> both / <double> (wl * wr)
            if out.cost > 2.0 * bar + tie:
                out.cost, out.feature = 2.0 * bar, f
                out.below, out.above = o.rows[i], o.rows[i + 1]
