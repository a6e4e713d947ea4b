"""The lasso by active sets: minimise b'Qb/2 - c'b + l1 |b|_1 for falling l1, Q = G - T'T - dd'.

Layout: G is (p, p), symmetric, each row contiguous; T (m - 1, p) and d (p,), as the last row of T,
are rows whose products are taken off.
order[:K] are the columns in use, b and sign theirs, place their inverse (-1: not in use). S (K, m)
holds their columns of T, and L the L L' = Q of them: the lower triangle, row i with i + 1 entries;
u = L^-1 c and v = L^-1 sign.
"""

from libc.math cimport INFINITY, fabs, sqrt

import numpy as np

include "_vectors.pxi"

cdef enum:
    FEW = 16
    TOGETHER = 4

cdef double PIVOT = 1e-10  # share of a column that must be new for it to enter


cdef struct Active:
    Py_ssize_t p, m, K, stride
    const double *G
    const double *T
    const double *d
    const double *c
    Py_ssize_t *order
    Py_ssize_t *place
    double *b
    double *sign
    double *u
    double *v
    double *x
    double *g
    double *last
    double *before
    double *f
    double *S
    double *H
    double *L
    Py_ssize_t rows


cdef void less(Active *s, double *y) noexcept nogil:
    """y += T'f, f with an entry for each row of T and for d."""
    cdef Py_ssize_t i = 0, p = s.p
    cdef const double *T = s.T
    while i + 4 < s.m:
        add_four(
            y, T + i * p, s.f[i], T + (i + 1) * p, s.f[i + 1],
            T + (i + 2) * p, s.f[i + 2], T + (i + 3) * p, s.f[i + 3], p,
        )
        i += 4
    while i < s.m - 1:
        add_one(y, T + i * p, s.f[i], p)
        i += 1
    add_one(y, s.d, s.f[i], p)


cdef void more_rows(Active *s) noexcept nogil:
    """Rows of -Q for all columns in use, while they are few: then T is not read for every pull."""
    cdef Py_ssize_t i, j
    cdef double *H
    cdef const double *G
    while s.rows < s.K:
        H, G = s.H + s.rows * s.p, s.G + s.order[s.rows] * s.stride
        for j in range(s.p):
            H[j] = -G[j]
        for i in range(s.m):
            s.f[i] = s.S[s.rows * s.m + i]
        less(s, H)
        s.rows += 1


cdef void pulls(Active *s) noexcept nogil:
    """g = c - Q b = c + T'(T b) - G b."""
    cdef Py_ssize_t i, j, p = s.p
    cdef const Py_ssize_t *o = s.order
    cdef const double *G = s.G
    for j in range(p):
        s.g[j] = s.c[j]
    if s.K <= FEW:
        more_rows(s)
        for i in range(s.K):
            add_one(s.g, s.H + i * p, s.b[i], p)
        return
    for i in range(s.m):
        s.f[i] = 0.0
    for i in range(s.K):
        add_one(s.f, s.S + i * s.m, s.b[i], s.m)
    less(s, s.g)
    i = 0
    while i + 4 <= s.K:
        add_four(
            s.g, G + o[i] * s.stride, -s.b[i], G + o[i + 1] * s.stride, -s.b[i + 1],
            G + o[i + 2] * s.stride, -s.b[i + 2], G + o[i + 3] * s.stride, -s.b[i + 3], p,
        )
        i += 4
    while i < s.K:
        add_one(s.g, G + o[i] * s.stride, -s.b[i], p)
        i += 1


cdef inline double *row(Active *s, Py_ssize_t i) noexcept nogil:
    """Row i of L."""
    return s.L + i * (i + 1) // 2


