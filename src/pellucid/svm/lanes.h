/* Inner loops of support vector machines, in lanes of four doubles: every element goes through the
   same steps in every build, so builds round alike. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

typedef double lanes __attribute__((vector_size(32), aligned(8)));
typedef uint64_t marks __attribute__((vector_size(32), aligned(8)));
typedef float singles __attribute__((vector_size(16), aligned(4)));
#define ALL(v) ((lanes){v, v, v, v})
#define AT(pointer) (*(lanes *)(pointer))
#define READ(pointer) (*(const lanes *)(pointer))

INLINE lanes chosen(marks mark, lanes yes, lanes no)
{
    return (lanes)(((marks)yes & mark) | ((marks)no & ~mark));
}

/* a * b + c, rounded once: one instruction in the wide build, the same number in the plain one. */
INLINE lanes fused(lanes a, lanes b, lanes c)
{
    lanes out;
    for (int l = 0; l < 4; l++) out[l] = __builtin_fma(a[l], b[l], c[l]);
    return out;
}

/* 2^x for x <= 0, to about one unit in the last place; 0 below -1021. The polynomial interpolates
   (2^r - 1 - r ln 2) / r^2 at Chebyshev's points, to 2e-17 of 2^r. */
INLINE lanes power_of_two(lanes x)
{
    const lanes magic = ALL(6755399441055744.0); /* 1.5 * 2^52: adding it rounds to an integer */
    const lanes shifted = x + magic;
    const lanes r = x - (shifted - magic); /* without rounding */
    lanes s = fused(ALL(4.454105125293416e-10), r, ALL(7.070981083365768e-09));
    s = fused(s, r, ALL(1.0178067259946989e-07));
    s = fused(s, r, ALL(1.3215451619146607e-06));
    s = fused(s, r, ALL(1.5252733820805852e-05));
    s = fused(s, r, ALL(0.0001540353042479538));
    s = fused(s, r, ALL(0.0013333558146423209));
    s = fused(s, r, ALL(0.009618129107618658));
    s = fused(s, r, ALL(0.05550410866482158));
    s = fused(s, r, ALL(0.24022650695910075));
    s = fused(s, r, ALL(0.6931471805599453));
    s = fused(s, r, ALL(1.0));
    const marks kept = (marks)(x > ALL(-1021.0));
    return (lanes)(((marks)s + ((marks)shifted << 52)) & kept);
}

INLINE lanes bell(lanes products, lanes norms, double own, double gamma)
{
    const lanes squared = (own + norms) - (products + products);
    const marks kept = (marks)(squared > ALL(0.0));
    return power_of_two((-gamma * 1.4426950408889634) * (lanes)((marks)squared & kept));
}

/* row[j] = exp(-gamma max(own + norms[j] - 2 row[j], 0)). */
INLINE void bells_body(double *restrict row, const double *restrict norms, double own, double gamma,
                       ptrdiff_t n)
{
    ptrdiff_t j = 0;
    for (; j + 8 <= n; j += 8) {
        const lanes a = bell(AT(row + j), READ(norms + j), own, gamma);
        const lanes b = bell(AT(row + j + 4), READ(norms + j + 4), own, gamma);
        AT(row + j) = a;
        AT(row + j + 4) = b;
    }
    for (; j < n; j++) row[j] = bell(ALL(row[j]), ALL(norms[j]), own, gamma)[0];
}

/* The same, rounded to single precision and written to `out`. */
INLINE void single_bells_body(const double *restrict row, const double *restrict norms, double own,
                              double gamma, ptrdiff_t n, float *restrict out)
{
    ptrdiff_t j = 0;
    for (; j + 8 <= n; j += 8) {
        const lanes a = bell(READ(row + j), READ(norms + j), own, gamma);
        const lanes b = bell(READ(row + j + 4), READ(norms + j + 4), own, gamma);
        *(singles *)(out + j) = __builtin_convertvector(a, singles);
        *(singles *)(out + j + 4) = __builtin_convertvector(b, singles);
    }
    for (; j < n; j++) out[j] = (float)bell(ALL(row[j]), ALL(norms[j]), own, gamma)[0];
}

/* A loop of constant length, unrolled so that what it fills can live in registers. */
#define EACH(i, m) _Pragma("GCC unroll 4") for (int i = 0; i < m; i++)

/* The kernel of `m` rows and the eight vectors of a panel (p, 8), both in units in which it is
   2^-|x - z|^2; the panel holds 2 z, `own` and `norms` -|x|^2 and -|z|^2. Products start from these and
   stay in registers until they are kernel values. */
