"""Stochastic gradient descent on linear models, one row at a time.

Layout: X is dense, C-contiguous (n, p), or CSR as (data, indices, indptr) with an X of no rows. Row i
is row places[i] of a dense X, or row i if `places` is empty; y and w are in the order of i. Rows are
visited in runs of `run` consecutive rows, one run from each of `starts`. Row numbers are counted from
`first`, and after the last row comes row 0. The coefficients are scale * v, so that shrinking all of
them is one multiplication. `state` holds (intercept, scale, step number t, accumulated L1 penalty u,
number of averaged steps, mistakes so far, mistakes of this epoch, last step size).

Targets are -1 or 1 for the losses of classes, any number for those of regression.

Built twice, plain and for AVX2. Vectors are explicit and products are not fused, so both builds give
equal bits.
"""

from libc.math cimport exp, fabs, isfinite, log, log1p, pow, sqrt

cdef extern from *:
    """
    /* Prefetch a row, to the nearest cache or to the one behind it. */
    #define COME(x, p, near) do { \
        for (Py_ssize_t j_ = 0; j_ < (p); j_ += 8) __builtin_prefetch((x) + j_, 0, near); \
        __builtin_prefetch((x) + (p) - 1, 0, near); \
    } while (0)
    static inline void fetch(const double *x, Py_ssize_t p) { COME(x, p, 3); }
    static inline void bring(const double *x, Py_ssize_t p) { COME(x, p, 1); }
    /* Eight sums, as two vectors of four, because the compiler does not vectorise this reduction
       itself. Vector types work on every architecture. */
    typedef double four __attribute__((vector_size(32)));
    static inline four load(const double *x) { four v; __builtin_memcpy(&v, x, 32); return v; }
    static inline double dot(const double *x, const double *v, Py_ssize_t p) {
        four a = {0.0}, b = {0.0};
        double rest = 0.0;
        Py_ssize_t j = 0;
        for (; j + 8 <= p; j += 8) {
            a += load(x + j) * load(v + j);
            b += load(x + j + 4) * load(v + j + 4);
        }
        if (j + 4 <= p) { a += load(x + j) * load(v + j); j += 4; }
        for (; j < p; j++) rest += x[j] * v[j];
        a += b;
        return ((a[0] + a[2]) + (a[1] + a[3])) + rest;
    }
    """
    void fetch(const double *x, Py_ssize_t p) noexcept nogil
    void bring(const double *x, Py_ssize_t p) noexcept nogil
    double dot(const double *x, const double *v, Py_ssize_t p) noexcept nogil

cdef enum Loss:
    HINGE = 0
    LOG = 1
    MODIFIED_HUBER = 2
    SQUARED_HINGE = 3
    PERCEPTRON = 4
    SQUARED = 5
    HUBER = 6
    EPSILON = 7
    SQUARED_EPSILON = 8

cdef enum Rule:
    GOES_ON = 0
    DIVERGED = 1
    NO_MISTAKE = 2
    NO_IMPROVEMENT = 3

cdef enum Schedule:
    CONSTANT = 0
    OPTIMAL = 1
    INVSCALING = 2
    ADAPTIVE = 3
    DECREASING = 4
    PA1 = 5
    PA2 = 6


cdef inline double loss_of(int kind, double z, double y, double eps) noexcept nogil:
    cdef double m = y * z, r = fabs(y - z)
    if kind == HINGE:
        return 1.0 - m if m < 1.0 else 0.0
    if kind == LOG:
        return log(1.0 + exp(-m)) if m > -30.0 else -m
    if kind == MODIFIED_HUBER:
        return 0.0 if m >= 1.0 else ((1.0 - m) * (1.0 - m) if m >= -1.0 else -4.0 * m)
    if kind == SQUARED_HINGE:
        return (1.0 - m) * (1.0 - m) if m < 1.0 else 0.0
    if kind == PERCEPTRON:
        return -m if m < 0.0 else 0.0
    if kind == SQUARED:
        return 0.5 * r * r
    if kind == HUBER:
        return 0.5 * r * r if r <= eps else eps * r - 0.5 * eps * eps
    if kind == EPSILON:
        return r - eps if r > eps else 0.0
    return (r - eps) * (r - eps) if r > eps else 0.0


