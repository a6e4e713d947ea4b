"""Splits of the levels of a categorical column into two sets.

The missing rows of the node are one more group beside the levels, so every split decides on which
side they go. With two classes, or a numerical target, the best split is a prefix of the groups
ordered by proportion or mean. With more classes all 2^(g-1) - 1 splits are tried up to EXHAUSTIVE
groups; beyond, the groups are ordered along the first principal component of their class
proportions. Several targets are treated like several classes, by the means of the groups. Where a
child must have several rows or some weight, the best split that is allowed need not be a prefix: then
all are tried, too, up to EXHAUSTIVE groups.
The left set is the one with the first group. One level against the others: the missing rows are
tried alone, with the others and with the level.
Levels may also be separated completely, each on its own side. Such a split is stored as a few binary splits:
half of the groups, in their order, against the other half, down to single ones. Its cost is that of
all groups; nodes in between are split at once and are no deeper than the first.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset

from pellucid.tree._impurity cimport (
    ABSOLUTE, NOTHING, POISSON, SQUARED, TIE, class_cost, in_bounds, keeps_order, large_enough,
    loss_at, split_cost, spread_of, vanishes,
)
from pellucid.tree._level_groups cimport Group, Levels, gather_groups, order_groups, put_first_left
from pellucid.tree._medians cimport Ranked, fill_ranked, sides_cost, sweep_medians
from pellucid.tree._random cimport mix
from pellucid.tree._table cimport Node, Split, Table


cdef enum:
    EXHAUSTIVE = 8              # groups up to which all splits are tried


cdef bint needs_all(const Table* t, const double* counts, int g) noexcept nogil:
    cdef int k, present = 0
    for k in range(t.y.K):
        present += counts[k] > 0.0
    return g <= EXHAUSTIVE and (
        present > 2 or t.y.q > 1 or t.rules.demanding or t.y.criterion == ABSOLUTE
        or t.rules.signs != NULL or t.y.criterion == POISSON)


cdef inline void add_group(const Table* t, const Levels* v, const Group* group, double* weight,
                           Py_ssize_t* rows) noexcept nogil:
    cdef Py_ssize_t k, size = t.y.size
    for k in range(size):
        v.left[k] += v.sums[group.number * size + k]
    weight[0] += group.weight
    rows[0] += group.last - group.first


cdef void rank_groups(const Table* t, const Node* node, const int32_t* rows, int g, Levels* v,
                      Ranked* a) noexcept nogil:
    """For absolute errors: the group of every row by target; groups are ordered by their medians."""
    cdef Py_ssize_t j
    cdef int i
    fill_ranked(t, node, rows, a)
    for i in range(g):
        a.passed[i] = 0.0
        for j in range(v.groups[i].first, v.groups[i].last):
            a.group[t.y.ranks[rows[j]]] = i
    for j in range(node.end - node.start):
        i = a.group[j]
        if a.passed[i] < 0.5 * v.groups[i].weight:
            v.groups[i].key = a.value[j]
        a.passed[i] += a.weight[j]


cdef double sets_cost(const Table* t, const Node* node, const double* counts, int f, Levels* v,
                      Ranked* a, double weight) noexcept nogil:
    """Cost of the split that v.left and v.side describe; infinite if it breaks constraints."""
    cdef double weights[2]
    cdef double medians[2]
    cdef double cost
    if t.y.criterion != ABSOLUTE:
        if not keeps_order(t, node, counts, f, v.left, weight):
            return INFINITY
        return split_cost(t, node, counts, v.left, weight)
    weights[0], weights[1] = node.weight - weight, weight
    cost = sides_cost(node.end - node.start, v.side, weights, a, medians)
    if not in_bounds(t, node, f, node.mean + medians[1], node.mean + medians[0]):
        return INFINITY
    return cost


cdef double one_against_others(const Table* t, const Node* node, const double* counts, int f,
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
            memset(v.left, 0, t.y.size * sizeof(double))
            memset(v.side, 0, g)
            v.side[i] = 1
            add_group(t, v, v.groups + i, &weight, &rows)
            if with_missing:
                v.side[g - 1] = 1
                add_group(t, v, v.groups + g - 1, &weight, &rows)
            if not large_enough(t, node, weight, rows):
                continue
            cost = sets_cost(t, node, counts, f, v, a, weight)
            if cost < bar:
                best, bar, chosen, joined = cost, cost - TIE * node.cost, i, with_missing
    for i in range(g):
        own = i == chosen or (joined and i == g - 1)
        v.side[i] = own if chosen == 0 else not own
    return best


cdef double all_splits(const Table* t, const Node* node, const double* counts, int f, int g,
                       Levels* v, Ranked* a) noexcept nogil:
    """Every set that holds the first group, as bits 1..2^g: the smallest number wins a tie."""
    cdef int bits, i, chosen = 0
    cdef Py_ssize_t rows
    cdef double weight, cost, best = INFINITY, bar = INFINITY
    for bits in range(1, (1 << g) - 1, 2):
        weight, rows = 0.0, 0
        memset(v.left, 0, t.y.size * sizeof(double))
        for i in range(g):
            v.side[i] = bits >> i & 1
            if v.side[i]:
                add_group(t, v, v.groups + i, &weight, &rows)
        if not large_enough(t, node, weight, rows):
            continue
        cost = sets_cost(t, node, counts, f, v, a, weight)
        if cost < bar:
            best, bar, chosen = cost, cost - TIE * node.cost, bits
    for i in range(g):
        v.side[i] = chosen >> i & 1
    return best


cdef double prefix_cost(const Table* t, const Node* node, const double* counts, int f,
                        const Levels* v, double weight, Py_ssize_t rows,
                        const Ranked* a) noexcept nogil:
    """Cost of the groups so far against the others."""
    if t.y.criterion != ABSOLUTE:
        if not keeps_order(t, node, counts, f, v.left, weight):
            return INFINITY
        return split_cost(t, node, counts, v.left, weight)
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


cdef double prefix_splits(const Table* t, const Node* node, const double* counts, int f,
                          const int32_t* node_rows, int g, Levels* v, Ranked* a) noexcept nogil:
    """Best prefix of the ordered groups, turned so that the first group is on the left."""
    cdef int i, chosen = 0
    cdef Py_ssize_t rows = 0, size = t.y.size
    cdef double weight = 0.0, cost, best = INFINITY, bar = INFINITY
    order_groups(t, node, counts, g, v)
    if t.y.criterion == ABSOLUTE:
        sweep_groups(t, node_rows, g, node.end - node.start, v, a)
    memset(v.left, 0, size * sizeof(double))
    for i in range(g - 1):
        add_group(t, v, v.ordered + i, &weight, &rows)
        if not large_enough(t, node, weight, rows):
            continue
        cost = prefix_cost(t, node, counts, f, v, weight, rows, a)
        if cost < bar:
            best, bar, chosen = cost, cost - TIE * node.cost, i + 1
    for i in range(g):
        v.side[v.ordered[i].number] = i < chosen
    put_first_left(g, v)
    return best


cdef double drawn_split(const Table* t, const Node* node, const double* counts, int g,
                        int f, Levels* v, Ranked* a) noexcept nogil:
    """Every group but the first on a random side; all on one side is avoided."""
    cdef uint64_t bits = node.key + <uint64_t> 0xA0761D6478BD642F * <uint64_t> (f + 1)
    cdef int i, alone
    cdef Py_ssize_t rows = 0, others = 0
    cdef double weight = 0.0
    memset(v.left, 0, t.y.size * sizeof(double))
    alone = 1 + <int> ((mix(bits) >> 32) * <uint64_t> (g - 1) >> 32)
    for i in range(g):
        v.side[i] = i == 0 or mix(bits + <uint64_t> (i + 1)) & 1
        others += not v.side[i]
    if others == 0:
        v.side[alone] = 0
    for i in range(g):
        if v.side[i]:
            add_group(t, v, v.groups + i, &weight, &rows)
    if not large_enough(t, node, weight, rows):
        return INFINITY
    return sets_cost(t, node, counts, f, v, a, weight)


cdef double apart_cost(const Table* t, const Node* node, const double* counts, int g,
                       const Levels* v, const Ranked* a) noexcept nogil:
    """Cost of one child for each group; infinite if one of them is too small."""
    cdef double cost = 0.0 if t.y.K > 0 or t.y.criterion == ABSOLUTE else node.cost, w
    cdef Py_ssize_t j
    cdef int i
    for i in range(g):
        w = v.groups[i].weight
        if v.groups[i].last - v.groups[i].first < t.rules.min_rows or w < t.rules.min_weight:
            return INFINITY
        if t.y.K > 0:
            cost += class_cost(t, v.sums + i * t.y.size, NULL, w)
        elif t.y.criterion == SQUARED:
            cost -= v.sums[i * t.y.size] * v.sums[i * t.y.size] / w
        elif t.y.q > 1:
            if vanishes(t, counts, v.sums + i * t.y.size, w, INFINITY):
                return INFINITY
            cost -= spread_of(t, counts, v.sums + i * t.y.size, w)
        elif t.y.criterion != ABSOLUTE:
            if t.y.criterion == POISSON and v.sums[i * t.y.size] <= (NOTHING - 1.0) * w:
                return INFINITY
            cost -= node.size * w * loss_at(t.y.criterion, v.sums[i * t.y.size] / w)
    if t.y.criterion == ABSOLUTE:
        for j in range(node.end - node.start):
            cost += a.weight[j] * fabs(a.value[j] - v.groups[a.group[j]].key)
    return max(cost, 0.0)


cdef double levels_apart(const Table* t, const Node* node, const double* counts, int g, Levels* v,
                         Ranked* a) noexcept nogil:
    """The cost of all groups apart; sides: the lower half of their order against the upper."""
    cdef double cost = apart_cost(t, node, counts, g, v, a)
    cdef int i
    order_groups(t, node, counts, g, v)
    for i in range(g):
        v.side[v.ordered[i].number] = i < g // 2
    put_first_left(g, v)
    return cost


cdef int split_levels(const Table* t, const Node* node, const double* counts, int f,
                      const int32_t* rows, Levels* v, Ranked* a, Split* out) noexcept nogil:
    """Best set of levels of column f; leaves groups and sides in v and returns their number."""
    cdef int g = gather_groups(t, node, counts, f, rows, v)
    out.feature, out.cost, out.missing_left, out.at = -1, INFINITY, 0, 0
    out.threshold = 0.0
    if g < 2:
        return g
    if t.y.criterion == ABSOLUTE:
        rank_groups(t, node, rows, g, v, a)
    if t.rules.level_rule == APART:
        out.cost = levels_apart(t, node, counts, g, v, a)
    elif t.rules.drawn_splits:
        out.cost = drawn_split(t, node, counts, g, f, v, a)
    elif t.rules.level_rule == ONE_AGAINST_OTHERS:
        out.cost = one_against_others(t, node, counts, f, g, v, a)
    elif needs_all(t, counts, g):
        out.cost = all_splits(t, node, counts, f, g, v, a)
    else:
        out.cost = prefix_splits(t, node, counts, f, rows, g, v, a)
    if out.cost < INFINITY:
        out.feature = f
    return g