INLINE void bell_tile(const double *restrict x, ptrdiff_t p, int m, const double *restrict panel,
                      const double *own, const double *norms, lanes (*out)[2])
{
    EACH(i, m)
        EACH(q, 2) out[i][q] = own[i] + READ(norms + 4 * q);
    for (ptrdiff_t f = 0; f < p; f++)
        EACH(i, m)
            EACH(q, 2)
                out[i][q] = fused(ALL(x[i * p + f]), READ(panel + 8 * f + 4 * q), out[i][q]);
    EACH(i, m)
        EACH(q, 2) {
            const marks above = (marks)(out[i][q] > ALL(0.0));
            out[i][q] = power_of_two((lanes)((marks)out[i][q] & ~above));
        }
}

/* out[i] += sum_j weights[j] 2^-|x_i - z_j|^2 for `m` rows and `count` panels. */
INLINE void bell_strip(const double *x, ptrdiff_t p, int m, const double *panels,
                       const double *own, const double *norms,
                       const double *weights, ptrdiff_t count, double *out)
{
    lanes sums[4][2], tile[4][2];
    EACH(i, m) sums[i][0] = sums[i][1] = ALL(0.0);
    for (ptrdiff_t j = 0; j < count; j++) {
        bell_tile(x, p, m, panels + 8 * p * j, own, norms + 8 * j, tile);
        EACH(i, m)
            EACH(q, 2)
                sums[i][q] = fused(READ(weights + 8 * j + 4 * q), tile[i][q], sums[i][q]);
    }
    EACH(i, m) {
        const lanes s = sums[i][0] + sums[i][1];
        out[i] += (s[0] + s[1]) + (s[2] + s[3]);
    }
}

/* The same for n rows, four at a time. */
INLINE void bell_sums_body(const double *x, ptrdiff_t n, ptrdiff_t p, const double *panels,
                           const double *own, const double *norms,
                           const double *weights, ptrdiff_t count, double *out)
{
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4)
        bell_strip(x + i * p, p, 4, panels, own + i, norms, weights, count, out + i);
    for (; i < n; i++)
        bell_strip(x + i * p, p, 1, panels, own + i, norms, weights, count, out + i);
}

/* out += sum_i weights[i] * rows[i], in the order of i. */
#define ADD(name, real)                                                                            \
    INLINE void name(double *restrict out, const real *const *rows, const double *weights,         \
                     ptrdiff_t m, ptrdiff_t n)                                                     \
    {                                                                                              \
        ptrdiff_t i = 0;                                                                           \
        for (; i + 4 <= m; i += 4) {                                                               \
            const real *restrict a = rows[i], *restrict b = rows[i + 1];                           \
            const real *restrict c = rows[i + 2], *restrict d = rows[i + 3];                       \
            const double p = weights[i], q = weights[i + 1], r = weights[i + 2], s = weights[i + 3]; \
            for (ptrdiff_t j = 0; j < n; j++)                                                      \
                out[j] = (((out[j] + p * a[j]) + q * b[j]) + r * c[j]) + s * d[j];                 \
        }                                                                                          \
        for (; i < m; i++)                                                                         \
            for (ptrdiff_t j = 0; j < n; j++) out[j] += weights[i] * rows[i][j];                   \
    }
ADD(add_double_body, double)
ADD(add_single_body, float)

/* Position of the first largest of value + bar, and that number; bar is 0 or -inf. */
INLINE ptrdiff_t largest_body(const double *value, const double *bar, ptrdiff_t n, double *most)
{
    ptrdiff_t t = 0, best = -1;
    lanes top = ALL(-INFINITY);
    marks where = {0, 0, 0, 0}, now = {0, 1, 2, 3};
    for (; t + 4 <= n; t += 4, now += 4) {
        const lanes x = READ(value + t) + READ(bar + t);
        const marks better = (marks)(x > top);
        top = chosen(better, x, top);
        where = (now & better) | (where & ~better);
    }
    *most = -INFINITY;
    for (int l = 0; l < 4; l++)
        if (top[l] > *most || (top[l] == *most && best >= 0 && (ptrdiff_t)where[l] < best)) {
            *most = top[l];
            best = (ptrdiff_t)where[l];
        }
    for (; t < n; t++)
        if (value[t] + bar[t] > *most) {
            *most = value[t] + bar[t];
            best = t;
        }
    return best;
}

