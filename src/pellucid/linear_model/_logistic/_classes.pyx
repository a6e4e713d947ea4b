"""The likelihood of classes in one pass over a dense table: loss, gradient, parts of the curvature.

Layout: each row of X (n, p) is contiguous, but consecutive rows may lie apart; coefficients B are
(q, p + 1), the intercept last; class 0 is the reference with score 0; probabilities P are (n, q); y
are int32 class codes. Rows are processed in strips, so that each is read once and sums stay short.
"""

from libc.math cimport log, log1p, sqrt
from libc.string cimport memset

import numpy as np

cdef extern from "classes.h":
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
    void row_probabilities(
        double *z, const double *y, const double *w, Py_ssize_t rows, Py_ssize_t q, double *r,
        double *mine, double *rest,
    ) noexcept nogil

ctypedef fused real:
    float
    double


cdef Py_ssize_t spacing(const double[:, :] X) except -1:
    """Distance between the starts of consecutive rows, in numbers."""
    if X.shape[1] > 1 and X.strides[1] != sizeof(double):
        raise ValueError("each row must be contiguous")
    return X.strides[0] // <Py_ssize_t> sizeof(double)


cdef double strip_loss(
    const double *w, const double *mine, const double *rest, Py_ssize_t rows
) noexcept nogil:
    """Sum of w (mine + log(1 + rest)), with one logarithm of a product for many rows.

    Rows with a tiny rest, which 1 + rest would lose, and rows whose weight is not 1 are added one by
    one.
    """
    cdef Py_ssize_t i
    cdef double loss = 0.0, product = 1.0
    for i in range(rows):
        loss += w[i] * mine[i]
        if w[i] == 1.0 and rest[i] > 1e-6:
            product *= 1.0 + rest[i]
            if product > 1e200:
                loss += log(product)
                product = 1.0
        else:
            loss += w[i] * log1p(rest[i])
    return loss + log(product)


def visit(
    const double[:, :] X, const int[::1] y, const double[::1] w, const double[:, ::1] B,
    double[:, ::1] P, double[:, ::1] G,
):
    """Return the sum of w times the loss; write probabilities P and the gradient G (q, p + 1)."""
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1], q = B.shape[0], i, k, first = 0, rows
    cdef Py_ssize_t apart = spacing(X)
    cdef double total = 0.0
    cdef double[:, ::1] z = np.zeros((q, STRIP)), r = np.zeros((q, STRIP)), part = np.empty((q, p + 1))
    cdef double own[STRIP]
    cdef double weight[STRIP]
    cdef double mine[STRIP]
    cdef double rest[STRIP]
    with nogil:
        G[:, :] = 0.0
        while first < n:
            rows = min(<Py_ssize_t> STRIP, n - first)
            memset(own, 0, sizeof(own))
            memset(weight, 0, sizeof(weight))
            for i in range(rows):
                own[i] = y[first + i]
                weight[i] = w[first + i]
            scores(&X[first, 0], apart, rows, p, &B[0, 0], q, &z[0, 0])
            row_probabilities(&z[0, 0], own, weight, rows, q, &r[0, 0], mine, rest)
            total += strip_loss(weight, mine, rest, rows)
            for i in range(rows):
                for k in range(q):
                    P[first + i, k] = z[k, i]
            part[:, :] = 0.0
            add_gradients(&X[first, 0], apart, rows, p, &r[0, 0], q, &part[0, 0])
            for k in range(q):
                for i in range(p + 1):
                    G[k, i] += part[k, i]
            first += STRIP
    return total


def weigh(
    const double[:, :] X, const double[::1] w, const double[:, ::1] P, Py_ssize_t k, Py_ssize_t l,
    bint intercept, real[:, ::1] out,
):
    """out = (X, 1), each row times the square root of the curvature of its loss by the scores of
    classes k and l."""
    cdef Py_ssize_t i, j, p = X.shape[1]
    cdef double root
    spacing(X)
    cdef real *to
    cdef const double *x
    with nogil:
        for i in range(X.shape[0]):
            root = sqrt(w[i] * P[i, k] * ((1.0 - P[i, k]) if k == l else P[i, l]))
            to = &out[i, 0]
            x = &X[i, 0]
            for j in range(p):
                to[j] = <real> (x[j] * root)
            to[p] = <real> root if intercept else 0
