"""Loops of support vector machines: Gaussian kernels, and steps on pairs of multipliers.

Invariant: every step keeps sum_i s_i a_i, stays in the box 0 <= a_i <= C_i, and never raises the
objective 1/2 a'Qa + p'a, Q_ij = s_i s_j K_ij; `gradient` is Qa + p throughout.
"""

from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, NAN, fabs, isfinite
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

cdef extern from "lanes.h":
    void bells(double *row, const double *norms, double own, double gamma,
               Py_ssize_t n) noexcept nogil
    void single_bells(const double *row, const double *norms, double own, double gamma,
                      Py_ssize_t n, float *out) noexcept nogil
    void bell_sums(const double *x, Py_ssize_t n, Py_ssize_t p, const double *panels,
                   const double *own, const double *norms, const double *weights,
                   Py_ssize_t count, double *out) noexcept nogil
    void add_double(double *out, const double *const *rows, const double *weights, Py_ssize_t m,
                    Py_ssize_t n) noexcept nogil
    void add_single(double *out, const float *const *rows, const double *weights, Py_ssize_t m,
                    Py_ssize_t n) noexcept nogil
    Py_ssize_t largest(const double *value, const double *bar, Py_ssize_t n,
                       double *most) noexcept nogil
    Py_ssize_t partner(const double *value, const double *bar, const double *diagonal,
                       const double *row, double own, double best, double tiny, Py_ssize_t n,
                       double *least) noexcept nogil
    void lower(double *value, const double *a, const double *b, double p, double q,
               Py_ssize_t n) noexcept nogil
    bint choose_wide(bint wide) noexcept nogil

ctypedef fused real:
    float
    double

cdef double TINY = 1e-12  # smallest curvature of a step, relative to kernels below 1
cdef Py_ssize_t STRIP = 1024  # columns of a sum that stay in the cache


def use_wide(bint wide):
    """Choose the AVX2 build of the inner loops, where the processor has it, or the plain one."""
    return choose_wide(wide)


use_wide(True)


def gaussian(double[:, ::1] products, const double[::1] left, const double[::1] right,
             double gamma):
    """Turn products x_i z_j into exp(-gamma |x_i - z_j|**2); left and right hold squared lengths."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(products.shape[0]):
            bells(&products[i, 0], &right[0], left[i], gamma, products.shape[1])


def single_gaussian(const double[:, ::1] products, const double[::1] left,
                    const double[::1] right, double gamma, const int64_t[::1] slots,
                    Py_ssize_t start, float[:, ::1] out):
    """Write exp(-gamma |x_i - z_j|**2) to out[slots[i], start + j], in single precision."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(products.shape[0]):
            single_bells(&products[i, 0], &right[0], left[i], gamma, products.shape[1],
                         &out[slots[i], start])


def gaussian_sums(const double[:, ::1] X, const double[:, :, ::1] panels,
                  const double[::1] left, const double[::1] right, const double[::1] weights,
                  Py_ssize_t some, double[::1] out):
    """out[i] += sum_j weights[j] 2**-|x_i - z_j|**2, without keeping the kernel.

    panels (m, p, 8) hold 2 z_j, eight vectors beside each other, left and right -|x_i|**2 and
    -|z_j|**2; `some` panels are read at a time.
    """
    cdef Py_ssize_t j, n = X.shape[0], p = X.shape[1], m = panels.shape[0]
    if n == 0:
        return
    with nogil:
        j = 0
        while j < m:
            bell_sums(&X[0, 0], n, p, &panels[j, 0, 0], &left[0], &right[8 * j],
                      &weights[8 * j], min(some, m - j), &out[0])
            j += some


