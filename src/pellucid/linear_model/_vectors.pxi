"""Sums and products of vectors, for a compiled loop to include.

Lanes share the work in an order that the text fixes: every build gives the same bits.
"""

cdef extern from *:
    """
    typedef double lanes __attribute__((vector_size(32), aligned(8)));

    #define FOUR(y) (*(const lanes *)((y) + i))
    #define SUM(s) ((s[0] + s[2]) + (s[1] + s[3]))

    /* x'y and z'y for four y: what is read serves several products. */
    static inline void eight_dots(
        const double *x, const double *z, double *const *y, Py_ssize_t n, double *xy, double *zy)
    {
        lanes a = {0}, b = {0}, c = {0}, d = {0}, e = {0}, f = {0}, g = {0}, h = {0}, s, t;
        Py_ssize_t i, k, whole = n - n % 4;
        for (i = 0; i < whole; i += 4) {
            s = FOUR(x); t = FOUR(z);
            a += s * FOUR(y[0]); e += t * FOUR(y[0]);
            b += s * FOUR(y[1]); f += t * FOUR(y[1]);
            c += s * FOUR(y[2]); g += t * FOUR(y[2]);
            d += s * FOUR(y[3]); h += t * FOUR(y[3]);
        }
        xy[0] = SUM(a); xy[1] = SUM(b); xy[2] = SUM(c); xy[3] = SUM(d);
        zy[0] = SUM(e); zy[1] = SUM(f); zy[2] = SUM(g); zy[3] = SUM(h);
        for (i = whole; i < n; i++)
            for (k = 0; k < 4; k++) {
                xy[k] += x[i] * y[k][i];
                zy[k] += z[i] * y[k][i];
            }
    }
    """
    void eight_dots(
        const double *x, const double *z, double *const *y, Py_ssize_t n, double *xy, double *zy
    ) noexcept nogil


cdef inline double dot(const double *x, const double *y, Py_ssize_t n) noexcept nogil:
    """x'y in eight sums, so that lanes may share the work without changing a bit."""
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, rest = 0
    cdef Py_ssize_t i, whole = n - n % 8
    for i in range(0, whole, 8):
        s0 += x[i] * y[i]
        s1 += x[i + 1] * y[i + 1]
        s2 += x[i + 2] * y[i + 2]
        s3 += x[i + 3] * y[i + 3]
        s4 += x[i + 4] * y[i + 4]
        s5 += x[i + 5] * y[i + 5]
        s6 += x[i + 6] * y[i + 6]
        s7 += x[i + 7] * y[i + 7]
    for i in range(whole, n):
        rest += x[i] * y[i]
    return (((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))) + rest


cdef inline void add_four(
    double *y, const double *a, double u, const double *b, double v, const double *c, double w,
    const double *d, double z, Py_ssize_t n,
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        y[i] += (u * a[i] + v * b[i]) + (w * c[i] + z * d[i])


cdef inline void add_one(double *y, const double *a, double u, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        y[i] += u * a[i]
