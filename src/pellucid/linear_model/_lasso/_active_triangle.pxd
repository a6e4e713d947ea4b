"""The triangle L of the columns in use (`_active_set`): columns enter and leave, and are solved for."""

from libc.math cimport INFINITY, sqrt

from pellucid.linear_model._lasso._active_state cimport Active, keep_near
from pellucid.linear_model._lasso._vectors cimport add_four, add_one, dot, eliminate

cdef extern from *:
    """
    #define PIVOT 1e-10  /* share of a column that must be new for it to enter */
    """
    const double PIVOT


cdef inline double *row(Active *s, Py_ssize_t i) noexcept nogil:
    """Row i of L."""
    return s.L + i * (i + 1) // 2


cdef inline bint enter(Active *s, const Py_ssize_t *columns, Py_ssize_t n) noexcept nogil:
    """Columns join with coefficient 0, but for those that the others span.

    Their rows of L are found together, as far as the columns in use reach.
    """
    cdef Py_ssize_t i, q, K = s.K, m = s.m, V = (n + 3) // 4
    cdef const double *G
    cdef const double *R
    for q in range(4 * V):
        R, G = s.R + columns[min(q, n - 1)] * m, s.G + columns[min(q, n - 1)] * s.stride
        for i in range(m):
            s.N[i * 4 * V + q] = R[i]
        for i in range(K):
            s.W[i * 4 * V + q] = G[s.order[i]]
    eliminate(V, s.L, s.R, s.order, K, m, s.N, s.W)
    for q in range(n):
        take(s, columns[q], K, s.W + q, 4 * V)
    return s.K > K


cdef inline void take(
    Active *s, Py_ssize_t j, Py_ssize_t known, const double *new, Py_ssize_t step
) noexcept nogil:
    """Column j joins, if it is not spanned; `known` entries of its row of L are there."""
    cdef Py_ssize_t i, K = s.K, m = s.m
    cdef const double *products = s.G + j * s.stride
    cdef const double *own = s.R + j * m
    cdef double *L = row(s, K)
    cdef double d, size
    for i in range(known):
        L[i] = new[i * step]
    for i in range(known, K):
        d = products[s.order[i]] - dot(own, s.R + s.order[i] * m, m) - dot(row(s, i), L, i)
        L[i] = d / row(s, i)[i]
    size = products[j] - dot(own, own, m)
    d = size - dot(L, L, K)
    if not d > PIVOT * size:
        return
    L[K] = sqrt(d)
    s.order[K], s.place[j], s.b[K] = j, K, 0.0
    s.sign[K] = 1.0 if s.g[j] > 0.0 else -1.0
    s.u[K] = (s.c[j] - dot(L, s.u, K)) / L[K]
    s.v[K] = (s.sign[K] - dot(L, s.v, K)) / L[K]
    s.K = K + 1


cdef inline void rotate(
    Active *s, Py_ssize_t k, const double *old, double *new, double *left
) noexcept nogil:
    """The rotation of entries k and k + 1 that the leaving column made; `left` goes on with it."""
    cdef double right = old[k + 1]
    new[k] = s.cosine[k] * left[0] + s.sine[k] * right
    left[0] = s.cosine[k] * right - s.sine[k] * left[0]


cdef inline void leave(Active *s, Py_ssize_t j) noexcept nogil:
    """The j-th column in use goes: rotations make L triangular again. Four rows share them."""
    cdef Py_ssize_t i, k, r, n, K = s.K
    cdef double left[4]
    cdef double size
    cdef double *old[4]
    cdef double *new[4]
    i = j + 1
    while i < K:
        n = min(4, K - i)
        for r in range(4):
            old[r], new[r] = row(s, i + min(r, n - 1)), row(s, i - 1 + min(r, n - 1))
        for r in range(n):
            left[r] = old[r][j]
            for k in range(j):
                new[r][k] = old[r][k]
        if n == 4:
            for k in range(j, i - 1):
                rotate(s, k, old[0], new[0], &left[0])
                rotate(s, k, old[1], new[1], &left[1])
                rotate(s, k, old[2], new[2], &left[2])
                rotate(s, k, old[3], new[3], &left[3])
        else:
            for r in range(n):
                for k in range(j, i - 1):
                    rotate(s, k, old[r], new[r], &left[r])
        for r in range(n):
            for k in range(i - 1, i - 1 + r):
                rotate(s, k, old[r], new[r], &left[r])
            size = old[r][i + r]
            size = sqrt(left[r] * left[r] + size * size)
            s.cosine[i - 1 + r], s.sine[i - 1 + r] = left[r] / size, old[r][i + r] / size
            new[r][i - 1 + r] = size
        i += n
    left[0], left[1] = s.u[j], s.v[j]
    for k in range(j, K - 1):
        rotate(s, k, s.u, s.u, &left[0])
        rotate(s, k, s.v, s.v, &left[1])
    if j < s.rows:
        for i in range(j * s.p, (s.rows - 1) * s.p):
            s.H[i] = s.H[i + s.p]
        s.rows -= 1
    s.place[s.order[j]] = -1
    for i in range(j + 1, K):
        s.order[i - 1] = s.order[i]
        s.place[s.order[i]] = i - 1
        s.sign[i - 1] = s.sign[i]
        s.b[i - 1] = s.b[i]
    s.K = K - 1


cdef inline bint exchange(Active *s, Py_ssize_t j) noexcept nogil:
    """Column j, spanned by those in use, comes in for the first of them that reaches 0 on its way.

    While j takes over what the others fit, the fit stays as it is, and the penalty falls.
    """
    cdef Py_ssize_t i, first = -1, K = s.K
    cdef double t = INFINITY, up = 1.0 if s.g[j] > 0.0 else -1.0
    take(s, j, 0, NULL, 0)
    if s.K > K:
        return True
    for i in range(K):
        s.x[i] = -up * row(s, K)[i]
    solve_transposed(s)
    for i in range(K):
        if s.x[i] * s.b[i] < 0.0 and -s.b[i] / s.x[i] < t:
            first, t = i, -s.b[i] / s.x[i]
    if first < 0:
        return False
    for i in range(K):
        s.b[i] += t * s.x[i]
    keep_near(s, s.order[first])
    leave(s, first)
    take(s, j, 0, NULL, 0)
    if s.K < K:
        return False
    s.b[K - 1] = t * up
    return True


cdef inline void solve(Active *s, double l1) noexcept nogil:
    """x = Q^-1 (c - l1 sign) for the columns in use."""
    cdef Py_ssize_t i
    for i in range(s.K):
        s.x[i] = s.u[i] - l1 * s.v[i]
    solve_transposed(s)


cdef inline void solve_transposed(Active *s) noexcept nogil:
    """x becomes L'^-1 x."""
    cdef Py_ssize_t i = s.K, k
    cdef double *x = s.x
    while i >= 4:
        for k in range(i - 1, i - 5, -1):
            x[k] /= row(s, k)[k]
            add_one(x + i - 4, row(s, k) + i - 4, -x[k], k - i + 4)
        i -= 4
        add_four(
            x, row(s, i), -x[i], row(s, i + 1), -x[i + 1], row(s, i + 2), -x[i + 2],
            row(s, i + 3), -x[i + 3], i,
        )
    for k in range(i - 1, -1, -1):
        x[k] /= row(s, k)[k]
        add_one(x, row(s, k), -x[k], k)
