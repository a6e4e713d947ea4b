"""One growing tree: the order of its nodes, splitting them, its leaves (steps 1 and 2)."""

from libc.math cimport copysign, fabs, log1p
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from pellucid.tree._histogram_count cimport (
    gather_cells, noise_of, partition_rows, set_units, sum_gradients, sum_noise, sum_weights,
    to_cells,
)
from pellucid.tree._histogram_records cimport (
    MANY, TIE, Gradient, GrowingTree, Node, Setup, count_of, curvature_of, gathered, is_larger,
    limited, resize, scratch_of,
)
from pellucid.tree._leaf_sums cimport LeafSum
from pellucid.tree._random cimport mix

cdef enum:
    BOTH = 2                    # of `steep`
    ORDINARY = 6                # length of a step that is never shortened


cdef int reserve(GrowingTree* t, int more) noexcept nogil:
    """Memory for more nodes of a tree; -1 without it."""
    if t.m + more <= t.capacity:
        return 0
    t.capacity = 2 * (t.m + more) + 64
    return (resize(<void**> &t.nodes, t.capacity * sizeof(Node))
            | resize(<void**> &t.front, t.capacity * sizeof(int32_t)))


cdef int add_job(GrowingTree* t, int32_t node) noexcept nogil:
    if t.n_jobs == t.job_capacity:
        t.job_capacity = 2 * t.job_capacity + 64
        if resize(<void**> &t.jobs, t.job_capacity * sizeof(int32_t)) < 0:
            return -1
    t.jobs[t.n_jobs] = node
    t.n_jobs += 1
    return 0


cdef int best_of_front(GrowingTree* t, bint unsplit) noexcept nogil:
    """Place of the leaf with the largest gain; the leftmost one on ties; -1: there is none."""
    cdef int i, best = -1
    cdef double top = 0.0
    cdef Node* node
    for i in range(t.n_front):
        node = t.nodes + t.front[i]
        if not (unsplit and node.is_split):
            top = max(top, node.split.gain)
    for i in range(t.n_front):
        node = t.nodes + t.front[i]
        if (unsplit and node.is_split) or node.split.gain < top * (1.0 - TIE):
            continue
        if best < 0 or node.start < t.nodes[t.front[best]].start:
            best = i
    return best


cdef void close(GrowingTree* t, int i) noexcept nogil:
    """The i-th leaf of the front is split for good."""
    t.nodes[t.front[i]].is_split = 2
    t.front[i] = t.front[t.n_front - 1]
    t.n_front -= 1
    t.n_leaves += 1


cdef void add_to_front(GrowingTree* t, int32_t node) noexcept nogil:
    if t.nodes[node].split.feature >= 0:
        t.front[t.n_front] = node
        t.n_front += 1


