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


cdef void bounds_of(const double* sums, Py_ssize_t buckets, int K, int criterion,
                    double* found) noexcept nogil:
    """Steps 2 and 3 of `bucket_bounds`; class k of bucket b at k * buckets + b."""
    cdef double total[MOST_CLASSES]
    cdef double low[MOST_CLASSES]
    cdef double high[MOST_CLASSES]
    cdef double cost, here, weight = 0.0, passed = 0.0
    cdef Py_ssize_t b
    cdef int k, corner, last = (1 << K) - 1
    for k in range(K):
        total[k], low[k] = 0.0, 0.0
        for b in range(buckets):
            total[k] += sums[k * buckets + b]
        weight += total[k]
    found[0] = found[1] = INFINITY
    for b in range(buckets):
        here = 0.0
        for k in range(K):
            here += sums[k * buckets + b]
            high[k] = low[k] + sums[k * buckets + b]
        if here == 0.0:
            continue
        passed += here
        for corner in range(1, last + 1):
            cost = corner_cost(criterion, corner, low, high, total, K)
            found[1] = min(found[1], cost)
        if passed < weight:
            found[0] = min(found[0], cost)
        for k in range(K):
            low[k] = high[k]


def bucket_bounds(const uint16_t[::1] cells, const double[::1] weights, int n_classes, int criterion,
                  double[::1] sums, double[::1] found):
    """1. Class weights of the buckets, rows in their order; cell = class * buckets + bucket.
    2. found[0]: the lowest cost of a division between two buckets. 3. found[1]: a bound of all."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(sums.shape[0]):
            sums[i] = 0.0
        for i in range(cells.shape[0]):
            sums[cells[i]] += weights[i]
        bounds_of(&sums[0], sums.shape[0] // n_classes, n_classes, criterion, &found[0])
