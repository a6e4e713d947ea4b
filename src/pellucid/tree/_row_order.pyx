"""The rows of a node in the order of a column.

Lists: the list of every column is partitioned with the nodes, so a node's rows stand there in order.
Members: only one list of the rows, `members`, is partitioned; `places` holds where a row stands in
the lists of the columns, equal values at the place of the first of them. That is faster where a node
searches few of the columns. Rows are sorted by place, never by value.
Shared: members without places. The lists of the whole table belong to many trees and stay as they
are; a node's order is a list without the rows of the other nodes. That is faster for nodes that hold
a good part of the table; smaller ones are branches, which have lists of their own.

Rare: in a large table with members, where most rows of a column have one common value, only the others
are looked up; their rows stand at both ends of the column's list.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from pellucid.tree._memory cimport allocate, release
from pellucid.tree._prefetch cimport prefetch
from pellucid.tree._table cimport Node, Table


cdef enum:
    DIGIT = 8                   # bits per counting pass
    AHEAD = 16                  # rows whose places are prefetched
    RARE = 2                    # rows with other values than the common one, per row of a node, up to
    RARE_ROWS = 16              # which only they are looked up; and this number at least


cdef int new_sorter(const Table* t, Py_ssize_t m, int32_t* rows, Sorter* o) noexcept nogil:
    """Memory for nodes of up to m rows, which are written to `rows`; 0 if there is enough."""
    o.block, o.rows = -1, rows
    if t.rows.members == NULL:
        return 0
    if t.rows.shared:
        o.mark = <uint8_t*> allocate(t.columns.n_rows)
        if o.mark == NULL:
            return -1
        memset(o.mark, 0, t.columns.n_rows)
        return 0
    if t.rows.common != NULL:
        o.number = <int32_t*> allocate(t.columns.n_rows * sizeof(int32_t))
        if o.number == NULL:
            return -1
        memset(o.number, 0, t.columns.n_rows * sizeof(int32_t))
    o.keys = <int32_t*> allocate(TOGETHER * m * sizeof(int32_t))
    o.pairs = <uint64_t*> allocate(2 * m * sizeof(uint64_t))
    return 0 if o.keys != NULL and o.pairs != NULL else -1


cdef void free_sorter(Sorter* o) noexcept nogil:
    release(o.keys)
    release(o.pairs)
    release(o.mark)
    release(o.number)


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


cdef void sort_rows(const int32_t* rows, const int32_t* keys, Py_ssize_t m, int32_t low,
                    int32_t high, Sorter* o, int32_t* out) noexcept nogil:
    """Rows by their keys, which are from low to high, equal ones in their order."""
    if m <= FEW_ROWS:
        sort_few(rows, keys, m, out)
    else:
        sort_many(rows, keys, m, low, high, o, out)


cdef void copy_column(const Table* t, int f) noexcept nogil:
    """A branch copies the values of a column when it is first looked at."""
    cdef const Table* whole = t.source.parent
    cdef Py_ssize_t m = t.columns.n_rows, i
    if t.source.ready == NULL or t.source.ready[f]:
        return
    if whole.columns.binned.bins != NULL and not t.columns.kinds[f]:
        for i in range(m):
            (<uint8_t*> t.columns.binned.bins)[f * m + i] = whole.columns.binned.bins[
                f * whole.columns.n_rows + t.source.origin[i]]
        t.source.ready[f] = 1
        return
    if t.columns.compared[f]:
        for i in range(m):
            (<double*> t.columns.X)[f * m + i] = whole.columns.X[
                f * whole.columns.column_step + t.source.origin[i] * whole.columns.row_step]
    t.source.ready[f] = 1


cdef void pick_listed(const Table* t, const Node* node, int f, const int32_t* number,
                      const uint8_t* mark, int32_t* out) noexcept nogil:
    """The shared list of column f without the rows of other nodes, which are not marked; `number`:
    what to write for a row, NULL: itself."""
    cdef const int32_t* list = t.rows.lists + f * t.rows.stride
    cdef Py_ssize_t m = node.end - node.start, i = 0, k = 0
    cdef int32_t row
    if number == NULL:
        while k < m:
            row = list[i]
            out[k] = row
            k += mark[row]
            i += 1
        return
    while k < m:
        row = list[i]
        out[k] = number[row]
        k += mark[row]
        i += 1


cdef void mark_rows(const Table* t, const Node* node, uint8_t* mark, uint8_t to) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(node.start, node.end):
        mark[t.rows.members[i]] = to


cdef const int32_t* listed_rows(const Table* t, const Node* node, int f,
                                Sorter* o) noexcept nogil:
    """The rows of a node in the order of column f, from a shared list."""
    if node.end - node.start == t.rows.stride:
        return t.rows.lists + f * t.rows.stride
    mark_rows(t, node, o.mark, 1)
    pick_listed(t, node, f, NULL, o.mark, o.rows)
    mark_rows(t, node, o.mark, 0)
    return o.rows


cdef const int32_t* rows_of(const Table* t, const Node* node, int f, Sorter* o) noexcept nogil:
    """The rows of a node; with lists those of column f, whose list was partitioned. Shared lists
    give them in the same order, so that sums of weights have equal bits."""
    if t.rows.shared:
        return listed_rows(t, node, f, o)
    if t.rows.members != NULL:
        return t.rows.members + node.start
    return t.rows.lists + f * t.rows.stride + node.start


cdef bint is_rare(const Table* t, int f, Py_ssize_t m) noexcept nogil:
    """Whether so few rows of column f have another value than the common one that they are looked up
    faster than the m rows of a node."""
    cdef const int32_t* run
    if t.rows.common == NULL:
        return False
    run = t.rows.common + 2 * f
    return t.rows.stride - (run[1] - run[0]) <= RARE * m + RARE_ROWS


cdef void number_rows(const Table* t, const Node* node, Sorter* o) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(node.end - node.start):
        o.number[t.rows.members[node.start + i]] = <int32_t> i
    o.numbered = True


cdef void gather_rare(const Table* t, const Node* node, int f, Sorter* o, int32_t* keys,
                      int32_t* low, int32_t* high) noexcept nogil:
    """The same places as `gather_keys`: that of the common value, then those of the others."""
    cdef const int32_t* members = t.rows.members + node.start
    cdef const int32_t* list = t.rows.lists + f * t.rows.stride
    cdef const int32_t* places = t.rows.places + f
    cdef int32_t start = t.rows.common[2 * f], end = t.rows.common[2 * f + 1]
    cdef int32_t row, at, key, first = <int32_t> t.rows.stride, last = -1
    cdef Py_ssize_t i = 0, m = node.end - node.start, found = 0
    if not o.numbered:
        number_rows(t, node, o)
    for i in range(m):
        keys[i] = start
    i = 0 if start > 0 else end
    while i < t.rows.stride:
        row = list[i]
        at = o.number[row]
        i += 1
        if i == start:
            i = end
        if at >= m or members[at] != row:          # not in this node
            continue
        key = places[row * <Py_ssize_t> t.columns.d]
        keys[at] = key
        found += 1
        first = key if key < first else first
        last = key if key > last else last
    if found < m:
        first, last = min(first, start), max(last, start)
    low[0], high[0] = first, last


cdef void gather_keys(const Table* t, const Node* node, int f, Sorter* o, int32_t* low,
                      int32_t* high) noexcept nogil:
    """Places of the node's rows in column f, the lowest and the highest of them."""
    if is_rare(t, f, node.end - node.start):
        gather_rare(t, node, f, o, o.keys, low, high)
    else:
        gather_all(t, node, f, o.keys, low, high)


