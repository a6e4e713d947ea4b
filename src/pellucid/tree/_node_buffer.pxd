"""Nodes under construction, in memory that grows without Python, and the arrays of grown trees."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from pellucid.tree._table cimport Node


cdef class NodeBuffer:
    cdef Node* nodes
    cdef double* counts
    cdef uint32_t* words
    cdef Py_ssize_t n_nodes, node_capacity, n_words, word_capacity
    cdef int size
    cdef int reserve(self, Py_ssize_t nodes, Py_ssize_t words) noexcept nogil


cdef struct Part:               # the memory of one buffer
    const Node* nodes
    const double* counts
    const uint32_t* words


cdef class Gathered:
    cdef readonly object feature, threshold, left, right, missing_left, set_start, sets
    cdef readonly object counts, cost, decrease, rows, weight, lower, upper, like, starts, word_starts
    cdef int32_t[::1] _feature, _left, _right, _set_start, _like
    cdef uint8_t[::1] _missing_left
    cdef double[::1] _threshold, _cost, _decrease, _weight, _lower, _upper
    cdef int64_t[::1] _rows, _starts, _word_starts
    cdef double[:, ::1] _counts
    cdef uint32_t[::1] _sets


cdef void gather_tree(const Part* parts, int size, const int32_t* branch, const int32_t[::1] n_levels,
                      int32_t root, Py_ssize_t tree, int32_t[:, ::1] waiting,
                      Gathered out) noexcept nogil
