# The sweep over the sorted rows of a numerical column: its best threshold.
#
# A sweep first adds up blocks of rows and costs the divisions between blocks. All these impurities
# are concave, so a side's cost never falls when rows join it: inside a block the left side costs at
# least what it costs at the block's start, the right side what it costs at its end. Only blocks
# where the sum of the two beats what is known are looked at row by row. The result is that of the
# plain sweep over all rows.

cdef enum:
    ONE_BLOCK = 48              # rows up to which blocks do not pay
    LONGEST_BLOCK = 128         # 256 packed weights of at most 255 fit into 16 bits

cdef double ROUNDING = 1e-9     # of the parent's cost: a bound must be worse by this to count


cdef struct Sweep:
    const int32_t* rows         # rows of the node in the order of the column, missing ones last
    const double* x             # the column, or NULL if no value occurs twice
    Py_ssize_t step             # from one row of it to the next
    double* sums                # (blocks + 1, size) class weights, or sums of w r and w r^2, on the
                                # left of each block; r = target - mean of the node
    double* weights             # (blocks + 1,) weight on the left of each block
    double* left_cost           # (blocks + 1,)
    double* right_cost          # (blocks + 1,)
    int column
    Py_ssize_t present          # rows that are not missing
    Py_ssize_t first, last      # allowed numbers of present rows on the left
    double known                # other columns reach this cost: nothing above it is of interest
    double lowest               # cost of the best division
    double cost                 # of the first division tied with it
    Py_ssize_t at               # number of present rows on its left, 0 if there is none


cdef inline Py_ssize_t block_step(Py_ssize_t rows) noexcept nogil:
    """Rows per block: one block for very small nodes, long blocks for large ones."""
    return rows if rows <= ONE_BLOCK else min(max(rows >> 4, 16), LONGEST_BLOCK)


cdef inline Py_ssize_t most_blocks(Py_ssize_t rows) noexcept nogil:
    """No node of up to that many rows has more blocks."""
    return 64 + rows // LONGEST_BLOCK


cdef double weigh_rows(const Table* t, const Record* node, const double* counts, const int32_t* rows,
                       Py_ssize_t first, Py_ssize_t last, double* sums) noexcept nogil:
    """Add the rows [first, last) to the sums; returns their weight."""
    cdef double total = 0.0, w, r
    cdef Py_ssize_t i
    if t.q > 1:
        return weigh_vectors(t, counts, rows, first, last, sums)
    for i in range(first, last):
        w = 1.0 if t.weights == NULL else t.weights[rows[i]]
        if t.K > 0:
            sums[t.labels[rows[i]]] += w
        else:
            r = distance(t, node, rows[i])
            sums[0] += w * r
            sums[1] += w * (r * r if t.bent == NULL else t.bent[rows[i]])
        total += w
    return total


cdef double weigh_block(const Table* t, const Record* node, const double* counts, const int32_t* rows,
                        Py_ssize_t m, double* sums) noexcept nogil:
    """Add up to LONGEST_BLOCK rows to the sums; returns their weight."""
    cdef uint64_t packed = 0
    cdef uint32_t p
    cdef double total = 0.0
    cdef Py_ssize_t i
    cdef int k
    if t.packed == NULL:
        return weigh_rows(t, node, counts, rows, 0, m, sums)
    for i in range(m):                             # four sums of 16 bits in one word
        p = t.packed[rows[i]]
        packed += <uint64_t> (p >> 2) << ((p & 3) << 4)
    for k in range(t.K):
        sums[k] += <double> (packed >> (16 * k) & 0xFFFF)
        total += <double> (packed >> (16 * k) & 0xFFFF)
    return total


cdef inline bint same_value(const Sweep* s, Py_ssize_t i) noexcept nogil:
    """No threshold fits behind row i: the next present row has the same value."""
    return (s.x != NULL and i + 1 < s.present
            and s.x[s.rows[i + 1] * s.step] == s.x[s.rows[i] * s.step])


