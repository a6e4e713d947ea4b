# Costs of a division into two children, and the sweep over the sorted rows of a numerical column.
#
# The cost of a node is its impurity times its weight: 2 sum_{i<j} c_i c_j / w for Gini,
# sum_k c_k log2(w / c_k) for entropy, w - max_k c_k for error, sum w (t - mean)^2 for squares.
# Gini is kept as products of different classes, so that an almost pure node keeps its digits.
# Two costs closer than TIE times the parent's cost are a tie, and the first one met stays.

cdef enum:
    GINI = 0
    ENTROPY = 1
    ERROR = 2
    SQUARED = 3

cdef double TIE = 1e-12


cdef struct Sweep:
    const int32_t* rows         # rows of the node in the order of the column, missing ones last
    const double* x             # the column, or NULL if no value occurs twice
    Py_ssize_t present          # rows that are not missing
    Py_ssize_t first, last      # allowed numbers of present rows on the left
    double left_weight          # weight that is on the left before the sweep (missing rows)
    double best, bar            # lowest cost, and the cost that a better division must undercut
    Py_ssize_t at               # number of present rows on the left at the best, 0 if none


cdef inline double pairs(const double* counts, const double* minus, int K) noexcept nogil:
    """sum_{i<j} c_i c_j for c = counts - minus (minus may be NULL)."""
    cdef double total = 0.0, before = 0.0, c
    cdef int k
    for k in range(K):
        c = counts[k] if minus == NULL else counts[k] - minus[k]
        total += c * before
        before += c
    return total


cdef double entropy_cost(const Table* t, const double* counts, const double* minus,
                         double weight) noexcept nogil:
    """With integer weights from a table of k log2 k, otherwise as a sum of terms >= 0."""
    cdef double total = t.k_log_k[<Py_ssize_t> weight] if t.k_log_k != NULL else 0.0, c
    cdef int k
    for k in range(t.K):
        c = counts[k] if minus == NULL else counts[k] - minus[k]
        if t.k_log_k != NULL:
            total -= t.k_log_k[<Py_ssize_t> c]
        elif c > 0.0:
            total += c * log2(weight / c)
    return max(total, 0.0)


cdef double error_cost(const Table* t, const double* counts, const double* minus,
                       double weight) noexcept nogil:
    cdef double most = 0.0, c
    cdef int k
    for k in range(t.K):
        c = counts[k] if minus == NULL else counts[k] - minus[k]
        most = max(most, c)
    return max(weight - most, 0.0)


cdef double division_cost(const Table* t, const Record* node, const double* counts,
                          const double* left, double wl) noexcept nogil:
    """Cost of both children; `left` are the class weights, or the centred sum, on the left."""
    cdef double wr = node.weight - wl
    if t.criterion == GINI:
        return 2.0 * (pairs(left, NULL, t.K) / wl + max(pairs(counts, left, t.K), 0.0) / wr)
    if t.criterion == ENTROPY:
        return entropy_cost(t, left, NULL, wl) + entropy_cost(t, counts, left, wr)
    if t.criterion == ERROR:
        return error_cost(t, left, NULL, wl) + error_cost(t, counts, left, wr)
    return node.cost - left[0] * left[0] * node.weight / (wl * wr)


