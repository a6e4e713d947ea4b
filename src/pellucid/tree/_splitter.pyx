"""Steps 1 to 3 for one node: its statistics, the best split of each column, the best column."""

from libc.math cimport INFINITY, NAN, isnan
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset

from pellucid.tree._bins cimport bin_threshold, split_bins
from pellucid.tree._buckets cimport (
    Range, fits_words, free_buckets, new_buckets, split_buckets, weigh_column,
)
from pellucid.tree._categories cimport split_levels
from pellucid.tree._impurity cimport (
    ABSOLUTE, ENTROPY, GINI, POISSON, TIE, distance, entropy_cost, error_cost, loss_at, pairs,
    vector_cost,
)
from pellucid.tree._level_groups cimport free_levels, new_levels
from pellucid.tree._medians cimport Ranked, describe_absolute, free_ranked, new_ranked
from pellucid.tree._memory cimport allocate, release
from pellucid.tree._prefetch cimport prefetch
from pellucid.tree._random cimport mix
from pellucid.tree._random_splits cimport draw_number
from pellucid.tree._rare cimport split_rare
from pellucid.tree._row_order cimport (
    FEW_ROWS, TOGETHER, copy_column, free_sorter, gather_together, is_rare, new_sorter, sorted_rows,
)
from pellucid.tree._sweep cimport midpoint
from pellucid.tree._table cimport Node, Split, Table
from pellucid.tree._thresholds cimport (
    LONGEST_BLOCK, free_sweep, new_sweep, split_number, weigh_block,
)


cdef void free_scratch(Scratch* s) noexcept nogil:
    free_sweep(&s.sweep)
    free_levels(&s.levels)
    free_sorter(&s.sorter)
    free_buckets(&s.buckets)
    free_ranked(&s.ranked)
    release(s.rows)
    release(s.splits)
    release(s.drawn)
    release(s.swapped)
    release(s.lists)


cdef int new_scratch(const Table* t, Py_ssize_t m, Scratch* s) noexcept nogil:
    """Memory for nodes of up to m rows; 0 if there is enough."""
    cdef Py_ssize_t groups = 1 + min(m, <Py_ssize_t> t.columns.most_levels + 1)
    cdef int f
    memset(s, 0, sizeof(Scratch))
    s.rows = <int32_t*> allocate((m + 1) * sizeof(int32_t))
    s.splits = <Split*> allocate(t.columns.d * sizeof(Split))
    s.drawn = <int32_t*> allocate(t.columns.d * sizeof(int32_t))
    s.swapped = <int32_t*> allocate(t.columns.d * sizeof(int32_t))
    if (s.rows == NULL or s.splits == NULL or s.drawn == NULL or s.swapped == NULL
            or new_sweep(t, m, &s.sweep) != 0 or new_levels(t, groups, &s.levels) != 0
            or new_sorter(t, m, s.rows, &s.sorter) != 0 or new_buckets(t, m, &s.buckets) != 0
            or (t.y.ranks != NULL
                and new_ranked(m, groups, t.rules.signs != NULL, &s.ranked) != 0)):
        free_scratch(s)
        memset(s, 0, sizeof(Scratch))
        return -1
    for f in range(t.columns.d):
        s.drawn[f], s.splits[f].feature = f, -1
    return 0


cdef void describe_numbers(const Table* t, const int32_t* rows, Node* node,
                           Ranked* a) noexcept nogil:
    """Cost of a node of numbers about its mean, which is known; for absolute errors its median."""
    cdef Py_ssize_t i
    cdef double w, r, rest = 0.0
    if t.y.criterion == ABSOLUTE:
        describe_absolute(t, rows, node, a)
        return
    if t.y.row_cost != NULL and node.mean > 0.0:
        node.per_unit = 1.0 / node.mean
        node.size = node.mean if t.y.criterion == POISSON else 1.0
        for i in range(node.end - node.start):
            w = 1.0 if t.y.weights == NULL else t.y.weights[rows[i]]
            rest += w * (t.y.values[rows[i]] - node.mean)
        node.rest = rest / node.weight
    for i in range(node.end - node.start):
        w = 1.0 if t.y.weights == NULL else t.y.weights[rows[i]]
        r = distance(t, node, rows[i])
        if t.y.row_cost == NULL:
            node.cost += w * r * r
        else:
            t.y.row_cost[rows[i]] = node.size * loss_at(t.y.criterion, r)
            node.cost += w * t.y.row_cost[rows[i]]


