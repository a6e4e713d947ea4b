# Steps 1 to 3 of a node's life: what it is, the best division of its columns, the best column.

cdef struct Scratch:            # memory of one thread
    Sweep sweep
    int32_t* rows               # of a node in order, or while lists are partitioned those on the right
    Split* splits
    int32_t* drawn
    Levels levels
    Sorter sorter
    Buckets buckets
    Ranked ranked


cdef void free_scratch(Scratch* s) noexcept nogil:
    give_room(s.sweep.sums)
    give_room(s.sweep.weights)
    give_room(s.sweep.left_cost)
    give_room(s.sweep.right_cost)
    give_room(s.rows)
    give_room(s.splits)
    give_room(s.drawn)
    give_room(s.levels.groups)
    give_room(s.levels.ordered)
    give_room(s.levels.sums)
    give_room(s.levels.left)
    give_room(s.levels.axis)
    give_room(s.levels.side)
    give_room(s.sorter.keys)
    give_room(s.sorter.pairs)
    give_room(s.sorter.mark)
    give_room(s.buckets.words)
    give_room(s.buckets.packed)
    give_room(s.buckets.sums)
    give_room(s.buckets.room)
    give_room(s.buckets.wanted)
    give_room(s.buckets.rows)
    give_room(s.buckets.keys)
    give_room(s.buckets.dealt)
    give_room(s.buckets.ends)
    free_ranked(&s.ranked)


cdef int new_sorter(const Table* t, Py_ssize_t m, Scratch* s) noexcept nogil:
    """Room for nodes of up to m members; 0 if there is enough memory."""
    cdef Py_ssize_t most = MOST_BUCKETS if t.binned.bins != NULL else most_buckets(m)
    if t.shared:
        s.sorter.mark = <uint8_t*> take_room(t.n_rows)
        if s.sorter.mark == NULL:
            return -1
        memset(s.sorter.mark, 0, t.n_rows)
        return 0
    s.sorter.keys = <int32_t*> take_room(TOGETHER * m * sizeof(int32_t))
    s.sorter.pairs = <uint64_t*> take_room(2 * m * sizeof(uint64_t))
    s.buckets.words = <uint64_t*> take_room(m * sizeof(uint64_t))
    s.buckets.packed = <uint64_t*> take_room(MOST_BUCKETS * sizeof(uint64_t))
    s.buckets.sums = <double*> take_room(MOST_BUCKETS * t.size * sizeof(double))
    s.buckets.wanted = <uint8_t*> take_room(MOST_BUCKETS)
    s.buckets.rows = <int32_t*> take_room((m + 1) * sizeof(int32_t))
    s.buckets.keys = <int32_t*> take_room((m + 1) * sizeof(int32_t))
    s.buckets.dealt = <int32_t*> take_room(m * sizeof(int32_t))
    s.buckets.ends = <int32_t*> take_room(MOST_BUCKETS * sizeof(int32_t))
    if (s.sorter.keys == NULL or s.sorter.pairs == NULL
            or s.buckets.words == NULL or s.buckets.packed == NULL or s.buckets.sums == NULL
            or s.buckets.wanted == NULL or s.buckets.rows == NULL
            or s.buckets.keys == NULL or s.buckets.dealt == NULL or s.buckets.ends == NULL
            or new_ranges(t.size, most, &s.buckets) != 0):
        return -1
    return 0


