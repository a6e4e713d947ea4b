"""Growing everything below a node in one thread."""

from libc.stdint cimport int32_t, uint64_t

from pellucid.tree._node_buffer cimport NodeBuffer
from pellucid.tree._splitter cimport Scratch
from pellucid.tree._table cimport Table


cdef int split_node(const Table* t, NodeBuffer buffer, Py_ssize_t i, Scratch* s) noexcept nogil
cdef int add_root(const Table* t, NodeBuffer buffer, uint64_t key, Scratch* s) noexcept nogil
cdef int grow_below(const Table* t, NodeBuffer buffer, Py_ssize_t i, int32_t* number,
                    Scratch* s) noexcept nogil
