"""The best division of one column of a node, from its histogram."""


cdef struct Order:              # of a level's bin along its mean slope
    double key
    int32_t bin


cdef inline double drop(double g, double h, double l2, double lower, double upper) noexcept nogil:
    """Twice the drop of the quadratic model at its best value inside the bounds."""
    cdef double value = -g / (h + l2)
    if lower <= value <= upper:
        return g * g / (h + l2)
    value = lower if value < lower else upper
    return -(2.0 * g + (h + l2) * value) * value


cdef inline bint in_order(const Node* node, const Limits* p, double gl, double hl, double gr,
                          double hr, int sign) noexcept nogil:
    """Whether the children's values go the way that the column's constraint asks."""
    cdef double left = min(max(-gl / (hl + p.l2), node.lower), node.upper)
    cdef double right = min(max(-gr / (hr + p.l2), node.lower), node.upper)
    return left <= right if sign > 0 else left >= right


cdef inline void consider(const Node* node, const Limits* p, double gl, double hl, double cl,
                          int sign, Split* best, int32_t feature, int32_t at,
                          int32_t missing_left) noexcept nogil:
    """Keep the division in `best` if it is allowed and better; samples were looked at before."""
    cdef double gr = node.g - gl, hr = node.h - hl, score
    if hl < p.min_h or hr < p.min_h:
        return
    if p.bounded:
        score = (drop(gl, hl, p.l2, node.lower, node.upper)
                 + drop(gr, hr, p.l2, node.lower, node.upper))
        if sign != 0 and score > best.bar and not in_order(node, p, gl, hl, gr, hr, sign):
            return
    else:
        score = gl * gl / (hl + p.l2) + gr * gr / (hr + p.l2)
    if score > best.bar:
        best.score, best.bar = score, score + TIE * (score if score > 0 else -score)
        best.gl, best.hl, best.cl = gl, hl, cl
        best.feature, best.bin, best.missing_left, best.is_set = feature, at, missing_left, 0


cdef void scan_numbers(const Entry* e, int n_bins, const Entry* missing, const Node* node,
                       const Limits* p, int sign, int32_t feature, Split* best) noexcept nogil:
    """Every threshold, with the missing rows right and, if there are any, left."""
    cdef double gl, hl, cl
    cdef int b, side, sides = 2 if missing.c > 0 else 1
    for side in range(sides):
        gl, hl, cl = 0.0, 0.0, 0.0
        if side == 1:
            gl, hl, cl = missing.g, missing.h, missing.c
        for b in range(n_bins if sides == 2 and side == 0 else n_bins - 1):
            if e[b].c == 0:             # the same division as at the bin before
                continue
            gl += e[b].g
            hl += e[b].h
            cl += e[b].c
            if cl < p.min_c:
                continue
            if node.c - cl < p.min_c:
                break
            consider(node, p, gl, hl, cl, sign, best, feature, b, side if sides == 2 else -1)


cdef int by_key(const void* a, const void* b) noexcept nogil:
    cdef const Order* x = <const Order*> a
    cdef const Order* y = <const Order*> b
    if x.key != y.key:
        return -1 if x.key < y.key else 1
    return x.bin - y.bin


cdef void scan_sets(const Entry* e, int n_bins, const Entry* missing, const Node* node,
                    const Limits* p, int32_t feature, Split* best) noexcept nogil:
    """Sets of levels along their smoothed mean slope; small levels of the node are one level."""
    cdef Order order[257]
    cdef Entry pooled
    cdef const Entry* this
    cdef double gl, hl, cl, smooth = SUPPORT * node.h / node.c, before = best.bar
    cdef int b, k, m = 0, side, sides = 2 if missing.c > 0 else 1, at = -1, at_side = 0
    pooled.g, pooled.h, pooled.c = 0.0, 0.0, 0.0
    for b in range(n_bins):
        if e[b].c >= SUPPORT:
            order[m].key, order[m].bin = e[b].g / (e[b].h + smooth), b
            m += 1
        elif e[b].c > 0:
            pooled.g += e[b].g
            pooled.h += e[b].h
            pooled.c += e[b].c
    if pooled.c > 0:
        order[m].key, order[m].bin = pooled.g / (pooled.h + smooth), 256
        m += 1
    qsort(order, m, sizeof(Order), &by_key)
    for side in range(sides):
        gl, hl, cl = 0.0, 0.0, 0.0
        if side == 1:
            gl, hl, cl = missing.g, missing.h, missing.c
        for k in range(m if sides == 2 and side == 0 else m - 1):
            this = e + order[k].bin if order[k].bin < 256 else &pooled
            gl += this.g
            hl += this.h
            cl += this.c
            if cl < p.min_c or node.c - cl < p.min_c:
                continue
            before = best.bar
            consider(node, p, gl, hl, cl, 0, best, feature, 0, side)
            if best.bar > before:
                at, at_side = k, side
    if at >= 0:
        set_of_bins(e, n_bins, order, at, node, at_side if sides == 2 else -1, best)


cdef void set_of_bins(const Entry* e, int n_bins, const Order* order, int at, const Node* node,
                      int side, Split* best) noexcept nogil:
    """The bins of the first levels in order; bins without rows, and missing, with the larger part."""
    cdef int b, k
    cdef bint small_left = False, most_left = 2 * best.cl > node.c
    memset(best.bins, 0, sizeof(best.bins))
    for k in range(at + 1):
        if order[k].bin < 256:
            best.bins[order[k].bin >> 6] |= <uint64_t> 1 << (order[k].bin & 63)
        else:
            small_left = True
    for b in range(n_bins):
        if (0 < e[b].c < SUPPORT and small_left) or (e[b].c == 0 and most_left):
            best.bins[b >> 6] |= <uint64_t> 1 << (b & 63)
    best.is_set, best.missing_left = 1, most_left if side < 0 else side
