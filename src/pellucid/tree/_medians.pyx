"""Absolute errors around weighted medians.

The cost of a set of rows is sum w |t - median|. `describe_absolute` numbers the rows of a node by
their target (`ranks`); a sweep then adds rows one by one to a Fenwick tree over these numbers, which
holds sums of w and of w (t - median of the node), and finds the median of what it holds: O(log m)
for a row, so O(m log m) for a column. One sweep from either end gives the costs of both sides. The
cost of a split by groups (levels, random sides) takes one pass over the rows by target.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memset

from pellucid.tree._impurity cimport in_bounds
from pellucid.tree._memory cimport allocate, release
from pellucid.tree._row_order cimport sort_rows
from pellucid.tree._sweep cimport Sweep, record_split, same_value
from pellucid.tree._table cimport Node, Table


cdef int new_ranked(Py_ssize_t m, Py_ssize_t groups, bint medians, Ranked* a) noexcept nogil:
    """Room for nodes of up to m rows; 0 if there is enough memory. `medians`: constraints ask for
    them."""
    a.step = 1 if medians else 0
    a.value = <double*> allocate(m * sizeof(double))
    a.weight = <double*> allocate(m * sizeof(double))
    a.group = <int32_t*> allocate(m * sizeof(int32_t))
    a.tree = <Sums*> allocate((m + 1) * sizeof(Sums))
    a.cost = <double*> allocate((m + 1) * sizeof(double))
    a.left_value = <double*> allocate((a.step * m + 1) * sizeof(double))
    a.right_value = <double*> allocate((a.step * m + 1) * sizeof(double))
    a.rows = <int32_t*> allocate(m * sizeof(int32_t))
    a.passed = <double*> allocate((groups + 3) * sizeof(double))
    if (a.value == NULL or a.weight == NULL or a.group == NULL or a.tree == NULL or a.cost == NULL
            or a.left_value == NULL or a.right_value == NULL
            or a.rows == NULL or a.passed == NULL):
        return -1
    # Rows are sorted while a node is described, values and tree are filled when it is searched.
    a.sorter.keys, a.sorter.pairs = <int32_t*> a.value, <uint64_t*> a.tree
    a.sorter.rows = a.sorter.keys + m
    return 0


cdef void free_ranked(Ranked* a) noexcept nogil:
    release(a.value)
    release(a.weight)
    release(a.group)
    release(a.tree)
    release(a.cost)
    release(a.left_value)
    release(a.right_value)
    release(a.rows)
    release(a.passed)


cdef double weighted_median(const Table* t, const int32_t* rows, Py_ssize_t m,
                            double total) noexcept nogil:
    """Of rows in the order of their target; between two values if both halve the weight."""
    cdef double passed = 0.0, low
    cdef Py_ssize_t k
    for k in range(m):
        passed += 1.0 if t.y.weights == NULL else t.y.weights[rows[k]]
        if passed >= 0.5 * total:
            low = t.y.values[rows[k]]
            if passed == 0.5 * total and k + 1 < m:
                return low + 0.5 * (t.y.values[rows[k + 1]] - low)
            return low
    return t.y.values[rows[m - 1]]


cdef void describe_absolute(const Table* t, const int32_t* rows, Node* node,
                            Ranked* a) noexcept nogil:
    """Number the rows of a node by target; its median and cost."""
    cdef Py_ssize_t m = node.end - node.start, i
    cdef int32_t low = t.y.places[rows[0]], high = low
    cdef int32_t row
    cdef double w
    for i in range(m):
        a.sorter.keys[i] = t.y.places[rows[i]]
        low, high = min(low, a.sorter.keys[i]), max(high, a.sorter.keys[i])
    sort_rows(rows, a.sorter.keys, m, low, high, &a.sorter, a.sorter.rows)
    node.mean = weighted_median(t, a.sorter.rows, m, node.weight)
    for i in range(m):
        row = a.sorter.rows[i]
        t.y.ranks[row] = <int32_t> i
        w = 1.0 if t.y.weights == NULL else t.y.weights[row]
        node.cost += w * fabs(t.y.values[row] - node.mean)


cdef void fill_ranked(const Table* t, const Node* node, const int32_t* rows,
                      Ranked* a) noexcept nogil:
    """Values and weights of the node's rows, in any order, by target."""
    cdef Py_ssize_t i
    cdef int32_t k
    for i in range(node.end - node.start):
        k = t.y.ranks[rows[i]]
        a.value[k] = t.y.values[rows[i]] - node.mean
        a.weight[k] = 1.0 if t.y.weights == NULL else t.y.weights[rows[i]]


cdef inline void insert(Ranked* a, Py_ssize_t m, Py_ssize_t rank, Sums* total) noexcept nogil:
    cdef double w = a.weight[rank], s = w * a.value[rank]
    cdef Py_ssize_t j = rank + 1
    total.w += w
    total.s += s
    while j <= m:
        a.tree[j].w += w
        a.tree[j].s += s
        j += j & -j


cdef double upper_median(const Ranked* a, Py_ssize_t m, Py_ssize_t top,
                         double half) noexcept nogil:
    """The first value in the tree that exceeds half the weight."""
    cdef double w = 0.0
    cdef Py_ssize_t at = 0, step = top
    while step > 0:
        if at + step <= m and w + a.tree[at + step].w <= half:
            at += step
            w += a.tree[at].w
        step >>= 1
    return a.value[min(at, m - 1)]


