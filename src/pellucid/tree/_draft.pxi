# Nodes under construction, in memory that grows without Python.

cdef class Draft:
    """Nodes under construction: records, class weights (or means), words of level sets."""

    cdef Record* nodes
    cdef double* counts
    cdef uint32_t* words
    cdef Py_ssize_t n_nodes, room, n_words, word_room
    cdef int size

    def __cinit__(self, int size):
        self.size = size

    def __dealloc__(self):
        free(self.nodes)
        free(self.counts)
        free(self.words)

    cdef int reserve(self, Py_ssize_t nodes, Py_ssize_t words) noexcept nogil:
        """Room for that many more; 0 if there is enough memory."""
        cdef Py_ssize_t room
        cdef void* moved
        if self.n_nodes + nodes > self.room:
            room = 2 * (self.n_nodes + nodes) + 6
            moved = realloc(self.nodes, room * sizeof(Record))
            if moved == NULL:
                return -1
            self.nodes = <Record*> moved
            moved = realloc(self.counts, room * self.size * sizeof(double))
            if moved == NULL:
                return -1
            self.counts = <double*> moved
            self.room = room
        if self.n_words + words > self.word_room:
            room = 2 * (self.n_words + words)
            moved = realloc(self.words, room * sizeof(uint32_t))
            if moved == NULL:
                return -1
            self.words = <uint32_t*> moved
            self.word_room = room
        return 0

    def __len__(self):
        return self.n_nodes

    def segment(self, Py_ssize_t i):
        """(start, end, stopped, decrease, left, right) of node i."""
        cdef Record* node = self.nodes + i
        return node.start, node.end, bool(node.stopped), node.decrease, node.left, node.right

    def close(self, Py_ssize_t i):
        """Node i stays a leaf although a division was found."""
        self.nodes[i].feature = -1
        self.nodes[i].threshold = self.nodes[i].decrease = 0.0
        self.nodes[i].missing_left = 0


cdef struct Part:               # the memory of one draft
    const Record* nodes
    const double* counts
    const uint32_t* words


cdef class Gathered:
    """The arrays of one tree in depth-first order, left before right; names as in `nodes.Nodes`."""

    cdef readonly object feature, threshold, left, right, missing_left, set_start, sets
    cdef readonly object counts, cost, decrease, rows, weight, lower, upper

    def __init__(self, Py_ssize_t m, int size, Py_ssize_t words, bint bounded):
        self.feature, self.left = np.empty(m, np.int32), np.full(m, -1, np.int32)
        self.right, self.set_start = np.full(m, -1, np.int32), np.full(m, -1, np.int32)
        self.threshold, self.cost, self.decrease = np.empty(m), np.empty(m), np.empty(m)
        self.weight, self.rows = np.empty(m), np.empty(m, np.int64)
        self.missing_left, self.sets = np.empty(m, np.uint8), np.empty(words, np.uint32)
        self.counts = np.empty((m, size))
        self.lower, self.upper = np.empty(m * bounded), np.empty(m * bounded)


def gather(list drafts, const int32_t[::1] attach, const int32_t[::1] n_levels, bint bounded=False):
    """One tree from a trunk, drafts[0], and its branches; branch k grows out of node attach[k - 1].

    The node of the trunk at which a branch grows is the root of the branch.
    """
    cdef Draft draft, trunk = drafts[0]
    cdef Py_ssize_t k, n_parts = len(drafts), m = -attach.shape[0], n_words = 0
    cdef Part* parts = <Part*> malloc(n_parts * sizeof(Part))
    cdef int32_t[::1] branch = np.zeros(trunk.n_nodes, np.int32)
    if parts == NULL:
        raise MemoryError
    for k in range(n_parts):
        draft = drafts[k]
        parts[k].nodes, parts[k].counts, parts[k].words = draft.nodes, draft.counts, draft.words
        m, n_words = m + draft.n_nodes, n_words + draft.n_words
        if k > 0:
            branch[attach[k - 1]] = <int32_t> k
    out = Gathered(m, trunk.size, n_words, bounded)
    cdef int32_t[:, ::1] waiting = np.empty((m + 2, 3), np.int32)
    try:
        gather_parts(parts, trunk.size, branch, n_levels, waiting, out)
    finally:
        free(parts)
    return out


cdef gather_parts(const Part* parts, int size, const int32_t[::1] branch,
                  const int32_t[::1] n_levels, int32_t[:, ::1] waiting, Gathered out):
    """Walk down: `waiting` holds part, node, and the parent that a right child has, else -1."""
    cdef int32_t[::1] feature = out.feature, left = out.left, right = out.right
    cdef int32_t[::1] set_start = out.set_start
    cdef uint8_t[::1] missing_left = out.missing_left
    cdef double[::1] threshold = out.threshold, cost = out.cost, decrease = out.decrease
    cdef double[::1] weight = out.weight, lower = out.lower, upper = out.upper
    cdef int64_t[::1] rows = out.rows
    cdef double[:, ::1] counts = out.counts
    cdef uint32_t[::1] sets = out.sets
    cdef const Record* node
    cdef const uint32_t* words
    cdef Py_ssize_t height = 1, used = 0, length
    cdef int32_t at = 0, part, i, parent
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = 0, 0, -1
    while height > 0:
        height -= 1
        part, i, parent = waiting[height, 0], waiting[height, 1], waiting[height, 2]
        if part == 0 and branch[i] > 0:
            part, i = branch[i], 0
        node = parts[part].nodes + i
        if parent >= 0:
            right[parent] = at
        feature[at], threshold[at], weight[at] = node.feature, node.threshold, node.weight
        cost[at], decrease[at], rows[at] = node.cost, node.decrease, node.end - node.start
        missing_left[at] = <uint8_t> node.missing_left
        if lower.shape[0]:
            lower[at], upper[at] = node.lower, node.upper
        memcpy(&counts[at, 0], parts[part].counts + i * size, size * sizeof(double))
        if node.set_start != -1:
            words = parts[part].words + (
                node.set_start if node.set_start >= 0 else -2 - node.set_start)
            if node.set_start >= 0:
                length, set_start[at] = (n_levels[node.feature] + 31) // 32, <int32_t> used
            else:
                length, set_start[at] = 1 + words[0], <int32_t> (-2 - used)
            memcpy(&sets[used], words, length * sizeof(uint32_t))
            used += length
        if node.left >= 0:
            left[at] = at + 1
            waiting[height, 0], waiting[height, 1], waiting[height, 2] = part, node.right, at
            height += 1
            waiting[height, 0], waiting[height, 1], waiting[height, 2] = part, node.left, -1
            height += 1
        at += 1
    out.sets = out.sets[:used]
