"""Double-double sums: about 32 digits from pairs (high, low) of doubles.

Built twice, plain and for AVX2 with fused multiply-add; both give equal bits, because the error of a
product is exact either way and lanes are explicit. Layout: X is C-contiguous (rows, p).
"""

from libc.math cimport sqrt
from libc.stdlib cimport calloc, free, malloc

cdef extern from "double_lanes.h":
    void add_moments(
        const double *x, double share, double *mean, double *sums, double *squares, Py_ssize_t p
    ) noexcept nogil
    double largest_of(const double *x, Py_ssize_t n) noexcept nogil
    double lane_dot(const double *w, const double *y, Py_ssize_t p) noexcept nogil
    void fetch(const double *x, Py_ssize_t cells) noexcept nogil
    void add_rows(
        double *g, const double *x, const double *y, const double *z, const double *t, double a,
        double b, double c, double d, Py_ssize_t p
    ) noexcept nogil
    void lane_sums(
        const double *x, const double *bh, const double *bl, Py_ssize_t p, double *sh, double *sl
    ) noexcept nogil
    void four_residuals(
        const double *x, const double *y, Py_ssize_t step, const double *w, const double *bh,
        const double *bl, Py_ssize_t p, double *rh, double *rl, double *vh, double *vl
    ) noexcept nogil
    void add_four_rows(
        double *gh, double *gl, const double *x, const double *vh, const double *vl, Py_ssize_t p
    ) noexcept nogil
    int pellucid_cpu_has_avx2() nogil
    double product_error(double a, double b, double p) noexcept nogil

cdef enum:
    LANES = 8


def cpu_has_avx2():
    """Whether the AVX2 build of this module may run here."""
    return bool(pellucid_cpu_has_avx2())


cdef inline void add_double(double *h, double *l, double x) noexcept nogil:
    """(h, l) += x, without renormalising."""
    cdef double t = h[0] + x
    cdef double z = t - h[0]
    l[0] += (h[0] - (t - z)) + (x - z)
    h[0] = t


cdef inline void normalise(double *h, double *l) noexcept nogil:
    cdef double t = h[0] + l[0]
    l[0] = l[0] - (t - h[0])
    h[0] = t


cdef inline void add_product(double *h, double *l, double a, double bh, double bl) noexcept nogil:
    """(h, l) += a * (bh + bl)."""
    cdef double p = a * bh
    cdef double e = product_error(a, bh, p)
    cdef double t = h[0] + p
    cdef double z = t - h[0]
    l[0] += ((h[0] - (t - z)) + (p - z)) + (e + a * bl)
    h[0] = t


cdef inline void row_dot(
    const double *x, const double *bh, const double *bl, Py_ssize_t p, double *h, double *l
) noexcept nogil:
    """(h, l) = x . (bh + bl) over p entries, in LANES separate sums."""
    cdef double sh[LANES]
    cdef double sl[LANES]
    cdef Py_ssize_t j, full = p - p % LANES
    cdef int k
    lane_sums(x, bh, bl, full, sh, sl)
    for j in range(full, p):
        add_product(&sh[0], &sl[0], x[j], bh[j], bl[j])
    for k in range(1, LANES):
        add_double(&sh[0], &sl[0], sh[k])
        sl[0] += sl[k]
    h[0] = sh[0]
    l[0] = sl[0]
    normalise(h, l)


cdef inline void add_row(
    double *gh, double *gl, const double *x, double rh, double rl, Py_ssize_t p
) noexcept nogil:
    """(gh, gl) += x * (rh + rl), entry by entry."""
    cdef Py_ssize_t j
    cdef double q, e, t, z
    for j in range(p):
        q = x[j] * rh
        e = product_error(x[j], rh, q) + x[j] * rl
        t = gh[j] + q
        z = t - gh[j]
        gl[j] += ((gh[j] - (t - z)) + (q - z)) + e
        gh[j] = t


cdef inline void residual(
    const double *x, double y, const double *bh, const double *bl, Py_ssize_t p, double *rh,
    double *rl,
) noexcept nogil:
    """(rh, rl) = y - x.b - b0."""
    row_dot(x, bh, bl, p, rh, rl)
    rh[0] = -rh[0]
    rl[0] = -rl[0]
    add_double(rh, rl, -bh[p])
    add_double(rh, rl, y)
    rl[0] -= bl[p]
    normalise(rh, rl)


cdef inline void add_sums(
    double *gh, double *gl, double rh, double rl, double vh, double vl
) noexcept nogil:
    """Add v = w r and r v to the first two entries of (gh, gl)."""
    add_double(gh, gl, vh)
    gl[0] += vl
    add_product(gh + 1, gl + 1, rh, vh, vl)
    gl[1] += rl * vh


