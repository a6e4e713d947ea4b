"""The best threshold of a column without sorting a node's rows: by ranges of places.

1. Add up the rows per bucket, a range of places; equal values have one place, so one bucket.
2. Costs of the splits between buckets, as between the blocks of a sweep (`_thresholds`).
3. Only the rows of buckets whose bound is below the lowest known cost are sorted and scanned. Where
   class weights are small integers a closer bound is tried too: the cost is concave in the class
   weights of the left side, so inside a bucket it is lowest where every class stands wholly on one
   side.
The result is that of the sweep over all rows in order. Steps 1 and 2 come first for all columns whose
places were gathered together: the lowest cost of all of them spares most of their rows step 3.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from pellucid.tree._impurity cimport GINI, TIE, add_vector, distance, pairs, vanishes
from pellucid.tree._memory cimport allocate, release
from pellucid.tree._row_order cimport (
    TOGETHER, Sorter, copy_column, find_ends, gather_keys, sort_rows,
)
from pellucid.tree._sweep cimport ROUNDING, Sweep, cost_between
from pellucid.tree._table cimport Node, Split, Table
from pellucid.tree._thresholds cimport scan


cdef inline Py_ssize_t most_buckets(Py_ssize_t rows) noexcept nogil:
    """A column of a node of that many rows has no more."""
    return min(max(rows >> 3, <Py_ssize_t> 8), <Py_ssize_t> MOST_BUCKETS)


cdef int new_ranges(int size, Py_ssize_t most, Buckets* b) noexcept nogil:
    """Memory of ranges of that many buckets; 0 if there is enough."""
    cdef Py_ssize_t each
    cdef Sweep* s
    cdef int k
    most += 1
    each = most * (size + 4)
    b.memory = b.weights = <double*> allocate(TOGETHER * each * sizeof(double))
    for k in range(TOGETHER if b.memory != NULL else 0):
        s = &b.ranges[k].sweep
        b.ranges[k].weights = b.memory + k * each
        s.weights = b.ranges[k].weights + most
        s.left_cost, s.right_cost = s.weights + most, s.weights + 2 * most
        s.sums = s.weights + 3 * most
    return 0 if b.memory != NULL else -1


cdef int new_buckets(const Table* t, Py_ssize_t m, Buckets* b) noexcept nogil:
    """Memory for nodes of up to m rows; 0 if there is enough, or if no bucket is needed."""
    cdef Py_ssize_t most = MOST_BUCKETS if t.columns.binned.bins != NULL else most_buckets(m)
    if t.rules.drawn_splits and t.y.K == 0 and t.y.q == 1:
        b.distances = <double*> allocate(2 * m * sizeof(double))
        if b.distances == NULL:
            return -1
    if t.rows.members == NULL or t.rows.shared:
        return 0
    b.words = <uint64_t*> allocate(m * sizeof(uint64_t))
    b.packed = <uint64_t*> allocate(MOST_BUCKETS * sizeof(uint64_t))
    b.sums = <double*> allocate(MOST_BUCKETS * t.y.size * sizeof(double))
    b.wanted = <uint8_t*> allocate(MOST_BUCKETS)
    b.single = <uint8_t*> allocate(MOST_BUCKETS)
    b.rows = <int32_t*> allocate((m + 1) * sizeof(int32_t))
    b.keys = <int32_t*> allocate((m + 1) * sizeof(int32_t))
    b.dealt = <int32_t*> allocate(m * sizeof(int32_t))
    b.ends = <int32_t*> allocate(MOST_BUCKETS * sizeof(int32_t))
    if (b.words == NULL or b.packed == NULL or b.sums == NULL or b.wanted == NULL
            or b.single == NULL or b.rows == NULL or b.keys == NULL or b.dealt == NULL
            or b.ends == NULL):
        return -1
    return new_ranges(t.y.size, most, b)


cdef void free_buckets(Buckets* b) noexcept nogil:
    release(b.distances)
    release(b.words)
    release(b.packed)
    release(b.sums)
    release(b.memory)
    release(b.wanted)
    release(b.single)
    release(b.rows)
    release(b.keys)
    release(b.dealt)
    release(b.ends)


cdef void gather_words(const Table* t, const Node* node, Buckets* b) noexcept nogil:
    cdef const int32_t* rows = t.rows.members + node.start
    cdef Py_ssize_t i
    cdef uint32_t p
    if b.words_ready:
        return
    for i in range(node.end - node.start):
        p = t.y.packed[rows[i]]
        b.words[i] = <uint64_t> (p >> 2) << ((p & 3) << 4)
    b.words_ready = True


cdef void sum_words(const int32_t* keys, Py_ssize_t m, int32_t low, int shift, int count,
                    Buckets* b) noexcept nogil:
    cdef Py_ssize_t i
    memset(b.packed, 0, count * sizeof(uint64_t))
    for i in range(m):
        b.packed[(keys[i] - low) >> shift] += b.words[i]


cdef void fill_words(const int32_t* keys, Py_ssize_t m, int32_t low, int shift, int K,
                     int count, Buckets* b) noexcept nogil:
    cdef uint64_t word
    cdef int j, k
    sum_words(keys, m, low, shift, count, b)
    for j in range(count):
        word = b.packed[j]
        b.weights[j] = 0.0
        for k in range(K):
            b.sums[j * K + k] = <double> (word >> (16 * k) & 0xFFFF)
            b.weights[j] += b.sums[j * K + k]


cdef void fill_sums(const Table* t, const Node* node, const double* counts, const int32_t* keys,
                    Py_ssize_t m, int32_t low, int shift, int count, Buckets* b) noexcept nogil:
    cdef const int32_t* rows = t.rows.members + node.start
    cdef double w = 1.0, r
    cdef Py_ssize_t i
    cdef int j
    memset(b.sums, 0, count * t.y.size * sizeof(double))
    memset(b.weights, 0, count * sizeof(double))
    for i in range(m):
        j = (keys[i] - low) >> shift
        if t.y.weights != NULL:
            w = t.y.weights[rows[i]]
        b.weights[j] += w
        if t.y.K > 0:
            b.sums[j * t.y.K + t.y.labels[rows[i]]] += w
        elif t.y.q > 1:
            add_vector(t, counts, rows[i], w, b.sums + j * t.y.size)
        else:
            r = distance(t, node, rows[i])
            b.sums[2 * j] += w * r
            b.sums[2 * j + 1] += w * (r * r if t.y.row_cost == NULL else t.y.row_cost[rows[i]])


cdef double cost_buckets(const Table* t, const Node* node, const double* counts, int count,
                         const Buckets* b, Sweep* s) noexcept nogil:
    """Step 2; returns the cost above which no split is of interest."""
    cdef double limit = INFINITY, wl = 0.0
    cdef int j, k
    memset(s.sums, 0, t.y.size * sizeof(double))
    s.weights[0] = 0.0
    cost_between(t, node, counts, s, 0)
    for j in range(count):
        if b.weights[j] == 0.0:                    # no rows: as before
            memcpy(s.sums + (j + 1) * t.y.size, s.sums + j * t.y.size, t.y.size * sizeof(double))
            s.weights[j + 1] = s.weights[j]
            s.left_cost[j + 1], s.right_cost[j + 1] = s.left_cost[j], s.right_cost[j]
            continue
        for k in range(t.y.size):
            s.sums[(j + 1) * t.y.size + k] = s.sums[j * t.y.size + k] + b.sums[j * t.y.size + k]
        wl += b.weights[j]
        s.weights[j + 1] = wl
        cost_between(t, node, counts, s, j + 1)
        if (wl >= t.rules.min_weight and node.weight - wl >= t.rules.min_weight
                and not vanishes(t, counts, s.sums + (j + 1) * t.y.size, wl, node.weight - wl)):
            limit = min(limit, s.left_cost[j + 1] + s.right_cost[j + 1] + TIE * node.cost)
    return limit


cdef double cost_words(const Table* t, const Node* node, const double* counts, int count,
                       Buckets* b, Sweep* s) noexcept nogil:
    """Step 2 for Gini and class weights that fit words: the same numbers, because all of them but the
    quotients are integers. The lowest place is in the first bucket, the highest in the last one."""
    cdef double a0, a1, a2, a3, left, right, limit = INFINITY, tie = TIE * node.cost
    cdef double t0 = counts[0], t1 = counts[1]
    cdef double t2 = counts[2] if t.y.K > 2 else 0.0, t3 = counts[3] if t.y.K > 3 else 0.0
    cdef double wl, wr, W = node.weight, least = t.rules.min_weight
    cdef double* sums = s.sums
    cdef uint64_t word = 0
    cdef int j, K = t.y.K
    s.left_cost[0], s.right_cost[0], s.weights[0] = 0.0, 2.0 * pairs(counts, NULL, K) / W, 0.0
    memset(sums, 0, K * sizeof(double))
    for j in range(1, count + 1):
        sums += K
        b.weights[j - 1] = b.packed[j - 1] != 0
        word += b.packed[j - 1]
        a0, a1 = <double> <int32_t> (word & 0xFFFF), <double> <int32_t> (word >> 16 & 0xFFFF)
        a2, a3 = <double> <int32_t> (word >> 32 & 0xFFFF), <double> <int32_t> (word >> 48)
        sums[0], sums[1] = a0, a1
        if K > 2:
            sums[2] = a2
        if K > 3:
            sums[3] = a3
        wl = a0 + a1 + a2 + a3
        wr = W - wl
        left = 2.0 * (a1 * a0 + a2 * (a0 + a1) + a3 * (a0 + a1 + a2)) / wl
        a0, a1, a2, a3 = t0 - a0, t1 - a1, t2 - a2, t3 - a3
        right = 2.0 * (a1 * a0 + a2 * (a0 + a1) + a3 * (a0 + a1 + a2)) / wr
        s.weights[j], s.left_cost[j], s.right_cost[j] = wl, left, right
        if wl >= least and wr >= least:
            limit = min(limit, left + right + tie)
    s.right_cost[count] = 0.0                      # of no rows
    return limit


cdef void sort_wanted(const Table* t, const Node* node, const Range* r, Buckets* b,
                      Sorter* o) noexcept nogil:
    """The rows of the wanted buckets in the order of their places, into the sorter's rows; bucket j
    ends at ends[j]."""
    cdef const int32_t* rows = t.rows.members + node.start
    cdef Py_ssize_t i, picked = 0
    cdef int32_t total = 0, here, low, high
    cdef int j
    for i in range(node.end - node.start):         # no branches: they would be guessed wrong
        b.rows[picked] = rows[i]
        b.keys[picked] = r.keys[i]
        picked += b.wanted[(r.keys[i] - r.low) >> r.shift]
    memset(b.ends, 0, r.count * sizeof(int32_t))
    for i in range(picked):
        b.ends[(b.keys[i] - r.low) >> r.shift] += 1
    for j in range(r.count):
        here = b.ends[j]
        b.ends[j] = total
        total += here
    for i in range(picked):
        j = (b.keys[i] - r.low) >> r.shift
        b.dealt[b.ends[j]] = b.rows[i]
        r.keys[b.ends[j]] = b.keys[i]
        b.ends[j] += 1
    total = 0
    for j in range(r.count):
        here = b.ends[j] - total
        if here > 0:
            find_ends(r.keys + total, here, &low, &high)
            b.single[j] = low == high
            if low == high:
                memcpy(o.rows + total, b.dealt + total, here * sizeof(int32_t))
            else:
                sort_rows(b.dealt + total, r.keys + total, here, low, high, o, o.rows + total)
        total = b.ends[j]


cdef Py_ssize_t skip_equal(const Table* t, Sweep* s, Py_ssize_t start, Py_ssize_t end,
                           int j) noexcept nogil:
    """Where a scan of bucket j, whose rows have one value, may start: at its last row, with the exact
    sums of integers on its left."""
    cdef double* left = s.sums + j * t.y.K
    cdef uint32_t last = t.y.packed[s.rows[end - 1]]
    memcpy(left, left + t.y.K, t.y.K * sizeof(double))
    left[last & 3] -= <double> (last >> 2)
    return end - 1


cdef bint may_cost_less(const double* low, const double* high, const double* counts, int K,
                        double limit) noexcept nogil:
    """Some choice of classes that stand on the left, `high` of them, while of the others `low` do,
    has a Gini cost below the limit; sums and products of such integers are exact."""
    cdef double wl, wr, pl, pr, l, r
    cdef int corner, k
    for corner in range(1, (1 << K) - 1):          # the ends of the bucket are known
        wl = wr = pl = pr = 0.0
        for k in range(K):
            l = high[k] if corner >> k & 1 else low[k]
            r = counts[k] - l
            pl += l * wl
            pr += r * wr
            wl += l
            wr += r
        if pl * wr + pr * wl < 0.5 * limit * (wl * wr):
            return True
    return False


cdef int32_t scan_buckets(const Table* t, const Node* node, const double* counts, const Range* r,
                          double limit, Buckets* b, Sorter* o, Sweep* s) noexcept nogil:
    """Step 3. Returns the next row above the best split, -1 if that is in another bucket."""
    cdef double margin = ROUNDING * node.cost
    cdef Py_ssize_t start = 0
    cdef int32_t above = -1
    cdef int j, any_wanted = 0
    cdef bint closer = t.y.criterion == GINI and t.y.K <= 4
    cdef bint packed = t.y.criterion == GINI and fits_words(t, node)
    for j in range(r.count):
        b.wanted[j] = (b.weights[j] > 0.0
                       and s.left_cost[j] + s.right_cost[j + 1] < limit + margin
                       and (not closer or may_cost_less(s.sums + j * t.y.K, s.sums + (j + 1) * t.y.K,
                                                        counts, t.y.K, limit + margin)))
        any_wanted += b.wanted[j]
    if not any_wanted:
        return -1
    sort_wanted(t, node, r, b, o)
    s.rows, s.present = o.rows, b.ends[r.count - 1]
    for j in range(r.count):
        if (b.wanted[j]
                and s.left_cost[j] + s.right_cost[j + 1] < min(limit, s.lowest) + margin):
            if b.single[j] and packed:
                start = skip_equal(t, s, start, b.ends[j], j)
            scan(t, node, counts, s, start, b.ends[j], j)
            if s.at > start:
                above = -1 if s.at == b.ends[j] else o.rows[s.at]
        start = b.ends[j]
    return above


cdef void sum_buckets(const Table* t, const Node* node, const double* counts, int f, Buckets* b,
                      Sorter* o, Range* r) noexcept nogil:
    """Step 1 for column f."""
    cdef Py_ssize_t m = node.end - node.start
    cdef int most = <int> most_buckets(m)
    copy_column(t, f)
    if o.block < 0:
        gather_keys(t, node, f, o, &r.low, &r.high)
        r.keys = o.keys
    else:
        r.low, r.high, r.keys = o.low[o.block], o.high[o.block], o.keys + o.block * m
    r.count = 0
    if r.low == r.high:
        return
    r.shift = 0
    while (r.high - r.low) >> r.shift >= most:
        r.shift += 1
    r.count = ((r.high - r.low) >> r.shift) + 1
    b.weights = r.weights
    if not fits_words(t, node):
        fill_sums(t, node, counts, r.keys, m, r.low, r.shift, r.count, b)
        return
    gather_words(t, node, b)
    if t.y.criterion == GINI:
        sum_words(r.keys, m, r.low, r.shift, r.count, b)
    else:
        fill_words(r.keys, m, r.low, r.shift, t.y.K, r.count, b)


cdef double weigh_column(const Table* t, const Node* node, const double* counts, int f,
                         Buckets* b, Sorter* o, double known) noexcept nogil:
    """Steps 1 and 2 for column f, of the block that the sorter has gathered or alone; returns the
    cost above which no split of any column is of interest."""
    cdef Range* r = b.ranges + max(o.block, 0)
    r.limit = INFINITY
    sum_buckets(t, node, counts, f, b, o, r)
    if r.count > 0 and t.y.criterion == GINI and fits_words(t, node):
        r.limit = cost_words(t, node, counts, r.count, b, &r.sweep)
    elif r.count > 0:
        r.limit = cost_buckets(t, node, counts, r.count, b, &r.sweep)
    return min(known, r.limit)


cdef void split_buckets(const Table* t, const Node* node, const double* counts, int f, Buckets* b,
                        Sorter* o, double known, Split* out) noexcept nogil:
    """Best threshold of column f, which has no missing values and is weighed; the lowest one on
    ties."""
    cdef Range* r = b.ranges + max(o.block, 0)
    cdef Sweep* s = &r.sweep
    out.cost, out.feature, out.missing_left = INFINITY, -1, 0
    if r.count == 0:
        return
    s.column, s.first = f, 1
    s.x = t.columns.X + f * t.columns.column_step if t.columns.repeated[f] else NULL
    s.step = t.columns.row_step
    s.lowest, s.cost, s.at = INFINITY, INFINITY, 0
    b.weights = r.weights
    out.above = scan_buckets(t, node, counts, r, min(r.limit, known), b, o, s)
    if s.at > 0:
        out.feature, out.cost, out.below = f, s.cost, o.rows[s.at - 1]