cdef int plan(const Setup* s, GrowingTree* t) noexcept nogil:
    """Follow best-first order as far as it is known, then choose what to split next."""
    cdef int i, wanted, left = s.limits.max_leaves - t.n_leaves
    cdef int32_t node
    t.batch, t.n_jobs = 0, 0
    while limited(s) and t.n_front > 0 and left > 0:
        i = best_of_front(t, False)
        node = t.front[i]
        if not t.nodes[node].is_split:
            break
        close(t, i)
        left -= 1
        add_to_front(t, t.nodes[node].left)
        add_to_front(t, t.nodes[node].right)
    if t.n_front == 0 or left == 0:
        t.done = 1
        return 0
    # More than the best one only while threads are idle: the split may not be needed.
    # A pass over all rows splits what it can.
    wanted = min(1 + 2 * <int> s.idle, (left + 1) // 2) if limited(s) else <int> MANY
    if s.streamed:
        wanted = min(left, <int> MANY)
    wanted = max(1, min(wanted, t.n_front))
    if reserve(t, 2 * wanted) < 0:
        return -1
    while t.batch < wanted:
        i = best_of_front(t, True) if limited(s) else t.n_front - 1
        if i < 0:
            break
        node = t.front[i]
        t.nodes[node].is_split = 1
        t.nodes[node].left, t.nodes[node].right = t.m, t.m + 1
        t.m += 2
        if add_job(t, node) < 0:
            return -1
        t.batch += 1
        if not limited(s):
            close(t, i)
    return 0


cdef void open_root(const Setup* s, GrowingTree* t) noexcept nogil:
    cdef Node* root = t.nodes
    cdef LeafSum noise
    cdef const int32_t* samples = s.samples
    set_units(t.gradients, t.rows, root.end, s.shift, s.weights, &t.units)
    t.units.noise = 0.0
    if s.has_sets:
        sum_noise(t.gradients, s.weights, samples, t.rows, root.end, &t.units, &noise)
        t.units.noise = noise_of(&noise, &t.units)
    root.total = to_cells(t.gradients, s.weights, samples, t.rows, root.end, &t.units, t.cells,
                          NULL if root.end == s.n else t.ordered)
    set_numbers(t, root)


cdef void set_numbers(GrowingTree* t, Node* node) noexcept nogil:
    node.g, node.h = <double> node.total.g * t.units.g, curvature_of(&t.units, node.total.hc)
    node.c = count_of(&t.units, node.total.hc)


cdef void split_node(const Setup* s, GrowingTree* t, int32_t number) noexcept nogil:
    cdef Node* node = t.nodes + number
    cdef Node* left = t.nodes + node.left
    cdef Node* right = t.nodes + node.right
    cdef int32_t f = node.split.feature
    cdef Node* small
    cdef int64_t at = node.start + partition_rows(
        &node.split, s.columns + f * s.n, t.rows + node.start, scratch_of(t, node),
        node.end - node.start, s.n_bins[f])
    add_children(s, t, number, at)
    small = right if is_larger(t, left) else left
    gather_cells(t.cells, t.rows + small.start, small.end - small.start, gathered(t, small))


cdef void add_children(const Setup* s, GrowingTree* t, int32_t number, int64_t at) noexcept nogil:
    """The children of a node that is split; `at`: the first row of the right one."""
    cdef Node* node = t.nodes + number
    cdef Node* left = t.nodes + node.left
    cdef Node* right = t.nodes + node.right
    memset(left, 0, sizeof(Node))
    memset(right, 0, sizeof(Node))
    left.start, left.end, right.start, right.end = node.start, at, at, node.end
    left.parent, right.parent = number, number
    left.total = node.split.left
    right.total.g = node.total.g - left.total.g
    right.total.hc = node.total.hc - left.total.hc
    set_numbers(t, left)
    set_numbers(t, right)
    left.key, right.key = mix(2 * node.key + 1), mix(2 * node.key + 2)
    left.left, right.left, left.slot, right.slot, left.mask, right.mask = -1, -1, -1, -1, -1, -1
    left.depth, right.depth = node.depth + 1, node.depth + 1
    left.split.feature, right.split.feature = -1, -1
    set_bounds(s, node, left, right)


cdef void set_bounds(const Setup* s, Node* node, Node* left, Node* right) noexcept nogil:
    """Values below a split by a constrained column stay on their sides of the middle."""
    cdef double a, b, middle
    cdef int sign = s.signs[node.split.feature] if s.limits.bounded else 0
    left.lower, left.upper = node.lower, node.upper
    right.lower, right.upper = node.lower, node.upper
    if sign == 0:
        return
    a = min(max(-left.g / (left.h + s.limits.l2), node.lower), node.upper)
    b = min(max(-right.g / (right.h + s.limits.l2), node.lower), node.upper)
    middle = a + (b - a) / 2
    if sign > 0:
        left.upper, right.lower = middle, middle
    else:
        left.lower, right.upper = middle, middle


cdef void split_job(const Setup* s, GrowingTree* t, long i) noexcept nogil:
    if t.jobs[i] < 0:
        open_root(s, t)
    else:
        split_node(s, t, t.jobs[i])


cdef void prune(const Setup* s, GrowingTree* t) noexcept nogil:
    """Cost-complexity pruning: a branch stays if its gains exceed `ccp_alpha` for each split."""
    cdef int32_t i
    cdef Node* node
    for i in range(t.m - 1, -1, -1):                # children stand after their parents
        node = t.nodes + i
        node.value = 0.0
        if node.is_split == 2:
            node.value = (node.split.gain - s.ccp_alpha + t.nodes[node.left].value
                          + t.nodes[node.right].value)
            if node.value <= 0:
                node.is_split, node.value = 1, 0.0
    t.n_leaves = 1
    for i in range(t.m):
        node = t.nodes + i
        if i > 0 and t.nodes[node.parent].is_split != 2:
            node.is_split = min(node.is_split, 1)
        t.n_leaves += node.is_split == 2


cdef int list_leaves(GrowingTree* t) noexcept nogil:
    cdef int32_t i
    if t.n_leaves > t.leaf_capacity:
        t.leaf_capacity = 2 * t.n_leaves
        if resize(<void**> &t.leaves, t.leaf_capacity * sizeof(int32_t)) < 0:
            return -1
    t.n_listed = 0
    for i in range(t.m):
        if is_leaf(t, i):
            t.leaves[t.n_listed] = i
            t.n_listed += 1
    return 0


cdef bint is_leaf(GrowingTree* t, int32_t i) noexcept nogil:
    """A node whose split was not needed counts as a leaf; nothing counts below it."""
    return t.nodes[i].is_split != 2 and (i == 0 or t.nodes[t.nodes[i].parent].is_split == 2)


cdef void undo(GrowingTree* t, int32_t number) noexcept nogil:
    """Merge the rows of a node whose split was not needed into ascending order again. Sums are then
    the same whether it was split, which depends on idle threads, or not."""
    cdef Node* node = t.nodes + number
    cdef int32_t* rows = t.rows
    cdef int32_t* scratch = scratch_of(t, node)
    cdef int64_t a = node.start, b, at = 0
    if node.left < 0:
        return
    undo(t, node.left)
    undo(t, node.right)
    b = t.nodes[node.right].start
    while a < t.nodes[node.left].end or b < node.end:
        if b == node.end or (a < t.nodes[node.left].end and rows[a] < rows[b]):
            scratch[at] = rows[a]
            a += 1
        else:
            scratch[at] = rows[b]
            b += 1
        at += 1
    memcpy(rows + node.start, scratch, (node.end - node.start) * sizeof(int32_t))


cdef void set_leaf(const Setup* s, GrowingTree* t, int32_t number) noexcept nogil:
    """Value of a leaf from exact sums; with `update` its rows' predictions too."""
    cdef Node* node = t.nodes + number
    cdef const int32_t* rows = t.rows + node.start
    cdef double* raw = s.raw + t.number * s.n
    cdef Gradient total
    cdef int64_t i
    undo(t, number)
    total = sum_gradients(t.gradients, rows, node.end - node.start, &t.units)
    node.h = total.h if s.weights == NULL else sum_weights(s.weights, rows, node.end - node.start)
    set_value(s, node, total)
    if s.update:
        for i in range(node.end - node.start):
            raw[rows[i]] += node.value


cdef void set_value(const Setup* s, Node* node, Gradient total) noexcept nogil:
    """Value of a leaf from the sums of its rows."""
    cdef double value = 0.0
    if total.h + s.limits.l2 > 0:
        value = min(max(-total.g / (total.h + s.limits.l2), node.lower), node.upper)
    node.value = s.rate * value
    if s.limits.steep == BOTH:        # the loss of a leaf cannot grow up to log(1 + |v|)
        node.value = copysign(min(s.rate * fabs(value), max(ORDINARY, log1p(fabs(value)))), value)
    elif s.limits.steep * value > 0:  # the loss of a leaf is lowest at log(1 + v), never beyond it
        node.value = s.limits.steep * min(s.rate * fabs(value), log1p(fabs(value)))
