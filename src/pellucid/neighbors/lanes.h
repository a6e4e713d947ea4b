/* Distances of one row to the rows of a panel, in lanes of four doubles.
 *
 * A panel holds m rows side by side, panel[m * f + row]. Lanes run over rows, never along a sum: each
 * distance is the plain sum from the first column to the last, in the plain and in the AVX2 build.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

enum { SQUARED, MANHATTAN, CHEBYSHEV, MINKOWSKI, HAMMING, GOWER };

/* What one column adds to a distance. */
INLINE double column_part(int metric, double p, double a, double b)
{
    const double t = a - b;
    switch (metric) {
    case SQUARED: return t * t;
    case MINKOWSKI: return pow(fabs(t), p);
    case HAMMING: return a != b ? 1.0 : 0.0;
    default: return fabs(t);
    }
}

INLINE double joined(int metric, double sum, double part)
{
    return metric == CHEBYSHEV ? (part > sum ? part : sum) : sum + part;
}

/* scale[f] is 0 for a category, else the inverse range of a number; missing cells are left out. */
INLINE double gower(const double *q, const double *x, ptrdiff_t step, ptrdiff_t d,
                    const double *scale)
{
    double sum = 0.0, seen = 0.0;
    for (ptrdiff_t f = 0; f < d; f++, x += step) {
        if (isnan(q[f]) || isnan(*x) || scale[f] < 0.0) continue;
        sum += scale[f] > 0.0 ? fabs(q[f] - *x) * scale[f] : (q[f] != *x ? 1.0 : 0.0);
        seen += 1.0;
    }
    return seen > 0.0 ? sum / seen : 1.0;
}

/* Sums only grow: eight rows that are all farther than `worst` after half of the columns stop there. */
INLINE void panel_body(int metric, double p, const double *restrict q, const double *restrict x,
                       ptrdiff_t d, ptrdiff_t m, double worst, double *restrict out)
{
    const ptrdiff_t half = d > 4 ? (d + 1) / 2 : d;
    ptrdiff_t t = 0;
    for (; t + 8 <= m; t += 8) {
        double s[8] = {0.0};
        long far = 0;
        for (ptrdiff_t f = 0; f < half; f++)
            for (int l = 0; l < 8; l++)
                s[l] = joined(metric, s[l], column_part(metric, p, q[f], x[m * f + t + l]));
        for (int l = 0; l < 8; l++) far += s[l] > worst;
        if (far < 8)
            for (ptrdiff_t f = half; f < d; f++)
                for (int l = 0; l < 8; l++)
                    s[l] = joined(metric, s[l], column_part(metric, p, q[f], x[m * f + t + l]));
        for (int l = 0; l < 8; l++) out[t + l] = s[l];
    }
    for (; t < m; t++) {
        double s = 0.0;
        for (ptrdiff_t f = 0; f < d; f++)
            s = joined(metric, s, column_part(metric, p, q[f], x[m * f + t]));
        out[t] = s;
    }
}

/* Distances to the rows of a panel; those farther than `worst` may be too small, but above it. */
#define PANEL(name, attribute)                                                                     \
    attribute static void name(int metric, double p, const double *scale, const double *q,         \
                               const double *x, ptrdiff_t d, ptrdiff_t m, double worst,            \
                               double *out)                                                        \
    {                                                                                              \
        switch (metric) {                                                                          \
        case SQUARED: panel_body(SQUARED, p, q, x, d, m, worst, out); break;                       \
        case MANHATTAN: panel_body(MANHATTAN, p, q, x, d, m, worst, out); break;                   \
        case CHEBYSHEV: panel_body(CHEBYSHEV, p, q, x, d, m, worst, out); break;                   \
        case HAMMING: panel_body(HAMMING, p, q, x, d, m, worst, out); break;                       \
        case GOWER:                                                                                \
            for (ptrdiff_t t = 0; t < m; t++) out[t] = gower(q, x + t, m, d, scale);               \
            break;                                                                                 \
        default: panel_body(MINKOWSKI, p, q, x, d, m, worst, out);                                 \
        }                                                                                          \
    }

typedef double lanes __attribute__((vector_size(32), aligned(8), may_alias));

