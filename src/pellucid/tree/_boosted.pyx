"""Rows through the trees of a boosted model: sums of leaves and contributions. NumPy only.

The arrays are those of `boosting_trees.BoostedTrees`; X holds codes, in any order. Rows are
independent and every row's sum is taken in the order of the trees, so blocks of rows may run in
different threads.

Many rows through many trees. Values of all trees are compared with few thresholds, so that each
cell is first replaced by its rank among the thresholds of its column (uint16): x <= threshold[r]
exactly if rank(x) <= r. A row takes two bytes a column then, a node eight.

The children of a node stand side by side: node = child + (rank > cut). A leaf is its own child and
its cut is the largest number, so a step needs no branch. If cells are missing a column stands twice,
once with a rank above all cuts (they go right) and once with 0 (they go left).
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc

import numpy as np


cdef struct Step:
    uint16_t column             # its place in a row of ranks
    uint16_t cut
    int32_t child               # the left one


cdef enum:
    LANES = 16                  # rows under way at once
    ROUND = 3                   # steps between two looks at whether all are done
    BLOCK = 128                 # rows whose ranks are found at once
    MISSING = 65535
    PRESENT = 65534             # cut of a split into present and missing
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


cdef class Walkers:
    """The arrays of all trees."""

    cdef const int64_t[::1] start
    cdef const int32_t[::1] feature, left, right, set_start, n_levels
    cdef const double[::1] threshold, value
    cdef const uint8_t[::1] missing_left
    cdef const uint32_t[::1] sets
    cdef Py_ssize_t K
    cdef bint missing                   # some cell of the rows to come is missing
    cdef Step* steps
    cdef double* packed                 # values in the order of the steps
    cdef const int32_t[::1] used        # columns that the trees compare with thresholds
    cdef const double[::1] cuts         # their thresholds, column after column, ascending
    cdef const int64_t[::1] first       # of each used column in `cuts`
    cdef const uint8_t[::1] has_sets    # trees with sets of levels

    def __cinit__(self, const int64_t[::1] start, const int32_t[::1] feature,
                  const double[::1] threshold, const int32_t[::1] left, const int32_t[::1] right,
                  const uint8_t[::1] missing_left, const int32_t[::1] set_start,
                  const uint32_t[::1] sets, const double[::1] value, const int32_t[::1] n_levels,
                  Py_ssize_t K):
        self.start, self.feature, self.threshold, self.left = start, feature, threshold, left
        self.right, self.missing_left, self.set_start, self.sets = right, missing_left, set_start, sets
        self.value, self.n_levels, self.K = value, n_levels, K
        self.steps, self.packed = NULL, NULL

    def __dealloc__(self):
        free(self.steps)
        free(self.packed)

    def pack(self, bint missing):
        """Nodes as steps, for many rows; False if a column has too many thresholds for ranks."""
        cdef Py_ssize_t t, m = self.feature.shape[0]
        cdef uint8_t[::1] has_sets = np.zeros(self.start.shape[0], dtype=np.uint8)
        cdef int32_t[::1] place = np.zeros(self.n_levels.shape[0], dtype=np.int32)
        cdef const uint16_t[::1] cut
        columns, sets = np.asarray(self.feature), np.asarray(self.set_start) >= 0
        numbers = (columns >= 0) & ~sets
        used, parts, cuts = np.flatnonzero(np.bincount(columns[numbers], minlength=1)), [], np.zeros(m)
        for j in used:
            own = np.flatnonzero(numbers & (columns == j))
            distinct, ranks = np.unique(np.asarray(self.threshold)[own], return_inverse=True)
            parts.append(distinct[distinct < np.inf])
            cuts[own] = np.where(ranks == len(parts[len(parts) - 1]), PRESENT, ranks)
        if any(len(part) > MOST for part in parts) or 2 * len(used) > MOST:
            return False
        np.asarray(place)[used] = np.arange(len(used))
        self.used, self.missing, self.has_sets = used.astype(np.int32), missing, has_sets
        self.cuts = np.concatenate([*parts, np.zeros(1)])
        self.first = np.cumsum([0, *map(len, parts)])
        cut = cuts.astype(np.uint16)
        np.asarray(has_sets)[np.searchsorted(self.start, np.flatnonzero(sets), side="right") - 1] = 1
        self.steps = <Step*> malloc(m * sizeof(Step))
        self.packed = <double*> malloc(m * sizeof(double))
        cdef int32_t* number = <int32_t*> malloc((m + 1) * sizeof(int32_t))
        if self.steps == NULL or self.packed == NULL or number == NULL:
            free(number)
            raise MemoryError
        with nogil:
            for t in range(self.start.shape[0] - 1):
                self.pack_tree(self.start[t], place, cut, number)
        free(number)
        return True

    cdef void pack_tree(self, int64_t root, const int32_t[::1] place, const uint16_t[::1] cut,
                        int32_t* number) noexcept nogil:
        """Breadth first, children side by side; number[i] is the node at place i."""
        cdef int32_t i = 0, following = 1
        cdef int64_t node
        cdef Step* step
        number[0] = 0
        while i < following:
            node, step = root + number[i], self.steps + root + i
            self.packed[root + i] = self.value[node]
            if self.feature[node] < 0:
                step.column, step.cut, step.child = 0, MISSING, i
            else:
                step.cut, step.child = cut[node], following
                step.column = <uint16_t> place[self.feature[node]]
                if self.missing and self.missing_left[node]:
                    step.column += <uint16_t> self.used.shape[0]
                number[following], number[following + 1] = self.left[node], self.right[node]
                following += 2
            i += 1

    cdef void rank_rows(self, const double[:, :] X, Py_ssize_t start, Py_ssize_t m,
                        Py_ssize_t width, uint16_t* rows) noexcept nogil:
        cdef Py_ssize_t i, j, lane, n_used = self.used.shape[0]
        cdef double values[LANES]
        cdef int32_t at[LANES]
        cdef uint16_t* row
        for j in range(n_used):
            i = 0
            while i < m:
                for lane in range(LANES):
                    values[lane] = X[start + min(i + lane, m - 1), self.used[j]]
                ranks(&self.cuts[self.first[j]], self.first[j + 1] - self.first[j], values, at)
                for lane in range(LANES):
                    row = rows + (i + lane) * width + j
                    row[0] = MISSING if isnan(values[lane]) else at[lane]
                    if self.missing:
                        row[n_used] = 0 if isnan(values[lane]) else at[lane]
                i += LANES

    cdef int many(self, const double[:, :] X, Py_ssize_t first, Py_ssize_t last, Py_ssize_t tree,
                  Py_ssize_t end, double* out) noexcept nogil:
        """As `add`, for blocks of rows whose ranks stand side by side."""
        cdef Py_ssize_t width = max(<Py_ssize_t> 1, (2 if self.missing else 1) * self.used.shape[0])
        cdef uint16_t* rows = <uint16_t*> calloc((BLOCK + LANES) * width, sizeof(uint16_t))
        cdef int32_t leaf[LANES]
        cdef Py_ssize_t start = first, m, i, j, t
        if rows == NULL:
            return -1
        while start < last:
            m = min(<Py_ssize_t> BLOCK, last - start)
            self.rank_rows(X, start, m, width, rows)
            for t in range(tree, end):
                if self.has_sets[t]:
                    self.each(X, start, start + m, t, out)
                    continue
                i = 0
                while i < m:
                    walk(self.steps + self.start[t], rows + i * width, width, leaf)
                    for j in range(min(<Py_ssize_t> LANES, m - i)):
                        out[(start + i + j) * self.K + t % self.K] += (
                            self.packed[self.start[t] + leaf[j]])
                    i += LANES
            start += m
        free(rows)
        return 0

    cdef void each(self, const double[:, :] X, Py_ssize_t first, Py_ssize_t last, Py_ssize_t t,
                   double* out) noexcept nogil:
        """One tree, row by row."""
        cdef Py_ssize_t i
        cdef int64_t node
        for i in range(first, last):
            node = self.start[t]
            while self.feature[node] >= 0:
                node = self.below(self.start[t], node, X[i, self.feature[node]])
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

    def add(self, const double[:, :] X, Py_ssize_t first, Py_ssize_t last, Py_ssize_t tree,
            Py_ssize_t end, double[:, ::1] out):
        """out[i, t % K] += the value of trees [tree, end), for rows [first, last)."""
        cdef Py_ssize_t t
        cdef int status = 0
        with nogil:
            if self.steps != NULL:
                status = self.many(X, first, last, tree, end, &out[0, 0])
            else:
                for t in range(tree, end):
                    self.each(X, first, last, t, &out[0, 0])
        if status != 0:
            raise MemoryError

    def contributions(self, const double[:, :] X, Py_ssize_t first, Py_ssize_t last,
                      double[:, :, ::1] out):
        """out[i, f, t % K] += the changes of value at the splits by column f."""
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
