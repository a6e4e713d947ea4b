"""One random threshold per column: two passes over a node's rows, which need no order."""

from libc.math cimport INFINITY, isnan
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memset

from pellucid.tree._buckets cimport Buckets, fits_words, gather_words
from pellucid.tree._impurity cimport (
    ABSOLUTE, GINI, MANY, TIE, add_vector, distance, in_bounds, keeps_order, large_enough, split_cost,
)
from pellucid.tree._medians cimport Ranked, fill_ranked, sides_cost
from pellucid.tree._random cimport mix
from pellucid.tree._table cimport Node, Split, Table


cdef extern from *:
    """
    #include <math.h>
    typedef double two __attribute__((vector_size(16), aligned(8), may_alias));
    typedef long long two_masks __attribute__((vector_size(16), aligned(8), may_alias));
    /* Number and sums of those terms whose values are at most a threshold, which NaN is not. No
     * branches: half of them would be guessed wrong. */
    static inline ptrdiff_t sum_up_to(const double* values, const double* terms, ptrdiff_t m,
                                      double threshold, double* total) {
        const two most = {threshold, threshold};
        two sums[2] = {{0.0, 0.0}, {0.0, 0.0}};
        two_masks counts[2] = {{0, 0}, {0, 0}};
        ptrdiff_t i = 0;
        for (; i + 4 <= m; i += 4)
            for (int k = 0; k < 2; k++) {
                const two_masks in = *(const two*) (values + i + 2 * k) <= most;
                counts[k] -= in;
                sums[k] += (two) (*(const two_masks*) (terms + i + 2 * k) & in);
            }
        for (; i < m; i++) {
            const two value = {values[i], NAN}, term = {terms[i], 0.0};
            const two_masks in = value <= most;
            counts[0] -= in;
            sums[0] += (two) ((two_masks) term & in);
        }
        *total = (sums[0][0] + sums[0][1]) + (sums[1][0] + sums[1][1]);
        return counts[0][0] + counts[0][1] + counts[1][0] + counts[1][1];
    }
    /* The sum of those terms whose values are missing. */
    static inline double sum_missing(const double* values, const double* terms, ptrdiff_t m) {
        two sums[2] = {{0.0, 0.0}, {0.0, 0.0}};
        ptrdiff_t i = 0;
        for (; i + 4 <= m; i += 4)
            for (int k = 0; k < 2; k++) {
                const two v = *(const two*) (values + i + 2 * k);
                sums[k] += (two) (*(const two_masks*) (terms + i + 2 * k) & (v != v));
            }
        for (; i < m; i++) {
            const two v = {values[i], 0.0}, term = {terms[i], 0.0};
            sums[0] += (two) ((two_masks) term & (v != v));
        }
        return (sums[0][0] + sums[0][1]) + (sums[1][0] + sums[1][1]);
    }
    /* Cells of a node's rows; how many are present, their smallest and their largest. */
    static inline ptrdiff_t gather_cells(const double* x, ptrdiff_t step, const int32_t* rows,
                                         ptrdiff_t m, double* values, double* low, double* high) {
        double least[4] = {*low, *low, *low, *low}, most[4] = {*high, *high, *high, *high};
        ptrdiff_t i = 0, present = 0;
        for (; i + 4 <= m; i += 4)
            for (int k = 0; k < 4; k++) {
                const double v = x[rows[i + k] * step];
                values[i + k] = v;
                present += v == v;
                least[k] = v < least[k] ? v : least[k];
                most[k] = v > most[k] ? v : most[k];
            }
        for (; i < m; i++) {
            const double v = x[rows[i] * step];
            values[i] = v;
            present += v == v;
            least[0] = v < least[0] ? v : least[0];
            most[0] = v > most[0] ? v : most[0];
        }
        for (int k = 0; k < 4; k++) {
            *low = least[k] < *low ? least[k] : *low;
            *high = most[k] > *high ? most[k] : *high;
        }
        return present;
    }
    """
    Py_ssize_t sum_up_to(const double* values, const double* terms, Py_ssize_t m, double threshold,
                         double* total) nogil
    double sum_missing(const double* values, const double* terms, Py_ssize_t m) nogil
    Py_ssize_t gather_cells(const double* x, Py_ssize_t step, const int32_t* rows, Py_ssize_t m,
                            double* values, double* low, double* high) nogil


