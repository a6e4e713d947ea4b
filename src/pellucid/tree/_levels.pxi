# Divisions of the levels of a categorical column into two sets.
#
# The missing rows of the node are one more group beside the levels, so every division says by
# itself on which side they go. With two classes, or a numerical target, the best division is a
# prefix of the groups ordered by proportion or mean. With more classes all 2^(g-1) - 1 divisions
# are tried up to EXHAUSTIVE groups; beyond, the groups are ordered along the first principal
# component of their class proportions. Several targets are treated like several classes, by the means
# of the groups. Where a child must have several rows or some weight the best allowed division need not
# be a prefix: then all are tried, too, up to EXHAUSTIVE groups.
# The left set is the one with the first group. One level against the others: the missing rows are
# tried alone, with the others and with the level.
#
# Levels may also be told apart, each on its own side. Such a division is stored as a few divisions in
# two: half of the groups, in their order, against the other half, down to single ones. Its cost is
# that of all groups; nodes in between are divided at once and are no deeper than the first.

cdef enum:
    EXHAUSTIVE = 8
    ONE_AGAINST_OTHERS = 1
    APART = 2


cdef struct Group:
    double key                  # position in the order of groups
    double weight
    int32_t code                # the level, -1 for missing
    int32_t number              # position among the groups, by level
    Py_ssize_t first, last      # its rows in the sorted rows of the node


cdef struct Levels:
    Group* groups               # in the order of levels, missing last
    Group* ordered
    double* sums                # (groups, size) class weights, or sums of w r and w bend(r)
    double* left                # (size,)
    double* axis                # (size,) a direction
    uint8_t* side               # per group: 1 left


cdef int by_key(const void* a, const void* b) noexcept nogil:
    cdef const Group* p = <const Group*> a
    cdef const Group* q = <const Group*> b
    if p.key != q.key:
        return -1 if p.key < q.key else 1
    return -1 if p.number < q.number else 1


cdef int gather_groups(const Table* t, const Record* node, const double* counts, int f,
                       const int32_t* rows, Levels* v) noexcept nogil:
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
        v.groups[g].weight = weigh_rows(t, node, counts, rows, i, j, v.sums + g * size)
        g += 1
        i = j
    return g


cdef inline double departure(const Table* t, const Record* node, const double* counts, const Levels* v,
                             int i, int k) noexcept nogil:
    """Of a group from its node: in the share of class k, or in the mean of target k."""
    if t.q > 1:
        return v.sums[i * t.size + k] / v.groups[i].weight
    return v.sums[i * t.size + k] / v.groups[i].weight - counts[k] / node.weight


cdef void principal_keys(const Table* t, const Record* node, const double* counts, int g,
                         Levels* v) noexcept nogil:
    """Order groups along the first principal component of their class proportions, or means.

    1. Start at the departure of the group farthest from the node, by weight.
    2. Power steps: axis <- sum_g w_g departure_g <departure_g, axis>, normalised.
    3. The key is the group's projection.
    """
    cdef double* axis = v.axis
    cdef double* following = v.left
    cdef double distance, farthest = -1.0, dot, norm, p
    cdef int i, k, step, K = max(t.K, t.q)
    for i in range(g):
        distance = 0.0
        for k in range(K):
            p = departure(t, node, counts, v, i, k)
            distance += v.groups[i].weight * p * p
        if distance > farthest:
            farthest = distance
            for k in range(K):
                axis[k] = departure(t, node, counts, v, i, k)
    for step in range(40):
        memset(following, 0, K * sizeof(double))
        for i in range(g):
            dot = 0.0
            for k in range(K):
                dot += departure(t, node, counts, v, i, k) * axis[k]
            v.groups[i].key = dot
            for k in range(K):
                following[k] += dot * v.groups[i].weight * departure(t, node, counts, v, i, k)
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
    if present > 2 or t.q > 1:
        principal_keys(t, node, counts, g, v)
        return
    for i in range(g):
        v.groups[i].key = v.sums[i * t.size + last] / v.groups[i].weight


cdef bint needs_all(const Table* t, const double* counts, int g) noexcept nogil:
    cdef int k, present = 0
    for k in range(t.K):
        present += counts[k] > 0.0
    return g <= EXHAUSTIVE and (present > 2 or t.q > 1 or t.demanding or t.criterion == ABSOLUTE
                               or t.signs != NULL or t.criterion == POISSON)


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


cdef void rank_groups(const Table* t, const Record* node, const int32_t* rows, int g, Levels* v,
                      Ranked* a) noexcept nogil:
    """For absolute errors: the group of every row by target; groups are ordered by their medians."""
    cdef Py_ssize_t j
    cdef int i
    fill_ranked(t, node, rows, a)
    for i in range(g):
        a.passed[i] = 0.0
        for j in range(v.groups[i].first, v.groups[i].last):
            a.group[t.ranks[rows[j]]] = i
    for j in range(node.end - node.start):
        i = a.group[j]
        if a.passed[i] < 0.5 * v.groups[i].weight:
            v.groups[i].key = a.value[j]
        a.passed[i] += a.weight[j]


