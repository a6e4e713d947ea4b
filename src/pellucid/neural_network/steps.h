/* One step of Adam, element by element; square roots and quotients round identically in every build. */
#include <math.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))
#define NO_ERRNO __attribute__((optimize("O3", "no-math-errno")))

#define ADAM(real, root, name)                                                                     \
    INLINE void name##_body(real *restrict x, const real *restrict g, real *restrict m,            \
                            real *restrict v, ptrdiff_t n, real decay, real rate, real beta1,      \
                            real beta2, real epsilon)                                              \
    {                                                                                              \
        for (ptrdiff_t i = 0; i < n; i++) {                                                        \
            const real slope = g[i] + decay * x[i];                                                \
            m[i] = beta1 * m[i] + (1 - beta1) * slope;                                             \
            v[i] = beta2 * v[i] + (1 - beta2) * (slope * slope);                                   \
            x[i] -= rate * m[i] / (root(v[i]) + epsilon);                                          \
        }                                                                                          \
    }                                                                                              \
    NO_ERRNO static void name##_plain(real *x, const real *g, real *m, real *v, ptrdiff_t n,       \
                                      real decay, real rate, real beta1, real beta2, real epsilon) \
    {                                                                                              \
        name##_body(x, g, m, v, n, decay, rate, beta1, beta2, epsilon);                            \
    }

ADAM(double, sqrt, adam_double)
ADAM(float, sqrtf, adam_float)
