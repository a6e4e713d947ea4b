"""Growing exact classification and regression trees on presorted columns.

Every column has its own list of the rows, sorted by value, missing ones last. A node is the segment
[start, end) of every list; splitting it partitions each segment in place, keeping the order, so no
value is ever sorted twice. Where nodes search few columns only one list is partitioned instead
(`_row_order`). The best split of a node depends on its rows alone, therefore the tree is the same
whatever thread searches a column (`search`, `partition`) or grows a subtree (`subtree`).

Steps for one node
1. stop if it is pure, too small or too deep (`_splitter.describe`);
2. find the best split of every column, or of a random choice of columns (`_splitter`): a threshold
   (`_thresholds`, `_buckets`, `_bins`, `_random_splits`) or a set of levels (`_categories`);
3. choose the column of the lowest cost, ties to the lowest column (to any, where a tree draws);
4. mark the rows that go left, describe the two children (`_partition`, `_subtree.split_node`);
5. partition the lists, unless both children are leaves.
"""

from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcpy

from pellucid.tree._impurity cimport GAMMA, POISSON
from pellucid.tree._node_buffer cimport Gathered, NodeBuffer, Part, gather_tree
from pellucid.tree._partition cimport partition_list
from pellucid.tree._splitter cimport (
    Scratch, choose, free_scratch, new_scratch, search_columns, split_column,
)
from pellucid.tree._subtree cimport add_root, grow_below, split_node
from pellucid.tree._table cimport SMALL, Columns, RowOrder, Rules, Split, Table, Target
from pellucid.tree._walk cimport goes_left

import numpy as np


cdef class Memory:
    """Scratch memory for nodes of up to `rows` rows. Trees of one table hand it on to each other: the
    system would have to clear it for each of their nodes."""

    cdef Scratch s
    cdef Py_ssize_t rows
    cdef bint shared            # as the rows of the tables it was made for
    cdef NodeBuffer buffer      # of trees that were gathered, or None

    def __dealloc__(self):
        free_scratch(&self.s)

    cdef NodeBuffer emptied(self, int size):
        """A buffer without nodes."""
        if self.buffer is None:
            self.buffer = NodeBuffer(size)
        self.buffer.n_nodes = self.buffer.n_words = 0
        return self.buffer


