# Squared errors and deviances of several targets at once: the cost of a node is the sum over the
# targets.
#
# A row has q targets side by side. The means of a node stand where the others have class weights
# (`counts`). The sums of a group of rows are q sums of w r, then that of their costs, where r is the
# distance from the means of the node; `bent` holds the cost of every row about the means of its own
# node: |r|^2 for squared errors, half-deviances otherwise. Of targets that are 0 in a whole node nothing
# is asked.

cdef bint describe_vectors(const Table* t, const int32_t* rows, Record* node,
                           double* means) noexcept nogil:
    """Weight, means and cost of a node; whether its rows differ."""
    cdef Py_ssize_t i, q = t.q
    cdef const double* first = t.target + rows[0] * q      # distances from it: equal ones have a mean
    cdef const double* y                                   # that is theirs to the last bit
    cdef double w = 1.0
    cdef bint differ = False
    cdef int k
    for i in range(node.end - node.start):
        y = t.target + rows[i] * q
        if t.weights != NULL:
            w = t.weights[rows[i]]
        node.weight += w
        for k in range(q):
            means[k] += w * (y[k] - first[k])
            differ |= y[k] != first[k]
    for k in range(q):
        means[k] = first[k] + means[k] / node.weight
    for i in range(node.end - node.start):
        t.bent[rows[i]] = vector_cost(t, t.target + rows[i] * q, means)
        node.cost += t.bent[rows[i]] if t.weights == NULL else t.weights[rows[i]] * t.bent[rows[i]]
    return differ


cdef inline double vector_cost(const Table* t, const double* y, const double* means) noexcept nogil:
    """Of one row, about the means."""
    cdef double total = 0.0
    cdef int k
    for k in range(t.q):
        if t.criterion == VECTORS:
            total += (y[k] - means[k]) * (y[k] - means[k])
        elif means[k] > 0.0:                       # else all of the node's are 0
            total += deviance(t, means[k], (y[k] - means[k]) / means[k])
    return total


cdef inline double deviance(const Table* t, double mean, double r) noexcept nogil:
    """Half of it, of a number at r, in units of the mean, from the mean."""
    return mean * bend(POISSON, r) if t.criterion == POISSONS else bend(GAMMA, r)


cdef inline double spread_of(const Table* t, const double* means, const double* sums,
                             double weight) noexcept nogil:
    """What the cost of a side is lower about its own means than about those of the node; the sums of
    the other side with its weight below 0 say it of this one."""
    cdef double total = 0.0
    cdef int k
    if t.criterion == VECTORS:
        for k in range(t.q):
            total += sums[k] * sums[k]
        return total / fabs(weight)
    for k in range(t.q):
        if means[k] > 0.0:
            total += fabs(weight) * deviance(t, means[k], sums[k] / (weight * means[k]))
    return total


cdef bint some_vanish(const double* means, const double* sums, double wl, double wr,
                      int q) noexcept nogil:
    """Some target that is not 0 in the whole node would be 0 on one side."""
    cdef int k
    for k in range(q):
        if means[k] > 0.0 and (sums[k] <= (NOTHING - 1.0) * wl * means[k]
                               or -sums[k] <= (NOTHING - 1.0) * wr * means[k]):
            return True
    return False


cdef inline void add_vector(const Table* t, const double* means, int32_t row, double w,
                            double* sums) noexcept nogil:
    """One row to the sums of its group."""
    cdef const double* y = t.target + <Py_ssize_t> row * t.q
    cdef int k
    for k in range(t.q):
        sums[k] += w * (y[k] - means[k])
    sums[t.q] += w * t.bent[row]


cdef double weigh_vectors(const Table* t, const double* means, const int32_t* rows, Py_ssize_t first,
                          Py_ssize_t last, double* sums) noexcept nogil:
    """Add the rows [first, last) to the sums; returns their weight."""
    cdef double total = 0.0, w = 1.0
    cdef Py_ssize_t i
    for i in range(first, last):
        if t.weights != NULL:
            w = t.weights[rows[i]]
        add_vector(t, means, rows[i], w, sums)
        total += w
    return total


