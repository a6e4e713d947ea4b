# Many rows through many trees. Values of all trees are compared with few thresholds, so that each
# cell is first replaced by its rank among the thresholds of its column (uint16): x <= threshold[r]
# exactly if rank(x) <= r. A row takes two bytes a column then, a node eight.
#
# The children of a node stand side by side: node = child + (rank > cut). A leaf is its own child and
# its cut is the largest number, so a step needs no branch. If cells are missing a column stands twice,
# once with a rank above all cuts (they go right) and once with 0 (they go left).

cdef struct Step:
    uint16_t column             # its place in a row of ranks
    uint16_t cut
    int32_t child               # the left one


cdef enum:
    LANES = 16                  # rows under way at once
    ROUND = 3                   # steps between two looks at whether all are done
    BLOCK = 128                 # rows whose ranks are found at once
    MISSING = 65535
    PRESENT = 65534             # cut of a division into present and missing
    MOST = 65533                # thresholds of a column


cdef inline void walk(const Step* steps, const uint16_t* rows, Py_ssize_t width,
                      int32_t* leaf) noexcept nogil:
    """Leaves of LANES rows, all of them one step at a time."""
    cdef int32_t node[LANES]
    cdef int32_t moved = 1
    cdef int lane, k
    for lane in range(LANES):
        node[lane] = 0
    while moved:
        for k in range(ROUND):
            for lane in range(LANES):
                node[lane] = steps[node[lane]].child + <int32_t> (
                    rows[lane * width + steps[node[lane]].column] > steps[node[lane]].cut)
        moved = 0
        for lane in range(LANES):
            moved |= steps[node[lane]].child ^ node[lane]
    for lane in range(LANES):
        leaf[lane] = node[lane]


cdef inline void ranks(const double* cuts, Py_ssize_t n, const double* x, int32_t* at) noexcept nogil:
    """How many of n ascending cuts lie below each of LANES values, without a branch."""
    cdef Py_ssize_t half
    cdef int lane
    for lane in range(LANES):
        at[lane] = 0
    while n > 1:
        half = n >> 1
        for lane in range(LANES):
            at[lane] += <int32_t> half & -<int32_t> (cuts[at[lane] + half - 1] < x[lane])
        n -= half
    if n == 1:
        for lane in range(LANES):
            at[lane] += cuts[at[lane]] < x[lane]