cdef class Workspace:
    """One training table, a `grower.GrowthConfig`, with the lists that growing permutes. Methods
    release the GIL; calls for different columns of one node, or for different subtrees, may run in
    different threads."""

    cdef Table t
    cdef list kept              # the arrays behind the pointers
    cdef int32_t[::1] number    # for branches, which never share a row
    cdef list spare             # of `Memory`, or None: none is kept

    def __cinit__(self, config):
        cdef const int32_t[::1] stop = config.stop
        self.kept, self.spare, self.t.stop = [config], config.spare, &stop[0]
        self.set_rules(config.rules, config.signs)
        self.set_columns(config.table)
        self.set_target(config)
        self.set_rows(config.lists, config.places, config.members)
        self.set_common(config.table.common)
        self.t.source.parent, self.t.source.origin, self.t.source.ready = NULL, NULL, NULL

    cdef int set_rules(self, rules, const int8_t[::1] signs) except -1:
        """From a `stopping.Rules`."""
        cdef Rules* r = &self.t.rules
        r.max_depth, r.max_features = rules.max_depth, rules.max_features
        r.min_rows, r.min_rows_split = rules.min_rows, rules.min_rows_split
        r.min_weight, r.min_weight_split = rules.min_weight, rules.min_weight_split
        r.min_decrease, r.max_loss = rules.min_decrease, rules.max_loss
        r.level_rule, r.drawn_splits = rules.level_rule, rules.drawn_splits
        r.demanding = rules.demanding
        r.signs = &signs[0] if signs is not None else NULL
        return 0

    cdef int set_columns(self, table) except -1:
        """From a `presort.Presorted`."""
        cdef Columns* c = &self.t.columns
        cdef const double[:, :] X = table.X
        cdef const uint8_t[::1] kinds = table.kinds, repeated = table.repeated
        cdef const uint8_t[::1] missing = table.missing, compared
        cdef const int32_t[::1] n_levels = table.n_levels
        compared = table.repeated | table.missing | table.kinds | np.uint8(self.t.rules.drawn_splits)
        self.kept.append(compared)
        c.X, c.n_rows, c.d = &X[0, 0], X.shape[0], <int> X.shape[1]
        c.row_step, c.column_step = X.strides[0] // 8, X.strides[1] // 8
        c.kinds, c.n_levels, c.most_levels = &kinds[0], &n_levels[0], max(n_levels)
        c.repeated, c.missing, c.compared = &repeated[0], &missing[0], &compared[0]
        c.binned.bins = NULL
        if table.binned is not None:
            self.set_bins(table.binned)
        return 0

    cdef int set_bins(self, binned) except -1:
        """From a `binned.Binned`."""
        cdef const uint8_t[:, ::1] bins = binned.bins
        cdef const int32_t[::1] n_bins = binned.n_bins
        cdef const double[:, ::1] low = binned.low, high = binned.high
        self.t.columns.binned.bins, self.t.columns.binned.n_bins = &bins[0, 0], &n_bins[0]
        self.t.columns.binned.low, self.t.columns.binned.high = &low[0, 0], &high[0, 0]
        return 0

    cdef int set_target(self, config) except -1:
        cdef Target* y = &self.t.y
        cdef const int32_t[::1] labels = config.labels, places = config.target_places
        cdef const double[::1] values = config.target, weights = config.weights
        cdef const double[::1] k_log_k = config.k_log_k
        cdef const uint16_t[::1] packed = config.packed
        cdef double[::1] row_cost
        cdef int32_t[::1] ranks
        y.criterion, y.K, y.q = config.criterion, config.n_classes, config.n_targets
        y.size = y.K if y.K > 0 else y.q + 1
        y.labels = &labels[0] if labels is not None else NULL
        y.values = &values[0] if values is not None else NULL
        y.weights = &weights[0] if weights is not None else NULL
        y.packed = &packed[0] if packed is not None else NULL
        y.k_log_k = &k_log_k[0] if k_log_k is not None else NULL
        y.row_cost, y.ranks, y.places = NULL, NULL, NULL
        if y.criterion == POISSON or y.criterion == GAMMA or y.q > 1:
            row_cost = np.empty(self.t.columns.n_rows)
            y.row_cost = &row_cost[0]
            self.kept.append(row_cost)
        if places is not None:
            ranks = np.empty(self.t.columns.n_rows, np.int32)
            y.ranks, y.places = &ranks[0], &places[0]
            self.kept.append(ranks)
        return 0

    cdef int set_rows(self, const int32_t[:, ::1] lists, const int32_t[:, ::1] places,
                      int32_t[::1] members) except -1:
        """Sorted rows (d, n); with members nothing is written to them."""
        cdef RowOrder* r = &self.t.rows
        cdef uint8_t[::1] goes_left = np.zeros(self.t.columns.n_rows, np.uint8)
        self.number = np.empty(self.t.columns.n_rows, np.int32)
        self.kept.append(goes_left)
        r.goes_left, r.n, r.stride = &goes_left[0], lists.shape[1], lists.shape[1]
        r.lists = <int32_t*> &lists[0, 0] if r.stride else NULL
        r.members, r.places = NULL, NULL
        if members is not None:
            r.members, r.n = &members[0], members.shape[0]
            r.places = &places[0, 0] if places is not None else NULL
        r.shared = members is not None and places is None and self.t.columns.binned.bins == NULL
        return 0

    cdef int set_common(self, const int32_t[:, ::1] common) except -1:
        """The longest runs (d, 2) of equal values, or None."""
        cdef RowOrder* r = &self.t.rows
        r.common = NULL
        if common is not None and r.places != NULL:
            self.kept.append(common)
            r.common = &common[0, 0]
        return 0

    cdef Memory memory(self, Py_ssize_t rows):
        """Scratch for nodes of up to that many rows."""
        cdef Memory found = None
        if self.spare is not None:
            try:
                found = self.spare.pop()           # by another thread it may be taken at any time
            except IndexError:
                pass
        if found is None or found.rows < rows or found.shared != self.t.rows.shared:
            found = Memory()
            found.rows, found.shared = rows, self.t.rows.shared
            if new_scratch(&self.t, rows, &found.s) != 0:
                raise MemoryError
        return found

    cdef Memory memory_of(self, NodeBuffer buffer, Py_ssize_t i):
        return self.memory(buffer.nodes[i].end - buffer.nodes[i].start)

    cdef int done(self, Memory memory) except -1:
        if self.spare is not None:
            self.spare.append(memory)
        return 0

    def root(self, uint64_t key):
        """A buffer whose only node holds all rows."""
        cdef NodeBuffer buffer = NodeBuffer(max(self.t.y.K, self.t.y.q))
        cdef Memory memory = self.memory(self.t.rows.n)
        cdef Scratch* s = &memory.s
        cdef int status
        if self.t.rows.n < SMALL:
            status = add_root(&self.t, buffer, key, s)
        else:
            with nogil:
                status = add_root(&self.t, buffer, key, s)
        self.done(memory)
        if status < 0:
            raise MemoryError
        return buffer

    def branch(self, NodeBuffer buffer, Py_ssize_t i):
        """A buffer whose only node is a copy of node i of another one."""
        cdef NodeBuffer fresh = NodeBuffer(buffer.size)
        if fresh.reserve(1, 0) != 0:
            raise MemoryError
        fresh.n_nodes = 1
        fresh.nodes[0] = buffer.nodes[i]
        memcpy(fresh.counts, buffer.counts + i * buffer.size, buffer.size * sizeof(double))
        return fresh

    def subtree(self, NodeBuffer buffer):
        """Grow everything below node 0."""
        cdef Memory memory = self.memory_of(buffer, 0)
        cdef Scratch* s = &memory.s
        cdef int status
        with nogil:
            status = grow_below(&self.t, buffer, 0, &self.number[0], s)
        self.done(memory)
        if status < 0:
            raise MemoryError

    def search(self, NodeBuffer buffer, Py_ssize_t i, int first, int last, uint8_t[:, ::1] splits,
               double[::1] known):
        """Step 2 for the columns [first, last), into raw rows of `splits`.

        Threads share `known`, the lowest cost so far: it saves work and changes no result, because
        whatever could be tied with the best split is looked at in any case.
        """
        cdef Memory memory = self.memory_of(buffer, i)
        cdef Scratch* s = &memory.s
        cdef int f
        s.buckets.words_ready = s.sorter.numbered = False      # they may be those of another node
        with nogil:
            for f in range(first, last):
                known[0] = min(known[0], split_column(
                    &self.t, buffer.nodes + i, buffer.counts + i * buffer.size, f, s, known[0],
                    <Split*> &splits[f, 0]))
        self.done(memory)

    def search_drawn(self, NodeBuffer buffer, Py_ssize_t i, uint8_t[:, ::1] splits):
        """Step 2 for a random choice of columns."""
        cdef Memory memory = self.memory_of(buffer, i)
        cdef Scratch* s = &memory.s
        with nogil:
            search_columns(&self.t, buffer.nodes + i, buffer.counts + i * buffer.size, s)
            memcpy(&splits[0, 0], s.splits, self.t.columns.d * sizeof(Split))
        self.done(memory)

    def choose(self, NodeBuffer buffer, Py_ssize_t i, const uint8_t[:, ::1] splits):
        """Step 3; False if node i stays a leaf."""
        return bool(choose(&self.t, buffer.nodes + i, <const Split*> &splits[0, 0], NULL,
                           self.t.columns.d))

    def split(self, NodeBuffer buffer, Py_ssize_t i):
        """Step 4; True if both children are leaves."""
        cdef Memory memory = self.memory_of(buffer, i)
        cdef Scratch* s = &memory.s
        cdef int status
        with nogil:
            status = split_node(&self.t, buffer, i, s)
        self.done(memory)
        if status < 0:
            raise MemoryError
        return bool(status)

    def partition(self, NodeBuffer buffer, Py_ssize_t i, int first, int last):
        """Step 5 for the columns [first, last)."""
        cdef Memory memory = self.memory_of(buffer, i)
        cdef Scratch* s = &memory.s
        cdef int f
        with nogil:
            for f in range(first, last):
                if f != buffer.nodes[i].feature:
                    partition_list(&self.t, f, buffer.nodes + i, s.rows)
        self.done(memory)

    def split_bytes(self):
        return sizeof(Split)


