# The rows of a node in the order of a column.
#
# Lists: every column's list is partitioned with the nodes, so a node's rows stand there in order.
# Members: only one list of the rows, `members`, is partitioned; `places` says where a row stands in
# the columns' lists, equal values at the place of the first of them. That pays where a node looks at
# few of the columns. What has to be sorted is sorted by place: never by value.
# Shared: members without places. The lists of the whole table belong to many trees and stay as they
# are; a node's order is a list without the rows of the others. That pays for nodes that hold a good
# part of the table; smaller ones are branches, which have lists of their own.

cdef enum:
    FEW_ROWS = 32               # up to this number places are counted against each other
    DIGIT = 8                   # bits per counting pass
    AHEAD = 16                  # rows whose places are on their way
    TOGETHER = 4                # columns whose places are gathered in one pass over a node's rows


cdef struct Sorter:             # memory of one thread
    int32_t* keys               # (TOGETHER, m) places of the node's rows
    int32_t low[TOGETHER]       # the lowest and the highest of them
    int32_t high[TOGETHER]
    int block                   # of the column in question, -1: not gathered yet
    int32_t* rows               # (m,) rows in order
    uint64_t* pairs             # (2 m,) place and row in one word
    uint8_t* mark               # (n_rows,) 0, but for the rows of a node while they are picked


cdef void sort_few(const int32_t* rows, const int32_t* keys, Py_ssize_t m,
                   int32_t* out) noexcept nogil:
    """A row's number in the order is the number of lower places; equal ones keep their order."""
    cdef int32_t before[FEW_ROWS]
    cdef int32_t key
    cdef Py_ssize_t i, j
    for i in range(m):
        key = keys[i]
        before[i] = 0
        for j in range(i):
            before[i] += keys[j] <= key
        for j in range(i + 1, m):
            before[i] += keys[j] < key
    for i in range(m):
        out[before[i]] = rows[i]


cdef void sort_many(const int32_t* rows, const int32_t* keys, Py_ssize_t m, int32_t low,
                    int32_t high, Sorter* o, int32_t* out) noexcept nogil:
    """Counting passes over the digits of the places, lowest digit first."""
    cdef uint32_t counts[1 << DIGIT]
    cdef uint32_t total, here
    cdef uint64_t* source = o.pairs
    cdef uint64_t* target = o.pairs + m
    cdef Py_ssize_t i
    cdef int shift = 32
    for i in range(m):
        source[i] = <uint64_t> (keys[i] - low) << 32 | <uint64_t> rows[i]
    while (<uint64_t> (high - low) << 32) >> shift:
        memset(counts, 0, sizeof(counts))
        for i in range(m):
            counts[source[i] >> shift & ((1 << DIGIT) - 1)] += 1
        total = 0
        for i in range(1 << DIGIT):
            here = counts[i]
            counts[i] = total
            total += here
        for i in range(m):
            here = source[i] >> shift & ((1 << DIGIT) - 1)
            target[counts[here]] = source[i]
            counts[here] += 1
        source, target = target, source
        shift += DIGIT
    for i in range(m):
        out[i] = <int32_t> source[i]            # its lower half


cdef inline void sort_rows(const int32_t* rows, const int32_t* keys, Py_ssize_t m, int32_t low,
                           int32_t high, Sorter* o, int32_t* out) noexcept nogil:
    """Rows by their keys, which are from low to high, equal ones in their order."""
    if m <= FEW_ROWS:
        sort_few(rows, keys, m, out)
    else:
        sort_many(rows, keys, m, low, high, o, out)


cdef void look_at(const Table* t, int f) noexcept nogil:
    """A branch copies the values of a column when it is first looked at."""
    cdef const Table* whole = t.parent
    cdef Py_ssize_t m = t.n_rows, i
    if t.ready == NULL or t.ready[f]:
        return
    if whole.binned.bins != NULL and not t.kinds[f]:
        for i in range(m):
            (<uint8_t*> t.binned.bins)[f * m + i] = whole.binned.bins[
                f * whole.n_rows + t.origin[i]]
        t.ready[f] = 1
        return
    if t.compared[f]:
        for i in range(m):
            (<double*> t.X)[f * m + i] = whole.X[
                f * whole.column_step + t.origin[i] * whole.row_step]
    t.ready[f] = 1


cdef void pick_listed(const Table* t, const Record* node, int f, const int32_t* number,
                      const uint8_t* mark, int32_t* out) noexcept nogil:
    """The shared list of column f without the rows of other nodes, which are not marked; `number`:
    what to write for a row, NULL: itself."""
    cdef const int32_t* list = t.lists + f * t.stride
    cdef Py_ssize_t m = node.end - node.start, i = 0, k = 0
    while k < m:
        out[k] = list[i] if number == NULL else number[list[i]]
        k += mark[list[i]]
        i += 1


