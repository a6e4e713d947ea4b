"""Growing everything below a node in one thread, on a copy of its rows where that is faster.

The rows of a copy, a branch, are numbered 0, 1, ..., so that the labels, weights and marks of a node
stand close together and the loops find them in the cache. Values are copied only for columns where
the loops compare them; a threshold reads the two it needs from the whole table.

Lists are copied for the root of a subtree: all of them are partitioned at each of its nodes. With
members few columns are searched at a node, so larger nodes read the whole table and only small ones,
whose copies stay in the cache, are copied. Random thresholds read values, which are copied like
lists.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from pellucid.tree._categories cimport APART
from pellucid.tree._memory cimport allocate, release
from pellucid.tree._node_buffer cimport NodeBuffer
from pellucid.tree._partition cimport (
    mark_levels, mark_number, partition_bins, partition_list, partition_members, partition_rows,
)
from pellucid.tree._random cimport mix
from pellucid.tree._row_order cimport Sorter, mark_rows, pick_listed, rows_of
from pellucid.tree._splitter cimport Scratch, choose, describe, read_threshold, search_columns
from pellucid.tree._table cimport Node, Table
from pellucid.tree._walk cimport child


cdef enum:
    COPIED_ROWS = 3072          # of members, at most
    LOOKED = 16                 # a node draws at least one column in this number, or none is copied


cdef inline bint copy_pays(const Table* t) noexcept nogil:
    """Whether columns are looked at so often that copies of a node's rows are worth making."""
    return t.rows.members == NULL or t.rows.shared or t.rules.max_features > t.columns.d // LOOKED


cdef void bound_children(const Table* t, const Node* node, Node* children,
                         const double* counts) noexcept nogil:
    """A column with a constraint parts the values of its branches at the middle."""
    cdef double left = children[0].mean, right = children[1].mean, middle
    cdef int low = 0
    if t.rules.signs == NULL or t.rules.signs[node.feature] == 0:
        return
    if t.y.K > 0:
        left, right = counts[1] / children[0].weight, counts[t.y.K + 1] / children[1].weight
    middle = 0.5 * left + 0.5 * right
    if t.rules.signs[node.feature] < 0:
        low = 1
    children[low].upper = middle
    children[1 - low].lower = middle


cdef int split_node(const Table* t, NodeBuffer buffer, Py_ssize_t i, Scratch* s) noexcept nogil:
    """Step 4. Returns -1 without memory, 1 if both children are leaves, else 0."""
    cdef Node* node
    cdef Node* child
    cdef Py_ssize_t j, middle, words = 0
    cdef int32_t forced[2]
    cdef bint stopped = True
    if t.columns.kinds[buffer.nodes[i].feature]:
        words = (t.columns.n_levels[buffer.nodes[i].feature] + 31) // 32
    if buffer.reserve(2, words) != 0:
        return -1
    node = buffer.nodes + i
    forced[0] = forced[1] = -1
    if t.rows.shared:
        read_threshold(t, node)
    if words:
        middle = mark_levels(t, node, buffer.counts + i * buffer.size, s, buffer, forced)
    elif t.columns.binned.bins != NULL:
        middle = partition_bins(t, node, s.rows)
    elif t.rows.members != NULL:
        middle = partition_members(t, node, s.rows)
    else:
        middle = mark_number(t, node, &s.sorter)
    middle += node.start
    if t.rows.members == NULL:
        partition_list(t, node.feature, node, s.rows)
    elif words:
        partition_rows(t, t.rows.members, node.start, node.end, s.rows)
    node.left, node.right = <int32_t> buffer.n_nodes, <int32_t> buffer.n_nodes + 1
    for j in range(2):
        child = buffer.nodes + buffer.n_nodes + j
        child.start = middle if j else node.start
        child.end = node.end if j else middle
        child.forced = forced[j]
        child.depth = node.depth if forced[j] >= 0 else node.depth + 1
        child.lower, child.upper = node.lower, node.upper
        child.key = mix(node.key + <uint64_t> 0xD1B54A32D192ED03 * <uint64_t> (j + 1))
        stopped &= describe(t, rows_of(t, child, node.feature, &s.sorter), child,
                            buffer.counts + (buffer.n_nodes + j) * buffer.size, &s.ranked)
    buffer.n_nodes += 2
    bound_children(t, node, child - 1, buffer.counts + (buffer.n_nodes - 2) * buffer.size)
    if words and t.rules.level_rule == APART:            # until now it was that of all levels
        node.decrease = max(node.cost - (child - 1).cost - child.cost, 0.0)
    if node.missing_left < 0:
        node.missing_left = (child - 1).weight > child.weight
    read_threshold(t, node)
    return stopped


