"""The state of the lasso by active sets, shared by the stages of `_active_set`.

Layout: G is (p, p), symmetric, each row contiguous; row j of R (p, m) is what column j has in the
rows that are taken off, the mean last.
order[:K] are the columns in use, b and sign theirs, place their inverse (-1: not in use), and L
the L L' = Q of them: the lower triangle, row i with i + 1 entries; u = L^-1 c and v = L^-1 sign.
near[:n_near] are columns that may come into use at the next penalty.
"""

cdef enum:
    FEW = 16  # columns up to which rows of Q are kept
    TOGETHER = 12  # columns that enter at once
    SPAN = 4  # points after which all columns are looked at


cdef struct Active:
    Py_ssize_t p, m, K, stride, rows, n_near, points, left
    bint positive
    double yy, l1, gone
    const double *G
    const double *R
    const double *c
    Py_ssize_t *order
    Py_ssize_t *place
    Py_ssize_t *near
    double *b
    double *sign
    double *u
    double *v
    double *x
    double *g
    double *last
    double *before
    double *cosine
    double *sine
    double *f
    double *H
    double *L
    double *N
    double *W
    double *Y


cdef inline void keep_near(Active *s, Py_ssize_t j) noexcept nogil:
    """Column j, which leaves, may come back."""
    cdef Py_ssize_t i
    for i in range(s.n_near):
        if s.near[i] == j:
            return
    s.near[s.n_near] = j
    s.n_near += 1
