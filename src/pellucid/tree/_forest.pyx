"""Sums of the values of many trees: rows by blocks, tree after tree, several rows at a time.

A node takes 16 bytes: threshold, column, first child; its children stand side by side, and a leaf is
its own child, so that a step needs no branch: node = child + (x > threshold). Rows are copied by
eight into tiles: cell j of row l at 8 j + l. Numbers are compared as integers of the same order,
which takes half of the time; missing cells are HIGHEST (they go right). A column stands twice in a
tile if cells are missing: once so and once with LOWEST for them (they go left), and a node knows
which one it reads. The last cell of a row is LOWEST; a leaf reads it, so its threshold is free for
its value or the row of its values. Nodes with sets of levels take another function.

Every row adds up its trees in their order: bits do not depend on blocks or threads.
"""

from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from pellucid.tree._level_sets cimport set_left
from pellucid.tree._prefetch cimport prefetch

import numpy as np


cdef struct Step:
    int64_t threshold           # of a leaf: bits of its value, or with K > 1 its row in `value`
    int32_t column              # where its cells begin in a tile; -1 - node: it has levels
    int32_t child               # the left one; the right one is next; a leaf: itself


cdef struct Packed:             # one tree
    Py_ssize_t n_nodes
    Step* steps
    double* value               # (rows, K) of the leaves if K > 1; pure leaves share K rows
    const int32_t* feature
    const uint8_t* missing_left
    const int32_t* set_start
    const uint32_t* sets
    bint has_sets


cdef enum:
    LANES = 8                   # rows of a tile: they are under way at once
    ROUND = 4                   # steps between two looks at whether all are done


cdef int64_t HIGHEST = INT64_MAX, LOWEST = INT64_MIN


cdef inline int64_t bits_of(double x) noexcept nogil:
    cdef int64_t bits
    memcpy(&bits, &x, sizeof(double))
    return bits


cdef inline double number_of(int64_t bits) noexcept nogil:
    cdef double x
    memcpy(&x, &bits, sizeof(double))
    return x


cdef inline int64_t turned(int64_t bits) noexcept nogil:
    """From the bits of a number to an integer of the same order, and back."""
    return bits ^ (bits >> 63 & HIGHEST)


cdef inline int64_t key_of(double x) noexcept nogil:
    return HIGHEST if x != x else turned(bits_of(x + 0.0))     # -0.0 is 0.0


cdef inline int32_t ask_set(const Packed* t, const int32_t* n_levels, int32_t node,
                            double x) noexcept nogil:
    """0 left, 1 right; a level that the tree does not know counts as missing."""
    if not 0.0 <= x < n_levels[t.feature[node]]:
        return 1 - t.missing_left[node]
    return 1 - set_left(t.sets, t.set_start[node], <int32_t> x, t.missing_left[node])


cdef inline Py_ssize_t step(const Step* steps, Py_ssize_t at, const int64_t* tile,
                            int lane) noexcept nogil:
    cdef const Step* s = steps + at
    return <Py_ssize_t> s.child + ((tile + lane)[s.column] > s.threshold)


cdef int32_t step_or_ask(const Packed* t, const int32_t* n_levels, int32_t at, const int64_t* tile,
                         int lane, const int32_t* place) noexcept nogil:
    cdef int32_t node = -1 - t.steps[at].column
    if node < 0:
        return <int32_t> step(t.steps, at, tile, lane)
    return t.steps[at].child + ask_set(
        t, n_levels, node, number_of(turned(tile[LANES * place[t.feature[node]] + lane])))


cdef void walk(const Step* steps, const int64_t* tile, Py_ssize_t cells, Py_ssize_t n_tiles,
               int32_t* at) noexcept nogil:
    """Leaves of all rows: those of a tile go in step."""
    cdef Py_ssize_t node[LANES]
    cdef Py_ssize_t moved, below, i
    cdef int lane, k
    for i in range(n_tiles):
        for lane in range(LANES):
            node[lane] = 0
        moved = 1
        while moved:
            for k in range(ROUND - 1):
                for lane in range(LANES):
                    node[lane] = step(steps, node[lane], tile, lane)
            moved = 0
            for lane in range(LANES):
                below = step(steps, node[lane], tile, lane)
                moved |= below ^ node[lane]
                node[lane] = below
        for lane in range(LANES):
            at[lane] = <int32_t> node[lane]
        at += LANES
        tile += cells


