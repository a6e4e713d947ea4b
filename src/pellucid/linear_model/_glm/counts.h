/* Losses of counts for a strip of rows, in vectors of four doubles: all builds round alike. */
#include <math.h>
#include "strips.h"

/* z becomes e^z; numbers too large for `power_of_e`, and what is not a number, take the slow way. */
INLINE void rates(double *restrict z)
{
    marks ordinary = ~(marks){0};
    for (int i = 0; i < STRIP; i += 4) ordinary &= (marks)(READ(z + i) <= ALL(700.0));
    if (ordinary[0] & ordinary[1] & ordinary[2] & ordinary[3])
        for (int i = 0; i < STRIP; i += 4) AT(z + i) = power_of_e(READ(z + i));
    else
        for (int i = 0; i < STRIP; i++) z[i] = exp(z[i]);
}

/* The sum of w times half the deviance; scores z become w (e^z - y). All are 0 beyond the rows. */
static double count_losses(double *restrict z, const double *restrict y, const double *restrict logs,
                           const double *restrict w)
{
    double eta[STRIP];
    lanes loss = ALL(0.0);
    __builtin_memcpy(eta, z, sizeof eta);
    rates(z);
    for (int i = 0; i < STRIP; i += 4) {
        const lanes count = READ(y + i), weight = READ(w + i), residual = READ(z + i) - count;
        const lanes own = count * (READ(logs + i) - READ(eta + i));
        loss += weight * (residual + only((marks)(count > ALL(0.0)), own));
        AT(z + i) = weight * residual;
    }
    return sum_of(loss);
}
