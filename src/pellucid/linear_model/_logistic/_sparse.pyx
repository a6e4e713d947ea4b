"""Logistic regression on a CSR table: every row is read once for its scores and its gradient.

Row i is data[indptr[i]:indptr[i + 1]] in the columns `indices`. Coefficients B and gradients G are
(p + 1, q), class by class beside each other, the intercepts last; class 0 has score 0. Reading the rows
from memory takes most of the time, so that one visit is almost twice as fast as two products.
"""

from libc.math cimport exp, fabs, log, log1p
from libc.stdint cimport int32_t, int64_t

from pellucid.linear_model._logistic._probabilities cimport row_probabilities

cdef enum:
    MOST = 3  # classes beside class 0; the compiler unrolls loops over known numbers of them


cdef inline void scores(const double *x, const int32_t *where, Py_ssize_t m, const double *B,
                        const double *b, double *z, Py_ssize_t q) noexcept nogil:
    """z = b + x B; several sums side by side, because additions to one number wait for each other."""
    cdef Py_ssize_t j = 0, k
    cdef double a, c, d, e
    cdef const double *row
    if q == 1:
        a, c, d, e = 0.0, 0.0, 0.0, 0.0
        while j + 4 <= m:
            a += x[j] * B[where[j]]
            c += x[j + 1] * B[where[j + 1]]
            d += x[j + 2] * B[where[j + 2]]
            e += x[j + 3] * B[where[j + 3]]
            j += 4
        while j < m:
            a += x[j] * B[where[j]]
            j += 1
        z[0] = b[0] + ((a + c) + (d + e))
        return
    for k in range(q):
        z[k] = b[k]
    for j in range(m):
        row = B + where[j] * q
        for k in range(q):
            z[k] += x[j] * row[k]


cdef inline void scatter(const double *x, const int32_t *where, Py_ssize_t m, const double *r,
                         double *G, double *g, Py_ssize_t q) noexcept nogil:
    """G += x'r, and r to the row of the intercepts."""
    cdef Py_ssize_t j, k
    cdef double *row
    for j in range(m):
        row = G + where[j] * q
        for k in range(q):
            row[k] += x[j] * r[k]
    for k in range(q):
        g[k] += r[k]


cdef inline double residuals(double *z, int y, double w, double *r, Py_ssize_t q,
                             double *product) noexcept nogil:
    """Scores become probabilities, r the gradient by them: the loss, but for log(product)."""
    cdef Py_ssize_t k
    cdef double e, t, low, loss, own = 0.0, others = 0.0
    if q > 1:
        loss = row_probabilities(z, q, y, True, &own, &others, &t)
        for k in range(q):
            r[k] = w * z[k]
        if y > 0:
            r[y - 1] = -w * others
        return w * (loss + log1p(t))
    e = exp(-fabs(z[0]))
    t = 1.0 / (1.0 + e)
    low = e * t
    loss = fabs(z[0]) if (z[0] > 0.0) != (y == 1) else 0.0
    if w != 1.0 or e < 1e-6:  # 1 + e would lose a tiny e
        loss += log1p(e)
    else:
        product[0] *= 1.0 + e
    z[0], low = (t, low) if z[0] > 0.0 else (low, t)
    r[0] = -w * low if y == 1 else w * z[0]
    return w * loss


cdef inline double visit_rows(const double *data, const int32_t *indices, const int64_t *indptr,
                              const int *y, const double *w, const double *B, double *P, double *G,
                              Py_ssize_t n, Py_ssize_t p, Py_ssize_t q) noexcept nogil:
    cdef Py_ssize_t i, k
    cdef int64_t first, m
    cdef double loss = 0.0, product = 1.0
    cdef double z[MOST]
    cdef double r[MOST]
    for i in range(n):
        first, m = indptr[i], indptr[i + 1] - indptr[i]
        scores(data + first, indices + first, m, B, B + p * q, z, q)
        loss += residuals(z, y[i], w[i], r, q, &product)
        for k in range(q):
            P[i * q + k] = z[k]
        if product > 1e200:
            loss += log(product)
            product = 1.0
        scatter(data + first, indices + first, m, r, G, G + p * q, q)
    return loss + log(product)


cdef inline void bend_rows(const double *data, const int32_t *indices, const int64_t *indptr,
                           const double *w, const double *P, const double *V, double *G,
                           Py_ssize_t n, Py_ssize_t p, Py_ssize_t q) noexcept nogil:
    cdef Py_ssize_t i, k
    cdef int64_t first, m
    cdef double mean
    cdef double r[MOST]
    for i in range(n):
        first, m = indptr[i], indptr[i + 1] - indptr[i]
        scores(data + first, indices + first, m, V, V + p * q, r, q)
        mean = 0.0
        for k in range(q):
            mean += P[i * q + k] * r[k]
        for k in range(q):
            r[k] = w[i] * P[i * q + k] * (r[k] - mean)
        scatter(data + first, indices + first, m, r, G, G + p * q, q)


def visit(const double[::1] data, const int32_t[::1] indices, const int64_t[::1] indptr,
          const int[::1] y, const double[::1] w, const double[:, ::1] B, double[:, ::1] P,
          double[:, ::1] G):
    """Sum of w times the loss; P becomes the probabilities, and the gradient is added to G."""
    cdef Py_ssize_t n = P.shape[0], p = B.shape[0] - 1, q = B.shape[1]
    cdef double loss = 0.0
    cdef const double *x = &data[0] if data.shape[0] else NULL
    cdef const int32_t *where = &indices[0] if indices.shape[0] else NULL
    if q > MOST:
        raise ValueError("too many classes")
    if not n:
        return 0.0
    with nogil:
        if q == 1:
            loss = visit_rows(x, where, &indptr[0], &y[0], &w[0], &B[0, 0], &P[0, 0], &G[0, 0], n, p, 1)
        elif q == 2:
            loss = visit_rows(x, where, &indptr[0], &y[0], &w[0], &B[0, 0], &P[0, 0], &G[0, 0], n, p, 2)
        else:
            loss = visit_rows(x, where, &indptr[0], &y[0], &w[0], &B[0, 0], &P[0, 0], &G[0, 0], n, p, 3)
    return loss


def bend(const double[::1] data, const int32_t[::1] indices, const int64_t[::1] indptr,
         const double[::1] w, const double[:, ::1] P, const double[:, ::1] V, double[:, ::1] G):
    """The product of the curvature at the probabilities P with V is added to G."""
    cdef Py_ssize_t n = P.shape[0], p = V.shape[0] - 1, q = V.shape[1]
    cdef const double *x = &data[0] if data.shape[0] else NULL
    cdef const int32_t *where = &indices[0] if indices.shape[0] else NULL
    if q > MOST:
        raise ValueError("too many classes")
    if not n:
        return
    with nogil:
        if q == 1:
            bend_rows(x, where, &indptr[0], &w[0], &P[0, 0], &V[0, 0], &G[0, 0], n, p, 1)
        elif q == 2:
            bend_rows(x, where, &indptr[0], &w[0], &P[0, 0], &V[0, 0], &G[0, 0], n, p, 2)
        else:
            bend_rows(x, where, &indptr[0], &w[0], &P[0, 0], &V[0, 0], &G[0, 0], n, p, 3)
