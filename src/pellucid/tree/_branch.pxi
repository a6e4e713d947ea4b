# A branch's own copy of its rows: numbered 0, 1, ..., so that labels, weights and marks of a node
# stand close together and the loops find them in the cache. Values are copied only for columns where
# the loops compare them; a threshold reads the two it needs from the whole table.
#
# Lists are copied for the root of a subtree: all of them are divided at each of its nodes. Of members
# few columns are looked at at a node, so larger nodes read the whole table and only small ones, whose
# copies stay in the cache, are copied. Drawn thresholds read values, which are copied as lists are.

cdef enum:
    COPIED_ROWS = 3072          # of members, at most

cdef struct Branch:
    Table t                     # the copy; its pointers own their memory


cdef void free_branch(Branch* b) noexcept nogil:
    give_room(<void*> b.t.X)
    give_room(<void*> b.t.labels)
    give_room(<void*> b.t.target)
    give_room(<void*> b.t.weights)
    give_room(<void*> b.t.packed)
    give_room(b.t.bent)
    give_room(<void*> b.t.target_place)
    give_room(b.t.ranks)
    give_room(b.t.lists)
    give_room(b.t.goes_left)
    give_room(<void*> b.t.origin)
    give_room(b.t.members)
    give_room(<void*> b.t.places)
    give_room(<void*> b.t.binned.bins)
    give_room(b.t.ready)


cdef int new_branch(const Table* whole, const Record* node, int32_t* number, Sorter* o,
                    Branch* b) noexcept nogil:
    """Copy the rows of a node; 0 if there is enough memory."""
    cdef Py_ssize_t m = node.end - node.start, size = sizeof(double)
    cdef bint members = whole.members != NULL and not whole.shared, memory
    b.t = whole[0]
    b.t.parent = whole
    b.t.n_rows = b.t.n = m
    b.t.row_step, b.t.column_step, b.t.shared = 1, m, False
    b.t.stride = 0 if members else m               # no lists
    b.t.X = <double*> take_room(m * whole.d * size)
    b.t.labels = <int32_t*> take_room(m * sizeof(int32_t)) if whole.labels != NULL else NULL
    b.t.target = <double*> take_room(m * whole.q * size) if whole.target != NULL else NULL
    b.t.weights = <double*> take_room(m * size) if whole.weights != NULL else NULL
    b.t.packed = <uint16_t*> take_room(m * sizeof(uint16_t)) if whole.packed != NULL else NULL
    b.t.lists = NULL if members else <int32_t*> take_room(m * whole.d * sizeof(int32_t))
    b.t.goes_left = <uint8_t*> take_room(m)
    b.t.bent = <double*> take_room(m * size) if whole.bent != NULL else NULL
    b.t.target_place = <int32_t*> take_room(m * sizeof(int32_t)) if whole.ranks != NULL else NULL
    b.t.ranks = <int32_t*> take_room(m * sizeof(int32_t)) if whole.ranks != NULL else NULL
    b.t.origin = <int32_t*> take_room(m * sizeof(int32_t))
    b.t.members = <int32_t*> take_room(m * sizeof(int32_t)) if members else NULL
    b.t.places = <int32_t*> take_room(m * whole.d * sizeof(int32_t)) if whole.places != NULL else NULL
    b.t.binned.bins = <uint8_t*> take_room(m * whole.d) if whole.binned.bins != NULL else NULL
    b.t.ready = <uint8_t*> take_room(whole.d) if members else NULL
    memory = b.t.X != NULL and b.t.goes_left != NULL and b.t.origin != NULL
    memory &= members or b.t.lists != NULL
    memory &= whole.labels == NULL or b.t.labels != NULL
    memory &= whole.target == NULL or b.t.target != NULL
    memory &= whole.weights == NULL or b.t.weights != NULL
    memory &= whole.packed == NULL or b.t.packed != NULL
    memory &= whole.bent == NULL or b.t.bent != NULL
    memory &= whole.ranks == NULL or (b.t.ranks != NULL and b.t.target_place != NULL)
    memory &= not members or (b.t.members != NULL and b.t.ready != NULL)
    memory &= whole.places == NULL or b.t.places != NULL
    memory &= whole.binned.bins == NULL or b.t.binned.bins != NULL
    if not memory:
        free_branch(b)
        return -1
    if members:
        memset(b.t.ready, 0, whole.d)
    copy_rows(whole, node, number, o, b)
    return 0


