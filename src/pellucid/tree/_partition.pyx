"""Steps 4 and 5 for one node: which rows go left, and the lists partitioned."""

from libc.math cimport isnan
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy

from pellucid.tree._categories cimport APART, split_levels
from pellucid.tree._level_groups cimport Levels, side_of_largest
from pellucid.tree._node_buffer cimport NodeBuffer
from pellucid.tree._row_order cimport Sorter, rows_of, sorted_rows
from pellucid.tree._splitter cimport Scratch
from pellucid.tree._table cimport Node, Split, Table


cdef Py_ssize_t partition_rows(const Table* t, int32_t* rows, Py_ssize_t start, Py_ssize_t end,
                               int32_t* right) noexcept nogil:
    """Rows that go left to the front, the others behind, both in their old order."""
    cdef const uint8_t* goes_left = t.rows.goes_left
    cdef Py_ssize_t i, l = start, r = 0, b
    cdef int32_t row
    for i in range(start, end):
        row = rows[i]
        b = goes_left[row]
        rows[l] = row
        right[r] = row
        l += b
        r += 1 - b
    memcpy(rows + l, right, r * sizeof(int32_t))
    return l


cdef void partition_list(const Table* t, int f, const Node* node,
                         int32_t* right) noexcept nogil:
    """Step 5 for the list of column f."""
    partition_rows(t, t.rows.lists + f * t.rows.stride, node.start, node.end, right)


cdef Py_ssize_t partition_members(const Table* t, Node* node, int32_t* right) noexcept nogil:
    """Step 4 for a threshold with members: by place, or by value if the threshold was drawn or there
    are no places. The lowest place on the right is that of the next row, if it is not known yet."""
    cdef int32_t* rows = t.rows.members + node.start
    cdef const int32_t* places = NULL
    cdef const double* x = t.columns.X + node.feature * t.columns.column_step
    cdef Py_ssize_t i, m = node.end - node.start, l = 0, r = 0, b, absent = 0, d = t.columns.d
    cdef int32_t row, place, last = <int32_t> node.at, above = 0x7FFFFFFF
    cdef const Table* whole = t if t.source.origin == NULL else t.source.parent
    cdef double threshold = node.threshold
    cdef bint by_value = t.rules.drawn_splits or t.rows.shared
    cdef bint missing = t.columns.missing[node.feature]
    if t.rows.places != NULL:
        places = t.rows.places + node.feature
    if not missing and not by_value:
        for i in range(m):
            row = rows[i]
            place = places[row * d]
            b = place <= last
            above = place if last < place < above else above
            rows[l] = row
            right[r] = row
            l += b
            r += 1 - b
        if node.above < 0:
            node.above = whole.rows.lists[node.feature * whole.rows.stride + above]
    else:
        for i in range(m):
            row = rows[i]
            b = x[row * t.columns.row_step] <= threshold if by_value else places[row * d] <= last
            if isnan(x[row * t.columns.row_step]):
                b = node.missing_left
                absent += 1
            rows[l] = row
            right[r] = row
            l += b
            r += 1 - b
    memcpy(rows + l, right, r * sizeof(int32_t))
    if absent == 0:
        node.missing_left = -1         # nothing learned: `split_node` takes the larger child
    return l


cdef Py_ssize_t partition_bins(const Table* t, Node* node, int32_t* right) noexcept nogil:
    """Step 4 for a threshold in a binned column."""
    cdef int32_t* rows = t.rows.members + node.start
    cdef const uint8_t* bins = t.columns.binned.bins + node.feature * t.columns.n_rows
    cdef Py_ssize_t i, m = node.end - node.start, l = 0, r = 0, b, absent = 0
    cdef int32_t row, last = <int32_t> node.at, missing = t.columns.binned.n_bins[node.feature]
    for i in range(m):
        row = rows[i]
        b = bins[row] <= last
        if bins[row] == missing:
            b = node.missing_left
            absent += 1
        rows[l] = row
        right[r] = row
        l += b
        r += 1 - b
    memcpy(rows + l, right, r * sizeof(int32_t))
    if absent == 0:
        node.missing_left = -1         # nothing learned: `split_node` takes the larger child
    return l


