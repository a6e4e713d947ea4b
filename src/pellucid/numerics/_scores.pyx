"""x . b + b0 of many rows, in one pass over cells of double or single precision.

Built twice, plain and for AVX2, with explicit lanes: both give equal bits. A row has the same bits alone
and among others. Layout: X is C-contiguous (rows, p), or CSR.
"""

from libc.stdint cimport int32_t, int64_t

cdef extern from *:
    """
    typedef double four __attribute__((vector_size(32)));
    typedef float four_single __attribute__((vector_size(16)));
    static inline four load(const double *x) { four v; __builtin_memcpy(&v, x, 32); return v; }
    static inline four load_single(const float *x) {
        four_single v;
        __builtin_memcpy(&v, x, 16);
        return __builtin_convertvector(v, four);
    }
    #define AHEAD 4096 /* bytes: the processor does not foresee rows that are read four at a time */
    #define ROW_SCORES(name, cell, load_cells)                                                      \\
    static void name(const double *w, const cell *x, Py_ssize_t n, Py_ssize_t p, double b0,         \\
                     double *out) {                                                                 \\
        Py_ssize_t i = 0, j;                                                                        \\
        for (; i + 4 <= n; i += 4, x += 4 * p) {                                                    \\
            four a[4] = {{0.0}}, b[4] = {{0.0}};                                                    \\
            double rest[4] = {0.0};                                                                 \\
            for (j = 0; j < 4 * p * (Py_ssize_t) sizeof(cell); j += 64)                             \\
                __builtin_prefetch((const char *) x + AHEAD + j);                                   \\
            for (j = 0; j + 8 <= p; j += 8) {                                                       \\
                four u = load(w + j), v = load(w + j + 4);                                          \\
                for (int r = 0; r < 4; r++) {                                                       \\
                    a[r] += u * load_cells(x + r * p + j);                                          \\
                    b[r] += v * load_cells(x + r * p + j + 4);                                      \\
                }                                                                                   \\
            }                                                                                       \\
            for (; j < p; j++)                                                                      \\
                for (int r = 0; r < 4; r++) rest[r] += w[j] * x[r * p + j];                         \\
            for (int r = 0; r < 4; r++) {                                                           \\
                a[r] += b[r];                                                                       \\
                out[i + r] = (((a[r][0] + a[r][2]) + (a[r][1] + a[r][3])) + rest[r]) + b0;          \\
            }                                                                                       \\
        }                                                                                           \\
        for (; i < n; i++, x += p) {                                                                \\
            four a = {0.0}, b = {0.0};                                                              \\
            double rest = 0.0;                                                                      \\
            for (j = 0; j + 8 <= p; j += 8) {                                                       \\
                a += load(w + j) * load_cells(x + j);                                               \\
                b += load(w + j + 4) * load_cells(x + j + 4);                                       \\
            }                                                                                       \\
            for (; j < p; j++) rest += w[j] * x[j];                                                 \\
            a += b;                                                                                 \\
            out[i] = (((a[0] + a[2]) + (a[1] + a[3])) + rest) + b0;                                 \\
        }                                                                                           \\
    }
    ROW_SCORES(double_scores, double, load)
    ROW_SCORES(single_scores, float, load_single)
    """
    void double_scores(
        const double *w, const double *x, Py_ssize_t n, Py_ssize_t p, double b0, double *out
    ) noexcept nogil
    void single_scores(
        const double *w, const float *x, Py_ssize_t n, Py_ssize_t p, double b0, double *out
    ) noexcept nogil

ctypedef fused real:
    float
    double

ctypedef fused place:
    int32_t
    int64_t

cdef enum:
    FOUR = 4


def row_scores(const real[:, ::1] X, const double[::1] b, double b0, double[::1] out):
    """out[i] = x_i . b + b0. Every cell is read, also where b is 0: NaN and infinity show."""
    cdef Py_ssize_t n = X.shape[0], p = X.shape[1]
    if n == 0 or p == 0:
        out[:] = b0
        return
    with nogil:
        if real is float:
            single_scores(&b[0], &X[0, 0], n, p, b0, &out[0])
        else:
            double_scores(&b[0], &X[0, 0], n, p, b0, &out[0])


cdef inline double entry_score(
    const double *x, const place *where, Py_ssize_t m, const double *b
) noexcept nogil:
    """x . b of stored entries, in four sums: additions to one number wait for each other."""
    cdef Py_ssize_t j = 0
    cdef double s = 0.0, t = 0.0, u = 0.0, v = 0.0
    while j + 4 <= m:
        s += x[j] * b[where[j]]
        t += x[j + 1] * b[where[j + 1]]
        u += x[j + 2] * b[where[j + 2]]
        v += x[j + 3] * b[where[j + 3]]
        j += 4
    while j < m:
        s += x[j] * b[where[j]]
        j += 1
    return (s + t) + (u + v)


def sparse_scores(
    const double[::1] data, const place[::1] indices, const place[::1] indptr, Py_ssize_t first,
    const double[::1] b, double b0, double[::1] out,
):
    """out[i] = x_i . b + b0 of the rows from `first` on. Every stored entry is read."""
    cdef Py_ssize_t i
    cdef place begin, end
    if data.shape[0] == 0:
        out[:] = b0
        return
    with nogil:
        for i in range(out.shape[0]):
            begin, end = indptr[first + i], indptr[first + i + 1]
            out[i] = entry_score(&data[0] + begin, &indices[0] + begin, end - begin, &b[0]) + b0


def sparse_class_scores(
    const double[::1] data, const place[::1] indices, const place[::1] indptr, Py_ssize_t first,
    const double[:, ::1] B, const double[::1] b0, double[:, ::1] out,
):
    """The same for 2 to 4 columns of coefficients B (p, 2 or 4), of which the last may be 0."""
    cdef Py_ssize_t i, j, k, q = out.shape[1]
    cdef double even[FOUR]
    cdef double odd[FOUR]
    with nogil:
        for i in range(out.shape[0]):
            for k in range(FOUR):
                even[k] = odd[k] = 0.0
            j = indptr[first + i]
            if B.shape[1] == 2:
                while j + 2 <= indptr[first + i + 1]:
                    for k in range(2):
                        even[k] += data[j] * B[indices[j], k]
                        odd[k] += data[j + 1] * B[indices[j + 1], k]
                    j += 2
            else:
                while j + 2 <= indptr[first + i + 1]:
                    for k in range(FOUR):
                        even[k] += data[j] * B[indices[j], k]
                        odd[k] += data[j + 1] * B[indices[j + 1], k]
                    j += 2
            if j < indptr[first + i + 1]:
                for k in range(B.shape[1]):
                    even[k] += data[j] * B[indices[j], k]
            for k in range(q):
                out[i, k] = (even[k] + odd[k]) + b0[k]
