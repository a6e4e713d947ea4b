"""One step of a row down a grown tree; the arrays are those of `nodes.Nodes`."""

from libc.math cimport isnan
from libc.stdint cimport int32_t, uint8_t, uint32_t

from pellucid.tree._level_sets cimport set_left


cdef struct Tree:
    const int32_t* feature
    const double* threshold
    const int32_t* left
    const int32_t* right
    const uint8_t* missing_left
    const int32_t* set_start
    const uint32_t* sets
    const int32_t* n_levels
    const double* value
    Py_ssize_t K


cdef inline bint goes_left(const Tree* t, int32_t node, double x) noexcept nogil:
    """A level that the tree does not know counts as missing."""
    if isnan(x):
        return t.missing_left[node]
    if t.set_start[node] == -1:
        return x <= t.threshold[node]
    if not 0.0 <= x < t.n_levels[t.feature[node]]:
        return t.missing_left[node]
    return set_left(t.sets, t.set_start[node], <int32_t> x, t.missing_left[node])


cdef inline int32_t child(const Tree* t, int32_t node, double x) noexcept nogil:
    return t.left[node] if goes_left(t, node, x) else t.right[node]