def add_rows(const real[:, ::1] rows, const int64_t[::1] slots, const double[::1] weights,
             Py_ssize_t low, Py_ssize_t high, double[::1] out):
    """out[low:high] += sum of weights[i] * rows[slots[i], low:high], in this order."""
    cdef Py_ssize_t i, used = 0, end, m = slots.shape[0]
    cdef const real **places = <const real **> malloc((m + 1) * sizeof(void *))
    cdef double *factors = <double *> malloc((m + 1) * sizeof(double))
    if places == NULL or factors == NULL:
        free(places)
        free(factors)
        raise MemoryError
    with nogil:
        for i in range(m):
            if weights[i] != 0.0:
                factors[used], places[used] = weights[i], &rows[slots[i], low]
                used += 1
        while low < high:
            end = min(low + STRIP, high)
            if real is float:
                add_single(&out[low], places, factors, used, end - low)
            else:
                add_double(&out[low], places, factors, used, end - low)
            for i in range(used):
                places[i] += end - low
            low = end
    free(places)
    free(factors)


cdef inline double moved(double old, double limit, double by) noexcept nogil:
    cdef double new = old + by
    if new <= 0.0:
        return 0.0
    return limit if new >= limit else new


cdef inline void set_bars(Py_ssize_t t, double sign, double a, double limit, double *up,
                          double *down) noexcept nogil:
    """0 where s_t a_t may rise (up) or fall (down), else -inf and +inf."""
    up[t] = 0.0 if (a < limit if sign > 0 else a > 0) else -INFINITY
    down[t] = 0.0 if (a > 0 if sign > 0 else a < limit) else INFINITY


def steps(const double[:, ::1] K, const double[::1] diagonal, const double[::1] signs,
          const double[::1] limits, double[::1] a, double[::1] gradient, double tol,
          int64_t most, double cap, const int32_t[::1] stop):
    """Steps on the pair with the largest expected decrease, until no violation exceeds tol.

    1. i: the largest -s_i g_i among multipliers that may move up.
    2. j: the partner with the largest decrease of the objective, to second order.
    3. Move both along the constraint to the minimum, or to the border of the box.

    Returns (number of steps, the last violation, the smallest curvature of a pair as a share of its
    three terms). Ends early when a multiplier exceeds `cap`.
    """
    cdef Py_ssize_t n = a.shape[0], t
    cdef int64_t taken
    cdef double least = 1.0, size = 0.0
    cdef double gap = INFINITY
    cdef double *value = <double *> malloc((3 * n + 1) * sizeof(double))
    if value == NULL:
        raise MemoryError
    with nogil:
        for t in range(n):
            size = max(size, fabs(diagonal[t]))
            value[t] = -signs[t] * gradient[t]
            set_bars(t, signs[t], a[t], limits[t], value + n, value + 2 * n)
        taken = walk(K, &diagonal[0], &signs[0], &limits[0], &a[0], value, value + n,
                     value + 2 * n, tol, most, cap, &stop[0],
                     TINY * size if 0.0 < size < 1.0 else TINY, &gap, &least)
        for t in range(n):
            gradient[t] = -signs[t] * value[t]
    free(value)
    return taken, gap, least


