"""The best split of one column of a node, from its histogram."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from pellucid.tree._histogram_records cimport (
    EXPECTED_GAIN, SUPPORT, TIE, Cell, Limits, Node, Split, Units, add_words, count_of,
    curvature_of,
)


cdef struct Order:              # of a level's bin along its mean gradient
    double key
    int32_t bin


cdef inline bint in_order(const Node* node, const Limits* p, double gl, double hl, double gr,
                          double hr, int sign) noexcept nogil:
    """Whether the children's values go the way that the column's constraint asks."""
    cdef double left = min(max(-gl / (hl + p.l2), node.lower), node.upper)
    cdef double right = min(max(-gr / (hr + p.l2), node.lower), node.upper)
    return left <= right if sign > 0 else left >= right


cdef inline bint consider(const Node* node, const Units* u, const Limits* p, const Cell* left,
                          int sign, double penalty, Split* best) noexcept nogil:
    """Whether a split is better, by a penalty, than the best so far, whose score it then is; the
    scores are compared as ratios, without a quotient. Samples were checked before."""
    cdef double gl = <double> left.g * u.g, hl = curvature_of(u, left.hc)
    cdef double gr = node.g - gl, hr = node.h - hl, num, den
    if hl < p.min_h or hr < p.min_h:
        return False
    if p.bounded:
        den = 1.0
        num = (drop(gl, hl, p.l2, node.lower, node.upper)
               + drop(gr, hr, p.l2, node.lower, node.upper))
        if sign != 0 and not in_order(node, p, gl, hl, gr, hr, sign):
            return False
    else:
        den = (hl + p.l2) * (hr + p.l2)
        num = gl * gl * (hr + p.l2) + gr * gr * (hl + p.l2)
    num -= penalty * den
    if num * best.den <= (best.num + TIE * (best.num if best.num > 0 else -best.num)) * den:
        return False
    best.num, best.den, best.left = num, den, left[0]
    return True


cdef void scan_numbers(const Cell* e, int n_bins, const Cell* missing, const Node* node,
                       const Units* u, const Limits* p, int sign, int32_t feature,
                       Split* best) noexcept nogil:
    """Every threshold behind a bin that has rows, with the missing rows right and, if there are any,
    left. The bins after it without rows would give the same children; behind the first bin, missing
    rows may be alone."""
    cdef Cell below[256]
    cdef uint8_t filled[256]
    cdef Cell left
    cdef int k, n = filled_bins(e, n_bins, filled), first, last
    cdef int side, sides = 2 if count_of(u, missing.hc) > 0 else 1
    for side in range(sides):
        left.g, left.hc = 0, 0
        if side == 1:
            left = missing[0]
        for k in range(n):
            left.g += e[filled[k]].g
            left.hc += e[filled[k]].hc
            below[k] = left
        first, last = 0, n - 1 if sides == 2 and side == 0 else n - 2
        # Samples and curvatures only grow: what is allowed is one range of thresholds.
        while first <= last and not enough(u, p, below[first].hc):
            first += 1
        while last >= first and not enough(u, p, node.total.hc - below[last].hc):
            last -= 1
        k = (best_threshold(below, first, last, node, u, p, sign, best) if p.bounded
             else best_free_threshold(below, first, last, node, u, p, best))
        if k >= 0:
            best.feature, best.bin, best.is_set = feature, filled[k], 0
            best.missing_left = side if sides == 2 else -1


cdef inline int filled_bins(const Cell* e, int n_bins, uint8_t* filled) noexcept nogil:
    """The first bin and those that have rows: how many. Every row counts for at least one sample."""
    cdef int b, n = 0
    for b in range(n_bins):
        filled[n] = <uint8_t> b
        n += b == 0 or e[b].hc != 0
    return n


cdef inline bint enough(const Units* u, const Limits* p, int64_t hc) noexcept nogil:
    """Whether a child with these sums is large enough."""
    return count_of(u, hc) >= p.min_c and curvature_of(u, hc) >= p.min_h


cdef int best_threshold(const Cell* below, int first, int last, const Node* node, const Units* u,
                        const Limits* p, int sign, Split* best) noexcept nogil:
    """The last place in `below` that goes left, -1 if nothing is better than what is known."""
    cdef int b, at = -1
    for b in range(first, last + 1):
        if consider(node, u, p, below + b, sign, 0.0, best):
            at = b
    return at


cdef int best_free_threshold(const Cell* below, int first, int last, const Node* node,
                             const Units* u, const Limits* p, Split* best) noexcept nogil:
    """The same without constraints."""
    cdef int b, at = -1
    cdef double gl, hl, gr, hr, num, den
    cdef double bar = best.num + TIE * (best.num if best.num > 0 else -best.num), bar_den = best.den
    for b in range(first, last + 1):
        gl = <double> below[b].g * u.g
        hl = <double> (below[b].hc >> u.shift) * u.h
        gr, hr, hl = node.g - gl, node.h - hl + p.l2, hl + p.l2
        den = hl * hr
        num = gl * gl * hr + gr * gr * hl
        if num * bar_den > bar * den:
            best.num, best.den = num, den
            bar, bar_den, at = num * (1.0 + TIE), den, b
    if at >= 0:
        best.left = below[at]
    return at


cdef int by_key(const void* a, const void* b) noexcept nogil:
    cdef const Order* x = <const Order*> a
    cdef const Order* y = <const Order*> b
    if x.key != y.key:
        return -1 if x.key < y.key else 1
    return x.bin - y.bin


cdef inline double key_of(const Cell* e, const Units* u, double smooth) noexcept nogil:
    return <double> e.g * u.g / (curvature_of(u, e.hc) + smooth)


cdef int order_levels(const Cell* e, int n_bins, const Node* node, const Units* u, Order* order,
                      Cell* pooled) noexcept nogil:
    """Levels by their smoothed mean gradient: how many; small levels of the node are one (256)."""
    cdef double smooth = SUPPORT * node.h / node.c
    cdef int b, m = 0
    pooled.g, pooled.hc = 0, 0
    for b in range(n_bins):
        if count_of(u, e[b].hc) >= SUPPORT:
            order[m].key, order[m].bin = key_of(e + b, u, smooth), b
            m += 1
        elif count_of(u, e[b].hc) > 0:
            add_words(pooled, e + b)
    if count_of(u, pooled.hc) > 0:
        order[m].key, order[m].bin = key_of(pooled, u, smooth), 256
        m += 1
    qsort(order, m, sizeof(Order), &by_key)
    return m


cdef void scan_sets(const Cell* e, int n_bins, const Cell* missing, const Node* node,
                    const Units* u, const Limits* p, int32_t feature, Split* best) noexcept nogil:
    """Sets of levels along their order, with the missing rows right and, if there are any, left.

    The order is learned from the gradients that the split is to explain: of m levels that mean nothing
    the upper half lies above the lower one, and the split between gains 2 / pi * m times the noise
    (a mean of half a normal distribution is sqrt(2 / pi)). Two levels have no order to learn, so a set
    has to gain more than 2 / pi * (m - 2) times the noise.
    """
    cdef Order order[257]
    cdef Cell pooled, left
    cdef int k, m = order_levels(e, n_bins, node, u, order, &pooled), at = -1, at_side = 0
    cdef int side, sides = 2 if count_of(u, missing.hc) > 0 else 1
    cdef double cl, penalty = EXPECTED_GAIN * max(m - 2, 0) * u.noise
    for side in range(sides):
        left.g, left.hc = 0, 0
        if side == 1:
            left = missing[0]
        for k in range(m if sides == 2 and side == 0 else m - 1):
            add_words(&left, e + order[k].bin if order[k].bin < 256 else &pooled)
            cl = count_of(u, left.hc)
            if cl < p.min_c or node.c - cl < p.min_c:
                continue
            if consider(node, u, p, &left, 0, penalty, best):
                best.feature, best.bin, at, at_side = feature, 0, k, side
    if at >= 0:
        set_of_bins(e, n_bins, order, at, node, u, at_side if sides == 2 else -1, best)


cdef void set_of_bins(const Cell* e, int n_bins, const Order* order, int at, const Node* node,
                      const Units* u, int side, Split* best) noexcept nogil:
    """The bins of the first levels in order; bins without rows, and missing, with the larger part."""
    cdef int b, k
    cdef double c
    cdef bint small_left = False, most_left = 2 * count_of(u, best.left.hc) > node.c
    memset(best.bins, 0, sizeof(best.bins))
    for k in range(at + 1):
        if order[k].bin < 256:
            best.bins[order[k].bin >> 6] |= <uint64_t> 1 << (order[k].bin & 63)
        else:
            small_left = True
    for b in range(n_bins):
        c = count_of(u, e[b].hc)
        if (0 < c < SUPPORT and small_left) or (c == 0 and most_left):
            best.bins[b >> 6] |= <uint64_t> 1 << (b & 63)
    best.is_set, best.missing_left = 1, most_left if side < 0 else side