cdef void take_bag(const Table* whole, const double* w, int32_t[::1] rows, uint16_t[::1] packed,
                   Table* t) noexcept nogil:
    """The table of the rows that have weight: integers. `rows`: memory for its members."""
    cdef Py_ssize_t n = whole.columns.n_rows, i, m = 0
    cdef double most = 0.0
    t[0] = whole[0]
    t.y.weights = w
    for i in range(n):
        if w[i] > 0.0:
            rows[m] = <int32_t> i
            m += 1
            most = w[i] if w[i] > most else most
    t.rows.members, t.rows.n = &rows[0], m
    if 0 < whole.y.K <= 4 and most < 256.0:
        for i in range(n):
            packed[i] = <uint16_t> whole.y.labels[i] + 4 * <uint16_t> w[i]
        t.y.packed = &packed[0]


cdef int grow_bags_into(Workspace work, const double[:, ::1] bags, const uint64_t[::1] keys,
                        NodeBuffer buffer, int32_t[::1] roots, int32_t[::1] rows, uint16_t[::1] packed,
                        Scratch* s) noexcept nogil:
    """Trees one after the other; -1 without memory, 1 if stopped."""
    cdef Table t
    cdef Py_ssize_t k
    cdef int status = 0
    for k in range(keys.shape[0]):
        take_bag(&work.t, &bags[k, 0], rows, packed, &t)
        roots[k] = <int32_t> buffer.n_nodes
        if add_root(&t, buffer, keys[k], s) != 0:
            return -1
        if not buffer.nodes[roots[k]].stopped:
            status = grow_below(&t, buffer, roots[k], &work.number[0], s)
        if status != 0:
            return status
    return 0


