"""The lasso by active sets: minimise b'Qb/2 - c'b + l1 |b|_1 for falling l1, Q = G - R R'.

The state and its layout: `_active_state`.
"""

from libc.math cimport INFINITY, fabs, sqrt
from libc.string cimport memcpy

import numpy as np

from pellucid.linear_model._lasso._active_gradients cimport (
    gather, gradients, near_gradients, survey,
)
from pellucid.linear_model._lasso._active_state cimport FEW, SPAN, TOGETHER, Active, keep_near
from pellucid.linear_model._lasso._active_triangle cimport enter, exchange, leave, solve

cdef double MORE = 1 + 1e-14  # |g| / l1 that rounding alone cannot explain
cdef double FAR = 0.7  # smallest penalty of a span, as a share of the last one before it
cdef double NEAR = 0.7  # |g| / l1 of a column that may enter
cdef double NEXT = 0.9  # the same once others have entered at this penalty


cdef void descend(Active *s, double l1, bint all) noexcept nogil:
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
                if not all:
                    keep_near(s, s.order[i])
                leave(s, i)


cdef void keep_nearest(Active *s, double bar) noexcept nogil:
    """Of the columns in `near`, keep those with a gradient above `bar`."""
    cdef Py_ssize_t i, j, n = 0
    for i in range(s.n_near):
        j = s.near[i]
        if (s.g[j] if s.positive else fabs(s.g[j])) > bar and s.place[j] < 0:
            s.near[n] = j
            n += 1
    s.n_near = n


cdef double bound(
    Active *s, double l1, const double *b, const double *g, double *value
) noexcept nogil:
    """The duality gap, and the objective (see `solver.update_gap`); b is (p,)."""
    cdef double fitted = 0.0, own = 0.0, size = 0.0, strongest = 0.0, residual, shrink = 1.0
    cdef Py_ssize_t j
    for j in range(s.p):
        fitted += s.c[j] * b[j]
        own += g[j] * b[j]
        size += fabs(b[j])
        strongest = max(strongest, g[j] if s.positive else fabs(g[j]))
    residual = max(s.yy - fitted - own, 0.0)
    value[0] = 0.5 * residual + l1 * size
    if strongest > l1:
        shrink = l1 / strongest
    return max(value[0] - shrink * (s.yy - fitted) + 0.5 * shrink * shrink * residual, 0.0)


cdef double look(Active *s, double l1, double *b, bint all, double *value) noexcept nogil:
    """The duality gap from the gradients of all columns, or of those in `near` only."""
    cdef Py_ssize_t i
    for i in range(s.p):
        b[i] = 0.0
    for i in range(s.K):
        b[s.order[i]] = s.b[i]
    if all:
        gradients(s)
    else:
        near_gradients(s, b)
        for i in range(s.K):
            s.g[s.order[i]] = l1 * s.sign[i]
    return bound(s, l1, b, s.g, value)


cdef bint admit(Active *s, double l1, bint single) noexcept nogil:
    """Columns whose gradient exceeds the penalty enter; whether one did.

    If they are more than the columns in use, most would leave again: only those with a large
    gradient enter or, if `single`, only the largest. If the columns in use span all of them, the
    largest replaces another.
    """
    cdef Py_ssize_t i, j, n = 0, n_wanting = 0, best = -1
    cdef Py_ssize_t group[TOGETHER]
    cdef double size, strongest = MORE * l1, bar = MORE * l1
    cdef bint entered = False
    for i in range(s.n_near):
        j = s.near[i]
        size = s.g[j] if s.positive else fabs(s.g[j])
        if s.place[j] < 0 and size > MORE * l1:
            n_wanting += 1
            if size > strongest:
                strongest = size
                best = j
    if n_wanting > max(FEW, s.K):
        bar = sqrt(l1 * strongest)
    for i in range(s.n_near):
        j = s.near[i]
        size = s.g[j] if s.positive else fabs(s.g[j])
        if s.place[j] < 0 and size > bar and (j == best or not single):
            group[n] = j
            n += 1
            if n == TOGETHER:
                entered |= enter(s, group, n)
                n = 0
    if n > 0:
        entered |= enter(s, group, n)
    return entered or (best >= 0 and exchange(s, best))


cdef double settle(
    Active *s, double l1, double *b, bint all, double wanted, const int *stop, Py_ssize_t *used
) noexcept nogil:
    """The duality gap at the end; above `wanted` if rounding or dependent columns forbid more.

    0. Columns enter whose gradient, extrapolated from the last two penalties, exceeds the penalty.
    1. Go to the minimum for the present signs. 2. Compute the gradients of all columns, or of those
    in `near`; stop if the duality gap is small. 3. Columns with too large a gradient enter; one at a
    time once several did not help.
    """
    cdef double gap = INFINITY, value = 0.0, before = -1.0
    cdef bint single = False
    admit(s, l1, single)
    while s.left > 0:
        used[0] += 1
        s.left -= 1
        descend(s, l1, all)
        gap = look(s, l1, b, all, &value)
        if gap <= wanted or stop[0] != 0:
            break
        if before >= 0.0 and not value < before:
            if single:
                break
            single = True
        before = value
        if not admit(s, l1, single):
            break
        if not all:
            keep_nearest(s, NEXT * l1)
    return gap


