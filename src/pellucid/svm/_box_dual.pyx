"""Coordinate descent on the dual of linear support vector machines.

    minimise 1/2 |w|**2 - t'beta + epsilon |beta| + sum_i soft_i beta_i**2 / 2,   w = X'beta

with low_i <= beta_i <= high_i, which are 0 or infinite for squared errors; `soft` is 0 for others. Row i is
data[indptr[i]:indptr[i + 1]]; the last entry of w belongs to a constant column of value `bias`.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t

cdef extern from *:
    """
    static inline void bring(const char *x, Py_ssize_t n) {
        for (Py_ssize_t j = 0; j < n; j += 64) __builtin_prefetch(x + j, 0, 1);
    }
    """
    void bring(const char *x, Py_ssize_t n) noexcept nogil


cdef inline double product(const double *x, const int32_t *columns, Py_ssize_t n, const double *w,
                           bint dense) noexcept nogil:
    cdef Py_ssize_t j = 0
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    if dense:
        while j + 4 <= n:
            a += x[j] * w[j]
            b += x[j + 1] * w[j + 1]
            c += x[j + 2] * w[j + 2]
            d += x[j + 3] * w[j + 3]
            j += 4
        while j < n:
            a += x[j] * w[j]
            j += 1
        return (a + b) + (c + d)
    while j + 4 <= n:
        a += x[j] * w[columns[j]]
        b += x[j + 1] * w[columns[j + 1]]
        c += x[j + 2] * w[columns[j + 2]]
        d += x[j + 3] * w[columns[j + 3]]
        j += 4
    while j < n:
        a += x[j] * w[columns[j]]
        j += 1
    return (a + b) + (c + d)


cdef inline void add(double *w, const double *x, const int32_t *columns, Py_ssize_t n, double step,
                     bint dense) noexcept nogil:
    cdef Py_ssize_t j
    if dense:
        for j in range(n):
            w[j] += step * x[j]
    else:
        for j in range(n):
            w[columns[j]] += step * x[j]


cdef inline Py_ssize_t below(uint64_t *seed, Py_ssize_t n) noexcept nogil:
    """A pseudo-random number below n < 2**32 (xorshift)."""
    seed[0] ^= seed[0] << 13
    seed[0] ^= seed[0] >> 7
    seed[0] ^= seed[0] << 17
    return <Py_ssize_t>(((seed[0] >> 32) * <uint64_t>n) >> 32)


cdef enum:
    NEAR = 256  # cells of a row that are prefetched


def epochs(const double[::1] data, const int32_t[::1] indices, const int64_t[::1] indptr, bint dense,
           const double[::1] targets, double epsilon, const double[::1] low,
           const double[::1] high, const double[::1] soft, const double[::1] curves, double bias,
           int64_t[::1] order, uint64_t[::1] seed, double[::1] progress, Py_ssize_t count, double tol,
           double[::1] beta, double[::1] w, const int32_t[::1] stop):
    """`count` passes over the multipliers in shuffled order, or fewer: the number of passes.

    Multipliers that cannot move are passed over: those whose derivatives point out of the bounds by
    more than the largest violation of the last pass. `order` has them last. `progress` holds (number
    of others, that violation, 1 if all conditions hold within `tol`, multipliers visited so far) and
    is continued by the next call. `curves` are the squared lengths of the rows, bias and `soft` included.
    """
    cdef Py_ssize_t e, k, i, m, start, active = <Py_ssize_t>progress[0], n = order.shape[0]
    cdef Py_ssize_t p = w.shape[0] - 1, done = 0, visited = 0
    cdef double slope, old, new, up, down, worst, limit = progress[1]
    cdef const int32_t *columns = NULL
    with nogil:
        for e in range(count):
            worst = 0.0
            for k in range(active - 1, 0, -1):
                m = below(&seed[0], k + 1)
                order[k], order[m] = order[m], order[k]
            k = 0
            while k < active:
                if k % 1024 == 0 and stop[0]:
                    break
                if k + 2 < active:  # the rows come in random order
                    i = order[k + 2]
                    start, m = indptr[i], indptr[i + 1] - indptr[i]
                    if m:
                        bring(<const char *>&data[start], 8 * min(m, NEAR))
                        if not dense:
                            bring(<const char *>&indices[start], 4 * min(m, NEAR))
                i = order[k]
                start, m, old = indptr[i], indptr[i + 1] - indptr[i], beta[i]
                if not dense and m:
                    columns = &indices[start]
                slope = bias * w[p] - targets[i] + soft[i] * old
                if m:
                    slope += product(&data[start], columns, m, &w[0], dense)
                up = slope + epsilon if old >= 0.0 else slope - epsilon
                down = slope + epsilon if old > 0.0 else slope - epsilon
                up = up if old < high[i] else INFINITY
                down = down if old > low[i] else -INFINITY
                if up > limit and down < -limit:
                    active -= 1
                    order[k], order[active] = order[active], i
                    continue
                worst = max(worst, max(-up, down))
                new = old - (slope + epsilon) / curves[i]
                if new < 0.0:
                    new = min(old - (slope - epsilon) / curves[i], 0.0)
                new = min(max(new, low[i]), high[i])
                if new != old:
                    beta[i] = new
                    if m:
                        add(&w[0], &data[start], columns, m, new - old, dense)
                    w[p] += (new - old) * bias
                k += 1
            done += 1
            visited += active
            limit = worst
            if stop[0]:
                break
            if worst <= tol:
                if active == n:
                    progress[2] = 1.0
                    break
                active, limit = n, INFINITY
        progress[0], progress[1] = active, limit
        progress[3] += visited
    return done
