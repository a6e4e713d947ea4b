"""Costs of nodes and of their splits into two children.

The cost of a node is its impurity times its weight:
- Gini: 2 sum_{i<j} c_i c_j / w, entropy: sum_k c_k log2(w / c_k), error: w - max_k c_k;
- numbers: sum w loss(t), where the loss is (t - mean)^2, or half a deviance: t log(t / mean) - t +
  mean for Poisson, t / mean - 1 - log(t / mean) for gamma;
- several targets: the sum over the targets. Targets that are 0 in a whole node are left out.
With r the distance from the node's mean (in units of the mean for deviances) a side costs
sum w loss(r) - W loss(sum w r / W). Two sums are enough, and no digits are lost, because both terms
are of the order of the spread. Absolute errors are in `_medians`.

Gini is kept as products of different classes, so that an almost pure node keeps its digits. Costs
within TIE times the parent's cost of the lowest one are tied: the first column, and in it the first
threshold, is taken.

Several targets: a row has q targets side by side. The means of a node stand where the others have
class weights (`counts`). The sums of a group of rows are q sums of w r, then the sum of their costs;
`row_cost` holds the cost of every row about the means of its own node.
"""

from libc.math cimport INFINITY, fabs, log1p, log2
from libc.stdint cimport int32_t

from pellucid.tree._table cimport Node, Table


cdef extern from *:
    """
    #define TIE 1e-12
    #define NOTHING 1e-12
    """
    const double TIE
    const double NOTHING        # a mean below this share of the node's is 0 to Poisson's deviance


cdef enum:
    MANY = 16                   # classes, of which a small node has few: the others are passed over


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


cdef inline double distance(const Table* t, const Node* node, int32_t row) noexcept nogil:
    """r of a row: its target's distance from the node's mean."""
    return ((t.y.values[row] - node.mean) - node.rest) * node.per_unit


cdef inline double loss_at(int criterion, double r) noexcept nogil:
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


cdef inline double deviance(const Table* t, double mean, double r) noexcept nogil:
    """Half of it, of a number at r, in units of the mean, from the mean."""
    return mean * loss_at(POISSON, r) if t.y.criterion == POISSONS else loss_at(GAMMA, r)


cdef inline double vector_cost(const Table* t, const double* y, const double* means) noexcept nogil:
    """Of one row, about the means."""
    cdef double total = 0.0
    cdef int k
    for k in range(t.y.q):
        if t.y.criterion == VECTORS:
            total += (y[k] - means[k]) * (y[k] - means[k])
        elif means[k] > 0.0:                       # else all of the node's are 0
            total += deviance(t, means[k], (y[k] - means[k]) / means[k])
    return total


cdef inline double spread_between(const Table* t, const Node* node, double sum, double wl,
                                  double wr) noexcept nogil:
    """What a split saves; `sum` is that of w r on the left."""
    if t.y.criterion == SQUARED:
        return sum * sum * node.weight / (wl * wr)
    return node.size * (wl * loss_at(t.y.criterion, sum / wl) + wr * loss_at(t.y.criterion, -sum / wr))


cdef inline bint some_vanish(const double* means, const double* sums, double wl, double wr,
                             int q) noexcept nogil:
    """Some target that is not 0 in the whole node would be 0 on one side."""
    cdef int k
    for k in range(q):
        if means[k] > 0.0 and (sums[k] <= (NOTHING - 1.0) * wl * means[k]
                               or -sums[k] <= (NOTHING - 1.0) * wr * means[k]):
            return True
    return False


cdef inline bint vanishes(const Table* t, const double* counts, const double* sums, double wl,
                          double wr) noexcept nogil:
    """One side would predict 0, which Poisson's deviance does not take."""
    if t.y.criterion == POISSON:
        return sums[0] <= (NOTHING - 1.0) * wl or -sums[0] <= (NOTHING - 1.0) * wr
    return t.y.criterion == POISSONS and some_vanish(counts, sums, wl, wr, t.y.q)


cdef inline bint large_enough(const Table* t, const Node* node, double weight,
                              Py_ssize_t rows) noexcept nogil:
    return (rows >= t.rules.min_rows and (node.end - node.start) - rows >= t.rules.min_rows
            and weight >= t.rules.min_weight and node.weight - weight >= t.rules.min_weight)


cdef inline bint in_bounds(const Table* t, const Node* node, int f, double left,
                           double right) noexcept nogil:
    """Values of the children by a column with a constraint keep it. Those by other columns may
    leave the bounds; their values are brought back when the tree is done."""
    if t.rules.signs == NULL or t.rules.signs[f] == 0:
        return True
    return (node.lower <= left <= node.upper and node.lower <= right <= node.upper
            and t.rules.signs[f] * (right - left) >= 0.0)


