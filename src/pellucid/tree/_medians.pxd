"""Absolute errors around weighted medians; see `_medians.pyx`."""

from libc.stdint cimport int32_t, uint8_t

from pellucid.tree._row_order cimport Sorter
from pellucid.tree._sweep cimport Sweep
from pellucid.tree._table cimport Node, Table


cdef struct Sums:
    double w, s                 # weight, and weight times value


cdef struct Ranked:             # memory of one thread
    Sorter sorter               # in the memory of `value` and `tree`
    double* value               # (m,) targets of the node in ascending order, less the node's median
    double* weight              # (m,)
    int32_t* group              # (m,) of the rows by target
    Sums* tree                  # (m + 1,)
    double* cost                # (m + 1,) of the two sides, the first i rows of a sweep on the left
    double* left_value          # (m + 1,) their median; one place only without constraints
    double* right_value
    Py_ssize_t step             # between medians
    int32_t* rows               # (m,) in the order of groups
    double* passed              # (groups,)


cdef int new_ranked(Py_ssize_t m, Py_ssize_t groups, bint medians, Ranked* a) noexcept nogil
cdef void free_ranked(Ranked* a) noexcept nogil
cdef void describe_absolute(const Table* t, const int32_t* rows, Node* node,
                            Ranked* a) noexcept nogil
cdef void fill_ranked(const Table* t, const Node* node, const int32_t* rows,
                      Ranked* a) noexcept nogil
cdef void sweep_medians(const Table* t, const int32_t* rows, Py_ssize_t present, Py_ssize_t m,
                        bint missing_left, Ranked* a) noexcept nogil
cdef void sweep_absolute(const Table* t, const Node* node, int f, Sweep* s, bint missing_left,
                         Ranked* a) noexcept nogil
cdef double sides_cost(Py_ssize_t m, const uint8_t* side, const double* weights, const Ranked* a,
                       double* medians) noexcept nogil
