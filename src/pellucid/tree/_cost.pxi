# Costs of nodes and of divisions into two children.
#
# The cost of a node is its impurity times its weight: 2 sum_{i<j} c_i c_j / w for Gini,
# sum_k c_k log2(w / c_k) for entropy, w - max_k c_k for error, sum w bend(t) for numbers, where bend
# is (t - mean)^2, or half a deviance: t log(t / mean) - t + mean for Poisson, t / mean - 1 -
# log(t / mean) for gamma. With r the distance from the node's mean (in units of the mean for
# deviances) a side costs sum w bend(r) - W bend(sum w r / W): two sums say it, and no digits go,
# because both terms are of the order of the spread. Absolute errors are in `_absolute.pxi`, several
# targets in `_vectors.pxi`.
# Gini is kept as products of different classes, so that an almost pure node keeps its digits.
# Costs within TIE times the parent's cost of the lowest one are tied: the first column, and in it
# the first threshold, is taken.

cdef enum:
    GINI = 0
    ENTROPY = 1
    ERROR = 2
    SQUARED = 3
    POISSON = 4
    GAMMA = 5
    ABSOLUTE = 6
    VECTORS = 7                 # squared errors of several targets, and their deviances
    POISSONS = 8
    GAMMAS = 9

cdef double TIE = 1e-12


cdef inline double distance(const Table* t, const Record* node, int32_t row) noexcept nogil:
    """r of a row: its target's distance from the node's mean."""
    return ((t.target[row] - node.mean) - node.rest) * node.per_unit


cdef double NOTHING = 1e-12     # a mean below this share of the node's is 0 to Poisson's deviance


cdef double bend(int criterion, double r) noexcept nogil:
    """Loss of a value at distance r from the mean."""
    if criterion == SQUARED:
        return r * r
    if fabs(r) < 0.0078125:                        # the terms below would cancel: power series
        if criterion == POISSON:
            return r * r * (1 / 2. - r * (1 / 6. - r * (1 / 12. - r * (1 / 20. - r * (
                1 / 30. - r * (1 / 42. - r * (1 / 56. - r / 72.)))))))
        return r * r * (1 / 2. - r * (1 / 3. - r * (1 / 4. - r * (1 / 5. - r * (
            1 / 6. - r * (1 / 7. - r * (1 / 8. - r / 9.)))))))
    if criterion == POISSON:
        return (1.0 + r) * log1p(r) - r if r > -1.0 else 1.0
    return r - log1p(r)


cdef inline double spread_between(const Table* t, const Record* node, double sum, double wl,
                                  double wr) noexcept nogil:
    """What a division saves; `sum` is that of w r on the left."""
    if t.criterion == SQUARED:
        return sum * sum * node.weight / (wl * wr)
    return node.size * (wl * bend(t.criterion, sum / wl) + wr * bend(t.criterion, -sum / wr))


cdef inline bint vanishes(const Table* t, const double* counts, const double* sums, double wl,
                          double wr) noexcept nogil:
    """One side would predict 0, which Poisson's deviance does not take."""
    if t.criterion == POISSON:
        return sums[0] <= (NOTHING - 1.0) * wl or -sums[0] <= (NOTHING - 1.0) * wr
    return t.criterion == POISSONS and some_vanish(counts, sums, wl, wr, t.q)


cdef inline bint in_bounds(const Table* t, const Record* node, int f, double left,
                           double right) noexcept nogil:
    """Values of the children by a column with a constraint keep it. Those by other columns may
    leave the bounds; their values are brought back when the tree is done."""
    if t.signs == NULL or t.signs[f] == 0:
        return True
    return (node.lower <= left <= node.upper and node.lower <= right <= node.upper
            and t.signs[f] * (right - left) >= 0.0)


cdef inline bint keeps_order(const Table* t, const Record* node, const double* counts, int f,
                             const double* left, double wl) noexcept nogil:
    """The same for sums on the left; of two classes the share of the second counts."""
    cdef double wr = node.weight - wl
    if t.signs == NULL or t.signs[f] == 0:
        return True
    if t.K > 0:
        return in_bounds(t, node, f, left[1] / wl, (counts[1] - left[1]) / wr)
    return in_bounds(t, node, f, node.mean + left[0] / wl / node.per_unit,
                     node.mean - left[0] / wr / node.per_unit)


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
    """Cost of both children; `left` are the class weights, or the sum of w r, on the left."""
    cdef double wr = node.weight - wl
    if t.criterion == GINI:
        return 2.0 * (pairs(left, NULL, t.K) / wl + max(pairs(counts, left, t.K), 0.0) / wr)
    if t.criterion == ENTROPY:
        return entropy_cost(t, left, NULL, wl) + entropy_cost(t, counts, left, wr)
    if t.criterion == ERROR:
        return error_cost(t, left, NULL, wl) + error_cost(t, counts, left, wr)
    if t.q > 1:
        return vectors_cost(t, node, counts, left, wl, wr)
    if vanishes(t, counts, left, wl, wr):
        return INFINITY
    return node.cost - spread_between(t, node, left[0], wl, wr)


cdef inline double class_cost(const Table* t, const double* counts, const double* minus,
                              double weight) noexcept nogil:
    """Cost of one side with class weights counts - minus."""
    if t.criterion == GINI:
        return 2.0 * max(pairs(counts, minus, t.K), 0.0) / weight
    if t.criterion == ENTROPY:
        return entropy_cost(t, counts, minus, weight)
    return error_cost(t, counts, minus, weight)
