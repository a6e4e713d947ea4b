"""The finished trees of all rounds of boosting."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from pellucid.tree._histogram_records cimport GrowingTree, Grown


cdef class GrownTrees:
    cdef Grown* grown                          # the trees of the last rounds
    cdef int64_t n_grown, grown_capacity
    cdef int64_t first_grown                   # nodes before these, in `fields`
    cdef uint64_t* sets
    cdef int64_t n_sets, sets_capacity
    cdef dict fields                           # of the nodes before, by name
    cdef list starts                           # first node of each tree

    cdef int append(self, const GrowingTree* trees, int n_trees) except -1
    cdef int keep_fields(self) except -1
    cdef int store_tree(self, const GrowingTree* t) except -1
    cdef void describe(self, const GrowingTree* t, int32_t number, Grown* g) noexcept nogil


cdef void* reallocated(void* memory, size_t size) except? NULL
