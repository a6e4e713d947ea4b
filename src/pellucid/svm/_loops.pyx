"""Loops of support vector machines: Gaussian kernels, and steps on pairs of multipliers.

Invariant: every step keeps sum_i s_i a_i, stays in the box 0 <= a_i <= C_i, and never raises the
objective 1/2 a'Qa + p'a, Q_ij = s_i s_j K_ij; `gradient` is Qa + p throughout.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

cdef extern from "lanes.h":
    void bells(double *row, const double *norms, double own, double gamma,
               Py_ssize_t n) noexcept nogil
    void add(double *out, const double *row, double weight, Py_ssize_t n) noexcept nogil
    bint choose_wide(bint wide) noexcept nogil

cdef double TINY = 1e-12


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


def add_rows(const double[:, ::1] rows, const int64_t[::1] slots, const double[::1] weights,
             Py_ssize_t low, Py_ssize_t high, double[::1] out):
    """out[low:high] += sum of weights[i] * rows[slots[i], low:high], in this order."""
    cdef Py_ssize_t i, low_end, step = 1024
    with nogil:
        while low < high:
            low_end = min(low + step, high)
            for i in range(slots.shape[0]):
                if weights[i] != 0.0:
                    add(&out[low], &rows[slots[i], low], weights[i], low_end - low)
            low = low_end


cdef inline double moved(double old, double limit, double by) noexcept nogil:
    cdef double new = old + by
    if new <= 0.0:
        return 0.0
    return limit if new >= limit else new


def steps(const double[:, ::1] K, const double[::1] diagonal, const double[::1] signs,
          const double[::1] limits, double[::1] a, double[::1] gradient, double tol,
          int64_t most, double cap, const int32_t[::1] stop):
    """Steps on the pair that promises most, until none violates the conditions by more than tol.

    1. i: the largest violation -s_i g_i among multipliers that may move up.
    2. j: the partner of the largest decrease of the objective, to second order.
    3. Move both along the constraint to the minimum, or to the border of the box.

    Returns (steps taken, the last violation). Ends early when a multiplier exceeds `cap`.
    """
    cdef Py_ssize_t n = a.shape[0], i, j, t
    cdef int64_t taken = 0
    cdef double best, worst, gain, most_gain, curvature, step, di, dj, si, sj, value, gap = INFINITY
    with nogil:
        while taken < most and not stop[0]:
            i, best = -1, -INFINITY
            for t in range(n):
                value = -signs[t] * gradient[t]
                if value > best and (a[t] < limits[t] if signs[t] > 0 else a[t] > 0):
                    best, i = value, t
            j, worst, most_gain = -1, INFINITY, -INFINITY
            if i >= 0:
                for t in range(n):
                    if not (a[t] > 0 if signs[t] > 0 else a[t] < limits[t]):
                        continue
                    value = -signs[t] * gradient[t]
                    if value < worst:
                        worst = value
                    if value < best:
                        curvature = diagonal[i] + diagonal[t] - 2.0 * K[i, t]
                        if curvature < TINY:
                            curvature = TINY
                        gain = (best - value) * (best - value) / curvature
                        if gain > most_gain:
                            most_gain, j = gain, t
            gap = best - worst if i >= 0 and worst < INFINITY else 0.0
            if j < 0 or gap <= tol:
                break
            si, sj = signs[i], signs[j]
            curvature = diagonal[i] + diagonal[j] - 2.0 * K[i, j]
            step = (best + sj * gradient[j]) / (curvature if curvature > TINY else TINY)
            di = moved(a[i], limits[i], si * step) - a[i]
            dj = moved(a[j], limits[j], -sj * step) - a[j]
            # The shorter of the two moves holds for both, so that the constraint is kept.
            step = min(si * di, -sj * dj)
            di = moved(a[i], limits[i], si * step) - a[i] if si * di > step else di
            dj = moved(a[j], limits[j], -sj * step) - a[j] if -sj * dj > step else dj
            a[i] += di
            a[j] += dj
            for t in range(n):
                gradient[t] += signs[t] * (K[i, t] * (si * di) + K[j, t] * (sj * dj))
            taken += 1
            if a[i] > cap or a[j] > cap:
                break
    return taken, gap