cdef Py_ssize_t mark_number(const Table* t, Node* node, Sorter* o) noexcept nogil:
    """Step 4 for a threshold: the first `at` rows go left, missing ones to the learned side."""
    cdef const int32_t* rows = rows_of(t, node, node.feature, o)
    cdef const double* x = t.columns.X + node.feature * t.columns.column_step
    cdef Py_ssize_t i, m = node.end - node.start, q = m
    while t.columns.missing[node.feature] and isnan(x[rows[q - 1] * t.columns.row_step]):
        q -= 1
        t.rows.goes_left[rows[q]] = node.missing_left
    for i in range(q):
        t.rows.goes_left[rows[i]] = i < node.at
    if q == m:
        node.missing_left = -1         # nothing learned: `split_node` takes the larger child
        return node.at
    return node.at + (m - q if node.missing_left else 0)


cdef Py_ssize_t write_set(const Node* node, const Levels* v, int g, Py_ssize_t length,
                          uint32_t* words, bint* listed) noexcept nogil:
    """A node's set as bits or as a list (`_level_sets`), whichever is shorter; returns its words."""
    cdef Py_ssize_t j, leave = 0
    cdef int i
    cdef int32_t code
    for i in range(g):
        leave += v.groups[i].code >= 0 and v.side[i] != node.missing_left
    listed[0] = leave + 1 < length
    if listed[0]:
        words[0] = <uint32_t> leave
        j = 1
        for i in range(g):                         # groups stand in the order of levels
            if v.groups[i].code >= 0 and v.side[i] != node.missing_left:
                words[j] = <uint32_t> v.groups[i].code
                j += 1
        return j
    for j in range(length):
        words[j] = <uint32_t> 0xFFFFFFFF if node.missing_left else 0
    for i in range(g):
        code = v.groups[i].code
        if code >= 0:
            words[code >> 5] &= ~(<uint32_t> 1 << (code & 31))
            words[code >> 5] |= <uint32_t> v.side[i] << (code & 31)
    return length


cdef Py_ssize_t mark_levels(const Table* t, Node* node, const double* counts, Scratch* s,
                            NodeBuffer buffer, int32_t* forced) noexcept nogil:
    """Step 4 for a set: find it again, write it; absent levels go where missing ones go. Children
    whose levels are to be separated must be split again."""
    cdef Levels* v = &s.levels
    cdef Split again
    cdef const int32_t* rows
    cdef Py_ssize_t j, count = 0
    cdef double left = 0.0
    cdef int groups_left = 0, g, i
    cdef bint listed
    s.sorter.numbered = False                      # they may be those of another node
    rows = sorted_rows(t, node, node.feature, &s.sorter)
    g = split_levels(t, node, counts, node.feature, rows, v, &s.ranked, &again)
    for i in range(g):
        groups_left += v.side[i]
        if v.side[i]:
            left += v.groups[i].weight
            count += v.groups[i].last - v.groups[i].first
    if v.groups[g - 1].code < 0:
        node.missing_left = v.side[g - 1]
    elif t.rules.level_rule == APART:
        node.missing_left = side_of_largest(g, v)
    else:
        node.missing_left = left > node.weight - left
    node.set_start = buffer.n_words
    buffer.n_words += write_set(node, v, g, (t.columns.n_levels[node.feature] + 31) // 32,
                               buffer.words + buffer.n_words, &listed)
    if listed:
        node.set_start = -2 - node.set_start
    for i in range(g):
        for j in range(v.groups[i].first, v.groups[i].last):
            t.rows.goes_left[rows[j]] = v.side[i]
    if t.rules.level_rule == APART:
        forced[0] = node.feature if groups_left > 1 else -1
        forced[1] = node.feature if g - groups_left > 1 else -1
    return count
