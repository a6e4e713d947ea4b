"""Sums of the values of many trees: rows by blocks, tree after tree, several rows at a time.

A node takes 16 bytes: threshold, column, first child; its children stand side by side, and a leaf is
its own child, so that a step needs no branch: node = child + (x > threshold). A column stands twice
in a copied row if cells are missing: once with -inf for them (they go left) and once as it is (they
go right), and a node knows which one it reads. Nodes with sets of levels are asked apart.

Every row adds up its trees in their order: bits do not depend on blocks or threads.
"""

from libc.math cimport INFINITY, isnan
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, realloc

import numpy as np


cdef struct Step:
    double threshold
    int32_t column              # its place in a copied row; -1 - node in `sets`: has levels
    int32_t child               # the left one; the right one is next; a leaf: itself


cdef struct Packed:             # one tree
    Step* steps
    int32_t* leaf               # (nodes,) number in the tree's own arrays
    const double* value         # (nodes, K), the tree's own
    const int32_t* feature
    const uint8_t* missing_left
    const int32_t* set_start
    const uint32_t* sets
    bint has_sets


cdef enum:
    LANES = 16                   # rows under way at once
    ROUND = 4                   # steps between two looks at whether all are done
    BLOCK = 256                 # rows that are copied side by side


cdef inline int32_t ask_set(const Packed* t, const int32_t* n_levels, int32_t node,
                            double x) noexcept nogil:
    """0 left, 1 right; a level that the tree does not know counts as missing."""
    cdef int32_t code
    if not 0.0 <= x < n_levels[t.feature[node]]:
        return 1 - t.missing_left[node]
    code = <int32_t> x
    return 1 - (t.sets[t.set_start[node] + (code >> 5)] >> (code & 31) & 1)


cdef inline int32_t step(const Packed* t, int32_t at, const double* row) noexcept nogil:
    cdef const Step* s = t.steps + at
    return s.child + <int32_t> (not row[s.column] <= s.threshold)


cdef int32_t step_or_ask(const Packed* t, const int32_t* n_levels, int32_t at, const double* row,
                         const int32_t* place) noexcept nogil:
    cdef const Step* s = t.steps + at
    cdef int32_t node
    if s.column >= 0:
        return s.child + <int32_t> (not row[s.column] <= s.threshold)
    node = -1 - s.column
    return s.child + ask_set(t, n_levels, node, row[place[t.feature[node]]])


cdef void walk(const Packed* t, const double* rows, Py_ssize_t width, Py_ssize_t n,
               int32_t* at) noexcept nogil:
    """Leaves of n rows, LANES of them in step."""
    cdef int32_t node[LANES]
    cdef int32_t moved
    cdef Py_ssize_t first = 0
    cdef int lane, k
    while first + LANES <= n:
        for lane in range(LANES):
            node[lane] = 0
        moved = 1
        while moved:
            for k in range(ROUND):
                for lane in range(LANES):
                    node[lane] = step(t, node[lane], rows + (first + lane) * width)
            moved = 0
            for lane in range(LANES):
                moved |= t.steps[node[lane]].child ^ node[lane]
        for lane in range(LANES):
            at[first + lane] = node[lane]
        first += LANES
    while first < n:
        at[first] = 0
        while t.steps[at[first]].child != at[first]:
            at[first] = step(t, at[first], rows + first * width)
        first += 1


cdef void walk_sets(const Packed* t, const int32_t* n_levels, const double* rows, Py_ssize_t width,
                    const int32_t* place, Py_ssize_t n, int32_t* at) noexcept nogil:
    """The same for a tree with sets of levels."""
    cdef int32_t node[LANES]
    cdef int32_t moved
    cdef Py_ssize_t first = 0, lanes
    cdef int lane
    while first < n:
        lanes = min(<Py_ssize_t> LANES, n - first)
        for lane in range(lanes):
            node[lane] = 0
        moved = 1
        while moved:
            moved = 0
            for lane in range(lanes):
                node[lane] = step_or_ask(t, n_levels, node[lane], rows + (first + lane) * width, place)
                moved |= t.steps[node[lane]].child ^ node[lane]
        for lane in range(lanes):
            at[first + lane] = node[lane]
        first += lanes


cdef void copy_rows(const double* x, Py_ssize_t n, Py_ssize_t start, Py_ssize_t m,
                    const int32_t* used, Py_ssize_t n_used, bint twice, double* rows) noexcept nogil:
    """Rows side by side; column j at j, and with missing cells as -inf at n_used + j."""
    cdef Py_ssize_t width = 2 * n_used if twice else n_used, i, j
    cdef const double* column
    for j in range(n_used):
        column = x + used[j] * n + start
        for i in range(m):
            rows[i * width + j] = column[i]
        if twice:
            for i in range(m):
                rows[i * width + n_used + j] = -INFINITY if isnan(column[i]) else column[i]


