"""Logistic regression on small tables, where calls of BLAS and NumPy would dominate the time.

Layout: X (n, p) and probabilities P (n, q) are C-contiguous; class 0 is the reference with score 0;
coefficients are B (q, p + 1), the intercept in the last column. y are int32 class codes.
"""

from libc.math cimport exp, fabs, fmax, isfinite, log, log1p, sqrt

from pellucid.linear_model._logistic._probabilities cimport row_probabilities

cdef enum:
    GAVE_UP = -1
cdef double ARMIJO = 1e-4, FLAT = 1e-10  # as in the line search for larger tables
cdef double PIVOT = 1e-6  # pivots of a matrix of unit diagonal below this mean dependent columns
cdef double SERVES = 1e-3  # a step shorter than this share of the last one keeps the curvature


cdef double gradient_at(
    const double[:, ::1] X, const int[::1] y, const double[::1] w, bint intercept,
    const double[:, ::1] B, const double[::1] alpha, const double[:, ::1] metric,
    double[:, ::1] P, double[:, ::1] G,
) noexcept nogil:
    """Penalised loss, probabilities P and gradient G at B."""
    cdef Py_ssize_t i, j, k, l, q = B.shape[0], p = X.shape[1]
    cdef double loss = 0.0, p_own = 0.0, p_others = 0.0, rest = 0.0, product = 1.0, r
    G[:, :] = 0.0
    for i in range(X.shape[0]):
        for k in range(q):
            r = B[k, p]
            for j in range(p):
                r += X[i, j] * B[k, j]
            P[i, k] = r
        loss += w[i] * row_probabilities(&P[i, 0], q, y[i], True, &p_own, &p_others, &rest)
        if w[i] == 1.0 and rest > 1e-6:  # one logarithm for many rows
            product *= 1.0 + rest
            if product > 1e200:
                loss += log(product)
                product = 1.0
        else:
            loss += w[i] * log1p(rest)
        for k in range(q):
            r = w[i] * (-p_others if k == y[i] - 1 else P[i, k])
            for j in range(p):
                G[k, j] += r * X[i, j]
            G[k, p] += r
    loss += log(product)
    for k in range(q):
        for j in range(p):
            r = 0.0
            for l in range(q):
                r += metric[k, l] * B[l, j]
            loss += 0.5 * alpha[j] * r * B[k, j]
            G[k, j] += alpha[j] * r
        if not intercept:
            G[k, p] = 0.0
    return loss


cdef inline void row_products(const double *x, Py_ssize_t p, double *v) noexcept nogil:
    """v = the lower triangle of the products of (x, 1) with itself, row by row."""
    cdef Py_ssize_t j, m, t = 0
    for j in range(p):
        for m in range(j + 1):
            v[t + m] = x[j] * x[m]
        t += j + 1
    for j in range(p):
        v[t + j] = x[j]
    v[t + p] = 1.0


cdef void curvature_at(
    const double[:, ::1] X, const double[::1] w, const double[:, ::1] P, bint intercept,
    const double[::1] alpha, const double[:, ::1] metric, double[:, :, :, ::1] H,
    double[:, ::1] products, double[:, ::1] sums,
) noexcept nogil:
    """Second derivatives H (q, p + 1, q, p + 1) at probabilities P, including the penalty.

    The products of a row's columns are computed once, the lower triangle as one vector. They are added
    to the sums of every pair of classes with that pair's factor, two rows at a time.
    """
    cdef Py_ssize_t i, j, k, l, m, t, pair, q = P.shape[1], p = X.shape[1]
    cdef Py_ssize_t size = (p + 1) * (p + 2) // 2, n = X.shape[0], second
    cdef double c, d
    cdef double *v = &products[0, 0]
    cdef double *u = &products[1, 0]
    cdef double *s
    sums[:, :] = 0.0
    for i in range(0, n, 2):
        second = i + 1 if i + 1 < n else i
        row_products(&X[i, 0], p, v)
        row_products(&X[second, 0], p, u)
        pair = 0
        for k in range(q):
            for l in range(k + 1):
                c = w[i] * P[i, k] * ((1.0 - P[i, k]) if k == l else -P[i, l])
                d = 0.0
                if second != i:
                    d = w[second] * P[second, k]
                    d *= (1.0 - P[second, k]) if k == l else -P[second, l]
                s = &sums[pair, 0]
                for t in range(size):
                    s[t] += c * v[t] + d * u[t]
                pair += 1
    pair = 0
    for k in range(q):
        for l in range(k + 1):
            t = 0
            for j in range(p + 1):
                for m in range(j + 1):
                    c = sums[pair, t] if j < p or intercept else 0.0
                    if j == m and j < p:
                        c += metric[k, l] * alpha[j]
                    H[k, j, l, m] = H[k, m, l, j] = H[l, j, k, m] = H[l, m, k, j] = c
                    t += 1
            pair += 1


def gradient(
    const double[:, ::1] X, const int[::1] y, const double[::1] w, bint intercept,
    const double[:, ::1] B, const double[::1] alpha, const double[:, ::1] metric,
    double[:, ::1] P, double[:, ::1] G,
):
    """Penalised loss, probabilities P and gradient G at B."""
    cdef double loss
    with nogil:
        loss = gradient_at(X, y, w, intercept, B, alpha, metric, P, G)
    return loss