cdef void sweep_gini(const Table* t, const Record* node, const double* counts, double* left,
                     Sweep* s) noexcept nogil:
    """Division-free: cost < bar is tested as (pl wr + pr wl) < bar/2 wl wr."""
    cdef double wl = s.left_weight, wr, w = 1.0, W = node.weight
    cdef double pl = pairs(left, NULL, t.K), pr = pairs(counts, left, t.K)
    cdef double bar = 0.5 * s.bar, tie = 0.5 * TIE * node.cost, best = s.best, minimum = t.min_weight
    cdef Py_ssize_t i, at = s.at
    cdef int32_t row, c
    cdef double both
    for i in range(s.last):
        row = s.rows[i]
        c = t.labels[row]
        if t.weights != NULL:
            w = t.weights[row]
        pl += w * (wl - left[c])
        pr -= w * ((W - wl) - (counts[c] - left[c]))
        left[c] += w
        wl += w
        if i + 1 < s.first or (s.x != NULL and i + 1 < s.present and s.x[s.rows[i + 1]] == s.x[row]):
            continue
        wr = W - wl
        both = wl * wr
        if pl * wr + pr * wl < bar * both and wl >= minimum and wr >= minimum:
            best = (pl * wr + max(pr, 0.0) * wl) / both
            bar = best - tie
            at = i + 1
    if at != s.at:
        s.at, s.best, s.bar = at, 2.0 * best, 2.0 * bar


cdef void sweep_classes(const Table* t, const Record* node, const double* counts, double* left,
                        Sweep* s) noexcept nogil:
    """Any cost of class weights, computed anew at every value."""
    cdef double wl = s.left_weight, wr, cost, tie = TIE * node.cost
    cdef Py_ssize_t i
    cdef int32_t row
    for i in range(s.last):
        row = s.rows[i]
        left[t.labels[row]] += 1.0 if t.weights == NULL else t.weights[row]
        wl += 1.0 if t.weights == NULL else t.weights[row]
        if i + 1 < s.first or (s.x != NULL and i + 1 < s.present and s.x[s.rows[i + 1]] == s.x[row]):
            continue
        wr = node.weight - wl
        if wl < t.min_weight or wr < t.min_weight:
            continue
        cost = division_cost(t, node, counts, left, wl)
        if cost < s.bar:
            s.best, s.bar, s.at = cost, cost - tie, i + 1


cdef void sweep_squares(const Table* t, const Record* node, double* left, Sweep* s) noexcept nogil:
    """Largest decrease sl^2 W / (wl wr), with sl the sum of w (t - mean) on the left."""
    cdef double wl = s.left_weight, wr, w = 1.0, sl = left[0], W = node.weight, mean = node.mean
    cdef double tie = TIE * node.cost, bar = (node.cost - s.bar) / W
    cdef Py_ssize_t i
    cdef int32_t row
    for i in range(s.last):
        row = s.rows[i]
        if t.weights != NULL:
            w = t.weights[row]
        sl += w * (t.target[row] - mean)
        wl += w
        if i + 1 < s.first or (s.x != NULL and i + 1 < s.present and s.x[s.rows[i + 1]] == s.x[row]):
            continue
        wr = W - wl
        if sl * sl > bar * (wl * wr) and wl >= t.min_weight and wr >= t.min_weight:
            s.best = node.cost - sl * sl * W / (wl * wr)
            s.bar = s.best - tie
            bar = (node.cost - s.bar) / W
            s.at = i + 1


cdef inline void sweep(const Table* t, const Record* node, const double* counts, double* left,
                       Sweep* s) noexcept nogil:
    if t.criterion == GINI:
        sweep_gini(t, node, counts, left, s)
    elif t.criterion == SQUARED:
        sweep_squares(t, node, left, s)
    else:
        sweep_classes(t, node, counts, left, s)


cdef double weigh_missing(const Table* t, const Record* node, const int32_t* rows, Py_ssize_t first,
                          Py_ssize_t last, double* left) noexcept nogil:
    """Put the rows [first, last) on the left; returns their weight."""
    cdef double total = 0.0, w
    cdef Py_ssize_t i
    for i in range(first, last):
        w = 1.0 if t.weights == NULL else t.weights[rows[i]]
        if t.criterion == SQUARED:
            left[0] += w * (t.target[rows[i]] - node.mean)
        else:
            left[t.labels[rows[i]]] += w
        total += w
    return total


cdef inline double midpoint(double low, double high) noexcept nogil:
    """low <= result < high, without overflow and without loss in the subnormals."""
    cdef double middle = 0.5 * (low + high)
    if isinf(middle):
        middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