cdef void free_branch(Table* b) noexcept nogil:
    release(<void*> b.columns.X)
    release(<void*> b.columns.binned.bins)
    release(<void*> b.y.labels)
    release(<void*> b.y.values)
    release(<void*> b.y.weights)
    release(<void*> b.y.packed)
    release(b.y.row_cost)
    release(<void*> b.y.places)
    release(b.y.ranks)
    release(b.rows.goes_left)
    release(b.rows.members)
    release(<void*> b.rows.places)
    release(<void*> b.source.origin)
    release(b.source.ready)


cdef void* allocate_if(bint wanted, size_t size, bint* memory) noexcept nogil:
    """NULL if it is not wanted; `memory` becomes False where there is not enough."""
    cdef void* block = allocate(size) if wanted else NULL
    memory[0] &= block != NULL or not wanted
    return block


cdef int32_t* branch_lists(Scratch* s, size_t size, bint* memory) noexcept nogil:
    """Memory that the scratch keeps for the next branch: the system would have to clear it again."""
    if s.lists_size < size:
        release(s.lists)
        s.lists = <int32_t*> allocate_if(True, size, memory)
        s.lists_size = size if s.lists != NULL else 0
    return s.lists


cdef int new_branch(const Table* whole, const Node* node, int32_t* number, Scratch* s,
                    Table* b) noexcept nogil:
    """Copy the rows of a node into a table that owns its memory; 0 if there is enough."""
    cdef Py_ssize_t m = node.end - node.start, cells = m * whole.columns.d
    cdef size_t real = sizeof(double), integer = sizeof(int32_t)
    cdef bint members = whole.rows.members != NULL and not whole.rows.shared, memory = True
    cdef bint ranked = whole.y.ranks != NULL
    b[0] = whole[0]
    b.source.parent = whole
    b.columns.n_rows = b.rows.n = m
    b.columns.row_step, b.columns.column_step, b.rows.shared = 1, m, False
    b.rows.stride = 0 if members else m            # no lists
    b.rows.common = NULL
    b.columns.X = <double*> allocate_if(True, cells * real, &memory)
    b.columns.binned.bins = <uint8_t*> allocate_if(
        whole.columns.binned.bins != NULL, cells, &memory)
    b.y.labels = <int32_t*> allocate_if(whole.y.labels != NULL, m * integer, &memory)
    b.y.values = <double*> allocate_if(whole.y.values != NULL, m * whole.y.q * real, &memory)
    b.y.weights = <double*> allocate_if(whole.y.weights != NULL, m * real, &memory)
    b.y.packed = <uint16_t*> allocate_if(whole.y.packed != NULL, m * sizeof(uint16_t), &memory)
    b.y.row_cost = <double*> allocate_if(whole.y.row_cost != NULL, m * real, &memory)
    b.y.places = <int32_t*> allocate_if(ranked, m * integer, &memory)
    b.y.ranks = <int32_t*> allocate_if(ranked, m * integer, &memory)
    b.rows.lists = NULL if members else branch_lists(s, cells * integer, &memory)
    b.rows.goes_left = <uint8_t*> allocate_if(True, m, &memory)
    b.rows.members = <int32_t*> allocate_if(members, m * integer, &memory)
    b.rows.places = <int32_t*> allocate_if(whole.rows.places != NULL, cells * integer, &memory)
    b.source.origin = <int32_t*> allocate_if(True, m * integer, &memory)
    b.source.ready = <uint8_t*> allocate_if(members, whole.columns.d, &memory)
    if not memory:
        free_branch(b)
        return -1
    if members:
        memset(b.source.ready, 0, whole.columns.d)
    copy_rows(whole, node, number, &s.sorter, b)
    return 0


cdef void copy_list(const Table* whole, const Node* node, int f, const int32_t* number, Sorter* o,
                    int32_t* out) noexcept nogil:
    """A node's rows in the order of column f, by their new numbers."""
    cdef const int32_t* rows
    cdef Py_ssize_t i
    if whole.rows.shared:
        pick_listed(whole, node, f, number, o.mark, out)
        return
    rows = rows_of(whole, node, f, o)
    for i in range(node.end - node.start):
        out[i] = number[rows[i]]