cdef int64_t walk(const double[:, ::1] K, const double *diagonal, const double *signs,
                  const double *limits, double *a, double *value, double *up, double *down,
                  double tol, int64_t most, double cap, const int32_t *stop, double tiny,
                  double *gap, double *least) noexcept nogil:
    cdef Py_ssize_t n = K.shape[0], i, j
    cdef int64_t taken = 0
    cdef double best, worst, curvature, step, ai, aj, di, dj, si, sj
    while taken < most and not stop[0]:
        i = largest(value, up, n, &best)  # 1
        if i < 0:
            gap[0] = 0.0
            break
        j = partner(value, down, diagonal, &K[i, 0], diagonal[i], best, tiny, n, &worst)  # 2
        gap[0] = best - worst if worst < INFINITY else 0.0
        if j < 0 or gap[0] <= tol:
            break
        si, sj = signs[i], signs[j]  # 3
        curvature = (diagonal[i] + diagonal[j]) - 2.0 * K[i, j]
        if curvature < 0.0:  # not semi-definite, or rounding
            least[0] = min(least[0], curvature / (fabs(diagonal[i]) + fabs(diagonal[j])
                                                  + 2.0 * fabs(K[i, j])))
        step = (best - value[j]) / (curvature if curvature > tiny else tiny)
        ai = moved(a[i], limits[i], si * step)
        aj = moved(a[j], limits[j], -sj * step)
        # Both take the shorter of the two moves, which keeps the constraint.
        step = min(si * (ai - a[i]), -sj * (aj - a[j]))
        if si * (ai - a[i]) > step:
            ai = moved(a[i], limits[i], si * step)
        if -sj * (aj - a[j]) > step:
            aj = moved(a[j], limits[j], -sj * step)
        di, dj = ai - a[i], aj - a[j]
        a[i], a[j] = ai, aj
        set_bars(i, si, a[i], limits[i], up, down)
        set_bars(j, sj, a[j], limits[j], up, down)
        lower(value, &K[i, 0], &K[j, 0], si * di, sj * dj, n)
        taken += 1
        if a[i] > cap or a[j] > cap:
            break
    return taken


def conditions(const double[::1] signs, const double[::1] linear, const double[::1] limits,
               const double[::1] a, const double[::1] gradient):
    """Dual objective, largest violation of the optimality conditions, duality gap and offset.

    objective = -(1/2 a'Qa + p'a), which is maximised.
    violation = the largest -s_i g_i of multipliers whose s_i a_i may rise minus the smallest of those
        whose s_i a_i may fall; 0 if there are none of one kind.
    offset = the mean of s_i g_i over free multipliers, or the middle of its bounds.
    gap = sum_i a_i max(e_i, 0) + (C_i - a_i) max(-e_i, 0), e = g - s offset: primal minus dual objective;
        NaN while a margin with C = inf is violated, because the primal is infinite.
    """
    cdef Py_ssize_t i, n = a.shape[0], free = 0
    cdef double value, above = INFINITY, below = -INFINITY, size = 0.0, total = 0.0
    cdef double objective = 0.0, gap = 0.0, offset = 0.0, share
    cdef bint low, high
    with nogil:
        for i in range(n):
            value, low, high = signs[i] * gradient[i], a[i] > 0.0, a[i] < limits[i]
            objective -= 0.5 * a[i] * (gradient[i] + linear[i])
            if high if signs[i] > 0.0 else low:  # s_i a_i may rise
                above = min(above, value)
            if low if signs[i] > 0.0 else high:
                below = max(below, value)
            if low and high:
                free += 1
                size = max(size, fabs(value))
        if free:  # the mean, also where the sum overflows
            share = 1.0 if size < DBL_MAX / free else 1.0 / free
            for i in range(n):
                if 0.0 < a[i] < limits[i]:
                    total += signs[i] * gradient[i] * share
            offset = total if share < 1.0 else total / free
        elif isfinite(above) and isfinite(below):
            offset = 0.5 * above + 0.5 * below
        elif isfinite(above) or isfinite(below):
            offset = above if isfinite(above) else below
        for i in range(n):
            value = gradient[i] - signs[i] * offset
            if value >= 0.0:
                gap += a[i] * value
            else:
                gap += (limits[i] - a[i]) * -value
    if above == INFINITY or below == -INFINITY:
        return objective, 0.0, gap if isfinite(gap) else NAN, offset
    return objective, below - above, gap if isfinite(gap) else NAN, offset


# Linear models ------------------------------------------------------------------------------------

