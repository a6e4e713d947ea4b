# Steps 4 and 5 of a node's life: which rows go left, the lists partitioned, a whole subtree grown.

cdef Py_ssize_t partition_rows(const Table* t, int32_t* rows, Py_ssize_t start, Py_ssize_t end,
                               int32_t* right) noexcept nogil:
    """Rows that go left to the front, the others behind, both in their old order."""
    cdef const uint8_t* goes_left = t.goes_left
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


cdef inline void partition_list(const Table* t, int f, const Record* node,
                                int32_t* right) noexcept nogil:
    """Step 5 for the list of column f."""
    partition_rows(t, t.lists + f * t.stride, node.start, node.end, right)


cdef Py_ssize_t partition_members(const Table* t, Record* node, int32_t* right) noexcept nogil:
    """Step 4 for a threshold with members: by place, or by value if the threshold was drawn or there
    are no places. The lowest place on the right is that of the next row, if it is not known yet."""
    cdef int32_t* rows = t.members + node.start
    cdef const int32_t* places = t.places + node.feature
    cdef const double* x = t.X + node.feature * t.column_step
    cdef Py_ssize_t i, m = node.end - node.start, l = 0, r = 0, b, absent = 0, d = t.d
    cdef int32_t row, place, last = <int32_t> node.at, above = 0x7FFFFFFF
    cdef const Table* whole = t if t.origin == NULL else t.parent
    cdef double threshold = node.threshold
    cdef bint drawn = t.drawn_splits or t.shared, missing = t.missing[node.feature]
    if not missing and not drawn:
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
            node.above = whole.lists[node.feature * whole.stride + above]
    else:
        for i in range(m):
            row = rows[i]
            b = x[row * t.row_step] <= threshold if drawn else places[row * d] <= last
            if isnan(x[row * t.row_step]):
                b = node.missing_left
                absent += 1
            rows[l] = row
            right[r] = row
            l += b
            r += 1 - b
    memcpy(rows + l, right, r * sizeof(int32_t))
    if absent == 0:
        node.missing_left = -1                     # nothing learned: divide takes the larger child
    return l


cdef Py_ssize_t partition_bins(const Table* t, Record* node, int32_t* right) noexcept nogil:
    """Step 4 for a threshold in a binned column."""
    cdef int32_t* rows = t.members + node.start
    cdef const uint8_t* bins = t.binned.bins + node.feature * t.n_rows
    cdef Py_ssize_t i, m = node.end - node.start, l = 0, r = 0, b, absent = 0
    cdef int32_t row, last = <int32_t> node.at, missing = t.binned.n_bins[node.feature]
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
        node.missing_left = -1                     # nothing learned: divide takes the larger child
    return l


cdef Py_ssize_t mark_number(const Table* t, Record* node, Sorter* o) noexcept nogil:
    """Step 4 for a threshold: the first `at` rows go left, missing ones to the learned side."""
    cdef const int32_t* rows = rows_of(t, node, node.feature, o)
    cdef const double* x = t.X + node.feature * t.column_step
    cdef Py_ssize_t i, m = node.end - node.start, q = m
    while t.missing[node.feature] and isnan(x[rows[q - 1] * t.row_step]):
        q -= 1
        t.goes_left[rows[q]] = node.missing_left
    for i in range(q):
        t.goes_left[rows[i]] = i < node.at
    if q == m:
        node.missing_left = -1                     # nothing learned: divide takes the larger child
        return node.at
    return node.at + (m - q if node.missing_left else 0)


cdef Py_ssize_t write_set(const Record* node, const Levels* v, int g, Py_ssize_t length,
                          uint32_t* words, bint* listed) noexcept nogil:
    """A node's set as bits or as a list (`_sets.pxi`), whichever is shorter; returns its words."""
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


cdef Py_ssize_t mark_levels(const Table* t, Record* node, const double* counts, Scratch* s,
                            Draft draft, int32_t* forced) noexcept nogil:
    """Step 4 for a set: find it again, write it; absent levels go where missing ones go. Children
    whose levels are to be told apart are forced to go on."""
    cdef Levels* v = &s.levels
    cdef Split again
    cdef const int32_t* rows = sorted_rows(t, node, node.feature, &s.sorter)
    cdef int g = split_levels(t, node, counts, node.feature, rows, v, &s.ranked, &again), i
    cdef Py_ssize_t j, count = 0
    cdef double left = 0.0
    cdef int groups_left = 0
    cdef bint listed
    for i in range(g):
        groups_left += v.side[i]
        if v.side[i]:
            left += v.groups[i].weight
            count += v.groups[i].last - v.groups[i].first
    if v.groups[g - 1].code < 0:
        node.missing_left = v.side[g - 1]
    elif t.level_rule == APART:
        node.missing_left = side_of_largest(g, v)
    else:
        node.missing_left = left > node.weight - left
    node.set_start = draft.n_words
    draft.n_words += write_set(node, v, g, (t.n_levels[node.feature] + 31) // 32,
                               draft.words + draft.n_words, &listed)
    if listed:
        node.set_start = -2 - node.set_start
    for i in range(g):
        for j in range(v.groups[i].first, v.groups[i].last):
            t.goes_left[rows[j]] = v.side[i]
    if t.level_rule == APART:
        forced[0] = node.feature if groups_left > 1 else -1
        forced[1] = node.feature if g - groups_left > 1 else -1
    return count