cdef bint enter(Active *s, const Py_ssize_t *columns, Py_ssize_t n) noexcept nogil:
    """Up to four columns join with coefficient 0, but for those that the others span.

    Their rows of L are found together, as far as the columns in use reach, two entries at a time.
    """
    cdef Py_ssize_t i, k, q, K = s.K, m = s.m
    cdef double *own[TOGETHER]
    cdef double *new[TOGETHER]
    cdef double a[TOGETHER]
    cdef double b[TOGETHER]
    cdef double c[TOGETHER]
    cdef double d[TOGETHER]
    cdef const double *G
    cdef const double *L
    cdef const double *M
    for q in range(TOGETHER):
        k = min(q, n - 1)
        own[q], new[q] = s.S + (K + k) * m, row(s, K + k)
        for i in range(m - 1):
            own[q][i] = s.T[i * s.p + columns[k]]
        own[q][m - 1] = s.d[columns[k]]
        G = s.G + columns[k] * s.stride
        for i in range(K):
            new[q][i] = G[s.order[i]]
    for i in range(0, K, 2):
        k = min(i + 1, K - 1)
        L, M = row(s, i), row(s, k)
        eight_dots(s.S + i * m, s.S + k * m, own, m, a, b)
        eight_dots(L, M, new, i, c, d)
        for q in range(n):
            new[q][i] = (new[q][i] - a[q] - c[q]) / L[i]
            if k > i:
                new[q][k] = (new[q][k] - b[q] - (d[q] + M[i] * new[q][i])) / M[k]
    for q in range(n):
        take(s, columns[q], K, own[q], new[q])
    return s.K > K


cdef void take(
    Active *s, Py_ssize_t j, Py_ssize_t known, const double *own, const double *new
) noexcept nogil:
    """Column j joins, if it is not spanned; `known` entries of its row of L are there."""
    cdef Py_ssize_t i, K = s.K, m = s.m
    cdef const double *products = s.G + j * s.stride
    cdef double *S = s.S + K * m
    cdef double *L = row(s, K)
    cdef double d, size
    for i in range(m):
        S[i] = own[i]
    for i in range(known):
        L[i] = new[i]
    for i in range(known, K):
        d = products[s.order[i]] - dot(S, s.S + i * m, m) - dot(row(s, i), L, i)
        L[i] = d / row(s, i)[i]
    size = products[j] - dot(S, S, m)
    d = size - dot(L, L, K)
    if not d > PIVOT * size:
        return
    L[K] = sqrt(d)
    s.order[K], s.place[j], s.b[K] = j, K, 0.0
    s.sign[K] = 1.0 if s.g[j] > 0.0 else -1.0
    s.u[K] = (s.c[j] - dot(L, s.u, K)) / L[K]
    s.v[K] = (s.sign[K] - dot(L, s.v, K)) / L[K]
    s.K = K + 1


cdef inline void turn(
    Active *s, Py_ssize_t k, const double *old, double *new, double *left
) noexcept nogil:
    """The rotation of entries k and k + 1 that the leaving column made; `left` goes on with it."""
    cdef double right = old[k + 1]
    new[k] = s.g[k] * left[0] + s.x[k] * right
    left[0] = s.g[k] * right - s.x[k] * left[0]


cdef void leave(Active *s, Py_ssize_t j) noexcept nogil:
    """The j-th column in use goes: rotations make L triangular again, kept in g and x."""
    cdef Py_ssize_t i, k, K = s.K
    cdef double left, size
    cdef const double *old
    cdef double *new
    for i in range(j + 1, K):
        old, new = row(s, i), row(s, i - 1)
        for k in range(j):
            new[k] = old[k]
        left = old[j]
        for k in range(j, i - 1):
            turn(s, k, old, new, &left)
        size = sqrt(left * left + old[i] * old[i])
        s.g[i - 1], s.x[i - 1], new[i - 1] = left / size, old[i] / size, size
    left = s.u[j]
    for k in range(j, K - 1):
        turn(s, k, s.u, s.u, &left)
    left = s.v[j]
    for k in range(j, K - 1):
        turn(s, k, s.v, s.v, &left)
    if j < s.rows:
        for i in range(j * s.p, (s.rows - 1) * s.p):
            s.H[i] = s.H[i + s.p]
        s.rows -= 1
    for i in range(j * s.m, (K - 1) * s.m):
        s.S[i] = s.S[i + s.m]
    s.place[s.order[j]] = -1
    for i in range(j + 1, K):
        s.order[i - 1] = s.order[i]
        s.place[s.order[i]] = i - 1
        s.sign[i - 1] = s.sign[i]
        s.b[i - 1] = s.b[i]
    s.K = K - 1


