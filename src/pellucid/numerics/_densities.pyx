"""Normal log densities of rows in classes, and Bayes' rule over them.

Built twice, plain and for AVX2: lanes are explicit and products are not fused, so both give equal
bits. Layout: X is C-contiguous (n, p), out and Z (n, K).

`whitened_log_density` takes eight rows at a time, a row per lane: their distances from a mean stand
column by column (p, 8). The columns of W (p, r) come in tiles of four, tile after tile, each
(p, 4); a tile whose first rows are zero (a triangular W) is begun after them.

    tiles[t, j, c] = W[j, 4 t + c],    begin[t] = first j where tile t is not zero
"""

from libc.math cimport exp, isfinite, log

cdef extern from *:
    """
    typedef double four __attribute__((vector_size(32)));
    static inline four load(const double *x) { four v; __builtin_memcpy(&v, x, 32); return v; }
    static inline double normal_distance(const double *x, const double *m, const double *q,
                                         Py_ssize_t p) {
        four a = {0.0}, b = {0.0}, d, e;
        double rest = 0.0, r;
        Py_ssize_t j = 0;
        for (; j + 8 <= p; j += 8) {
            d = load(x + j) - load(m + j);
            e = load(x + j + 4) - load(m + j + 4);
            a += d * d * load(q + j);
            b += e * e * load(q + j + 4);
        }
        for (; j < p; j++) { r = x[j] - m[j]; rest += r * r * q[j]; }
        a += b;
        return ((a[0] + a[2]) + (a[1] + a[3])) + rest;
    }
    /* Eight rows (p, 8) minus a mean. */
    static inline void centre_eight(const double *x, const double *m, Py_ssize_t p, double *d) {
        for (Py_ssize_t j = 0; j < p; j++) {
            four a = load(x + 8 * j) - m[j], b = load(x + 8 * j + 4) - m[j];
            __builtin_memcpy(d + 8 * j, &a, 32);
            __builtin_memcpy(d + 8 * j + 4, &b, 32);
        }
    }
    /* Rows are lanes, so the width of a vector changes no bit: as many as registers hold. */
    #ifdef __AVX2__
    typedef double rows __attribute__((vector_size(32)));
    #else
    typedef double rows __attribute__((vector_size(16)));
    #endif
    #define WIDE ((Py_ssize_t) (sizeof(rows) / sizeof(double)))
    static inline void lengths_of_eight(const double *d, Py_ssize_t p, const double *tiles,
                                        const long long *begin, Py_ssize_t n_tiles, double *out) {
        for (Py_ssize_t l = 0; l < 8; l += 2 * WIDE) {
            rows s0 = {0.0}, s1 = {0.0}, a, b;
            for (Py_ssize_t t = 0; t < n_tiles; t++) {
                const double *w = tiles + 4 * p * t;
                rows z0[4] = {{0.0}, {0.0}, {0.0}, {0.0}}, z1[4] = {{0.0}, {0.0}, {0.0}, {0.0}};
                for (Py_ssize_t j = begin[t]; j < p; j++) {
                    __builtin_memcpy(&a, d + 8 * j + l, sizeof(rows));
                    __builtin_memcpy(&b, d + 8 * j + l + WIDE, sizeof(rows));
                    for (int c = 0; c < 4; c++) {
                        z0[c] += a * w[4 * j + c];
                        z1[c] += b * w[4 * j + c];
                    }
                }
                for (int c = 0; c < 4; c++) { s0 += z0[c] * z0[c]; s1 += z1[c] * z1[c]; }
            }
            __builtin_memcpy(out + l, &s0, sizeof(rows));
            __builtin_memcpy(out + l + WIDE, &s1, sizeof(rows));
        }
    }
    """
    double normal_distance(const double *x, const double *m, const double *q, Py_ssize_t p) noexcept nogil
    void centre_eight(const double *x, const double *m, Py_ssize_t p, double *d) noexcept nogil
    void lengths_of_eight(
        const double *d, Py_ssize_t p, const double *tiles, const long long *begin,
        Py_ssize_t n_tiles, double *out,
    ) noexcept nogil


cdef inline double log_density(double distance, double constant, double largest, Py_ssize_t *far) noexcept nogil:
    """-(distance + constant) / 2; a distance beyond the largest, or none, counts as far."""
    if distance <= largest:
        return -0.5 * (distance + constant)
    far[0] += 1
    return -0.5 * (largest + constant) if distance > largest else distance