cdef inline double slope_of(int kind, double z, double y, double eps) noexcept nogil:
    """Derivative of the loss by z."""
    cdef double m = y * z, r = z - y
    if kind == HINGE:
        return -y if m <= 1.0 else 0.0
    if kind == LOG:
        if m > 30.0:
            return -y * exp(-m)
        return -y / (1.0 + exp(m)) if m > -30.0 else -y
    if kind == MODIFIED_HUBER:
        return 0.0 if m >= 1.0 else (-2.0 * (1.0 - m) * y if m >= -1.0 else -4.0 * y)
    if kind == SQUARED_HINGE:
        return -2.0 * (1.0 - m) * y if m < 1.0 else 0.0
    if kind == PERCEPTRON:
        return -y if m <= 0.0 else 0.0
    if kind == SQUARED:
        return r
    if kind == HUBER:
        return r if fabs(r) <= eps else (eps if r > 0 else -eps)
    if kind == EPSILON:
        return 0.0 if fabs(r) <= eps else (1.0 if r > 0 else -1.0)
    if fabs(r) <= eps:
        return 0.0
    return 2.0 * (r - eps) if r > 0 else 2.0 * (r + eps)


cdef inline void truncate(
    double *v, double *q, const int *where, Py_ssize_t m, double u, double scale
) noexcept nogil:
    """Cumulative L1 penalty (Tsuruoka et al.): shrink towards 0 by what is due, but not past 0."""
    cdef Py_ssize_t k, j
    cdef double z
    for k in range(m):
        j = where[k] if where != NULL else k
        z = v[j]
        if scale * v[j] > 0.0:
            v[j] = max(0.0, v[j] - (u + q[j]) / scale)
        elif scale * v[j] < 0.0:
            v[j] = min(0.0, v[j] + (u - q[j]) / scale)
        q[j] += scale * (v[j] - z)


cdef inline double score(const double *x, const int *where, Py_ssize_t m, const double *v) noexcept nogil:
    cdef double z = 0.0
    cdef Py_ssize_t k
    if where == NULL:
        return dot(x, v, m)
    for k in range(m):
        z += x[k] * v[where[k]]
    return z


cdef inline void add_row(
    double *v, const double *x, const int *where, Py_ssize_t m, double step
) noexcept nogil:
    cdef Py_ssize_t k
    if where == NULL:
        for k in range(m):
            v[k] += step * x[k]
    else:
        for k in range(m):
            v[where[k]] += step * x[k]


cdef inline double passive_step(
    int schedule, const double *x, Py_ssize_t m, double loss, double eta0
) noexcept nogil:
    """Size of a passive-aggressive step: as large as this row needs, limited by eta0."""
    cdef double norm = 0.0
    cdef Py_ssize_t k
    for k in range(m):
        norm += x[k] * x[k]
    if schedule == PA2:
        return loss / (norm + 0.5 / eta0)
    return min(eta0, loss / norm) if norm > 0.0 else 0.0


cdef inline double log_slope(
    double m, double y, double w, double *total, double *product
) noexcept nogil:
    """Derivative of the log loss at margin m; the sum of losses takes one logarithm for many rows."""
    cdef double e = exp(-fabs(m))
    total[0] -= w * min(m, 0.0)
    if w != 1.0:
        total[0] += w * log1p(e)
    else:
        product[0] *= 1.0 + e
        if product[0] > 1e200:
            total[0] += log(product[0])
            product[0] = 1.0
    return -y * (e if m > 0.0 else 1.0) / (1.0 + e)


cdef inline double shrunk(double *v, Py_ssize_t p, double scale) noexcept nogil:
    """The scale; if it becomes too small, multiply v by it and return 1."""
    cdef Py_ssize_t j
    if scale >= 1e-9:
        return scale
    for j in range(p):
        v[j] *= scale
    return 1.0


cdef inline void average_in(
    double *mean, const double *v, double scale, double b, Py_ssize_t p, double count
) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(p):
        mean[j] += (scale * v[j] - mean[j]) / count
    mean[p] += (b - mean[p]) / count


cdef inline double clipped(double g) noexcept nogil:
    return max(-1e12, min(1e12, g))


cdef enum:
    SOON = 4  # a row is prefetched from the outer cache this many rows before it is used
    AHEAD = 32  # and from memory this many rows before
    RING = 64

