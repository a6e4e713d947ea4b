"""Growing the same trees by passes over all rows in their order, for tables larger than memory.

Instead of lists of rows that are partitioned, every row has the number of its node (`GrowingTree.rows`,
-1: not drawn). A pass reads bins, gradients and nodes from the first row to the last and handles as
many nodes as best-first order may need, so that a tree needs about as many passes as it is deep.
Histograms and sums of leaves are sums of integers, so neither the order of rows nor the parts of a pass
change a bit.

Steps of one pass
1. `prepare_pass`: children of the nodes of the batch, which of them are searched and counted;
2. `count`: rows go to their children, and are counted there, in parts that may run at once;
3. `search`: best splits from the sums of all parts, then `plan` chooses the next batch.
"""

from libc.math cimport ldexp
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from pellucid.tree._histogram cimport Growth
from pellucid.tree._histogram_count cimport (
    ORDERED, cell_of, count_rows, goes_left, noise_of, rounded_sum, set_units,
    sum_noise,
)
from pellucid.tree._histogram_records cimport (
    WIDTH, Cell, Gradient, GrowingTree, Node, Pair, Setup, add_words, count_of, histogram_size, resize,
    width_of,
)
from pellucid.tree._histogram_search cimport assign, search, settle
from pellucid.tree._leaf_sums cimport LeafSum, add_leaf_row
from pellucid.tree._histogram_tree cimport (
    add_children, list_leaves, plan, prune, set_numbers, set_value,
)

import numpy as np

cdef enum:
    ROWS = 8192                 # that are put into the order of their nodes at once