cdef inline double uniform(const Node* node, int f) noexcept nogil:
    """A number in [0, 1) that depends on the node's key and the column alone."""
    cdef uint64_t bits = mix(node.key + <uint64_t> 0x9E3779B97F4A7C15 * <uint64_t> (f + 1))
    return <double> (mix(bits) >> 11) * 2.0 ** -53


cdef Py_ssize_t draw_threshold(const Table* t, const Node* node, int f, double* values,
                               double* threshold) noexcept nogil:
    """Even between the lowest and highest value, infinite if they are one; returns present rows.
    The values of the node's rows are left in `values`."""
    cdef const int32_t* rows = t.rows.members + node.start
    cdef const double* x = t.columns.X + f * t.columns.column_step
    cdef Py_ssize_t m = node.end - node.start, present
    cdef double low = INFINITY, high = -INFINITY, u
    present = gather_cells(x, t.columns.row_step, rows, m, values, &low, &high)
    threshold[0] = INFINITY
    if low < high:
        u = uniform(node, f)
        threshold[0] = (1.0 - u) * low + u * high
        if not low <= threshold[0] < high:
            threshold[0] = low
    return present


cdef void unpack(uint64_t total, int K, double* sums, double* weights) noexcept nogil:
    cdef int k
    weights[0] = 0.0
    for k in range(K):
        sums[k] = <double> (total >> (16 * k) & 0xFFFF)
        weights[0] += sums[k]


cdef Py_ssize_t side_words(const double* values, const uint64_t* words, Py_ssize_t m,
                           double threshold, Py_ssize_t present, int K, double* sums,
                           double* weights) noexcept nogil:
    """The same as `sum_sides` for the left side, and for missing rows, of a node whose class weights
    fit words."""
    cdef uint64_t total = 0, side
    cdef Py_ssize_t i, count = 0
    for i in range(m):
        side = values[i] <= threshold
        total += words[i] & (<uint64_t> 0 - side)
        count += <Py_ssize_t> side
    unpack(total, K, sums, weights)
    if present < m:
        total = 0
        for i in range(m):
            side = values[i] != values[i]
            total += words[i] & (<uint64_t> 0 - side)
        unpack(total, K, sums + 2 * K, weights + 2)
    return count


cdef Py_ssize_t left_classes(const Table* t, const int32_t* rows, const double* values, Py_ssize_t m,
                             double threshold, double* sums, double* weight) noexcept nogil:
    """Class weights of the rows up to a threshold, none of them missing; returns their number. No
    branches, as in `sum_left`."""
    cdef Py_ssize_t i, count = 0
    cdef double w, total = 0.0
    memset(sums, 0, t.y.K * sizeof(double))
    for i in range(m):
        w = values[i] <= threshold
        count += values[i] <= threshold
        if t.y.weights != NULL:
            w *= t.y.weights[rows[i]]
        total += w
        sums[t.y.labels[rows[i]]] += w
    weight[0] = total
    return count


cdef Py_ssize_t split_counts(const Table* t, const Node* node, const double* counts,
                             const double* values, double threshold, Buckets* b, double* sums,
                             double* cost) noexcept nogil:
    """Class counts of the rows up to a threshold, none of them missing, and the Gini cost; returns
    their number. Of many classes a small node has few: the products of different classes,
    ((sum of c)^2 - sum of c^2) / 2, follow from the rows. They are integers, and exact."""
    cdef const int32_t* labels = t.y.labels
    cdef const int32_t* rows = t.rows.members + node.start
    cdef Py_ssize_t m = node.end - node.start, i, count = 0
    cdef double squares = 0.0, products = 0.0, wl, wr
    cdef int k
    memset(sums, 0, t.y.K * sizeof(double))
    if not b.words_ready:
        b.squares, b.words_ready = 0.0, True
        for k in range(t.y.K):
            b.squares += counts[k] * counts[k]
    for i in range(m):
        if values[i] <= threshold:
            k = labels[rows[i]]
            squares += 2.0 * sums[k] + 1.0
            products += counts[k]
            sums[k] += 1.0
            count += 1
    wl = <double> count
    wr = node.weight - wl
    cost[0] = (wl * wl - squares) / wl + (wr * wr - (b.squares - 2.0 * products + squares)) / wr
    return count