cdef inline void found(const Record* node, Sweep* s, Py_ssize_t at, double cost) noexcept nogil:
    """A division that costs less than all before; an earlier one that is tied with it stays."""
    if s.cost > cost + TIE * node.cost:
        s.at, s.cost = at, cost
    s.lowest = cost


cdef void scan_packed(const Table* t, const Record* node, const double* counts, Sweep* s,
                      Py_ssize_t start, Py_ssize_t stop, const double* left) noexcept nogil:
    """Gini of up to four classes with integer weights below 2^16 in all: integers in registers.

    Four counts share one word; p = sum_{i<j} c_i c_j of each side follows from row to row, and
    cost < lowest is tested as (pl wr + pr wl) < lowest/2 wl wr, all but the last product exact.
    """
    cdef uint64_t sums = 0, totals = 0, v
    cdef int64_t wl = 0, wr = 0, w, c, p, pl, pr
    cdef double bar = 0.5 * s.lowest
    cdef Py_ssize_t i
    cdef int k, place
    for k in range(t.K):
        sums |= <uint64_t> left[k] << (16 * k)
        totals |= <uint64_t> counts[k] << (16 * k)
        wl += <int64_t> left[k]
        wr += <int64_t> (counts[k] - left[k])
    pl, pr = <int64_t> pairs(left, NULL, t.K), <int64_t> pairs(counts, left, t.K)
    for i in range(start, stop):
        v = t.packed[s.rows[i]]
        place = (v & 3) << 4
        w = <int64_t> (v >> 2)
        c = <int64_t> (sums >> place & 0xFFFF)
        p = <int64_t> (totals >> place & 0xFFFF)
        pl += w * (wl - c)
        pr -= w * (wr - (p - c))
        sums += <uint64_t> w << place
        wl += w
        wr -= w
        if (<double> (pl * wr + pr * wl) < bar * <double> (wl * wr) and wl >= t.min_weight
                and wr >= t.min_weight and i + 1 >= s.first and not same_value(s, i)):
            bar = <double> (pl * wr + pr * wl) / <double> (wl * wr)
            found(node, s, i + 1, 2.0 * bar)


cdef void scan_gini(const Table* t, const Record* node, const double* counts, Sweep* s,
                    Py_ssize_t start, Py_ssize_t stop, double* left, double wl) noexcept nogil:
    """The same for any number of classes and any weights."""
    cdef const int32_t* rows = s.rows
    cdef const int32_t* labels = t.labels
    cdef const double* weights = t.weights
    cdef double wr, w = 1.0, W = node.weight, both, c_left
    cdef double pl = pairs(left, NULL, t.K), pr = pairs(counts, left, t.K)
    cdef double bar = 0.5 * s.lowest, minimum = t.min_weight
    cdef Py_ssize_t i
    cdef int32_t c
    for i in range(start, stop):
        c = labels[rows[i]]
        if weights != NULL:
            w = weights[rows[i]]
        c_left = left[c]
        pl += w * (wl - c_left)
        pr -= w * ((W - wl) - (counts[c] - c_left))
        left[c] = c_left + w
        wl += w
        wr = W - wl
        both = wl * wr
        if (pl * wr + pr * wl < bar * both and wl >= minimum and wr >= minimum
                and i + 1 >= s.first and not same_value(s, i)):
            bar = (pl * wr + max(pr, 0.0) * wl) / both
            found(node, s, i + 1, 2.0 * bar)