cdef bint describe_vectors(const Table* t, const int32_t* rows, Node* node,
                           double* means) noexcept nogil:
    """Weight, means and cost of a node; whether its rows differ."""
    cdef Py_ssize_t i, q = t.y.q
    cdef const double* y
    # Distances from the first row: the mean of equal targets is theirs to the last bit.
    cdef const double* first = t.y.values + rows[0] * q
    cdef double w = 1.0, cost
    cdef bint differ = False
    cdef int k
    for i in range(node.end - node.start):
        y = t.y.values + rows[i] * q
        if t.y.weights != NULL:
            w = t.y.weights[rows[i]]
        node.weight += w
        for k in range(q):
            means[k] += w * (y[k] - first[k])
            differ |= y[k] != first[k]
    for k in range(q):
        means[k] = first[k] + means[k] / node.weight
    for i in range(node.end - node.start):
        cost = t.y.row_cost[rows[i]] = vector_cost(t, t.y.values + rows[i] * q, means)
        node.cost += cost if t.y.weights == NULL else t.y.weights[rows[i]] * cost
    return differ


cdef void weigh_classes(const Table* t, const int32_t* rows, Node* node,
                        double* counts) noexcept nogil:
    """Class weights of a node and their sum."""
    cdef Py_ssize_t i = 0, m = node.end - node.start
    cdef double w
    while t.y.packed != NULL and i < m:
        node.weight += weigh_block(t, node, counts, rows + i, min(m - i, <Py_ssize_t> LONGEST_BLOCK),
                                   counts)
        i += LONGEST_BLOCK
    for i in range(m if t.y.packed == NULL else 0):
        w = 1.0 if t.y.weights == NULL else t.y.weights[rows[i]]
        node.weight += w
        counts[t.y.labels[rows[i]]] += w


cdef bint describe(const Table* t, const int32_t* rows, Node* node, double* counts,
                   Ranked* a) noexcept nogil:
    """Weight, class weights, cost of a node with these rows; step 1 of its life."""
    cdef Py_ssize_t m = node.end - node.start, i
    cdef double w, v, weight = 0.0, total = 0.0, low = INFINITY, high = -INFINITY
    cdef int k, present = 0
    node.weight = node.cost = node.mean = node.rest = 0.0
    node.per_unit = node.size = 1.0
    node.feature = node.left = node.right = -1
    node.set_start, node.at = -1, 0
    node.threshold = node.decrease = 0.0
    node.missing_left, node.like = 0, -1
    node.below = node.above = -1
    memset(counts, 0, max(t.y.K, t.y.q) * sizeof(double))
    if t.y.K > 0:
        weigh_classes(t, rows, node, counts)
    elif t.y.q > 1:
        present = 1 + describe_vectors(t, rows, node, counts)
    for i in range(m if t.y.K == 0 and t.y.q == 1 else 0):
        w = 1.0 if t.y.weights == NULL else t.y.weights[rows[i]]
        v = t.y.values[rows[i]]
        weight += w
        total += w * v
        low = v if v < low else low
        high = v if v > high else high
    if t.y.K == 0 and t.y.q == 1:
        node.weight, counts[0] = weight, total
        node.mean = low if low == high else min(max(counts[0] / node.weight, low), high)
        describe_numbers(t, rows, node, a)
        counts[0] = node.mean
        present = 1 if low == high else 2
    elif t.y.K > 0:
        for k in range(t.y.K):
            present += counts[k] > 0.0
        if t.y.criterion == GINI:
            node.cost = 2.0 * pairs(counts, NULL, t.y.K) / node.weight
        elif t.y.criterion == ENTROPY:
            node.cost = entropy_cost(t, counts, NULL, node.weight) if present > 1 else 0.0
        else:
            node.cost = error_cost(t, counts, NULL, node.weight)
    if t.y.K == 0 and present < 2:
        node.like = rows[0] if t.source.origin == NULL else t.source.origin[rows[0]]
    node.stopped = (present < 2 or (node.forced < 0 and (
        node.depth >= t.rules.max_depth or m < t.rules.min_rows_split or m < 2 * t.rules.min_rows
        or node.weight < t.rules.min_weight_split or node.weight < 2.0 * t.rules.min_weight)))
    return node.stopped


cdef inline bint takes_buckets(const Table* t, const Node* node) noexcept nogil:
    return (t.rows.places != NULL and node.end - node.start > FEW_ROWS and not t.rules.drawn_splits
            and t.rules.min_rows <= 1 and t.rules.signs == NULL and t.y.criterion != ABSOLUTE)


