"""Sums of a block of rows by class.

Layout: X is C-contiguous (n, p), y int32 codes 0..K-1, sums (K, p). A missing cell is NaN;
it takes part only in the loops whose names end in `_present`.
"""


def sum_by_class(
    const double[:, ::1] X, const int[::1] y, const double[::1] w, double[:, ::1] sums,
    double[::1] total,
):
    """sums[k] += sum of w x over the rows of class k; total[k] += sum of w."""
    cdef Py_ssize_t i, j, n = X.shape[0], p = X.shape[1]
    cdef double *s
    cdef const double *x
    cdef double weight
    with nogil:
        for i in range(n):
            s = &sums[y[i], 0]
            x = &X[i, 0]
            weight = w[i]
            total[y[i]] += weight
            for j in range(p):
                s[j] += weight * x[j]


def square_by_class(
    const double[:, ::1] X, const int[::1] y, const double[::1] w, const double[:, ::1] means,
    double[:, ::1] squares, double[:, ::1] slips,
):
    """squares[k] += w (x - mean_k)^2, slips[k] += w (x - mean_k)."""
    cdef Py_ssize_t i, j, n = X.shape[0], p = X.shape[1]
    cdef double *s
    cdef double *t
    cdef const double *x
    cdef const double *m
    cdef double weight, d
    with nogil:
        for i in range(n):
            s = &squares[y[i], 0]
            t = &slips[y[i], 0]
            m = &means[y[i], 0]
            x = &X[i, 0]
            weight = w[i]
            for j in range(p):
                d = x[j] - m[j]
                t[j] += weight * d
                s[j] += weight * d * d


def gather_centred(
    const double[:, ::1] X, const int[::1] y, const double[::1] root, const double[:, ::1] means,
    const long long[::1] place, double[:, ::1] out,
):
    """Row place[i] of out becomes root[i] (x_i - mean of its class)."""
    cdef Py_ssize_t i, j, n = X.shape[0], p = X.shape[1]
    cdef double *o
    cdef const double *x
    cdef const double *m
    cdef double r
    with nogil:
        for i in range(n):
            o = &out[place[i], 0]
            m = &means[y[i], 0]
            x = &X[i, 0]
            r = root[i]
            for j in range(p):
                o[j] = r * (x[j] - m[j])


def sum_present(
    const double[:, ::1] X, const int[::1] y, const double[::1] w, double[:, ::1] sums,
    double[:, ::1] total,
):
    """As `sum_by_class`, but missing cells are left out: total is (K, p)."""
    cdef Py_ssize_t i, j, k, n = X.shape[0], p = X.shape[1]
    with nogil:
        for i in range(n):
            k = y[i]
            for j in range(p):
                if X[i, j] == X[i, j]:
                    sums[k, j] += w[i] * X[i, j]
                    total[k, j] += w[i]


def square_present(
    const double[:, ::1] X, const int[::1] y, const double[::1] w, const double[:, ::1] means,
    double[:, ::1] squares, double[:, ::1] slips,
):
    """As `square_by_class`, but missing cells are left out."""
    cdef Py_ssize_t i, j, k, n = X.shape[0], p = X.shape[1]
    cdef double d
    with nogil:
        for i in range(n):
            k = y[i]
            for j in range(p):
                d = X[i, j] - means[k, j]
                if d == d:
                    squares[k, j] += w[i] * d * d
                    slips[k, j] += w[i] * d


def sum_sparse_by_class(
    const double[::1] data, const int[::1] indices, const int[::1] indptr, const int[::1] y,
    const double[::1] w, double[:, ::1] sums,
):
    """As `sum_by_class`, for the rows of a CSR table."""
    cdef Py_ssize_t i, k
    cdef double *s
    with nogil:
        for i in range(y.shape[0]):
            s = &sums[y[i], 0]
            for k in range(indptr[i], indptr[i + 1]):
                s[indices[k]] += w[i] * data[k]
