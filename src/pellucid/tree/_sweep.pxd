"""The state of a sweep over the sorted rows of a numerical column."""

from libc.math cimport isinf
from libc.stdint cimport int32_t

from pellucid.tree._impurity cimport SQUARED, TIE, add_vector, class_cost, loss_at, spread_of
from pellucid.tree._table cimport Node, Table


cdef extern from *:
    """
    #define ROUNDING 1e-9
    """
    const double ROUNDING       # of the parent's cost: a bound must be worse by this to count


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
    double lowest               # cost of the best split
    double cost                 # of the first split tied with it
    Py_ssize_t at               # number of present rows on its left, 0 if there is none


cdef inline bint same_value(const Sweep* s, Py_ssize_t i) noexcept nogil:
    """No threshold fits behind row i: the next present row has the same value."""
    return (s.x != NULL and i + 1 < s.present
            and s.x[s.rows[i + 1] * s.step] == s.x[s.rows[i] * s.step])


cdef inline void record_split(const Node* node, Sweep* s, Py_ssize_t at, double cost) noexcept nogil:
    """A split that costs less than all before; an earlier one that is tied with it stays."""
    if s.cost > cost + TIE * node.cost:
        s.at, s.cost = at, cost
    s.lowest = cost


cdef inline void cost_between(const Table* t, const Node* node, const double* counts, Sweep* s,
                              Py_ssize_t b) noexcept nogil:
    """Costs of the two sides of the split in front of block b."""
    cdef const double* sums = s.sums + b * t.y.size
    cdef double wl = s.weights[b], wr = node.weight - wl
    s.left_cost[b] = s.right_cost[b] = 0.0
    if t.y.criterion == SQUARED:
        if wl > 0.0:
            s.left_cost[b] = sums[1] - sums[0] * sums[0] / wl
        if wr > 0.0:
            s.right_cost[b] = (node.cost - sums[1]) - sums[0] * sums[0] / wr
    elif t.y.q > 1:
        if wl > 0.0:
            s.left_cost[b] = sums[t.y.q] - spread_of(t, counts, sums, wl)
        if wr > 0.0:
            s.right_cost[b] = (node.cost - sums[t.y.q]) - spread_of(t, counts, sums, -wr)
    elif t.y.K == 0:
        if wl > 0.0:
            s.left_cost[b] = sums[1] - node.size * wl * loss_at(t.y.criterion, sums[0] / wl)
        if wr > 0.0:
            s.right_cost[b] = (node.cost - sums[1]
                               - node.size * wr * loss_at(t.y.criterion, -sums[0] / wr))
    else:
        if wl > 0.0:
            s.left_cost[b] = class_cost(t, sums, NULL, wl)
        if wr > 0.0:
            s.right_cost[b] = class_cost(t, counts, sums, wr)


cdef inline double weigh_vectors(const Table* t, const double* means, const int32_t* rows,
                                 Py_ssize_t m, double* sums) noexcept nogil:
    """Add m rows of several targets to the sums; returns their weight."""
    cdef double total = 0.0, w = 1.0
    cdef Py_ssize_t i
    for i in range(m):
        if t.y.weights != NULL:
            w = t.y.weights[rows[i]]
        add_vector(t, means, rows[i], w, sums)
        total += w
    return total


cdef inline double weigh_squares(const Table* t, double mean, const int32_t* rows, Py_ssize_t m,
                                 double* sums) noexcept nogil:
    """The same for numbers and squared errors: the sums stay in registers."""
    cdef const double* values = t.y.values
    cdef const double* weights = t.y.weights
    cdef double total = 0.0, w, r, first = sums[0], second = sums[1]
    cdef Py_ssize_t i
    if weights == NULL:
        for i in range(m):
            r = values[rows[i]] - mean
            first += r
            second += r * r
        total = <double> m
    else:
        for i in range(m):
            w = weights[rows[i]]
            r = values[rows[i]] - mean
            first += w * r
            second += w * (r * r)
            total += w
    sums[0], sums[1] = first, second
    return total


cdef inline double midpoint(double low, double high) noexcept nogil:
    """low <= result < high, without overflow and without loss in the subnormals."""
    cdef double middle = 0.5 * (low + high)
    if isinf(middle):
        middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low