def grow_bags(Workspace work, const double[:, ::1] bags, const uint64_t[::1] keys,
              const int32_t[::1] n_levels, bint bounded):
    """A `Gathered` with the tree of every bag (rows of integer weights), whole in one thread."""
    cdef Py_ssize_t n = work.t.columns.n_rows, k
    cdef Memory memory = work.memory(n)
    cdef NodeBuffer buffer = memory.emptied(max(work.t.y.K, work.t.y.q))
    cdef int32_t[::1] roots = np.empty(len(keys), np.int32)
    cdef int32_t[::1] rows = np.empty(n, np.int32)
    cdef uint16_t[::1] packed = np.empty(n, np.uint16)
    cdef int32_t[:, ::1] waiting
    cdef Gathered out
    cdef Part part
    cdef Scratch* s = &memory.s
    cdef int status
    with nogil:
        status = grow_bags_into(work, bags, keys, buffer, roots, rows, packed, s)
    if status < 0:
        raise MemoryError
    if status > 0:
        return None
    out = Gathered(buffer.n_nodes, buffer.size, buffer.n_words, bounded, len(keys))
    waiting = np.empty((buffer.n_nodes + 2, 3), np.int32)
    part.nodes, part.counts, part.words = buffer.nodes, buffer.counts, buffer.words
    with nogil:
        for k in range(keys.shape[0]):
            gather_tree(&part, buffer.size, NULL, n_levels, roots[k], k, waiting, out)
    work.done(memory)
    return out
