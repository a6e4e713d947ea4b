# What the divisions of all rows in two by one column may cost, from the class weights of its buckets.
#
# Inside a bucket the left side's class weights lie in a box. A cost, weight times impurity, is concave,
# so the sum over the two sides is lowest at a corner of the box. Corner 0 is the division in front of
# the bucket, the last corner the one behind it.

cdef enum:
    MOST_CLASSES = 4            # corners of a box double with each class


cdef inline double part_cost(int criterion, const double* c, int K) noexcept nogil:
    """Weight times impurity of class weights: Gini (0), entropy in nats (1), error (2)."""
    cdef double total = 0.0, other = 0.0, most = 0.0
    cdef int k
    for k in range(K):
        if criterion == 0:
            other += c[k] * total
        elif criterion == 1 and c[k] > 0.0:
            other -= c[k] * log(c[k])
        most = max(most, c[k])
        total += c[k]
    if criterion == 2 or total <= 0.0:
        return total - most
    return 2.0 * other / total if criterion == 0 else other + total * log(total)


cdef double corner_cost(int criterion, int corner, const double* low, const double* high,
                        const double* total, int K) noexcept nogil:
    """Cost of the two sides if the left one has `high` of the classes in `corner`, else `low`."""
    cdef double left[MOST_CLASSES]
    cdef double right[MOST_CLASSES]
    cdef int k
    for k in range(K):
        left[k] = high[k] if corner >> k & 1 else low[k]
        right[k] = max(total[k] - left[k], 0.0)
    return part_cost(criterion, left, K) + part_cost(criterion, right, K)


cdef double lowest_corner(int criterion, const double* low, const double* high, const double* total,
                          int K, double* behind) noexcept nogil:
    """The lowest of a bucket's corners but corner 0; `behind` is the last of them."""
    cdef double lowest = INFINITY
    cdef int corner
    for corner in range(1, 1 << K):
        behind[0] = corner_cost(criterion, corner, low, high, total, K)
        lowest = min(lowest, behind[0])
    return lowest


cdef double class_totals(const double* sums, Py_ssize_t buckets, int K, double* total) noexcept nogil:
    """Fills the class weights of all buckets; returns their sum."""
    cdef double weight = 0.0
    cdef Py_ssize_t b
    cdef int k
    for k in range(K):
        total[k] = 0.0
        for b in range(buckets):
            total[k] += sums[k * buckets + b]
        weight += total[k]
    return weight


def bucket_bounds(const uint16_t[::1] cells, const double[::1] weights, int n_classes, int criterion,
                  double[::1] sums, double[::1] found):
    """1. Class weights of the buckets, rows in their order; cell = class * buckets + bucket.
    2. found[0]: the lowest cost of a division between two buckets; found[1]: a bound of all."""
    cdef double total[MOST_CLASSES]
    cdef double low[MOST_CLASSES]
    cdef double high[MOST_CLASSES]
    cdef double behind, here, weight, passed = 0.0
    cdef Py_ssize_t i, b, buckets = sums.shape[0] // n_classes
    cdef int k
    with nogil:
        memset(&sums[0], 0, sums.shape[0] * sizeof(double))
        for i in range(cells.shape[0]):
            sums[cells[i]] += weights[i]
        weight = class_totals(&sums[0], buckets, n_classes, total)
        memset(low, 0, sizeof(low))
        found[0] = found[1] = INFINITY
        for b in range(buckets):
            here = 0.0
            for k in range(n_classes):
                here += sums[k * buckets + b]
                high[k] = low[k] + sums[k * buckets + b]
            if here == 0.0:
                continue
            passed += here
            found[1] = min(found[1], lowest_corner(criterion, low, high, total, n_classes, &behind))
            if passed < weight:
                found[0] = min(found[0], behind)
            memcpy(low, high, sizeof(low))


cdef struct Found:              # the best division of a column so far
    double lowest               # cost of the best one
    double cost                 # of the first one tied with it
    double left[MOST_CLASSES]   # its class weights
    Py_ssize_t at               # its rows, 0: there is none


cdef void scan_bucket(const double[:] x, const int32_t[::1] order, const double[::1] weights,
                      const int32_t[::1] labels, Py_ssize_t first, Py_ssize_t last, int criterion,
                      const double* low, const double* total, int K, double tie,
                      Found* best) noexcept nogil:
    """Every division behind a row of a bucket that the next row's value differs from."""
    cdef double left[MOST_CLASSES]
    cdef double cost
    cdef Py_ssize_t i
    memcpy(left, low, sizeof(left))
    for i in range(first, min(last, order.shape[0] - 1)):
        left[labels[order[i]]] += weights[order[i]]
        if x[order[i]] == x[order[i + 1]]:
            continue
        cost = corner_cost(criterion, 0, left, left, total, K)
        if cost < best.lowest:
            if best.cost > cost + tie:
                best.at, best.cost = i + 1, cost
                memcpy(best.left, left, sizeof(left))
            best.lowest = cost


def best_in_buckets(const double[:] x, const int32_t[::1] order, const double[::1] weights,
                    const int32_t[::1] labels, const int32_t[::1] starts, const double[::1] sums,
                    int n_classes, int criterion, double limit, double tie, double[::1] left):
    """(cost, rows on the left, weights of their classes in `left`) of the best division; the first
    of those within `tie` of the lowest. Only buckets with a corner up to `limit` are looked at.

    starts: place of a bucket's first row in the order; sums: as `bucket_bounds` left them.
    """
    cdef double total[MOST_CLASSES]
    cdef double low[MOST_CLASSES]
    cdef double high[MOST_CLASSES]
    cdef double behind, before = INFINITY
    cdef Py_ssize_t b, buckets = sums.shape[0] // n_classes
    cdef Found best
    cdef int k
    with nogil:
        class_totals(&sums[0], buckets, n_classes, total)
        memset(low, 0, sizeof(low))
        best.at, best.lowest, best.cost = 0, INFINITY, INFINITY
        for b in range(buckets):
            for k in range(n_classes):
                high[k] = low[k] + sums[k * buckets + b]
            if starts[b + 1] > starts[b]:
                if min(before, lowest_corner(criterion, low, high, total, n_classes, &behind)) <= limit:
                    scan_bucket(x, order, weights, labels, starts[b], starts[b + 1], criterion, low,
                                total, n_classes, tie, &best)
                before = behind
            memcpy(low, high, sizeof(low))
        for k in range(n_classes if best.at > 0 else 0):
            left[k] = best.left[k]
    return best.cost, best.at
