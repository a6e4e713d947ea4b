"""Loops of Gaussian mixtures: log densities of rows, and the E step with its moments.

Layout: `roots` is (K, p, p), lower triangular, with |root (x - mean)|**2 the squared distance, or
(K, 1, p) for diagonal ones; K = 1 if all components share one. Rows are processed in tiles (lanes.h).
"""

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc

cdef extern from "lanes.h":
    enum: TILE
    void squares(const double *d, Py_ssize_t p, const double *root, bint diagonal,
                 double *out) noexcept nogil
    void moments(const double *d, const double *r, Py_ssize_t p, bint diagonal, double *first,
                 double *second) noexcept nogil
    bint choose_wide(bint wide) noexcept nogil


def use_wide(bint wide):
    """Choose the AVX2 build of the inner loops, where the processor has it, or the plain one."""
    return choose_wide(wide)


use_wide(True)


cdef struct Model:
    Py_ssize_t K
    Py_ssize_t p
    const double *means
    const double *roots
    Py_ssize_t step  # from one root to the next; 0 if they share one
    const double *logs
    bint diagonal


cdef Model model_of(const double[:, ::1] means, const double[:, :, ::1] roots,
                    const double[::1] logs) noexcept:
    cdef Model model
    model.K, model.p = means.shape[0], means.shape[1]
    model.means, model.roots, model.logs = &means[0, 0], &roots[0, 0, 0], &logs[0]
    model.step = roots.shape[1] * roots.shape[2] if roots.shape[0] == means.shape[0] else 0
    model.diagonal = roots.shape[1] == 1 and means.shape[1] > 1 or roots.shape[2] == 1
    return model


cdef void centre(const double *X, Py_ssize_t rows, Py_ssize_t p, const double *mean,
                 double *d) noexcept nogil:
    """Columns of a tile minus the mean; rows beyond the end of the table are 0."""
    cdef Py_ssize_t i, r
    for r in range(rows):
        for i in range(p):
            d[i * TILE + r] = X[r * p + i] - mean[i]
    for r in range(rows, TILE):
        for i in range(p):
            d[i * TILE + r] = 0.0


def joint(const double[:, ::1] X, const double[:, ::1] means, const double[:, :, ::1] roots,
          const double[::1] logs, double[:, ::1] out):
    """out[i, k] = logs[k] - |root_k (x_i - mean_k)|**2 / 2."""
    cdef Model m = model_of(means, roots, logs)
    cdef Py_ssize_t n = X.shape[0], start = 0, k, r, rows
    cdef double *d = <double *> malloc((m.p + 1) * TILE * sizeof(double))
    cdef double *q = d + m.p * TILE
    if d == NULL:
        raise MemoryError
    with nogil:
        while start < n:
            rows = min(n - start, <Py_ssize_t> TILE)
            for k in range(m.K):
                centre(&X[start, 0], rows, m.p, m.means + k * m.p, d)
                squares(d, m.p, m.roots + k * m.step, m.diagonal, q)
                for r in range(rows):
                    out[start + r, k] = m.logs[k] - 0.5 * q[r]
            start += TILE
    free(d)


cdef double shares(double *tile, Py_ssize_t K, Py_ssize_t rows, const double *w) noexcept nogil:
    """Turn joint log densities (K, TILE) into weighted responsibilities; returns the log likelihood."""
    cdef Py_ssize_t k, r
    cdef double top, total, bound = 0.0
    for r in range(rows):
        top = -INFINITY
        for k in range(K):
            if tile[k * TILE + r] > top:
                top = tile[k * TILE + r]
        if top == -INFINITY:
            top = 0.0
        total = 0.0
        for k in range(K):
            tile[k * TILE + r] = exp(tile[k * TILE + r] - top)
            total += tile[k * TILE + r]
        bound += w[r] * (top + log(total))
        for k in range(K):
            tile[k * TILE + r] = w[r] * (tile[k * TILE + r] / total) if total > 0.0 else 0.0
    for k in range(K):
        for r in range(rows, TILE):
            tile[k * TILE + r] = 0.0
    return bound


def expect(const double[:, ::1] X, const double[::1] w, const double[:, ::1] means,
           const double[:, :, ::1] roots, const double[::1] logs, double[::1] mass,
           double[:, ::1] first, double[:, :, ::1] second, const int32_t[::1] stop):
    """One E step: moments of the rows about the means, weighted by the responsibilities.

    1. Joint log densities of a tile of rows and every component.
    2. Responsibilities r of the components for each row, and the log likelihood, which is returned.
    3. mass += sum w r; first += sum w r d; second += sum w r d d' (lower triangles), d = x - mean.
    """
    cdef Model m = model_of(means, roots, logs)
    cdef Py_ssize_t n = X.shape[0], start = 0, k, r, rows, size = m.p * TILE
    cdef Py_ssize_t step = second.shape[1] * second.shape[2] if second.shape[0] == m.K else 0
    cdef double bound = 0.0, total
    cdef double *d = <double *> malloc(m.K * (size + TILE) * sizeof(double))
    cdef double *tile = d + m.K * size
    if d == NULL:
        raise MemoryError
    with nogil:
        while start < n and not stop[0]:
            rows = min(n - start, <Py_ssize_t> TILE)
            for k in range(m.K):  # 1
                centre(&X[start, 0], rows, m.p, m.means + k * m.p, d + k * size)
                squares(d + k * size, m.p, m.roots + k * m.step, m.diagonal, tile + k * TILE)
                for r in range(rows):
                    tile[k * TILE + r] = m.logs[k] - 0.5 * tile[k * TILE + r]
            bound += shares(tile, m.K, rows, &w[start])  # 2
            for k in range(m.K):  # 3
                total = 0.0
                for r in range(rows):
                    total += tile[k * TILE + r]
                mass[k] += total
                if total > 0.0:
                    moments(d + k * size, tile + k * TILE, m.p, m.diagonal, &first[k, 0],
                            &second[0, 0, 0] + k * step)
            start += TILE
    free(d)
    return bound
