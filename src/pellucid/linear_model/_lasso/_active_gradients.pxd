"""Negative gradients g = c - Q b (`_active_set`): of all columns, of some, or at several points."""

from pellucid.linear_model._lasso._active_state cimport FEW, SPAN, Active
from pellucid.linear_model._lasso._vectors cimport add_four, add_one, add_two, dot, eight_dots


cdef inline void more_rows(Active *s) noexcept nogil:
    """Rows of -Q for all columns in use, while they are few: then R is not read every time."""
    cdef Py_ssize_t j
    cdef double *H
    cdef const double *G
    cdef const double *R
    while s.rows < s.K:
        H, G = s.H + s.rows * s.p, s.G + s.order[s.rows] * s.stride
        R = s.R + s.order[s.rows] * s.m
        for j in range(s.p):
            H[j] = dot(s.R + j * s.m, R, s.m) - G[j]
        s.rows += 1


cdef inline void gather(Active *s, double *f) noexcept nogil:
    """f = R'b."""
    cdef Py_ssize_t i
    cdef const Py_ssize_t *o = s.order
    for i in range(s.m):
        f[i] = 0.0
    i = 0
    while i + 4 <= s.K:
        add_four(
            f, s.R + o[i] * s.m, s.b[i], s.R + o[i + 1] * s.m, s.b[i + 1],
            s.R + o[i + 2] * s.m, s.b[i + 2], s.R + o[i + 3] * s.m, s.b[i + 3], s.m,
        )
        i += 4
    while i < s.K:
        add_one(f, s.R + o[i] * s.m, s.b[i], s.m)
        i += 1


cdef inline void gradients(Active *s) noexcept nogil:
    """g = c - Q b = c + R(R'b) - G b for all columns."""
    cdef Py_ssize_t i, p = s.p
    for i in range(p):
        s.g[i] = s.c[i]
    if s.K <= FEW:
        more_rows(s)
        for i in range(s.K):
            add_one(s.g, s.H + i * p, s.b[i], p)
        return
    gather(s, s.f)
    for i in range(p):
        s.g[i] += dot(s.R + i * s.m, s.f, s.m)
    for i in range(s.K):
        add_one(s.g, s.G + s.order[i] * s.stride, -s.b[i], p)


cdef inline void near_gradients(Active *s, const double *b) noexcept nogil:
    """The same for the columns in `near` only; b has an entry for each column."""
    cdef Py_ssize_t i, j
    gather(s, s.f)
    for i in range(s.n_near):
        j = s.near[i]
        s.g[j] = s.c[j] + dot(s.R + j * s.m, s.f, s.m) - dot(s.G + j * s.stride, b, s.p)


cdef inline void survey(Active *s, const double *B, Py_ssize_t n) noexcept nogil:
    """Y[k] = c - Q B[k] for up to SPAN points: what is read serves all of them."""
    cdef Py_ssize_t i, j, k, p = s.p, m = s.m, last = -1
    cdef double *y[SPAN]
    cdef double *f[SPAN]
    cdef double a[SPAN]
    cdef double d[SPAN]
    cdef const double *b[SPAN]
    for k in range(SPAN):
        y[k], f[k], b[k] = s.Y + k * p, s.f + k * m, B + min(k, n - 1) * p
        for j in range(p):
            y[k][j] = s.c[j]
        for i in range(m):
            f[k][i] = 0.0
    for j in range(p):
        for k in range(n):
            if b[k][j] != 0.0:
                break
        else:
            continue
        if last < 0:
            last = j
            continue
        for k in range(SPAN):
            a[k], d[k] = b[k][last], b[k][j]
        add_two(f, s.R + last * m, a, s.R + j * m, d, m)
        for k in range(SPAN):
            a[k], d[k] = -a[k], -d[k]
        add_two(y, s.G + last * s.stride, a, s.G + j * s.stride, d, p)
        last = -1
    if last >= 0:
        for k in range(SPAN):
            add_one(f[k], s.R + last * m, b[k][last], m)
            add_one(y[k], s.G + last * s.stride, -b[k][last], p)
    for j in range(0, p, 2):
        i = min(j + 1, p - 1)
        eight_dots(s.R + j * m, s.R + i * m, f, m, a, d)
        for k in range(n):
            y[k][j] += a[k]
            if i > j:
                y[k][i] += d[k]
