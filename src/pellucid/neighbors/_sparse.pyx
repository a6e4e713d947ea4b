"""The nearest rows of sparse queries in a sparse table, by an inverted index: columns to rows.

Invariant: the k smallest pairs (squared distance, row) are found. Products of a query with all rows come
from the columns that it has; they exclude most rows, with a bound for their rounding. The distance of any
other row is the sum of (q_j - x_j)**2 over the columns that either has, in order.
"""

from libc.stdint cimport int32_t, int64_t

from pellucid.neighbors._heaps cimport offer


cdef inline double apart(const double *a, const int32_t *i, Py_ssize_t n, const double *b,
                         const int32_t *j, Py_ssize_t m) noexcept nogil:
    """Squared distance of two sparse rows; their columns are sorted."""
    cdef Py_ssize_t s = 0, t = 0
    cdef double total = 0.0, d
    while s < n or t < m:
        if t == m or (s < n and i[s] < j[t]):
            d = a[s]
            s += 1
        elif s == n or j[t] < i[s]:
            d = b[t]
            t += 1
        else:
            d = a[s] - b[t]
            s, t = s + 1, t + 1
        total += d * d
    return total


def search(const double[::1] data, const int32_t[::1] columns, const int64_t[::1] starts,
           const double[::1] by_column, const int32_t[::1] members, const int64_t[::1] ends,
           const double[::1] halves, const double[::1] cells, const int32_t[::1] wheres,
           const int64_t[::1] queries, double error, double[::1] products, double[:, ::1] near,
           int32_t[:, ::1] rows, const int32_t[::1] stop):
    """Offers all rows to the lists of the queries.

    (data, columns, starts) are the rows by rows, (by_column, members, ends) by columns; `halves` are
    their squared lengths / 2, (cells, wheres, queries) the queries. `products` is memory for one number
    per row. A product is wrong by at most `error` times the sum of both halves.
    """
    cdef Py_ssize_t i, r, s, first, count, n = halves.shape[0], k = near.shape[1]
    cdef int64_t t
    cdef double own, x, limit
    with nogil:
        for i in range(near.shape[0]):
            if stop[0]:
                break
            first, count = queries[i], queries[i + 1] - queries[i]
            own = 0.0
            for r in range(n):
                products[r] = 0.0
            for s in range(first, first + count):
                x = cells[s]
                own += 0.5 * x * x
                for t in range(ends[wheres[s]], ends[wheres[s] + 1]):
                    products[members[t]] += x * by_column[t]
            limit = 0.5 * near[i, 0]
            for r in range(n):
                x = own + halves[r]
                if x - products[r] - error * x > limit:
                    continue
                x = apart(
                    &cells[0] + first, &wheres[0] + first, count, &data[0] + starts[r],
                    &columns[0] + starts[r], starts[r + 1] - starts[r],
                )
                offer(&near[i, 0], &rows[i, 0], k, x, <int32_t>r)
                limit = 0.5 * near[i, 0]
