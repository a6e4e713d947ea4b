/* Inner loops of k-means, in lanes of four doubles.
 *
 * Lanes run over rows and centres, never along a sum, so the plain and the AVX2 build round identically.
 * `products` exists only in the AVX2 build: rows that its rounding errors could affect are not labelled.
 * A panel holds four centres, panel[4 * f + lane], padded with +inf.
 */
#include <math.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))
typedef double lanes __attribute__((vector_size(32), aligned(8)));
typedef long long marks __attribute__((vector_size(32), aligned(8)));
#define CHOOSE(mark, a, b) ((lanes)(((mark) & (marks)(a)) | (~(mark) & (marks)(b))))

/* Squared distances of four rows to the four centres of one panel. */
INLINE void four_by_four(const double *const *row, const double *panel, ptrdiff_t d, lanes *sum)
{
    lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    const double *x0 = row[0], *x1 = row[1], *x2 = row[2], *x3 = row[3];
    for (ptrdiff_t f = 0; f < d; f++) {
        const lanes c = *(const lanes *)(panel + 4 * f);
        const lanes t0 = (lanes){x0[f], x0[f], x0[f], x0[f]} - c;
        const lanes t1 = (lanes){x1[f], x1[f], x1[f], x1[f]} - c;
        const lanes t2 = (lanes){x2[f], x2[f], x2[f], x2[f]} - c;
        const lanes t3 = (lanes){x3[f], x3[f], x3[f], x3[f]} - c;
        s0 += t0 * t0;
        s1 += t1 * t1;
        s2 += t2 * t2;
        s3 += t3 * t3;
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
}

/* The lowest value so far in every lane, the next one, and the panel of the lowest, for four rows. */
typedef struct {
    lanes low[4], next[4];
    marks at[4];
} lowest;

INLINE lowest nothing_yet(void)
{
    const lanes far = {INFINITY, INFINITY, INFINITY, INFINITY};
    const marks none = {0};
    return (lowest){{far, far, far, far}, {far, far, far, far}, {none, none, none, none}};
}

INLINE void keep(lowest *found, int r, lanes value, long long p)
{
    const marks less = value < found->low[r];
    const lanes other = CHOOSE(less, found->low[r], value);
    found->next[r] = CHOOSE(other < found->next[r], other, found->next[r]);
    found->low[r] = CHOOSE(less, value, found->low[r]);
    found->at[r] = (less & (marks){p, p, p, p}) | (~less & found->at[r]);
}

#define TRANSPOSE(type, a, out)                                                              \
    do {                                                                                     \
        const type t0 = __builtin_shufflevector((a)[0], (a)[1], 0, 4, 2, 6);                 \
        const type t1 = __builtin_shufflevector((a)[0], (a)[1], 1, 5, 3, 7);                 \
        const type t2 = __builtin_shufflevector((a)[2], (a)[3], 0, 4, 2, 6);                 \
        const type t3 = __builtin_shufflevector((a)[2], (a)[3], 1, 5, 3, 7);                 \
        (out)[0] = __builtin_shufflevector(t0, t2, 0, 1, 4, 5);                              \
        (out)[1] = __builtin_shufflevector(t1, t3, 0, 1, 4, 5);                              \
        (out)[2] = __builtin_shufflevector(t0, t2, 2, 3, 6, 7);                              \
        (out)[3] = __builtin_shufflevector(t1, t3, 2, 3, 6, 7);                              \
    } while (0)

/* The first smallest value of each of four rows, its label, and the second smallest value. */
INLINE void finish(const lowest *found, double *best, double *second, int *label)
{
    lanes low[4], next[4];
    marks at[4];
    TRANSPOSE(lanes, found->low, low); /* now lanes are rows */
    TRANSPOSE(lanes, found->next, next);
    TRANSPOSE(marks, found->at, at);
    lanes b = low[0], s = next[0];
    marks j = at[0] * 4;
    for (int l = 1; l < 4; l++) {
        const marks i = at[l] * 4 + l;
        const marks less = low[l] < b, first = less | ((low[l] == b) & (i < j));
        const lanes other = CHOOSE(less, b, low[l]);
        j = (first & i) | (~first & j);
        b = CHOOSE(less, low[l], b);
        s = CHOOSE(other < s, other, s);
        s = CHOOSE(next[l] < s, next[l], s);
    }
    *(lanes *)best = b, *(lanes *)second = s;
    for (int r = 0; r < 4; r++) label[r] = (int)j[r];
}

/* The first nearest and the second smallest squared distance over all panels, for four rows. */
INLINE void nearest_body(const double *const *row, const double *panels, ptrdiff_t n_panels,
                         ptrdiff_t d, double *best, double *second, int *label)
{
    lowest found = nothing_yet();
    lanes sum[4];
    for (long long p = 0; p < n_panels; p++, panels += 4 * d) {
        four_by_four(row, panels, d, sum);
        for (int r = 0; r < 4; r++) keep(&found, r, sum[r], p);
    }
    finish(&found, best, second, label);
}

/* |x - origin|^2, in any order of summation: it is used only for bounds. */
INLINE double length_from(const double *x, const double *origin, ptrdiff_t d)
{
    lanes s = {0};
    double rest = 0.0;
    ptrdiff_t f = 0;
    for (; f + 4 <= d; f += 4) {
        const lanes t = *(const lanes *)(x + f) - *(const lanes *)(origin + f);
        s += t * t;
    }
    for (; f < d; f++) rest += (x[f] - origin[f]) * (x[f] - origin[f]);
    return (s[0] + s[2]) + (s[1] + s[3]) + rest;
}

INLINE void panel_body(const double *const *row, const double *panel, ptrdiff_t d, double *out)
{
    lanes sum[4];
    four_by_four(row, panel, d, sum);
    for (int r = 0; r < 4; r++) *(lanes *)(out + 4 * r) = sum[r];
}

/* Squared distances of one row to the centres of four panels. */
INLINE void across_body(const double *x, const double *const *panel, ptrdiff_t d, double *out)
{
    lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    for (ptrdiff_t f = 0; f < d; f++) {
        const lanes v = {x[f], x[f], x[f], x[f]};
        const lanes t0 = v - *(const lanes *)(panel[0] + 4 * f);
        const lanes t1 = v - *(const lanes *)(panel[1] + 4 * f);
        const lanes t2 = v - *(const lanes *)(panel[2] + 4 * f);
        const lanes t3 = v - *(const lanes *)(panel[3] + 4 * f);
        s0 += t0 * t0;
        s1 += t1 * t1;
        s2 += t2 * t2;
        s3 += t3 * t3;
    }
    *(lanes *)out = s0, *(lanes *)(out + 4) = s1;
    *(lanes *)(out + 8) = s2, *(lanes *)(out + 12) = s3;
}

/* Squared distance of each of four rows to a centre of its own. */
INLINE void own_body(const double *const *row, const double *const *centre, ptrdiff_t d,
                     double *out)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (ptrdiff_t f = 0; f < d; f++) {
        const double t0 = row[0][f] - centre[0][f], t1 = row[1][f] - centre[1][f];
        const double t2 = row[2][f] - centre[2][f], t3 = row[3][f] - centre[3][f];
        s0 += t0 * t0;
        s1 += t1 * t1;
        s2 += t2 * t2;
        s3 += t3 * t3;
    }
    out[0] = s0, out[1] = s1, out[2] = s2, out[3] = s3;
}

