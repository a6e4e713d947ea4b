"""Histograms and the best splits of the children of a batch (steps 3 to 5)."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from pellucid.tree._histogram_count cimport ALL, BY_ROW, ORDERED, count_rows
from pellucid.tree._histogram_records cimport (
    TIE, WIDTH, Cell, GrowingTree, Node, Pair, Setup, Split, add_words, count_of, gathered,
    histogram_size, is_larger, limited, resize, width_of,
)
from pellucid.tree._histogram_scan cimport drop, scan_numbers, scan_sets
from pellucid.tree._histogram_tree cimport add_to_front
from pellucid.tree._random cimport mix


cdef enum:
    FEW = 384                   # rows that are counted faster than bins are subtracted


cdef bint may_split(const Setup* s, const Node* node) noexcept nogil:
    return (node.depth < s.limits.max_depth and node.c >= 2 * s.limits.min_c
            and node.c >= s.limits.min_split and node.end - node.start > 1
            and node.h >= 2 * s.limits.min_h)


cdef int assign(const Setup* s, GrowingTree* t) noexcept nogil:
    """Pairs of children to be searched."""
    cdef int i
    cdef Node* node
    cdef Pair* pair
    t.n_pairs = 0
    if t.n_jobs > t.pair_capacity:
        t.pair_capacity = 2 * t.n_jobs
        if (resize(<void**> &t.pairs, t.pair_capacity * sizeof(Pair)) < 0
                or resize(<void**> &t.found,
                             <size_t> 2 * t.pair_capacity * s.n_blocks * sizeof(Split)) < 0):
            return -1
    for i in range(t.n_jobs):
        pair = t.pairs + t.n_pairs
        pair.parent_slot = -1
        if t.jobs[i] < 0:
            pair.small, pair.large = 0, -1
        else:
            node = t.nodes + t.jobs[i]
            pair.small, pair.large = node.left, node.right
            if is_larger(t, t.nodes + node.left):
                pair.small, pair.large = node.right, node.left
            pair.parent_slot, node.slot = node.slot, -1
        if open_pair(s, t, pair) < 0:
            return -1
    return 0


cdef int open_pair(const Setup* s, GrowingTree* t, Pair* pair) noexcept nogil:
    """Histograms and masks of a pair have their places then, if it is to be searched."""
    cdef Node* small = t.nodes + pair.small
    cdef Node* large = t.nodes + pair.large if pair.large >= 0 else NULL
    # At least one node of a batch is split for good; the root stands alone, in a batch of none.
    cdef bint more = s.limits.max_leaves - t.n_leaves > min(t.batch, 1)
    pair.small_search = more and may_split(s, small)
    pair.large_search = large != NULL and more and may_split(s, large)
    if not pair.small_search and not pair.large_search:
        release_slot(t, pair.parent_slot)
        return 0
    if pair.large_search:
        large.slot = pair.parent_slot if pair.parent_slot >= 0 else take_slot(t, large)
        if choose_columns(s, t, large) < 0:
            return -1
    else:
        release_slot(t, pair.parent_slot)
        pair.parent_slot = -1
    if pair.small_search:
        small.slot = take_slot(t, small)
        if choose_columns(s, t, small) < 0:
            return -1
    t.n_pairs += 1
    return 0


cdef void release_slot(GrowingTree* t, int32_t slot) noexcept nogil:
    if slot >= 0:
        t.unused_slots[t.n_free] = slot
        t.n_free += 1


cdef int32_t take_slot(GrowingTree* t, const Node* node) noexcept nogil:
    """Where the histogram of a node is kept; -1 if there is no room or counting its children is
    faster than a subtraction."""
    if t.n_free == 0 or (t.n_parts == 0 and node.end - node.start < FEW):
        return -1
    t.n_free -= 1
    return t.unused_slots[t.n_free]


cdef int choose_columns(const Setup* s, GrowingTree* t, Node* node) noexcept nogil:
    """Columns that a node may look at: those of its groups, of these a random share."""
    cdef int j, i, g, m = 0, wanted, d = s.n_columns
    cdef uint64_t key = node.key
    cdef uint8_t* mask
    cdef int32_t swap
    cdef int32_t* columns
    if s.limits.share >= 1.0 and s.n_groups == 0:
        return 0
    if t.n_masks == t.mask_capacity:
        t.mask_capacity = 2 * t.mask_capacity + 16
        if resize(<void**> &t.masks, <size_t> t.mask_capacity * d) < 0:
            return -1
    node.mask = t.n_masks
    t.n_masks += 1
    mask = t.masks + <int64_t> node.mask * d
    memset(mask, s.n_groups == 0, d)
    for g in range(s.n_groups):
        if holds_path(s, t, node, g):
            for j in range(d):
                mask[j] |= s.groups[g * d + j]
    columns = <int32_t*> malloc(d * sizeof(int32_t))
    if columns == NULL:
        return -1
    for j in range(d):
        if mask[j]:
            columns[m] = j
            m += 1
    wanted = max(1, <int> (s.limits.share * m)) if m else 0
    for i in range(wanted):
        key = mix(key + <uint64_t> 0x9E3779B97F4A7C15)
        j = i + <int> (key % <uint64_t> (m - i))
        swap = columns[i]
        columns[i], columns[j] = columns[j], swap
    memset(mask, 0, d)
    for i in range(wanted):
        mask[columns[i]] = 1
    free(columns)
    return 0


cdef bint holds_path(const Setup* s, GrowingTree* t, Node* node, int g) noexcept nogil:
    """Whether group g has all columns that the path to the node splits by."""
    cdef int32_t above = node.parent
    while above >= 0:
        if not s.groups[g * s.n_columns + t.nodes[above].split.feature]:
            return False
        above = t.nodes[above].parent
    return True


cdef void search(const Setup* s, GrowingTree* t, long task, Cell* spare) noexcept nogil:
    """One block of columns of one pair."""
    cdef Pair* pair = t.pairs + task // s.n_blocks
    cdef int block = <int> (task % s.n_blocks)
    cdef Split* found = t.found + 2 * s.n_blocks * (task // s.n_blocks)
    cdef Node* small = t.nodes + pair.small
    cdef Node* large = t.nodes + pair.large if pair.large_search else NULL
    cdef int64_t first = s.first[WIDTH * block]
    cdef int64_t length = s.first[WIDTH * block + WIDTH] - first, i
    cdef Cell* mine = spare
    cdef Cell* other = spare + WIDTH * 256
    if small.slot >= 0:
        mine = s.pool + small.slot * histogram_size(s) + first
    if large != NULL and large.slot >= 0:
        other = s.pool + large.slot * histogram_size(s) + first
    if pair.small_search or pair.parent_slot >= 0:
        count_node(s, t, small, block, mine, length)
    if large != NULL:
        if pair.parent_slot >= 0:           # it holds the parent
            for i in range(length):
                other[i].g -= mine[i].g
                other[i].hc -= mine[i].hc
        else:
            count_node(s, t, large, block, other, length)
        best_of_block(s, t, large, block, other, found + s.n_blocks + block)
    if pair.small_search:
        best_of_block(s, t, small, block, mine, found + block)


cdef void count_node(const Setup* s, GrowingTree* t, Node* node, int block, Cell* e,
                     int64_t length) noexcept nogil:
    cdef Cell* columns[WIDTH]
    cdef const Cell* cells = gathered(t, node)
    cdef int64_t n = node.end - node.start
    cdef int j, where = ORDERED
    memset(e, 0, length * sizeof(Cell))
    if s.streamed:
        sum_parts(s, t, node, s.first[WIDTH * block], e, length)
        return
    for j in range(WIDTH):
        columns[j] = e + (s.first[WIDTH * block + j] - s.first[WIDTH * block])
    if n == s.n:
        cells, where = t.cells, ALL
    elif is_larger(t, node):
        cells, where = t.cells, BY_ROW      # only the smaller one's cells were gathered
    count_rows(s.words + block * s.n, t.rows + node.start, cells, n, columns, where,
               width_of(s, block))


cdef void sum_parts(const Setup* s, const GrowingTree* t, const Node* node, int64_t first, Cell* e,
                    int64_t length) noexcept nogil:
    """What the parts of a pass have counted for a node."""
    cdef const Cell* own
    cdef int64_t i, part
    for part in range(t.n_parts):
        own = t.parts + (part * t.n_counted + node.counted) * histogram_size(s) + first
        for i in range(length):
            add_words(e + i, own + i)


cdef void best_of_block(const Setup* s, GrowingTree* t, Node* node, int block, Cell* e,
                        Split* best) noexcept nogil:
    cdef int j, f
    cdef double now = drop(node.g, node.h, s.limits.l2, node.lower, node.upper)
    cdef Cell* column
    memset(best, 0, sizeof(Split))
    best.feature = -1
    best.num, best.den = now + s.limits.min_gain, 1.0
    for j in range(WIDTH):
        f = WIDTH * block + j
        if f >= s.n_columns or (
                node.mask >= 0 and not t.masks[<int64_t> node.mask * s.n_columns + f]):
            continue
        column = e + (s.first[f] - s.first[WIDTH * block])
        if s.kinds[f]:
            scan_sets(column, s.n_bins[f], column + s.n_bins[f], node, &t.units,
                      &s.limits, f, best)
        else:
            scan_numbers(column, s.n_bins[f], column + s.n_bins[f], node, &t.units,
                         &s.limits, s.signs[f], f, best)
    if best.feature >= 0:
        best.gain = best.num / best.den - now


cdef void settle(const Setup* s, GrowingTree* t) noexcept nogil:
    """The best column of every searched child."""
    cdef int i
    cdef Pair* pair
    for i in range(t.n_pairs):
        pair = t.pairs + i
        if pair.small_search:
            settle_node(s, t, pair.small, t.found + 2 * s.n_blocks * i)
        if pair.large_search:
            settle_node(s, t, pair.large, t.found + (2 * i + 1) * s.n_blocks)


cdef void settle_node(const Setup* s, GrowingTree* t, int32_t number,
                      const Split* found) noexcept nogil:
    cdef Node* node = t.nodes + number
    cdef int block
    for block in range(s.n_blocks):
        if found[block].feature >= 0 and (
                node.split.feature < 0
                or found[block].num * node.split.den
                > node.split.num * (1.0 + TIE) * found[block].den):
            node.split = found[block]
    if node.split.feature < 0:
        release_slot(t, node.slot)
        node.slot = -1
    elif node.split.missing_left < 0:
        node.split.missing_left = 2 * count_of(&t.units, node.split.left.hc) > node.c
    if number == 0 or not limited(s):
        add_to_front(t, number)