cdef void walk_sets(const Packed* t, const int32_t* n_levels, const int64_t* tile, Py_ssize_t cells,
                    const int32_t* place, Py_ssize_t n_tiles, int32_t* at) noexcept nogil:
    """The same for a tree with sets of levels."""
    cdef int32_t moved, below
    cdef Py_ssize_t i
    cdef int lane
    for i in range(n_tiles):
        for lane in range(LANES):
            at[lane] = 0
        moved = 1
        while moved:
            moved = 0
            for lane in range(LANES):
                below = step_or_ask(t, n_levels, at[lane], tile, lane, place)
                moved |= below ^ at[lane]
                at[lane] = below
        at += LANES
        tile += cells


cdef void fill_tile(const double* x, Py_ssize_t row_step, Py_ssize_t column_step, Py_ssize_t m,
                    const int32_t* used, Py_ssize_t n_used, bint twice,
                    int64_t* tile) noexcept nogil:
    """Copy m <= LANES rows that begin at x; the next cell of a column is row_step away."""
    cdef const double* column
    cdef int64_t* cell
    cdef Py_ssize_t j
    cdef int lane
    for j in range(n_used):
        column, cell = x + used[j] * column_step, tile + j * LANES
        if row_step == 1 and m == LANES:
            for lane in range(LANES):
                cell[lane] = key_of(column[lane])
        else:
            for lane in range(LANES):              # behind the last row: that row again
                cell[lane] = key_of(column[row_step * (lane if lane < m else m - 1)])
        if twice:
            for lane in range(LANES):
                cell[n_used * LANES + lane] = LOWEST if cell[lane] == HIGHEST else cell[lane]
    cell = tile + (2 if twice else 1) * n_used * LANES
    for lane in range(LANES):
        cell[lane] = LOWEST


cdef void fill_unit_rows(Py_ssize_t K, double* table) noexcept nogil:
    """Row k: all for class k. Leaves of full trees are pure: their table stays in the cache."""
    cdef Py_ssize_t i
    for i in range(K * K):
        table[i] = i % (K + 1) == 0


cdef int32_t row_of(const double* value, Py_ssize_t K, int32_t following,
                    double* table) noexcept nogil:
    """Where a leaf's values stand in the table: row k if they are 1 for class k, else a new row."""
    cdef Py_ssize_t k, one = 0, ones = 0, zeros = 0
    for k in range(K):                             # no branches: half of them would be guessed wrong
        one += k * (value[k] == 1.0)
        ones += value[k] == 1.0
        zeros += value[k] == 0.0
    if ones == 1 and zeros == K - 1:
        return <int32_t> one
    memcpy(table + following * K, value, K * sizeof(double))
    return following


cdef void add_values(const Packed* t, const int32_t* at, Py_ssize_t m, Py_ssize_t K,
                     double* out) noexcept nogil:
    """out[i] += values of the leaf at[i]."""
    cdef Py_ssize_t i, k
    cdef const double* v
    if K == 1:
        for i in range(m):
            out[i] += number_of(t.steps[at[i]].threshold)
        return
    for i in range(m):
        v = t.value + t.steps[at[i]].threshold * K
        for k in range(K):
            out[i * K + k] += v[k]