/* Four rows of four cells, one below the other, become four columns. */
INLINE void turned(const double *const *rows, ptrdiff_t f, double *out, ptrdiff_t step)
{
    const lanes a = *(const lanes *)(rows[0] + f), b = *(const lanes *)(rows[1] + f);
    const lanes c = *(const lanes *)(rows[2] + f), d = *(const lanes *)(rows[3] + f);
    const lanes ab = __builtin_shufflevector(a, b, 0, 4, 2, 6), cd = __builtin_shufflevector(c, d, 0, 4, 2, 6);
    const lanes AB = __builtin_shufflevector(a, b, 1, 5, 3, 7), CD = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    *(lanes *)out = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    *(lanes *)(out + step) = __builtin_shufflevector(AB, CD, 0, 1, 4, 5);
    *(lanes *)(out + 2 * step) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    *(lanes *)(out + 3 * step) = __builtin_shufflevector(AB, CD, 2, 3, 6, 7);
}

/* m rows of d cells side by side in a panel (d, m). Eight rows at once: whole lines of the cache are
 * written, while the next rows, which may stand anywhere, are on their way. */
#define PANELLED(name, attribute)                                                                  \
    attribute static void name(const double *X, const int64_t *order, ptrdiff_t m, ptrdiff_t d,    \
                               double *restrict out)                                               \
    {                                                                                              \
        ptrdiff_t t = 0;                                                                           \
        for (; t + 8 <= m; t += 8) {                                                               \
            const double *rows[8];                                                                 \
            ptrdiff_t f = 0;                                                                       \
            for (int u = 0; u < 8; u++) rows[u] = X + order[t + u] * d;                            \
            if (t + 16 <= m && d <= 64)                                                            \
                for (int u = 8; u < 16; u++)                                                       \
                    for (ptrdiff_t g = 0; g < d; g += 8)                                           \
                        __builtin_prefetch(X + order[t + u] * d + g);                              \
            for (; f + 4 <= d; f += 4)                                                             \
                for (int u = 0; u < 8; u += 4) turned(rows + u, f, out + m * f + t + u, m);        \
            for (; f < d; f++)                                                                     \
                for (int u = 0; u < 8; u++) out[m * f + t + u] = rows[u][f];                       \
        }                                                                                          \
        for (; t < m; t++)                                                                         \
            for (ptrdiff_t f = 0; f < d; f++) out[m * f + t] = X[order[t] * d + f];                \
    }

/* Squared distance to one row of a panel of m. */
static double squared(const double *q, const double *x, ptrdiff_t d, ptrdiff_t m)
{
    double s = 0.0;
    for (ptrdiff_t f = 0; f < d; f++) s += (q[f] - x[m * f]) * (q[f] - x[m * f]);
    return s;
}

/* Smallest distance that any row inside the box (low, high) can have, rounded as distances are. */
INLINE double box_body(int metric, double p, const double *q, const double *box, ptrdiff_t d)
{
    double s = 0.0;
    for (ptrdiff_t f = 0; f < d; f++) {
        const double under = box[f] - q[f], over = q[f] - box[d + f];
        const double out = under > over ? under : over; /* no branch, which could not be predicted */
        s = joined(metric, s, column_part(metric, p, out > 0.0 ? out : 0.0, 0.0));
    }
    return s;
}

static double box_distance(int metric, double p, const double *q, const double *box, ptrdiff_t d)
{
    switch (metric) {
    case SQUARED: return box_body(SQUARED, p, q, box, d);
    case MANHATTAN: return box_body(MANHATTAN, p, q, box, d);
    case CHEBYSHEV: return box_body(CHEBYSHEV, p, q, box, d);
    default: return box_body(MINKOWSKI, p, q, box, d);
    }
}

/* Whether some of m single-precision scores is not at least `bound`; a NaN is not. */
#define BELOW(name, attribute)                                                                     \
    attribute static int name(const float *s, ptrdiff_t m, float bound)                            \
    {                                                                                              \
        int found = 0;                                                                             \
        for (ptrdiff_t t = 0; t < m; t++) found |= !(s[t] >= bound);                               \
        return found;                                                                              \
    }

/* Scores of at least this belong to rows farther than `worst`. */
static float bound_of(double worst, double unit, double length, double error)
{
    const double half = 0.5 * worst * unit - length;
    return (float)(half + error + 1e-6 * (half > 0.0 ? half : -half));
}

/* A panel (d, m) in single precision, as (d + 1, width): (x - centre) * factor, and half of its square;
 * width is m rounded up to whole steps of 16. Returns the largest half square. */
