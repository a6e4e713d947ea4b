/* Squared lengths and moments of a tile of rows, in lanes of four doubles; all builds round identically.

   A tile holds TILE rows, column by column: d[i * TILE + r] is column i of row r. */
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))
#define TILE 32

typedef double lanes __attribute__((vector_size(32), aligned(8)));

INLINE double sum_of(lanes a) { return (a[0] + a[2]) + (a[1] + a[3]); }

/* out[r] = |root d_r|^2 for lower triangular root (p, p), or a diagonal (p) if `diagonal`. */
INLINE void squares_body(const double *restrict d, ptrdiff_t p, const double *restrict root,
                         int diagonal, double *restrict out)
{
    for (ptrdiff_t c = 0; c < TILE; c += 16) {
        lanes q[4] = {{0}, {0}, {0}, {0}};
        for (ptrdiff_t j = 0; j < p; j++) {
            lanes a[4] = {{0}, {0}, {0}, {0}};
            for (ptrdiff_t i = diagonal ? j : 0; i <= j; i++) {
                const double f = diagonal ? root[j] : root[j * p + i];
                const lanes *at = (const lanes *)(d + i * TILE + c);
                for (int l = 0; l < 4; l++) a[l] += f * at[l];
            }
            for (int l = 0; l < 4; l++) q[l] += a[l] * a[l];
        }
        for (int l = 0; l < 4; l++) *(lanes *)(out + c + 4 * l) = q[l];
    }
}

INLINE double dot(const double *restrict a, const double *restrict b)
{
    const lanes *x = (const lanes *)a, *y = (const lanes *)b;
    lanes s = x[0] * y[0], t = x[1] * y[1];
    for (int l = 2; l < TILE / 4; l += 2) {
        s += x[l] * y[l];
        t += x[l + 1] * y[l + 1];
    }
    return sum_of(s + t);
}

/* first += sum_r r d_r; second += sum_r r d_r d_r' (lower triangle, or the diagonal alone). */
INLINE void moments_body(const double *restrict d, const double *restrict r, ptrdiff_t p,
                         int diagonal, double *restrict first, double *restrict second)
{
    double scaled[TILE];
    for (ptrdiff_t i = 0; i < p; i++) {
        const double *own = d + i * TILE;
        lanes total = {0};
        for (int l = 0; l < TILE; l += 4) {
            const lanes part = *(const lanes *)(own + l) * *(const lanes *)(r + l);
            *(lanes *)(scaled + l) = part;
            total += part;
        }
        first[i] += sum_of(total);
        if (diagonal)
            second[i] += dot(scaled, own);
        else
            for (ptrdiff_t j = 0; j <= i; j++) second[i * p + j] += dot(scaled, d + j * TILE);
    }
}

static void squares_plain(const double *d, ptrdiff_t p, const double *root, int diagonal,
                          double *out)
{
    if (diagonal)
        squares_body(d, p, root, 1, out);
    else
        squares_body(d, p, root, 0, out);
}
static void moments_plain(const double *d, const double *r, ptrdiff_t p, int diagonal,
                          double *first, double *second)
{
    moments_body(d, r, p, diagonal, first, second);
}
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void squares_wide(const double *d, ptrdiff_t p,
                                                         const double *root, int diagonal,
                                                         double *out)
{
    if (diagonal)
        squares_body(d, p, root, 1, out);
    else
        squares_body(d, p, root, 0, out);
}
__attribute__((target("avx2"))) static void moments_wide(const double *d, const double *r,
                                                         ptrdiff_t p, int diagonal, double *first,
                                                         double *second)
{
    moments_body(d, r, p, diagonal, first, second);
}
static int wide_chosen = 0;
static int choose_wide(int wide) { return wide_chosen = wide && __builtin_cpu_supports("avx2"); }
static void squares(const double *d, ptrdiff_t p, const double *root, int diagonal, double *out)
{
    (wide_chosen ? squares_wide : squares_plain)(d, p, root, diagonal, out);
}
static void moments(const double *d, const double *r, ptrdiff_t p, int diagonal, double *first,
                    double *second)
{
    (wide_chosen ? moments_wide : moments_plain)(d, r, p, diagonal, first, second);
}
#else
static int choose_wide(int wide) { return 0; }
static void squares(const double *d, ptrdiff_t p, const double *root, int diagonal, double *out)
{
    squares_plain(d, p, root, diagonal, out);
}
static void moments(const double *d, const double *r, ptrdiff_t p, int diagonal, double *first,
                    double *second)
{
    moments_plain(d, r, p, diagonal, first, second);
}
#endif