cdef class Packing:
    """Trees for many rows, ready when `pack` was called for each of them; `missing`: some cell of
    these rows is missing."""

    cdef Packed* trees
    cdef Py_ssize_t n_trees, K
    cdef bint missing
    cdef const int32_t[::1] n_levels
    cdef int32_t[::1] place             # of a column among the used ones, -1: not used
    cdef int32_t[::1] used
    cdef list kept, values

    def __cinit__(self, list trees, list values, bint missing):
        self.kept, self.values, self.missing, self.n_trees = trees, values, missing, len(trees)
        self.n_levels = trees[0].n_levels
        self._columns(trees)
        self.K = values[0].shape[1]
        self.trees = <Packed*> calloc(self.n_trees, sizeof(Packed))
        if self.trees == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n_trees if self.trees != NULL else 0):
            free(self.trees[i].steps)
            free(self.trees[i].value)
        free(self.trees)

    def _columns(self, trees):
        """The columns that some tree looks at, one at least."""
        seen = np.zeros(len(trees[0].n_levels) + 2, dtype=np.uint8)
        cdef uint8_t[::1] marks = seen[2:]
        cdef const int32_t[::1] feature
        cdef uint8_t* mark = &marks[0]
        cdef Py_ssize_t i
        for tree in trees:
            feature = tree.feature
            for i in range(feature.shape[0]):
                mark[feature[i]] = 1               # a leaf, -2, marks a cell before the columns
        seen = seen[2:]
        if not seen.any():
            seen[0] = 1
        used = np.flatnonzero(seen).astype(np.int32)
        place = np.full(len(seen), -1, np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        self.used, self.place = used, place

    cdef Py_ssize_t width(self) noexcept nogil:
        """Cells of a row in a tile."""
        return (2 if self.missing else 1) * self.used.shape[0] + 1

    def pack(self, Py_ssize_t i):
        """Make tree i ready; different ones may be made by different threads."""
        tree = self.kept[i]
        cdef const int32_t[::1] feature = tree.feature, left = tree.left, right = tree.right
        cdef const int32_t[::1] set_start = tree.set_start
        cdef const uint8_t[::1] missing_left = tree.missing_left
        cdef const uint32_t[::1] sets = tree.sets
        cdef const double[::1] threshold = tree.threshold
        cdef const double[:, ::1] value = self.values[i]
        cdef Py_ssize_t m = feature.shape[0], leaves = (m + 1) // 2
        cdef Packed* t = self.trees + i
        cdef int32_t* waiting = <int32_t*> malloc((m + 1) * 2 * sizeof(int32_t))
        t.steps = <Step*> malloc(m * sizeof(Step))
        if self.K > 1:
            t.value = <double*> malloc((self.K + leaves) * self.K * sizeof(double))
        if waiting == NULL or t.steps == NULL or (self.K > 1 and t.value == NULL):
            free(waiting)
            raise MemoryError
        t.feature, t.missing_left = &feature[0], &missing_left[0]
        t.set_start, t.sets = &set_start[0], &sets[0] if sets.shape[0] else NULL
        t.has_sets = sets.shape[0] > 0
        t.n_nodes = m
        with nogil:
            self.fill(t, &threshold[0], &left[0], &right[0], &value[0, 0], waiting)
        free(waiting)

    cdef void fill(self, Packed* t, const double* threshold, const int32_t* left,
                   const int32_t* right, const double* value, int32_t* waiting) noexcept nogil:
        """Walk down: `waiting` holds places of steps and the nodes that belong there."""
        cdef int32_t following = 1, rows = <int32_t> self.K, height = 1, at, node
        cdef int32_t last = LANES * <int32_t> (self.width() - 1)
        cdef Step* s
        if self.K > 1:
            fill_unit_rows(self.K, t.value)
        waiting[0] = waiting[1] = 0
        while height > 0:
            height -= 1
            at, node = waiting[2 * height], waiting[2 * height + 1]
            s = t.steps + at
            if t.feature[node] < 0:
                s.column, s.child = last, at
                if self.K == 1:
                    s.threshold = bits_of(value[node])
                else:
                    s.threshold = row_of(value + node * self.K, self.K, rows, t.value)
                    rows += s.threshold == rows
                continue
            s.child, s.threshold = following, key_of(threshold[node])
            if t.set_start[node] != -1:
                s.column = -1 - node
            else:
                s.column = LANES * self.place[t.feature[node]]
                if self.missing and t.missing_left[node]:
                    s.column += LANES * <int32_t> self.used.shape[0]
            waiting[2 * height], waiting[2 * height + 1] = following + 1, right[node]
            waiting[2 * height + 2], waiting[2 * height + 3] = following, left[node]
            height += 2
            following += 2

    def add(self, const double[:, :] X, Py_ssize_t first, Py_ssize_t last, double[:, ::1] out,
            bint apart=False):
        """out[i] += value of row i's leaf, tree after tree, for the rows [first, last); apart:
        out[i, j] is the value of tree j, which has one only."""
        cdef Py_ssize_t cells = LANES * self.width(), m = last - first, i, j
        cdef Py_ssize_t n_tiles = (m + LANES - 1) // LANES
        cdef Py_ssize_t row_step = X.strides[0] // <Py_ssize_t> sizeof(double)
        cdef Py_ssize_t column_step = X.strides[1] // <Py_ssize_t> sizeof(double)
        cdef Packed* t
        cdef int64_t* tiles = <int64_t*> malloc(n_tiles * cells * sizeof(int64_t))
        cdef int32_t* at = <int32_t*> malloc(n_tiles * LANES * sizeof(int32_t))
        if tiles == NULL or at == NULL:
            free(tiles)
            free(at)
            raise MemoryError
        with nogil:
            for i in range(n_tiles):
                fill_tile(&X[first + i * LANES, 0], row_step, column_step,
                          min(m - i * LANES, <Py_ssize_t> LANES), &self.used[0], self.used.shape[0],
                          self.missing, tiles + i * cells)
            for j in range(self.n_trees):
                t = self.trees + j
                for i in range(0, t.n_nodes, 4):   # the rows would ask for them in any order
                    prefetch(t.steps + i)
                if t.has_sets:
                    walk_sets(t, &self.n_levels[0], tiles, cells, &self.place[0], n_tiles, at)
                else:
                    walk(t.steps, tiles, cells, n_tiles, at)
                if not apart:
                    add_values(t, at, m, self.K, &out[first, 0])
                for i in range(m if apart else 0):
                    out[first + i, j] = number_of(t.steps[at[i]].threshold)
            free(tiles)
            free(at)
