/* Inner loops of sums of pairs (high, low), in lanes of four doubles: every sum goes through the same
   steps in every build, so builds round alike. */
#include <stddef.h>

#ifdef __FMA__
#include <immintrin.h>
#endif
static inline int pellucid_cpu_has_avx2(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}
/* p = a*b rounded; the return value is a*b - p, exactly (barring under- and overflow) */
static inline double product_error(double a, double b, double p) {
#ifdef __FMA__
    return __builtin_fma(a, b, -p);
#else
    double t = 134217729.0 * a, ah = t - (t - a), al = a - ah, bh, bl;
    t = 134217729.0 * b; bh = t - (t - b); bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
}
/* Eight sums (sh, sl) of x * (bh + bl), as two vectors of four, because the compiler does not
   find this reduction by itself; vector types work on every architecture. */
typedef double four __attribute__((vector_size(32)));
static inline four load(const double *x) { four v; __builtin_memcpy(&v, x, 32); return v; }
static inline four product_errors(four a, four b, four p) {
#ifdef __FMA__
    return (four) _mm256_fmsub_pd((__m256d) a, (__m256d) b, (__m256d) p);
#else
    four t = 134217729.0 * a, ah = t - (t - a), al = a - ah, bh, bl;
    t = 134217729.0 * b; bh = t - (t - b); bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
}
static inline void lane_sums(const double *x, const double *bh, const double *bl, Py_ssize_t p,
                             double *sh, double *sl) {
    four h[2] = {{0.0}, {0.0}}, l[2] = {{0.0}, {0.0}};
    for (Py_ssize_t j = 0; j < p; j += 8)
        for (int k = 0; k < 2; k++) {
            four a = load(x + j + 4 * k), b = load(bh + j + 4 * k), q = a * b;
            four e = product_errors(a, b, q) + a * load(bl + j + 4 * k);
            four t = h[k] + q, z = t - h[k];
            l[k] += ((h[k] - (t - z)) + (q - z)) + e;
            h[k] = t;
        }
    __builtin_memcpy(sh, h, 64);
    __builtin_memcpy(sl, l, 64);
}
static inline four four_of(const double *x, Py_ssize_t step) {
    return (four) {x[0], x[step], x[2 * step], x[3 * step]};
}
static inline four same(double x) { return (four) {x, x, x, x}; }
static inline void add_doubles(four *h, four *l, four x) {
    four t = *h + x, z = t - *h;
    *l += (*h - (t - z)) + (x - z);
    *h = t;
}
static inline void add_products(four *h, four *l, four a, four bh, four bl) {
    four q = a * bh, e = product_errors(a, bh, q), t = *h + q, z = t - *h;
    *l += ((*h - (t - z)) + (q - z)) + (e + a * bl);
    *h = t;
}
static inline void normalise_four(four *h, four *l) {
    four t = *h + *l;
    *l = *l - (t - *h);
    *h = t;
}
/* Residuals (rh, rl) = y - x.b - b0 of four rows and w r = (vh, vl): the steps of `residual`, so
   its bits, for four rows at once. */