cdef void gather_all(const Table* t, const Node* node, int f, int32_t* keys, int32_t* low,
                     int32_t* high) noexcept nogil:
    """The same, row by row."""
    cdef const int32_t* members = t.rows.members + node.start
    cdef const int32_t* places = t.rows.places + f
    cdef Py_ssize_t i, d = t.columns.d
    cdef int32_t key, first = places[members[0] * d], last = first
    for i in range(node.end - node.start):
        key = places[members[i] * d]
        keys[i] = key
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


cdef Py_ssize_t rare_rows(const Table* t, const Node* node, int f, Sorter* o,
                          Py_ssize_t* below) noexcept nogil:
    """The rows of the node that have another value than the common one, in order; how many they are, and
    how many stand below it."""
    cdef const int32_t* members = t.rows.members + node.start
    cdef const int32_t* list = t.rows.lists + f * t.rows.stride
    cdef int32_t start = t.rows.common[2 * f], end = t.rows.common[2 * f + 1], at
    cdef Py_ssize_t i, m = node.end - node.start, found = 0
    if not o.numbered:
        number_rows(t, node, o)
    for i in range(start):
        at = o.number[list[i]]
        if at < m and members[at] == list[i]:
            o.rows[found] = list[i]
            found += 1
    below[0] = found
    for i in range(end, t.rows.stride):
        at = o.number[list[i]]
        if at < m and members[at] == list[i]:
            o.rows[found] = list[i]
            found += 1
    return found


