"""The best threshold of a numerical column: a sweep over its sorted rows.

A sweep first adds up blocks of rows and computes the costs of the splits between blocks. All these
impurities are concave, so a side's cost never falls when rows join it: inside a block the left side
costs at least what it costs at the block's start, the right side what it costs at its end. Only
blocks where the sum of the two is below the lowest known cost are scanned row by row. The result is
that of the plain sweep over all rows.
"""

from libc.math cimport INFINITY, isnan
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from pellucid.tree._impurity cimport (
    ABSOLUTE, GINI, SQUARED, TIE, VECTORS, add_vector, distance, keeps_order, pairs, split_cost,
    vanishes,
)
from pellucid.tree._medians cimport Ranked, fill_ranked, sweep_absolute
from pellucid.tree._memory cimport allocate, release
from pellucid.tree._sweep cimport (
    ROUNDING, Sweep, cost_between, record_split, same_value, weigh_squares, weigh_vectors,
)
from pellucid.tree._table cimport Node, Split, Table


cdef enum:
    ONE_BLOCK = 48              # rows up to which one block is faster


cdef inline Py_ssize_t block_step(Py_ssize_t rows) noexcept nogil:
    """Rows per block: one block for very small nodes, long blocks for large ones."""
    return rows if rows <= ONE_BLOCK else min(max(rows >> 4, 16), LONGEST_BLOCK)


cdef inline Py_ssize_t most_blocks(Py_ssize_t rows) noexcept nogil:
    """No node of up to that many rows has more blocks."""
    return 64 + rows // LONGEST_BLOCK


cdef int new_sweep(const Table* t, Py_ssize_t m, Sweep* s) noexcept nogil:
    """Memory for nodes of up to m rows; 0 if there is enough."""
    cdef Py_ssize_t blocks = 1 + most_blocks(m)
    s.sums = <double*> allocate(blocks * t.y.size * sizeof(double))
    s.weights = <double*> allocate(blocks * sizeof(double))
    s.left_cost = <double*> allocate(blocks * sizeof(double))
    s.right_cost = <double*> allocate(blocks * sizeof(double))
    if s.sums == NULL or s.weights == NULL or s.left_cost == NULL or s.right_cost == NULL:
        return -1
    return 0


cdef void free_sweep(Sweep* s) noexcept nogil:
    release(s.sums)
    release(s.weights)
    release(s.left_cost)
    release(s.right_cost)


cdef double weigh_rows(const Table* t, const Node* node, const double* counts, const int32_t* rows,
                       Py_ssize_t first, Py_ssize_t last, double* sums) noexcept nogil:
    """Add the rows [first, last) to the sums; returns their weight."""
    cdef double total = 0.0, w, r
    cdef Py_ssize_t i
    if t.y.q > 1:
        return weigh_vectors(t, counts, rows + first, last - first, sums)
    if t.y.criterion == SQUARED:
        return weigh_squares(t, node.mean, rows + first, last - first, sums)
    for i in range(first, last):
        w = 1.0 if t.y.weights == NULL else t.y.weights[rows[i]]
        if t.y.K > 0:
            sums[t.y.labels[rows[i]]] += w
        else:
            r = distance(t, node, rows[i])
            sums[0] += w * r
            sums[1] += w * (r * r if t.y.row_cost == NULL else t.y.row_cost[rows[i]])
        total += w
    return total


cdef double weigh_block(const Table* t, const Node* node, const double* counts, const int32_t* rows,
                        Py_ssize_t m, double* sums) noexcept nogil:
    """Add up to LONGEST_BLOCK rows to the sums; returns their weight."""
    cdef uint64_t packed = 0
    cdef uint32_t p
    cdef double total = 0.0
    cdef Py_ssize_t i
    cdef int k
    if t.y.packed == NULL:
        return weigh_rows(t, node, counts, rows, 0, m, sums)
    for i in range(m):                             # four sums of 16 bits in one word
        p = t.y.packed[rows[i]]
        packed += <uint64_t> (p >> 2) << ((p & 3) << 4)
    for k in range(t.y.K):
        sums[k] += <double> (packed >> (16 * k) & 0xFFFF)
        total += <double> (packed >> (16 * k) & 0xFFFF)
    return total