cdef Py_ssize_t sum_sides(const Table* t, const Node* node, const double* values,
                          double threshold, double* sums, double* weights) noexcept nogil:
    """Class weights (3, size) and weights (3,) of the rows on the left, on the right and missing;
    returns the number of rows on the left."""
    cdef const int32_t* rows = t.rows.members + node.start
    cdef Py_ssize_t i, count = 0
    cdef int side
    cdef double w = 1.0, v
    memset(sums, 0, 3 * t.y.size * sizeof(double))
    weights[0] = weights[1] = weights[2] = 0.0
    for i in range(node.end - node.start):
        v = values[i]
        side = v > threshold
        count += v <= threshold
        if v != v:
            side = 2
        if t.y.weights != NULL:
            w = t.y.weights[rows[i]]
        weights[side] += w
        sums[side * t.y.size + t.y.labels[rows[i]]] += w
    return count


cdef void gather_distances(const Table* t, const Node* node, Buckets* b) noexcept nogil:
    cdef const int32_t* rows = t.rows.members + node.start
    cdef Py_ssize_t m = node.end - node.start, i
    cdef double w = 1.0
    if b.words_ready:
        return
    for i in range(m):
        if t.y.weights != NULL:
            w = t.y.weights[rows[i]]
        b.distances[i] = w * distance(t, node, rows[i])
        b.distances[m + i] = w
    b.words_ready = True


cdef Py_ssize_t sum_numbers(const Table* t, const Node* node, const double* values,
                            Py_ssize_t present, double threshold, Buckets* b, double* sums,
                            double* weights) noexcept nogil:
    """Sums of w r and weights of the rows up to a threshold, and at 2 of the missing ones; returns the
    number of the former."""
    cdef Py_ssize_t m = node.end - node.start, count
    gather_distances(t, node, b)
    memset(sums, 0, 3 * t.y.size * sizeof(double))
    weights[2] = 0.0
    count = sum_up_to(values, b.distances, m, threshold, sums)
    weights[0] = <double> count
    if t.y.weights != NULL:
        sum_up_to(values, b.distances + m, m, threshold, weights)
    if present < m:
        sums[2 * t.y.size] = sum_missing(values, b.distances, m)
        weights[2] = sum_missing(values, b.distances + m, m)
    return count


cdef inline bint counts_rows(const Table* t, const Node* node) noexcept nogil:
    """Whether class weights are counts whose squares are exact."""
    return (t.y.criterion == GINI and t.y.weights == NULL and t.rules.signs == NULL
            and node.weight < 2.0 ** 26)


cdef Py_ssize_t sum_left(const Table* t, const double* means, const int32_t* rows,
                         const double* values, Py_ssize_t m, double threshold, double* sums,
                         double* weight) noexcept nogil:
    """Sums of w r and weight of the rows up to a threshold; returns their number. No branches: half of
    them would be guessed wrong."""
    cdef const double* y
    cdef Py_ssize_t i, q = t.y.q, count = 0
    cdef double w, total = 0.0
    cdef int k
    memset(sums, 0, t.y.size * sizeof(double))
    for i in range(m):
        y = t.y.values + rows[i] * q
        w = values[i] <= threshold
        count += values[i] <= threshold
        if t.y.weights != NULL:
            w *= t.y.weights[rows[i]]
        total += w
        for k in range(q):
            sums[k] += w * (y[k] - means[k])
    weight[0] = total
    return count