def residual_gradient(
    const double[:, ::1] X, const double[:] y, const double[::1] w,
    const double[::1] bh, const double[::1] bl, double[::1] gh, double[::1] gl,
):
    """Add the sums over rows of w r x and w r, r = y - x.b - b0, and of w r^2, to (gh, gl).

    b and g have p + 2 entries: p columns, the intercept, and the sum of squares (b's is not read).
    """
    cdef Py_ssize_t i = 0, k, n = X.shape[0], p = X.shape[1], step = y.strides[0] // sizeof(double)
    cdef double rh[4]
    cdef double rl[4]
    cdef double vh[4]
    cdef double vl[4]
    with nogil:
        while i < n:
            if i + 4 <= n and w[i] and w[i + 1] and w[i + 2] and w[i + 3]:
                four_residuals(
                    &X[i, 0], &y[i], step, &w[i], &bh[0], &bl[0], p, rh, rl, vh, vl
                )
                add_four_rows(&gh[0], &gl[0], &X[i, 0], vh, vl, p)
                for k in range(4):
                    add_sums(&gh[p], &gl[p], rh[k], rl[k], vh[k], vl[k])
                i += 4
                continue
            if w[i] != 0.0:
                residual(&X[i, 0], y[i], &bh[0], &bl[0], p, rh, rl)
                vh[0] = 0.0
                vl[0] = 0.0
                add_product(vh, vl, w[i], rh[0], rl[0])
                normalise(vh, vl)
                add_row(&gh[0], &gl[0], &X[i, 0], vh[0], vl[0], p)
                add_sums(&gh[p], &gl[p], rh[0], rl[0], vh[0], vl[0])
            i += 1
        for i in range(p + 2):
            normalise(&gh[i], &gl[i])


def residuals(
    const double[:, ::1] X, const double[::1] y, const double[::1] bh, const double[::1] bl,
    double[::1] out,
):
    """out = y - x.b - b0 of each row; b as in `residual_gradient`."""
    cdef Py_ssize_t i, p = X.shape[1]
    cdef double rh, rl
    with nogil:
        for i in range(X.shape[0]):
            residual(&X[i, 0], y[i], &bh[0], &bl[0], p, &rh, &rl)
            out[i] = rh


def row_sums(const double[:, ::1] X, const double[:, ::1] E, double[:, ::1] out):
    """out += E X for a few rows E, in plain arithmetic: four rows of X serve all of them at once."""
    cdef Py_ssize_t i = 0, k, n = X.shape[0], p = X.shape[1], m = E.shape[0]
    cdef const double *x
    with nogil:
        while i + 4 <= n:
            x = &X[i, 0]
            fetch(x, 4 * p)
            for k in range(m):
                add_rows(
                    &out[k, 0], x, x + p, x + 2 * p, x + 3 * p, E[k, i], E[k, i + 1], E[k, i + 2],
                    E[k, i + 3], p,
                )
            i += 4
        while i < n:
            x = &X[i, 0]
            for k in range(m):
                add_rows(&out[k, 0], x, x, x, x, E[k, i], 0.0, 0.0, 0.0, p)
            i += 1


def first_means(
    const double[:, ::1] X, const double[:, :] Y, const double[::1] w, double near,
    double[::1] shift, double[::1] start,
):
    """start = mean of Y; shift = mean of X, or 0 where it is at most `near` standard deviations.

    Shifts need not be exact: the deviations are those of equal weights. All arrays are 0 before.
    """
    cdef Py_ssize_t i, j, n = X.shape[0], p = X.shape[1], k = Y.shape[1]
    cdef double share, total = 0.0, middle, even = 1.0 / n
    cdef bint equal = True
    cdef double *sums = <double *> calloc(2 * max(p, 1), sizeof(double))
    cdef double *squares = sums + p
    if sums == NULL:
        raise MemoryError
    with nogil:
        for i in range(n):
            total += w[i]
            equal = equal and w[i] == w[0]
        for i in range(n):
            share = w[i] / total if total > 0.0 else even
            add_moments(&X[i, 0], share, &shift[0], sums, squares, p)
            for j in range(k):
                start[j] += share * Y[i, j]
        for j in range(p):
            middle = shift[j] if equal else sums[j] * even
            if shift[j] * shift[j] <= near * near * (squares[j] * even - middle * middle):
                shift[j] = 0.0
    free(sums)


def largest(const double[:, ::1] X):
    """max |x| of all cells, none of which is NaN; 0 if there are none."""
    cdef double size = 0.0
    with nogil:
        if X.shape[0] and X.shape[1]:
            size = largest_of(&X[0, 0], X.shape[0] * X.shape[1])
    return size


