/* Probabilities of a strip of rows, in vectors of four doubles: all builds round alike. */
#include "strips.h"

/* Replace scores z by probabilities; r becomes the gradient of w times the loss by the scores, and
   -log p_y is mine[i] + log(1 + rest[i]). Sums leave out the largest score (its exponential is 1) and
   the class y instead of subtracting them. y and w are 0 beyond the rows. */
static void row_probabilities(double *restrict z, const double *restrict y, const double *restrict w,
                    ptrdiff_t rows, ptrdiff_t classes, double *restrict r, double *restrict mine,
                    double *restrict rest)
{
    for (ptrdiff_t i = 0; i < rows; i += 4) {
        const lanes own = READ(y + i);
        lanes high = ALL(0.0), score = ALL(0.0);
        for (ptrdiff_t k = 0; k < classes; k++) {
            const lanes v = READ(z + k * STRIP + i);
            const marks above = (marks)(v > high);
            high = (lanes)(((marks)v & above) | ((marks)high & ~above));
            score += only((marks)(own == ALL(k + 1.0)), v);
        }
        marks found = (marks)(high <= ALL(0.0)); /* class 0 with the score 0 is the largest */
        const lanes zero = power_of_e(-high);
        lanes others = only((marks)(own > ALL(0.0)), zero), left = only(~found, zero);
        for (ptrdiff_t k = 0; k < classes; k++) {
            const lanes v = READ(z + k * STRIP + i), e = power_of_e(v - high);
            const marks top = (marks)(v == high) & ~found;
            found |= top;
            left += only(~top, e);
            others += only((marks)(own != ALL(k + 1.0)), e);
            AT(z + k * STRIP + i) = e;
        }
        const lanes total = 1.0 + left, miss = others / total;
        for (ptrdiff_t k = 0; k < classes; k++) {
            const lanes probability = READ(z + k * STRIP + i) / total;
            const marks hit = (marks)(own == ALL(k + 1.0));
            AT(z + k * STRIP + i) = probability;
            AT(r + k * STRIP + i) = READ(w + i) * (only(~hit, probability) - only(hit, miss));
        }
        AT(mine + i) = high - score;
        AT(rest + i) = left;
    }
}
