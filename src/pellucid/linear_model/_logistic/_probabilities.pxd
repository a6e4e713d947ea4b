"""Probabilities of the classes from the scores of one row, inlined into the loops that need them."""

from libc.math cimport exp


cdef inline double row_probabilities(
    double *z, Py_ssize_t q, int y, bint pivot, double *p_own, double *p_others, double *left
) noexcept nogil:
    """Replace scores by probabilities; set p_own = p_y and p_others = 1 - p_y, to full precision.

    -log p_y is the returned number plus log(1 + left). Sums leave out the largest score (its
    exponential is 1) and the class y instead of subtracting them.
    """
    cdef Py_ssize_t k, own = y - 1 if pivot else y, top = -1 if pivot else 0
    cdef double high = 0.0 if pivot else z[0]
    cdef double rest = 0.0, others = 0.0, total, mine, base
    for k in range(q):
        if z[k] > high:
            high = z[k]
            top = k
    mine = high - (z[own] if own >= 0 else 0.0)
    base = 0.0 if not pivot else 1.0 if top < 0 else exp(-high)
    if pivot and top >= 0:
        rest = base
    if pivot and own >= 0:
        others = base
    for k in range(q):
        z[k] = 1.0 if k == top else exp(z[k] - high)
        if k != top:
            rest += z[k]
        if k != own:
            others += z[k]
    total = 1.0 + rest
    for k in range(q):
        z[k] /= total
    p_others[0] = others / total
    p_own[0] = z[own] if own >= 0 else base / total
    left[0] = rest
    return mine