/* Position of the first largest (best - x)^2 / curvature where x = value + bar < best, or -1; `least`
   is the smallest x. bar is 0 or +inf; the curvature is own + diagonal - 2 row, at least `tiny`. */
INLINE ptrdiff_t partner_body(const double *value, const double *bar, const double *diagonal,
                              const double *row, double own, double best, double tiny, ptrdiff_t n,
                              double *least)
{
    ptrdiff_t t = 0, found = -1;
    lanes top = ALL(0.0), low = ALL(INFINITY);
    marks where = {0, 0, 0, 0}, now = {0, 1, 2, 3};
    for (; t + 4 <= n; t += 4, now += 4) {
        const lanes x = READ(value + t) + READ(bar + t), kernel = READ(row + t);
        const lanes step = best - x;
        lanes curve = (own + READ(diagonal + t)) - (kernel + kernel);
        curve = chosen((marks)(curve < ALL(tiny)), ALL(tiny), curve);
        const lanes gain = step * step / curve;
        const marks better = (marks)(gain > top) & (marks)(step > ALL(0.0));
        top = chosen(better, gain, top);
        where = (now & better) | (where & ~better);
        low = chosen((marks)(x < low), x, low);
    }
    double most = 0.0;
    *least = INFINITY;
    for (int l = 0; l < 4; l++) {
        if (low[l] < *least) *least = low[l];
        if (top[l] > most || (top[l] == most && found >= 0 && (ptrdiff_t)where[l] < found)) {
            most = top[l];
            found = (ptrdiff_t)where[l];
        }
    }
    for (; t < n; t++) {
        const double x = value[t] + bar[t], step = best - x;
        double curve = (own + diagonal[t]) - (row[t] + row[t]);
        if (curve < tiny) curve = tiny;
        if (x < *least) *least = x;
        if (step > 0.0 && step * step / curve > most) {
            most = step * step / curve;
            found = t;
        }
    }
    return found;
}

/* value -= p * a + q * b. */
INLINE void lower_body(double *restrict value, const double *restrict a, const double *restrict b,
                       double p, double q, ptrdiff_t n)
{
    for (ptrdiff_t t = 0; t < n; t++) value[t] -= p * a[t] + q * b[t];
}

#if defined(__x86_64__) && defined(__GNUC__)
static int wide_chosen = 0;
static int choose_wide(int wide) { return wide_chosen = wide && __builtin_cpu_supports("avx2")
                                                          && __builtin_cpu_supports("fma"); }
#define BOTH(type, name, parameters, arguments)                                                    \
    static type name##_plain parameters { return name##_body arguments; }                          \
    __attribute__((target("avx2,fma"))) static type name##_wide parameters                             \
    {                                                                                              \
        return name##_body arguments;                                                              \
    }                                                                                              \
    static type name parameters { return (wide_chosen ? name##_wide : name##_plain)arguments; }
#else
static int choose_wide(int wide) { return 0; }
#define BOTH(type, name, parameters, arguments)                                                    \
    static type name parameters { return name##_body arguments; }
#endif

BOTH(void, bells, (double *row, const double *norms, double own, double gamma, ptrdiff_t n),
     (row, norms, own, gamma, n))
BOTH(void, single_bells,
     (const double *row, const double *norms, double own, double gamma, ptrdiff_t n, float *out),
     (row, norms, own, gamma, n, out))
BOTH(void, bell_sums,
     (const double *x, ptrdiff_t n, ptrdiff_t p, const double *panels, const double *own,
      const double *norms, const double *weights, ptrdiff_t count, double *out),
     (x, n, p, panels, own, norms, weights, count, out))
BOTH(void, add_double,
     (double *out, const double *const *rows, const double *weights, ptrdiff_t m, ptrdiff_t n),
     (out, rows, weights, m, n))
BOTH(void, add_single,
     (double *out, const float *const *rows, const double *weights, ptrdiff_t m, ptrdiff_t n),
     (out, rows, weights, m, n))
BOTH(ptrdiff_t, largest, (const double *value, const double *bar, ptrdiff_t n, double *most),
     (value, bar, n, most))
BOTH(ptrdiff_t, partner,
     (const double *value, const double *bar, const double *diagonal, const double *row, double own,
      double best, double tiny, ptrdiff_t n, double *least),
     (value, bar, diagonal, row, own, best, tiny, n, least))
BOTH(void, lower,
     (double *value, const double *a, const double *b, double p, double q, ptrdiff_t n),
     (value, a, b, p, q, n))