def row_squares(
    const double[:, :] Z, const double[::1] centre, const double[:, ::1] W, double[:, ::1] out
):
    """out[i, k] = sum_j W[k, j] (Z[i, j] - centre[j])^2; each row of Z is contiguous."""
    cdef Py_ssize_t i, j, k, p = Z.shape[1]
    cdef const double *z
    cdef double *y = <double *> malloc(max(p, 1) * sizeof(double))
    if y == NULL:
        raise MemoryError
    with nogil:
        for i in range(Z.shape[0]):
            z = &Z[i, 0]
            for j in range(p):
                y[j] = (z[j] - centre[j]) * (z[j] - centre[j])
            for k in range(W.shape[0]):
                out[i, k] = lane_dot(&W[k, 0], y, p)
    free(y)


def merge(double[::1] ah, double[::1] al, const double[::1] bh, const double[::1] bl):
    """(ah, al) += (bh, bl), entry by entry: how the sums of two blocks are combined."""
    cdef Py_ssize_t j
    with nogil:
        for j in range(ah.shape[0]):
            add_double(&ah[j], &al[j], bh[j])
            al[j] += bl[j]
            normalise(&ah[j], &al[j])


def gram(const double[:, ::1] X, const double[::1] w, double[:, ::1] Gh, double[:, ::1] Gl):
    """Add the lower triangle of the sum over rows of w x x' to (Gh, Gl)."""
    cdef Py_ssize_t i, j, p = X.shape[1]
    cdef double vh, vl
    with nogil:
        for i in range(X.shape[0]):
            for j in range(p):
                vh = w[i] * X[i, j]
                vl = product_error(w[i], X[i, j], vh)
                if vh != 0.0:
                    add_row(&Gh[j, 0], &Gl[j, 0], &X[i, 0], vh, vl, j + 1)
        for i in range(p):
            for j in range(i + 1):
                normalise(&Gh[i, j], &Gl[i, j])


cdef inline void subtract_product(
    double *h, double *l, double ah, double al, double bh, double bl
) noexcept nogil:
    add_product(h, l, -ah, bh, bl)
    l[0] -= al * bh
    normalise(h, l)


cdef inline void divide(double *h, double *l, double bh, double bl) noexcept nogil:
    """(h, l) /= (bh, bl): long division with two digits."""
    cdef double first = h[0] / bh
    subtract_product(h, l, first, 0.0, bh, bl)
    cdef double second = h[0] / bh
    h[0] = first
    l[0] = second
    normalise(h, l)


def cholesky(double[:, ::1] Gh, double[:, ::1] Gl):
    """Replace the lower triangle of G by L with L L' = G; False if G is not positive definite."""
    cdef Py_ssize_t i, j, k, p = Gh.shape[0]
    cdef double root
    cdef bint good = True
    with nogil:
        for j in range(p):
            for i in range(j, p):
                for k in range(j):
                    subtract_product(
                        &Gh[i, j], &Gl[i, j], Gh[i, k], Gl[i, k], Gh[j, k], Gl[j, k]
                    )
            if not Gh[j, j] > 0.0:
                good = False
                break
            root = sqrt(Gh[j, j])
            subtract_product(&Gh[j, j], &Gl[j, j], root, 0.0, root, 0.0)
            Gl[j, j] = Gh[j, j] / (2.0 * root)
            Gh[j, j] = root
            normalise(&Gh[j, j], &Gl[j, j])
            for i in range(j + 1, p):
                divide(&Gh[i, j], &Gl[i, j], Gh[j, j], Gl[j, j])
    return good


def inverse_diagonal(const double[:, ::1] Lh, const double[:, ::1] Ll, double[::1] out):
    """out = diag((L L')^-1), from the columns of L^-1."""
    cdef Py_ssize_t i, j, k, p = Lh.shape[0]
    cdef double *zh = <double *> malloc(2 * p * sizeof(double))
    cdef double *zl = zh + p
    cdef double h, l
    if zh == NULL:
        raise MemoryError
    with nogil:
        for j in range(p):
            h = 0.0
            l = 0.0
            for i in range(j, p):
                zh[i] = 1.0 if i == j else 0.0
                zl[i] = 0.0
                for k in range(j, i):
                    subtract_product(&zh[i], &zl[i], Lh[i, k], Ll[i, k], zh[k], zl[k])
                divide(&zh[i], &zl[i], Lh[i, i], Ll[i, i])
                add_product(&h, &l, zh[i], zh[i], zl[i])
                l += zl[i] * zh[i]
            out[j] = h + l
    free(zh)


def centre(double[::1] gh, double[::1] gl, const double[::1] mean):
    """g_j -= mean_j g_p: the gradient with respect to columns from which `mean` was taken off."""
    cdef Py_ssize_t j, p = mean.shape[0]
    with nogil:
        for j in range(p):
            subtract_product(&gh[j], &gl[j], mean[j], 0.0, gh[p], gl[p])


def add(double[::1] h, double[::1] l, const double[::1] x):
    """(h, l) += x, entry by entry."""
    cdef Py_ssize_t j
    with nogil:
        for j in range(x.shape[0]):
            add_double(&h[j], &l[j], x[j])
            normalise(&h[j], &l[j])
