"""Shapley values of one row in one tree. The columns outside a coalition are averaged along the tree:
a row goes to both children of a split by such a column, in the shares of their training weights.

A column of a path has a share `zero` of the rows that come this way if it is not known, and `one`, 1
if this row comes this way when it is known, else 0. The mean over all orders of the columns is an
integral: a leaf of value v gives column i of its path
    v (one_i - zero_i) int_0^1 prod_{j != i} f_j(t) dt,   f_j(t) = zero_j + t (one_j - zero_j).
The product is a polynomial: Gauss and Legendre's rule is exact with half as many points as it has
columns. All factors are >= 0 and nothing is subtracted, so deep paths keep their digits.
1. A split multiplies the products at the points by its column's factor; a column that the path met
   before changes its factor. 2. A leaf adds its value to every column of the path.
"""

from libc.stdint cimport int32_t
from libc.string cimport memcpy

from pellucid.tree._walk cimport Tree, child


cdef struct Element:            # a column of the path
    double zero, one
    double* inverse             # (points,) of its factors
    int32_t feature


cdef struct Journey:            # of one row down all of a tree
    const Tree* tree
    const double* cover
    const double* x             # x[f * stride] is a cell
    Py_ssize_t stride
    const double* points
    const double* weights
    int n_points
    Element* path
    double* products            # (depth + 1, points)
    double scale
    double* out                 # (d, K)


cdef inline void set_factor(const Journey* j, Element* e, const double* before, const double* products,
                            double* out) noexcept nogil:
    """Step 1: products with the factor of `e`, divided by what it was (times `before`, NULL: 1)."""
    cdef double factor
    cdef int q
    for q in range(j.n_points):
        factor = e.zero + j.points[q] * (e.one - e.zero)
        out[q] = products[q] * factor * (1.0 if before == NULL else before[q])
        e.inverse[q] = 1.0 / factor if factor > 0.0 else 0.0


cdef inline void add_leaf(const Journey* j, int32_t node, int count,
                          const double* products) noexcept nogil:
    """Step 2."""
    cdef Py_ssize_t K = j.tree.K, k
    cdef const Element* e
    cdef double share
    cdef int i, q
    for i in range(count):
        e = j.path + i
        share = 0.0
        for q in range(j.n_points):
            share += j.weights[q] * products[q] * e.inverse[q]
        share *= j.scale * (e.one - e.zero)
        for k in range(K):
            j.out[e.feature * K + k] += share * j.tree.value[node * K + k]


cdef inline void shapley(const Journey* j, int32_t node, int count, int depth,
                         double* before) noexcept nogil:
    """Add the Shapley values of the leaves below a node, which `count` columns lead to. `before`:
    memory for the inverse factors of a column that the path has met, from this depth on."""
    cdef double* products = j.products + depth * j.n_points
    cdef int32_t f = j.tree.feature[node]
    cdef int32_t sides[2]
    cdef double zero = 1.0, one = 1.0
    cdef int at = 0, side
    cdef Element* e
    if f < 0:
        add_leaf(j, node, count, products)
        return
    while at < count and j.path[at].feature != f:
        at += 1
    e = j.path + at
    if at < count:
        zero, one = e.zero, e.one
        memcpy(before, e.inverse, j.n_points * sizeof(double))
    e.feature = f
    sides[0] = child(j.tree, node, j.x[f * j.stride])
    sides[1] = j.tree.right[node] if sides[0] == j.tree.left[node] else j.tree.left[node]
    for side in range(2):
        e.zero = zero * (j.cover[sides[side]] / j.cover[node])
        e.one = one if side == 0 else 0.0
        set_factor(j, e, before if at < count else NULL, products, products + j.n_points)
        shapley(j, sides[side], max(count, at + 1), depth + 1, before + j.n_points)
    e.zero, e.one = zero, one
    if at < count:
        memcpy(e.inverse, before, j.n_points * sizeof(double))