cdef void scan_vectors(const Table* t, const Record* node, const double* means, Sweep* s,
                       Py_ssize_t start, Py_ssize_t stop, double* left, double wl) noexcept nogil:
    """Largest decrease |sum|^2 W / (wl wr), with the sum of w r on the left."""
    cdef const double* y
    cdef double wr, w = 1.0, W = node.weight, bar = (node.cost - s.lowest) / W, squares
    cdef Py_ssize_t i, q = t.q
    cdef int k
    for i in range(start, stop):
        y = t.target + s.rows[i] * q
        if t.weights != NULL:
            w = t.weights[s.rows[i]]
        squares = 0.0
        for k in range(q):
            left[k] += w * (y[k] - means[k])
            squares += left[k] * left[k]
        wl += w
        wr = W - wl
        if (squares > bar * (wl * wr) and wl >= t.min_weight and wr >= t.min_weight
                and i + 1 >= s.first and not same_value(s, i)):
            bar = squares / (wl * wr)
            found(node, s, i + 1, node.cost - bar * W)


cdef double vectors_cost(const Table* t, const Record* node, const double* means, const double* left,
                         double wl, double wr) noexcept nogil:
    """Cost of both children; `left` are the sums of w r on the left."""
    if t.criterion == POISSONS and some_vanish(means, left, wl, wr, t.q):
        return INFINITY
    return node.cost - spread_of(t, means, left, wl) - spread_of(t, means, left, -wr)


cdef void scan_vector_deviances(const Table* t, const Record* node, const double* means, Sweep* s,
                                Py_ssize_t start, Py_ssize_t stop, double* left,
                                double wl) noexcept nogil:
    """The same for half-deviances."""
    cdef double w = 1.0, cost
    cdef Py_ssize_t i
    for i in range(start, stop):
        if t.weights != NULL:
            w = t.weights[s.rows[i]]
        add_vector(t, means, s.rows[i], w, left)
        wl += w
        if (wl < t.min_weight or node.weight - wl < t.min_weight or i + 1 < s.first
                or same_value(s, i)):
            continue
        cost = division_cost(t, node, means, left, wl)
        if cost < s.lowest:
            found(node, s, i + 1, cost)


cdef Py_ssize_t sum_vectors(const Table* t, const double* means, const int32_t* rows,
                            const double* values, Py_ssize_t m, Py_ssize_t present, double threshold,
                            double* sums, double* weights) noexcept nogil:
    """Sums of w r and weights of the rows up to a threshold, and at 2 of the missing ones; returns the
    number of the former."""
    cdef Py_ssize_t i, size = t.size, count
    cdef double w = 1.0
    count = sum_left(t, means, rows, values, m, threshold, sums, weights)
    weights[2] = 0.0
    memset(sums + 2 * size, 0, size * sizeof(double))
    for i in range(m if present < m else 0):
        if isnan(values[i]):
            if t.weights != NULL:
                w = t.weights[rows[i]]
            weights[2] += w
            add_vector(t, means, rows[i], w, sums + 2 * size)
    return count


cdef Py_ssize_t sum_left(const Table* t, const double* means, const int32_t* rows, const double* values,
                         Py_ssize_t m, double threshold, double* sums, double* weight) noexcept nogil:
    """Sums of w r and weight of the rows up to a threshold; returns their number. No branches: half of
    them would be guessed wrong."""
    cdef const double* y
    cdef Py_ssize_t i, q = t.q, count = 0
    cdef double w, total = 0.0
    cdef int k
    memset(sums, 0, t.size * sizeof(double))
    for i in range(m):
        y = t.target + rows[i] * q
        w = values[i] <= threshold
        count += values[i] <= threshold
        if t.weights != NULL:
            w *= t.weights[rows[i]]
        total += w
        for k in range(q):
            sums[k] += w * (y[k] - means[k])
    weight[0] = total
    return count