cdef void copy_rows(const Table* whole, const Node* node, int32_t* number, Sorter* o,
                    Table* b) noexcept nogil:
    """Rows are numbered as they stand in the members, or in the list of column 0. With members
    columns are copied when they are looked at."""
    cdef const int32_t* rows = rows_of(whole, node, 0, o)
    cdef int32_t* origin = <int32_t*> b.source.origin
    cdef Py_ssize_t m = node.end - node.start, i, f, d = whole.columns.d, q = whole.y.q
    for i in range(m):
        number[rows[i]] = <int32_t> i
        origin[i] = rows[i]
        if whole.y.labels != NULL:
            (<int32_t*> b.y.labels)[i] = whole.y.labels[rows[i]]
        if whole.y.values != NULL and q == 1:
            (<double*> b.y.values)[i] = whole.y.values[rows[i]]
        elif whole.y.values != NULL:
            memcpy(<double*> b.y.values + i * q, whole.y.values + rows[i] * q, q * sizeof(double))
        if whole.y.weights != NULL:
            (<double*> b.y.weights)[i] = whole.y.weights[rows[i]]
        if whole.rows.places != NULL:
            memcpy(<int32_t*> b.rows.places + i * d, whole.rows.places + rows[i] * d,
                   d * sizeof(int32_t))
        if whole.y.packed != NULL:
            (<uint16_t*> b.y.packed)[i] = whole.y.packed[rows[i]]
        if whole.y.row_cost != NULL:
            b.y.row_cost[i] = whole.y.row_cost[rows[i]]
        if whole.y.ranks != NULL:
            (<int32_t*> b.y.places)[i] = whole.y.places[rows[i]]
            b.y.ranks[i] = whole.y.ranks[rows[i]]
    if b.rows.members != NULL:
        for i in range(m):
            b.rows.members[i] = <int32_t> i
        return
    if whole.rows.shared:
        mark_rows(whole, node, o.mark, 1)
    for f in range(d):
        copy_list(whole, node, f, number, o, b.rows.lists + f * m)
        if whole.columns.compared[f]:
            for i in range(m):
                (<double*> b.columns.X)[f * m + i] = whole.columns.X[
                    f * whole.columns.column_step + origin[i] * whole.columns.row_step]
    if whole.rows.shared:
        mark_rows(whole, node, o.mark, 0)


cdef int add_root(const Table* t, NodeBuffer buffer, uint64_t key, Scratch* s) noexcept nogil:
    """One more node, with all rows; 0 if there is enough memory."""
    cdef Node* node
    if buffer.reserve(1, 0) != 0:
        return -1
    node = buffer.nodes + buffer.n_nodes
    node.start, node.end = 0, t.rows.n
    node.depth, node.key, node.forced = 0, key, -1
    node.lower, node.upper = -INFINITY, INFINITY
    describe(t, rows_of(t, node, 0, &s.sorter), node, buffer.counts + buffer.n_nodes * buffer.size,
             &s.ranked)
    buffer.n_nodes += 1
    return 0


cdef int grow_branch(const Table* t, NodeBuffer buffer, Py_ssize_t i, int32_t* number,
                     Scratch* s) noexcept nogil:
    """Grow everything below node i on a copy of its rows; -1 without memory, 1 if stopped."""
    cdef Table branch
    cdef int status
    if new_branch(t, buffer.nodes + i, number, s, &branch) != 0:
        return -1
    buffer.nodes[i].start, buffer.nodes[i].end = 0, branch.rows.n
    status = grow_subtree(&branch, buffer, i, number, s)
    free_branch(&branch)
    return status


cdef int grow_below(const Table* t, NodeBuffer buffer, Py_ssize_t i, int32_t* number,
                    Scratch* s) noexcept nogil:
    """Grow everything below node i of a whole table."""
    if t.rows.members == NULL or t.rows.shared or (t.rules.drawn_splits and copy_pays(t)):
        return grow_branch(t, buffer, i, number, s)
    return grow_subtree(t, buffer, i, number, s)


cdef int grow_subtree(const Table* t, NodeBuffer buffer, Py_ssize_t root, int32_t* number,
                      Scratch* s) noexcept nogil:
    """Split a node of the buffer and all below it, depth first; -1 without memory, 1 if stopped."""
    cdef Py_ssize_t i, height = 1, capacity = 64
    cdef int f, leaves, status
    cdef Node* node
    cdef void* moved
    cdef int32_t* waiting = <int32_t*> malloc(capacity * sizeof(int32_t))
    if waiting == NULL:
        return -1
    waiting[0] = <int32_t> root
    while height > 0:
        if t.stop[0]:
            free(waiting)
            return 1
        height -= 1
        i = waiting[height]
        node = buffer.nodes + i
        if node.stopped:                                                                # 1
            continue
        if (t.source.origin == NULL and node.end - node.start <= COPIED_ROWS
                and copy_pays(t)):
            status = grow_branch(t, buffer, i, number, s)
            if status != 0:
                free(waiting)
                return status
            continue
        search_columns(t, node, buffer.counts + i * buffer.size, s)                     # 2
        if not choose(t, node, s.splits, s.drawn if s.n_drawn else NULL,
                      s.n_drawn if s.n_drawn else t.columns.d):                         # 3
            continue
        leaves = split_node(t, buffer, i, s)                                                 # 4
        if leaves < 0:
            free(waiting)
            return -1
        if leaves:
            continue
        node = buffer.nodes + i
        for f in range(t.columns.d if t.rows.members == NULL else 0):                   # 5
            if f != node.feature:
                partition_list(t, f, node, s.rows)
        if height + 2 > capacity:
            capacity *= 2
            moved = realloc(waiting, capacity * sizeof(int32_t))
            if moved == NULL:
                free(waiting)
                return -1
            waiting = <int32_t*> moved
        waiting[height], waiting[height + 1] = node.right, node.left
        height += 2
    free(waiting)
    return 0