cdef class StreamedGrowth(Growth):
    """A `Growth` whose rows are visited in passes: `begin`, then for each tree `begin_tree`, passes of
    `count` and `search` until that says no, and `set_leaves`."""

    def __dealloc__(self):
        free(self.routes)
        free(self.route_of)
        free(self.went_left)
        free(self.parts)

    def begin_tree(self, int number, int n_parts):
        """A tree begins at its root: whether a pass is needed."""
        cdef int status
        self.t = self.trees + number
        self.t.n_parts = n_parts
        with nogil:
            self.open_root()
            status = self.prepare_pass()
        return self.checked(status)

    cdef bint checked(self, int status) except -1:
        if status < 0:
            raise MemoryError
        return not self.t.done

    cdef void open_root(self) noexcept nogil:
        cdef GrowingTree* t = self.t
        cdef const Setup* s = &self.s
        cdef Node* root = t.nodes
        cdef const int32_t* rows = NULL
        cdef int64_t i, row
        cdef double up_g, up_h
        cdef Cell cell
        cdef LeafSum noise
        if root.end < s.n:
            rows = &self.round_rows[0]
        set_units(t.gradients, rows, root.end, s.shift, s.weights, &t.units)
        t.units.noise = 0.0
        if s.has_sets:
            sum_noise(t.gradients, s.weights, s.samples, rows, root.end, &t.units, &noise)
            t.units.noise = noise_of(&noise, &t.units)
        up_g, up_h = 1.0 / t.units.g, 1.0 / t.units.h
        root.total.g, root.total.hc = 0, 0
        memset(t.rows, 0 if rows == NULL else 255, s.n * sizeof(int32_t))
        for i in range(root.end):
            row = i if rows == NULL else rows[i]
            t.rows[row] = 0
            cell = cell_of(t.gradients, s.weights, s.samples, row, up_g, up_h, t.units.shift)
            add_words(&root.total, &cell)
        set_numbers(t, root)

    cdef int prepare_pass(self) noexcept nogil:
        """Step 1; the root comes first, as a child without a parent."""
        cdef GrowingTree* t = self.t
        cdef int i
        cdef Pair* pair
        if self.reserve_routes() < 0:
            return -1
        self.n_routes = 0
        for i in range(t.n_jobs):
            if t.jobs[i] >= 0:
                self.split(t.jobs[i])
        if assign(&self.s, t) < 0:
            return -1
        t.n_counted = 0
        for i in range(t.m):
            t.nodes[i].counted = -1
        for i in range(t.n_pairs):
            pair = t.pairs + i
            if pair.small_search or pair.parent_slot >= 0:
                t.nodes[pair.small].counted = t.n_counted
                t.n_counted += 1
            if pair.large_search and pair.parent_slot < 0:
                t.nodes[pair.large].counted = t.n_counted
                t.n_counted += 1
        return self.reserve_parts()

    cdef int reserve_routes(self) noexcept nogil:
        cdef GrowingTree* t = self.t
        cdef int i
        if <size_t> t.m > self.node_capacity:
            self.node_capacity = 2 * t.m + 64
            if resize(<void**> &self.route_of, self.node_capacity * sizeof(int32_t)) < 0:
                return -1
        for i in range(t.m):
            self.route_of[i] = -1
        return (resize(<void**> &self.routes, (t.n_jobs + 1) * sizeof(Route))
                | resize(<void**> &self.went_left, t.n_parts * (t.n_jobs + 1) * sizeof(int64_t)))

    cdef int reserve_parts(self) noexcept nogil:
        """Empty histograms for every part, and counts of rows."""
        cdef GrowingTree* t = self.t
        cdef size_t wanted = (<size_t> t.n_parts * t.n_counted * histogram_size(&self.s)
                              * sizeof(Cell))
        memset(self.went_left, 0, t.n_parts * (t.n_jobs + 1) * sizeof(int64_t))
        if wanted > self.parts_size:
            self.parts_size = wanted
            if resize(<void**> &self.parts, wanted) < 0:
                return -1
        t.parts = self.parts
        if wanted:
            memset(t.parts, 0, wanted)
        return 0

    cdef void split(self, int32_t number) noexcept nogil:
        """Children of a node; samples stand for their rows until these are known."""
        cdef GrowingTree* t = self.t
        cdef Node* node = t.nodes + number
        cdef Node* left = t.nodes + node.left
        cdef Node* right = t.nodes + node.right
        cdef Route* route = self.routes + self.n_routes
        cdef int32_t f = node.split.feature
        cdef int b
        add_children(&self.s, t, number, node.start + <int64_t> count_of(&t.units,
                                                                         node.split.left.hc))
        right.end = right.start + <int64_t> right.c
        for b in range(256):
            route.goes_left[b] = goes_left(&node.split, b, self.s.n_bins[f])
        route.word, route.shift = f // WIDTH * self.s.n, 8 * (f % WIDTH)
        route.left, route.right = node.left, node.right
        self.route_of[number] = self.n_routes
        self.n_routes += 1

    def count(self, int64_t first, int64_t last, int part):
        """Step 2 for the rows [first, last) as a part of the pass; calls of one part take turns."""
        cdef Room room
        cdef Py_ssize_t n = self.t.n_counted + 1
        room.order = <int32_t*> malloc(3 * ROWS * sizeof(int32_t))
        room.cells = <Cell*> malloc(ROWS * sizeof(Cell))
        room.starts = <int64_t*> malloc(2 * n * sizeof(int64_t))
        if room.order == NULL or room.cells == NULL or room.starts == NULL:
            self.failed = 1
        else:
            room.keys, room.places = room.order + ROWS, room.order + 2 * ROWS
            with nogil:
                while first < last:
                    self.count_block(first, min(first + ROWS, last), part, &room)
                    first += ROWS
        free(room.order)
        free(room.cells)
        free(room.starts)
        if self.failed:
            raise MemoryError

    cdef void count_block(self, int64_t first, int64_t last, int part, Room* room) noexcept nogil:
        cdef GrowingTree* t = self.t
        cdef int64_t n = self.send_rows(first, last, part, room)
        cdef int64_t* starts = room.starts
        cdef int64_t* cursors = starts + t.n_counted + 1
        cdef int64_t i, at, size = histogram_size(&self.s)
        cdef double up_g = 1.0 / t.units.g, up_h = 1.0 / t.units.h
        cdef int k, block, j
        cdef Cell* histogram
        cdef Cell* columns[WIDTH]
        if n == 0:
            return
        for k in range(t.n_counted):
            starts[k + 1] += starts[k]
            cursors[k] = starts[k]
        for i in range(n):
            at = cursors[room.keys[i]]
            cursors[room.keys[i]] += 1
            room.order[at] = room.places[i]
            room.cells[at] = cell_of(t.gradients, self.s.weights, self.s.samples,
                                     first + room.places[i], up_g, up_h, t.units.shift)
        for k in range(t.n_counted):
            histogram = t.parts + (<int64_t> part * t.n_counted + k) * size
            for block in range(self.s.n_blocks):
                for j in range(WIDTH):
                    columns[j] = histogram + self.s.first[WIDTH * block + j]
                count_rows(self.s.words + block * self.s.n + first, room.order + starts[k],
                           room.cells + starts[k], starts[k + 1] - starts[k], columns, ORDERED,
                           width_of(&self.s, block))

    cdef int64_t send_rows(self, int64_t first, int64_t last, int part, Room* room) noexcept nogil:
        """Rows go to the children of their nodes: how many are counted, their places and keys."""
        cdef GrowingTree* t = self.t
        cdef const Route* route
        cdef int64_t* went_left = self.went_left + <int64_t> part * self.n_routes
        cdef int64_t i, n = 0
        cdef int32_t node, r, key
        cdef uint8_t left
        memset(room.starts, 0, (t.n_counted + 1) * sizeof(int64_t))
        for i in range(first, last):
            node = t.rows[i]
            if node < 0:
                continue
            r = self.route_of[node]
            if r >= 0:
                route = self.routes + r
                left = route.goes_left[self.s.words[route.word + i] >> route.shift & 255]
                went_left[r] += left
                node = route.left if left else route.right
                t.rows[i] = node
            key = t.nodes[node].counted
            if key >= 0:
                room.keys[n], room.places[n] = key, <int32_t> (i - first)
                room.starts[key + 1] += 1
                n += 1
        return n

    def search(self):
        """Step 3: whether another pass is needed."""
        cdef int status = 0
        cdef long i
        cdef GrowingTree* t = self.t
        cdef Cell* spare = <Cell*> malloc(2 * WIDTH * 256 * sizeof(Cell))
        if spare == NULL:
            raise MemoryError
        with nogil:
            self.set_rows()
            for i in range(t.n_pairs * self.s.n_blocks):
                search(&self.s, t, i, spare)
            settle(&self.s, t)
            status = plan(&self.s, t)
            if status == 0 and not t.done:
                status = self.prepare_pass()
        free(spare)
        return self.checked(status)

    cdef void set_rows(self) noexcept nogil:
        """The rows of the children, which are known after the pass."""
        cdef GrowingTree* t = self.t
        cdef int i, r, part
        cdef Node* node
        cdef int64_t at
        for i in range(t.n_jobs):
            if t.jobs[i] < 0:
                continue
            node, r = t.nodes + t.jobs[i], self.route_of[t.jobs[i]]
            at = node.start
            for part in range(t.n_parts):
                at += self.went_left[part * self.n_routes + r]
            t.nodes[node.left].start, t.nodes[node.left].end = node.start, at
            t.nodes[node.right].start, t.nodes[node.right].end = at, node.end

    def set_leaves(self):
        """Values of the leaves; with `update` the predictions of all rows too."""
        cdef GrowingTree* t = self.t
        cdef int status
        with nogil:
            if self.s.ccp_alpha > 0:
                prune(&self.s, t)
            status = list_leaves(t)
            if status == 0:
                status = self.leaf_values()
        if status < 0:
            raise MemoryError
        if self.s.update:
            self.add_leaves()

    cdef int leaf_values(self) noexcept nogil:
        cdef GrowingTree* t = self.t
        cdef LeafSum* total = <LeafSum*> calloc(t.m, sizeof(LeafSum))
        cdef double* weight = <double*> calloc(t.m, sizeof(double))
        cdef int64_t i
        cdef Gradient sums
        cdef Node* node
        if total == NULL or weight == NULL:
            free(total)
            free(weight)
            return -1
        self.sum_leaves(total)
        if self.s.weights != NULL:
            for i in range(self.s.n):
                if t.rows[i] >= 0:
                    weight[self.route_of[t.rows[i]]] += self.s.weights[i]
        for i in range(t.n_listed):
            node = t.nodes + t.leaves[i]
            sums = rounded_sum(total + t.leaves[i], &t.units)
            node.h = sums.h if self.s.weights == NULL else weight[t.leaves[i]]
            set_value(&self.s, node, sums)
        free(total)
        free(weight)
        return 0

    cdef void sum_leaves(self, LeafSum* total) noexcept nogil:
        """Add the rows to the sums of their leaves, by node."""
        cdef GrowingTree* t = self.t
        cdef double up_g = ldexp(1.0, t.units.up_g), up_h = ldexp(1.0, t.units.up_h)
        cdef double base = ldexp(1.0, t.units.bits)
        cdef int64_t i
        self.find_leaves()
        for i in range(self.s.n):
            if t.rows[i] >= 0:
                add_leaf_row(total + self.route_of[t.rows[i]], &t.gradients[i].g, up_g, up_h, base)

    cdef void find_leaves(self) noexcept nogil:
        """The leaf of the rows of every node: itself, or a node above whose split was not needed."""
        cdef GrowingTree* t = self.t
        cdef int32_t i
        for i in range(t.m):                   # parents stand before their children
            self.route_of[i] = i
            if i > 0 and t.nodes[t.nodes[i].parent].is_split != 2:
                self.route_of[i] = self.route_of[t.nodes[i].parent]

    cdef void add_leaves(self):
        cdef GrowingTree* t = self.t
        cdef int64_t i
        cdef double* raw = self.s.raw + t.number * self.s.n
        with nogil:
            for i in range(self.s.n):
                if t.rows[i] >= 0:
                    raw[i] += t.nodes[self.route_of[t.rows[i]]].value

    def leaf_rows(self):
        """As of `Growth`; of the tree that was grown last."""
        cdef GrowingTree* t = self.t
        nodes = np.asarray(<int32_t[:self.s.n]> t.rows)
        leaf_of = np.asarray(<int32_t[:t.m]> self.route_of)
        own = np.append(leaf_of, np.int32(-1))[nodes]
        order = np.argsort(own, kind="stable").astype(np.int32)
        ends = np.searchsorted(own[order], np.arange(-1, t.m), side="right")
        return [(0, order[ends[t.leaves[i]]:ends[t.leaves[i] + 1]]) for i in range(t.n_listed)]

    def set_values(self, const double[::1] values, bint update):
        """As of `Growth`."""
        cdef GrowingTree* t = self.t
        cdef int i
        for i in range(t.n_listed):
            t.nodes[t.leaves[i]].value = self.s.rate * values[i]
        if update:
            self.add_leaves()