cdef double sets_cost(const Table* t, const Record* node, const double* counts, int f, Levels* v,
                      Ranked* a, double weight) noexcept nogil:
    """Cost of the division that v.left and v.side describe; infinite if it breaks constraints."""
    cdef double weights[2]
    cdef double medians[2]
    cdef double cost
    if t.criterion != ABSOLUTE:
        if not keeps_order(t, node, counts, f, v.left, weight):
            return INFINITY
        return division_cost(t, node, counts, v.left, weight)
    weights[0], weights[1] = node.weight - weight, weight
    cost = sides_cost(node.end - node.start, v.side, weights, a, medians)
    if not in_bounds(t, node, f, node.mean + medians[1], node.mean + medians[0]):
        return INFINITY
    return cost


cdef double one_against_others(const Table* t, const Record* node, const double* counts, int f,
                               int g, Levels* v, Ranked* a) noexcept nogil:
    """Every group alone against all others, and every level with the missing rows; the first group is
    on the left."""
    cdef int i, chosen = -1, joined = 0, with_missing, sides = 1
    cdef bint own
    cdef Py_ssize_t rows
    cdef double weight, cost, best = INFINITY, bar = INFINITY
    if v.groups[g - 1].code < 0 and g > 2:
        sides = 2
    for i in range(1 if g == 2 else 0, g):
        for with_missing in range(sides if i < g - 1 else 1):
            weight, rows = 0.0, 0
            memset(v.left, 0, t.size * sizeof(double))
            memset(v.side, 0, g)
            v.side[i] = 1
            add_group(t, v, v.groups + i, &weight, &rows)
            if with_missing:
                v.side[g - 1] = 1
                add_group(t, v, v.groups + g - 1, &weight, &rows)
            if not allowed(t, node, weight, rows):
                continue
            cost = sets_cost(t, node, counts, f, v, a, weight)
            if cost < bar:
                best, bar, chosen, joined = cost, cost - TIE * node.cost, i, with_missing
    for i in range(g):
        own = i == chosen or (joined and i == g - 1)
        v.side[i] = own if chosen == 0 else not own
    return best


cdef double all_divisions(const Table* t, const Record* node, const double* counts, int f, int g,
                          Levels* v, Ranked* a) noexcept nogil:
    """Every set that holds the first group, as bits 1..2^g: the smallest number wins a tie."""
    cdef int bits, i, chosen = 0
    cdef Py_ssize_t rows
    cdef double weight, cost, best = INFINITY, bar = INFINITY
    for bits in range(1, (1 << g) - 1, 2):
        weight, rows = 0.0, 0
        memset(v.left, 0, t.size * sizeof(double))
        for i in range(g):
            v.side[i] = bits >> i & 1
            if v.side[i]:
                add_group(t, v, v.groups + i, &weight, &rows)
        if not allowed(t, node, weight, rows):
            continue
        cost = sets_cost(t, node, counts, f, v, a, weight)
        if cost < bar:
            best, bar, chosen = cost, cost - TIE * node.cost, bits
    for i in range(g):
        v.side[i] = chosen >> i & 1
    return best


cdef double prefix_cost(const Table* t, const Record* node, const double* counts, int f,
                        const Levels* v, double weight, Py_ssize_t rows,
                        const Ranked* a) noexcept nogil:
    """Cost of the groups so far against the others."""
    if t.criterion != ABSOLUTE:
        if not keeps_order(t, node, counts, f, v.left, weight):
            return INFINITY
        return division_cost(t, node, counts, v.left, weight)
    if not in_bounds(t, node, f, node.mean + a.left_value[rows * a.step],
                     node.mean + a.right_value[rows * a.step]):
        return INFINITY
    return a.cost[rows]


cdef void sweep_groups(const Table* t, const int32_t* rows, int g, Py_ssize_t m, const Levels* v,
                       Ranked* a) noexcept nogil:
    """Medians with the rows of the first groups on the left."""
    cdef Py_ssize_t k = 0, j
    cdef int i
    for i in range(g):
        for j in range(v.ordered[i].first, v.ordered[i].last):
            a.rows[k] = rows[j]
            k += 1
    sweep_medians(t, a.rows, m, m, False, a)


