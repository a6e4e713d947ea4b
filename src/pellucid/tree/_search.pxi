# Steps 1 to 3 of a node's life: what it is, the best division of its columns, the best column.

cdef struct Scratch:            # memory of one thread
    Sweep sweep
    int32_t* rows
    Split* splits
    int32_t* drawn
    Levels levels


cdef void free_scratch(Scratch* s) noexcept nogil:
    free(s.sweep.sums)
    free(s.sweep.weights)
    free(s.sweep.left_cost)
    free(s.sweep.right_cost)
    free(s.rows)
    free(s.splits)
    free(s.drawn)
    free(s.levels.groups)
    free(s.levels.ordered)
    free(s.levels.sums)
    free(s.levels.left)
    free(s.levels.axis)
    free(s.levels.side)


cdef int new_scratch(const Table* t, Py_ssize_t m, Scratch* s) noexcept nogil:
    """Room for nodes of up to m rows; 0 if there is enough memory."""
    cdef Py_ssize_t size = t.size, groups = 1 + min(m, <Py_ssize_t> t.most_levels + 1)
    cdef Py_ssize_t blocks = 1 + most_blocks(m)
    s.sweep.sums = <double*> malloc(blocks * size * sizeof(double))
    s.sweep.weights = <double*> malloc(blocks * sizeof(double))
    s.sweep.left_cost = <double*> malloc(blocks * sizeof(double))
    s.sweep.right_cost = <double*> malloc(blocks * sizeof(double))
    s.rows = <int32_t*> malloc((m + 1) * sizeof(int32_t))
    s.splits = <Split*> malloc(t.d * sizeof(Split))
    s.drawn = <int32_t*> malloc(t.d * sizeof(int32_t))
    s.levels.groups = <Group*> malloc(groups * sizeof(Group))
    s.levels.ordered = <Group*> malloc(groups * sizeof(Group))
    s.levels.sums = <double*> malloc(groups * size * sizeof(double))
    s.levels.left = <double*> malloc(size * sizeof(double))
    s.levels.axis = <double*> malloc(size * sizeof(double))
    s.levels.side = <uint8_t*> malloc(groups)
    if (s.sweep.sums == NULL or s.sweep.weights == NULL
            or s.sweep.left_cost == NULL or s.sweep.right_cost == NULL or s.rows == NULL or s.splits == NULL or s.drawn == NULL
            or s.levels.groups == NULL or s.levels.ordered == NULL or s.levels.sums == NULL
            or s.levels.left == NULL or s.levels.axis == NULL or s.levels.side == NULL):
        free_scratch(s)
        return -1
    return 0


cdef bint describe(const Table* t, int f, Record* node, double* counts) noexcept nogil:
    """Weight, class weights, cost of a node from the rows in list f; step 1 of its life."""
    cdef const int32_t* rows = t.lists + f * t.n + node.start
    cdef Py_ssize_t m = node.end - node.start, i
    cdef double w, low = INFINITY, high = -INFINITY
    cdef int k, present = 0
    node.weight = node.cost = node.mean = 0.0
    node.feature = node.left = node.right = -1
    node.set_start, node.at = -1, 0
    node.threshold = node.decrease = 0.0
    node.missing_left = 0
    memset(counts, 0, max(t.K, 1) * sizeof(double))
    for i in range(m):
        w = 1.0 if t.weights == NULL else t.weights[rows[i]]
        node.weight += w
        if t.criterion == SQUARED:
            counts[0] += w * t.target[rows[i]]
            low = min(low, t.target[rows[i]])
            high = max(high, t.target[rows[i]])
        else:
            counts[t.labels[rows[i]]] += w
    if t.criterion == SQUARED:
        node.mean = low if low == high else min(max(counts[0] / node.weight, low), high)
        counts[0] = node.mean
        for i in range(m):
            w = 1.0 if t.weights == NULL else t.weights[rows[i]]
            node.cost += w * (t.target[rows[i]] - node.mean) * (t.target[rows[i]] - node.mean)
        present = 1 if low == high else 2
    else:
        for k in range(t.K):
            present += counts[k] > 0.0
        if t.criterion == GINI:
            node.cost = 2.0 * pairs(counts, NULL, t.K) / node.weight
        elif t.criterion == ENTROPY:
            node.cost = entropy_cost(t, counts, NULL, node.weight) if present > 1 else 0.0
        else:
            node.cost = error_cost(t, counts, NULL, node.weight)
    node.stopped = (present < 2 or node.depth >= t.max_depth
                    or m < t.min_rows_split or m < 2 * t.min_rows
                    or node.weight < t.min_weight_split or node.weight < 2.0 * t.min_weight)
    return node.stopped


cdef inline double split_column(const Table* t, const Record* node, const double* counts, int f,
                                Scratch* s, double known, Split* out) noexcept nogil:
    """The best division of column f; returns what other columns need not look beyond."""
    if t.kinds[f]:
        split_levels(t, node, counts, f, &s.levels, out)
    else:
        split_number(t, node, counts, f, &s.sweep, known, out)
    return min(known, out.cost + TIE * node.cost) if out.feature >= 0 else known


cdef void search_columns(const Table* t, const Record* node, const double* counts,
                         Scratch* s) noexcept nogil:
    """Step 2: all columns, or columns in random order until max_features of them were looked at
    and one of them can be divided."""
    cdef int i, j, f, found = 0
    cdef uint64_t key = node.key
    cdef double known = INFINITY
    if t.max_features >= t.d:
        for f in range(t.d):
            known = split_column(t, node, counts, f, s, known, s.splits + f)
        return
    for f in range(t.d):
        s.drawn[f] = f
        s.splits[f].feature = -1
    for i in range(t.d):
        if i >= t.max_features and found > 0:
            break
        key += <uint64_t> 0x9E3779B97F4A7C15
        j = i + <int> ((mix(key) >> 32) * <uint64_t> (t.d - i) >> 32)
        s.drawn[i], s.drawn[j] = s.drawn[j], s.drawn[i]
        f = s.drawn[i]
        known = split_column(t, node, counts, f, s, known, s.splits + f)
        found += s.splits[f].feature >= 0


cdef double threshold_at(const Table* t, const Record* node) noexcept nogil:
    """Between the last row on the left and the next one; beyond all numbers if that is missing."""
    cdef const int32_t* rows = t.lists + node.feature * t.n + node.start
    cdef double high = cell(t, node.feature, rows[node.at])
    return INFINITY if isnan(high) else midpoint(cell(t, node.feature, rows[node.at - 1]), high)


cdef bint choose(const Table* t, Record* node, const Split* splits) noexcept nogil:
    """Step 3: the first column within a tie of the lowest cost. A division that saves nothing is
    taken too: XOR needs it."""
    cdef int f, best = -1
    cdef double lowest = INFINITY
    for f in range(t.d):
        if splits[f].feature >= 0:
            lowest = min(lowest, splits[f].cost)
    for f in range(t.d - 1, -1, -1):
        if splits[f].feature >= 0 and splits[f].cost <= lowest + TIE * node.cost:
            best = f
    if best < 0:
        return False
    node.decrease = max(node.cost - splits[best].cost, 0.0)
    if node.decrease < t.min_decrease * (1.0 - TIE):
        node.decrease = 0.0
        return False
    node.feature = best
    node.at = splits[best].at
    node.threshold = splits[best].threshold
    if not t.kinds[best] and not t.drawn_splits:
        node.threshold = threshold_at(t, node)
    node.missing_left = splits[best].missing_left
    return True
