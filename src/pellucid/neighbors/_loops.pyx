"""Loops of nearest neighbours: panels of rows, single-precision products, hashing.

Invariant: a distance is the plain sum over the columns, from the first to the last, each step rounded
once; the k nearest rows are the k smallest pairs (distance, row). Every search method gives the same
bits.

Layouts: a panel holds m rows side by side, (d, m); `packed` (n, d) holds panel after panel, each in
the position of its rows.
Lists of nearest rows: `near` (k,) distances and `rows` (k,) int32 form a heap, the worst pair first.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t

from pellucid.neighbors._heaps cimport offer, sink
from pellucid.neighbors._panels cimport (
    WIDEST, below, bound_of, choose_wide, panel, panelled, squared,
)


cdef enum:
    TOGETHER = 8  # rows of a panel in one cache line
    WIDE = 64  # columns from which a distance costs more than a look at many scores
    MOST = 64  # neighbours whose scores are found first


cdef inline float least_of(float a, float b) noexcept nogil:
    """The smaller one; NaN if a is NaN, so that it excludes nothing."""
    return b if a > b else a


def use_wide(bint wide):
    """Choose the AVX2 build of the inner loops, where the processor has it, or the plain one."""
    return choose_wide(wide)


use_wide(True)


cdef void unheap(double *near, int32_t *rows, Py_ssize_t k) noexcept nogil:
    """Turn a heap into an ascending list."""
    cdef Py_ssize_t left
    cdef double value
    cdef int32_t row
    for left in range(k - 1, 0, -1):
        value, row = near[left], rows[left]
        near[left], rows[left] = near[0], rows[0]
        sink(near, rows, left, value, row, 0)


def sort(double[:, ::1] near, int32_t[:, ::1] rows):
    """Turn the heaps into ascending lists."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(near.shape[0]):
            unheap(&near[i, 0], &rows[i, 0], near.shape[1])


