"""Steps 1 to 3 for one node: its statistics, the best split of each column, the best column."""

from libc.stdint cimport int32_t

from pellucid.tree._buckets cimport Buckets
from pellucid.tree._level_groups cimport Levels
from pellucid.tree._medians cimport Ranked
from pellucid.tree._row_order cimport Sorter
from pellucid.tree._sweep cimport Sweep
from pellucid.tree._table cimport Node, Split, Table


cdef struct Scratch:            # memory of one thread
    Sweep sweep
    int32_t* rows               # of a node in order, or while lists are partitioned those on the right
    Split* splits               # of all columns; features of -1 but for the last node's
    int32_t* drawn              # a permutation of the columns, those of the last node first
    int32_t* swapped            # the partner of each of these, in the order of the draws
    int n_drawn                 # their number, or all
    int32_t* lists              # of a branch, one after the other
    size_t lists_size           # bytes of them
    Levels levels
    Sorter sorter
    Buckets buckets
    Ranked ranked


cdef int new_scratch(const Table* t, Py_ssize_t m, Scratch* s) noexcept nogil
cdef void free_scratch(Scratch* s) noexcept nogil
cdef bint describe(const Table* t, const int32_t* rows, Node* node, double* counts,
                   Ranked* a) noexcept nogil
cdef double split_column(const Table* t, const Node* node, const double* counts, int f,
                         Scratch* s, double known, Split* out) noexcept nogil
cdef void search_columns(const Table* t, const Node* node, const double* counts,
                         Scratch* s) noexcept nogil
cdef void read_threshold(const Table* t, Node* node) noexcept nogil
cdef bint choose(const Table* t, Node* node, const Split* splits, const int32_t* columns,
                 int count) noexcept nogil