cdef int new_scratch(const Table* t, Py_ssize_t m, Scratch* s) noexcept nogil:
    """Room for nodes of up to m rows; 0 if there is enough memory."""
    cdef Py_ssize_t size = t.size, groups = 1 + min(m, <Py_ssize_t> t.most_levels + 1)
    cdef Py_ssize_t blocks = 1 + most_blocks(m)
    memset(s, 0, sizeof(Scratch))
    s.sorter.block = -1
    s.sweep.sums = <double*> take_room(blocks * size * sizeof(double))
    s.sweep.weights = <double*> take_room(blocks * sizeof(double))
    s.sweep.left_cost = <double*> take_room(blocks * sizeof(double))
    s.sweep.right_cost = <double*> take_room(blocks * sizeof(double))
    s.rows = <int32_t*> take_room((m + 1) * sizeof(int32_t))
    s.sorter.rows = s.rows
    s.splits = <Split*> take_room(t.d * sizeof(Split))
    s.drawn = <int32_t*> take_room(t.d * sizeof(int32_t))
    s.levels.groups = <Group*> take_room(groups * sizeof(Group))
    s.levels.ordered = <Group*> take_room(groups * sizeof(Group))
    s.levels.sums = <double*> take_room(groups * size * sizeof(double))
    s.levels.left = <double*> take_room(size * sizeof(double))
    s.levels.axis = <double*> take_room(size * sizeof(double))
    s.levels.side = <uint8_t*> take_room(groups)
    if (s.sweep.sums == NULL or s.sweep.weights == NULL or s.sweep.left_cost == NULL
            or s.sweep.right_cost == NULL or s.rows == NULL or s.splits == NULL or s.drawn == NULL
            or (t.members != NULL and new_sorter(t, m, s) != 0)
            or (t.ranks != NULL and new_ranked(m, groups, t.signs != NULL, &s.ranked) != 0)
            or s.levels.groups == NULL or s.levels.ordered == NULL or s.levels.sums == NULL
            or s.levels.left == NULL or s.levels.axis == NULL or s.levels.side == NULL):
        free_scratch(s)
        memset(s, 0, sizeof(Scratch))
        return -1
    return 0


cdef void describe_numbers(const Table* t, const int32_t* rows, Record* node,
                           Ranked* a) noexcept nogil:
    """Cost of a node of numbers about its mean, which is known; for absolute errors its median."""
    cdef Py_ssize_t i
    cdef double w, r, rest = 0.0
    if t.criterion == ABSOLUTE:
        describe_absolute(t, rows, node, a)
        return
    if t.bent != NULL and node.mean > 0.0:
        node.per_unit = 1.0 / node.mean
        node.size = node.mean if t.criterion == POISSON else 1.0
        for i in range(node.end - node.start):
            w = 1.0 if t.weights == NULL else t.weights[rows[i]]
            rest += w * (t.target[rows[i]] - node.mean)
        node.rest = rest / node.weight
    for i in range(node.end - node.start):
        w = 1.0 if t.weights == NULL else t.weights[rows[i]]
        r = distance(t, node, rows[i])
        if t.bent == NULL:
            node.cost += w * r * r
        else:
            t.bent[rows[i]] = node.size * bend(t.criterion, r)
            node.cost += w * t.bent[rows[i]]


cdef void weigh_classes(const Table* t, const int32_t* rows, Record* node,
                        double* counts) noexcept nogil:
    """Class weights of a node and their sum."""
    cdef Py_ssize_t i = 0, m = node.end - node.start
    cdef double w
    while t.packed != NULL and i < m:
        node.weight += weigh_block(t, node, counts, rows + i, min(m - i, <Py_ssize_t> LONGEST_BLOCK),
                                   counts)
        i += LONGEST_BLOCK
    for i in range(m if t.packed == NULL else 0):
        w = 1.0 if t.weights == NULL else t.weights[rows[i]]
        node.weight += w
        counts[t.labels[rows[i]]] += w


cdef bint describe(const Table* t, const int32_t* rows, Record* node, double* counts,
                   Ranked* a) noexcept nogil:
    """Weight, class weights, cost of a node with these rows; step 1 of its life."""
    cdef Py_ssize_t m = node.end - node.start, i
    cdef double w, low = INFINITY, high = -INFINITY
    cdef int k, present = 0
    node.weight = node.cost = node.mean = node.rest = 0.0
    node.per_unit = node.size = 1.0
    node.feature = node.left = node.right = -1
    node.set_start, node.at = -1, 0
    node.threshold = node.decrease = 0.0
    node.missing_left, node.like = 0, -1
    node.below = node.above = -1
    memset(counts, 0, max(t.K, t.q) * sizeof(double))
    if t.K > 0:
        weigh_classes(t, rows, node, counts)
    elif t.q > 1:
        present = 1 + describe_vectors(t, rows, node, counts)
    for i in range(m if t.K == 0 and t.q == 1 else 0):
        w = 1.0 if t.weights == NULL else t.weights[rows[i]]
        node.weight += w
        counts[0] += w * t.target[rows[i]]
        low = min(low, t.target[rows[i]])
        high = max(high, t.target[rows[i]])
    if t.K == 0 and t.q == 1:
        node.mean = low if low == high else min(max(counts[0] / node.weight, low), high)
        describe_numbers(t, rows, node, a)
        counts[0] = node.mean
        present = 1 if low == high else 2
    elif t.K > 0:
        for k in range(t.K):
            present += counts[k] > 0.0
        if t.criterion == GINI:
            node.cost = 2.0 * pairs(counts, NULL, t.K) / node.weight
        elif t.criterion == ENTROPY:
            node.cost = entropy_cost(t, counts, NULL, node.weight) if present > 1 else 0.0
        else:
            node.cost = error_cost(t, counts, NULL, node.weight)
    if t.K == 0 and present < 2:
        node.like = rows[0] if t.origin == NULL else t.origin[rows[0]]
    node.stopped = (present < 2 or (node.forced < 0 and (
        node.depth >= t.max_depth or m < t.min_rows_split or m < 2 * t.min_rows
        or node.weight < t.min_weight_split or node.weight < 2.0 * t.min_weight)))
    return node.stopped


