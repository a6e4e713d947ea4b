"""Loss and gradient of a Poisson model with the log link, in one visit; rows scaled for curvature.

Layout: X is (n, p), C-contiguous; b is (p + 1,), the intercept last; eta, y, w are (n,). `offset` may
be empty. Rows are processed in strips, so that they are read once and sums stay short.
"""

from libc.string cimport memcpy, memset

import numpy as np

cdef extern from "counts.h":
    enum:
        STRIP
    void scores(
        const double *X, Py_ssize_t apart, Py_ssize_t rows, Py_ssize_t p, const double *B,
        Py_ssize_t q, double *z,
    ) noexcept nogil
    void add_gradients(
        const double *X, Py_ssize_t apart, Py_ssize_t rows, Py_ssize_t p, const double *r,
        Py_ssize_t q, double *G,
    ) noexcept nogil
    double count_losses(
        double *z, const double *y, const double *logs, const double *w
    ) noexcept nogil

ctypedef fused real:
    float
    double


cdef inline const double *strip(const double *x, Py_ssize_t rows, double *room) noexcept nogil:
    """The numbers of a strip, followed by zeros if it is not whole."""
    if rows == STRIP:
        return x
    memset(room, 0, STRIP * sizeof(double))
    memcpy(room, x, rows * sizeof(double))
    return room


def visit(
    const double[:, ::1] X, const double[::1] y, const double[::1] logs, const double[::1] w,
    const double[::1] offset, const double[::1] b, double[::1] eta, double[::1] g,
):
    """Sum of w times half the deviance; eta and the gradient g (p + 1,) are written.

    `logs` are the logarithms of y; where y is 0 any number serves.
    """
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], first = 0, rows, j
    cdef bint shifted = offset.shape[0] > 0
    cdef double total = 0.0
    cdef double z[STRIP]
    cdef double own[STRIP]
    cdef double own_logs[STRIP]
    cdef double weight[STRIP]
    cdef double[::1] part = np.empty(p + 1)
    with nogil:
        g[:] = 0.0
        while first < n:
            rows = min(<Py_ssize_t> STRIP, n - first)
            scores(&X[first, 0], p, rows, p, &b[0], 1, z)
            if shifted:
                for j in range(rows):
                    z[j] += offset[first + j]
            memcpy(&eta[first], z, rows * sizeof(double))
            for j in range(rows, STRIP):
                z[j] = 0.0
            total += count_losses(
                z, strip(&y[first], rows, own), strip(&logs[first], rows, own_logs),
                strip(&w[first], rows, weight),
            )
            part[:] = 0.0
            add_gradients(&X[first, 0], p, rows, p, z, 1, &part[0])
            for j in range(p + 1):
                g[j] += part[j]
            first += STRIP
    return total


def weigh(const double[:, ::1] X, const double[::1] root, bint intercept, real[:, ::1] A):
    """A = root_i [x_i, 1], rounded to the digits of A; what A is wider by is left alone."""
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], i, j
    with nogil:
        for i in range(n):
            for j in range(p):
                A[i, j] = <real> (root[i] * X[i, j])
            A[i, p] = <real> (root[i] * intercept)
