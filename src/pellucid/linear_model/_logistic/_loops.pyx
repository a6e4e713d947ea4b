"""Log-likelihood of classes, row by row, and plain gradient descent on it.

Layout: scores Z are C-contiguous (n, q). With `pivot`, class 0 has score 0 and Z holds the classes
1..q (q = 1: the logistic model); without it, Z holds all classes. y are int32 codes of classes.
"""

from libc.math cimport exp, fabs, log, log1p, sqrt

include "_probabilities.pxi"

cdef enum:
    GROUP = 512  # factors <= 2 whose product cannot overflow


cdef inline double row_loss(
    double *z, Py_ssize_t q, int y, bint pivot, double *chance, double *miss
) noexcept nogil:
    """The same with -log p_y."""
    cdef double rest = 0.0, loss = row_chances(z, q, y, pivot, chance, miss, &rest)
    return loss + log1p(rest)


cdef double two_class_losses(
    double *z, const int *y, const double *w, double *r, Py_ssize_t n
) noexcept nogil:
    """The same for two classes: one exponential a row, and one logarithm for GROUP rows.

    The sum of log(1 + e) is the log of the product of 1 + e; an e too small for that (1 + e would
    lose it) goes into the sum by itself, as do rows whose weight is not 1.
    """
    cdef Py_ssize_t i, begin, end
    cdef double e, t, low, high, product, loss = 0.0
    for begin in range(0, n, 512):
        end = min(begin + GROUP, n)
        product = 1.0
        for i in range(begin, end):
            e = exp(-fabs(z[i]))
            t = 1.0 / (1.0 + e)
            low = e * t
            if w[i] != 1.0:
                loss += w[i] * log1p(e)
            elif e < 1e-6:
                loss += e - 0.5 * e * e
            else:
                product *= 1.0 + e
            if (z[i] > 0.0) != (y[i] == 1):
                loss += w[i] * fabs(z[i])
            high = t if z[i] > 0.0 else low  # the chance of class 1
            low = low if z[i] > 0.0 else t
            r[i] = -w[i] * low if y[i] == 1 else w[i] * high
            z[i] = high
        loss += log(product)
    return loss


def class_losses(
    double[:, ::1] Z, const int[::1] y, const double[::1] w, bint pivot, double[:, ::1] R
):
    """Sum of w times the loss. Z becomes probabilities, R the gradient of the loss by scores."""
    cdef Py_ssize_t i, k, own, q = Z.shape[1]
    cdef double loss = 0.0, chance = 0.0, miss = 0.0
    if q == 1 and pivot:
        with nogil:
            loss = two_class_losses(&Z[0, 0], &y[0], &w[0], &R[0, 0], Z.shape[0])
        return loss
    with nogil:
        for i in range(Z.shape[0]):
            loss += w[i] * row_loss(&Z[i, 0], q, y[i], pivot, &chance, &miss)
            own = y[i] - 1 if pivot else y[i]
            for k in range(q):
                R[i, k] = w[i] * Z[i, k]
            if own >= 0:
                R[i, own] = -w[i] * miss
    return loss


def all_right(const double[:, ::1] Z, const int[::1] y, bint pivot):
    """Whether every row's own class has the highest score, strictly."""
    cdef Py_ssize_t i, k, own, q = Z.shape[1]
    cdef double mine
    cdef bint right = True
    with nogil:
        for i in range(Z.shape[0]):
            own = y[i] - 1 if pivot else y[i]
            mine = Z[i, own] if own >= 0 else 0.0
            if pivot and own >= 0 and not mine > 0.0:
                right = False
            for k in range(q):
                if k != own and not mine > Z[i, k]:
                    right = False
            if not right:
                break
    return right


def descend(
    const double[:, ::1] X, const int[::1] y, const double[::1] w, bint pivot, double[:, ::1] B,
    double step, double strength, double tol, Py_ssize_t first, Py_ssize_t steps,
    Py_ssize_t every, double[:, ::1] rows, double[:, ::1] G, double[::1] z,
):
    """`steps` times B -= step * gradient of the mean loss plus strength / 2 |B|^2.

    X ends with the column of the intercept, if there is one; `strength` has one entry per column of
    X in G's last row. Every `every`-th iteration writes (iteration, objective, |gradient|, |B|) of
    the point before its step to `rows`. Returns iterations done, rows written, the last change.
    """
    cdef Py_ssize_t i, j, k, t, own, n = X.shape[0], p = X.shape[1], q = B.shape[0], noted = 0
    cdef double loss, r, chance = 0.0, miss = 0.0, change = 0.0, square, length, total = 0.0
    cdef bint note, two = pivot and q == 1
    with nogil:
        for i in range(n):
            total += w[i]
        for t in range(steps):
            loss = 0.0
            note = (first + t) % every == 0
            for k in range(q):
                for j in range(p):
                    G[k, j] = 0.0
            for i in range(n):
                for k in range(q):
                    r = 0.0
                    for j in range(p):
                        r += X[i, j] * B[k, j]
                    z[k] = r
                if two and not note:  # most iterations: no one asks for the loss
                    chance = exp(-fabs(z[0]))
                    miss = 1.0 / (1.0 + chance)
                    chance = chance * miss
                    if (z[0] > 0.0) == (y[i] == 1):
                        miss = chance
                    z[0] = miss
                else:
                    loss += w[i] * row_loss(&z[0], q, y[i], pivot, &chance, &miss)
                own = y[i] - 1 if pivot else y[i]
                for k in range(q):
                    r = w[i] * (-miss if k == own else z[k])
                    for j in range(p):
                        G[k, j] += r * X[i, j]
            square = 0.0
            length = 0.0
            change = 0.0
            for k in range(q):
                for j in range(p):
                    G[k, j] = G[k, j] / total + strength * G[q, j] * B[k, j]
                    loss += 0.5 * total * strength * G[q, j] * B[k, j] * B[k, j]
                    square += G[k, j] * G[k, j]
                    length += B[k, j] * B[k, j]
                    B[k, j] -= step * G[k, j]
                    change += step * G[k, j] * step * G[k, j]
            if note:
                rows[noted, 0] = first + t
                rows[noted, 1] = loss
                rows[noted, 2] = sqrt(square) * total
                rows[noted, 3] = sqrt(length)
                noted += 1
            change = sqrt(change)
            if not change > tol:
                t += 1
                break
        else:
            t = steps
    return t, noted, change
