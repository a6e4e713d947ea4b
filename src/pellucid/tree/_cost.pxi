# Costs of nodes and of divisions into two children.
#
# The cost of a node is its impurity times its weight: 2 sum_{i<j} c_i c_j / w for Gini,
# sum_k c_k log2(w / c_k) for entropy, w - max_k c_k for error, sum w (t - mean)^2 for squares.
# Gini is kept as products of different classes, so that an almost pure node keeps its digits.
# Costs within TIE times the parent's cost of the lowest one are tied: the first column, and in it
# the first threshold, is taken.

cdef enum:
    GINI = 0
    ENTROPY = 1
    ERROR = 2
    SQUARED = 3

cdef double TIE = 1e-12


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


cdef inline double class_cost(const Table* t, const double* counts, const double* minus,
                              double weight) noexcept nogil:
    """Cost of one side with class weights counts - minus."""
    if t.criterion == GINI:
        return 2.0 * max(pairs(counts, minus, t.K), 0.0) / weight
    if t.criterion == ENTROPY:
        return entropy_cost(t, counts, minus, weight)
    return error_cost(t, counts, minus, weight)
