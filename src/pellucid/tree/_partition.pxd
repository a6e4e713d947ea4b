"""Steps 4 and 5 for one node: which rows go left, and the lists partitioned."""

from libc.stdint cimport int32_t

from pellucid.tree._node_buffer cimport NodeBuffer
from pellucid.tree._row_order cimport Sorter
from pellucid.tree._splitter cimport Scratch
from pellucid.tree._table cimport Node, Table


cdef void partition_list(const Table* t, int f, const Node* node,
                         int32_t* right) noexcept nogil
cdef Py_ssize_t partition_rows(const Table* t, int32_t* rows, Py_ssize_t start, Py_ssize_t end,
                               int32_t* right) noexcept nogil
cdef Py_ssize_t partition_members(const Table* t, Node* node, int32_t* right) noexcept nogil
cdef Py_ssize_t partition_bins(const Table* t, Node* node, int32_t* right) noexcept nogil
cdef Py_ssize_t mark_number(const Table* t, Node* node, Sorter* o) noexcept nogil
cdef Py_ssize_t mark_levels(const Table* t, Node* node, const double* counts, Scratch* s,
                            NodeBuffer buffer, int32_t* forced) noexcept nogil
