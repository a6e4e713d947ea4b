"""The best threshold of a numerical column, from its sorted rows."""

from libc.stdint cimport int32_t

from pellucid.tree._medians cimport Ranked
from pellucid.tree._sweep cimport Sweep
from pellucid.tree._table cimport Node, Split, Table


cdef enum:
    LONGEST_BLOCK = 128         # 256 packed weights of at most 255 fit into 16 bits


cdef int new_sweep(const Table* t, Py_ssize_t m, Sweep* s) noexcept nogil
cdef void free_sweep(Sweep* s) noexcept nogil
cdef double weigh_rows(const Table* t, const Node* node, const double* counts, const int32_t* rows,
                       Py_ssize_t first, Py_ssize_t last, double* sums) noexcept nogil
cdef double weigh_block(const Table* t, const Node* node, const double* counts, const int32_t* rows,
                        Py_ssize_t m, double* sums) noexcept nogil
cdef void scan(const Table* t, const Node* node, const double* counts, Sweep* s,
               Py_ssize_t start, Py_ssize_t stop, Py_ssize_t b) noexcept nogil
cdef void split_number(const Table* t, const Node* node, const double* counts, int f,
                       const int32_t* rows, Sweep* memory, double known, Ranked* a,
                       Split* out) noexcept nogil
