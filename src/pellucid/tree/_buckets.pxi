# The best threshold of a column without sorting a node's rows: by ranges of places.
#
# 1. Add up the rows per bucket, a range of places; equal values have one place, so one bucket.
# 2. Costs of the divisions between buckets, as between the blocks of a sweep (`_scan.pxi`).
# 3. Only the rows of buckets whose bound is below what is known are sorted and looked at. Where class
#    weights are small integers a closer bound is tried too: the cost is concave in the class weights
#    of the left side, so inside a bucket it is lowest where every class stands wholly on one side.
# The result is that of the sweep over all rows in order.

cdef enum:
    MOST_BUCKETS = 256


cdef struct Buckets:            # memory of one thread
    uint64_t* words             # (m,) class weights of the node's rows, 16 bits for each of 4 classes
    uint64_t* packed            # (MOST_BUCKETS,) sums of them
    double* sums                # (MOST_BUCKETS, size)
    double* weights             # (MOST_BUCKETS,)
    uint8_t* wanted             # (MOST_BUCKETS,) 1: look at its rows
    int32_t* rows               # (m,) rows of these, and their places
    int32_t* keys
    int32_t* dealt              # (m,) the same rows by bucket
    int32_t* ends               # (MOST_BUCKETS,) where they end
    bint words_ready            # the words are those of the node


cdef struct Range:              # of places, in buckets
    int32_t* keys               # (m,) of the node's rows
    int32_t low, high
    int shift, count


cdef inline bint fits_words(const Table* t, const Record* node) noexcept nogil:
    return t.packed != NULL and node.weight < 65536.0


cdef void gather_words(const Table* t, const Record* node, Buckets* b) noexcept nogil:
    cdef const int32_t* rows = t.members + node.start
    cdef Py_ssize_t i
    cdef uint32_t p
    if b.words_ready:
        return
    for i in range(node.end - node.start):
        p = t.packed[rows[i]]
        b.words[i] = <uint64_t> (p >> 2) << ((p & 3) << 4)
    b.words_ready = True


cdef void fill_words(const int32_t* keys, Py_ssize_t m, int32_t low, int shift, int K,
                     int count, Buckets* b) noexcept nogil:
    cdef uint64_t word
    cdef Py_ssize_t i
    cdef int j, k
    memset(b.packed, 0, count * sizeof(uint64_t))
    for i in range(m):
        b.packed[(keys[i] - low) >> shift] += b.words[i]
    for j in range(count):
        word = b.packed[j]
        b.weights[j] = 0.0
        for k in range(K):
            b.sums[j * K + k] = <double> (word >> (16 * k) & 0xFFFF)
            b.weights[j] += b.sums[j * K + k]


cdef void fill_sums(const Table* t, const Record* node, const double* counts, const int32_t* keys,
                    Py_ssize_t m, int32_t low, int shift, int count, Buckets* b) noexcept nogil:
    cdef const int32_t* rows = t.members + node.start
    cdef double w = 1.0, r
    cdef Py_ssize_t i
    cdef int j
    memset(b.sums, 0, count * t.size * sizeof(double))
    memset(b.weights, 0, count * sizeof(double))
    for i in range(m):
        j = (keys[i] - low) >> shift
        if t.weights != NULL:
            w = t.weights[rows[i]]
        b.weights[j] += w
        if t.K > 0:
            b.sums[j * t.K + t.labels[rows[i]]] += w
        elif t.q > 1:
            add_vector(t, counts, rows[i], w, b.sums + j * t.size)
        else:
            r = distance(t, node, rows[i])
            b.sums[2 * j] += w * r
            b.sums[2 * j + 1] += w * (r * r if t.bent == NULL else t.bent[rows[i]])


cdef double cost_buckets(const Table* t, const Record* node, const double* counts, int count,
                         const Buckets* b, Sweep* s) noexcept nogil:
    """Step 2; returns the cost above which no division is of interest."""
    cdef double limit = s.known, wl = 0.0
    cdef int j, k
    memset(s.sums, 0, t.size * sizeof(double))
    s.weights[0] = 0.0
    cost_between(t, node, counts, s, 0)
    for j in range(count):
        if b.weights[j] == 0.0:                    # no rows: as before
            memcpy(s.sums + (j + 1) * t.size, s.sums + j * t.size, t.size * sizeof(double))
            s.weights[j + 1] = s.weights[j]
            s.left_cost[j + 1], s.right_cost[j + 1] = s.left_cost[j], s.right_cost[j]
            continue
        for k in range(t.size):
            s.sums[(j + 1) * t.size + k] = s.sums[j * t.size + k] + b.sums[j * t.size + k]
        wl += b.weights[j]
        s.weights[j + 1] = wl
        cost_between(t, node, counts, s, j + 1)
        if (wl >= t.min_weight and node.weight - wl >= t.min_weight
                and not vanishes(t, counts, s.sums + (j + 1) * t.size, wl, node.weight - wl)):
            limit = min(limit, s.left_cost[j + 1] + s.right_cost[j + 1] + TIE * node.cost)
    return limit