/* high + low += w * x; low accumulates the rounding errors of every product and sum. */
INLINE void add_body(const double *restrict x, double w, ptrdiff_t d, double *restrict high,
                     double *restrict low)
{
    const double split = 134217729.0; /* 2^27 + 1: halves that multiply without rounding */
    const double wc = split * w, wh = wc - (wc - w), wl = w - wh;
    const double kept = (w == 1.0 || w == -1.0) ? 0.0 : 1.0;
    for (ptrdiff_t f = 0; f < d; f++) {
        const double p = w * x[f];
        const double xc = split * x[f], xh = xc - (xc - x[f]), xl = x[f] - xh;
        const double e = kept * (((wh * xh - p) + wh * xl + wl * xh) + wl * xl);
        const double s = high[f] + p, b = s - high[f];
        low[f] += ((high[f] - (s - b)) + (p - b)) + e;
        high[f] = s;
    }
}

#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#define HAS_WIDE() (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#include "products.h"
#else
#define WIDE
#define HAS_WIDE() 0
static void products(const double **row, const double *panels, const double *constants,
                     ptrdiff_t n_panels, ptrdiff_t d, const double *origin, double *best,
                     double *second, int *label, double *length) {}
#endif
/* Whether `products` may be called. */
static int has_products;

/* Both builds of a loop, and the pointer through which it is called. */
#define LOOP(name, parameters, arguments)                             \
    static void name##_plain parameters { name##_body arguments; }    \
    WIDE static void name##_wide parameters { name##_body arguments; } \
    static void(*name) parameters = name##_plain;

LOOP(nearest,
     (const double **row, const double *panels, ptrdiff_t n_panels, ptrdiff_t d,
      double *best, double *second, int *label),
     (row, panels, n_panels, d, best, second, label))
LOOP(panel, (const double **row, const double *panels, ptrdiff_t d, double *out),
     (row, panels, d, out))
LOOP(across, (const double *x, const double **panel, ptrdiff_t d, double *out),
     (x, panel, d, out))
LOOP(own, (const double **row, const double **centre, ptrdiff_t d, double *out),
     (row, centre, d, out))
LOOP(add, (const double *x, double w, ptrdiff_t d, double *high, double *low),
     (x, w, d, high, low))

static int choose_wide(int wide)
{
    wide = wide && HAS_WIDE();
    has_products = wide;
    nearest = wide ? nearest_wide : nearest_plain;
    panel = wide ? panel_wide : panel_plain;
    across = wide ? across_wide : across_plain;
    own = wide ? own_wide : own_plain;
    add = wide ? add_wide : add_plain;
    return wide;
}
