"""Gradients and curvatures of the common losses: blocks of rows, one block per task."""

from libc.math cimport exp, log
from libc.stdint cimport int32_t, int64_t

from pellucid.tree._leaf_sums cimport HALF, LIMBS

cdef extern from *:
    """
    #define SMALL 0.0009765625
    """
    const double SMALL          # log(1 + x) of smaller numbers is their power series

cdef enum:
    FACTORS = 64                # of a product, each at most 2


def squared_gradients(const double[::1] y, const double[::1] raw, const double[::1] weights,
                      double[:, ::1] gradients, Py_ssize_t first, Py_ssize_t last):
    """Gradients of w (raw - y)^2 / 2 for rows [first, last), and the sum of the losses."""
    cdef double total = 0.0, r
    cdef Py_ssize_t i
    with nogil:
        for i in range(first, last):
            r = raw[i] - y[i]
            gradients[i, 0], gradients[i, 1] = weights[i] * r, weights[i]
            total += 0.5 * weights[i] * r * r
    return total


def logistic_gradients(const double[::1] y, const double[::1] raw, const double[::1] weights,
                       double[:, ::1] gradients, Py_ssize_t first, Py_ssize_t last):
    """Gradients of w (log(1 + exp(raw)) - y raw) for y in {0, 1}, and the sum of the losses.

    Logarithms of neighbours with equal weights are that of a product; where one is so small that its
    digits would be lost, a power series stands for it.
    """
    cdef double total = 0.0, product = 1.0, weight = 0.0, z, small, part
    cdef Py_ssize_t i, factors = 0
    with nogil:
        for i in range(first, last):
            z = raw[i]
            small = exp(-z if z > 0 else z)
            part = 1.0 / (1.0 + small)
            gradients[i, 0] = weights[i] * ((part if z >= 0 else small * part) - y[i])
            gradients[i, 1] = weights[i] * (small * part * part)
            total += weights[i] * ((z if z > 0 else 0.0) - y[i] * z)
            if small < SMALL:
                total += weights[i] * small * (1.0 - small * (0.5 - small * (1 / 3. - small * (
                    0.25 - small * (0.2 - small / 6.)))))
                continue
            if weights[i] != weight or factors == FACTORS:
                total += weight * log(product)
                weight, product, factors = weights[i], 1.0, 0
            product *= 1.0 + small
            factors += 1
        total += weight * log(product)
    return total


def softmax_gradients(const int32_t[::1] y, const double[:, ::1] raw, const double[::1] weights,
                      double[:, :, ::1] gradients, Py_ssize_t first, Py_ssize_t last):
    """Gradients of -w log p(y) with p = softmax(raw), raw (K, n), and the sum of the losses."""
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
                gradients[k, i, 0] = p
                scale += p
            total += weights[i] * (log(scale) - (raw[y[i], i] - top))
            scale = 1.0 / scale
            for k in range(K):
                p = gradients[k, i, 0] * scale
                gradients[k, i, 0] = weights[i] * (p - (1.0 if k == y[i] else 0.0))
                gradients[k, i, 1] = weights[i] * p * (1.0 - p)
    return total


def exact_sums(const double[::1] values, const int32_t[::1] codes, double up, double base,
               int64_t[:, ::1] limbs):
    """Add values, by code, to sums that have no order (`_leaf_sums`): (codes, LIMBS) integers. `up` makes
    them less than `base`."""
    cdef double rest, whole
    cdef Py_ssize_t i
    cdef int32_t code
    cdef int k
    with nogil:
        for i in range(values.shape[0]):
            code = codes[i] if codes.shape[0] else 0
            rest = values[i] * up
            for k in range(LIMBS):
                whole = (rest + HALF) - HALF
                limbs[code, k] += <int64_t> whole
                rest = (rest - whole) * base