static inline void four_residuals(const double *x, const double *y, Py_ssize_t step,
                                  const double *w, const double *bh, const double *bl,
                                  Py_ssize_t p, double *rh, double *rl, double *vh,
                                  double *vl) {
    double sh[32], sl[32];
    Py_ssize_t full = p - p % 8;
    for (int k = 0; k < 4; k++) lane_sums(x + k * p, bh, bl, full, sh + 8 * k, sl + 8 * k);
    four h = four_of(sh, 8), l = four_of(sl, 8), a = {0.0}, b = {0.0};
    for (Py_ssize_t j = full; j < p; j++)
        add_products(&h, &l, four_of(x + j, p), same(bh[j]), same(bl[j]));
    for (int k = 1; k < 8; k++) {
        add_doubles(&h, &l, four_of(sh + k, 8));
        l += four_of(sl + k, 8);
    }
    normalise_four(&h, &l);
    h = -h;
    l = -l;
    add_doubles(&h, &l, same(-bh[p]));
    add_doubles(&h, &l, four_of(y, step));
    l -= same(bl[p]);
    normalise_four(&h, &l);
    add_products(&a, &b, load(w), h, l);
    normalise_four(&a, &b);
    __builtin_memcpy(rh, &h, 32);
    __builtin_memcpy(rl, &l, 32);
    __builtin_memcpy(vh, &a, 32);
    __builtin_memcpy(vl, &b, 32);
}
/* (gh, gl) += the sum of four rows times (vh, vl), row by row: the steps of `add_row`. */
static inline void add_four_rows(double *gh, double *gl, const double *x, const double *vh,
                                 const double *vl, Py_ssize_t p) {
    Py_ssize_t j = 0;
    for (; j + 4 <= p; j += 4) {
        four h = load(gh + j), l = load(gl + j);
        for (int k = 0; k < 4; k++) {
            four a = load(x + k * p + j), v = same(vh[k]), q = a * v;
            four e = product_errors(a, v, q) + a * same(vl[k]), t = h + q, z = t - h;
            l += ((h - (t - z)) + (q - z)) + e;
            h = t;
        }
        __builtin_memcpy(gh + j, &h, 32);
        __builtin_memcpy(gl + j, &l, 32);
    }
    for (; j < p; j++)
        for (int k = 0; k < 4; k++) {
            double a = x[k * p + j], q = a * vh[k];
            double e = product_error(a, vh[k], q) + a * vl[k], t = gh[j] + q, z = t - gh[j];
            gl[j] += ((gh[j] - (t - z)) + (q - z)) + e;
            gh[j] = t;
        }
}
#define AHEAD 512 /* cells: the processor does not foresee rows that are read four at a time */
static inline void fetch(const double *x, Py_ssize_t cells) {
    for (Py_ssize_t j = 0; j < cells; j += 8) __builtin_prefetch(x + AHEAD + j);
}
/* g += a x + b y + c z + d t, each a row of p cells. */
static inline void add_rows(double *restrict g, const double *restrict x, const double *restrict y,
                            const double *restrict z, const double *restrict t, double a,
                            double b, double c, double d, Py_ssize_t p) {
    for (Py_ssize_t j = 0; j < p; j++) g[j] += (a * x[j] + b * y[j]) + (c * z[j] + d * t[j]);
}
/* mean += share x, sums += x, squares += x^2, each a row of p cells. */
static inline void add_moments(const double *restrict x, double share, double *restrict mean,
                               double *restrict sums, double *restrict squares, Py_ssize_t p) {
    for (Py_ssize_t j = 0; j < p; j++) {
        mean[j] += share * x[j];
        sums[j] += x[j];
        squares[j] += x[j] * x[j];
    }
}
/* max |x|: sizes of floats are ordered as the integers of the same bits, which need no branch. */
static inline double largest_of(const double *x, Py_ssize_t n) {
    long long top = 0, bits;
    double size;
    for (Py_ssize_t i = 0; i < n; i++) {
        __builtin_memcpy(&bits, x + i, 8);
        bits &= 0x7FFFFFFFFFFFFFFFLL;
        top = bits > top ? bits : top;
    }
    __builtin_memcpy(&size, &top, 8);
    return size;
}
/* w'y in eight lanes. */
static inline double lane_dot(const double *w, const double *y, Py_ssize_t p) {
    four a = {0.0}, b = {0.0};
    Py_ssize_t j = 0;
    double rest = 0.0;
    for (; j + 8 <= p; j += 8) {
        a += load(w + j) * load(y + j);
        b += load(w + j + 4) * load(y + j + 4);
    }
    for (; j < p; j++) rest += w[j] * y[j];
    a += b;
    return ((a[0] + a[2]) + (a[1] + a[3])) + rest;
}