cdef void mark_rows(const Table* t, const Record* node, uint8_t* mark, uint8_t to) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(node.start, node.end):
        mark[t.members[i]] = to


cdef const int32_t* listed_rows(const Table* t, const Record* node, int f,
                                Sorter* o) noexcept nogil:
    """The rows of a node in the order of column f, from a shared list."""
    if node.end - node.start == t.stride:
        return t.lists + f * t.stride
    mark_rows(t, node, o.mark, 1)
    pick_listed(t, node, f, NULL, o.mark, o.rows)
    mark_rows(t, node, o.mark, 0)
    return o.rows


cdef const int32_t* rows_of(const Table* t, const Record* node, int f, Sorter* o) noexcept nogil:
    """The rows of a node; with lists those of column f, whose list was partitioned. Shared lists
    give them in the same order, so that sums of weights have equal bits."""
    if t.shared:
        return listed_rows(t, node, f, o)
    if t.members != NULL:
        return t.members + node.start
    return t.lists + f * t.stride + node.start


cdef void gather_keys(const Table* t, const Record* node, int f, Sorter* o, int32_t* low,
                      int32_t* high) noexcept nogil:
    """Places of the node's rows in column f, the lowest and the highest of them."""
    cdef const int32_t* members = t.members + node.start
    cdef const int32_t* places = t.places + f
    cdef Py_ssize_t i, d = t.d
    cdef int32_t key, first = places[members[0] * d], last = first
    for i in range(node.end - node.start):
        key = places[members[i] * d]
        o.keys[i] = key
        first = key if key < first else first
        last = key if key > last else last
    low[0], high[0] = first, last


cdef void find_ends(const int32_t* keys, Py_ssize_t m, int32_t* low, int32_t* high) noexcept nogil:
    """The lowest and the highest of m > 0 places: a pass of its own, several at a time."""
    cdef int32_t first = keys[0], last = keys[0]
    cdef Py_ssize_t i
    for i in range(m):
        first = keys[i] if keys[i] < first else first
        last = keys[i] if keys[i] > last else last
    low[0], high[0] = first, last


cdef void gather_together(const Table* t, const Record* node, const int32_t* columns, int count,
                          Sorter* o) noexcept nogil:
    """The same for up to TOGETHER columns: a row's places stand side by side, so that all of them
    cost little more than one."""
    cdef const int32_t* members = t.members + node.start
    cdef const int32_t* places
    cdef Py_ssize_t m = node.end - node.start, i, d = t.d
    cdef int32_t f[TOGETHER]
    cdef int k
    for k in range(TOGETHER):
        f[k] = columns[min(k, count - 1)]          # a number known to the compiler
    if t.origin != NULL:                           # a branch is near
        for i in range(m):
            places = t.places + members[i] * d
            for k in range(TOGETHER):
                o.keys[k * m + i] = places[f[k]]
    else:
        for i in range(m):
            places = t.places + members[min(i + AHEAD, m - 1)] * d
            for k in range(TOGETHER):
                fetch_soon(places + f[k])
            places = t.places + members[i] * d
            for k in range(TOGETHER):
                o.keys[k * m + i] = places[f[k]]
    for k in range(count):
        find_ends(o.keys + k * m, m, o.low + k, o.high + k)


cdef void gather_codes(const Table* t, const Record* node, int f, Sorter* o) noexcept nogil:
    """The same for a column of levels in a binned table: the codes themselves, missing ones last."""
    cdef const double* x = t.X + f * t.column_step
    cdef Py_ssize_t i
    cdef double v
    for i in range(node.end - node.start):
        v = x[t.members[node.start + i] * t.row_step]
        o.keys[i] = t.n_levels[f] if isnan(v) else <int32_t> v


cdef const int32_t* sorted_rows(const Table* t, const Record* node, int f,
                                Sorter* o) noexcept nogil:
    """The rows of a node in the order of column f, missing ones last."""
    cdef Py_ssize_t m = node.end - node.start
    cdef int32_t low, high
    if t.members == NULL:
        return rows_of(t, node, f, o)
    if t.shared:
        return listed_rows(t, node, f, o)
    if m == t.stride:
        return t.lists + f * t.stride
    look_at(t, f)
    if t.binned.bins != NULL:
        low, high = 0, t.n_levels[f]
        gather_codes(t, node, f, o)
    else:
        gather_keys(t, node, f, o, &low, &high)
    sort_rows(t.members + node.start, o.keys, m, low, high, o, o.rows)
    return o.rows