cdef inline bint in_buckets(const Table* t, const Node* node, int f) noexcept nogil:
    return takes_buckets(t, node) and not t.columns.missing[f] and not t.columns.kinds[f]


cdef inline bint in_words(const Table* t, const Node* node, int f) noexcept nogil:
    """Whether only the rare rows of a column are looked at."""
    return (t.y.criterion == GINI and fits_words(t, node) and in_buckets(t, node, f)
            and is_rare(t, f, node.end - node.start))


cdef double split_column(const Table* t, const Node* node, const double* counts, int f,
                         Scratch* s, double known, Split* out) noexcept nogil:
    """The best split of column f; returns what other columns need not look beyond."""
    cdef const int32_t* rows
    if t.columns.kinds[f]:
        split_levels(t, node, counts, f, sorted_rows(t, node, f, &s.sorter), &s.levels,
                     &s.ranked, out)
    elif t.rules.drawn_splits:
        copy_column(t, f)
        draw_number(t, node, counts, f, s.sweep.sums, <double*> s.sorter.pairs, &s.buckets,
                    &s.ranked, out)
    elif t.columns.binned.bins != NULL:
        split_bins(t, node, counts, f, &s.buckets, &s.sorter, s.sweep.sums, out)
    elif in_words(t, node, f):
        split_rare(t, node, counts, f, &s.sorter, out)
    elif in_buckets(t, node, f):
        if s.sorter.block < 0:
            weigh_column(t, node, counts, f, &s.buckets, &s.sorter, known)
        split_buckets(t, node, counts, f, &s.buckets, &s.sorter, known, out)
    else:
        rows = sorted_rows(t, node, f, &s.sorter)
        if s.sorter.constant:
            out.cost, out.feature, out.missing_left = INFINITY, -1, 0
        else:
            split_number(t, node, counts, f, rows, &s.sweep, known, &s.ranked, out)
    return min(known, out.cost + TIE * node.cost) if out.feature >= 0 else known


cdef inline void draw_column(const Table* t, uint64_t* key, Scratch* s) noexcept nogil:
    """One more column of a random order."""
    cdef int32_t i = s.n_drawn, j
    key[0] += <uint64_t> 0x9E3779B97F4A7C15
    j = i + <int32_t> ((mix(key[0]) >> 32) * <uint64_t> (t.columns.d - i) >> 32)
    s.drawn[i], s.drawn[j] = s.drawn[j], s.drawn[i]
    s.swapped[i], s.n_drawn = j, i + 1


cdef inline void forget_drawn(Scratch* s) noexcept nogil:
    """Undo the draws of the last node: a node of a wide table costs what it draws, not what there is."""
    cdef int32_t i, j
    for i in range(s.n_drawn - 1, -1, -1):
        j = s.swapped[i]
        s.splits[s.drawn[i]].feature = -1
        s.drawn[i], s.drawn[j] = s.drawn[j], s.drawn[i]
    s.n_drawn = 0


cdef double weigh_together(const Table* t, const Node* node, const double* counts,
                           const int32_t* columns, int count, Scratch* s, double known,
                           int* order) noexcept nogil:
    """Gather and weigh a block of columns; returns what none of them need look beyond. `order`: the
    blocks, those that promise most first, so that the others need to look at less."""
    cdef Range* ranges = s.buckets.ranges
    cdef bint skipped[TOGETHER]
    cdef int k, j
    for k in range(count):
        skipped[k] = in_words(t, node, columns[k])
    gather_together(t, node, columns, count, skipped, &s.sorter)
    for k in range(count):
        s.sorter.block, ranges[k].limit = k, INFINITY
        if not skipped[k] and in_buckets(t, node, columns[k]):
            known = weigh_column(t, node, counts, columns[k], &s.buckets, &s.sorter, known)
        j = k
        while j > 0 and ranges[order[j - 1]].limit > ranges[k].limit:
            order[j] = order[j - 1]
            j -= 1
        order[j] = k
    return known