cdef struct Course:
    const long long *starts
    Py_ssize_t n_starts, run, first, n, start, k


cdef inline Py_ssize_t following(Course *s) noexcept nogil:
    """The next row, or -1."""
    cdef Py_ssize_t i
    while s.start < s.n_starts:
        i = s.starts[s.start] + s.k
        s.k += 1
        if s.k == s.run:
            s.start, s.k = s.start + 1, 0
        if i < s.n:
            i += s.first
            return i - s.n if i >= s.n else i
    return -1


cdef inline double falling(double eta0, double t, double power) noexcept nogil:
    """eta0 / t**power; square roots are faster than powers."""
    if power == 0.25:
        return eta0 / sqrt(sqrt(t))
    return eta0 / (sqrt(t) if power == 0.5 else pow(t, power))


cdef double epoch(
    const double[:, ::1] X, const double[::1] data, const int[::1] indices, const int[::1] indptr,
    const int[::1] places, const double[::1] y, const double[::1] w, const long long[::1] starts,
    Py_ssize_t run, Py_ssize_t first, double[::1] v, double[::1] q, double[::1] mean,
    double[::1] state, int kind, double eps, double alpha, double l1_share, double rate,
    int schedule, double eta0, double power, double t0, bint intercept, double average_from,
    bint watched, double most_mistakes,
) noexcept nogil:
    """One epoch over the rows of the order: their weighted mean loss.

    `mean` is the running mean of the coefficients, the intercept last, from step `average_from` on
    (0: never). The intercept is not penalised. If `watched`, return the loss of the last row instead,
    and stop after `most_mistakes` (0: never).
    """
    cdef Py_ssize_t i, at, n = y.shape[0], p = v.shape[0], m = p, n_rows = min(n, starts.shape[0] * run)
    cdef bint sparse = X.shape[0] == 0, placed = places.shape[0] > 0
    cdef Course course = Course(&starts[0], starts.shape[0], run, first, n, 0, 0)
    cdef Py_ssize_t order[RING]
    cdef double b = state[0], scale = state[1], t = state[2], u = state[3], count = state[4]
    cdef double mistakes = 0.0, total = 0.0, weight = 0.0, product = 1.0, z, g, eta = eta0, change, due
    cdef double s = 0.0, ahead = 0.0, cross = 0.0, l2 = alpha * (1.0 - l1_share), l1 = alpha * l1_share
    # If every row changes v, the score of the next row is x . v + change (x . x_now). Both products can
    # be computed before the change is known.
    cdef bint early = not sparse and l1 == 0.0 and (kind == LOG or kind == SQUARED), known = False
    cdef const double *x, *next_x, *rows[RING]
    cdef const int *where = NULL
    for at in range(-AHEAD, n_rows):
        i = order[(at + AHEAD) % RING] = following(&course)
        if i >= 0 and not sparse:
            x = rows[(at + AHEAD) % RING] = &X[places[i] if placed else i, 0]
            bring(x, p)
        if at < 0:
            continue
        i = order[at % RING]
        if sparse:
            x = &data[indptr[i]]
            where = &indices[indptr[i]]
            m = indptr[i + 1] - indptr[i]
        else:
            x = rows[at % RING]
            fetch(rows[min(at + SOON, n_rows - 1) % RING], p)
        if not known:
            s = score(x, where, m, &v[0])
        known = early and at + 1 < n_rows
        if known:
            next_x = rows[(at + 1) % RING]
            ahead, cross = dot(next_x, &v[0], p), dot(next_x, x, p)
        z = s * scale + b
        if schedule == OPTIMAL:
            eta = 1.0 / (rate * (t0 + t - 1.0))
        elif schedule == INVSCALING:
            eta = falling(eta0, t, power)
        weight += w[i]
        if kind == LOG:
            g = log_slope(y[i] * z, y[i], w[i], &total, &product)
        else:
            total += w[i] * loss_of(kind, z, y[i], eps)
            g = clipped(slope_of(kind, z, y[i], eps))
        mistakes += kind <= PERCEPTRON and z * y[i] <= 0.0
        if schedule == DECREASING:
            state[5] += g != 0.0
            eta = eta0 / (state[5] + 1.0)
        elif schedule >= PA1:
            g = -y[i] if kind == HINGE else (1.0 if z > y[i] else -1.0)
            g *= passive_step(schedule, x, m, loss_of(kind, z, y[i], eps), eta0) / eta
        if l2 > 0.0:
            due = scale * max(0.0, 1.0 - eta * l2)
            scale = shrunk(&v[0], p, due)
            known = known and scale == due
        g = -eta * g * w[i]
        change = g * (1.0 / scale)
        s = ahead + change * cross
        if g != 0.0:
            add_row(&v[0], x, where, m, change)
            b += g if intercept else 0.0
        if l1 > 0.0:
            u += l1 * eta
            truncate(&v[0], &q[0], where, m, u, scale)
        if average_from > 0.0 and t >= average_from:
            count += 1.0
            average_in(&mean[0], &v[0], scale, b, p, count)
        t += 1.0
        if watched and mistakes == most_mistakes and mistakes > 0.0:
            break
    state[0], state[1], state[2], state[3], state[4] = b, scale, t, u, count
    state[6], state[7] = mistakes, eta
    return loss_of(kind, z, y[i], eps) if watched else (total + log(product)) / weight


