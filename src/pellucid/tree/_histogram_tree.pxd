"""One growing tree: the order of its nodes, splitting them, its leaves (steps 1 and 2)."""

from libc.stdint cimport int32_t, int64_t

from pellucid.tree._histogram_records cimport Gradient, GrowingTree, Node, Setup


cdef int reserve(GrowingTree* t, int more) noexcept nogil
cdef int add_job(GrowingTree* t, int32_t node) noexcept nogil
cdef void add_to_front(GrowingTree* t, int32_t node) noexcept nogil
cdef int plan(const Setup* s, GrowingTree* t) noexcept nogil
cdef void set_numbers(GrowingTree* t, Node* node) noexcept nogil
cdef void add_children(const Setup* s, GrowingTree* t, int32_t number, int64_t at) noexcept nogil
cdef void split_job(const Setup* s, GrowingTree* t, long i) noexcept nogil
cdef void prune(const Setup* s, GrowingTree* t) noexcept nogil
cdef int list_leaves(GrowingTree* t) noexcept nogil
cdef void set_value(const Setup* s, Node* node, Gradient total) noexcept nogil
cdef void set_leaf(const Setup* s, GrowingTree* t, int32_t number) noexcept nogil