cdef void search_columns(const Table* t, const Node* node, const double* counts,
                         Scratch* s) noexcept nogil:
    """Step 2: all columns, or columns in random order until max_features of them were looked at
    and one of them can be split."""
    cdef int i = 0, f, found = 0, first = 0, gathered = 0
    cdef int order[TOGETHER]
    cdef uint64_t key = node.key
    cdef double known = INFINITY
    s.buckets.words_ready = s.sorter.numbered = False
    if node.forced >= 0:
        return
    if t.rules.max_features >= t.columns.d:
        for f in range(t.columns.d):
            known = split_column(t, node, counts, f, s, known, s.splits + f)
        return
    forget_drawn(s)
    for f in range(t.rules.max_features):
        draw_column(t, &key, s)
    while i < s.n_drawn:
        if i == gathered and takes_buckets(t, node):
            first, gathered = i, min(i + TOGETHER, s.n_drawn)
            known = weigh_together(t, node, counts, s.drawn + first, gathered - first, s, known, order)
        s.sorter.block = order[i - first] if i < gathered else -1
        f = s.drawn[first + s.sorter.block] if i < gathered else s.drawn[i]
        known = split_column(t, node, counts, f, s, known, s.splits + f)
        found += s.splits[f].feature >= 0
        i += 1
        if i == s.n_drawn and found == 0 and i < t.columns.d:
            draw_column(t, &key, s)
    s.sorter.block = -1


cdef void note_sides(const Table* t, Node* node, const Split* split) noexcept nogil:
    """The rows between which the threshold lies; it is read when the rows were sent, because the
    values have to come from far."""
    cdef const Table* whole = t if t.source.origin == NULL else t.source.parent
    cdef const double* x = whole.columns.X + split.feature * whole.columns.column_step
    node.below, node.above, node.threshold = split.below, split.above, NAN
    if t.source.origin != NULL:
        node.below = t.source.origin[split.below]
        node.above = t.source.origin[split.above] if split.above >= 0 else -1
    prefetch(x + node.below * whole.columns.row_step)
    if node.above >= 0:
        prefetch(x + node.above * whole.columns.row_step)


cdef void read_threshold(const Table* t, Node* node) noexcept nogil:
    """Between the last row on the left and the next one; beyond all numbers if that is missing."""
    cdef const Table* whole = t if t.source.origin == NULL else t.source.parent
    cdef const double* x = whole.columns.X + node.feature * whole.columns.column_step
    cdef double high
    if node.below < 0:
        return
    high = x[node.above * whole.columns.row_step]
    node.threshold = INFINITY
    if not isnan(high):
        node.threshold = midpoint(x[node.below * whole.columns.row_step], high)
    node.below = node.above = -1


cdef inline uint64_t rank_of(const Table* t, const Node* node, int f) noexcept nogil:
    """Of equal columns the one of the lowest rank is taken: the first; where a tree draws, any, or
    small nodes, in which most columns are equal, would all be split by the first columns."""
    if t.rules.max_features >= t.columns.d and not t.rules.drawn_splits:
        return <uint64_t> f
    return mix(node.key + <uint64_t> 0x8CB92BA72F3D8DD7 * <uint64_t> (f + 1))


cdef bint choose(const Table* t, Node* node, const Split* splits, const int32_t* columns,
                 int count) noexcept nogil:
    """Step 3: of the columns within a tie of the lowest cost the one of the lowest rank. A split
    that saves nothing is taken too: XOR needs it. `columns` are those with a split, NULL all."""
    cdef int i, f, best = -1
    cdef double lowest = INFINITY
    cdef uint64_t rank, least = 0
    if node.forced >= 0:
        node.feature = node.forced
        return True
    for i in range(count):
        f = i if columns == NULL else columns[i]
        if splits[f].feature >= 0:
            lowest = min(lowest, splits[f].cost)
    for i in range(count - 1, -1, -1):
        f = i if columns == NULL else columns[i]
        if splits[f].feature >= 0 and splits[f].cost <= lowest + TIE * node.cost:
            rank = rank_of(t, node, f)
            if best < 0 or rank < least:
                best, least = f, rank
    if best < 0:
        return False
    node.decrease = max(node.cost - splits[best].cost, 0.0)
    if (node.decrease < t.rules.min_decrease * (1.0 - TIE)
            or splits[best].cost > t.rules.max_loss * node.weight + TIE * node.cost):
        node.decrease = 0.0
        return False
    node.feature = best
    node.at = splits[best].at
    node.threshold = splits[best].threshold
    if t.columns.binned.bins != NULL and not t.columns.kinds[best]:
        node.threshold = bin_threshold(t, splits + best)
    elif not t.columns.kinds[best] and not t.rules.drawn_splits:
        note_sides(t, node, splits + best)
        if t.rows.places != NULL:
            node.at = t.rows.places[<Py_ssize_t> splits[best].below * t.columns.d + best]
    node.missing_left = splits[best].missing_left
    return True
