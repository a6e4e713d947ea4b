"""Sums of gradients and curvatures that have no order: integers for the leading bits of every number,
for those that are left over, and again. A sum is rounded once, at its end, so that neither the order of
the rows nor who holds them changes a bit of it.
"""

from libc.stdint cimport int32_t, int64_t


cdef extern from *:
    """
    #include <math.h>
    #define LIMBS 3
    #define LIMB_BITS 40
    #define BLOCK 1024  /* rows whose limbs are added up as doubles: 40 + 10 bits are exact */
    #define HALF 6755399441055744.0  /* 1.5 * 2**52: adding it rounds to an integer */
    typedef double two __attribute__((vector_size(16)));
    typedef __int128 wide;

    typedef struct { long long limb[LIMBS][2]; } LeafSum;  /* of g and of h */

    /* up: numbers times this are below base = 2**bits. */
    static inline void add_leaf_row(LeafSum *sum, const double *gh, double up_g, double up_h,
                                    double base)
    {
        const double up[2] = {up_g, up_h};
        for (int j = 0; j < 2; j++) {
            double rest = gh[j] * up[j];
            for (int k = 0; k < LIMBS; k++) {
                const double whole = (rest + HALF) - HALF;
                sum->limb[k][j] += (long long) whole;
                rest = (rest - whole) * base;  /* exact */
            }
        }
    }

    static inline void add_leaf_rows(LeafSum *sum, const double *gradients, const int *rows,
                                     ptrdiff_t n, double up_g, double up_h, double base)
    {
        const two up = {up_g, up_h}, half = {HALF, HALF}, bases = {base, base};
        for (ptrdiff_t first = 0; first < n; first += BLOCK) {
            const ptrdiff_t last = first + BLOCK < n ? first + BLOCK : n;
            two a = {0, 0}, b = {0, 0}, c = {0, 0}, whole, rest;
            for (ptrdiff_t i = first; i < last; i++) {
                if (i + 16 < n) __builtin_prefetch(gradients + 2 * (ptrdiff_t) rows[i + 16]);
                const double *const gh = gradients + 2 * (ptrdiff_t) rows[i];
                rest = (two){gh[0], gh[1]} * up;
                whole = (rest + half) - half;
                a += whole;
                rest = (rest - whole) * bases;
                whole = (rest + half) - half;
                b += whole;
                rest = (rest - whole) * bases;
                c += (rest + half) - half;
            }
            for (int j = 0; j < 2; j++) {
                sum->limb[0][j] += (long long) a[j];
                sum->limb[1][j] += (long long) b[j];
                sum->limb[2][j] += (long long) c[j];
            }
        }
    }

    /* The sum of g (0) or h (1), rounded once; numbers were multiplied by 2**up. */
    static inline double leaf_sum(const LeafSum *sum, int which, int bits, int up)
    {
        const wide low = ((wide) sum->limb[1][which] << bits) + sum->limb[2][which];
        const long long high = sum->limb[0][which];
        const int twice = 2 * bits, spare = twice > 62 ? twice - 62 : 0;
        const long long most = 1LL << (spare ? 125 - twice : 62);
        wide whole;
        int left_out = 0;
        if (high < most && high > -most)
            whole = ((wide) high << twice) + low;
        else {  /* beyond 127 bits: the last ones count as one bit, which decides halves alone */
            left_out = spare;
            whole = ((wide) high << (twice - spare)) + (low >> spare);
            whole |= (low & (((wide) 1 << spare) - 1)) != 0;
        }
        return ldexp((double) whole, left_out - up - twice);
    }
    """
    ctypedef struct LeafSum:
        int64_t limb[3][2]
    enum:
        LIMBS
        LIMB_BITS
    const double HALF
    void add_leaf_row(LeafSum* sum, const double* gh, double up_g, double up_h, double base) nogil
    void add_leaf_rows(LeafSum* sum, const double* gradients, const int32_t* rows, Py_ssize_t n,
                       double up_g, double up_h, double base) nogil
    double leaf_sum(const LeafSum* sum, int which, int bits, int up) nogil
