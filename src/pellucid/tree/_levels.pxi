# Divisions of the levels of a categorical column into two sets.
#
# The missing rows of the node are one more group beside the levels, so every division says by
# itself on which side they go. With two classes, or a numerical target, the best division is a
# prefix of the groups ordered by proportion or mean. With more classes all 2^(g-1) - 1 divisions
# are tried up to EXHAUSTIVE groups; beyond, the groups are ordered along the first principal
# component of their class proportions. Where a child must have several rows or some weight the best
# allowed division need not be a prefix: then all are tried, too, up to EXHAUSTIVE groups.
# The left set is the one with the first group.

cdef enum:
    EXHAUSTIVE = 8


cdef struct Group:
    double key                  # position in the order of groups
    double weight
    int32_t code                # the level, -1 for missing
    int32_t number              # position among the groups, by level
    Py_ssize_t first, last      # its rows in the sorted rows of the node


cdef struct Levels:
    Group* groups               # in the order of levels, missing last
    Group* ordered
    double* sums                # (groups, K) class weights, or (groups, 2) sums of w r and w r^2
    double* left                # (K,) or (2,)
    double* axis                # (2, K) direction and mean proportions
    uint8_t* side               # per group: 1 left


cdef int by_key(const void* a, const void* b) noexcept nogil:
    cdef const Group* p = <const Group*> a
    cdef const Group* q = <const Group*> b
    if p.key != q.key:
        return -1 if p.key < q.key else 1
    return -1 if p.number < q.number else 1


cdef int gather_groups(const Table* t, const Record* node, int f, const int32_t* rows,
                       Levels* v) noexcept nogil:
    """Runs of equal codes in the sorted rows, with their weights and class weights."""
    cdef const double* x = t.X + f * t.column_step
    cdef Py_ssize_t m = node.end - node.start, i = 0, j, size = t.size, step = t.row_step
    cdef double v0
    cdef int g = 0
    while i < m:
        j = i + 1
        v0 = x[rows[i] * step]
        while j < m and (x[rows[j] * step] == v0 or isnan(v0)):
            j += 1
        v.groups[g].code = -1 if isnan(v0) else <int32_t> v0
        v.groups[g].number, v.groups[g].first, v.groups[g].last = g, i, j
        memset(v.sums + g * size, 0, size * sizeof(double))
        v.groups[g].weight = weigh_rows(t, node, rows, i, j, v.sums + g * size)
        g += 1
        i = j
    return g


cdef void principal_keys(const Table* t, const Record* node, const double* counts, int g,
                         Levels* v) noexcept nogil:
    """Order groups along the first principal component of their class proportions.

    1. Start at the centred proportions of the group farthest from the mean, by weight.
    2. Power steps: axis <- sum_g w_g (p_g - mean) <p_g - mean, axis>, normalised.
    3. The key is the group's projection.
    """
    cdef double* axis = v.axis
    cdef double* following = v.left
    cdef double distance, farthest = -1.0, dot, norm, p
    cdef int i, k, step, K = t.K
    for i in range(g):
        distance = 0.0
        for k in range(K):
            p = v.sums[i * K + k] / v.groups[i].weight - counts[k] / node.weight
            distance += v.groups[i].weight * p * p
        if distance > farthest:
            farthest = distance
            for k in range(K):
                axis[k] = v.sums[i * K + k] / v.groups[i].weight - counts[k] / node.weight
    for step in range(40):
        memset(following, 0, K * sizeof(double))
        for i in range(g):
            dot = 0.0
            for k in range(K):
                dot += (v.sums[i * K + k] / v.groups[i].weight - counts[k] / node.weight) * axis[k]
            v.groups[i].key = dot
            for k in range(K):
                following[k] += dot * (v.sums[i * K + k]
                                       - v.groups[i].weight * counts[k] / node.weight)
        norm = 0.0
        for k in range(K):
            norm = max(norm, fabs(following[k]))
        if norm == 0.0:
            return
        for k in range(K):
            axis[k] = following[k] / norm


cdef void assign_keys(const Table* t, const Record* node, const double* counts, int g,
                      Levels* v) noexcept nogil:
    cdef int k, i, present = 0, last = 0
    for k in range(t.K):
        if counts[k] > 0.0:
            present += 1
            last = k
    if t.K > 0 and present > 2:
        principal_keys(t, node, counts, g, v)
        return
    for i in range(g):
        v.groups[i].key = v.sums[i * t.size + last] / v.groups[i].weight


cdef bint needs_all(const Table* t, const double* counts, int g) noexcept nogil:
    cdef int k, present = 0
    for k in range(t.K):
        present += counts[k] > 0.0
    return g <= EXHAUSTIVE and (present > 2 or t.demanding)


