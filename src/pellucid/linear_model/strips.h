#pragma once
/* Scores and gradients of a strip of rows, in vectors of four doubles. Every element goes through the
   same steps in every build, so all builds round alike.

   Consecutive rows of the table begin `apart` numbers from each other; coefficients B and gradients G
   are (classes, p + 1).
   A strip holds up to STRIP rows, class by class: z[k * STRIP + i] is class k + 1 of row i. */
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#define STRIP 64

typedef double lanes __attribute__((vector_size(32), aligned(8)));
typedef uint64_t marks __attribute__((vector_size(32), aligned(8)));
#define ALL(v) ((lanes){v, v, v, v})
#define AT(pointer) (*(lanes *)(pointer))
#define READ(pointer) (*(const lanes *)(pointer))

INLINE lanes only(marks mark, lanes v) { return (lanes)((marks)v & mark); }
INLINE double sum_of(lanes a) { return (a[0] + a[2]) + (a[1] + a[3]); }

/* e^x for x <= 700, to about one unit in the last place; 0 below -708. */
INLINE lanes power_of_e(lanes x)
{
    const lanes magic = ALL(6755399441055744.0); /* 1.5 * 2^52: adding it rounds to an integer */
    const lanes shifted = x * 1.4426950408889634 + magic, n = shifted - magic;
    const lanes r = (x - n * 0.69314718036912382) - n * 1.9082149292705877e-10; /* ln 2 in two parts */
    lanes s = ALL(1.0 / 6227020800.0); /* Taylor series: the remainder is below 4e-18 */
    s = s * r + 1.0 / 479001600.0;
    s = s * r + 1.0 / 39916800.0;
    s = s * r + 1.0 / 3628800.0;
    s = s * r + 1.0 / 362880.0;
    s = s * r + 1.0 / 40320.0;
    s = s * r + 1.0 / 5040.0;
    s = s * r + 1.0 / 720.0;
    s = s * r + 1.0 / 120.0;
    s = s * r + 1.0 / 24.0;
    s = s * r + 1.0 / 6.0;
    s = s * r + 0.5;
    s = (s * (r * r) + r) + 1.0;
    const marks power = ((marks)shifted << 52) + ((uint64_t)1023 << 52);
    return only(~(marks)(x <= ALL(-708.0)), s * (lanes)power); /* NaN stays NaN */
}

/* z_k = b_k . x + b_k[p] for `rows` rows and `classes` rows of B. */
INLINE void scores_body(const double *restrict X, ptrdiff_t apart, ptrdiff_t rows, ptrdiff_t p,
                        const double *restrict B, int classes, double *restrict z)
{
    for (ptrdiff_t i = 0; i < rows; i += 2) {
        const double *x = X + i * apart, *y = i + 1 < rows ? x + apart : x;
        lanes a[4] = {{0}, {0}, {0}, {0}}, b[4] = {{0}, {0}, {0}, {0}};
        double c[4] = {0}, d[4] = {0};
        ptrdiff_t j = 0;
        for (; j + 4 <= p; j += 4)
            for (int k = 0; k < classes; k++) {
                const lanes f = READ(B + k * (p + 1) + j);
                a[k] += READ(x + j) * f;
                b[k] += READ(y + j) * f;
            }
        for (; j < p; j++)
            for (int k = 0; k < classes; k++) {
                c[k] += x[j] * B[k * (p + 1) + j];
                d[k] += y[j] * B[k * (p + 1) + j];
            }
        for (int k = 0; k < classes; k++) {
            z[k * STRIP + i] = (sum_of(a[k]) + c[k]) + B[k * (p + 1) + p];
            z[k * STRIP + i + 1] = (sum_of(b[k]) + d[k]) + B[k * (p + 1) + p];
        }
    }
}

/* Gradients: g_k += sum_i r_k[i] x_i, and its last entry += sum_i r_k[i]; r is 0 beyond the rows. */
INLINE void pulls_body(const double *restrict X, ptrdiff_t apart, ptrdiff_t rows, ptrdiff_t p,
                       const double *restrict r, int classes, double *restrict G)
{
    for (ptrdiff_t i = 0; i < rows; i += 4) {
        const double *x[4];
        for (int l = 0; l < 4; l++) x[l] = X + (i + l < rows ? i + l : i) * apart;
        ptrdiff_t j = 0;
        for (; j + 4 <= p; j += 4) {
            const lanes s = READ(x[0] + j), t = READ(x[1] + j), u = READ(x[2] + j),
                        v = READ(x[3] + j);
            for (int k = 0; k < classes; k++) {
                const double *f = r + k * STRIP + i;
                AT(G + k * (p + 1) + j) += (f[0] * s + f[1] * t) + (f[2] * u + f[3] * v);
            }
        }
        for (; j < p; j++)
            for (int k = 0; k < classes; k++) {
                const double *f = r + k * STRIP + i;
                G[k * (p + 1) + j] += (f[0] * x[0][j] + f[1] * x[1][j]) +
                                      (f[2] * x[2][j] + f[3] * x[3][j]);
            }
        for (int k = 0; k < classes; k++) G[k * (p + 1) + p] += sum_of(READ(r + k * STRIP + i));
    }
}

/* Four classes at a time, because the registers hold that many sums. */
#define BY_FOURS(name, body)                                                                       \
    static void name(const double *X, ptrdiff_t apart, ptrdiff_t rows, ptrdiff_t p,                \
                     const double *from, ptrdiff_t classes, double *to)                            \
    {                                                                                              \
        ptrdiff_t k = 0;                                                                           \
        for (; k + 4 <= classes; k += 4) body(X, apart, rows, p, FROM, 4, TO);                     \
        switch (classes - k) {                                                                     \
        case 3: body(X, apart, rows, p, FROM, 3, TO); break;                                       \
        case 2: body(X, apart, rows, p, FROM, 2, TO); break;                                       \
        case 1: body(X, apart, rows, p, FROM, 1, TO); break;                                       \
        }                                                                                          \
    }
#define FROM from + k * (p + 1)
#define TO to + k * STRIP
BY_FOURS(scores, scores_body)
#undef FROM
#undef TO
#define FROM from + k * STRIP
#define TO to + k * (p + 1)
BY_FOURS(add_gradients, pulls_body)
