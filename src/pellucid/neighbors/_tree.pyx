"""Loops of the KD-tree: building it, and searching it with a group of queries.

Invariant: distances, layouts and lists of nearest rows are those of `_loops`, so the tree finds the same
rows with the same bits. The lower bound of a box comes from the same operations on smaller numbers, so it
never exceeds the distance of a row inside.

The tree is complete: node 1 is the root, node i has children 2i and 2i + 1, and node j of level l owns
the positions from j n / 2**l to (j + 1) n / 2**l. `boxes` (nodes, 2, d).
"""

from libc.math cimport INFINITY, NAN, frexp, ldexp
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport free, malloc

from pellucid.neighbors._heaps cimport offer, precedes
from pellucid.neighbors._panels cimport (
    WIDEST, bound_of, box_distance, candidates, choose_wide, halved, panel, squared,
)

cdef enum:
    GROUP = 64  # queries that search together
    SEVERAL = 6  # smallest number of queries in a leaf for which a single-precision copy is faster
    NARROW = 32  # largest number of columns of such a copy


def use_wide(bint wide):
    """Choose the AVX2 build of the inner loops, where the processor has it, or the plain one."""
    return choose_wide(wide)


use_wide(True)


cdef extern from *:
    """
    /* A box (low, high) with another point inside. */
    static inline void widen(const double *restrict x, ptrdiff_t d, double *restrict low,
                             double *restrict high)
    {
        for (ptrdiff_t f = 0; f < d; f++) {
            low[f] = x[f] < low[f] ? x[f] : low[f];
            high[f] = x[f] > high[f] ? x[f] : high[f];
        }
    }
    static inline void fetch_row(const double *x, ptrdiff_t d)
    {
    #if defined(__GNUC__)
        for (ptrdiff_t f = 0; f < d; f += 8) __builtin_prefetch(x + f);
    #endif
    }
    """
    void widen(const double *x, Py_ssize_t d, double *low, double *high) noexcept nogil
    void fetch_row(const double *x, Py_ssize_t d) noexcept nogil

cdef enum:
    AHEAD = 8  # rows of prefetching


cdef struct Key:  # a row and its cell in the column that is halved
    double x
    int32_t row


cdef struct Building:
    const double *X
    Py_ssize_t n, d, depth
    int32_t *order
    double *boxes
    int32_t *least
    Key *keys  # (n,)
    uint64_t state
    const int32_t *stop


cdef inline bint smaller(Key a, Key b) noexcept nogil:
    return a.x < b.x or (a.x == b.x and a.row < b.row)


cdef void select(Key *keys, Py_ssize_t low, Py_ssize_t high, Py_ssize_t middle,
                 uint64_t *state) noexcept nogil:
    """Order keys low..high - 1 so that those before `middle` have the smaller (x, row)."""
    cdef Py_ssize_t i, j
    cdef Key pivot, swapped
    high -= 1
    while low < high:
        state[0] = state[0] * 6364136223846793005ULL + 1442695040888963407ULL
        pivot = keys[low + <Py_ssize_t> ((state[0] >> 33) % <uint64_t> (high - low + 1))]
        i, j = low, high
        while i <= j:
            while smaller(keys[i], pivot):
                i += 1
            while smaller(pivot, keys[j]):
                j -= 1
            if i <= j:
                swapped = keys[i]
                keys[i] = keys[j]
                keys[j] = swapped
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


cdef Py_ssize_t measure(Building *b, Py_ssize_t node, Py_ssize_t low,
                        Py_ssize_t high) noexcept nogil:
    """The box of a node and the first of its rows; returns its widest column."""
    cdef double *box = b.boxes + 2 * b.d * node
    cdef Py_ssize_t f, i, d = b.d, widest = 0
    cdef int32_t least = 2147483647
    for f in range(d):
        box[f], box[d + f] = INFINITY, -INFINITY
    for i in range(low, high):
        if i + AHEAD < high:
            fetch_row(b.X + b.order[i + AHEAD] * d, d)
        least = min(least, b.order[i])
        widen(b.X + b.order[i] * d, d, box, box + d)
    b.least[node] = least
    for f in range(1, d):
        if box[d + f] - box[f] > box[d + widest] - box[widest]:
            widest = f
    return widest


