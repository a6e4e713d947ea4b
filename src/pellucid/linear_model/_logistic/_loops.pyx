"""Log-likelihood of classes, row by row, and plain gradient descent on it.

Layout: scores Z are C-contiguous (n, q). With `pivot`, class 0 has score 0 and Z holds the classes
1..q (q = 1: two classes); without it, Z holds all classes. y are int32 class codes.
"""

from libc.math cimport exp, fabs, log, log1p, sqrt

from pellucid.linear_model._logistic._probabilities cimport row_probabilities

cdef enum:
    GROUP = 512  # number of factors <= 2 whose product cannot overflow


cdef inline double row_loss(
    double *z, Py_ssize_t q, int y, bint pivot, double *p_own, double *p_others
) noexcept nogil:
    """Replace scores by probabilities; set p_y and 1 - p_y; return -log p_y."""
    cdef double rest = 0.0, loss = row_probabilities(z, q, y, pivot, p_own, p_others, &rest)
    return loss + log1p(rest)


cdef double two_class_losses(
    double *z, const int *y, const double *w, double *r, Py_ssize_t n
) noexcept nogil:
    """`class_losses` of two classes, with one exponential per row and one logarithm per GROUP rows.

    The sum of log(1 + e) is the logarithm of the product of all 1 + e. Rows with a tiny e, which 1 + e
    would lose, and rows whose weight is not 1 are added one by one.
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
            high = t if z[i] > 0.0 else low  # the probability of class 1
            low = low if z[i] > 0.0 else t
            r[i] = -w[i] * low if y[i] == 1 else w[i] * high
            z[i] = high
        loss += log(product)
    return loss


def class_losses(
    double[:, ::1] Z, const int[::1] y, const double[::1] w, bint pivot, double[:, ::1] R
):
    """Return the sum of w times the loss; Z becomes probabilities, R the gradient by the scores."""
    cdef Py_ssize_t i, k, own, q = Z.shape[1]
    cdef double loss = 0.0, p_own = 0.0, p_others = 0.0
    if q == 1 and pivot:
        with nogil:
            loss = two_class_losses(&Z[0, 0], &y[0], &w[0], &R[0, 0], Z.shape[0])
        return loss
    with nogil:
        for i in range(Z.shape[0]):
            loss += w[i] * row_loss(&Z[i, 0], q, y[i], pivot, &p_own, &p_others)
            own = y[i] - 1 if pivot else y[i]
            for k in range(q):
                R[i, k] = w[i] * Z[i, k]
            if own >= 0:
                R[i, own] = -w[i] * p_others
    return loss


def bend(double[:, ::1] S, const double[:, ::1] P, const double[::1] w):
    """S becomes w P (S - sum_k P S): the change of the gradient by the scores when they change by S."""
    cdef Py_ssize_t i, k, q = S.shape[1]
    cdef double mean
    with nogil:
        for i in range(S.shape[0]):
            mean = 0.0
            for k in range(q):
                mean += P[i, k] * S[i, k]
            for k in range(q):
                S[i, k] = w[i] * P[i, k] * (S[i, k] - mean)


def all_right(const double[:, ::1] Z, const int[::1] y, bint pivot):
    """Whether every row's own class has strictly the highest score."""
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
    """Repeat B -= step * gradient of (mean loss + strength / 2 |B|^2) `steps` times.

    The last column of X is that of the intercept. The last row of G has a 1 for each penalised column
    of X, else 0. Every `every`-th iteration writes (iteration, objective, |gradient|, |B|) of the point
    before its step to `rows`. Returns the iterations done, the rows written and the last change.
    """
    cdef Py_ssize_t i, j, k, t, own, n = X.shape[0], p = X.shape[1], q = B.shape[0], noted = 0
    cdef double loss, r, p_own = 0.0, p_others = 0.0, change = 0.0, square, length, total = 0.0
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
                if two and not note:  # most iterations do not need the loss
                    r = exp(-fabs(z[0]))
                    p_others = 1.0 / (1.0 + r)
                    if (z[0] > 0.0) == (y[i] == 1):
                        p_others = r * p_others
                    z[0] = p_others
                else:
                    loss += w[i] * row_loss(&z[0], q, y[i], pivot, &p_own, &p_others)
                own = y[i] - 1 if pivot else y[i]
                for k in range(q):
                    r = w[i] * (-p_others if k == own else z[k])
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