cdef inline double held_cost(const Ranked* a, Py_ssize_t m, Py_ssize_t top, const Sums* total,
                             bint exact, double* median) noexcept nogil:
    """Cost of what the tree holds: its median is the first value that reaches half the weight. For
    the cost any value up to the next one will do; `exact`: the middle between them."""
    cdef double half = 0.5 * total.w, w = 0.0, s = 0.0, v
    cdef Py_ssize_t at = 0, step = top
    while step > 0:
        if at + step <= m and w + a.tree[at + step].w < half:
            at += step
            w += a.tree[at].w
            s += a.tree[at].s
        step >>= 1
    v = a.value[min(at, m - 1)]
    median[0] = v + 0.5 * (upper_median(a, m, top, half) - v) if exact else v
    return max((v * w - s) + ((total.s - s) - v * (total.w - w)), 0.0)


cdef void sweep_medians(const Table* t, const int32_t* rows, Py_ssize_t present, Py_ssize_t m,
                        bint missing_left, Ranked* a) noexcept nogil:
    """Costs and medians with i of the present rows on the left, for i = 0, ..., present."""
    cdef Py_ssize_t i, top = 1
    cdef Sums total
    cdef bint exact = t.rules.signs != NULL
    while 2 * top <= m:
        top *= 2
    memset(a.tree, 0, (m + 1) * sizeof(Sums))
    total.w = total.s = 0.0
    for i in range(present, m if missing_left else present):
        insert(a, m, t.y.ranks[rows[i]], &total)
    a.cost[0], a.left_value[0] = 0.0, 0.0
    for i in range(present):
        insert(a, m, t.y.ranks[rows[i]], &total)
        a.cost[i + 1] = held_cost(a, m, top, &total, exact, a.left_value + (i + 1) * a.step)
    memset(a.tree, 0, (m + 1) * sizeof(Sums))
    total.w = total.s = 0.0
    for i in range(present, present if missing_left else m):
        insert(a, m, t.y.ranks[rows[i]], &total)
    a.cost[present] += held_cost(a, m, top, &total, exact, a.right_value + present * a.step)
    for i in range(present - 1, -1, -1):
        insert(a, m, t.y.ranks[rows[i]], &total)
        a.cost[i] += held_cost(a, m, top, &total, exact, a.right_value + i * a.step)


cdef void best_of_sweep(const Table* t, const Node* node, int f, Sweep* s, double weight,
                        const Ranked* a) noexcept nogil:
    """The first allowed split within a tie of the lowest cost; `weight` is left already."""
    cdef Py_ssize_t i
    cdef double cost
    s.lowest, s.cost, s.at = INFINITY, INFINITY, 0
    for i in range(1, s.last + 1):
        weight += 1.0 if t.y.weights == NULL else t.y.weights[s.rows[i - 1]]
        if (i < s.first or weight < t.rules.min_weight or node.weight - weight < t.rules.min_weight
                or same_value(s, i - 1)):
            continue
        cost = a.cost[i]
        if cost < s.lowest and in_bounds(t, node, f, node.mean + a.left_value[i * a.step],
                                         node.mean + a.right_value[i * a.step]):
            record_split(node, s, i, cost)


cdef void sweep_absolute(const Table* t, const Node* node, int f, Sweep* s, bint missing_left,
                         Ranked* a) noexcept nogil:
    cdef Py_ssize_t m = node.end - node.start, i
    cdef double weight = 0.0
    sweep_medians(t, s.rows, s.present, m, missing_left, a)
    for i in range(s.present, m if missing_left else s.present):
        weight += 1.0 if t.y.weights == NULL else t.y.weights[s.rows[i]]
    best_of_sweep(t, node, f, s, weight, a)


cdef double sides_cost(Py_ssize_t m, const uint8_t* side, const double* weights, const Ranked* a,
                       double* medians) noexcept nogil:
    """Cost of both sides, 1 left and 0 right by group; `weights` are those of the two sides."""
    cdef double w[2]
    cdef double s[2]
    cdef double below_w[2]
    cdef double below_s[2]
    cdef double middle[2]
    cdef int reached[2]         # 1: the median; 2: the middle to the next value is due
    cdef double cost = 0.0
    cdef Py_ssize_t k
    cdef int b
    for b in range(2):
        w[b] = s[b] = below_w[b] = below_s[b] = medians[b] = middle[b] = 0.0
        reached[b] = 0
    for k in range(m):
        b = side[a.group[k]]
        if reached[b] == 2:
            reached[b], middle[b] = 1, medians[b] + 0.5 * (a.value[k] - medians[b])
        if reached[b] == 0 and w[b] + a.weight[k] >= 0.5 * weights[b]:
            medians[b] = middle[b] = a.value[k]
            below_w[b], below_s[b] = w[b], s[b]
            reached[b] = 2 if w[b] + a.weight[k] == 0.5 * weights[b] else 1
        w[b] += a.weight[k]
        s[b] += a.weight[k] * a.value[k]
    for b in range(2):
        cost += max(medians[b] * below_w[b] - below_s[b]
                    + (s[b] - below_s[b]) - medians[b] * (w[b] - below_w[b]), 0.0)
        medians[b] = middle[b]
    return cost