def watched_rows(
    const double[:, ::1] X, const double[::1] data, const int[::1] indices, const int[::1] indptr,
    const int[::1] places, const double[::1] y, const double[::1] w, const long long[::1] order,
    double[::1] v, double[::1] q, double[::1] mean, double[::1] state, int kind, double eps,
    double alpha, double l1_share, double rate, int schedule, double eta0, double power, double t0,
    bint intercept, double average_from, double most_mistakes,
):
    """The rows of `order`, until `most_mistakes` were made (0: all of them): the loss of the last one."""
    cdef double loss
    with nogil:
        loss = epoch(
            X, data, indices, indptr, places, y, w, order, 1, 0, v, q, mean, state, kind, eps, alpha,
            l1_share, rate, schedule, eta0, power, t0, intercept, average_from, True, most_mistakes,
        )
    return loss


cdef bint far(const double[::1] v, double limit) noexcept nogil:
    """Whether a coefficient is NaN or beyond the limit."""
    cdef Py_ssize_t j
    for j in range(v.shape[0]):
        if not fabs(v[j]) < limit:
            return True
    return False


def epochs(
    const double[:, ::1] X, const double[::1] data, const int[::1] indices, const int[::1] indptr,
    const int[::1] places, const double[::1] y, const double[::1] w, const long long[:, ::1] starts,
    Py_ssize_t run, const long long[::1] first, double[::1] v, double[::1] q, double[::1] mean,
    double[::1] state, int kind, double eps, double alpha, double l1_share, double rate,
    int schedule, double power, double t0, bint intercept, double average_from, double limit,
    bint stop_without_mistakes, double tol, Py_ssize_t patience, double[::1] rule,
    double[:, ::1] history,
):
    """One epoch per row of `starts`, until a rule stops: (epochs run, rule).

    `rule` holds (best loss, epochs without improvement, eta0), `history` gets (mean loss, mistakes,
    last step size) of each epoch. A `tol` below 0 judges no loss.
    """
    cdef Py_ssize_t e, done = 0
    cdef int code = GOES_ON
    cdef double loss
    with nogil:
        for e in range(starts.shape[0]):
            loss = epoch(
                X, data, indices, indptr, places, y, w, starts[e], run, first[e], v, q, mean, state,
                kind, eps, alpha, l1_share, rate, schedule, rule[2], power, t0, intercept,
                average_from, False, 0.0,
            )
            history[e, 0], history[e, 1], history[e, 2] = loss, state[6], state[7]
            done = e + 1
            if not isfinite(loss) or far(v, limit):
                code = DIVERGED
            elif stop_without_mistakes and state[6] == 0.0:
                code = NO_MISTAKE
            elif tol >= 0.0:
                rule[1] = rule[1] + 1.0 if loss > rule[0] - tol else 0.0
                rule[0] = min(rule[0], loss)
                if rule[1] >= patience:
                    if schedule == ADAPTIVE and rule[2] > 1e-6:
                        rule[2], rule[1] = rule[2] / 5.0, 0.0
                    else:
                        code = NO_IMPROVEMENT
            if code != GOES_ON:
                break
    return done, code
