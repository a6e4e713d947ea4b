"""Loops over the cells of a table: column facts, row hashes, row order to column order.

Arrays and scalars in, arrays out; no Python object inside a loop. Each has a plain twin in the tests.
"""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #include <stddef.h>
    #define MIX 0xD6E8FEB86659FD93ULL

    #define AHEAD 512 /* cells: the processor does not foresee rows that are read four at a time */

    #define WIDEN(x) low = x < low ? x : low, high = x > high ? x : high

    /* Four rows at a time, so that sums and ranges are loaded and stored a quarter as often; each sum
     * still runs from the first row to the last. */
    static inline __attribute__((always_inline)) void facts_of(
        const double *restrict X, const double *restrict w, ptrdiff_t n, ptrdiff_t p,
        double *restrict totals, double *restrict lows, double *restrict highs)
    {
        ptrdiff_t i = 0;
        for (; i + 4 <= n; i += 4) {
            const double *const a = X + i * p, *const b = a + p, *const c = b + p, *const d = c + p;
            for (ptrdiff_t j = 0; j < 4 * p; j += 8) __builtin_prefetch(a + AHEAD + j);
            for (ptrdiff_t j = 0; j < p; j++) {
                double total = totals[j], low = lows[j], high = highs[j];
                total += w[i] * a[j], WIDEN(a[j]);
                total += w[i + 1] * b[j], WIDEN(b[j]);
                total += w[i + 2] * c[j], WIDEN(c[j]);
                total += w[i + 3] * d[j], WIDEN(d[j]);
                totals[j] = total, lows[j] = low, highs[j] = high;
            }
        }
        for (; i < n; i++)
            for (ptrdiff_t j = 0; j < p; j++) {
                const double x = X[i * p + j];
                double low = lows[j], high = highs[j];
                totals[j] += w[i] * x, WIDEN(x);
                lows[j] = low, highs[j] = high;
            }
    }

    /* Columns share nothing, so more lanes give equal bits. */
    #if defined(__x86_64__)
    static __attribute__((target("avx2"))) void facts_avx2(
        const double *X, const double *w, ptrdiff_t n, ptrdiff_t p, double *totals, double *lows,
        double *highs)
    {
        facts_of(X, w, n, p, totals, lows, highs);
    }
    #endif

    static void facts(const double *X, const double *w, ptrdiff_t n, ptrdiff_t p, double *totals,
                      double *lows, double *highs)
    {
    #if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2")) {
            facts_avx2(X, w, n, p, totals, lows, highs);
            return;
        }
    #endif
        facts_of(X, w, n, p, totals, lows, highs);
    }
    """
    const uint64_t MIX
    void facts(const double *X, const double *w, Py_ssize_t n, Py_ssize_t p, double *totals,
               double *lows, double *highs) noexcept nogil


def column_facts(
    const double[:, ::1] X, const double[::1] w,
    double[::1] total, double[::1] low, double[::1] high,
):
    """Adds w'X to `total` and widens [low, high]; a NaN shows in `total` alone."""
    with nogil:
        if X.shape[0] and X.shape[1]:
            facts(&X[0, 0], &w[0], X.shape[0], X.shape[1], &total[0], &low[0], &high[0])


cdef inline uint64_t _mix(double value) noexcept nogil:
    """64-bit mix of a cell; 0.0 and -0.0 give 0, every NaN the same."""
    cdef uint64_t bits
    if value != value:
        bits = 0x7FF8000000000000
    else:
        value = value + 0.0
        memcpy(&bits, &value, 8)
    bits ^= bits >> 32
    bits *= MIX
    bits ^= bits >> 29
    return bits


ctypedef fused position:
    int
    long long


def sparse_facts(
    const double[::1] data, const position[::1] indices, const position[::1] indptr,
    const double[::1] w, double[:, ::1] facts,
):
    """Sum of w x, number, minimum and maximum of the stored cells of each column of a CSR table.

    `facts` is (p, 4): what belongs to a column stands together, because columns come in any order.
    """
    cdef Py_ssize_t i, k
    cdef double x
    cdef double *own
    with nogil:
        for i in range(indptr.shape[0] - 1):
            for k in range(indptr[i], indptr[i + 1]):
                x, own = data[k], &facts[indices[k], 0]
                own[0] += w[i] * x
                own[1] += 1.0
                own[2] = x if x < own[2] else own[2]
                own[3] = x if x > own[3] else own[3]


def hash_rows(const double[:, :] X, const uint64_t[::1] multiplier, uint64_t[::1] out):
    """Adds sum_j multiplier_j mix(x_ij) to `out`, whatever the order of X in memory."""
    cdef Py_ssize_t i, j, n = X.shape[0], p = X.shape[1]
    cdef uint64_t h
    with nogil:
        if X.strides[0] >= X.strides[1]:
            for i in range(n):
                h = 0
                for j in range(p):
                    h += multiplier[j] * _mix(X[i, j])
                out[i] += h
        else:
            for j in range(p):
                for i in range(n):
                    out[i] += multiplier[j] * _mix(X[i, j])