cdef inline bint keeps_order(const Table* t, const Node* node, const double* counts, int f,
                             const double* left, double wl) noexcept nogil:
    """The same for sums on the left; of two classes the share of the second counts."""
    cdef double wr = node.weight - wl
    if t.rules.signs == NULL or t.rules.signs[f] == 0:
        return True
    if t.y.K > 0:
        return in_bounds(t, node, f, left[1] / wl, (counts[1] - left[1]) / wr)
    return in_bounds(t, node, f, node.mean + left[0] / wl / node.per_unit,
                     node.mean - left[0] / wr / node.per_unit)


cdef inline double pairs(const double* counts, const double* minus, int K) noexcept nogil:
    """sum_{i<j} c_i c_j for c = counts - minus (minus may be NULL)."""
    cdef double total = 0.0, before = 0.0, c
    cdef bint many = K > MANY
    cdef int k
    for k in range(K):
        c = counts[k] if minus == NULL else counts[k] - minus[k]
        if many and c == 0.0:
            continue
        total += c * before
        before += c
    return total


cdef inline double entropy_cost(const Table* t, const double* counts, const double* minus,
                                double weight) noexcept nogil:
    """With integer weights from a table of k log2 k, otherwise as a sum of terms >= 0."""
    cdef double total = t.y.k_log_k[<Py_ssize_t> weight] if t.y.k_log_k != NULL else 0.0, c
    cdef int k
    for k in range(t.y.K):
        c = counts[k] if minus == NULL else counts[k] - minus[k]
        if t.y.k_log_k != NULL:
            total -= t.y.k_log_k[<Py_ssize_t> c]
        elif c > 0.0:
            total += c * log2(weight / c)
    return max(total, 0.0)


cdef inline double error_cost(const Table* t, const double* counts, const double* minus,
                              double weight) noexcept nogil:
    cdef double most = 0.0, c
    cdef int k
    for k in range(t.y.K):
        c = counts[k] if minus == NULL else counts[k] - minus[k]
        most = max(most, c)
    return max(weight - most, 0.0)


cdef inline double class_cost(const Table* t, const double* counts, const double* minus,
                              double weight) noexcept nogil:
    """Cost of one side with class weights counts - minus."""
    if t.y.criterion == GINI:
        return 2.0 * max(pairs(counts, minus, t.y.K), 0.0) / weight
    if t.y.criterion == ENTROPY:
        return entropy_cost(t, counts, minus, weight)
    return error_cost(t, counts, minus, weight)


cdef inline double spread_of(const Table* t, const double* means, const double* sums,
                             double weight) noexcept nogil:
    """By how much the cost of a side falls if it is taken about its own means instead of the node's.
    Called with the sums of the left side and minus the weight of the right, it is that of the right."""
    cdef double total = 0.0
    cdef int k
    if t.y.criterion == VECTORS:
        for k in range(t.y.q):
            total += sums[k] * sums[k]
        return total / fabs(weight)
    for k in range(t.y.q):
        if means[k] > 0.0:
            total += fabs(weight) * deviance(t, means[k], sums[k] / (weight * means[k]))
    return total


cdef inline double vectors_cost(const Table* t, const Node* node, const double* means,
                                const double* left, double wl, double wr) noexcept nogil:
    """Cost of both children; `left` are the sums of w r on the left."""
    if t.y.criterion == POISSONS and some_vanish(means, left, wl, wr, t.y.q):
        return INFINITY
    return node.cost - spread_of(t, means, left, wl) - spread_of(t, means, left, -wr)


cdef inline double split_cost(const Table* t, const Node* node, const double* counts,
                              const double* left, double wl) noexcept nogil:
    """Cost of both children; `left` are the class weights, or the sum of w r, on the left."""
    cdef double wr = node.weight - wl
    if t.y.criterion == GINI:
        return 2.0 * (pairs(left, NULL, t.y.K) / wl + max(pairs(counts, left, t.y.K), 0.0) / wr)
    if t.y.criterion == ENTROPY:
        return entropy_cost(t, left, NULL, wl) + entropy_cost(t, counts, left, wr)
    if t.y.criterion == ERROR:
        return error_cost(t, left, NULL, wl) + error_cost(t, counts, left, wr)
    if t.y.q > 1:
        return vectors_cost(t, node, counts, left, wl, wr)
    if vanishes(t, counts, left, wl, wr):
        return INFINITY
    return node.cost - spread_between(t, node, left[0], wl, wr)


cdef inline void add_vector(const Table* t, const double* means, int32_t row, double w,
                            double* sums) noexcept nogil:
    """One row to the sums of its group."""
    cdef const double* y = t.y.values + <Py_ssize_t> row * t.y.q
    cdef int k
    for k in range(t.y.q):
        sums[k] += w * (y[k] - means[k])
    sums[t.y.q] += w * t.y.row_cost[row]
