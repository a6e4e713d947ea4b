"""Sums and products of vectors, inlined into the loops that need them.

Lanes share the work in an order that the text fixes: every build gives the same bits.
"""

cdef extern from *:
    """
    typedef double lanes __attribute__((vector_size(32), aligned(8)));

    #define FOUR(y) (*(const lanes *)((y) + i))
    #define SUM(s) ((s[0] + s[2]) + (s[1] + s[3]))
    #define WIDEST 6

    static inline double dot(const double *x, const double *y, Py_ssize_t n)
    {
        lanes a = {0}, b = {0}, c = {0}, d = {0};
        Py_ssize_t i = 0;
        for (; i + 16 <= n; i += 16) {
            a += FOUR(x) * FOUR(y);
            b += FOUR(x + 4) * FOUR(y + 4);
            c += FOUR(x + 8) * FOUR(y + 8);
            d += FOUR(x + 12) * FOUR(y + 12);
        }
        for (; i + 4 <= n; i += 4) a += FOUR(x) * FOUR(y);
        a = (a + b) + (c + d);
        double sum = SUM(a);
        for (; i < n; i++) sum += x[i] * y[i];
        return sum;
    }

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

    /* y += u a + v b for four y. */
    static inline void add_two(
        double *const *y, const double *restrict a, const double *u, const double *restrict b,
        const double *v, Py_ssize_t n)
    {
        double *restrict y0 = y[0], *restrict y1 = y[1], *restrict y2 = y[2], *restrict y3 = y[3];
        for (Py_ssize_t i = 0; i < n; i++) {
            const double s = a[i], t = b[i];
            y0[i] += u[0] * s + v[0] * t;
            y1[i] += u[1] * s + v[1] * t;
            y2[i] += u[2] * s + v[2] * t;
            y3[i] += u[3] * s + v[3] * t;
        }
    }

    /* The sums x'W of H rows x, for W (n, 4 V). */
    static inline __attribute__((always_inline)) void sums(
        const int H, const int V, const double *const *x, const double *W, Py_ssize_t n, lanes *sum)
    {
        lanes s[12];
        for (int i = 0; i < H * V; i++) s[i] = sum[i];
        for (Py_ssize_t k = 0; k < n; k++, W += 4 * V)
            for (int h = 0; h < H; h++) {
                const lanes t = {x[h][k], x[h][k], x[h][k], x[h][k]};
                for (int v = 0; v < V; v++) s[h * V + v] += t * *(const lanes *)(W + 4 * v);
            }
        for (int i = 0; i < H * V; i++) sum[i] = s[i];
    }

    /* W = L^-1 (W - R_o N): L is a packed triangle of K rows, W (K, 4 V), N (m, 4 V), and R_o are
       the rows order[:K] of R. H rows at a time. */
    static inline __attribute__((always_inline)) void eliminated(
        const int H, const int V, const double *L, const double *R, const Py_ssize_t *order,
        Py_ssize_t K, Py_ssize_t m, const double *N, double *W)
    {
        const double *l[8], *r[8];
        for (Py_ssize_t i = 0; i < K; i += H) {
            lanes s[12] = {{0}}, *w = (lanes *)(W + 4 * V * i);
            const int rows = K - i < H ? (int)(K - i) : H;
            for (int h = 0; h < H; h++) {
                const Py_ssize_t k = i + (h < rows ? h : rows - 1);
                l[h] = L + k * (k + 1) / 2;
                r[h] = R + order[k] * m;
            }
            sums(H, V, r, N, m, s);
            sums(H, V, l, W, i, s);
            for (int h = 0; h < rows; h++)
                for (int v = 0; v < V; v++) {
                    lanes y = w[h * V + v] - s[h * V + v];
                    for (int k = 0; k < h; k++) y -= l[h][i + k] * w[k * V + v];
                    w[h * V + v] = y / l[h][i + h];
                }
        }
    }

    static void eliminate(
        Py_ssize_t V, const double *L, const double *R, const Py_ssize_t *order, Py_ssize_t K,
        Py_ssize_t m, const double *N, double *W)
    {
        switch (V) {
            case 1: eliminated(8, 1, L, R, order, K, m, N, W); break;
            case 2: eliminated(6, 2, L, R, order, K, m, N, W); break;
            default: eliminated(3, 3, L, R, order, K, m, N, W);
        }
    }
    """
    double dot(const double *x, const double *y, Py_ssize_t n) noexcept nogil
    void eight_dots(
        const double *x, const double *z, double *const *y, Py_ssize_t n, double *xy, double *zy
    ) noexcept nogil
    void add_two(
        double *const *y, const double *a, const double *u, const double *b, const double *v,
        Py_ssize_t n
    ) noexcept nogil
    void eliminate(
        Py_ssize_t V, const double *L, const double *R, const Py_ssize_t *order, Py_ssize_t K,
        Py_ssize_t m, const double *N, double *W,
    ) noexcept nogil


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
