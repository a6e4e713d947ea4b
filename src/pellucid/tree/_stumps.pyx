"""What splits of all rows in two by one column may cost, from the class weights of its buckets.

Inside a bucket the left side's class weights lie in a box. A cost, weight times impurity, is concave,
so the sum over the two sides is lowest at a corner of the box. Corner 0 is the split in front of the
bucket, the last corner the one behind it.
"""

from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t, uint16_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset


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
    2. found[0]: the lowest cost of a split between two buckets; found[1]: a bound of all."""
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


cdef struct Found:              # the best split of a column so far
    double lowest               # cost of the best one
    double cost                 # of the first one tied with it
    double left[MOST_CLASSES]   # its class weights
    Py_ssize_t at               # its rows, 0: there is none


cdef struct Valued:             # a row of a bucket
    double x
    int32_t row


cdef Valued* sort_values(Valued* a, Valued* b, Py_ssize_t m) noexcept nogil:
    """Rows by value, equal ones in their order, by merging; the sorted ones stand in a or in b."""
    cdef Py_ssize_t width = 1, start, middle, end, i, j, at
    while width < m:
        start = 0
        while start < m:
            middle, end = min(start + width, m), min(start + 2 * width, m)
            i, j = start, middle
            for at in range(start, end):
                if j >= end or (i < middle and a[i].x <= a[j].x):
                    b[at] = a[i]
                    i += 1
                else:
                    b[at] = a[j]
                    j += 1
            start = end
        a, b = b, a
        width *= 2
    return a


cdef void scan_bucket(const Valued* rows, Py_ssize_t m, Py_ssize_t first, Py_ssize_t n,
                      const double[::1] weights, const int32_t[::1] labels, int criterion,
                      const double* low, const double* total, int K, double tie,
                      Found* best) noexcept nogil:
    """Every split behind a row of a bucket that the next row's value differs from: values of the
    next bucket always do. Before the bucket there are `first` of all n rows."""
    cdef double left[MOST_CLASSES]
    cdef double cost
    cdef Py_ssize_t i
    memcpy(left, low, sizeof(left))
    for i in range(min(m, n - 1 - first)):
        left[labels[rows[i].row]] += weights[rows[i].row]
        if i + 1 < m and rows[i].x == rows[i + 1].x:
            continue
        cost = corner_cost(criterion, 0, left, left, total, K)
        if cost < best.lowest:
            if best.cost > cost + tie:
                best.at, best.cost = first + i + 1, cost
                memcpy(best.left, left, sizeof(left))
            best.lowest = cost


cdef Py_ssize_t wanted_buckets(const double* sums, const int32_t[::1] starts, Py_ssize_t buckets,
                               int criterion, const double* total, int K, double limit,
                               int32_t* place) noexcept nogil:
    """Fills where the rows of a bucket shall stand, -1: it cannot hold the best split; returns
    the number of rows."""
    cdef double low[MOST_CLASSES]
    cdef double high[MOST_CLASSES]
    cdef double behind = INFINITY, before = INFINITY
    cdef Py_ssize_t b, rows = 0
    cdef int k
    memset(low, 0, sizeof(low))
    for b in range(buckets):
        place[b] = -1
        for k in range(K):
            high[k] = low[k] + sums[k * buckets + b]
        if starts[b + 1] > starts[b]:
            if min(before, lowest_corner(criterion, low, high, total, K, &behind)) <= limit:
                place[b] = <int32_t> rows
                rows += starts[b + 1] - starts[b]
            before = behind
        memcpy(low, high, sizeof(low))
    return rows


cdef void collect(const double[:] x, const int32_t[::1] at, const uint16_t[::1] cells,
                  Py_ssize_t buckets, int32_t* place, Valued* rows) noexcept nogil:
    """The rows of the wanted buckets, in their order; `place` moves to the buckets' ends."""
    cdef Py_ssize_t i, b
    for i in range(cells.shape[0]):
        b = cells[i] & (buckets - 1)
        if place[b] >= 0:
            rows[place[b]].row, rows[place[b]].x = <int32_t> i, x[at[i]]
            place[b] += 1


def best_in_buckets(const double[:] x, const int32_t[::1] at, const uint16_t[::1] cells,
                    const double[::1] weights, const int32_t[::1] labels,
                    const int32_t[::1] starts, const double[::1] sums, int n_classes, int criterion,
                    double limit, double tie, double[::1] left):
    """(cost, rows on the left, weights of their classes in `left`) of the best split; the first
    of those within `tie` of the lowest. Only buckets with a corner up to `limit` are looked at.

    Row i has the value x[at[i]]. starts: rows before each bucket; cells, sums: as for
    `bucket_bounds`, a power of two of buckets.
    """
    cdef double total[MOST_CLASSES]
    cdef double low[MOST_CLASSES]
    cdef Py_ssize_t b, m, n = cells.shape[0], buckets = sums.shape[0] // n_classes
    cdef Py_ssize_t many
    cdef int32_t* place = <int32_t*> malloc(buckets * sizeof(int32_t))
    cdef Valued* rows = NULL
    cdef Valued* here
    cdef Found best
    cdef int k
    if place == NULL:
        raise MemoryError
    class_totals(&sums[0], buckets, n_classes, total)
    many = wanted_buckets(&sums[0], starts, buckets, criterion, total, n_classes, limit, place)
    rows = <Valued*> malloc(2 * max(many, 1) * sizeof(Valued))
    if rows == NULL:
        free(place)
        raise MemoryError
    with nogil:
        collect(x, at, cells, buckets, place, rows)
        memset(low, 0, sizeof(low))
        best.at, best.lowest, best.cost = 0, INFINITY, INFINITY
        for b in range(buckets):
            m = starts[b + 1] - starts[b]
            if place[b] >= 0:
                here = sort_values(rows + place[b] - m, rows + many, m)
                scan_bucket(here, m, starts[b], n, weights, labels, criterion, low, total,
                            n_classes, tie, &best)
            for k in range(n_classes):
                low[k] += sums[k * buckets + b]
        for k in range(n_classes if best.at > 0 else 0):
            left[k] = best.left[k]
        free(rows)
        free(place)
    return best.cost, best.at