cdef void sort_wanted(const Table* t, const Record* node, const Range* r, Buckets* b,
                      Sorter* o) noexcept nogil:
    """The rows of the wanted buckets in the order of their places, into the sorter's rows; bucket j
    ends at ends[j]."""
    cdef const int32_t* rows = t.members + node.start
    cdef Py_ssize_t i, picked = 0
    cdef int32_t total = 0, here
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
        if here > 1:
            sort_rows(b.dealt + total, r.keys + total, here, r.low, r.high, o, o.rows + total)
        elif here:
            o.rows[total] = b.dealt[total]
        total = b.ends[j]


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


cdef int32_t scan_buckets(const Table* t, const Record* node, const double* counts, const Range* r,
                          double limit, Buckets* b, Sorter* o, Sweep* s) noexcept nogil:
    """Step 3. Returns the next row above the best division, -1 if that is in another bucket."""
    cdef double margin = ROUNDING * node.cost
    cdef Py_ssize_t start = 0
    cdef int32_t above = -1
    cdef int j, any_wanted = 0
    cdef bint closer = t.criterion == GINI and t.K <= 4
    for j in range(r.count):
        b.wanted[j] = (b.weights[j] > 0.0
                       and s.left_cost[j] + s.right_cost[j + 1] < limit + margin
                       and (not closer or may_cost_less(
                           s.sums + j * t.K, s.sums + (j + 1) * t.K, counts, t.K, limit + margin)))
        any_wanted += b.wanted[j]
    if not any_wanted:
        return -1
    sort_wanted(t, node, r, b, o)
    s.rows, s.present = o.rows, b.ends[r.count - 1]
    for j in range(r.count):
        if (b.wanted[j]
                and s.left_cost[j] + s.right_cost[j + 1] < min(limit, s.lowest) + margin):
            scan(t, node, counts, s, start, b.ends[j], j)
            if s.at > start:
                above = -1 if s.at == b.ends[j] else o.rows[s.at]
        start = b.ends[j]
    return above


cdef bint sum_buckets(const Table* t, const Record* node, const double* counts, int f, Buckets* b,
                      Sorter* o, Range* r) noexcept nogil:
    """Step 1 for column f; False if it has one value only."""
    cdef Py_ssize_t m = node.end - node.start
    cdef int most = <int> min(max(m >> 3, <Py_ssize_t> 8), <Py_ssize_t> MOST_BUCKETS)
    look_at(t, f)
    if o.block < 0:
        gather_keys(t, node, f, o, &r.low, &r.high)
        r.keys = o.keys
    else:
        r.low, r.high, r.keys = o.low[o.block], o.high[o.block], o.keys + o.block * m
    if r.low == r.high:
        return False
    r.shift = 0
    while (r.high - r.low) >> r.shift >= most:
        r.shift += 1
    r.count = ((r.high - r.low) >> r.shift) + 1
    if fits_words(t, node):
        gather_words(t, node, b)
        fill_words(r.keys, m, r.low, r.shift, t.K, r.count, b)
    else:
        fill_sums(t, node, counts, r.keys, m, r.low, r.shift, r.count, b)
    return True


cdef void split_buckets(const Table* t, const Record* node, const double* counts, int f, Buckets* b,
                        Sorter* o, Sweep* memory, double known, Split* out) noexcept nogil:
    """Best threshold of column f, which has no missing values; the lowest one on ties."""
    cdef Sweep s = memory[0]
    cdef Range r
    cdef double limit
    out.cost, out.feature, out.missing_left = INFINITY, -1, 0
    if not sum_buckets(t, node, counts, f, b, o, &r):
        return
    s.column, s.known, s.first = f, known, 1
    s.x, s.step = (t.X + f * t.column_step if t.repeated[f] else NULL), t.row_step
    s.lowest, s.cost, s.at = INFINITY, INFINITY, 0
    limit = cost_buckets(t, node, counts, r.count, b, &s)
    out.above = scan_buckets(t, node, counts, &r, limit, b, o, &s)
    if s.at > 0:
        out.feature, out.cost, out.below = f, s.cost, o.rows[s.at - 1]


cdef int32_t next_row(const Table* t, const Record* node, int f, int32_t below) noexcept nogil:
    """A row of the node at the lowest place behind that of row `below`."""
    cdef const int32_t* members = t.members + node.start
    cdef const int32_t* places = t.places + f
    cdef Py_ssize_t i, d = t.d
    cdef int32_t place = places[below * d], best = 0x7FFFFFFF, row = -1, here
    for i in range(node.end - node.start):
        here = places[members[i] * d]
        if place < here < best:
            best, row = here, members[i]
    return row