cdef void solve(Active *s, double l1) noexcept nogil:
    """x = Q^-1 (c - l1 sign) for the columns in use."""
    cdef Py_ssize_t i, K = s.K
    cdef const double *L = row(s, K)
    for i in range(K):
        s.x[i] = s.u[i] - l1 * s.v[i]
    for i in range(K - 1, -1, -1):
        L -= i + 1
        s.x[i] /= L[i]
        add_one(s.x, L, -s.x[i], i)


cdef void descend(Active *s, double l1) noexcept nogil:
    """To the minimum for the present signs; a coefficient that reaches 0 on the way leaves."""
    cdef Py_ssize_t i, first
    cdef double t, reach
    while s.K > 0:
        solve(s, l1)
        first = -1
        reach = 1.0
        for i in range(s.K):
            if s.x[i] * s.sign[i] <= 0.0:
                t = s.b[i] / (s.b[i] - s.x[i]) if s.b[i] != s.x[i] else 0.0
                if first < 0 or t < reach:
                    first = i
                    reach = t
        for i in range(s.K):
            s.b[i] = s.x[i] if first < 0 else s.b[i] + reach * (s.x[i] - s.b[i])
        if first < 0:
            return
        for i in range(s.K - 1, -1, -1):
            if i == first or (s.b[i] == 0.0 and s.x[i] * s.sign[i] <= 0.0):
                leave(s, i)


cdef double look(Active *s, double l1, double yy, bint positive, double *gap) noexcept nogil:
    """Pulls of all columns, the duality gap, and the objective (see `elastic_net_solver.look`)."""
    cdef double fitted = 0.0, own = 0.0, size = 0.0, strongest = 0.0, residual, value, shrink = 1.0
    cdef Py_ssize_t i
    pulls(s)
    for i in range(s.K):
        fitted += s.c[s.order[i]] * s.b[i]
        own += s.g[s.order[i]] * s.b[i]
        size += fabs(s.b[i])
    for i in range(s.p):
        strongest = max(strongest, s.g[i] if positive else fabs(s.g[i]))
    residual = max(yy - fitted - own, 0.0)
    value = 0.5 * residual + l1 * size
    if strongest > l1:
        shrink = l1 / strongest
    gap[0] = max(value - shrink * (yy - fitted) + 0.5 * shrink * shrink * residual, 0.0)
    return value


cdef bint welcome(Active *s, double l1, bint positive, bint single) noexcept nogil:
    """Columns that pull harder than the penalty join; whether one did.

    Where more want to than are in use already, most would leave again: only those join that pull
    hard, or, on demand, the strongest alone.
    """
    cdef Py_ssize_t j, n = 0, crowd = 0, best = -1
    cdef Py_ssize_t group[TOGETHER]
    cdef double pull, strongest = l1, bar = l1
    cdef bint joined = False
    for j in range(s.p):
        pull = s.g[j] if positive else fabs(s.g[j])
        if s.place[j] < 0 and pull > l1:
            crowd += 1
            if pull > strongest:
                strongest = pull
                best = j
    if crowd > max(FEW, s.K):
        bar = sqrt(l1 * strongest)
    for j in range(s.p):
        pull = s.g[j] if positive else fabs(s.g[j])
        if s.place[j] < 0 and pull > bar and (j == best or not single):
            group[n] = j
            n += 1
            if n == TOGETHER:
                joined |= enter(s, group, n)
                n = 0
    if n > 0:
        joined |= enter(s, group, n)
    return joined


