"""Growing the trees of gradient boosting on binned columns, one tree per class at a time.

A cell holds its column's bin (uint8); the bin after the last one is for missing values. Four columns
stand side by side in one word. The histogram of a node holds, for every bin, the sums of the
gradients g, of the curvatures h and of the samples c of its rows, as integers: g in 2^-62 of the
largest possible sum, h in the bits that c leaves free in a second word. So one addition of two words
counts a cell, sums have no order, and the larger of two children is exactly the parent minus the
smaller, which alone is counted. A split is good by the drop of the quadratic model of the loss,
g^2 / (h + l2) summed over the children, or, with `weights` in place of h, by the variance of the
gradients; values of leaves come from gradients and curvatures as they are.

Steps of one batch of nodes
1. `plan`: leaves are split best first; the next ones that are likely to be split form a batch;
2. `split`: the rows of each node go left or right, their order kept;
3. `assign`: which children are searched, where their histograms stand, which columns they may use;
4. `search`: four columns of a pair of children are one task: count, subtract, best split;
5. `settle`: best column of every child, ties to the lowest.

A tree goes through its stages by itself: all tasks of a stage may run at once, and the thread that
finishes the last one opens the next stage. Nothing waits for the other trees. `to_take` counts down
by compare-and-swap, so a task is taken once; `under_way` shows when a stage is over. Tasks share
nothing, so bits are the same for any number of threads. A batch may split a node that best-first
order never reaches: `plan` then leaves it whole.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from pellucid.tree._histogram_records cimport (
    WIDTH, Cell, Gradient, GrowingTree, Limits, Node, Setup, histogram_size,
)
from pellucid.tree._histogram_search cimport assign, search, settle
from pellucid.tree._histogram_store cimport GrownTrees, reallocated
from pellucid.tree._histogram_tree cimport (
    add_job, list_leaves, plan, prune, reserve, set_leaf, split_job,
)
from pellucid.tree._random cimport mix

import numpy as np


cdef extern from *:
    """
    #include <sched.h>
    static inline long take_task(long* to_take) {
        long v = __atomic_load_n(to_take, __ATOMIC_RELAXED);
        while (v > 0)
            if (__atomic_compare_exchange_n(to_take, &v, v - 1, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                return v - 1;
        return -1;
    }
    static inline int is_last(long* under_way) {
        return __atomic_sub_fetch(under_way, 1, __ATOMIC_ACQ_REL) == 0;
    }
    static inline void publish(long* place, long value) {
        __atomic_store_n(place, value, __ATOMIC_RELEASE);
    }
    static inline int seen(const int* place) { return __atomic_load_n(place, __ATOMIC_ACQUIRE); }
    static inline void mark(int* place, int value) {
        __atomic_store_n(place, value, __ATOMIC_RELEASE);
    }
    static inline void count_idle(long* idle, long by) {
        __atomic_add_fetch(idle, by, __ATOMIC_RELAXED);
    }
    static inline void yield_thread(void) { sched_yield(); }
    """
    long take_task(long* to_take) nogil
    bint is_last(long* under_way) nogil
    void publish(long* place, long value) nogil
    int seen(const int* place) nogil
    void mark(int* place, int value) nogil
    void count_idle(long* idle, long by) nogil
    void yield_thread() nogil


cdef enum:
    SPLIT = 0
    SEARCH = 1
    LEAVE = 2
    FINISHED = 3
    WAITING = 4                 # for a workspace


cdef void open_tasks(GrowingTree* t, long n) noexcept nogil:
    t.under_way = n
    publish(&t.to_take, n)


cdef class Growth:
    """Grows rounds of trees from a `histogram_grower.HistogramConfig`: `begin`, `work` in any number of
    threads, `store`."""

    def __cinit__(self, config):
        self.kept, self.n_trees = [config], config.n_trees
        self.n_workspaces = max(1, min(config.n_workspaces, self.n_trees))
        self.n_slots = max(config.n_slots, 1)
        self.grown = GrownTrees()
        self.s.streamed = config.streamed
        self.set_columns(config)
        self.set_limits(config.limits, config.signs.any())
        self.allocate_trees()

    cdef int set_columns(self, config) except -1:
        cdef const uint32_t[:, ::1] words = config.words
        cdef const uint8_t[:, ::1] columns = config.columns, groups = config.groups
        cdef const int32_t[::1] n_bins = config.n_bins, samples = config.samples, stop = config.stop
        cdef const uint8_t[::1] kinds = config.kinds
        cdef const signed char[::1] signs = config.signs
        cdef Setup* s = &self.s
        cdef int j
        self.n_bins = n_bins
        s.n, s.n_blocks, s.n_columns = words.shape[1], <int> words.shape[0], <int> kinds.shape[0]
        s.words, s.n_bins, s.kinds = &words[0, 0], &n_bins[0], &kinds[0]
        if not s.streamed:
            s.columns = &columns[0, 0]
        s.signs, s.stop, s.shift = &signs[0], &stop[0], config.shift
        s.samples = &samples[0] if samples.shape[0] else NULL
        s.n_groups = <int> groups.shape[0]
        s.groups = &groups[0, 0] if s.n_groups else NULL
        s.has_sets = config.kinds.any()
        s.first = <int64_t*> reallocated(NULL, (n_bins.shape[0] + 1) * sizeof(int64_t))
        s.first[0] = 0
        for j in range(n_bins.shape[0]):
            s.first[j + 1] = s.first[j] + n_bins[j] + 1
        return 0

    cdef int set_limits(self, limits, bint bounded) except -1:
        """From a `histogram_grower.HistogramLimits`."""
        cdef Limits* p = &self.s.limits
        p.l2, p.min_gain, p.share = limits.l2, limits.min_gain, limits.share
        p.min_c, p.min_split = limits.min_samples_leaf, limits.min_samples_split
        p.min_h, p.steep, p.bounded = limits.min_curvature, limits.steep, bounded
        p.max_leaves, p.max_depth = limits.max_leaves, limits.max_depth
        return 0

    cdef int allocate_trees(self) except -1:
        cdef GrowingTree* t
        cdef GrowingTree* before
        cdef Py_ssize_t n = self.s.n
        cdef Py_ssize_t cells = 0 if self.s.streamed else n * sizeof(Cell)
        cdef int k
        self.trees = <GrowingTree*> calloc(self.n_trees, sizeof(GrowingTree))
        if self.trees == NULL:
            raise MemoryError
        for k in range(self.n_trees):
            t = self.trees + k
            t.number = k
            t.unused_slots = <int32_t*> reallocated(NULL, self.n_slots * sizeof(int32_t))
            if k >= self.n_workspaces:
                before = self.trees + k % self.n_workspaces
                t.rows, t.cells, t.ordered = before.rows, before.cells, before.ordered
                continue
            t.rows = <int32_t*> self.array(n * sizeof(int32_t))
            t.cells = <Cell*> self.array(cells)
            t.ordered = <Cell*> self.array(cells)
        self.s.pool = <Cell*> reallocated(
            NULL,
            <size_t> self.n_workspaces * self.n_slots * histogram_size(&self.s) * sizeof(Cell))
        return 0

    cdef void* array(self, size_t size) except NULL:
        """Memory as long as the table, from NumPy: below a memory ceiling it is in scratch."""
        cdef char[::1] made = np.empty(size + 1, dtype=np.int8)
        self.kept.append(made)
        return &made[0]

    def __dealloc__(self):
        cdef int k
        cdef GrowingTree* t
        for k in range(self.n_trees if self.trees != NULL else 0):
            t = self.trees + k
            free(t.nodes)
            free(t.front)
            free(t.jobs)
            free(t.pairs)
            free(t.found)
            free(t.masks)
            free(t.leaves)
            free(t.unused_slots)
        free(self.trees)
        free(self.s.first)
        free(self.s.pool)

    def begin(self, const double[:, :, ::1] gradients, const int32_t[::1] rows,
              const uint64_t[::1] keys, double[:, ::1] raw, double rate, double ccp_alpha,
              bint update, const double[::1] weights):
        """A round begins at the roots. rows: those of the trees, sorted; None: all. weights: what
        splits are scored by in place of curvatures, or None."""
        cdef int k
        self.gradients, self.raw, self.round_rows, self.failed = gradients, raw, rows, 0
        self.weights, self.s.weights = weights, NULL if weights is None else &weights[0]
        self.s.raw, self.s.rate, self.s.ccp_alpha, self.s.update = &raw[0, 0], rate, ccp_alpha, update
        self.s.idle = 0
        for k in range(self.n_trees):
            if self.plant(self.trees + k, <const Gradient*> &gradients[k, 0, 0], mix(keys[k])) < 0:
                raise MemoryError
        for k in range(0 if self.s.streamed else self.n_workspaces):
            self.start_tree(self.trees + k)

    cdef int plant(self, GrowingTree* t, const Gradient* gradients, uint64_t key) noexcept nogil:
        """A tree that is only its root; -1 without memory."""
        cdef Node* root
        cdef int i
        t.m, t.n_front, t.n_leaves, t.batch, t.done = 0, 0, 1, 0, 0
        t.n_jobs, t.n_masks, t.n_listed, t.n_free = 0, 0, 0, self.n_slots
        for i in range(self.n_slots):
            t.unused_slots[i] = (t.number % self.n_workspaces + 1) * self.n_slots - 1 - i
        t.gradients = gradients
        if reserve(t, 1) < 0 or add_job(t, -1) < 0:
            return -1
        root = t.nodes
        memset(root, 0, sizeof(Node))
        t.m = 1
        root.end = self.s.n if self.round_rows is None else self.round_rows.shape[0]
        root.key, root.lower, root.upper = key, -INFINITY, INFINITY
        root.slot, root.mask, root.left, root.parent, root.split.feature = -1, -1, -1, -1, -1
        t.stage, t.to_take = WAITING, 0
        return 0

    cdef void start_tree(self, GrowingTree* t) noexcept nogil:
        """A tree begins in its workspace, which is free."""
        cdef int64_t i, m = t.nodes[0].end
        if m == self.s.n:
            for i in range(m):
                t.rows[i] = <int32_t> i
        else:
            memcpy(t.rows, &self.round_rows[0], m * sizeof(int32_t))
        mark(&t.stage, SPLIT)
        open_tasks(t, 1)

    def work(self, int who):
        """Take tasks until every tree of the round is finished; threads start at different trees."""
        cdef Cell* spare = <Cell*> malloc(2 * WIDTH * 256 * sizeof(Cell))
        if spare == NULL:
            mark(&self.failed, 1)
        else:
            with nogil:
                self.work_on(who, spare)
            free(spare)
        if self.failed:
            raise MemoryError

    cdef void work_on(self, int who, Cell* spare) noexcept nogil:
        cdef int k, finished
        cdef long i
        cdef bint idle = False
        cdef GrowingTree* t
        while self.s.stop[0] == 0 and not seen(&self.failed):
            finished, i = 0, -1
            for k in range(self.n_trees):
                t = self.trees + (who + k) % self.n_trees
                if seen(&t.stage) == FINISHED:
                    finished += 1
                    continue
                i = take_task(&t.to_take)
                if i >= 0:
                    break
            if finished == self.n_trees:
                break
            if idle != (i < 0):
                idle = i < 0
                count_idle(&self.s.idle, 1 if idle else -1)
            if i < 0:
                yield_thread()
                continue
            self.run(t, i, spare)
            if is_last(&t.under_way):
                self.go_on(t)

    cdef void run(self, GrowingTree* t, long i, Cell* spare) noexcept nogil:
        if t.stage == SPLIT:
            split_job(&self.s, t, i)
        elif t.stage == SEARCH:
            search(&self.s, t, i, spare)
        else:
            set_leaf(&self.s, t, t.leaves[i])

    cdef void go_on(self, GrowingTree* t) noexcept nogil:
        """A stage is over: open the next one that has tasks."""
        cdef int status = 0
        if t.stage == LEAVE:
            mark(&t.stage, FINISHED)
            if t.number + self.n_workspaces < self.n_trees:
                self.start_tree(t + self.n_workspaces)
            return
        if t.stage == SPLIT:
            status = assign(&self.s, t)
            if status == 0 and t.n_pairs > 0:
                mark(&t.stage, SEARCH)
                open_tasks(t, t.n_pairs * self.s.n_blocks)
                return
        else:
            settle(&self.s, t)
        if status == 0:
            status = plan(&self.s, t)
        if status == 0 and t.done:
            if self.s.ccp_alpha > 0:
                prune(&self.s, t)
            status = list_leaves(t)
        if status < 0:
            mark(&self.failed, 1)
        elif t.done:
            mark(&t.stage, LEAVE)
            open_tasks(t, t.n_listed)
        else:
            mark(&t.stage, SPLIT)
            open_tasks(t, t.n_jobs)

    def leaf_rows(self):
        """(tree, rows) of every leaf, for losses that find the best value themselves; they have one
        tree a round, so that it is still in its workspace."""
        cdef int i, k
        cdef GrowingTree* t
        cdef Node* node
        assert self.n_trees == self.n_workspaces
        parts = []
        for k in range(self.n_trees):
            t = self.trees + k
            for i in range(t.n_listed):
                node = t.nodes + t.leaves[i]
                parts.append((k, np.asarray(
                    <int32_t[:node.end - node.start]> (t.rows + node.start)).copy()))
        return parts

    def set_values(self, const double[::1] values, bint update):
        """Other values for the leaves, in the order of `leaf_rows`; as in `set_leaf`."""
        cdef int i, k, following = 0
        cdef int64_t j
        cdef GrowingTree* t
        cdef Node* node
        for k in range(self.n_trees):
            t = self.trees + k
            for i in range(t.n_listed):
                node = t.nodes + t.leaves[i]
                node.value = self.s.rate * values[following]
                following += 1
                for j in range(node.start, node.end if update else node.start):
                    self.raw[k, t.rows[j]] += node.value

    def store(self):
        """Keep the trees of this round."""
        self.grown.append(self.trees, self.n_trees)

    def expect(self, Py_ssize_t nodes):
        """Reserve memory for the nodes of all rounds."""
        self.grown.expect(nodes)

    def add_values(self, const uint32_t[:, ::1] words, int k, double[::1] raw, Py_ssize_t first,
                   Py_ssize_t last):
        """raw += the value of tree k of the last round, for rows [first, last) of binned columns."""
        self.grown.add_values(words, self.n_bins, k - self.n_trees, raw, first, last)

    def export(self):
        """(fields of the nodes by name, sets of bins (m, 4), first node of each tree); ends the
        growth."""
        return self.grown.export()
