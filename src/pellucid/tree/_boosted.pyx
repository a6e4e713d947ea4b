"""Rows through the trees of a boosted model: sums of leaves and contributions. NumPy only.

The arrays are those of `boosting_trees.BoostedTrees`; X holds codes, column after column. Rows are
independent and every row's sum is taken in the order of the trees, so blocks of rows may run in
different threads.
"""

from libc.math cimport NAN, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc

import numpy as np


cdef struct Step:               # a node in 16 bytes
    double threshold            # NaN at a leaf: every row goes right, to the leaf itself
    int32_t column              # its place in a row of values
    int32_t right               # the left child is the next node


cdef enum:
    LANES = 8                   # rows under way at once: their cache misses overlap
    BLOCK = 128                 # rows that are copied side by side


cdef inline void walk(const Step* steps, const double* x, Py_ssize_t width, Py_ssize_t n,
                      int32_t* leaf) noexcept nogil:
    """Leaves of up to LANES rows without missing values, all of them one step at a time."""
    cdef int32_t node[LANES]
    cdef int32_t next_node, moved = 1, right
    cdef int lane
    for lane in range(LANES):
        node[lane] = 0
    while moved:
        moved = 0
        for lane in range(LANES):
            right = steps[node[lane]].right
            # Without a branch, which would be guessed wrong half of the time.
            next_node = right ^ ((right ^ (node[lane] + 1)) & -<int32_t> (
                x[lane * width + steps[node[lane]].column] <= steps[node[lane]].threshold))
            moved |= next_node ^ node[lane]
            node[lane] = next_node
    for lane in range(<int> n):
        leaf[lane] = node[lane]