cdef class Packing:
    """Trees packed for many rows; `missing`: some cell of these rows is missing."""

    cdef Packed* trees
    cdef Py_ssize_t n_trees, K
    cdef bint missing
    cdef const int32_t[::1] n_levels
    cdef int32_t[::1] place             # of a column among the used ones, -1: not used
    cdef int32_t[::1] used
    cdef list kept

    def __cinit__(self, trees, values, bint missing):
        cdef Py_ssize_t i
        self.kept, self.missing, self.n_trees = [trees, values], missing, 0
        self.n_levels = trees[0].n_levels
        self._columns(trees)
        self.K = values[0].shape[1]
        self.trees = <Packed*> malloc(len(trees) * sizeof(Packed))
        if self.trees == NULL:
            raise MemoryError
        for i in range(len(trees)):
            self._pack(trees[i], values[i])

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n_trees):
            free(self.trees[i].steps)
            free(self.trees[i].leaf)
        free(self.trees)

    def _columns(self, trees):
        """The columns that some tree looks at, one at least."""
        seen = np.zeros(len(trees[0].n_levels), dtype=bool)
        for tree in trees:
            seen[tree.feature[tree.feature >= 0]] = True
        if not seen.any():
            seen[0] = True
        used = np.flatnonzero(seen).astype(np.int32)
        place = np.full(len(seen), -1, np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        self.used, self.place = used, place

    cdef int _pack(self, tree, const double[:, ::1] value) except -1:
        cdef const int32_t[::1] feature = tree.feature, left = tree.left, right = tree.right
        cdef const int32_t[::1] set_start = tree.set_start
        cdef const uint8_t[::1] missing_left = tree.missing_left
        cdef const uint32_t[::1] sets = tree.sets
        cdef const double[::1] threshold = tree.threshold
        cdef Py_ssize_t m = feature.shape[0], n_used = self.used.shape[0], height = 1
        cdef Packed* t = self.trees + self.n_trees
        cdef int32_t* waiting = <int32_t*> malloc((m + 1) * sizeof(int32_t))
        t.steps = <Step*> malloc(m * sizeof(Step))
        t.leaf = <int32_t*> malloc(m * sizeof(int32_t))
        self.n_trees += 1
        if waiting == NULL or t.steps == NULL or t.leaf == NULL:
            free(waiting)
            raise MemoryError
        t.value, t.feature, t.missing_left = &value[0, 0], &feature[0], &missing_left[0]
        t.set_start, t.sets = &set_start[0], &sets[0] if sets.shape[0] else NULL
        t.has_sets = sets.shape[0] > 0
        cdef int32_t following = 1, at, node
        with nogil:
            t.leaf[0] = 0
            waiting[0] = 0
            while height > 0:
                height -= 1
                at = waiting[height]
                node = t.leaf[at]
                if feature[node] < 0:              # it reads a cell that is never missing
                    t.steps[at].threshold, t.steps[at].child = INFINITY, at
                    t.steps[at].column = <int32_t> n_used if self.missing else 0
                    continue
                t.steps[at].child, t.steps[at].threshold = following, threshold[node]
                if set_start[node] >= 0:
                    t.steps[at].column = -1 - node
                else:
                    t.steps[at].column = self.place[feature[node]]
                    if self.missing and missing_left[node]:
                        t.steps[at].column += <int32_t> n_used
                t.leaf[following], t.leaf[following + 1] = left[node], right[node]
                waiting[height], waiting[height + 1] = following + 1, following
                height += 2
                following += 2
        free(waiting)
        return 0

    def add(self, const double[::1, :] X, Py_ssize_t first, Py_ssize_t last, double[:, ::1] out,
            bint apart=False):
        """out[i] += value of row i's leaf, tree after tree, for the rows [first, last); apart:
        out[i, j] is the value of tree j, which has one only."""
        cdef Py_ssize_t n_used = self.used.shape[0], width = (2 if self.missing else 1) * n_used
        cdef Py_ssize_t start, m, i, j, k, K = self.K, n = X.shape[0]
        cdef const double* v
        cdef Packed* t
        cdef double* rows = <double*> malloc((last - first) * width * sizeof(double))
        cdef int32_t* at = <int32_t*> malloc((last - first) * sizeof(int32_t))
        if rows == NULL or at == NULL:
            free(rows)
            free(at)
            raise MemoryError
        with nogil:
            start = first
            while start < last:
                m = min(<Py_ssize_t> BLOCK, last - start)
                copy_rows(&X[0, 0], n, start, m, &self.used[0], n_used, self.missing,
                          rows + (start - first) * width)
                start += m
            m = last - first
            for j in range(self.n_trees):
                t = self.trees + j
                if t.has_sets:
                    walk_sets(t, &self.n_levels[0], rows, width, &self.place[0], m, at)
                else:
                    walk(t, rows, width, m, at)
                for i in range(m if apart else 0):
                    out[first + i, j] = t.value[t.leaf[at[i]]]
                for i in range(0 if apart else m):
                    v = t.value + t.leaf[at[i]] * K
                    for k in range(K):
                        out[first + i, k] += v[k]
            free(rows)
            free(at)
