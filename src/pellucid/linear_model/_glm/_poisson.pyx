"""Loss and gradient of a Poisson model with the log link, in one visit; rows scaled for curvature.

Layout: X is (n, p), C-contiguous; b is (p + 1,), the intercept last; eta, y, w are (n,). `offset` may
be empty. Rows are taken STRIP at a time, so that they are read once and sums stay short.
"""

from libc.math cimport exp, log

import numpy as np

ctypedef fused real:
    float
    double

cdef enum:
    STRIP = 128


cdef inline double dot(const double *x, const double *y, Py_ssize_t n) noexcept nogil:
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0, rest = 0
    cdef Py_ssize_t i, whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += x[i] * y[i]
        s1 += x[i + 1] * y[i + 1]
        s2 += x[i + 2] * y[i + 2]
        s3 += x[i + 3] * y[i + 3]
    for i in range(whole, n):
        rest += x[i] * y[i]
    return ((s0 + s2) + (s1 + s3)) + rest


cdef void add_rows(
    const double *X, const double *weighted, double *g, Py_ssize_t n, Py_ssize_t p
) noexcept nogil:
    """g += X'weighted, four rows at a time."""
    cdef Py_ssize_t i = 0, j
    while i + 4 <= n:
        for j in range(p):
            g[j] += (weighted[i] * X[j] + weighted[i + 1] * X[p + j]) + (
                weighted[i + 2] * X[2 * p + j] + weighted[i + 3] * X[3 * p + j]
            )
        X += 4 * p
        i += 4
    while i < n:
        for j in range(p):
            g[j] += weighted[i] * X[j]
        X += p
        i += 1


def logarithms(const double[:] y):
    """log y by the function that `visit` uses; 0 where y is not positive."""
    cdef Py_ssize_t i, n = y.shape[0]
    cdef double[::1] out = np.zeros(n)
    with nogil:
        for i in range(n):
            if y[i] > 0.0:
                out[i] = log(y[i])
    return np.asarray(out)


def visit(
    const double[:, ::1] X, const double[:] y, const double[:] logs, const double[:] w,
    const double[:] offset, const double[::1] b, double[::1] eta, double[::1] g,
):
    """Sum of w times half the deviance; eta and the gradient g (p + 1,) are written.

    `logs` are the `logarithms` of y, if they are known.
    """
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], i, j, first, rows
    cdef bint shifted = offset.shape[0] > 0, known = logs.shape[0] > 0
    cdef double total = 0.0, loss, mu, residual, all_residuals
    cdef double weighted[STRIP]
    cdef double[::1] part = np.empty(p + 1)
    with nogil:
        g[:] = 0.0
        for first in range(0, n, 128):
            rows = min(STRIP, n - first)
            loss = 0.0
            all_residuals = 0.0
            for j in range(rows):
                i = first + j
                eta[i] = dot(&X[i, 0], &b[0], p) + b[p]
                if shifted:
                    eta[i] += offset[i]
            for j in range(rows):
                i = first + j
                mu = exp(eta[i])
                residual = mu - y[i]
                loss += w[i] * residual
                if y[i] > 0.0:
                    loss += w[i] * y[i] * ((logs[i] if known else log(y[i])) - eta[i])
                weighted[j] = w[i] * residual
                all_residuals += weighted[j]
            part[:] = 0.0
            add_rows(&X[first, 0], weighted, &part[0], rows, p)
            for j in range(p):
                g[j] += part[j]
            g[p] += all_residuals
            total += loss
    return total


def weigh(const double[:, ::1] X, const double[::1] root, bint intercept, real[:, ::1] A):
    """A = root_i [x_i, 1], rounded to the digits of A; what A is wider by is left alone."""
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], i, j
    with nogil:
        for i in range(n):
            for j in range(p):
                A[i, j] = <real> (root[i] * X[i, j])
            A[i, p] = <real> (root[i] * intercept)
