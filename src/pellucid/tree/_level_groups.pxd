"""The levels of a categorical column in a node as groups of rows, and their order."""

from libc.stdint cimport int32_t, uint8_t

from pellucid.tree._table cimport Node, Table


cdef struct Group:
    double key                  # position in the order of groups
    double weight
    int32_t code                # the level, -1 for missing
    int32_t number              # position among the groups, by level
    Py_ssize_t first, last      # its rows in the sorted rows of the node


cdef struct Levels:
    Group* groups               # in the order of levels, missing last
    Group* ordered
    double* sums                # (groups, size) class weights, or sums of w r and w loss_at(r)
    double* left                # (size,)
    double* axis                # (size,) a direction
    uint8_t* side               # per group: 1 left


cdef inline void put_first_left(int g, Levels* v) noexcept nogil:
    """Exchange the sides unless the first group is on the left."""
    cdef int i
    cdef bint exchange = not v.side[0]
    for i in range(g):
        v.side[i] ^= exchange


cdef int new_levels(const Table* t, Py_ssize_t groups, Levels* v) noexcept nogil
cdef void free_levels(Levels* v) noexcept nogil
cdef int gather_groups(const Table* t, const Node* node, const double* counts, int f,
                       const int32_t* rows, Levels* v) noexcept nogil
cdef void order_groups(const Table* t, const Node* node, const double* counts, int g,
                       Levels* v) noexcept nogil
cdef bint side_of_largest(int g, const Levels* v) noexcept nogil
