"""Loops of support vector machines: Gaussian kernels, and steps on pairs of multipliers.

Invariant: every step keeps sum_i s_i a_i, stays in the box 0 <= a_i <= C_i, and never raises the
objective 1/2 a'Qa + p'a, Q_ij = s_i s_j K_ij; `gradient` is Qa + p throughout.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

cdef extern from "lanes.h":
    void bells(double *row, const double *norms, double own, double gamma,
               Py_ssize_t n) noexcept nogil
    void single_bells(const double *row, const double *norms, double own, double gamma,
                      Py_ssize_t n, float *out) noexcept nogil
    double bell_sum(const double *row, const double *norms, double own, double gamma,
                    const double *weights, Py_ssize_t n) noexcept nogil
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

cdef double TINY = 1e-12
cdef Py_ssize_t STRIP = 1024  # columns of a sum that stay in the nearest cache


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


def gaussian_sums(const double[:, ::1] products, const double[::1] left,
                  const double[::1] right, double gamma, const double[::1] weights,
                  double[::1] out):
    """out[i] += sum_j weights[j] exp(-gamma |x_i - z_j|**2), without keeping the kernel."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(products.shape[0]):
            out[i] += bell_sum(&products[i, 0], &right[0], left[i], gamma, &weights[0],
                               products.shape[1])


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
    """Steps on the pair that promises most, until none violates the conditions by more than tol.

    1. i: the largest violation -s_i g_i among multipliers that may move up.
    2. j: the partner of the largest decrease of the objective, to second order.
    3. Move both along the constraint to the minimum, or to the border of the box.

    Returns (steps taken, the last violation). Ends early when a multiplier exceeds `cap`.
    """
    cdef Py_ssize_t n = a.shape[0], t
    cdef int64_t taken
    cdef double gap = INFINITY
    cdef double *value = <double *> malloc((3 * n + 1) * sizeof(double))
    if value == NULL:
        raise MemoryError
    with nogil:
        for t in range(n):
            value[t] = -signs[t] * gradient[t]
            set_bars(t, signs[t], a[t], limits[t], value + n, value + 2 * n)
        taken = walk(K, &diagonal[0], &signs[0], &limits[0], &a[0], value, value + n,
                     value + 2 * n, tol, most, cap, &stop[0], &gap)
        for t in range(n):
            gradient[t] = -signs[t] * value[t]
    free(value)
    return taken, gap


cdef int64_t walk(const double[:, ::1] K, const double *diagonal, const double *signs,
                  const double *limits, double *a, double *value, double *up, double *down,
                  double tol, int64_t most, double cap, const int32_t *stop,
                  double *gap) noexcept nogil:
    cdef Py_ssize_t n = K.shape[0], i, j
    cdef int64_t taken = 0
    cdef double best, worst, curvature, step, ai, aj, di, dj, si, sj
    while taken < most and not stop[0]:
        i = largest(value, up, n, &best)  # 1
        if i < 0:
            gap[0] = 0.0
            break
        j = partner(value, down, diagonal, &K[i, 0], diagonal[i], best, TINY, n, &worst)  # 2
        gap[0] = best - worst if worst < INFINITY else 0.0
        if j < 0 or gap[0] <= tol:
            break
        si, sj = signs[i], signs[j]  # 3
        curvature = (diagonal[i] + diagonal[j]) - 2.0 * K[i, j]
        step = (best - value[j]) / (curvature if curvature > TINY else TINY)
        ai = moved(a[i], limits[i], si * step)
        aj = moved(a[j], limits[j], -sj * step)
        # The shorter of the two moves holds for both, so that the constraint is kept.
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