def curvature(
    const double[:, ::1] X, const double[::1] w, const double[:, ::1] P, bint intercept,
    const double[::1] alpha, const double[:, ::1] metric, double[:, :, :, ::1] H,
    double[:, ::1] products, double[:, ::1] sums,
):
    """Second derivatives H (q, p + 1, q, p + 1) at probabilities P, including the penalty."""
    with nogil:
        curvature_at(X, w, P, intercept, alpha, metric, H, products, sums)


cdef bint factor(double *A, double *unit, Py_ssize_t m) noexcept nogil:
    """Cholesky factor, in the lower triangle, of A times unit_i unit_j; False if nearly singular."""
    cdef Py_ssize_t i, j, k
    cdef double t
    for i in range(m):
        if not (0.0 < A[i * m + i] < 1e300):
            return False
        unit[i] = 1.0 / sqrt(A[i * m + i])
    for i in range(m):
        for j in range(i + 1):
            t = A[i * m + j] * unit[i] * unit[j]
            for k in range(j):
                t -= A[i * m + k] * A[j * m + k]
            if i > j:
                A[i * m + j] = t / A[j * m + j]
            elif t > PIVOT:
                A[i * m + i] = sqrt(t)
            else:
                return False
    return True


cdef void newton_step(
    const double *L, const double *unit, const double *g, Py_ssize_t m, double *d
) noexcept nogil:
    """d = -H^-1 g from the factor L of the scaled H."""
    cdef Py_ssize_t i, k
    cdef double t
    for i in range(m):
        t = -g[i] * unit[i]
        for k in range(i):
            t -= L[i * m + k] * d[k]
        d[i] = t / L[i * m + i]
    for i in range(m - 1, -1, -1):
        t = d[i]
        for k in range(i + 1, m):
            t -= L[k * m + i] * d[k]
        d[i] = t / L[i * m + i]
    for i in range(m):
        d[i] *= unit[i]


cdef inline double product(const double *a, const double *b, Py_ssize_t m) noexcept nogil:
    cdef Py_ssize_t i
    cdef double t = 0.0
    for i in range(m):
        t += a[i] * b[i]
    return t


cdef inline double reach_of(const double *a, const double *scale, Py_ssize_t m) noexcept nogil:
    cdef Py_ssize_t i
    cdef double t = 0.0
    for i in range(m):
        t = fmax(t, fabs(a[i] * scale[i]))
    return t


def newton(
    const double[:, ::1] X, const int[::1] y, const double[::1] w, bint intercept,
    const double[::1] alpha, const double[:, ::1] metric, const double[::1] scale,
    double accuracy, double[:, :, ::1] points, double[:, ::1] rows,
    double[:, ::1] P, double[:, ::1] G, double[:, :, :, ::1] H,
    double[:, ::1] products, double[:, ::1] sums, double[:, ::1] steps,
):
    """Newton's method with full steps from points[0]: the number of steps, or GAVE_UP.

    It takes the same steps as `numerics.optimise.newton`, and gives up where that has to shorten a step
    or where the curvature is nearly singular. points[k] and rows[k] = (objective, gradient norm)
    belong to step k.
    """
    cdef Py_ssize_t i, k, done = GAVE_UP, m = G.shape[0] * G.shape[1], p = X.shape[1]
    cdef double value, trial, slope, bend, reach, size, rate, previous
    cdef double *d = &steps[0, 0]
    cdef double *unit = &steps[1, 0]
    cdef double *h = &H[0, 0, 0, 0]
    cdef double *g = &G[0, 0]
    cdef bint stale = True
    with nogil:
        value = gradient_at(X, y, w, intercept, points[0], alpha, metric, P, G)
        rows[0, 0] = value
        rows[0, 1] = sqrt(product(g, g, m))
        previous = reach_of(&points[0, 0, 0], &scale[0], m)
        for k in range(1, points.shape[0]):
            if stale:
                curvature_at(X, w, P, intercept, alpha, metric, H, products, sums)
                if not intercept:
                    for i in range(G.shape[0]):
                        H[i, p, i, p] = 1.0  # an intercept that is not fitted stays 0
                if not factor(h, unit, m):
                    break
            newton_step(h, unit, g, m, d)
            slope = product(d, g, m)
            for i in range(m):
                (&points[k, 0, 0])[i] = (&points[k - 1, 0, 0])[i] + d[i]
            trial = gradient_at(X, y, w, intercept, points[k], alpha, metric, P, G)
            bend = product(d, g, m)
            if not (slope < 0.0 and isfinite(trial) and isfinite(bend)) or bend <= 0.9 * slope:
                break
            if trial > value + ARMIJO * slope and (
                trial > value + FLAT * fabs(value) or fabs(bend) > 0.9 * fabs(slope)
            ):
                break
            value = trial
            rows[k, 0] = value
            rows[k, 1] = sqrt(product(g, g, m))
            size = reach_of(&points[k, 0, 0], &scale[0], m)
            reach = reach_of(d, &scale[0], m)
            rate = reach / previous if reach < previous else 1.0
            if reach * rate <= accuracy * size or (rate > 0.5 and reach <= 1e-10 * size):
                done = k
                break
            stale = rate > SERVES
            previous = reach
    return done
