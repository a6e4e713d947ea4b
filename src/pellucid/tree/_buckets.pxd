"""The best threshold of a column from sums over buckets of its places; see `_buckets.pyx`."""

from libc.stdint cimport int32_t, uint8_t, uint64_t

from pellucid.tree._row_order cimport TOGETHER, Sorter
from pellucid.tree._sweep cimport Sweep
from pellucid.tree._table cimport Node, Split, Table


cdef enum:
    MOST_BUCKETS = 256


cdef struct Range:              # of a column's places, in buckets
    int32_t* keys               # (m,) of the node's rows
    int32_t low, high
    int shift, count            # count 0: it has one value only
    double* weights             # (MOST_BUCKETS,)
    double limit                # the cost above which no split is of interest
    Sweep sweep


cdef struct Buckets:            # memory of one thread
    uint64_t* words             # (m,) class weights of the node's rows, 16 bits for each of 4 classes
    uint64_t* packed            # (MOST_BUCKETS,) sums of them
    double* sums                # (MOST_BUCKETS, size)
    double* weights             # (MOST_BUCKETS,) of the column in question
    uint8_t* wanted             # (MOST_BUCKETS,) 1: look at its rows
    uint8_t* single             # (MOST_BUCKETS,) of those wanted, 1: all have one value
    int32_t* rows               # (m,) rows of these, and their places
    int32_t* keys
    int32_t* dealt              # (m,) the same rows by bucket
    int32_t* ends               # (MOST_BUCKETS,) where they end
    double* memory              # of the ranges
    Range ranges[TOGETHER]      # of the columns that are gathered
    double* distances           # (2, m) w r and w of the node's rows, for random splits of numbers
    double squares              # sum of the squares of the node's class counts, for random splits
    bint words_ready            # the words, distances or squares are those of the node


cdef inline bint fits_words(const Table* t, const Node* node) noexcept nogil:
    return t.y.packed != NULL and node.weight < 65536.0


cdef int new_buckets(const Table* t, Py_ssize_t m, Buckets* b) noexcept nogil
cdef void free_buckets(Buckets* b) noexcept nogil
cdef void gather_words(const Table* t, const Node* node, Buckets* b) noexcept nogil
cdef void fill_words(const int32_t* keys, Py_ssize_t m, int32_t low, int shift, int K,
                     int count, Buckets* b) noexcept nogil
cdef void fill_sums(const Table* t, const Node* node, const double* counts, const int32_t* keys,
                    Py_ssize_t m, int32_t low, int shift, int count, Buckets* b) noexcept nogil
cdef double weigh_column(const Table* t, const Node* node, const double* counts, int f,
                         Buckets* b, Sorter* o, double known) noexcept nogil
cdef void split_buckets(const Table* t, const Node* node, const double* counts, int f, Buckets* b,
                        Sorter* o, double known, Split* out) noexcept nogil