cdef void foresee(Active *s, double further) noexcept nogil:
    """Pulls at the next penalty, if they go on as they went between the last two points."""
    cdef Py_ssize_t j
    for j in range(s.p):
        s.g[j] = s.last[j] + further * (s.last[j] - s.before[j])


cdef double settle(
    Active *s, double l1, double yy, bint positive, double wanted, Py_ssize_t rounds,
    const int *stop, Py_ssize_t *turns,
) noexcept nogil:
    """The duality gap at the end; above `wanted` if rounding or dependent columns forbid more.

    0. Columns join that will pull too hard if pulls go on as they went from the last penalty but
    one to the last. 1. To the minimum for the present signs. 2. All columns are looked at; the
    gap decides. 3. Columns that pull too hard join; one at a time once several did not help.
    """
    cdef double gap = INFINITY, value, before = -1.0
    cdef bint single = False
    turns[0] = 0
    welcome(s, l1, positive, single)
    while turns[0] < rounds:
        turns[0] += 1
        descend(s, l1)
        value = look(s, l1, yy, positive, &gap)
        if gap <= wanted or stop[0] != 0:
            break
        if before >= 0.0 and not value < before:
            if single:
                break
            single = True
        before = value
        if not welcome(s, l1, positive, single):
            break
    return gap


def follow(
    const double[:, :] G, const double[:, ::1] T, const double[::1] d, const double[::1] c,
    double yy, const double[::1] l1, bint positive, const double[::1] wanted,
    Py_ssize_t rounds, double[:, ::1] B, double[::1] gaps, Py_ssize_t[::1] turns,
    const int[::1] stop,
):
    """Coefficients B (points, p), duality gaps and rounds at falling penalties; points finished.

    Ends with the first point whose gap stays above `wanted`, or after so many rounds in all; that
    point is left in B, but not counted.
    """
    cdef Py_ssize_t p = c.shape[0], m = T.shape[0] + 1, i, t = 0, points = l1.shape[0]
    cdef Py_ssize_t[:, ::1] places = np.full((2, p), -1, dtype=np.intp)
    cdef double[:, ::1] room = np.zeros((8, p))
    cdef double further = 0.0
    cdef double[::1] f = np.empty(m), S = np.empty(p * m), L = np.empty(p * (p + 1) // 2)
    cdef double[::1] H = np.empty(min(FEW, p) * p)
    cdef Active s
    s.p, s.m, s.K, s.stride = p, m, 0, G.strides[0] // sizeof(double)
    s.G, s.T, s.d, s.c = &G[0, 0], &T[0, 0] if m > 1 else NULL, &d[0], &c[0]
    s.order, s.place, s.f, s.S, s.L = &places[0, 0], &places[1, 0], &f[0], &S[0], &L[0]
    s.b, s.sign, s.x, s.g = &room[0, 0], &room[1, 0], &room[2, 0], &room[3, 0]
    s.H, s.rows = &H[0], 0
    s.last, s.before, s.u, s.v = &room[4, 0], &room[5, 0], &room[6, 0], &room[7, 0]
    room[4, :] = c
    with nogil:
        while t < points:
            if t > 1:
                further = (l1[t - 1] - l1[t]) / (l1[t - 2] - l1[t - 1])
            foresee(&s, further)
            gaps[t] = settle(&s, l1[t], yy, positive, wanted[t], rounds, &stop[0], &turns[t])
            rounds -= turns[t]
            for i in range(s.K):
                B[t, s.order[i]] = s.b[i]
            if not gaps[t] <= wanted[t] or stop[0] != 0:
                break
            s.before, s.last, s.g = s.last, s.g, s.before
            t += 1
    return t
