"""Sums of clusters, and what is computed from them: centres, their movements, distances between them.

Layouts: see `_loops`.
"""

from libc.math cimport INFINITY, sqrt

from pellucid.cluster._lanes cimport ULP, lanes, row_t


def merge(double[:, ::1] high, double[:, ::1] low, const double[:, ::1] part_high,
          const double[:, ::1] part_low):
    """Add one pair of sums to another."""
    cdef Py_ssize_t i, size = high.shape[0] * high.shape[1]
    cdef double *total = &low[0, 0]
    cdef const double *part = &part_low[0, 0]
    with nogil:
        lanes.add(&part_high[0, 0], 1.0, size, &high[0, 0], total)
        for i in range(size):
            total[i] += part[i]


def means(const double[:, ::1] high, const double[:, ::1] low, const double[:, ::1] old,
          double[:, ::1] C, double[::1] shift):
    """Centres from sums, rounded once, and their distance from the old ones, rounded up.

    A centre without weight is set to that of the heaviest cluster; the number of these is returned.
    """
    cdef Py_ssize_t j, f, d = C.shape[1], empty = 0, heaviest = 0
    cdef double squared, margin = 1.0 + (d + 8) * ULP
    with nogil:
        for j in range(C.shape[0]):
            if high[j, d] + low[j, d] > high[heaviest, d] + low[heaviest, d]:
                heaviest = j
        divide(&high[heaviest, 0], &low[heaviest, 0], d, &C[heaviest, 0])
        for j in range(C.shape[0]):
            if high[j, d] + low[j, d] > 0.0:
                divide(&high[j, 0], &low[j, 0], d, &C[j, 0])
            else:
                empty += 1
                for f in range(d):
                    C[j, f] = C[heaviest, f]
            squared = 0.0
            for f in range(d):
                squared += (C[j, f] - old[j, f]) * (C[j, f] - old[j, f])
            shift[j] = sqrt(squared) * margin
    return empty


cdef void divide(const double *high, const double *low, Py_ssize_t d, double *out) noexcept nogil:
    """One row of sums by its weight, the last entry."""
    cdef Py_ssize_t f
    cdef double quotient, rest[2]
    for f in range(d):
        quotient = high[f] / high[d]
        rest[0] = high[f]
        rest[1] = low[f] - quotient * low[d]
        lanes.add(&quotient, -high[d], 1, &rest[0], &rest[1])
        out[f] = quotient + (rest[0] + rest[1]) / high[d]


def reach(const double[::1] shift, double[::1] way, double[::1] travel, double[::1] drift):
    """Add the last movement of the centres to their totals, rounded up.

    `way` adds the movement of the centre itself, `travel` that and the largest movement of any other
    centre; `drift` is the largest movement in each panel.
    """
    cdef Py_ssize_t j, longest = 0
    cdef double second = 0.0, far
    with nogil:
        for j in range(shift.shape[0]):
            if shift[j] > shift[longest]:
                longest = j
        for j in range(shift.shape[0]):
            if j != longest and shift[j] > second:
                second = shift[j]
        for j in range(shift.shape[0]):
            far = second if j == longest else shift[longest]
            way[j] = (way[j] + shift[j]) * (1.0 + 4.0 * ULP)
            travel[j] = (travel[j] + shift[j] + far) * (1.0 + 4.0 * ULP)
        for j in range(4 * drift.shape[0]):
            if j & 3 == 0:
                drift[j >> 2] = 0.0
            if j < shift.shape[0] and shift[j] > drift[j >> 2]:
                drift[j >> 2] = shift[j]


def half_distances(const double[:, ::1] C, const double[:, :, ::1] panels, double[::1] half):
    """Half the distance of each centre to the nearest other one, rounded down."""
    cdef Py_ssize_t i, j, p, k = C.shape[0], d = C.shape[1]
    cdef row_t rows[4]
    cdef double block[16]
    cdef double margin = 0.5 - (d + 8) * ULP
    cdef int r, l
    with nogil:
        for i in range(k):
            half[i] = INFINITY
        for i in range(0, k, 4):
            for r in range(4):
                rows[r] = &C[i + r if i + r < k else i, 0]
            for p in range(panels.shape[0]):
                lanes.panel(rows, &panels[p, 0, 0], d, block)
                for r in range(min(4, k - i)):
                    for l in range(4):
                        if 4 * p + l != i + r and block[4 * r + l] < half[i + r]:
                            half[i + r] = block[4 * r + l]
        for i in range(k):
            half[i] = sqrt(half[i]) * margin


def explained(const double[:, ::1] C, const double[:, ::1] high, const double[:, ::1] low):
    """sum_j (2 c_j . S_j - W_j |c_j|**2) as (high, low): what the centres take off sum w |x|**2."""
    cdef Py_ssize_t j, f, d = C.shape[1]
    cdef double c, total[2], square[2]
    total[0] = total[1] = 0.0
    with nogil:
        for j in range(C.shape[0]):
            for f in range(d):
                c = C[j, f]
                square[0] = square[1] = 0.0
                lanes.add(&c, c, 1, &square[0], &square[1])
                lanes.add(&high[j, f], 2.0 * c, 1, &total[0], &total[1])
                lanes.add(&square[0], -high[j, d], 1, &total[0], &total[1])
                total[1] += (2.0 * c * low[j, f] - high[j, d] * square[1]) - low[j, d] * square[0]
    return total[0], total[1]