cdef void scan_packed(const Table* t, const Node* node, const double* counts, Sweep* s,
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
    for k in range(t.y.K):
        sums |= <uint64_t> left[k] << (16 * k)
        totals |= <uint64_t> counts[k] << (16 * k)
        wl += <int64_t> left[k]
        wr += <int64_t> (counts[k] - left[k])
    pl, pr = <int64_t> pairs(left, NULL, t.y.K), <int64_t> pairs(counts, left, t.y.K)
    for i in range(start, stop):
        v = t.y.packed[s.rows[i]]
        place = (v & 3) << 4
        w = <int64_t> (v >> 2)
        c = <int64_t> (sums >> place & 0xFFFF)
        p = <int64_t> (totals >> place & 0xFFFF)
        pl += w * (wl - c)
        pr -= w * (wr - (p - c))
        sums += <uint64_t> w << place
        wl += w
        wr -= w
        if (<double> (pl * wr + pr * wl) < bar * <double> (wl * wr) and wl >= t.rules.min_weight
                and wr >= t.rules.min_weight and i + 1 >= s.first and not same_value(s, i)):
            bar = <double> (pl * wr + pr * wl) / <double> (wl * wr)
            record_split(node, s, i + 1, 2.0 * bar)


cdef void scan_gini(const Table* t, const Node* node, const double* counts, Sweep* s,
                    Py_ssize_t start, Py_ssize_t stop, double* left, double wl) noexcept nogil:
    """The same for any number of classes and any weights."""
    cdef const int32_t* rows = s.rows
    cdef const int32_t* labels = t.y.labels
    cdef const double* weights = t.y.weights
    cdef double wr, w = 1.0, W = node.weight, both, c_left
    cdef double pl = pairs(left, NULL, t.y.K), pr = pairs(counts, left, t.y.K)
    cdef double bar = 0.5 * s.lowest, minimum = t.rules.min_weight
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
            record_split(node, s, i + 1, 2.0 * bar)


cdef void scan_classes(const Table* t, const Node* node, const double* counts, Sweep* s,
                       Py_ssize_t start, Py_ssize_t stop, double* left, double wl) noexcept nogil:
    """Any cost of class weights, computed anew at every value."""
    cdef double w, cost
    cdef Py_ssize_t i
    for i in range(start, stop):
        w = 1.0 if t.y.weights == NULL else t.y.weights[s.rows[i]]
        left[t.y.labels[s.rows[i]]] += w
        wl += w
        if (wl < t.rules.min_weight or node.weight - wl < t.rules.min_weight or i + 1 < s.first
                or same_value(s, i)):
            continue
        cost = split_cost(t, node, counts, left, wl)
        if cost < s.lowest:
            record_split(node, s, i + 1, cost)


cdef void scan_squares(const Table* t, const Node* node, Sweep* s, Py_ssize_t start,
                       Py_ssize_t stop, double sl, double wl) noexcept nogil:
    """Largest decrease sl^2 W / (wl wr), with sl the sum of w (t - mean) on the left."""
    cdef const int32_t* rows = s.rows
    cdef const double* values = t.y.values
    cdef const double* weights = t.y.weights
    cdef double wr, w = 1.0, W = node.weight, mean = node.mean, bar = (node.cost - s.lowest) / W
    cdef double minimum = t.rules.min_weight
    cdef Py_ssize_t i
    for i in range(start, stop):
        if weights != NULL:
            w = weights[rows[i]]
        sl += w * (values[rows[i]] - mean)
        wl += w
        wr = W - wl
        if (sl * sl > bar * (wl * wr) and wl >= minimum and wr >= minimum
                and i + 1 >= s.first and not same_value(s, i)):
            bar = sl * sl / (wl * wr)
            record_split(node, s, i + 1, node.cost - bar * W)


cdef void scan_deviances(const Table* t, const Node* node, Sweep* s, Py_ssize_t start,
                         Py_ssize_t stop, double sum, double wl) noexcept nogil:
    """The same for half-deviances."""
    cdef double w = 1.0, cost
    cdef Py_ssize_t i
    for i in range(start, stop):
        if t.y.weights != NULL:
            w = t.y.weights[s.rows[i]]
        sum += w * distance(t, node, s.rows[i])
        wl += w
        if (wl < t.rules.min_weight or node.weight - wl < t.rules.min_weight or i + 1 < s.first
                or same_value(s, i)):
            continue
        cost = split_cost(t, node, NULL, &sum, wl)
        if cost < s.lowest:
            record_split(node, s, i + 1, cost)


cdef void scan_vectors(const Table* t, const Node* node, const double* means, Sweep* s,
                       Py_ssize_t start, Py_ssize_t stop, double* left, double wl) noexcept nogil:
    """Largest decrease |sum|^2 W / (wl wr), with the sum of w r on the left."""
    cdef const double* y
    cdef double wr, w = 1.0, W = node.weight, bar = (node.cost - s.lowest) / W, squares
    cdef Py_ssize_t i, q = t.y.q
    cdef int k
    for i in range(start, stop):
        y = t.y.values + s.rows[i] * q
        if t.y.weights != NULL:
            w = t.y.weights[s.rows[i]]
        squares = 0.0
        for k in range(q):
            left[k] += w * (y[k] - means[k])
            squares += left[k] * left[k]
        wl += w
        wr = W - wl
        if (squares > bar * (wl * wr) and wl >= t.rules.min_weight and wr >= t.rules.min_weight
                and i + 1 >= s.first and not same_value(s, i)):
            bar = squares / (wl * wr)
            record_split(node, s, i + 1, node.cost - bar * W)


cdef void scan_vector_deviances(const Table* t, const Node* node, const double* means, Sweep* s,
                                Py_ssize_t start, Py_ssize_t stop, double* left,
                                double wl) noexcept nogil:
    """The same for half-deviances."""
    cdef double w = 1.0, cost
    cdef Py_ssize_t i
    for i in range(start, stop):
        if t.y.weights != NULL:
            w = t.y.weights[s.rows[i]]
        add_vector(t, means, s.rows[i], w, left)
        wl += w
        if (wl < t.rules.min_weight or node.weight - wl < t.rules.min_weight or i + 1 < s.first
                or same_value(s, i)):
            continue
        cost = split_cost(t, node, means, left, wl)
        if cost < s.lowest:
            record_split(node, s, i + 1, cost)


cdef void scan_checked(const Table* t, const Node* node, const double* counts, Sweep* s,
                       double* left, double wl) noexcept nogil:
    """All rows, any cost: splits must keep the monotone constraints."""
    cdef double w = 1.0, cost
    cdef Py_ssize_t i
    for i in range(s.last):
        if t.y.weights != NULL:
            w = t.y.weights[s.rows[i]]
        if t.y.K > 0:
            left[t.y.labels[s.rows[i]]] += w
        else:
            left[0] += w * distance(t, node, s.rows[i])
        wl += w
        if (wl < t.rules.min_weight or node.weight - wl < t.rules.min_weight or i + 1 < s.first
                or same_value(s, i) or not keeps_order(t, node, counts, s.column, left, wl)):
            continue
        cost = split_cost(t, node, counts, left, wl)
        if cost < s.lowest:
            record_split(node, s, i + 1, cost)


cdef double sum_blocks(const Table* t, const Node* node, const double* counts, Sweep* s,
                       Py_ssize_t step) noexcept nogil:
    """Fill sums and costs; returns the cost above which no split is of interest."""
    cdef Py_ssize_t start = 0, stop, b = 0
    cdef double limit = s.known, wl
    cost_between(t, node, counts, s, 0)
    while start < s.last:
        stop = min(start + step, s.last)
        memcpy(s.sums + (b + 1) * t.y.size, s.sums + b * t.y.size, t.y.size * sizeof(double))
        s.weights[b + 1] = s.weights[b] + weigh_block(
            t, node, counts, s.rows + start, stop - start, s.sums + (b + 1) * t.y.size)
        b += 1
        cost_between(t, node, counts, s, b)
        wl = s.weights[b]
        if (stop >= s.first and wl >= t.rules.min_weight and node.weight - wl >= t.rules.min_weight
                and not same_value(s, stop - 1)
                and not vanishes(t, counts, s.sums + b * t.y.size, wl, node.weight - wl)):
            limit = min(limit, s.left_cost[b] + s.right_cost[b] + TIE * node.cost)
        start = stop
    return limit


cdef void scan(const Table* t, const Node* node, const double* counts, Sweep* s,
               Py_ssize_t start, Py_ssize_t stop, Py_ssize_t b) noexcept nogil:
    """Row by row through block b."""
    cdef double* sums = s.sums + b * t.y.size        # not needed again
    if t.y.criterion == SQUARED:
        scan_squares(t, node, s, start, stop, sums[0], s.weights[b])
    elif t.y.criterion == VECTORS:
        scan_vectors(t, node, counts, s, start, stop, sums, s.weights[b])
    elif t.y.q > 1:
        scan_vector_deviances(t, node, counts, s, start, stop, sums, s.weights[b])
    elif t.y.K == 0:
        scan_deviances(t, node, s, start, stop, sums[0], s.weights[b])
    elif t.y.criterion != GINI:
        scan_classes(t, node, counts, s, start, stop, sums, s.weights[b])
    elif t.y.packed != NULL and node.weight < 65536.0:
        scan_packed(t, node, counts, s, start, stop, sums)
    else:
        scan_gini(t, node, counts, s, start, stop, sums, s.weights[b])


cdef void sweep_blocks(const Table* t, const Node* node, const double* counts,
                       Sweep* s) noexcept nogil:
    """1. Sums and costs between blocks. 2. Row by row where a bound is below what is known."""
    cdef Py_ssize_t start = 0, stop, b = 0, step = block_step(s.last)
    cdef double margin = ROUNDING * node.cost, limit
    s.lowest, s.cost, s.at = INFINITY, INFINITY, 0
    if t.rules.signs != NULL:
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


cdef void sweep(const Table* t, const Node* node, const double* counts, Sweep* s,
                Py_ssize_t first, Py_ssize_t last, bint missing_left, Ranked* a) noexcept nogil:
    """One sweep over the present rows, with the missing ones on the given side."""
    s.first, s.last = first, last
    if t.y.criterion == ABSOLUTE:
        sweep_absolute(t, node, s.column, s, missing_left, a)
        return
    memset(s.sums, 0, t.y.size * sizeof(double))
    s.weights[0] = 0.0
    if missing_left:
        s.weights[0] = weigh_rows(t, node, counts, s.rows, s.present, node.end - node.start,
                                  s.sums)
    sweep_blocks(t, node, counts, s)


cdef void split_number(const Table* t, const Node* node, const double* counts, int f,
                       const int32_t* rows, Sweep* memory, double known, Ranked* a,
                       Split* out) noexcept nogil:
    """Best threshold of column f, the lowest one on ties. 1. Leave out the missing rows, which stand
    last. 2. Sweep with them on the right; the split present | missing is the last candidate.
    3. Sweep with them on the left."""
    cdef const double* x = t.columns.X + f * t.columns.column_step
    cdef Py_ssize_t m = node.end - node.start, q = m, step = t.columns.row_step
    cdef Py_ssize_t least = t.rules.min_rows
    cdef double tie
    cdef Sweep s, mirrored
    while q > 0 and t.columns.missing[f] and isnan(x[rows[q - 1] * step]):
        q -= 1
    out.cost, out.feature, out.missing_left = INFINITY, -1, 0
    if q == 0 or (q == m and t.columns.repeated[f] and x[rows[0] * step] == x[rows[q - 1] * step]):
        return
    s = memory[0]
    s.rows, s.x, s.present, s.known = rows, (x if t.columns.repeated[f] else NULL), q, known
    s.step, s.column = step, f
    if t.y.criterion == ABSOLUTE:
        fill_ranked(t, node, rows, a)
    sweep(t, node, counts, &s, least, min(m - least, q - 1 if q == m else q), False, a)
    if q < m and x[rows[0] * step] != x[rows[q - 1] * step]:
        mirrored = s
        sweep(t, node, counts, &mirrored, least - (m - q), min(q - least, q - 1), True, a)
        tie = TIE * node.cost
        if mirrored.at > 0 and (mirrored.lowest + tie < s.lowest or
                                (mirrored.lowest <= s.lowest + tie and mirrored.at < s.at)):
            s = mirrored
            out.missing_left = 1
    if s.at > 0:
        out.feature, out.cost, out.at = f, s.cost, s.at
        out.below, out.above = rows[s.at - 1], rows[s.at]