def sort_parts(double[::1] near, int32_t[::1] rows, const int64_t[::1] starts):
    """Sort each part from starts[i] to starts[i + 1] by (distance, row)."""
    cdef Py_ssize_t i, k, at
    cdef double *own
    cdef int32_t *places
    with nogil:
        for i in range(starts.shape[0] - 1):
            k = starts[i + 1] - starts[i]
            if k < 2:
                continue
            own, places = &near[starts[i]], &rows[starts[i]]
            for at in range(k // 2 - 1, -1, -1):
                sink(own, places, k, own[at], places[at], at)
            unheap(own, places, k)


def pack(const double[:, ::1] X, const int64_t[::1] order, double[:, ::1] packed,
         const int64_t[::1] starts):
    """Write the rows of X panel by panel; panel j holds rows order[starts[j]:starts[j + 1]]."""
    cdef Py_ssize_t j, d = X.shape[1]
    with nogil:
        for j in range(starts.shape[0] - 1):
            panelled(&X[0, 0], &order[starts[j]], starts[j + 1] - starts[j], d,
                     &packed[0, 0] + starts[j] * d)


def scan(int metric, double p, const double[::1] scale, const double[:, ::1] Q,
         const double[:, ::1] packed, const int64_t[::1] starts, int32_t first,
         double[:, ::1] near, int32_t[:, ::1] rows, const int32_t[::1] stop):
    """Offer all packed rows, numbered from `first`, to the nearest rows of each row of Q."""
    cdef Py_ssize_t i, j, t, m, d = Q.shape[1], k = near.shape[1]
    cdef double out[WIDEST]
    with nogil:
        for i in range(Q.shape[0]):
            if stop[0]:
                break
            for j in range(starts.shape[0] - 1):
                m = starts[j + 1] - starts[j]
                panel(metric, p, &scale[0], &Q[i, 0], &packed[0, 0] + starts[j] * d, d, m,
                      near[i, 0], out)
                for t in range(m):
                    if out[t] <= near[i, 0]:
                        offer(&near[i, 0], &rows[i, 0], k, out[t], first + starts[j] + t)


def offer_all(const double[:, ::1] values, int32_t first, double[:, ::1] near,
              int32_t[:, ::1] rows):
    """Offer a table of distances, columns numbered from `first`, to the lists of nearest rows."""
    cdef Py_ssize_t i, j, k = near.shape[1]
    with nogil:
        for i in range(values.shape[0]):
            for j in range(values.shape[1]):
                offer(&near[i, 0], &rows[i, 0], k, values[i, j], first + <int32_t> j)


def halve(const double[:, ::1] packed, const int64_t[::1] starts, const double[::1] centre,
          double factor, float[:, ::1] out):
    """Single-precision copies of packed rows: factor (x - centre), and half of their square."""
    cdef Py_ssize_t j, t, s, f, m, some, d = packed.shape[1]
    cdef double x
    cdef double total[TOGETHER]
    cdef const double *source
    with nogil:
        for j in range(starts.shape[0] - 1):
            m = starts[j + 1] - starts[j]
            source = &packed[0, 0] + starts[j] * d
            t = 0
            while t < m:
                some = min(<Py_ssize_t> TOGETHER, m - t)
                for s in range(some):
                    total[s] = 0.0
                for f in range(d):
                    for s in range(some):
                        x = (source[m * f + t + s] - centre[f]) * factor
                        out[starts[j] + t + s, f] = <float> x
                        total[s] += x * x
                for s in range(some):
                    out[starts[j] + t + s, d] = <float> (0.5 * total[s])
                t += TOGETHER


cdef float limit_of(const float *scores, Py_ssize_t n, Py_ssize_t k, double error) noexcept nogil:
    """Scores of at least this belong to rows that are farther than k others."""
    cdef float best[MOST]
    cdef Py_ssize_t j, at, held = 0
    cdef float score
    for j in range(n):
        score = scores[j]
        if held == k and not (score < best[k - 1]):
            continue
        if not (score < INFINITY):  # overflow: such a row does not count
            continue
        held = min(held + 1, k)
        at = held - 1
        while at > 0 and best[at - 1] > score:
            best[at] = best[at - 1]
            at -= 1
        best[at] = score
    if held < k:
        return INFINITY
    return <float> (best[k - 1] + 2.001 * error + 1e-6 * fabs(best[k - 1]))


def screen(const float[:, ::1] scores, const double[::1] lengths, const double[::1] error,
           const double[:, ::1] Q, const double[:, ::1] packed, const int64_t[::1] starts,
           const int32_t[::1] numbers, double unit, double[:, ::1] near, int32_t[:, ::1] rows,
           const int32_t[::1] stop):
    """Compute the distances of the packed rows that single-precision scores do not exclude.

    scores[i, j] is |x_j|**2 / 2 - q_i x_j up to error[i], where squared distances are multiplied by
    `unit`; lengths[i] is |q_i|**2 / 2. A row whose score is too large
    cannot be among the nearest. numbers[j] is the number of packed row j. Of wide rows, the k smallest
    scores are found first, so that few distances are computed.
    """
    cdef Py_ssize_t i, j, t, m, d = packed.shape[1], k = near.shape[1]
    cdef const double *x
    cdef float bound, limit
    with nogil:
        for i in range(Q.shape[0]):
            if stop[0]:
                break
            limit = INFINITY
            if d >= WIDE and k <= MOST and near[i, 0] == INFINITY:
                limit = limit_of(&scores[i, 0], scores.shape[1], k, error[i])
            bound = least_of(bound_of(near[i, 0], unit, lengths[i], error[i]), limit)
            for j in range(starts.shape[0] - 1):
                m = starts[j + 1] - starts[j]
                if not below(&scores[i, starts[j]], m, bound):
                    continue
                x = &packed[0, 0] + starts[j] * d
                for t in range(m):
                    if not (scores[i, starts[j] + t] >= bound):
                        offer(&near[i, 0], &rows[i, 0], k, squared(&Q[i, 0], x + t, d, m),
                              numbers[starts[j] + t])
                        bound = least_of(bound_of(near[i, 0], unit, lengths[i], error[i]), limit)


# Hashing ------------------------------------------------------------------------------------------

def gather(const double[:, ::1] Q, const double[:, ::1] X, const int64_t[:, ::1] keys,
           const int64_t[::1] starts, const int32_t[::1] members, const int32_t[::1] left_out,
           int32_t[::1] stamps, double[:, ::1] near, int32_t[:, ::1] rows, int64_t[::1] counts,
           const int32_t[::1] stop):
    """Offer the rows in the buckets keys[i] to the nearest rows of query i, each row once.

    Bucket b holds members[starts[b]:starts[b + 1]]. `stamps` (n,) starts as -1; left_out[i] is a row
    that query i must not find, or -1. counts[i] becomes the number of computed distances.
    """
    cdef Py_ssize_t i, j, f, d = Q.shape[1], k = near.shape[1]
    cdef int64_t t
    cdef int32_t row
    cdef double total, gap
    with nogil:
        for i in range(Q.shape[0]):
            if stop[0]:
                break
            if left_out[i] >= 0:
                stamps[left_out[i]] = <int32_t> i
            for j in range(keys.shape[1]):
                for t in range(starts[keys[i, j]], starts[keys[i, j] + 1]):
                    row = members[t]
                    if stamps[row] == i:
                        continue
                    stamps[row] = <int32_t> i
                    counts[i] += 1
                    total = 0.0
                    for f in range(d):
                        gap = Q[i, f] - X[row, f]
                        total += gap * gap
                    offer(&near[i, 0], &rows[i, 0], k, total, row)