cdef double prefix_divisions(const Table* t, const Record* node, const double* counts, int f,
                             const int32_t* node_rows, int g, Levels* v, Ranked* a) noexcept nogil:
    """Best prefix of the ordered groups, turned so that the first group is on the left."""
    cdef int i, chosen = 0
    cdef Py_ssize_t rows = 0, size = t.size
    cdef double weight = 0.0, cost, best = INFINITY, bar = INFINITY
    if t.criterion != ABSOLUTE:
        assign_keys(t, node, counts, g, v)
    memcpy(v.ordered, v.groups, g * sizeof(Group))
    qsort(v.ordered, g, sizeof(Group), by_key)
    if t.criterion == ABSOLUTE:
        sweep_groups(t, node_rows, g, node.end - node.start, v, a)
    memset(v.left, 0, size * sizeof(double))
    for i in range(g - 1):
        add_group(t, v, v.ordered + i, &weight, &rows)
        if not allowed(t, node, weight, rows):
            continue
        cost = prefix_cost(t, node, counts, f, v, weight, rows, a)
        if cost < bar:
            best, bar, chosen = cost, cost - TIE * node.cost, i + 1
    for i in range(g):
        v.side[v.ordered[i].number] = i < chosen
    if g > 0 and not v.side[0]:
        for i in range(g):
            v.side[i] = not v.side[i]
    return best


cdef double drawn_division(const Table* t, const Record* node, const double* counts, int g,
                           int f, Levels* v, Ranked* a) noexcept nogil:
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
    if not allowed(t, node, weight, rows):
        return INFINITY
    return sets_cost(t, node, counts, f, v, a, weight)


cdef double apart_cost(const Table* t, const Record* node, const double* counts, int g,
                       const Levels* v, const Ranked* a) noexcept nogil:
    """Cost of one child for each group; infinite if one of them is too small."""
    cdef double cost = 0.0 if t.K > 0 or t.criterion == ABSOLUTE else node.cost, w
    cdef Py_ssize_t j
    cdef int i
    for i in range(g):
        w = v.groups[i].weight
        if v.groups[i].last - v.groups[i].first < t.min_rows or w < t.min_weight:
            return INFINITY
        if t.K > 0:
            cost += class_cost(t, v.sums + i * t.size, NULL, w)
        elif t.criterion == SQUARED:
            cost -= v.sums[i * t.size] * v.sums[i * t.size] / w
        elif t.q > 1:
            if vanishes(t, counts, v.sums + i * t.size, w, INFINITY):
                return INFINITY
            cost -= spread_of(t, counts, v.sums + i * t.size, w)
        elif t.criterion != ABSOLUTE:
            if t.criterion == POISSON and v.sums[i * t.size] <= (NOTHING - 1.0) * w:
                return INFINITY
            cost -= node.size * w * bend(t.criterion, v.sums[i * t.size] / w)
    if t.criterion == ABSOLUTE:
        for j in range(node.end - node.start):
            cost += a.weight[j] * fabs(a.value[j] - v.groups[a.group[j]].key)
    return max(cost, 0.0)


cdef double levels_apart(const Table* t, const Record* node, const double* counts, int g, Levels* v,
                         Ranked* a) noexcept nogil:
    """The cost of all groups apart; sides: the lower half of their order against the upper."""
    cdef double cost = apart_cost(t, node, counts, g, v, a)
    cdef int i
    if t.criterion != ABSOLUTE:
        assign_keys(t, node, counts, g, v)
    memcpy(v.ordered, v.groups, g * sizeof(Group))
    qsort(v.ordered, g, sizeof(Group), by_key)
    for i in range(g):
        v.side[v.ordered[i].number] = i < g // 2
    if not v.side[0]:
        for i in range(g):
            v.side[i] = not v.side[i]
    return cost


cdef bint side_of_largest(int g, const Levels* v) noexcept nogil:
    """Where the group of most weight goes, the first of several."""
    cdef int i, most = 0
    for i in range(g):
        if v.groups[i].weight > v.groups[most].weight:
            most = i
    return v.side[most]


cdef int split_levels(const Table* t, const Record* node, const double* counts, int f,
                      const int32_t* rows, Levels* v, Ranked* a, Split* out) noexcept nogil:
    """Best set of levels of column f; leaves groups and sides in v and returns their number."""
    cdef int g = gather_groups(t, node, counts, f, rows, v)
    out.feature, out.cost, out.missing_left, out.at = -1, INFINITY, 0, 0
    out.threshold = 0.0
    if g < 2:
        return g
    if t.criterion == ABSOLUTE:
        rank_groups(t, node, rows, g, v, a)
    if t.level_rule == APART:
        out.cost = levels_apart(t, node, counts, g, v, a)
    elif t.drawn_splits:
        out.cost = drawn_division(t, node, counts, g, f, v, a)
    elif t.level_rule == ONE_AGAINST_OTHERS:
        out.cost = one_against_others(t, node, counts, f, g, v, a)
    elif needs_all(t, counts, g):
        out.cost = all_divisions(t, node, counts, f, g, v, a)
    else:
        out.cost = prefix_divisions(t, node, counts, f, rows, g, v, a)
    if out.cost < INFINITY:
        out.feature = f
    return g
