"""Growing exact classification and regression trees on presorted columns.

Every column has its own list of the rows, sorted by value, missing ones last. A node is the segment
[start, end) of every list; dividing it partitions each segment in place, keeping the order, so no
value is ever sorted twice. Where nodes look at few columns only one list is partitioned instead
(`_order.pxi`). A node's best division depends on its rows alone, therefore the tree
is the same whatever thread looks at a column (`search`, `partition`) or at a subtree (`subtree`).

Steps for one node (numbered again below)
1. stop if it is pure, too small or too deep;
2. best division of every column (or of a random choice of columns);
3. the best column: lowest cost, ties to the lowest column (to any, where a tree draws);
4. mark the rows that go left, describe the two children;
5. partition the lists, unless both children are leaves.
"""

from libc.math cimport INFINITY, NAN, fabs, floor, isinf, isnan, log1p, log2
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memcpy, memset

import numpy as np


cdef struct Record:             # a node under construction
    int64_t start, end          # its segment of the sorted lists
    int64_t at                  # rows of the sorted segment below the threshold
    int64_t set_start           # where its set of levels stands, as in `_sets.pxi`; -1: it has none
    uint64_t key                # of its random choice of columns
    double weight, cost, mean   # mean: of the target (the median for absolute), 0 for classes
    double rest                 # of deviances: what the mean lacks by rounding
    double per_unit             # of the distances r: 1, or 1 / mean for deviances
    double size                 # of a deviance's unit in the cost
    double lower, upper         # of its value, by monotone constraints
    double threshold
    double decrease             # cost saved by its division
    int32_t feature             # -1 leaf
    int32_t left, right
    int32_t depth
    int32_t forced              # column whose levels are still being told apart, -1: none
    int32_t missing_left
    int32_t stopped             # 1: step 1 holds, never divide
    int32_t like                # of numbers: a row whose target is that of all rows, -1: they differ
    int32_t below, above        # rows of X on both sides of a threshold that is not read yet, else -1


cdef struct Split:
    double cost
    double threshold            # set here only if drawn
    Py_ssize_t at               # rows of the node's order below it
    int32_t feature             # -1: no allowed division
    int32_t missing_left
    int32_t below, above        # the last of these rows and the next one (-1: not known yet)


cdef struct Binned:             # of the whole table
    const uint8_t* bins         # (d, n_rows), or NULL
    const int32_t* n_bins       # (d,)
    const double* low           # (d, 256) smallest and largest value of every bin
    const double* high


cdef struct Table:              # what all loops see; invariant: labels or target, by criterion
    const double* X             # cell (row, f) at row * row_step + f * column_step
    Py_ssize_t row_step, column_step
    const int32_t* labels
    const double* target        # (n_rows, q)
    const double* weights       # NULL: all 1
    double* bent                # (n_rows,) cost of a row about its node's mean, or means; deviances
    const int32_t* target_place # (n_rows,) place of a row by target, for absolute errors
    int32_t* ranks              # (n_rows,) the same among the rows of its node
    const int8_t* signs         # (d,) of monotone constraints, or NULL
    const uint16_t* packed      # class + 4 * weight, for up to 4 classes and integers below 256
    const double* k_log_k       # NULL unless entropy of integer weights
    const uint8_t* kinds        # 1: codes of levels
    const int32_t* n_levels
    const uint8_t* repeated     # 1: some value occurs twice
    const uint8_t* missing      # 1: some value is missing
    const uint8_t* compared     # 1: the loops compare values of the column, not only their order
    int32_t* lists              # (d, stride) sorted rows
    int32_t* members            # (n,) rows of the nodes side by side, or NULL: the lists are divided
    bint shared                 # members without places or bins
    const int32_t* places       # (n_rows, d) where a value stands in the lists; with members
    Binned binned               # columns of numbers in bins, with members; bins NULL: not
    uint8_t* goes_left          # (n_rows,)
    Py_ssize_t n_rows, n        # rows of X; rows of the tree
    Py_ssize_t stride           # length of a list: n, with members all rows
    int d, K, criterion, max_features, max_depth
    int q                       # targets of a row, 1 for classes
    int size                    # sums per group of rows: K class weights, or q + 1 for numbers
    int most_levels
    Py_ssize_t min_rows         # of a child
    Py_ssize_t min_rows_split   # of a node that may be divided
    double min_weight, min_weight_split, min_decrease
    double max_loss             # of a division, per weight of the node
    int level_rule              # 0: sets, all or ordered; 1: one level against the others; 2: apart
    bint drawn_splits           # one random division per column instead of the best one
    bint demanding              # children need more than one row or some weight
    const int32_t* origin       # of a branch: its rows in the parent, else NULL
    const Table* parent
    uint8_t* ready              # (d,) 1: the branch has its own copy of the column; NULL: of all
    const int32_t* stop         # another thread sets it to end the work