#define HALVED(name, attribute)                                                                    \
    attribute static double name(const double *restrict x, const double *restrict centre,          \
                                 double factor, ptrdiff_t d, ptrdiff_t m, float *restrict out)     \
    {                                                                                              \
        const ptrdiff_t width = (m + 15) / 16 * 16;                                                \
        double squares[256] = {0.0}, longest = 0.0;                                                \
        for (ptrdiff_t f = 0; f < d; f++, x += m, out += width) {                                  \
            for (ptrdiff_t t = 0; t < m; t++) {                                                    \
                const double moved = (x[t] - centre[f]) * factor;                                  \
                out[t] = (float)moved;                                                             \
                squares[t] += 0.5 * moved * moved;                                                 \
            }                                                                                      \
            for (ptrdiff_t t = m; t < width; t++) out[t] = 0.0f;                                   \
        }                                                                                          \
        for (ptrdiff_t t = 0; t < width; t++) {                                                    \
            out[t] = (float)squares[t];                                                            \
            if (squares[t] > longest) longest = squares[t];                                        \
        }                                                                                          \
        return longest;                                                                            \
    }

typedef float floats __attribute__((vector_size(32), aligned(4), may_alias));
typedef long long longs __attribute__((vector_size(32)));

/* Which of the m rows of such a panel have a score |x|^2 / 2 - q x that is not at least `bound`: their
 * numbers go to `found`, how many there are is returned. */
#define CANDIDATES(name, attribute)                                                                \
    attribute static int name(const float *restrict q, const float *restrict x, ptrdiff_t d,       \
                              ptrdiff_t m, float bound, int *restrict found)                       \
    {                                                                                              \
        const ptrdiff_t width = (m + 15) / 16 * 16;                                                \
        int count = 0;                                                                             \
        for (ptrdiff_t t = 0; t < width; t += 16) {                                                \
            const float *const own = x + t;                                                        \
            floats s = *(const floats *)(own + width * d), u = *(const floats *)(own + width * d + 8); \
            for (ptrdiff_t f = 0; f < d; f++) {                                                    \
                s -= q[f] * *(const floats *)(own + width * f);                                    \
                u -= q[f] * *(const floats *)(own + width * f + 8);                                \
            }                                                                                      \
            const longs far = (longs)((s >= bound) & (u >= bound));                                \
            if ((far[0] & far[1] & far[2] & far[3]) == -1) continue;                               \
            for (int l = 0; l < 16 && t + l < m; l++)                                              \
                if (!((l < 8 ? s[l] : u[l - 8]) >= bound)) found[count++] = (int)(t + l);          \
        }                                                                                          \
        return count;                                                                              \
    }

PANEL(panel_plain, )
PANELLED(panelled_plain, )
BELOW(below_plain, )
HALVED(halved_plain, )
CANDIDATES(candidates_plain, )
#if defined(__x86_64__) && defined(__GNUC__)
PANEL(panel_wide, __attribute__((target("avx2"))))
PANELLED(panelled_wide, __attribute__((target("avx2"))))
BELOW(below_wide, __attribute__((target("avx2"))))
HALVED(halved_wide, __attribute__((target("avx2"))))
CANDIDATES(candidates_wide, __attribute__((target("avx2"))))
static int wide_chosen = 0;
static int choose_wide(int wide) { return wide_chosen = wide && __builtin_cpu_supports("avx2"); }
#define CHOICE(a, b) (wide_chosen ? (a) : (b))
#else
static int choose_wide(int wide) { return 0; }
#define CHOICE(a, b) (b)
#define panel_wide panel_plain
#define panelled_wide panelled_plain
#define below_wide below_plain
#define halved_wide halved_plain
#define candidates_wide candidates_plain
#endif

static void panel(int metric, double p, const double *scale, const double *q, const double *x,
                  ptrdiff_t d, ptrdiff_t m, double worst, double *out)
{
    CHOICE(panel_wide, panel_plain)(metric, p, scale, q, x, d, m, worst, out);
}

static void panelled(const double *X, const int64_t *order, ptrdiff_t m, ptrdiff_t d, double *out)
{
    CHOICE(panelled_wide, panelled_plain)(X, order, m, d, out);
}

static int below(const float *s, ptrdiff_t m, float bound)
{
    return CHOICE(below_wide, below_plain)(s, m, bound);
}

static double halved(const double *x, const double *centre, double factor, ptrdiff_t d, ptrdiff_t m,
                     float *out)
{
    return CHOICE(halved_wide, halved_plain)(x, centre, factor, d, m, out);
}

static int candidates(const float *q, const float *x, ptrdiff_t d, ptrdiff_t m, float bound,
                      int *found)
{
    return CHOICE(candidates_wide, candidates_plain)(q, x, d, m, bound, found);
}
