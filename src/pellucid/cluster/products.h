/* Nearest centres by products, with fused multiply-add. */
#include <immintrin.h>

#define MULTIPLY_ADD(a, b, c) ((lanes)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))

/* Constants plus x . panel for four rows and `m` panels. */
#define BLOCK(m)                                                                             \
    do {                                                                                     \
        lanes v[4][m];                                                                       \
        for (int q = 0; q < m; q++)                                                          \
            for (int r = 0; r < 4; r++) v[r][q] = *(const lanes *)(constants + 4 * (p + q)); \
        for (ptrdiff_t f = 0; f < d; f++) {                                                  \
            lanes c[m];                                                                      \
            for (int q = 0; q < m; q++) c[q] = *(const lanes *)(panels + 4 * ((p + q) * d + f)); \
            for (int r = 0; r < 4; r++) {                                                    \
                const double x = row[r][f];                                                  \
                for (int q = 0; q < m; q++)                                                  \
                    v[r][q] = MULTIPLY_ADD(((lanes){x, x, x, x}), c[q], v[r][q]);            \
            }                                                                                \
        }                                                                                    \
        for (int q = 0; q < m; q++)                                                          \
            for (int r = 0; r < 4; r++) keep(&found, r, v[r][q], p + q);                     \
        p += m;                                                                              \
    } while (0)

/* For four rows: the two smallest values of constants[j] + x . panels[j], the label of the first,
 * and |x - origin|^2. Three panels at once use all sixteen registers. */
__attribute__((target("avx2,fma"))) static void
products(const double **row, const double *panels, const double *constants,
         ptrdiff_t n_panels, ptrdiff_t d, const double *origin, double *best, double *second,
         int *label, double *length)
{
    lowest found = nothing_yet();
    long long p = 0;
    while (p + 3 <= n_panels) BLOCK(3);
    if (p + 2 == n_panels) BLOCK(2);
    if (p + 1 == n_panels) BLOCK(1);
    finish(&found, best, second, label);
    for (int r = 0; r < 4; r++) length[r] = length_from(row[r], origin, d);
}

#undef BLOCK
#undef MULTIPLY_ADD
