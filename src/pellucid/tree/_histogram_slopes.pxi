"""Slopes of the common losses, and bins of values: blocks of rows, one block per task."""

from libc.math cimport exp, log, log1p


def squared_slopes(const double[::1] y, const double[::1] raw, const double[::1] weights,
                   double[:, ::1] slopes, Py_ssize_t first, Py_ssize_t last):
    """Slopes of w (raw - y)^2 / 2 for rows [first, last), and the sum of the losses."""
    cdef double total = 0.0, r
    cdef Py_ssize_t i
    with nogil:
        for i in range(first, last):
            r = raw[i] - y[i]
            slopes[i, 0], slopes[i, 1] = weights[i] * r, weights[i]
            total += 0.5 * weights[i] * r * r
    return total


def logistic_slopes(const double[::1] y, const double[::1] raw, const double[::1] weights,
                    double[:, ::1] slopes, Py_ssize_t first, Py_ssize_t last):
    """Slopes of w (log(1 + exp(raw)) - y raw) for y in {0, 1}, and the sum of the losses."""
    cdef double total = 0.0, z, small, p
    cdef Py_ssize_t i
    with nogil:
        for i in range(first, last):
            z = raw[i]
            small = exp(-z if z > 0 else z)
            p = (1.0 if z >= 0 else small) / (1.0 + small)
            slopes[i, 0] = weights[i] * (p - y[i])
            slopes[i, 1] = weights[i] * (small / ((1.0 + small) * (1.0 + small)))
            total += weights[i] * ((z if z > 0 else 0.0) + log1p(small) - y[i] * z)
    return total


def softmax_slopes(const int32_t[::1] y, const double[:, ::1] raw, const double[::1] weights,
                   double[:, :, ::1] slopes, Py_ssize_t first, Py_ssize_t last):
    """Slopes of -w log p(y) with p = softmax(raw), raw (K, n), and the sum of the losses."""
    cdef Py_ssize_t i, k, K = raw.shape[0]
    cdef double total = 0.0, top, p, scale
    with nogil:
        for i in range(first, last):
            top = raw[0, i]
            for k in range(1, K):
                top = max(top, raw[k, i])
            scale = 0.0
            for k in range(K):
                p = 1.0 if raw[k, i] == top else exp(raw[k, i] - top)
                slopes[k, i, 0] = p
                scale += p
            total += weights[i] * (log(scale) - (raw[y[i], i] - top))
            scale = 1.0 / scale
            for k in range(K):
                p = slopes[k, i, 0] * scale
                slopes[k, i, 0] = weights[i] * (p - (1.0 if k == y[i] else 0.0))
                slopes[k, i, 1] = weights[i] * p * (1.0 - p)
    return total


def number_bins(const double[::1] values, const double[::1] thresholds, uint8_t[:, ::1] cells,
                int place):
    """Bin of every value: how many thresholds lie below it; after the last bin if it is missing."""
    cdef Py_ssize_t i, n = values.shape[0]
    cdef int low, half, length, m = <int> thresholds.shape[0]
    cdef double v
    with nogil:
        for i in range(n):
            v = values[i]
            if isnan(v):
                cells[i, place] = <uint8_t> (m + 1)
                continue
            low, length = 0, m
            while length > 0:           # first threshold >= v
                half = length >> 1
                if thresholds[low + half] < v:
                    low += half + 1
                    length -= half + 1
                else:
                    length = half
            cells[i, place] = <uint8_t> low


def level_bins(const double[::1] codes, const uint8_t[::1] bin_of, int n_bins,
               uint8_t[:, ::1] cells, int place):
    """Bin of every level; after the last bin if it is missing."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(codes.shape[0]):
            if 0.0 <= codes[i] < bin_of.shape[0]:
                cells[i, place] = bin_of[<Py_ssize_t> codes[i]]
            else:
                cells[i, place] = <uint8_t> n_bins