cdef inline void add_group(const Table* t, const Levels* v, const Group* group, double* weight,
                           Py_ssize_t* rows) noexcept nogil:
    cdef Py_ssize_t k, size = t.size
    for k in range(size):
        v.left[k] += v.sums[group.number * size + k]
    weight[0] += group.weight
    rows[0] += group.last - group.first


cdef inline bint allowed(const Table* t, const Record* node, double weight,
                         Py_ssize_t rows) noexcept nogil:
    return (rows >= t.min_rows and (node.end - node.start) - rows >= t.min_rows
            and weight >= t.min_weight and node.weight - weight >= t.min_weight)


cdef double all_divisions(const Table* t, const Record* node, const double* counts, int g,
                          Levels* v) noexcept nogil:
    """Every set that holds the first group, as bits 1..2^g: the smallest number wins a tie."""
    cdef int bits, i, chosen = 0
    cdef Py_ssize_t rows
    cdef double weight, cost, best = INFINITY, bar = INFINITY
    for bits in range(1, (1 << g) - 1, 2):
        weight, rows = 0.0, 0
        memset(v.left, 0, t.size * sizeof(double))
        for i in range(g):
            if bits >> i & 1:
                add_group(t, v, v.groups + i, &weight, &rows)
        if not allowed(t, node, weight, rows):
            continue
        cost = division_cost(t, node, counts, v.left, weight)
        if cost < bar:
            best, bar, chosen = cost, cost - TIE * node.cost, bits
    for i in range(g):
        v.side[i] = chosen >> i & 1
    return best


cdef double prefix_divisions(const Table* t, const Record* node, const double* counts, int g,
                             Levels* v) noexcept nogil:
    """Best prefix of the ordered groups, turned so that the first group is on the left."""
    cdef int i, chosen = 0
    cdef Py_ssize_t rows = 0, size = t.size
    cdef double weight = 0.0, cost, best = INFINITY, bar = INFINITY
    assign_keys(t, node, counts, g, v)
    memcpy(v.ordered, v.groups, g * sizeof(Group))
    qsort(v.ordered, g, sizeof(Group), by_key)
    memset(v.left, 0, size * sizeof(double))
    for i in range(g - 1):
        add_group(t, v, v.ordered + i, &weight, &rows)
        if not allowed(t, node, weight, rows):
            continue
        cost = division_cost(t, node, counts, v.left, weight)
        if cost < bar:
            best, bar, chosen = cost, cost - TIE * node.cost, i + 1
    for i in range(g):
        v.side[v.ordered[i].number] = i < chosen
    if g > 0 and not v.side[0]:
        for i in range(g):
            v.side[i] = not v.side[i]
    return best


cdef double drawn_division(const Table* t, const Record* node, const double* counts, int g,
                           int f, Levels* v) noexcept nogil:
    """Every group but the first on a random side; all on one side is avoided."""
    cdef uint64_t bits = node.key + <uint64_t> 0xA0761D6478BD642F * <uint64_t> (f + 1)
    cdef int i, alone
    cdef Py_ssize_t rows = 0, others = 0
    cdef double weight = 0.0
    memset(v.left, 0, t.size * sizeof(double))
    alone = 1 + <int> ((mix(bits) >> 32) * <uint64_t> (g - 1) >> 32)
    for i in range(g):
        v.side[i] = i == 0 or mix(bits + <uint64_t> (i + 1)) & 1
        others += not v.side[i]
    if others == 0:
        v.side[alone] = 0
    for i in range(g):
        if v.side[i]:
            add_group(t, v, v.groups + i, &weight, &rows)
    return division_cost(t, node, counts, v.left, weight) if allowed(t, node, weight, rows) else INFINITY


cdef int split_levels(const Table* t, const Record* node, const double* counts, int f,
                      const int32_t* rows, Levels* v, Split* out) noexcept nogil:
    """Best set of levels of column f; leaves groups and sides in v and returns their number."""
    cdef int g = gather_groups(t, node, f, rows, v)
    out.feature, out.cost, out.missing_left, out.at = -1, INFINITY, 0, 0
    out.threshold = 0.0
    if g < 2:
        return g
    if t.drawn_splits:
        out.cost = drawn_division(t, node, counts, g, f, v)
    elif needs_all(t, counts, g):
        out.cost = all_divisions(t, node, counts, g, v)
    else:
        out.cost = prefix_divisions(t, node, counts, g, v)
    if out.cost < INFINITY:
        out.feature = f
    return g
