"""One growing tree: the order of its nodes, splitting them, its leaves (steps 1 and 2)."""

from libc.stdint cimport int32_t

from pellucid.tree._histogram_records cimport GrowingTree, Setup


cdef int reserve(Setup* s, GrowingTree* t, int more) noexcept nogil
cdef int add_job(Setup* s, GrowingTree* t, int32_t node) noexcept nogil
cdef bint limited(Setup* s) noexcept nogil
cdef void add_to_front(Setup* s, GrowingTree* t, int32_t node) noexcept nogil
cdef int plan(Setup* s, GrowingTree* t) noexcept nogil
cdef void split_job(Setup* s, GrowingTree* t, long i) noexcept nogil
cdef void prune(Setup* s, GrowingTree* t) noexcept nogil
cdef int list_leaves(Setup* s, GrowingTree* t) noexcept nogil
cdef void set_leaf(Setup* s, GrowingTree* t, int32_t number) noexcept nogil
