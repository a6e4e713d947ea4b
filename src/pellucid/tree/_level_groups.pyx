"""The levels of a categorical column in a node as groups of rows, and their order.

The missing rows of the node are one more group, the last one. With two classes, or a numerical
target, the groups are ordered by proportion or mean; with more classes, or several targets, along the
first principal component of their class proportions, or means.
"""

from libc.math cimport fabs, isnan
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from pellucid.tree._impurity cimport ABSOLUTE
from pellucid.tree._memory cimport allocate, release
from pellucid.tree._table cimport Node, Table
from pellucid.tree._thresholds cimport weigh_rows


cdef int new_levels(const Table* t, Py_ssize_t groups, Levels* v) noexcept nogil:
    """Memory for nodes of up to that many groups; 0 if there is enough."""
    v.groups = <Group*> allocate(groups * sizeof(Group))
    v.ordered = <Group*> allocate(groups * sizeof(Group))
    v.sums = <double*> allocate(groups * t.y.size * sizeof(double))
    v.left = <double*> allocate(t.y.size * sizeof(double))
    v.axis = <double*> allocate(t.y.size * sizeof(double))
    v.side = <uint8_t*> allocate(groups)
    return 0 if (v.groups != NULL and v.ordered != NULL and v.sums != NULL and v.left != NULL
                 and v.axis != NULL and v.side != NULL) else -1


cdef void free_levels(Levels* v) noexcept nogil:
    release(v.groups)
    release(v.ordered)
    release(v.sums)
    release(v.left)
    release(v.axis)
    release(v.side)


cdef int by_key(const void* a, const void* b) noexcept nogil:
    cdef const Group* p = <const Group*> a
    cdef const Group* q = <const Group*> b
    if p.key != q.key:
        return -1 if p.key < q.key else 1
    return -1 if p.number < q.number else 1


cdef int gather_groups(const Table* t, const Node* node, const double* counts, int f,
                       const int32_t* rows, Levels* v) noexcept nogil:
    """Runs of equal codes in the sorted rows, with their weights and class weights."""
    cdef const double* x = t.columns.X + f * t.columns.column_step
    cdef Py_ssize_t m = node.end - node.start, i = 0, j, size = t.y.size, step = t.columns.row_step
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


cdef inline double departure(const Table* t, const Node* node, const double* counts, const Levels* v,
                             int i, int k) noexcept nogil:
    """Of a group from its node: in the share of class k, or in the mean of target k."""
    if t.y.q > 1:
        return v.sums[i * t.y.size + k] / v.groups[i].weight
    return v.sums[i * t.y.size + k] / v.groups[i].weight - counts[k] / node.weight


cdef void principal_keys(const Table* t, const Node* node, const double* counts, int g,
                         Levels* v) noexcept nogil:
    """Order groups along the first principal component of their class proportions, or means.

    1. Start at the departure of the group farthest from the node, by weight.
    2. Power steps: axis <- sum_g w_g departure_g <departure_g, axis>, normalised.
    3. The key is the group's projection.
    """
    cdef double* axis = v.axis
    cdef double* following = v.left
    cdef double distance, farthest = -1.0, dot, norm, p
    cdef int i, k, step, K = max(t.y.K, t.y.q)
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


cdef void assign_keys(const Table* t, const Node* node, const double* counts, int g,
                      Levels* v) noexcept nogil:
    cdef int k, i, present = 0, last = 0
    for k in range(t.y.K):
        if counts[k] > 0.0:
            present += 1
            last = k
    if present > 2 or t.y.q > 1:
        principal_keys(t, node, counts, g, v)
        return
    for i in range(g):
        v.groups[i].key = v.sums[i * t.y.size + last] / v.groups[i].weight


cdef void order_groups(const Table* t, const Node* node, const double* counts, int g,
                       Levels* v) noexcept nogil:
    """Groups by their keys; for absolute errors these are known already."""
    if t.y.criterion != ABSOLUTE:
        assign_keys(t, node, counts, g, v)
    memcpy(v.ordered, v.groups, g * sizeof(Group))
    qsort(v.ordered, g, sizeof(Group), by_key)


cdef bint side_of_largest(int g, const Levels* v) noexcept nogil:
    """Where the group of most weight goes, the first of several."""
    cdef int i, most = 0
    for i in range(g):
        if v.groups[i].weight > v.groups[most].weight:
            most = i
    return v.side[most]
