"""Coordinate descent on a quadratic with an elastic-net penalty.

Layout: Q is (k, k), C-contiguous and symmetric; q, b, the products Qb = Q b and the strengths l1, l2
are (k,). `kept` is (2, MEMORY + 1, k): the last points and their products. Where products are not worth
their price, A is (k, n), one column of the table after the other, and r = y - A'b its residuals.
"""

from libc.math cimport fabs, sqrt

import numpy as np

from pellucid.linear_model._lasso._vectors cimport dot

cdef enum:
    MEMORY = 5  # epochs from which the limit is guessed
    MANY = 24  # columns from which guessing pays


cdef inline double shrunk(double z, double reach, bint positive) noexcept nogil:
    """Soft threshold."""
    if z > reach:
        return z - reach
    if z < -reach and not positive:
        return z + reach
    return 0.0


cdef bint weights_of(const double *B, Py_ssize_t k, double *z) noexcept nogil:
    """Weights (sum 1) of the last MEMORY points whose combined step is shortest; False if none.

    1. U'U z = 1, where U holds the steps between the points (with a little ridge), by Cholesky.
    2. z / sum z.
    """
    cdef double C[MEMORY][MEMORY]
    cdef double total = 0.0, s
    cdef Py_ssize_t a, c, i
    for a in range(MEMORY):
        for c in range(a + 1):
            s = 0.0
            for i in range(k):
                s += (B[(a + 1) * k + i] - B[a * k + i]) * (B[(c + 1) * k + i] - B[c * k + i])
            C[a][c] = s
        total += C[a][a]
    for a in range(MEMORY):
        C[a][a] += 1e-10 * total
        for c in range(a + 1):
            s = C[a][c]
            for i in range(c):
                s -= C[a][i] * C[c][i]
            if a == c:
                if not s > 0.0:
                    return False
                C[a][a] = sqrt(s)
            else:
                C[a][c] = s / C[c][c]
    for a in range(MEMORY):
        s = 1.0
        for i in range(a):
            s -= C[a][i] * z[i]
        z[a] = s / C[a][a]
    total = 0.0
    for a in range(MEMORY - 1, -1, -1):
        s = z[a]
        for i in range(a + 1, MEMORY):
            s -= C[i][a] * z[i]
        z[a] = s / C[a][a]
        total += z[a]
    if not fabs(total) > 0.0:
        return False
    for a in range(MEMORY):
        z[a] /= total
    return True


cdef void leap(
    double[:, :, ::1] kept, const double *q, const double *l1, const double *l2, double *b,
    double *Qb, Py_ssize_t k, bint positive,
) noexcept nogil:
    """Go to the guessed limit of the last points (Anderson), if the objective is lower there."""
    cdef double z[MEMORY]
    cdef double x, g, there = 0.0, here = 0.0
    cdef Py_ssize_t i, m
    if not weights_of(&kept[0, 0, 0], k, z):
        return
    for i in range(k):
        x = 0.0
        g = 0.0
        for m in range(MEMORY):
            x += z[m] * kept[0, m + 1, i]
            g += z[m] * kept[1, m + 1, i]
        if positive and x < 0.0:
            return
        kept[0, 0, i] = x
        kept[1, 0, i] = g
        there += x * (0.5 * g - q[i] + 0.5 * l2[i] * x) + l1[i] * fabs(x)
        here += b[i] * (0.5 * Qb[i] - q[i] + 0.5 * l2[i] * b[i]) + l1[i] * fabs(b[i])
    if there < here:
        for i in range(k):
            b[i] = kept[0, 0, i]
            Qb[i] = kept[1, 0, i]


cdef double penalised(
    const double *r, Py_ssize_t n, const double *b, const double *l1, const double *l2, Py_ssize_t k
) noexcept nogil:
    """The objective at b with residuals r."""
    cdef double value = 0.5 * dot(r, r, n)
    cdef Py_ssize_t i
    for i in range(k):
        value += l1[i] * fabs(b[i]) + 0.5 * l2[i] * b[i] * b[i]
    return value


