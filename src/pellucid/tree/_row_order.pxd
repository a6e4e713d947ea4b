"""The rows of a node in the order of a column; see `_row_order.pyx`."""

from libc.stdint cimport int32_t, uint8_t, uint64_t

from pellucid.tree._table cimport Node, Table


cdef enum:
    FEW_ROWS = 32               # up to this number places are counted against each other
    TOGETHER = 4                # columns whose places are gathered in one pass over a node's rows


cdef struct Sorter:             # memory of one thread
    int32_t* keys               # (TOGETHER, m) places of the node's rows
    int32_t low[TOGETHER]       # the lowest and the highest of them
    int32_t high[TOGETHER]
    int block                   # of the column in question, -1: not gathered yet
    int32_t* rows               # (m,) rows in order
    uint64_t* pairs             # (2 m,) place and row in one word
    uint8_t* mark               # (n_rows,) 0, but for the rows of a node while they are picked
    int32_t* number             # (n_rows,) of a row among those of the node; of others anything
    bint numbered               # whether these are the numbers of the node in question
    bint constant               # the rows sorted last have one value


cdef int new_sorter(const Table* t, Py_ssize_t m, int32_t* rows, Sorter* o) noexcept nogil
cdef void free_sorter(Sorter* o) noexcept nogil
cdef void sort_rows(const int32_t* rows, const int32_t* keys, Py_ssize_t m, int32_t low,
                    int32_t high, Sorter* o, int32_t* out) noexcept nogil
cdef void copy_column(const Table* t, int f) noexcept nogil
cdef void pick_listed(const Table* t, const Node* node, int f, const int32_t* number,
                      const uint8_t* mark, int32_t* out) noexcept nogil
cdef void mark_rows(const Table* t, const Node* node, uint8_t* mark, uint8_t to) noexcept nogil
cdef const int32_t* rows_of(const Table* t, const Node* node, int f, Sorter* o) noexcept nogil
cdef void find_ends(const int32_t* keys, Py_ssize_t m, int32_t* low, int32_t* high) noexcept nogil
cdef void gather_keys(const Table* t, const Node* node, int f, Sorter* o, int32_t* low,
                      int32_t* high) noexcept nogil
cdef bint is_rare(const Table* t, int f, Py_ssize_t m) noexcept nogil
cdef Py_ssize_t rare_rows(const Table* t, const Node* node, int f, Sorter* o,
                          Py_ssize_t* below) noexcept nogil
cdef void gather_together(const Table* t, const Node* node, const int32_t* columns, int count,
                          const bint* skipped, Sorter* o) noexcept nogil
cdef const int32_t* sorted_rows(const Table* t, const Node* node, int f,
                                Sorter* o) noexcept nogil