cdef Py_ssize_t sum_vectors(const Table* t, const double* means, const int32_t* rows,
                            const double* values, Py_ssize_t m, Py_ssize_t present, double threshold,
                            double* sums, double* weights) noexcept nogil:
    """Sums of w r and weights of the rows up to a threshold, and at 2 of the missing ones; returns the
    number of the former."""
    cdef Py_ssize_t i, size = t.y.size, count
    cdef double w = 1.0
    count = sum_left(t, means, rows, values, m, threshold, sums, weights)
    weights[2] = 0.0
    memset(sums + 2 * size, 0, size * sizeof(double))
    for i in range(m if present < m else 0):
        if isnan(values[i]):
            if t.y.weights != NULL:
                w = t.y.weights[rows[i]]
            weights[2] += w
            add_vector(t, means, rows[i], w, sums + 2 * size)
    return count


cdef double drawn_cost(const Table* t, const Node* node, const double* counts, int f,
                       const double* sums, double wl, bint missing_left, Ranked* a) noexcept nogil:
    """Cost of a drawn split, infinite if it breaks the monotone constraints."""
    cdef uint8_t side[3]
    cdef double weights[2]
    cdef double medians[2]
    cdef double cost
    if t.y.criterion != ABSOLUTE:
        if not keeps_order(t, node, counts, f, sums, wl):
            return INFINITY
        return split_cost(t, node, counts, sums, wl)
    side[0], side[1], side[2] = 1, 0, missing_left
    weights[0], weights[1] = node.weight - wl, wl
    cost = sides_cost(node.end - node.start, side, weights, a, medians)
    if not in_bounds(t, node, f, node.mean + medians[1], node.mean + medians[0]):
        return INFINITY
    return cost


cdef void rank_sides(const Table* t, const Node* node, const double* values, double threshold,
                     Ranked* a) noexcept nogil:
    """Groups of the node's rows by target: 0 left, 1 right, 2 missing."""
    cdef const int32_t* rows = t.rows.members + node.start
    cdef Py_ssize_t i
    fill_ranked(t, node, rows, a)
    for i in range(node.end - node.start):
        a.group[t.y.ranks[rows[i]]] = 2 if isnan(values[i]) else values[i] > threshold


cdef void draw_number(const Table* t, const Node* node, const double* counts, int f,
                      double* sums, double* values, Buckets* b, Ranked* a,
                      Split* out) noexcept nogil:
    """A drawn threshold of column f: missing rows on the right, or on the left if that is better."""
    cdef Py_ssize_t m = node.end - node.start, present, left
    cdef double weights[3]
    cdef double threshold, cost
    cdef int k
    out.cost, out.feature, out.missing_left, out.at = INFINITY, -1, 0, 0
    present = draw_threshold(t, node, f, values, &threshold)
    if present == 0 or (present == m and threshold == INFINITY):
        return
    if present == m and t.y.K > MANY and counts_rows(t, node):
        left = split_counts(t, node, counts, values, threshold, b, sums, &cost)
        if large_enough(t, node, <double> left, left):
            out.feature, out.threshold, out.cost = f, threshold, cost
        return
    if fits_words(t, node):
        gather_words(t, node, b)
        left = side_words(values, b.words, m, threshold, present, t.y.K, sums, weights)
    elif present == m and t.y.K > 0:
        left = left_classes(t, t.rows.members + node.start, values, m, threshold, sums, weights)
    elif t.y.q > 1:
        left = sum_vectors(t, counts, t.rows.members + node.start, values, m, present, threshold, sums,
                           weights)
    elif t.y.K > 0:
        left = sum_sides(t, node, values, threshold, sums, weights)
    else:
        left = sum_numbers(t, node, values, present, threshold, b, sums, weights)
    if t.y.criterion == ABSOLUTE:
        rank_sides(t, node, values, threshold, a)
    if large_enough(t, node, weights[0], left):
        out.cost = drawn_cost(t, node, counts, f, sums, weights[0], False, a)
        if out.cost < INFINITY:
            out.feature, out.threshold = f, threshold
    if present == m or threshold == INFINITY:
        return
    for k in range(t.y.size):
        sums[k] += sums[2 * t.y.size + k]
    if not large_enough(t, node, weights[0] + weights[2], left + m - present):
        return
    cost = drawn_cost(t, node, counts, f, sums, weights[0] + weights[2], True, a)
    if cost + TIE * node.cost < out.cost:
        out.feature, out.threshold, out.cost, out.missing_left = f, threshold, cost, 1