cdef enum:
    SMALL = 65536               # cells


cdef inline uint64_t mix(uint64_t z) noexcept nogil:
    """The finaliser of splitmix64: a child's key follows from its parent's, never from a thread."""
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    return z ^ (z >> 31)


include "_fetch.pxi"
include "_room.pxi"
include "_order.pxi"
include "_cost.pxi"
include "_scan.pxi"
include "_vectors.pxi"
include "_absolute.pxi"
include "_sweep.pxi"
include "_levels.pxi"
include "_buckets.pxi"
include "_bins.pxi"
include "_drawn.pxi"


include "_search.pxi"
include "_draft.pxi"
include "_divide.pxi"
include "_branch.pxi"


cdef class Memory:
    """Scratch memory for nodes of up to `rows` rows. Trees of one table hand it on to each other: the
    system would have to clear it for each of their nodes."""

    cdef Scratch s
    cdef Py_ssize_t rows
    cdef Draft draft            # of trees that were gathered, or None

    def __dealloc__(self):
        free_scratch(&self.s)

    cdef Draft emptied(self, int size):
        """A draft without nodes."""
        if self.draft is None:
            self.draft = Draft(size)
        self.draft.n_nodes = self.draft.n_words = 0
        return self.draft


cdef class Workspace:
    """One training table with the lists that growing permutes. Methods release the GIL; calls for
    different columns of one node, or for different subtrees, may run in different threads."""

    cdef Table t
    cdef object kept            # the arrays behind the pointers
    cdef int32_t[::1] number    # for branches, which never share a row
    cdef list spare             # of `Memory`, or None: none is kept

    def __cinit__(self, const double[:, :] X, lists, const uint8_t[::1] kinds,
                  const int32_t[::1] n_levels, const uint8_t[::1] repeated,
                  const uint8_t[::1] missing, const int32_t[::1] labels, const double[::1] target,
                  const double[::1] weights, const uint16_t[::1] packed,
                  const double[::1] k_log_k, int n_classes,
                  int criterion, limits, const int32_t[::1] stop,
                  const int32_t[:, ::1] places=None, int32_t[::1] members=None,
                  const int32_t[::1] target_place=None, const int8_t[::1] signs=None, binned=None,
                  list spare=None, int n_targets=1):
        cdef uint8_t[::1] goes_left = np.zeros(X.shape[0], np.uint8)
        cdef double[::1] bent
        cdef int32_t[::1] ranks
        cdef const uint8_t[::1] compared
        (self.t.max_depth, self.t.max_features, self.t.min_rows, self.t.min_rows_split,
         self.t.min_weight, self.t.min_weight_split, self.t.min_decrease,
         self.t.demanding, self.t.drawn_splits, self.t.max_loss, self.t.level_rule) = limits
        self.number, self.spare = np.empty(X.shape[0], np.int32), spare
        compared = (np.asarray(repeated) | np.asarray(missing) | np.asarray(kinds)
                    | np.uint8(self.t.drawn_splits))
        self.kept = (X, lists, kinds, n_levels, repeated, missing, labels, target, weights, packed,
                     k_log_k, stop, goes_left, compared, places, members, target_place, signs)
        self.t.bent, self.t.ranks, self.t.target_place = NULL, NULL, NULL
        if criterion == POISSON or criterion == GAMMA or n_targets > 1:
            bent = np.empty(X.shape[0])
            self.t.bent, self.kept = &bent[0], (self.kept, bent)
        if target_place is not None:
            ranks = np.empty(X.shape[0], np.int32)
            self.t.ranks, self.t.target_place = &ranks[0], &target_place[0]
            self.kept = (self.kept, ranks)
        self.t.signs = &signs[0] if signs is not None else NULL
        self.set_bins(binned)
        self.t.X, self.t.goes_left = &X[0, 0], &goes_left[0]
        self.t.row_step, self.t.column_step = X.strides[0] // 8, X.strides[1] // 8
        self.set_lists(lists)
        self.t.kinds, self.t.n_levels = &kinds[0], &n_levels[0]
        self.t.repeated, self.t.missing = &repeated[0], &missing[0]
        self.t.compared = &compared[0]
        self.t.labels = &labels[0] if labels is not None else NULL
        self.t.target = &target[0] if target is not None else NULL
        self.t.weights = &weights[0] if weights is not None else NULL
        self.t.packed = &packed[0] if packed is not None else NULL
        self.t.k_log_k = &k_log_k[0] if k_log_k is not None else NULL
        self.t.n_rows, self.t.n, self.t.d = X.shape[0], self.t.stride, <int> X.shape[1]
        self.t.members, self.t.places, self.t.ready = NULL, NULL, NULL
        if members is not None:
            self.t.members, self.t.n = &members[0], members.shape[0]
            self.t.places = &places[0, 0] if places is not None else NULL
        self.t.shared = members is not None and places is None and binned is None
        self.t.K, self.t.criterion, self.t.stop = n_classes, criterion, &stop[0]
        self.t.q, self.t.size = n_targets, n_classes if n_classes > 0 else n_targets + 1
        self.t.most_levels = max(n_levels) if X.shape[1] else 0
        self.t.origin = NULL

    cdef int set_lists(self, lists) except -1:
        """Sorted rows (d, n); with members nothing is written."""
        cdef const int32_t[:, ::1] rows = lists
        self.t.stride = rows.shape[1]
        self.t.lists = <int32_t*> &rows[0, 0] if self.t.stride else NULL
        return 0

    cdef int set_bins(self, binned) except -1:
        """Arrays of a `binned.Binned`."""
        cdef const uint8_t[:, ::1] bins
        cdef const int32_t[::1] n_bins
        cdef const double[:, ::1] low, high
        self.t.binned.bins = NULL
        if binned is not None:
            bins, n_bins, low, high = binned.bins, binned.n_bins, binned.low, binned.high
            self.t.binned.bins, self.t.binned.n_bins = &bins[0, 0], &n_bins[0]
            self.t.binned.low, self.t.binned.high = &low[0, 0], &high[0, 0]
            self.kept = (self.kept, bins, n_bins, low, high)
        return 0

    cdef Memory memory(self, Py_ssize_t rows):
        """Scratch for nodes of up to that many rows."""
        cdef Memory found = None
        if self.spare is not None:
            try:
                found = self.spare.pop()           # by another thread it may be taken at any time
            except IndexError:
                pass
        if found is None or found.rows < rows:
            found = Memory()
            found.rows = rows
            if new_scratch(&self.t, rows, &found.s) != 0:
                raise MemoryError
        return found

    cdef Memory memory_of(self, Draft draft, Py_ssize_t i):
        return self.memory(draft.nodes[i].end - draft.nodes[i].start)

    cdef int done(self, Memory memory) except -1:
        if self.spare is not None:
            self.spare.append(memory)
        return 0

    def root(self, uint64_t key):
        """A draft whose only node holds all rows."""
        cdef Draft draft = Draft(max(self.t.K, self.t.q))
        cdef Memory memory = self.memory(self.t.n)
        cdef Scratch* s = &memory.s
        cdef int status
        if self.t.n < SMALL:
            status = add_root(&self.t, draft, key, s)
        else:
            with nogil:
                status = add_root(&self.t, draft, key, s)
        self.done(memory)
        if status < 0:
            raise MemoryError
        return draft

    def branch(self, Draft draft, Py_ssize_t i):
        """A draft whose only node is a copy of node i of another one."""
        cdef Draft fresh = Draft(draft.size)
        if fresh.reserve(1, 0) != 0:
            raise MemoryError
        fresh.n_nodes = 1
        fresh.nodes[0] = draft.nodes[i]
        memcpy(fresh.counts, draft.counts + i * draft.size, draft.size * sizeof(double))
        return fresh

    def subtree(self, Draft draft):
        """Grow everything below node 0."""
        cdef Memory memory = self.memory_of(draft, 0)
        cdef Scratch* s = &memory.s
        cdef int status
        with nogil:
            status = grow_below(&self.t, draft, 0, &self.number[0], s)
        self.done(memory)
        if status < 0:
            raise MemoryError

    def search(self, Draft draft, Py_ssize_t i, int first, int last, uint8_t[:, ::1] splits,
               double[::1] known):
        """Step 2 for the columns [first, last), into raw rows of `splits`.

        Threads share `known`, the lowest cost so far: it saves work and changes no result, because
        whatever could be tied with the best division is looked at in any case.
        """
        cdef Memory memory = self.memory_of(draft, i)
        cdef Scratch* s = &memory.s
        cdef int f
        with nogil:
            for f in range(first, last):
                known[0] = min(known[0], split_column(
                    &self.t, draft.nodes + i, draft.counts + i * draft.size, f, s, known[0],
                    <Split*> &splits[f, 0]))
        self.done(memory)

    def search_drawn(self, Draft draft, Py_ssize_t i, uint8_t[:, ::1] splits):
        """Step 2 for a random choice of columns."""
        cdef Memory memory = self.memory_of(draft, i)
        cdef Scratch* s = &memory.s
        with nogil:
            search_columns(&self.t, draft.nodes + i, draft.counts + i * draft.size, s)
            memcpy(&splits[0, 0], s.splits, self.t.d * sizeof(Split))
        self.done(memory)

    def choose(self, Draft draft, Py_ssize_t i, const uint8_t[:, ::1] splits):
        """Step 3; False if node i stays a leaf."""
        return bool(choose(&self.t, draft.nodes + i, <const Split*> &splits[0, 0]))

    def divide(self, Draft draft, Py_ssize_t i):
        """Step 4; True if both children are leaves."""
        cdef Memory memory = self.memory_of(draft, i)
        cdef Scratch* s = &memory.s
        cdef int status
        with nogil:
            status = divide(&self.t, draft, i, s)
        self.done(memory)
        if status < 0:
            raise MemoryError
        return bool(status)

    def partition(self, Draft draft, Py_ssize_t i, int first, int last):
        """Step 5 for the columns [first, last)."""
        cdef Memory memory = self.memory_of(draft, i)
        cdef Scratch* s = &memory.s
        cdef int f
        with nogil:
            for f in range(first, last):
                if f != draft.nodes[i].feature:
                    partition_list(&self.t, f, draft.nodes + i, s.rows)
        self.done(memory)

    def split_bytes(self):
        return sizeof(Split)


include "_grove.pxi"


def preorder(const int32_t[::1] left, const int32_t[::1] right):
    """Old numbers of the nodes in depth-first order, left before right; node 0 is the root."""
    cdef Py_ssize_t n = left.shape[0], height = 1, k = 0
    out = np.empty(n, np.int32)
    waiting = np.zeros(n + 1, np.int32)
    cdef int32_t[::1] order = out, stack = waiting
    cdef int32_t i
    with nogil:
        while height > 0 and k < n:
            height -= 1
            i = stack[height]
            order[k] = i
            k += 1
            if left[i] >= 0:
                stack[height], stack[height + 1] = right[i], left[i]
                height += 2
    return out[:k]


def depths(const int32_t[::1] left, const int32_t[::1] right):
    """Depth of every node; children must come after their parents."""
    cdef Py_ssize_t i
    out = np.zeros(left.shape[0], np.int32)
    cdef int32_t[::1] depth = out
    with nogil:
        for i in range(left.shape[0]):
            if left[i] >= 0:
                depth[left[i]] = depth[right[i]] = depth[i] + 1
    return out