cdef void halve_node(Building *b, Py_ssize_t level, Py_ssize_t j) noexcept nogil:
    """A node and all below it; one branch after the other, because small ones stay in the cache."""
    cdef Py_ssize_t low = (j * b.n) >> level, high = ((j + 1) * b.n) >> level, i
    cdef Py_ssize_t widest = measure(b, (<Py_ssize_t> 1 << level) + j, low, high)
    if level == b.depth or b.stop[0]:
        return
    for i in range(low, high):
        b.keys[i].x, b.keys[i].row = b.X[b.order[i] * b.d + widest], b.order[i]
    select(b.keys, low, high, ((2 * j + 1) * b.n) >> (level + 1), &b.state)
    for i in range(low, high):
        b.order[i] = b.keys[i].row
    halve_node(b, level + 1, 2 * j)
    halve_node(b, level + 1, 2 * j + 1)


def build(const double[:, ::1] X, int depth, int32_t[::1] order, double[:, :, ::1] boxes,
          int32_t[::1] least, const int32_t[::1] stop):
    """Order the rows into a complete tree; each node is halved across its widest column."""
    cdef Building b
    b.X, b.n, b.d, b.depth = &X[0, 0], X.shape[0], X.shape[1], depth
    b.order, b.boxes, b.least = &order[0], &boxes[0, 0, 0], &least[0]
    b.state, b.stop = 1, &stop[0]
    b.keys = <Key *> malloc(b.n * sizeof(Key))
    if b.keys == NULL:
        raise MemoryError
    with nogil:
        halve_node(&b, 0, 0)
    free(b.keys)


# Searching ---------------------------------------------------------------------------------------

cdef struct Walk:
    int metric
    double p
    const double *packed
    const int32_t *order
    const double *boxes
    const int32_t *least
    int depth
    Py_ssize_t n, d, k, measured
    const double *Q
    double *near
    int32_t *rows
    float *copy  # NARROW x WIDEST cells, for the copy of a leaf


def search(int metric, double p, const double[:, ::1] Q, const double[:, ::1] packed,
           const int32_t[::1] order, const double[:, :, ::1] boxes, const int32_t[::1] least,
           int depth, Py_ssize_t group, double[:, ::1] near, int32_t[:, ::1] rows,
           const int32_t[::1] stop):
    """Search the tree with `group` (at most 64) queries at a time, skipping boxes that are too far.

    Queries of a group should lie near each other. Returns the number of rows in the visited leaves,
    summed over the queries.
    """
    cdef Walk walk
    cdef float copy[NARROW * WIDEST]
    cdef int32_t active[GROUP]
    cdef double bounds[GROUP]
    cdef Py_ssize_t j, many, i = 0, m = Q.shape[0]
    walk.metric, walk.p, walk.depth, walk.copy, walk.measured = metric, p, depth, copy, 0
    walk.n, walk.d, walk.k = packed.shape[0], packed.shape[1], near.shape[1]
    walk.packed, walk.order, walk.boxes = &packed[0, 0], &order[0], &boxes[0, 0, 0]
    walk.least = &least[0]
    group = max(1, min(group, GROUP))
    with nogil:
        while i < m and not stop[0]:
            many = min(group, m - i)
            walk.Q, walk.near, walk.rows = &Q[i, 0], &near[i, 0], &rows[i, 0]
            for j in range(many):
                active[j], bounds[j] = <int32_t> j, 0.0
            visit(&walk, 1, active, bounds, many)
            i += many
    return walk.measured


cdef void visit(Walk *walk, Py_ssize_t node, const int32_t *active, const double *bounds,
                Py_ssize_t many) noexcept nogil:
    """Offer the rows of a node to the queries whose lower bounds do not exclude it."""
    cdef int32_t own[GROUP]
    cdef double left[GROUP]
    cdef double right[GROUP]
    cdef Py_ssize_t j, at, d = walk.d, some = 0, nearer = 0, child = 2 * node
    for j in range(many):
        at = active[j] * walk.k
        if precedes(bounds[j], walk.least[node], walk.near[at], walk.rows[at]):
            own[some] = active[j]
            some += 1
    if some == 0:
        return
    if node >= <Py_ssize_t> 1 << walk.depth:
        leaf(walk, node, own, some)
        return
    for j in range(some):
        left[j] = box_distance(walk.metric, walk.p, walk.Q + own[j] * d,
                               walk.boxes + child * 2 * d, d)
        right[j] = box_distance(walk.metric, walk.p, walk.Q + own[j] * d,
                                walk.boxes + (child + 1) * 2 * d, d)
        nearer += 1 if left[j] <= right[j] else -1
    if nearer >= 0:
        visit(walk, child, own, left, some)
        visit(walk, child + 1, own, right, some)
    else:
        visit(walk, child + 1, own, right, some)
        visit(walk, child, own, left, some)


