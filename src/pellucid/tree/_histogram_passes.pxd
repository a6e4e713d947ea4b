"""Growing trees by passes over all rows in their order."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from pellucid.tree._histogram cimport Growth
from pellucid.tree._histogram_records cimport Cell, GrowingTree
from pellucid.tree._leaf_sums cimport LeafSum


cdef struct Route:              # of the rows of a node that is split
    uint8_t goes_left[256]      # by bin
    int64_t word                # place of the first row's word
    int32_t shift, left, right


cdef struct Room:               # for the rows of one call of `count`
    int32_t* order
    int32_t* keys               # histogram of each row that is counted
    int32_t* places
    Cell* cells
    int64_t* starts             # of the rows of each histogram, in `order`


cdef class StreamedGrowth(Growth):
    cdef GrowingTree* t                        # that grows now
    cdef Route* routes
    cdef int32_t* route_of                     # by node, -1: none
    cdef int64_t* went_left                    # rows by part and route
    cdef int n_routes
    cdef Cell* parts                           # see `GrowingTree`
    cdef size_t parts_size, node_capacity

    cdef bint checked(self, int status) except -1
    cdef void open_root(self) noexcept nogil
    cdef int prepare_pass(self) noexcept nogil
    cdef int reserve_routes(self) noexcept nogil
    cdef int reserve_parts(self) noexcept nogil
    cdef void split(self, int32_t number) noexcept nogil
    cdef void count_block(self, int64_t first, int64_t last, int part, Room* room) noexcept nogil
    cdef int64_t send_rows(self, int64_t first, int64_t last, int part, Room* room) noexcept nogil
    cdef void set_rows(self) noexcept nogil
    cdef int leaf_values(self) noexcept nogil
    cdef void sum_leaves(self, LeafSum* total) noexcept nogil
    cdef void find_leaves(self) noexcept nogil
    cdef void add_leaves(self)