cdef inline double uniform(const Record* node, int f) noexcept nogil:
    """A number in [0, 1) that depends on the node's key and the column alone."""
    cdef uint64_t bits = mix(node.key + <uint64_t> 0x9E3779B97F4A7C15 * <uint64_t> (f + 1))
    return <double> (mix(bits) >> 11) * 2.0 ** -53


cdef Py_ssize_t draw_threshold(const Record* node, int f, const double* x, const int32_t* rows,
                               Py_ssize_t q, double* threshold) noexcept nogil:
    """A threshold drawn evenly between the lowest and highest value; the rows at or below it."""
    cdef double low = x[rows[0]], high = x[rows[q - 1]], u = uniform(node, f)
    cdef Py_ssize_t first = 0, last = q, middle
    threshold[0] = (1.0 - u) * low + u * high
    if not low <= threshold[0] < high:
        threshold[0] = low
    while first < last:
        middle = (first + last) // 2
        if x[rows[middle]] <= threshold[0]:
            first = middle + 1
        else:
            last = middle
    return first


cdef void split_number(const Table* t, const Record* node, const double* counts, int f,
                       double* left, Split* out) noexcept nogil:
    """Best threshold of column f: missing rows right first, then left; lowest threshold on ties.

    1. Leave out the missing rows, which stand last. 2. Sweep with them on the right; the division
    present | missing is the last candidate. 3. Sweep with them on the left. A drawn threshold is
    the only candidate of both sweeps.
    """
    cdef const int32_t* rows = t.lists + f * t.n + node.start
    cdef const double* x = t.X + f * t.n_rows
    cdef Py_ssize_t m = node.end - node.start, q = m, size = max(t.K, 1), drawn = 0
    cdef double threshold = 0.0
    cdef Sweep s, mirrored
    while q > 0 and t.missing[f] and isnan(x[rows[q - 1]]):
        q -= 1
    out.cost, out.feature = INFINITY, -1
    if q == 0 or (q == m and x[rows[0]] == x[rows[q - 1]]):
        return
    s.rows, s.x, s.present = rows, (x if t.repeated[f] else NULL), q
    s.first, s.last = t.min_rows, min(m - t.min_rows, q - 1 if q == m else q)
    if t.drawn_splits and x[rows[0]] != x[rows[q - 1]]:
        drawn = draw_threshold(node, f, x, rows, q, &threshold)
        s.first, s.last = max(s.first, drawn), min(s.last, drawn)
    s.left_weight, s.best, s.bar, s.at = 0.0, INFINITY, INFINITY, 0
    memset(left, 0, size * sizeof(double))
    sweep(t, node, counts, left, &s)
    out.missing_left = 0
    if q < m and x[rows[0]] != x[rows[q - 1]]:
        mirrored = s
        memset(left, 0, size * sizeof(double))
        mirrored.first, mirrored.last = t.min_rows - (m - q), min(q - t.min_rows, q - 1)
        if drawn > 0:
            mirrored.first, mirrored.last = max(mirrored.first, drawn), min(mirrored.last, drawn)
        mirrored.left_weight = weigh_missing(t, node, rows, q, m, left)
        mirrored.best, mirrored.bar, mirrored.at = INFINITY, INFINITY, 0
        sweep(t, node, counts, left, &mirrored)
        if mirrored.at > 0 and (mirrored.best < s.bar or
                                (mirrored.bar <= s.best and mirrored.at < s.at)):
            s = mirrored
            out.missing_left = 1
    if s.at > 0:
        out.feature, out.cost, out.at = f, s.best, s.at
        if drawn > 0:
            out.threshold = threshold
        elif s.at == q:
            out.threshold = INFINITY
        else:
            out.threshold = midpoint(x[rows[s.at - 1]], x[rows[s.at]])