cdef void extrapolate(Active *s, double l1, bint all) noexcept nogil:
    """Gradients at the next penalty, extrapolated from the last two points, and the columns that may
    then enter."""
    cdef Py_ssize_t j
    cdef double size, further = 0.0
    if s.points > 1 and s.gone > 0.0:
        further = (s.l1 - l1) / s.gone
    s.n_near = 0
    for j in range(s.p):
        size = s.g[j] = s.last[j] + further * (s.last[j] - s.before[j])
        if all or (s.place[j] < 0 and (size if s.positive else fabs(size)) > NEAR * l1):
            s.near[s.n_near] = j
            s.n_near += 1


cdef Py_ssize_t span(Active *s, const double *l1, Py_ssize_t n) noexcept nogil:
    """How many of the next points are near enough to one another to be surveyed together."""
    cdef Py_ssize_t k = 1
    if s.K <= FEW or s.points < 2:
        return 1
    while k < min(n, SPAN) and l1[k] > FAR * s.l1:
        k += 1
    return k


cdef double step(
    Active *s, double l1, double *b, bint all, double wanted, const int *stop, Py_ssize_t *used
) noexcept nogil:
    """One point of the path, with all columns or with those in `near`."""
    cdef double gap
    extrapolate(s, l1, all)
    gap = settle(s, l1, b, all, wanted, stop, used)
    s.before, s.last, s.g = s.last, s.g, s.before
    s.gone, s.l1 = s.l1 - l1, l1
    s.points += 1
    return gap


cdef class Walk:
    """A path of which more and more points are asked for, at falling penalties.

    What is taken off (R) is given anew each time, so that it need not be held meanwhile.
    """

    cdef Active s
    cdef object held

    def __init__(
        self, const double[:, :] G, const double[::1] c, double yy, bint positive
    ):
        cdef Py_ssize_t p = c.shape[0]
        cdef Py_ssize_t[:, ::1] places = np.full((3, p), -1, dtype=np.intp)
        cdef double[:, ::1] room = np.zeros((10 + SPAN, p)), W = np.empty((p, TOGETHER))
        cdef double[::1] L = np.empty(p * (p + 1) // 2), H = np.empty(min(FEW, p) * p)
        cdef Active *s = &self.s
        self.held = (G, c, places, room, L, H, W)
        s.p, s.K, s.rows, s.stride = p, 0, 0, G.strides[0] // sizeof(double)
        s.positive, s.yy, s.l1, s.gone, s.points = positive, yy, 0.0, 0.0, 0
        s.G, s.c, s.L, s.H, s.W = &G[0, 0], &c[0], &L[0], &H[0], &W[0, 0]
        s.order, s.place = &places[0, 0], &places[1, 0]
        s.near, s.b, s.sign, s.x = &places[2, 0], &room[0, 0], &room[1, 0], &room[2, 0]
        s.u, s.v, s.g, s.last = &room[3, 0], &room[4, 0], &room[5, 0], &room[6, 0]
        s.before, s.cosine, s.sine = &room[7, 0], &room[8, 0], &room[9, 0]
        s.Y = &room[10, 0]
        room[6, :] = c

    def go(
        self, const double[:, ::1] R, const double[::1] l1, const double[::1] wanted,
        Py_ssize_t rounds, double[:, ::1] B, double[:, ::1] F, double[::1] gaps,
        Py_ssize_t[::1] used, const int[::1] stop,
    ):
        """Coefficients B (points, p), F = B R, duality gaps and rounds; how many are finished.

        Ends with the first point whose gap stays above `wanted`, or after so many rounds in all;
        that point is left in B, but not counted.
        """
        cdef Py_ssize_t i, n, t = 0, points = l1.shape[0], p = self.s.p
        cdef double value
        cdef Active *s = &self.s
        cdef double[:, ::1] f = np.empty((SPAN, R.shape[1])), N = np.empty((R.shape[1], TOGETHER))
        s.m, s.left, s.R, s.f, s.N = R.shape[1], rounds, &R[0, 0], &f[0, 0], &N[0, 0]
        with nogil:
            while t < points and stop[0] == 0:
                n = span(s, &l1[t], points - t)
                if n > 1:
                    for i in range(t, t + n):
                        step(s, l1[i], &B[i, 0], False, wanted[i], &stop[0], &used[i])
                    survey(s, &B[t, 0], n)
                    for i in range(n):
                        gaps[t] = bound(s, l1[t], &B[t, 0], s.Y + i * p, &value)
                        if not gaps[t] <= wanted[t]:
                            break
                        memcpy(&F[t, 0], s.f + i * s.m, s.m * sizeof(double))
                        t += 1
                    else:
                        memcpy(s.last, s.Y + (n - 1) * p, p * sizeof(double))
                        memcpy(s.before, s.Y + (n - 2) * p, p * sizeof(double))
                        continue
                gaps[t] = step(s, l1[t], &B[t, 0], True, wanted[t], &stop[0], &used[t])
                gather(s, &F[t, 0])
                if not gaps[t] <= wanted[t]:
                    break
                t += 1
        return t