cdef void scan_classes(const Table* t, const Record* node, const double* counts, Sweep* s,
                       Py_ssize_t start, Py_ssize_t stop, double* left, double wl) noexcept nogil:
    """Any cost of class weights, computed anew at every value."""
    cdef double w, cost
    cdef Py_ssize_t i
    for i in range(start, stop):
        w = 1.0 if t.weights == NULL else t.weights[s.rows[i]]
        left[t.labels[s.rows[i]]] += w
        wl += w
        if (wl < t.min_weight or node.weight - wl < t.min_weight or i + 1 < s.first
                or same_value(s, i)):
            continue
        cost = division_cost(t, node, counts, left, wl)
        if cost < s.lowest:
            found(node, s, i + 1, cost)


cdef void scan_squares(const Table* t, const Record* node, Sweep* s, Py_ssize_t start,
                       Py_ssize_t stop, double sl, double wl) noexcept nogil:
    """Largest decrease sl^2 W / (wl wr), with sl the sum of w (t - mean) on the left."""
    cdef double wr, w = 1.0, W = node.weight, bar = (node.cost - s.lowest) / W
    cdef Py_ssize_t i
    for i in range(start, stop):
        if t.weights != NULL:
            w = t.weights[s.rows[i]]
        sl += w * (t.target[s.rows[i]] - node.mean)
        wl += w
        wr = W - wl
        if (sl * sl > bar * (wl * wr) and wl >= t.min_weight and wr >= t.min_weight
                and i + 1 >= s.first and not same_value(s, i)):
            bar = sl * sl / (wl * wr)
            found(node, s, i + 1, node.cost - bar * W)


cdef void scan_deviances(const Table* t, const Record* node, Sweep* s, Py_ssize_t start,
                         Py_ssize_t stop, double sum, double wl) noexcept nogil:
    """The same for half-deviances."""
    cdef double w = 1.0, cost
    cdef Py_ssize_t i
    for i in range(start, stop):
        if t.weights != NULL:
            w = t.weights[s.rows[i]]
        sum += w * distance(t, node, s.rows[i])
        wl += w
        if (wl < t.min_weight or node.weight - wl < t.min_weight or i + 1 < s.first
                or same_value(s, i)):
            continue
        cost = division_cost(t, node, NULL, &sum, wl)
        if cost < s.lowest:
            found(node, s, i + 1, cost)


cdef void scan_checked(const Table* t, const Record* node, const double* counts, Sweep* s,
                       double* left, double wl) noexcept nogil:
    """All rows, any cost: divisions must keep the monotone constraints."""
    cdef double w = 1.0, cost
    cdef Py_ssize_t i
    for i in range(s.last):
        if t.weights != NULL:
            w = t.weights[s.rows[i]]
        if t.K > 0:
            left[t.labels[s.rows[i]]] += w
        else:
            left[0] += w * distance(t, node, s.rows[i])
        wl += w
        if (wl < t.min_weight or node.weight - wl < t.min_weight or i + 1 < s.first
                or same_value(s, i) or not keeps_order(t, node, counts, s.column, left, wl)):
            continue
        cost = division_cost(t, node, counts, left, wl)
        if cost < s.lowest:
            found(node, s, i + 1, cost)


cdef inline void cost_between(const Table* t, const Record* node, const double* counts, Sweep* s,
                              Py_ssize_t b) noexcept nogil:
    """Costs of the two sides of the division in front of block b."""
    cdef const double* sums = s.sums + b * t.size
    cdef double wl = s.weights[b], wr = node.weight - wl
    s.left_cost[b] = s.right_cost[b] = 0.0
    if t.criterion == SQUARED:
        if wl > 0.0:
            s.left_cost[b] = sums[1] - sums[0] * sums[0] / wl
        if wr > 0.0:
            s.right_cost[b] = (node.cost - sums[1]) - sums[0] * sums[0] / wr
    elif t.q > 1:
        if wl > 0.0:
            s.left_cost[b] = sums[t.q] - spread_of(t, counts, sums, wl)
        if wr > 0.0:
            s.right_cost[b] = (node.cost - sums[t.q]) - spread_of(t, counts, sums, -wr)
    elif t.K == 0:
        if wl > 0.0:
            s.left_cost[b] = sums[1] - node.size * wl * bend(t.criterion, sums[0] / wl)
        if wr > 0.0:
            s.right_cost[b] = (node.cost - sums[1]
                               - node.size * wr * bend(t.criterion, -sums[0] / wr))
    else:
        if wl > 0.0:
            s.left_cost[b] = class_cost(t, sums, NULL, wl)
        if wr > 0.0:
            s.right_cost[b] = class_cost(t, counts, sums, wr)