cdef inline bint takes_buckets(const Table* t, const Record* node) noexcept nogil:
    return (t.places != NULL and node.end - node.start > FEW_ROWS and not t.drawn_splits
            and t.min_rows <= 1 and t.signs == NULL and t.criterion != ABSOLUTE)


cdef inline bint in_buckets(const Table* t, const Record* node, int f) noexcept nogil:
    return takes_buckets(t, node) and not t.missing[f] and not t.kinds[f]


cdef inline double split_column(const Table* t, const Record* node, const double* counts, int f,
                                Scratch* s, double known, Split* out) noexcept nogil:
    """The best division of column f; returns what other columns need not look beyond."""
    if t.kinds[f]:
        split_levels(t, node, counts, f, sorted_rows(t, node, f, &s.sorter), &s.levels,
                     &s.ranked, out)
    elif t.drawn_splits:
        look_at(t, f)
        draw_number(t, node, counts, f, s.sweep.sums, <double*> s.sorter.pairs, &s.buckets,
                    &s.ranked, out)
    elif t.binned.bins != NULL:
        split_bins(t, node, counts, f, &s.buckets, &s.sorter, s.sweep.sums, out)
    elif in_buckets(t, node, f):
        if s.sorter.block < 0:
            weigh_column(t, node, counts, f, &s.buckets, &s.sorter, known)
        split_buckets(t, node, counts, f, &s.buckets, &s.sorter, known, out)
    else:
        split_number(t, node, counts, f, sorted_rows(t, node, f, &s.sorter), &s.sweep, known,
                     &s.ranked, out)
    return min(known, out.cost + TIE * node.cost) if out.feature >= 0 else known


cdef inline void draw_column(const Table* t, int i, uint64_t* key, int32_t* drawn) noexcept nogil:
    """Column number i of a random order."""
    cdef int j
    key[0] += <uint64_t> 0x9E3779B97F4A7C15
    j = i + <int> ((mix(key[0]) >> 32) * <uint64_t> (t.d - i) >> 32)
    drawn[i], drawn[j] = drawn[j], drawn[i]


cdef double weigh_together(const Table* t, const Record* node, const double* counts,
                           const int32_t* columns, int count, Scratch* s, double known,
                           int* order) noexcept nogil:
    """Gather and weigh a block of columns; returns what none of them need look beyond. `order`: the
    blocks, those that promise most first, so that the others need to look at less."""
    cdef Range* ranges = s.buckets.ranges
    cdef int k, j
    gather_together(t, node, columns, count, &s.sorter)
    for k in range(count):
        s.sorter.block, ranges[k].limit = k, INFINITY
        if in_buckets(t, node, columns[k]):
            known = weigh_column(t, node, counts, columns[k], &s.buckets, &s.sorter, known)
        j = k
        while j > 0 and ranges[order[j - 1]].limit > ranges[k].limit:
            order[j] = order[j - 1]
            j -= 1
        order[j] = k
    return known