cdef void bound_children(const Table* t, const Record* node, Record* children,
                         const double* counts) noexcept nogil:
    """A column with a constraint parts the values of its branches at the middle."""
    cdef double left = children[0].mean, right = children[1].mean, middle
    cdef int low = 0
    if t.signs == NULL or t.signs[node.feature] == 0:
        return
    if t.K > 0:
        left, right = counts[1] / children[0].weight, counts[t.K + 1] / children[1].weight
    middle = 0.5 * left + 0.5 * right
    if t.signs[node.feature] < 0:
        low = 1
    children[low].upper = middle
    children[1 - low].lower = middle


cdef int divide(const Table* t, Draft draft, Py_ssize_t i, Scratch* s) noexcept nogil:
    """Step 4. Returns -1 without memory, 1 if both children are leaves, else 0."""
    cdef Record* node
    cdef Record* child
    cdef Py_ssize_t j, middle, words = 0
    cdef int32_t forced[2]
    cdef bint stopped = True
    if t.kinds[draft.nodes[i].feature]:
        words = (t.n_levels[draft.nodes[i].feature] + 31) // 32
    if draft.reserve(2, words) != 0:
        return -1
    node = draft.nodes + i
    forced[0] = forced[1] = -1
    if t.shared:
        read_threshold(t, node)
    if words:
        middle = mark_levels(t, node, draft.counts + i * draft.size, s, draft, forced)
    elif t.binned.bins != NULL:
        middle = partition_bins(t, node, s.rows)
    elif t.members != NULL:
        middle = partition_members(t, node, s.rows)
    else:
        middle = mark_number(t, node, &s.sorter)
    middle += node.start
    if t.members == NULL:
        partition_list(t, node.feature, node, s.rows)
    elif words:
        partition_rows(t, t.members, node.start, node.end, s.rows)
    node.left, node.right = <int32_t> draft.n_nodes, <int32_t> draft.n_nodes + 1
    for j in range(2):
        child = draft.nodes + draft.n_nodes + j
        child.start = middle if j else node.start
        child.end = node.end if j else middle
        child.forced = forced[j]
        child.depth = node.depth if forced[j] >= 0 else node.depth + 1
        child.lower, child.upper = node.lower, node.upper
        child.key = mix(node.key + <uint64_t> 0xD1B54A32D192ED03 * <uint64_t> (j + 1))
        stopped &= describe(t, rows_of(t, child, node.feature, &s.sorter), child,
                            draft.counts + (draft.n_nodes + j) * draft.size, &s.ranked)
    draft.n_nodes += 2
    bound_children(t, node, child - 1, draft.counts + (draft.n_nodes - 2) * draft.size)
    if words and t.level_rule == APART:            # until now it was that of all levels
        node.decrease = max(node.cost - (child - 1).cost - child.cost, 0.0)
    if node.missing_left < 0:
        node.missing_left = (child - 1).weight > child.weight
    read_threshold(t, node)
    return stopped


cdef int grow_subtree(const Table* t, Draft draft, Py_ssize_t root, int32_t* number,
                      Scratch* s) noexcept nogil:
    """Divide a node of the draft and all below it, depth first; -1 without memory, 1 if stopped."""
    cdef Py_ssize_t i, height = 1, room = 64
    cdef int f, leaves, status
    cdef Record* node
    cdef void* moved
    cdef int32_t* waiting = <int32_t*> malloc(room * sizeof(int32_t))
    if waiting == NULL:
        return -1
    waiting[0] = <int32_t> root
    while height > 0:
        if t.stop[0]:
            free(waiting)
            return 1
        height -= 1
        i = waiting[height]
        node = draft.nodes + i
        if node.stopped:                                                                # 1
            continue
        if t.origin == NULL and node.end - node.start <= COPIED_ROWS:
            status = grow_branch(t, draft, i, number, s)
            if status != 0:
                free(waiting)
                return status
            continue
        search_columns(t, node, draft.counts + i * draft.size, s)                        # 2
        if not choose(t, node, s.splits):                                               # 3
            continue
        leaves = divide(t, draft, i, s)                                                 # 4
        if leaves < 0:
            free(waiting)
            return -1
        if leaves:
            continue
        node = draft.nodes + i
        for f in range(t.d if t.members == NULL else 0):                                # 5
            if f != node.feature:
                partition_list(t, f, node, s.rows)
        if height + 2 > room:
            room *= 2
            moved = realloc(waiting, room * sizeof(int32_t))
            if moved == NULL:
                free(waiting)
                return -1
            waiting = <int32_t*> moved
        waiting[height], waiting[height + 1] = node.right, node.left
        height += 2
    free(waiting)
    return 0