cdef void gather_together(const Table* t, const Node* node, const int32_t* columns, int count,
                          const bint* skipped, Sorter* o) noexcept nogil:
    """The same for up to TOGETHER columns: a row's places stand side by side, so that all of them
    cost little more than one. Rare ones may be skipped."""
    cdef const int32_t* members = t.rows.members + node.start
    cdef const int32_t* places
    cdef Py_ssize_t m = node.end - node.start, i, d = t.columns.d
    cdef int32_t f[TOGETHER]
    cdef int k, rare = 0
    for k in range(count):
        rare += is_rare(t, columns[k], m)
    if rare:
        for k in range(count):
            if skipped[k]:
                continue
            if is_rare(t, columns[k], m):
                gather_rare(t, node, columns[k], o, o.keys + k * m, o.low + k, o.high + k)
            else:
                gather_all(t, node, columns[k], o.keys + k * m, o.low + k, o.high + k)
        return
    for k in range(TOGETHER):
        f[k] = columns[min(k, count - 1)]          # a number known to the compiler
    if t.source.origin != NULL:                           # a branch is near
        for i in range(m):
            places = t.rows.places + members[i] * d
            for k in range(TOGETHER):
                o.keys[k * m + i] = places[f[k]]
    else:
        for i in range(m):
            places = t.rows.places + members[min(i + AHEAD, m - 1)] * d
            for k in range(TOGETHER):
                prefetch(places + f[k])
            places = t.rows.places + members[i] * d
            for k in range(TOGETHER):
                o.keys[k * m + i] = places[f[k]]
    for k in range(count):
        find_ends(o.keys + k * m, m, o.low + k, o.high + k)


cdef void gather_codes(const Table* t, const Node* node, int f, Sorter* o) noexcept nogil:
    """The same for a column of levels in a binned table: the codes themselves, missing ones last."""
    cdef const double* x = t.columns.X + f * t.columns.column_step
    cdef Py_ssize_t i
    cdef double v
    for i in range(node.end - node.start):
        v = x[t.rows.members[node.start + i] * t.columns.row_step]
        o.keys[i] = t.columns.n_levels[f] if isnan(v) else <int32_t> v


cdef const int32_t* sorted_rows(const Table* t, const Node* node, int f,
                                Sorter* o) noexcept nogil:
    """The rows of a node in the order of column f, missing ones last."""
    cdef Py_ssize_t m = node.end - node.start
    cdef int32_t low, high
    o.constant = False
    if t.rows.members == NULL:
        return rows_of(t, node, f, o)
    if t.rows.shared:
        return listed_rows(t, node, f, o)
    if m == t.rows.stride:
        return t.rows.lists + f * t.rows.stride
    copy_column(t, f)
    if t.columns.binned.bins != NULL:
        low, high = 0, t.columns.n_levels[f]
        gather_codes(t, node, f, o)
    else:
        gather_keys(t, node, f, o, &low, &high)
        o.constant = low == high
        if o.constant:
            return t.rows.members + node.start
    sort_rows(t.rows.members + node.start, o.keys, m, low, high, o, o.rows)
    return o.rows