def mix_cells(const double[::1] values, uint64_t[::1] out):
    """The mix of each cell."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(values.shape[0]):
            out[i] = _mix(values[i])


def to_columns(const double[:, ::1] X, double[:, :] out):
    """Copies rows into Fortran order by tiles that stay in the cache; returns the sum of x - x.

    That is 0 for finite cells and NaN otherwise: the caller learns it in the same pass.
    """
    cdef Py_ssize_t i, j, i0, j0, i1, j1, n = X.shape[0], p = X.shape[1]
    cdef double x, bad = 0.0
    cdef Py_ssize_t tile = 512, strip = 8  # a cache line of each row, many rows
    with nogil:
        i0 = 0
        while i0 < n:
            i1 = min(i0 + tile, n)
            j0 = 0
            while j0 < p:
                j1 = min(j0 + strip, p)
                for j in range(j0, j1):
                    for i in range(i0, i1):
                        x = X[i, j]
                        out[i, j] = x
                        bad += x - x
                j0 = j1
            i0 = i1
    return bad


cdef inline void _add(double x, double* high, double* low) noexcept nogil:
    """(high, low) += x, without error but for the last bits of low."""
    cdef double total = high[0] + x
    cdef double part = total - high[0]
    low[0] += (high[0] - (total - part)) + (x - part)
    high[0] = total


cdef inline void _add_product(double w, double x, double* high, double* low) noexcept nogil:
    """(high, low) += w x, the product split exactly (Dekker)."""
    cdef double product = w * x
    cdef double c, wh, wl, xh, xl
    _add(product, high, low)
    if w != 1.0:
        c = 134217729.0 * w
        wh = c - (c - w)
        wl = w - wh
        c = 134217729.0 * x
        xh = c - (c - x)
        xl = x - xh
        low[0] += ((wh * xh - product) + wh * xl + wl * xh) + wl * xl


def present_facts(
    const double[:, ::1] X, const double[::1] w, double[:, ::1] total, double[:, ::1] weight,
    double[::1] low, double[::1] high,
):
    """As `column_facts` over the cells that are not NaN, the sums in double-double.

    Such a sum does not depend on the order of the rows, nor does the mean that fills the gaps.
    total, weight : (2, p), high and low parts.
    """
    cdef Py_ssize_t i, j, n = X.shape[0], p = X.shape[1]
    cdef double x
    with nogil:
        for i in range(n):
            for j in range(p):
                x = X[i, j]
                if x == x:
                    _add_product(w[i], x, &total[0, j], &total[1, j])
                    _add(w[i], &weight[0, j], &weight[1, j])
                    low[j] = x if x < low[j] else low[j]
                    high[j] = x if x > high[j] else high[j]


def impute(
    const double[:, ::1] X, const double[::1] mean, const int[::1] place, const int[::1] indicator,
    double[:, ::1] out,
):
    """Numbers with gaps as terms: value (mean where NaN) at `place`, 1 where NaN at `indicator`.

    Returns the sum of x - x over the present cells: NaN if one is infinite.
    """
    cdef Py_ssize_t i, j
    cdef double x, bad = 0.0
    cdef bint missing
    with nogil:
        for i in range(X.shape[0]):
            for j in range(X.shape[1]):
                x = X[i, j]
                missing = x != x
                if not missing:
                    bad += x - x
                out[i, place[j]] = mean[j] if missing else x
                if indicator[j] >= 0:
                    out[i, indicator[j]] = 1.0 if missing else 0.0
    return bad


def checksum(const uint8_t[::1] cells, uint64_t seed):
    """A number that depends on every byte and on its place, beginning from `seed`."""
    cdef uint64_t h[4]
    cdef uint64_t word[4]
    cdef Py_ssize_t i, k, n = cells.shape[0], whole = n // 32 * 32
    for k in range(4):
        h[k] = seed + (<uint64_t>k + 1) * MIX
    with nogil:
        for i in range(0, whole, 32):
            memcpy(word, &cells[i], 32)
            for k in range(4):
                h[k] = (h[k] ^ word[k]) * MIX
                h[k] ^= h[k] >> 32
        for i in range(whole, n):
            h[0] = (h[0] ^ cells[i]) * MIX
            h[0] ^= h[0] >> 32
        for k in range(1, 4):
            h[0] = (h[0] ^ h[k]) * MIX
            h[0] ^= h[0] >> 32
        h[0] = (h[0] ^ <uint64_t>n) * MIX
    return h[0]