def normal_log_density(
    const double[:, ::1] X, const double[:, ::1] means, const double[:, ::1] precision,
    const double[::1] constant, double largest, double[:, ::1] out,
):
    """Distances are sums over columns of (x - mean)^2 * precision, in eight lanes.

    Returns how many are larger than the largest, which stands for them, or NaN, which they stay.
    """
    cdef Py_ssize_t i, k, n = X.shape[0], p = X.shape[1], K = means.shape[0], far = 0
    cdef double d
    with nogil:
        for i in range(n):
            for k in range(K):
                d = normal_distance(&X[i, 0], &means[k, 0], &precision[k, 0], p)
                out[i, k] = log_density(d, constant[k], largest, &far)
    return far


def whitened_log_density(
    const double[:, ::1] X, const double[:, ::1] means, const double[:, :, :, ::1] tiles,
    const long long[:, ::1] begin, const double[::1] constant, double largest,
    double[:, :, ::1] room, double[:, ::1] out,
):
    """Distances are |(x_i - mean_k) W_k|^2; returns how many are far, as `normal_log_density` does.

    `room` is for (2, p, 8): rows, and rows minus a mean.
    """
    cdef Py_ssize_t i, j, k, l, rows, n = X.shape[0], p = X.shape[1], K = means.shape[0], far = 0
    cdef double found[8]
    cdef double *turned = &room[0, 0, 0]
    cdef double *apart = &room[1, 0, 0]
    cdef const double *x
    with nogil:
        for i in range(0, n, 8):
            rows = min(8, n - i)
            for l in range(8):
                x = &X[i + min(l, rows - 1), 0]
                for j in range(p):
                    turned[8 * j + l] = x[j]
            for k in range(K):
                centre_eight(turned, &means[k, 0], p, apart)
                lengths_of_eight(
                    apart, p, &tiles[k, 0, 0, 0], &begin[k, 0], begin.shape[1], found
                )
                for l in range(rows):
                    out[i + l, k] = log_density(found[l], constant[k], largest, &far)
    return far


def normalise(
    const double[:, ::1] Z, const double[::1] log_prior, bint logs, double[:, ::1] out,
    unsigned char[::1] failed,
):
    """Rows of log p(x | c) give p(c | x), or log p(c | x); returns how many could not.

    Those rows, which hold a NaN or nothing above -inf, are marked in `failed`.
    """
    cdef Py_ssize_t i, k, n = Z.shape[0], K = Z.shape[1], bad = 0
    cdef double top, total
    cdef double *z
    with nogil:
        for i in range(n):
            z = &out[i, 0]
            for k in range(K):
                z[k] = Z[i, k] + log_prior[k]
            top = z[0]
            for k in range(1, K):
                if z[k] > top or z[k] != z[k]:
                    top = z[k]
            failed[i] = not isfinite(top)
            bad += failed[i]
            if failed[i]:
                continue
            total = 0.0
            for k in range(K):
                z[k] -= top  # first, so that large logarithms leave no rounding error in the sum
                total += exp(z[k])
            for k in range(K):
                z[k] = z[k] - log(total) if logs else exp(z[k]) / total
    return bad


def leading(
    const double[:, ::1] Z, const double[::1] log_prior, double margin, long long[::1] codes,
    unsigned char[::1] close,
):
    """codes[i] = the largest of Z[i] + log_prior; close[i] = 1 where another is within the margin,
    or none is a number. Returns how many are close."""
    cdef Py_ssize_t i, k, best, n = Z.shape[0], K = Z.shape[1], count = 0
    cdef double top, second, less, z
    cdef bint odd
    with nogil:
        for i in range(n):
            best, top, second = 0, Z[i, 0] + log_prior[0], -1e308
            odd = top != top
            for k in range(1, K):  # which class leads is hard to foresee: no branches
                z = Z[i, k] + log_prior[k]
                less = z if z < top else top
                second = less if less > second else second
                best = k if z > top else best
                top = z if z > top else top
                odd |= z != z
            codes[i] = best
            close[i] = odd or not (isfinite(top) and top - second > margin)
            count += close[i]
    return count
