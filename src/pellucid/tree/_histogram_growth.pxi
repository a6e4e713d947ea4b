"""Memory of the growing trees, the order of their nodes, and dividing these (steps 1 and 2)."""


cdef inline uint64_t mix(uint64_t z) noexcept nogil:
    """The finaliser of splitmix64: a child's key follows from its parent's, never from a thread."""
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    return z ^ (z >> 31)


cdef void* grown_to(void* memory, size_t size) except? NULL:
    cdef void* new = realloc(memory, size)
    if new == NULL and size > 0:
        raise MemoryError
    return new


cdef int make_room(void** memory, size_t size) noexcept nogil:
    """0, or -1 if there is none; what was there stays."""
    cdef void* new = realloc(memory[0], size)
    if new == NULL:
        return -1
    memory[0] = new
    return 0


cdef inline Cell* gathered(Draft* t, const Node* node) noexcept nogil:
    """Where a smaller child's cells stand in order: it has at most half of its parent's rows, so half
    of the room is enough. The root of drawn rows stands at the beginning."""
    return t.ordered + ((t.nodes[node.parent].start + 1) // 2 if node.parent >= 0 else 0)


cdef inline int32_t* scratch_of(Draft* t, const Node* node) noexcept nogil:
    """Room for the rows of a node while they are sent: where its smaller child's cells will stand."""
    return <int32_t*> (t.ordered + (node.start + 1) // 2)


cdef bint is_larger(const Draft* t, const Node* node) noexcept nogil:
    """Whether a node is the larger of two children; of equal ones that is the right one."""
    cdef const Node* above = t.nodes + node.parent
    if node.parent < 0:
        return False
    if 2 * (node.end - node.start) == above.end - above.start:
        return node.start > above.start
    return 2 * (node.end - node.start) > above.end - above.start


cdef class Drafts:
    """Binned columns, limits and working memory; drafts of the trees that grow together."""

    cdef const uint32_t[:, ::1] words          # (blocks of four columns, rows)
    cdef const int32_t[::1] n_bins             # 0 for columns that only fill a word
    cdef const uint8_t[::1] kinds              # 1: bins are levels
    cdef const signed char[::1] signs          # monotone: 1 up, -1 down
    cdef const int32_t[::1] samples            # by row; none: 1 each
    cdef const uint8_t[:, ::1] columns         # the bins again, column after column
    cdef const uint8_t[:, ::1] groups          # columns that may stand on one path; none: all
    cdef const int32_t[::1] stop
    cdef int64_t* first                        # entry of a column in a histogram
    cdef Limits p
    cdef int shift, n_drafts, n_blocks, n_columns
    cdef Py_ssize_t n
    cdef Draft* drafts
    # Draft k grows at desk k % n_desks, after draft k - n_desks: memory is for as many trees as there
    # are threads, however many classes.
    cdef int n_desks
    cdef const int32_t[::1] round_rows         # None: all
    cdef Cell* pool                            # slots of each desk in turn
    cdef int n_slots                           # of a desk
    cdef int failed                            # no memory
    cdef long idle                             # threads without a task
    cdef Grown* grown                          # the trees of the last round
    cdef int64_t first_grown                   # nodes of the rounds before
    cdef dict fields                           # of all nodes so far, by name
    cdef uint64_t* sets
    cdef int64_t n_grown, room_grown, n_sets, room_sets
    cdef list starts
    cdef const double[:, :, ::1] slopes
    cdef double[:, ::1] raw
    cdef double rate, price
    cdef bint update, has_sets

    def __cinit__(self, const uint32_t[:, ::1] words, const int32_t[::1] n_bins,
                  const uint8_t[::1] kinds, const signed char[::1] signs,
                  const int32_t[::1] samples, int shift, const uint8_t[:, ::1] columns,
                  const uint8_t[:, ::1] groups, int n_drafts, int n_desks, int n_slots, limits,
                  const int32_t[::1] stop):
        cdef int j, k
        cdef Draft* desk
        self.words, self.n_bins, self.kinds, self.signs = words, n_bins, kinds, signs
        self.samples, self.shift, self.columns = samples, shift, columns
        self.groups, self.stop = groups, stop
        self.n, self.n_blocks, self.n_columns = words.shape[1], words.shape[0], kinds.shape[0]
        self.p.l2, self.p.min_c, self.p.min_split, self.p.min_h, self.p.min_gain = limits[:5]
        self.p.share, self.p.max_leaves, self.p.max_depth, self.p.bounded = limits[5:9]
        self.p.steep = limits[9]
        self.n_drafts, self.n_desks, self.starts = n_drafts, max(1, min(n_desks, n_drafts)), []
        self.has_sets = np.asarray(kinds).any()
        self.fields = {name: np.empty(0, dtype=kind) for name, kind in FIELDS.items()}  # see `expect`
        self.first = <int64_t*> calloc(n_bins.shape[0] + 1, sizeof(int64_t))
        self.drafts = <Draft*> calloc(n_drafts, sizeof(Draft))
        if self.first == NULL or self.drafts == NULL:
            raise MemoryError
        for j in range(n_bins.shape[0]):
            self.first[j + 1] = self.first[j] + n_bins[j] + 1
        self.n_slots = max(n_slots, 1)
        for k in range(n_drafts):
            self.drafts[k].number = k
            self.drafts[k].free_slots = <int32_t*> grown_to(NULL, self.n_slots * sizeof(int32_t))
            if k >= self.n_desks:
                desk = self.drafts + k % self.n_desks
                self.drafts[k].rows = desk.rows
                self.drafts[k].cells, self.drafts[k].ordered = desk.cells, desk.ordered
                continue
            self.drafts[k].rows = <int32_t*> grown_to(NULL, self.n * sizeof(int32_t))
            self.drafts[k].cells = <Cell*> grown_to(NULL, self.n * sizeof(Cell))
            self.drafts[k].ordered = <Cell*> grown_to(NULL, self.n * sizeof(Cell))
        self.pool = <Cell*> grown_to(
            NULL, <size_t> self.n_desks * self.n_slots * self.size() * sizeof(Cell))

    def __dealloc__(self):
        cdef int k
        cdef Draft* t
        if self.drafts != NULL:
            for k in range(self.n_drafts):
                t = self.drafts + k
                if k >= self.n_desks:
                    t.rows, t.ordered, t.cells = NULL, NULL, NULL
                for memory in (<size_t> t.nodes, <size_t> t.front, <size_t> t.rows,
                               <size_t> t.ordered, <size_t> t.cells, <size_t> t.jobs,
                               <size_t> t.pairs, <size_t> t.found,
                               <size_t> t.masks, <size_t> t.leaves, <size_t> t.free_slots):
                    free(<void*> <size_t> memory)
        for memory in (<size_t> self.first, <size_t> self.drafts, <size_t> self.pool,
                       <size_t> self.grown, <size_t> self.sets):
            free(<void*> <size_t> memory)

    cdef inline int64_t size(self) noexcept nogil:
        return self.first[self.n_bins.shape[0]]

    cdef int reserve(self, Draft* t, int more) noexcept nogil:
        """Room for more nodes of a draft."""
        if t.m + more <= t.room:
            return 0
        t.room = 2 * (t.m + more) + 64
        return (make_room(<void**> &t.nodes, t.room * sizeof(Node))
                | make_room(<void**> &t.front, t.room * sizeof(int32_t)))

    def begin(self, const double[:, :, ::1] slopes, const int32_t[::1] rows,
              const uint64_t[::1] keys, double[:, ::1] raw, double rate, double price, bint update):
        """A round begins at the roots. rows: those of the trees, sorted; None: all."""
        cdef int k, i
        cdef Draft* t
        self.slopes, self.raw, self.rate, self.round_rows = slopes, raw, rate, rows
        self.price, self.update, self.failed, self.idle = price, update, 0, 0
        for k in range(self.n_drafts):
            t = self.drafts + k
            t.m, t.n_front, t.n_leaves, t.batch, t.done = 0, 0, 1, 0, 0
            t.n_jobs, t.n_masks, t.n_listed, t.n_free = 0, 0, 0, self.n_slots
            for i in range(self.n_slots):
                t.free_slots[i] = (k % self.n_desks + 1) * self.n_slots - 1 - i
            t.slopes = <const Slope*> &slopes[k, 0, 0]
            if self.reserve(t, 1) < 0 or self.add_job(t, -1) < 0:
                raise MemoryError
            memset(t.nodes, 0, sizeof(Node))
            t.m = 1
            t.nodes[0].end = self.n if rows is None else rows.shape[0]
            t.nodes[0].key = mix(keys[k])
            t.nodes[0].lower, t.nodes[0].upper = -INFINITY, INFINITY
            t.nodes[0].slot, t.nodes[0].mask, t.nodes[0].left, t.nodes[0].parent = -1, -1, -1, -1
            t.nodes[0].split.feature = -1
            t.stage, t.to_take = WAITING, 0
        for k in range(self.n_desks):
            self.sit_down(self.drafts + k)

    cdef void sit_down(self, Draft* t) noexcept nogil:
        """A draft begins at its desk, which is free."""
        cdef int64_t i, m = t.nodes[0].end
        if m == self.n:
            for i in range(m):
                t.rows[i] = <int32_t> i
        else:
            memcpy(t.rows, &self.round_rows[0], m * sizeof(int32_t))
        mark(&t.stage, DIVIDE)
        open_tasks(t, 1)

    cdef int add_job(self, Draft* t, int32_t node) noexcept nogil:
        if t.n_jobs == t.room_jobs:
            t.room_jobs = 2 * t.room_jobs + 64
            if make_room(<void**> &t.jobs, t.room_jobs * sizeof(int32_t)) < 0:
                return -1
        t.jobs[t.n_jobs] = node
        t.n_jobs += 1
        return 0

    # 1 ------------------------------------------------------------------------------------------

    cdef int best_of_front(self, Draft* t, bint undivided) noexcept nogil:
        """Place of the leaf with the largest gain; the leftmost one on ties; -1: there is none."""
        cdef int i, best = -1
        cdef double top = 0.0
        cdef Node* node
        for i in range(t.n_front):
            node = t.nodes + t.front[i]
            if not (undivided and node.divided):
                top = max(top, node.split.gain)
        for i in range(t.n_front):
            node = t.nodes + t.front[i]
            if (undivided and node.divided) or node.split.gain < top * (1.0 - TIE):
                continue
            if best < 0 or node.start < t.nodes[t.front[best]].start:
                best = i
        return best

    cdef int plan(self, Draft* t) noexcept nogil:
        """Follow best-first order as far as it is known, then choose what to divide next."""
        cdef int i, wanted, left = self.p.max_leaves - t.n_leaves
        cdef int32_t node
        t.batch, t.n_jobs = 0, 0
        while self.limited() and t.n_front > 0 and left > 0:
            i = self.best_of_front(t, False)
            node = t.front[i]
            if not t.nodes[node].divided:
                break
            self.close(t, i)
            left -= 1
            self.add_to_front(t, t.nodes[node].left)
            self.add_to_front(t, t.nodes[node].right)
        if t.n_front == 0 or left == 0:
            t.done = 1
            return 0
        # More than the best one only while threads have nothing to do: it may be in vain.
        wanted = min(1 + 2 * <int> self.idle, (left + 1) // 2) if self.limited() else <int> MANY
        wanted = max(1, min(wanted, t.n_front))
        if self.reserve(t, 2 * wanted) < 0:
            return -1
        while t.batch < wanted:
            i = self.best_of_front(t, True) if self.limited() else t.n_front - 1
            if i < 0:
                break
            node = t.front[i]
            t.nodes[node].divided = 1
            t.nodes[node].left, t.nodes[node].right = t.m, t.m + 1
            t.m += 2
            if self.add_job(t, node) < 0:
                return -1
            t.batch += 1
            if not self.limited():
                self.close(t, i)
        return 0

    cdef bint limited(self) noexcept nogil:
        """Where leaves are not limited every division stands, and the order does not matter."""
        return self.p.max_leaves < 2147483647

    cdef void close(self, Draft* t, int i) noexcept nogil:
        """The i-th leaf of the front is divided for good."""
        t.nodes[t.front[i]].divided = 2
        t.front[i] = t.front[t.n_front - 1]
        t.n_front -= 1
        t.n_leaves += 1

    cdef void add_to_front(self, Draft* t, int32_t node) noexcept nogil:
        if t.nodes[node].split.feature >= 0:
            t.front[t.n_front] = node
            t.n_front += 1

    # 2 ------------------------------------------------------------------------------------------

    cdef void divide(self, Draft* t, long i) noexcept nogil:
        if t.jobs[i] < 0:
            self.open_root(t)
        else:
            self.divide_node(t, t.jobs[i])

    cdef void open_root(self, Draft* t) noexcept nogil:
        cdef Node* root = t.nodes
        cdef const int32_t* samples = &self.samples[0] if self.samples.shape[0] else NULL
        set_units(t.slopes, t.rows, root.end, self.shift, &t.units)
        t.units.noise = noise_of(t.slopes, samples, t.rows, root.end) if self.has_sets else 0.0
        root.total = to_cells(t.slopes, samples, t.rows, root.end, &t.units, t.cells,
                              NULL if root.end == self.n else t.ordered)
        self.set_numbers(t, root)

    cdef void set_numbers(self, Draft* t, Node* node) noexcept nogil:
        node.g, node.h = <double> node.total.g * t.units.g, curvature_of(&t.units, node.total.hc)
        node.c = count_of(&t.units, node.total.hc)

    cdef void divide_node(self, Draft* t, int32_t number) noexcept nogil:
        cdef Node* node = t.nodes + number
        cdef Node* left = t.nodes + node.left
        cdef Node* right = t.nodes + node.right
        cdef int32_t f = node.split.feature
        cdef int64_t at = node.start + send_rows(
            &node.split, &self.columns[f, 0], t.rows + node.start, scratch_of(t, node),
            node.end - node.start, self.n_bins[f])
        cdef Node* small = left
        memset(left, 0, sizeof(Node))
        memset(right, 0, sizeof(Node))
        left.start, left.end, right.start, right.end = node.start, at, at, node.end
        left.parent, right.parent = number, number
        left.total = node.split.left
        right.total.g = node.total.g - left.total.g
        right.total.hc = node.total.hc - left.total.hc
        self.set_numbers(t, left)
        self.set_numbers(t, right)
        if is_larger(t, left):
            small = right
        gather(t.cells, t.rows + small.start, small.end - small.start, gathered(t, small))
        left.key, right.key = mix(2 * node.key + 1), mix(2 * node.key + 2)
        left.left, right.left, left.slot, right.slot, left.mask, right.mask = -1, -1, -1, -1, -1, -1
        left.depth, right.depth = node.depth + 1, node.depth + 1
        left.split.feature, right.split.feature = -1, -1
        self.set_bounds(node, left, right)

    cdef void set_bounds(self, Node* node, Node* left, Node* right) noexcept nogil:
        """Values below a division by a constrained column stay on their sides of the middle."""
        cdef double a, b, middle
        cdef int sign = self.signs[node.split.feature] if self.p.bounded else 0
        left.lower, left.upper = node.lower, node.upper
        right.lower, right.upper = node.lower, node.upper
        if sign == 0:
            return
        a = min(max(-left.g / (left.h + self.p.l2), node.lower), node.upper)
        b = min(max(-right.g / (right.h + self.p.l2), node.lower), node.upper)
        middle = a + (b - a) / 2
        if sign > 0:
            left.upper, right.lower = middle, middle
        else:
            left.lower, right.upper = middle, middle
