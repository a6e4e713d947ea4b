"""The nearest rows of sparse queries in a sparse table, by an inverted index: columns to rows.

Invariant: the k smallest pairs (distance, row) are found, with squared or with absolute differences. What
a query shares with all rows comes from the columns that it has; it excludes most rows, with a bound for its
rounding. The distance of any other row is the sum of (q_j - x_j)**2 or |q_j - x_j| over the columns that
either has, in order.
"""

from libc.math cimport fabs, fmin
from libc.stdint cimport int32_t, int64_t

from pellucid.neighbors._heaps cimport offer


cdef inline double shared(double a, double b, bint absolute) noexcept nogil:
    """a b, or (|a| + |b| - |a - b|) / 2: the distance is the sum of both sizes minus twice that."""
    if not absolute:
        return a * b
    return fmin(fabs(a), fabs(b)) if (a > 0) == (b > 0) else 0.0


cdef inline double apart(const double *a, const int32_t *i, Py_ssize_t n, const double *b,
                         const int32_t *j, Py_ssize_t m, bint absolute) noexcept nogil:
    """Distance of two sparse rows; their columns are sorted."""
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
        total += fabs(d) if absolute else d * d
    return total


def search(const double[::1] data, const int32_t[::1] columns, const int64_t[::1] starts,
           const double[::1] by_column, const int32_t[::1] members, const int64_t[::1] ends,
           const double[::1] halves, const double[::1] cells, const int32_t[::1] wheres,
           const int64_t[::1] queries, double error, bint absolute, double[::1] products, double[:, ::1] near,
           int32_t[:, ::1] rows, const int32_t[::1] stop):
    """Offers all rows to the lists of the queries.

    (data, columns, starts) are the rows by rows, (by_column, members, ends) by columns; `halves` are
    their squared lengths / 2, or sums of absolute values / 2 if `absolute`, (cells, wheres, queries) the
    queries. `products` is memory for one number per row. A product is wrong by at most `error` times the
    sum of both halves.
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
                own += 0.5 * shared(x, x, absolute)
                for t in range(ends[wheres[s]], ends[wheres[s] + 1]):
                    products[members[t]] += shared(x, by_column[t], absolute)
            limit = 0.5 * near[i, 0]
            for r in range(n):
                x = own + halves[r]
                if x - products[r] - error * x > limit:
                    continue
                x = apart(
                    &cells[0] + first, &wheres[0] + first, count, &data[0] + starts[r],
                    &columns[0] + starts[r], starts[r + 1] - starts[r], absolute,
                )
                offer(&near[i, 0], &rows[i, 0], k, x, <int32_t>r)
                limit = 0.5 * near[i, 0]