cdef void search_columns(const Table* t, const Record* node, const double* counts,
                         Scratch* s) noexcept nogil:
    """Step 2: all columns, or columns in random order until max_features of them were looked at
    and one of them can be divided."""
    cdef int i = 0, f, found = 0, n_drawn = t.max_features, first = 0, gathered = 0
    cdef int order[TOGETHER]
    cdef uint64_t key = node.key
    cdef double known = INFINITY
    s.buckets.words_ready = False
    if node.forced >= 0:
        return
    if t.max_features >= t.d:
        for f in range(t.d):
            known = split_column(t, node, counts, f, s, known, s.splits + f)
        return
    for f in range(t.d):
        s.drawn[f] = f
        s.splits[f].feature = -1
    for f in range(n_drawn):
        draw_column(t, f, &key, s.drawn)
    while i < n_drawn:
        if i == gathered and takes_buckets(t, node):
            first, gathered = i, min(i + TOGETHER, n_drawn)
            known = weigh_together(t, node, counts, s.drawn + first, gathered - first, s, known, order)
        s.sorter.block = order[i - first] if i < gathered else -1
        f = s.drawn[first + s.sorter.block] if i < gathered else s.drawn[i]
        known = split_column(t, node, counts, f, s, known, s.splits + f)
        found += s.splits[f].feature >= 0
        i += 1
        if i == n_drawn and found == 0 and n_drawn < t.d:
            draw_column(t, n_drawn, &key, s.drawn)
            n_drawn += 1
    s.sorter.block = -1


cdef void note_sides(const Table* t, Record* node, const Split* split) noexcept nogil:
    """The rows between which the threshold lies; it is read when the rows were sent, because the
    values have to come from far."""
    cdef const Table* whole = t if t.origin == NULL else t.parent
    cdef const double* x = whole.X + split.feature * whole.column_step
    node.below, node.above, node.threshold = split.below, split.above, NAN
    if t.origin != NULL:
        node.below = t.origin[split.below]
        node.above = t.origin[split.above] if split.above >= 0 else -1
    fetch_soon(x + node.below * whole.row_step)
    if node.above >= 0:
        fetch_soon(x + node.above * whole.row_step)


cdef void read_threshold(const Table* t, Record* node) noexcept nogil:
    """Between the last row on the left and the next one; beyond all numbers if that is missing."""
    cdef const Table* whole = t if t.origin == NULL else t.parent
    cdef const double* x = whole.X + node.feature * whole.column_step
    cdef double high
    if node.below < 0:
        return
    high = x[node.above * whole.row_step]
    node.threshold = INFINITY if isnan(high) else midpoint(x[node.below * whole.row_step], high)
    node.below = node.above = -1


cdef inline uint64_t rank_of(const Table* t, const Record* node, int f) noexcept nogil:
    """Of equal columns the one of the lowest rank is taken: the first; where a tree draws, any, or
    small nodes, in which most columns are equal, would all be divided by the first columns."""
    if t.max_features >= t.d and not t.drawn_splits:
        return <uint64_t> f
    return mix(node.key + <uint64_t> 0x8CB92BA72F3D8DD7 * <uint64_t> (f + 1))


cdef bint choose(const Table* t, Record* node, const Split* splits) noexcept nogil:
    """Step 3: of the columns within a tie of the lowest cost the one of the lowest rank. A division
    that saves nothing is taken too: XOR needs it."""
    cdef int f, best = -1
    cdef double lowest = INFINITY
    cdef uint64_t rank, least = 0
    if node.forced >= 0:
        node.feature = node.forced
        return True
    for f in range(t.d):
        if splits[f].feature >= 0:
            lowest = min(lowest, splits[f].cost)
    for f in range(t.d - 1, -1, -1):
        if splits[f].feature >= 0 and splits[f].cost <= lowest + TIE * node.cost:
            rank = rank_of(t, node, f)
            if best < 0 or rank < least:
                best, least = f, rank
    if best < 0:
        return False
    node.decrease = max(node.cost - splits[best].cost, 0.0)
    if (node.decrease < t.min_decrease * (1.0 - TIE)
            or splits[best].cost > t.max_loss * node.weight + TIE * node.cost):
        node.decrease = 0.0
        return False
    node.feature = best
    node.at = splits[best].at
    node.threshold = splits[best].threshold
    if t.binned.bins != NULL and not t.kinds[best]:
        node.threshold = bin_threshold(t, splits + best)
    elif not t.kinds[best] and not t.drawn_splits:
        note_sides(t, node, splits + best)
        if t.places != NULL:
            node.at = t.places[<Py_ssize_t> splits[best].below * t.d + best]
    node.missing_left = splits[best].missing_left
    return True