cdef void leap_columns(
    double[:, ::1] points, double[:, ::1] rests, const double *l1, const double *l2, double *b,
    double *r, Py_ssize_t k, Py_ssize_t n, bint positive,
) noexcept nogil:
    """`leap`, with the residuals in place of Qb. The first of `points` and `rests` is used up."""
    cdef double z[MEMORY]
    cdef double x
    cdef Py_ssize_t i, m
    if not weights_of(&points[0, 0], k, z):
        return
    for i in range(k):
        x = 0.0
        for m in range(MEMORY):
            x += z[m] * points[m + 1, i]
        if positive and x < 0.0:
            return
        points[0, i] = x
    for i in range(n):
        x = 0.0
        for m in range(MEMORY):
            x += z[m] * rests[m + 1, i]
        rests[0, i] = x
    if penalised(&rests[0, 0], n, &points[0, 0], l1, l2, k) < penalised(r, n, b, l1, l2, k):
        for i in range(k):
            b[i] = points[0, i]
        for i in range(n):
            r[i] = rests[0, i]


def descend(
    const double[:, ::1] Q, const double[::1] q, double[::1] b, double[::1] Qb,
    const double[::1] l1, const double[::1] l2, bint positive, double tol, Py_ssize_t epochs,
):
    """Minimise b'Qb/2 - q'b + sum l1 |b| + sum l2 b^2/2 in place; the number of epochs made.

    1. For each coordinate: its best value while the others stand still.
    2. Qb follows. 3. Stop when no coordinate of an epoch moved the fit by more than tol.
    4. After every few epochs, leap towards where they lead; an epoch always follows a leap, so that
       zeros are exact.
    """
    cdef Py_ssize_t j, i, epoch = 0, k = q.shape[0], filled = 0
    cdef double old, new, curve, step, largest
    cdef bint leaps = k >= MANY and epochs > MEMORY + 1
    cdef double[:, :, ::1] kept = np.empty((2, MEMORY + 1, k if leaps else 0))
    with nogil:
        while epoch < epochs:
            if leaps:
                kept[0, filled, :] = b
                kept[1, filled, :] = Qb[:k]
                filled += 1
                if filled > MEMORY:
                    leap(kept, &q[0], &l1[0], &l2[0], &b[0], &Qb[0], k, positive)
                    kept[0, 0, :] = b
                    kept[1, 0, :] = Qb[:k]
                    filled = 1
            epoch += 1
            largest = 0.0
            for j in range(k):
                curve = Q[j, j] + l2[j]
                old = b[j]
                if not curve > 0.0:
                    new = 0.0
                else:
                    new = shrunk(q[j] - Qb[j] + Q[j, j] * old, l1[j], positive) / curve
                step = new - old
                if step != 0.0:
                    b[j] = new
                    for i in range(k):
                        Qb[i] += step * Q[j, i]
                    largest = max(largest, fabs(step) * sqrt(curve))
            if largest <= tol:
                break
    return epoch


def descend_columns(
    const double[:, ::1] A, const double[::1] squares, double[::1] r, double[::1] b,
    const double[::1] l1, const double[::1] l2, bint positive, double tol, Py_ssize_t epochs,
):
    """The same by the columns themselves: r follows in place of Qb.

    `squares` are the squared lengths of the columns.
    """
    cdef Py_ssize_t j, i, epoch = 0, k = b.shape[0], n = r.shape[0], filled = 0
    cdef double old, new, curve, step, largest
    cdef bint leaps = k >= MANY and epochs > MEMORY + 1
    cdef double[:, ::1] points = np.empty((MEMORY + 1, k if leaps else 0))
    cdef double[:, ::1] rests = np.empty((MEMORY + 1, n if leaps else 0))
    with nogil:
        while epoch < epochs:
            if leaps:
                points[filled, :] = b
                rests[filled, :] = r
                filled += 1
                if filled > MEMORY:
                    leap_columns(points, rests, &l1[0], &l2[0], &b[0], &r[0], k, n, positive)
                    points[0, :] = b
                    rests[0, :] = r
                    filled = 1
            epoch += 1
            largest = 0.0
            for j in range(k):
                curve, old = squares[j] + l2[j], b[j]
                new = 0.0
                if curve > 0.0:
                    new = dot(&A[j, 0], &r[0], n) + squares[j] * old
                    new = shrunk(new, l1[j], positive) / curve
                step = new - old
                if step != 0.0:
                    b[j] = new
                    for i in range(n):
                        r[i] -= step * A[j, i]
                    largest = max(largest, fabs(step) * sqrt(curve))
            if largest <= tol:
                break
    return epoch