cdef inline double product(const double *data, const int32_t *indices, Py_ssize_t n,
                           const double *w, bint dense) noexcept nogil:
    cdef Py_ssize_t j = 0
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    if not dense:
        for j in range(n):
            a += data[j] * w[indices[j]]
        return a
    while j + 4 <= n:
        a += data[j] * w[j]
        b += data[j + 1] * w[j + 1]
        c += data[j + 2] * w[j + 2]
        d += data[j + 3] * w[j + 3]
        j += 4
    while j < n:
        a += data[j] * w[j]
        j += 1
    return (a + b) + (c + d)


cdef double best_shares(double *gradients, double *shares, double *sorted, int own, double price,
                        double curve, Py_ssize_t K) noexcept nogil:
    """The minimum over the K multipliers of one row, which sum to 0 and stay below `price` (own class)
    or 0 (others): min(limit, (level - gradient) / curve). `gradients` are those at multipliers of 0.
    Returns the level.
    """
    cdef Py_ssize_t k, r
    cdef double level, value
    for k in range(K):  # gradients at which a class reaches its limit, largest first
        value = gradients[k] + (curve * price if k == own else 0.0)
        r = k
        while r > 0 and sorted[r - 1] < value:
            sorted[r] = sorted[r - 1]
            r -= 1
        sorted[r] = value
    level, r = sorted[0] - curve * price, 1
    while r < K and level < r * sorted[r]:
        level += sorted[r]
        r += 1
    level /= r
    for k in range(K):
        shares[k] = min(price if k == own else 0.0, (level - gradients[k]) / curve)
    return level


def joint_epoch(const double[::1] data, const int32_t[::1] indices, const int64_t[::1] indptr,
                bint dense, const int32_t[::1] codes, const double[::1] prices,
                const double[::1] curves, double bias, const int64_t[::1] order,
                double[:, ::1] A, double[:, ::1] W, double[:, ::1] room, const int32_t[::1] stop):
    """One pass over the rows of 1/2 |W|**2 + sum of A outside the own class, W = A'X, for all classes.

    A (n, K) holds the multipliers, W (K, p + 1) the weights with that of the constant column last,
    `room` (3, K) is scratch memory.
    """
    cdef Py_ssize_t t, i, j, k, start, count, K = W.shape[0], p = W.shape[1] - 1
    cdef double step
    cdef const int32_t *columns = NULL
    with nogil:
        for t in range(order.shape[0]):
            if t % 256 == 0 and stop[0]:
                break
            i = order[t]
            start, count = indptr[i], indptr[i + 1] - indptr[i]
            if not dense and count:
                columns = &indices[start]
            for k in range(K):
                room[0, k] = bias * W[k, p] + (0.0 if k == codes[i] else 1.0) - curves[i] * A[i, k]
                if count:
                    room[0, k] += product(&data[start], columns, count, &W[k, 0], dense)
            best_shares(&room[0, 0], &room[1, 0], &room[2, 0], codes[i], prices[i], curves[i], K)
            for k in range(K):
                step = room[1, k] - A[i, k]
                if step == 0.0:
                    continue
                A[i, k] = room[1, k]
                for j in range(count):
                    W[k, j if dense else columns[j]] += step * data[start + j]
                W[k, p] += step * bias


def soft_sweeps(const double[:, ::1] H, double[::1] gradient, double[::1] u, double strength,
                int sweeps, double tol):
    """Coordinate descent on gradient'd + 1/2 d'Hd + strength |u + d|; `gradient` is updated."""
    cdef Py_ssize_t j, t, p = u.shape[0]
    cdef int k
    cdef double new, step, most
    with nogil:
        for k in range(sweeps):
            most = 0.0
            for j in range(p):
                new = u[j] - (gradient[j] + strength) / H[j, j]
                if new < 0.0:
                    new = u[j] - (gradient[j] - strength) / H[j, j]
                    if new > 0.0:
                        new = 0.0
                step = new - u[j]
                if step == 0.0:
                    continue
                u[j] = new
                for t in range(p):
                    gradient[t] += step * H[j, t]
                most = max(most, step * step * H[j, j])
            if most <= tol:
                break