cdef double sum_blocks(const Table* t, const Record* node, const double* counts, Sweep* s,
                       Py_ssize_t step) noexcept nogil:
    """Fill sums and costs; returns the cost above which no division is of interest."""
    cdef Py_ssize_t start = 0, stop, b = 0
    cdef double limit = s.known, wl
    cost_between(t, node, counts, s, 0)
    while start < s.last:
        stop = min(start + step, s.last)
        memcpy(s.sums + (b + 1) * t.size, s.sums + b * t.size, t.size * sizeof(double))
        s.weights[b + 1] = s.weights[b] + weigh_block(
            t, node, counts, s.rows + start, stop - start, s.sums + (b + 1) * t.size)
        b += 1
        cost_between(t, node, counts, s, b)
        wl = s.weights[b]
        if (stop >= s.first and wl >= t.min_weight and node.weight - wl >= t.min_weight
                and not same_value(s, stop - 1)
                and not vanishes(t, counts, s.sums + b * t.size, wl, node.weight - wl)):
            limit = min(limit, s.left_cost[b] + s.right_cost[b] + TIE * node.cost)
        start = stop
    return limit


cdef inline void scan(const Table* t, const Record* node, const double* counts, Sweep* s,
                      Py_ssize_t start, Py_ssize_t stop, Py_ssize_t b) noexcept nogil:
    """Row by row through block b."""
    cdef double* sums = s.sums + b * t.size        # not needed again
    if t.criterion == SQUARED:
        scan_squares(t, node, s, start, stop, sums[0], s.weights[b])
    elif t.criterion == VECTORS:
        scan_vectors(t, node, counts, s, start, stop, sums, s.weights[b])
    elif t.q > 1:
        scan_vector_deviances(t, node, counts, s, start, stop, sums, s.weights[b])
    elif t.K == 0:
        scan_deviances(t, node, s, start, stop, sums[0], s.weights[b])
    elif t.criterion != GINI:
        scan_classes(t, node, counts, s, start, stop, sums, s.weights[b])
    elif t.packed != NULL and node.weight < 65536.0:
        scan_packed(t, node, counts, s, start, stop, sums)
    else:
        scan_gini(t, node, counts, s, start, stop, sums, s.weights[b])


cdef void sweep_blocks(const Table* t, const Record* node, const double* counts,
                       Sweep* s) noexcept nogil:
    """1. Sums and costs between blocks. 2. Row by row where a bound is below what is known."""
    cdef Py_ssize_t start = 0, stop, b = 0, step = block_step(s.last)
    cdef double margin = ROUNDING * node.cost, limit
    s.lowest, s.cost, s.at = INFINITY, INFINITY, 0
    if t.signs != NULL:
        scan_checked(t, node, counts, s, s.sums, s.weights[0])
        return
    if step >= s.last:
        scan(t, node, counts, s, 0, s.last, 0)
        return
    limit = sum_blocks(t, node, counts, s, step)
    while start < s.last:
        stop = min(start + step, s.last)
        if (stop >= s.first
                and s.left_cost[b] + s.right_cost[b + 1] < min(limit, s.lowest) + margin):
            scan(t, node, counts, s, start, stop, b)
        start, b = stop, b + 1


cdef inline double midpoint(double low, double high) noexcept nogil:
    """low <= result < high, without overflow and without loss in the subnormals."""
    cdef double middle = 0.5 * (low + high)
    if isinf(middle):
        middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low