cdef void copy_list(const Table* whole, const Record* node, int f, const int32_t* number, Sorter* o,
                    int32_t* out) noexcept nogil:
    """A node's rows in the order of column f, by their new numbers."""
    cdef const int32_t* rows
    cdef Py_ssize_t i
    if whole.shared:
        pick_listed(whole, node, f, number, o.mark, out)
        return
    rows = rows_of(whole, node, f, o)
    for i in range(node.end - node.start):
        out[i] = number[rows[i]]


cdef void copy_rows(const Table* whole, const Record* node, int32_t* number, Sorter* o,
                    Branch* b) noexcept nogil:
    """Rows are numbered as they stand in the members, or in the list of column 0. With members
    columns are copied when they are looked at."""
    cdef const int32_t* rows = rows_of(whole, node, 0, o)
    cdef int32_t* origin = <int32_t*> b.t.origin
    cdef Py_ssize_t m = node.end - node.start, i, f
    for i in range(m):
        number[rows[i]] = <int32_t> i
        origin[i] = rows[i]
        if whole.labels != NULL:
            (<int32_t*> b.t.labels)[i] = whole.labels[rows[i]]
        if whole.target != NULL and whole.q == 1:
            (<double*> b.t.target)[i] = whole.target[rows[i]]
        elif whole.target != NULL:
            memcpy(<double*> b.t.target + i * whole.q, whole.target + <Py_ssize_t> rows[i] * whole.q,
                   whole.q * sizeof(double))
        if whole.weights != NULL:
            (<double*> b.t.weights)[i] = whole.weights[rows[i]]
        if whole.places != NULL:
            memcpy(<int32_t*> b.t.places + i * whole.d, whole.places + <Py_ssize_t> rows[i] * whole.d,
                   whole.d * sizeof(int32_t))
        if whole.packed != NULL:
            (<uint16_t*> b.t.packed)[i] = whole.packed[rows[i]]
        if whole.bent != NULL:
            b.t.bent[i] = whole.bent[rows[i]]
        if whole.ranks != NULL:
            (<int32_t*> b.t.target_place)[i] = whole.target_place[rows[i]]
            b.t.ranks[i] = whole.ranks[rows[i]]
    if b.t.members != NULL:
        for i in range(m):
            b.t.members[i] = <int32_t> i
        return
    if whole.shared:
        mark_rows(whole, node, o.mark, 1)
    for f in range(whole.d):
        copy_list(whole, node, f, number, o, b.t.lists + f * m)
        if whole.compared[f]:
            for i in range(m):
                (<double*> b.t.X)[f * m + i] = whole.X[
                    f * whole.column_step + origin[i] * whole.row_step]
    if whole.shared:
        mark_rows(whole, node, o.mark, 0)


cdef int add_root(const Table* t, Draft draft, uint64_t key, Scratch* s) noexcept nogil:
    """One more node, with all rows; 0 if there is enough memory."""
    cdef Record* node
    if draft.reserve(1, 0) != 0:
        return -1
    node = draft.nodes + draft.n_nodes
    node.start, node.end = 0, t.n
    node.depth, node.key, node.forced = 0, key, -1
    node.lower, node.upper = -INFINITY, INFINITY
    describe(t, rows_of(t, node, 0, &s.sorter), node, draft.counts + draft.n_nodes * draft.size,
             &s.ranked)
    draft.n_nodes += 1
    return 0


cdef int grow_branch(const Table* t, Draft draft, Py_ssize_t i, int32_t* number,
                     Scratch* s) noexcept nogil:
    """Grow everything below node i on a copy of its rows; -1 without memory, 1 if stopped."""
    cdef Branch b
    cdef int status
    if new_branch(t, draft.nodes + i, number, &s.sorter, &b) != 0:
        return -1
    draft.nodes[i].start, draft.nodes[i].end = 0, b.t.n
    status = grow_subtree(&b.t, draft, i, number, s)
    free_branch(&b)
    return status


cdef int grow_below(const Table* t, Draft draft, Py_ssize_t i, int32_t* number,
                    Scratch* s) noexcept nogil:
    """Grow everything below node i of a whole table."""
    if t.members == NULL or t.shared or t.drawn_splits:
        return grow_branch(t, draft, i, number, s)
    return grow_subtree(t, draft, i, number, s)
