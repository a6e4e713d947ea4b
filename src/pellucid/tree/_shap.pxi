# Shapley values of one row in one tree, the columns outside a coalition averaged along the tree: a row
# goes to both children of a division by such a column, in the shares of their training weights.
#
# Instead of all coalitions a path of the columns met so far is kept (Lundberg, Erion and Lee 2018,
# algorithm 2): weight[s] is the sum over its subsets of s columns of their share of the permutations
# times the probability that the row comes here. 1. `extend` adds a column, 2. `unwind` takes one out
# again if the path meets it twice, 3. a leaf adds its value to every column of the path.

cdef struct Element:
    double zero                 # share of the rows that come this way if the column is not known
    double one                  # 1 if this row comes this way when it is known, else 0
    double weight
    int32_t feature


cdef void extend(Element* path, int depth, double zero, double one, int32_t feature) noexcept nogil:
    cdef int i
    path[depth].feature, path[depth].zero, path[depth].one = feature, zero, one
    path[depth].weight = 1.0 if depth == 0 else 0.0
    for i in range(depth - 1, -1, -1):
        path[i + 1].weight += one * path[i].weight * (i + 1) / (depth + 1)
        path[i].weight = zero * path[i].weight * (depth - i) / (depth + 1)


cdef void unwind(Element* path, int depth, int at) noexcept nogil:
    cdef double one = path[at].one, zero = path[at].zero, following = path[depth].weight, before
    cdef int i
    for i in range(depth - 1, -1, -1):
        if one != 0.0:
            before = path[i].weight
            path[i].weight = following * (depth + 1) / ((i + 1) * one)
            following = before - path[i].weight * zero * (depth - i) / (depth + 1)
        else:
            path[i].weight = path[i].weight * (depth + 1) / (zero * (depth - i))
    for i in range(at, depth):
        path[i].feature, path[i].zero, path[i].one = (
            path[i + 1].feature, path[i + 1].zero, path[i + 1].one)


cdef double unwound_sum(const Element* path, int depth, int at) noexcept nogil:
    """Sum of the weights after taking out one column, without changing the path."""
    cdef double one = path[at].one, zero = path[at].zero, following = path[depth].weight
    cdef double total = 0.0, here
    cdef int i
    for i in range(depth - 1, -1, -1):
        if one != 0.0:
            here = following * (depth + 1) / ((i + 1) * one)
            total += here
            following = path[i].weight - here * zero * (depth - i) / (depth + 1)
        else:
            total += path[i].weight * (depth + 1) / (zero * (depth - i))
    return total


cdef void shapley(const Tree* t, const double* cover, int32_t node, const double* x,
                  Py_ssize_t stride, const Element* parent, Element* path, int depth, double zero,
                  double one, int32_t feature, double scale, double* out) noexcept nogil:
    """Add the Shapley values of the leaves below a node to out (d, K); x[f * stride] is a cell."""
    cdef double share, seen_zero = 1.0, seen_one = 1.0
    cdef int32_t f = t.feature[node], hot, cold
    cdef int i, at = -1
    cdef Py_ssize_t k
    if depth > 0:
        memcpy(path, parent, depth * sizeof(Element))
    extend(path, depth, zero, one, feature)
    if f < 0:                                                                           # 3
        for i in range(1, depth + 1):
            share = scale * unwound_sum(path, depth, i) * (path[i].one - path[i].zero)
            for k in range(t.K):
                out[path[i].feature * t.K + k] += share * t.value[node * t.K + k]
        return
    hot = child(t, node, x[f * stride])
    cold = t.right[node] if hot == t.left[node] else t.left[node]
    for i in range(1, depth + 1):
        if path[i].feature == f:
            at = i
    if at >= 0:                                                                         # 2
        seen_zero, seen_one = path[at].zero, path[at].one
        unwind(path, depth, at)
        depth -= 1
    shapley(t, cover, hot, x, stride, path, path + depth + 1, depth + 1,
            seen_zero * cover[hot] / cover[node], seen_one, f, scale, out)
    shapley(t, cover, cold, x, stride, path, path + depth + 1, depth + 1,
            seen_zero * cover[cold] / cover[node], 0.0, f, scale, out)
