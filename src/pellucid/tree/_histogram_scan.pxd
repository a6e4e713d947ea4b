"""The best split of one column of a node, from its histogram."""

from libc.stdint cimport int32_t

from pellucid.tree._histogram_records cimport Cell, Limits, Node, Split, Units


cdef inline double drop(double g, double h, double l2, double lower, double upper) noexcept nogil:
    """Twice the drop of the quadratic model at its best value inside the bounds."""
    cdef double value = -g / (h + l2)
    if lower <= value <= upper:
        return g * g / (h + l2)
    value = lower if value < lower else upper
    return -(2.0 * g + (h + l2) * value) * value


cdef void scan_numbers(const Cell* e, int n_bins, const Cell* missing, const Node* node,
                       const Units* u, const Limits* p, int sign, int32_t feature,
                       Split* best) noexcept nogil
cdef void scan_sets(const Cell* e, int n_bins, const Cell* missing, const Node* node,
                    const Units* u, const Limits* p, int32_t feature, Split* best) noexcept nogil
