/* Gaussian kernels over arrays, in lanes of four doubles: the same steps for every element, so builds round alike. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

typedef double lanes __attribute__((vector_size(32), aligned(8)));
typedef uint64_t marks __attribute__((vector_size(32), aligned(8)));
#define ALL(v) ((lanes){v, v, v, v})

/* exp(x) for x <= 0, to about one unit in the last place; 0 below -708. */
INLINE lanes exp_of(lanes x)
{
    const lanes magic = ALL(6755399441055744.0); /* 1.5 * 2^52: adding it rounds to an integer */
    const lanes shifted = x * 1.4426950408889634 + magic;
    const lanes k = shifted - magic;
    const lanes r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    lanes s = ALL(2.08767569878681e-09); /* 1 / 12! */
    s = s * r + 2.505210838544172e-08;
    s = s * r + 2.755731922398589e-07;
    s = s * r + 2.755731922398589e-06;
    s = s * r + 2.48015873015873e-05;
    s = s * r + 1.984126984126984e-04;
    s = s * r + 1.388888888888889e-03;
    s = s * r + 8.333333333333333e-03;
    s = s * r + 4.1666666666666664e-02;
    s = s * r + 1.6666666666666666e-01;
    s = s * r + 0.5;
    s = s * (r * r) + r + 1.0;
    const marks power = ((marks)shifted << 52) + ((uint64_t)1023 << 52);
    const marks kept = (marks)(x > ALL(-708.0));
    return (lanes)((marks)(s * (lanes)power) & kept);
}

INLINE lanes bell(lanes products, lanes norms, double own, double gamma)
{
    const lanes squared = ALL(own) + norms - 2.0 * products;
    const marks kept = (marks)(squared > ALL(0.0));
    return exp_of(-gamma * (lanes)((marks)squared & kept));
}

/* row[j] = exp(-gamma max(own + norms[j] - 2 row[j], 0)). */
INLINE void bells_body(double *restrict row, const double *restrict norms, double own, double gamma,
                       ptrdiff_t n)
{
    ptrdiff_t j = 0;
    for (; j + 8 <= n; j += 8) {
        const lanes a = bell(*(lanes *)(row + j), *(const lanes *)(norms + j), own, gamma);
        const lanes b = bell(*(lanes *)(row + j + 4), *(const lanes *)(norms + j + 4), own, gamma);
        *(lanes *)(row + j) = a;
        *(lanes *)(row + j + 4) = b;
    }
    for (; j < n; j++) row[j] = bell(ALL(row[j]), ALL(norms[j]), own, gamma)[0];
}

/* out += weight * row. */
INLINE void add_body(double *restrict out, const double *restrict row, double weight, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j++) out[j] += weight * row[j];
}

static void bells_plain(double *row, const double *norms, double own, double gamma, ptrdiff_t n)
{
    bells_body(row, norms, own, gamma, n);
}
static void add_plain(double *out, const double *row, double weight, ptrdiff_t n)
{
    add_body(out, row, weight, n);
}
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void bells_wide(double *row, const double *norms, double own,
                                                       double gamma, ptrdiff_t n)
{
    bells_body(row, norms, own, gamma, n);
}
__attribute__((target("avx2"))) static void add_wide(double *out, const double *row, double weight,
                                                     ptrdiff_t n)
{
    add_body(out, row, weight, n);
}
static int wide_chosen = 0;
static int choose_wide(int wide) { return wide_chosen = wide && __builtin_cpu_supports("avx2"); }
static void bells(double *row, const double *norms, double own, double gamma, ptrdiff_t n)
{
    (wide_chosen ? bells_wide : bells_plain)(row, norms, own, gamma, n);
}
static void add(double *out, const double *row, double weight, ptrdiff_t n)
{
    (wide_chosen ? add_wide : add_plain)(out, row, weight, n);
}
#else
static int choose_wide(int wide) { return 0; }
static void bells(double *row, const double *norms, double own, double gamma, ptrdiff_t n)
{
    bells_plain(row, norms, own, gamma, n);
}
static void add(double *out, const double *row, double weight, ptrdiff_t n)
{
    add_plain(out, row, weight, n);
}
#endif
