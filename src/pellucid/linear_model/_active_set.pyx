"""The lasso by active sets: minimise b'Qb/2 - c'b + l1 |b|_1 for falling l1, Q = G - T'T - dd'.

Layout: G is (p, p), symmetric, each row contiguous; T (m - 1, p) and d (p,), as the last row of T,
are rows whose products are taken off.
order[:K] are the columns in use, b and sign theirs, place their inverse (-1: not in use). S (K, m)
holds their columns of T, and L the L L' = Q of them: the lower triangle, row i with i + 1 entries.
"""

from libc.math cimport INFINITY, fabs, sqrt

import numpy as np

cdef enum:
    FEW = 16

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
    double *x
    double *g
    double *f
    double *S
    double *L


cdef inline double dot(const double *x, const double *y, Py_ssize_t n) noexcept nogil:
    """x'y in eight sums, so that lanes may share the work without changing a bit."""
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, rest = 0
    cdef Py_ssize_t i, whole = n - n % 8
    for i in range(0, whole, 8):
        s0 += x[i] * y[i]
        s1 += x[i + 1] * y[i + 1]
        s2 += x[i + 2] * y[i + 2]
        s3 += x[i + 3] * y[i + 3]
        s4 += x[i + 4] * y[i + 4]
        s5 += x[i + 5] * y[i + 5]
        s6 += x[i + 6] * y[i + 6]
        s7 += x[i + 7] * y[i + 7]
    for i in range(whole, n):
        rest += x[i] * y[i]
    return (((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))) + rest


cdef inline void add_four(
    double *y, const double *a, double u, const double *b, double v, const double *c, double w,
    const double *d, double z, Py_ssize_t n,
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        y[i] += (u * a[i] + v * b[i]) + (w * c[i] + z * d[i])


cdef inline void add_one(double *y, const double *a, double u, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        y[i] += u * a[i]


cdef void pulls(Active *s) noexcept nogil:
    """g = c - Q b = c + T'(T b) - G b."""
    cdef Py_ssize_t i, j, p = s.p
    cdef const Py_ssize_t *o = s.order
    cdef const double *G = s.G
    cdef const double *T = s.T
    for j in range(p):
        s.g[j] = s.c[j]
    for i in range(s.m):
        s.f[i] = 0.0
    for i in range(s.K):
        add_one(s.f, s.S + i * s.m, s.b[i], s.m)
    i = 0
    while i + 4 < s.m:
        add_four(
            s.g, T + i * p, s.f[i], T + (i + 1) * p, s.f[i + 1],
            T + (i + 2) * p, s.f[i + 2], T + (i + 3) * p, s.f[i + 3], p,
        )
        i += 4
    while i < s.m - 1:
        add_one(s.g, T + i * p, s.f[i], p)
        i += 1
    add_one(s.g, s.d, s.f[i], p)
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


cdef bint enter(Active *s, Py_ssize_t j, double sign) noexcept nogil:
    """Column j joins with coefficient 0; False if those in use already span it."""
    cdef Py_ssize_t i, K = s.K, m = s.m
    cdef double d, size
    cdef double *new = s.L + K * (K + 1) // 2
    cdef double *own = s.S + K * m
    cdef const double *old = s.L
    cdef const double *row = s.G + j * s.stride
    for i in range(m - 1):
        own[i] = s.T[i * s.p + j]
    own[m - 1] = s.d[j]
    for i in range(K):
        new[i] = (row[s.order[i]] - dot(own, s.S + i * m, m) - dot(old, new, i)) / old[i]
        old += i + 1
    size = row[j] - dot(own, own, m)
    d = size - dot(new, new, K)
    if not d > PIVOT * size:
        return False
    new[K] = sqrt(d)
    s.order[K] = j
    s.place[j] = K
    s.sign[K] = sign
    s.b[K] = 0.0
    s.K = K + 1
    return True


cdef void leave(Active *s, Py_ssize_t j) noexcept nogil:
    """The j-th column in use goes: rotations make L triangular again, kept in g and x."""
    cdef Py_ssize_t i, k, K = s.K
    cdef double u, v, r
    cdef double *to = s.L + j * (j + 1) // 2
    cdef const double *old = to + j + 1
    for i in range(j + 1, K):
        for k in range(j):
            to[k] = old[k]
        u = old[j]
        for k in range(j, i - 1):
            v = old[k + 1]
            to[k] = s.g[k] * u + s.x[k] * v
            u = s.g[k] * v - s.x[k] * u
        v = old[i]
        r = sqrt(u * u + v * v)
        s.g[i - 1] = u / r
        s.x[i - 1] = v / r
        to[i - 1] = r
        to += i
        old += i + 1
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
    cdef const double *L = s.L
    for i in range(K):
        s.x[i] = (s.c[s.order[i]] - l1 * s.sign[i] - dot(L, s.x, i)) / L[i]
        L += i + 1
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
        leave(s, first)


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
    cdef Py_ssize_t j, crowd = 0, best = -1
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
            joined |= enter(s, j, 1.0 if s.g[j] > 0.0 else -1.0)
    return joined


cdef double settle(
    Active *s, double l1, double yy, bint positive, double wanted, Py_ssize_t rounds,
    const int *stop, Py_ssize_t *turns,
) noexcept nogil:
    """The duality gap at the end; above `wanted` if rounding or dependent columns forbid more.

    1. To the minimum for the present signs. 2. All columns are looked at; the gap decides.
    3. Columns that pull too hard join; one at a time once several did not help.
    """
    cdef double gap = INFINITY, value, before = -1.0
    cdef bint single = False
    turns[0] = 0
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
    cdef double[:, ::1] room = np.zeros((4, p))
    cdef double[::1] f = np.empty(m), S = np.empty(p * m), L = np.empty(p * (p + 1) // 2)
    cdef Active s
    s.p, s.m, s.K, s.stride = p, m, 0, G.strides[0] // sizeof(double)
    s.G, s.T, s.d, s.c = &G[0, 0], &T[0, 0] if m > 1 else NULL, &d[0], &c[0]
    s.order, s.place, s.f, s.S, s.L = &places[0, 0], &places[1, 0], &f[0], &S[0], &L[0]
    s.b, s.sign, s.x, s.g = &room[0, 0], &room[1, 0], &room[2, 0], &room[3, 0]
    with nogil:
        while t < points:
            gaps[t] = settle(&s, l1[t], yy, positive, wanted[t], rounds, &stop[0], &turns[t])
            rounds -= turns[t]
            for i in range(s.K):
                B[t, s.order[i]] = s.b[i]
            if not gaps[t] <= wanted[t] or stop[0] != 0:
                break
            t += 1
    return t