cdef class Walkers:
    """The arrays of all trees."""

    cdef const int64_t[::1] start
    cdef const int32_t[::1] feature, left, right, set_start, n_levels
    cdef const double[::1] threshold, value
    cdef const uint8_t[::1] missing_left
    cdef const uint32_t[::1] sets
    cdef Py_ssize_t K, width
    cdef Step* steps
    cdef const int32_t[::1] used        # columns that the trees look at
    cdef const uint8_t[::1] has_sets    # trees with sets of levels, or missing values kept apart

    def __cinit__(self, const int64_t[::1] start, const int32_t[::1] feature,
                  const double[::1] threshold, const int32_t[::1] left, const int32_t[::1] right,
                  const uint8_t[::1] missing_left, const int32_t[::1] set_start,
                  const uint32_t[::1] sets, const double[::1] value, const int32_t[::1] n_levels,
                  Py_ssize_t K):
        self.start, self.feature, self.threshold, self.left = start, feature, threshold, left
        self.right, self.missing_left, self.set_start, self.sets = right, missing_left, set_start, sets
        self.value, self.n_levels, self.K = value, n_levels, K
        self.steps = NULL

    def __dealloc__(self):
        free(self.steps)

    def pack(self):
        """Nodes as steps, for many rows."""
        cdef Py_ssize_t i, t, m = self.feature.shape[0]
        cdef const int32_t[::1] place
        cdef uint8_t[::1] has_sets = np.zeros(self.start.shape[0], dtype=np.uint8)
        columns = np.asarray(self.feature)
        counts = np.bincount(columns[columns >= 0], minlength=1)
        self.used = np.flatnonzero(counts).astype(np.int32)
        self.width = max(self.used.shape[0], 1)
        place = (np.cumsum(counts > 0) - 1).astype(np.int32)
        if self.steps == NULL:
            self.steps = <Step*> malloc(m * sizeof(Step))
        if self.steps == NULL:
            raise MemoryError
        for t in range(self.start.shape[0] - 1):
            for i in range(self.start[t], self.start[t + 1]):
                if self.feature[i] < 0:
                    self.steps[i].threshold, self.steps[i].column = NAN, 0
                    self.steps[i].right = <int32_t> (i - self.start[t])
                    continue
                has_sets[t] |= self.set_start[i] >= 0
                self.steps[i].threshold, self.steps[i].right = self.threshold[i], self.right[i]
                self.steps[i].column = place[self.feature[i]]
        self.has_sets = has_sets

    cdef int many(self, const double* x, Py_ssize_t n, Py_ssize_t first, Py_ssize_t last,
                  Py_ssize_t tree, Py_ssize_t end, double* out) noexcept nogil:
        """As `add`, for blocks of rows that are copied side by side."""
        cdef double* rows = <double*> malloc((BLOCK + LANES) * self.width * sizeof(double))
        cdef uint8_t holes[BLOCK + LANES]       # groups of rows with a missing value
        cdef int32_t leaf[LANES]
        cdef Py_ssize_t start = first, m, i, j, t, lanes
        if rows == NULL:
            return -1
        while start < last:
            m = min(<Py_ssize_t> BLOCK, last - start)
            for i in range(m + LANES):
                holes[i] = 0
                rows[i * self.width] = 0.0
            for j in range(self.used.shape[0]):
                for i in range(m):
                    rows[i * self.width + j] = x[self.used[j] * n + start + i]
                    holes[i // LANES] |= isnan(rows[i * self.width + j])
                for i in range(m, m + LANES):
                    rows[i * self.width + j] = 0.0
            for t in range(tree, end):
                i = 0
                while i < m:
                    lanes = min(<Py_ssize_t> LANES, m - i)
                    if holes[i // LANES] or self.has_sets[t]:
                        self.each(x, n, start + i, start + i + lanes, t, out)
                    else:
                        walk(self.steps + self.start[t], rows + i * self.width, self.width, lanes,
                             leaf)
                        for j in range(lanes):
                            out[(start + i + j) * self.K + t % self.K] += (
                                self.value[self.start[t] + leaf[j]])
                    i += LANES
            start += m
        free(rows)
        return 0

    cdef void each(self, const double* x, Py_ssize_t n, Py_ssize_t first, Py_ssize_t last,
                   Py_ssize_t t, double* out) noexcept nogil:
        """One tree, row by row."""
        cdef Py_ssize_t i
        cdef int64_t node
        for i in range(first, last):
            node = self.start[t]
            while self.feature[node] >= 0:
                node = self.below(self.start[t], node, x[self.feature[node] * n + i])
            out[i * self.K + t % self.K] += self.value[node]

    cdef inline int64_t below(self, int64_t root, int64_t node, double x) noexcept nogil:
        """The child; a level that the trees do not know counts as missing."""
        cdef bint left
        cdef int32_t code
        if isnan(x):
            left = self.missing_left[node]
        elif self.set_start[node] < 0:
            left = x <= self.threshold[node]
        elif not 0.0 <= x < self.n_levels[self.feature[node]]:
            left = self.missing_left[node]
        else:
            code = <int32_t> x
            left = self.sets[self.set_start[node] + (code >> 5)] >> (code & 31) & 1
        return root + (self.left[node] if left else self.right[node])

    def add(self, const double[::1, :] X, Py_ssize_t first, Py_ssize_t last, Py_ssize_t tree,
            Py_ssize_t end, double[:, ::1] out):
        """out[i, t % K] += the value of trees [tree, end), for rows [first, last)."""
        cdef Py_ssize_t t
        cdef int status = 0
        with nogil:
            if self.steps != NULL:
                status = self.many(&X[0, 0], X.shape[0], first, last, tree, end, &out[0, 0])
            else:
                for t in range(tree, end):
                    self.each(&X[0, 0], X.shape[0], first, last, t, &out[0, 0])
        if status != 0:
            raise MemoryError

    def contributions(self, const double[::1, :] X, Py_ssize_t first, Py_ssize_t last,
                      double[:, :, ::1] out):
        """out[i, f, t % K] += the changes of value at the divisions by column f."""
        cdef Py_ssize_t i, t
        cdef int64_t node, child
        cdef int32_t f
        with nogil:
            for i in range(first, last):
                for t in range(self.start.shape[0] - 1):
                    node = self.start[t]
                    while self.feature[node] >= 0:
                        f = self.feature[node]
                        child = self.below(self.start[t], node, X[i, f])
                        out[i, f, t % self.K] += self.value[child] - self.value[node]
                        node = child