cdef void leaf(Walk *walk, Py_ssize_t node, const int32_t *own, Py_ssize_t many) noexcept nogil:
    """Offer the rows of a leaf; with several queries, only those that single-precision scores do not
    exclude.
    """
    cdef double out[WIDEST]
    cdef Py_ssize_t j, t, at, d = walk.d, leaves = <Py_ssize_t> 1 << walk.depth
    cdef Py_ssize_t low = ((node - leaves) * walk.n) >> walk.depth
    cdef Py_ssize_t m = (((node - leaves + 1) * walk.n) >> walk.depth) - low
    cdef const double *box = walk.boxes + 2 * d * node
    cdef const double *rows = walk.packed + low * d
    cdef double longest = 0.0, factor = 0.0
    walk.measured += m * many
    if walk.metric == 0 and many >= SEVERAL and d < NARROW:
        factor = unit_of(box, d)
        longest = halved(rows, box, factor, d, m, walk.copy)
    for j in range(many):
        at = own[j] * walk.k
        if factor > 0.0 and walk.near[at] < INFINITY:
            screened(walk, own[j], low, m, box, factor, longest)
            continue
        panel(walk.metric, walk.p, NULL, walk.Q + own[j] * d, rows, d, m, walk.near[at], out)
        for t in range(m):
            if out[t] <= walk.near[at]:
                offer(walk.near + at, walk.rows + at, walk.k, out[t], walk.order[low + t])


cdef double unit_of(const double *box, Py_ssize_t d) noexcept nogil:
    """The power of two that scales the widest side of a box to between 1/2 and 1; 1 for a point."""
    cdef double widest = 0.0
    cdef Py_ssize_t f
    cdef int power = 0
    for f in range(d):
        widest = max(widest, box[d + f] - box[f])
    frexp(widest, &power)
    return ldexp(1.0, -power)


cdef void screened(Walk *walk, Py_ssize_t query, Py_ssize_t low, Py_ssize_t m, const double *origin,
                   double factor, double longest) noexcept nogil:
    """Offer the rows of a leaf for which |x|**2 / 2 - q x, from the copy, is small enough.

    An error bound that holds for any order of summation makes the exclusion safe; if the squared
    length of the query is too large for single precision, every row is offered.
    """
    cdef float q[NARROW]
    cdef int found[WIDEST]
    cdef double moved, length = 0.0, error
    cdef float bound
    cdef Py_ssize_t f, t, d = walk.d, at = query * walk.k
    cdef const double *rows = walk.packed + low * d
    for f in range(d):
        moved = (walk.Q[query * d + f] - origin[f]) * factor
        q[f] = <float> moved
        length += 0.5 * moved * moved
    error = 1.5 * (d + 8) * 2.0**-24 * (length + 2.0 * longest) + 2.0**-120
    bound = bound_of(walk.near[at], factor * factor, length, error)
    if not length < 2.0**100:
        bound = NAN
    for t in range(candidates(q, walk.copy, d, m, bound, found)):
        offer(walk.near + at, walk.rows + at, walk.k,
              squared(walk.Q + query * d, rows + found[t], d, m), walk.order[low + found[t]])


def homes(int metric, double p, const double[:, ::1] Q, const double[:, :, ::1] boxes, int depth,
          int32_t[::1] out):
    """The leaf that each query reaches if it always goes to the nearer box."""
    cdef Py_ssize_t i, node, leaves = <Py_ssize_t> 1 << depth, d = Q.shape[1]
    with nogil:
        for i in range(Q.shape[0]):
            node = 1
            while node < leaves:
                node *= 2
                if (box_distance(metric, p, &Q[i, 0], &boxes[node + 1, 0, 0], d)
                        < box_distance(metric, p, &Q[i, 0], &boxes[node, 0, 0], d)):
                    node += 1
            out[i] = <int32_t> (node - leaves)
