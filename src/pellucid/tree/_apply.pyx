"""Sending rows down a grown tree: leaves, paths and contributions. NumPy only, for fast starts.

The arrays are those of `nodes.Nodes`; X holds codes, in any order. Rows are independent, so
blocks of them may run in different threads.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc

from pellucid.tree._shap cimport Element, Journey, shapley
from pellucid.tree._walk cimport Tree, child

import numpy as np


cdef struct Step:               # a node in 16 bytes, for many rows: one line of the cache
    double threshold            # inf at a leaf
    int32_t column              # its place in a row of values, and flags
    int32_t right               # the left child is the next node; a leaf is its own child


cdef enum:
    COLUMN = 0x0FFFFFFF
    SET = 0x10000000            # it has levels
    MISSING_LEFT = 0x20000000
    LEAF = -0x80000000
    LANES = 8                   # rows under way at once: their cache misses overlap
    BLOCK = 128                 # rows that are copied side by side
    NARROW = 64                 # columns of a tree up to which they are copied
    SHALLOW = 12                # trees up to this depth are walked to the end by all rows


cdef void walk_level(const Step* steps, int depth, const double* x, Py_ssize_t column_stride,
                     Py_ssize_t row_stride, Py_ssize_t n, int32_t* leaf) noexcept nogil:
    """Leaves of n rows without a branch: every lane takes `depth` steps, a leaf leads to itself."""
    cdef int32_t node[LANES]
    cdef const double* row[LANES]
    cdef Py_ssize_t first = 0, last
    cdef const Step* s
    cdef int32_t left, goes_right
    cdef int lane, k
    cdef double v
    while first < n:
        last = min(first + LANES, n) - 1
        for lane in range(LANES):                  # behind the last row: that row again
            node[lane] = 0
            row[lane] = x + min(first + lane, last) * row_stride
        for k in range(depth):
            for lane in range(LANES):
                s = steps + node[lane]
                v = row[lane][(s.column & COLUMN) * column_stride]
                left = node[lane] + 1 + (s.column >> 31)
                goes_right = (v > s.threshold) | ((v != v) & (s.column & MISSING_LEFT == 0))
                node[lane] = left ^ ((left ^ s.right) & -goes_right)
        for lane in range(<int> (last - first + 1)):
            leaf[first + lane] = node[lane]
        first += LANES


cdef void walk(const Tree* t, const Step* steps, const double* x, Py_ssize_t column_stride,
               Py_ssize_t row_stride, Py_ssize_t n, int32_t* leaf) noexcept nogil:
    """Leaves of n rows. Each lane takes one step in turn; at a leaf it takes the next row."""
    cdef Py_ssize_t row[LANES]
    cdef int32_t node[LANES]
    cdef Py_ssize_t following = 0
    cdef int lane, lanes = <int> min(<Py_ssize_t> LANES, n)
    cdef int32_t column, right, below
    cdef double v
    for lane in range(lanes):
        row[lane], node[lane] = following, 0
        following += 1
    while lanes > 0:
        lane = 0
        while lane < lanes:
            column = steps[node[lane]].column
            if column < 0:
                leaf[row[lane]] = node[lane]
                if following == n:                 # the last lane moves into this place
                    lanes -= 1
                    row[lane], node[lane] = row[lanes], node[lanes]
                    continue
                row[lane], node[lane] = following, 0
                following += 1
                continue
            v = x[(column & COLUMN) * column_stride + row[lane] * row_stride]
            if column & SET or v != v:
                node[lane] = child(t, node[lane], v)
            else:
                # Without a branch, which would be guessed wrong half of the time.
                right = steps[node[lane]].right
                below = right ^ (node[lane] + 1)
                node[lane] = right ^ (below & -<int32_t> (v <= steps[node[lane]].threshold))
            lane += 1


cdef class Walker:
    """The pointers to one tree's arrays; with `many` rows ahead also its nodes as steps.

    depth: of a tree without sets of levels, else -1; by_rows: the cells of a row are neighbours.
    """

    cdef Tree t
    cdef Step* steps
    cdef const int32_t[::1] used        # columns that the tree looks at
    cdef bint narrow                    # these are few: worth a copy
    cdef int depth
    cdef object kept

    def __cinit__(self, const int32_t[::1] feature, const double[::1] threshold,
                  const int32_t[::1] left, const int32_t[::1] right,
                  const uint8_t[::1] missing_left, const int32_t[::1] set_start,
                  const uint32_t[::1] sets, const int32_t[::1] n_levels,
                  const double[:, ::1] value, bint many=False, int depth=-1, bint by_rows=False):
        self.kept = (feature, threshold, left, right, missing_left, set_start, sets, n_levels, value)
        self.t.feature, self.t.threshold = &feature[0], &threshold[0]
        self.t.left, self.t.right = &left[0], &right[0]
        self.t.missing_left, self.t.set_start = &missing_left[0], &set_start[0]
        self.t.sets = &sets[0] if sets.shape[0] else NULL
        self.t.n_levels, self.t.value, self.t.K = &n_levels[0], &value[0, 0], value.shape[1]
        self.steps, self.depth = NULL, depth
        if many:
            self.pack(feature, by_rows)

    def __dealloc__(self):
        free(self.steps)

    cdef int pack(self, const int32_t[::1] feature, bint by_rows) except -1:
        cdef Py_ssize_t i, m = feature.shape[0]
        cdef const int32_t[::1] place
        inner = np.asarray(feature)
        counts = np.bincount(inner[inner >= 0], minlength=1)
        self.used = np.flatnonzero(counts).astype(np.int32)
        self.narrow = not by_rows and self.used.shape[0] <= NARROW
        places = np.cumsum(counts > 0) - 1 if self.narrow else np.arange(len(counts))
        place = places.astype(np.int32)
        self.steps = <Step*> malloc(m * sizeof(Step))
        if self.steps == NULL:
            raise MemoryError
        for i in range(m):
            if feature[i] < 0:
                self.steps[i].column, self.steps[i].right = LEAF | MISSING_LEFT, <int32_t> i
                self.steps[i].threshold = INFINITY
                continue
            self.steps[i].column = place[feature[i]]
            if self.t.set_start[i] != -1:
                self.steps[i].column |= SET
            if self.t.missing_left[i]:
                self.steps[i].column |= MISSING_LEFT
            self.steps[i].right, self.steps[i].threshold = self.t.right[i], self.t.threshold[i]
        return 0

    cdef void block(self, const double* x, Py_ssize_t column_stride, Py_ssize_t row_stride,
                    Py_ssize_t n, int32_t* leaf) noexcept nogil:
        if 0 <= self.depth <= SHALLOW:
            walk_level(self.steps, self.depth, x, column_stride, row_stride, n, leaf)
        else:
            walk(&self.t, self.steps, x, column_stride, row_stride, n, leaf)

    cdef int many(self, const double* x, Py_ssize_t column_stride, Py_ssize_t row_stride,
                  Py_ssize_t first, Py_ssize_t last, int32_t* leaf) noexcept nogil:
        """Columns are copied side by side by blocks of rows: a row's values share cache lines."""
        cdef Py_ssize_t width = self.used.shape[0], start = first, m, i, j
        cdef const double* column
        cdef double* rows
        if not self.narrow:
            self.block(x + first * row_stride, column_stride, row_stride, last - first, leaf + first)
            return 0
        rows = <double*> malloc((BLOCK * width + 1) * sizeof(double))
        if rows == NULL:
            return -1
        while start < last:
            m = min(<Py_ssize_t> BLOCK, last - start)
            for j in range(width):
                column = x + self.used[j] * column_stride + start * row_stride
                for i in range(m):
                    rows[i * width + j] = column[i * row_stride]
            self.block(rows, 1, width, m, leaf + start)
            start += m
        free(rows)
        return 0

    def apply(self, const double[:, :] X, Py_ssize_t first, Py_ssize_t last, int32_t[::1] leaf):
        """Leaf of the rows [first, last)."""
        cdef const double* x = &X[0, 0]
        cdef Py_ssize_t i
        cdef Py_ssize_t by_row = X.strides[0] // 8, by_column = X.strides[1] // 8
        cdef int32_t node
        cdef int status = 0
        with nogil:
            if self.steps != NULL:
                status = self.many(x, by_column, by_row, first, last, &leaf[0])
            else:
                for i in range(first, last):
                    node = 0
                    while self.t.feature[node] >= 0:
                        node = child(&self.t, node, x[self.t.feature[node] * by_column + i * by_row])
                    leaf[i] = node
        if status != 0:
            raise MemoryError

    def paths(self, const double[:, :] X, const int64_t[::1] start, int64_t[::1] nodes):
        """Nodes on the path of row i, from the root to its leaf, at nodes[start[i]:start[i + 1]]."""
        cdef Tree t = self.t
        cdef Py_ssize_t i, n = X.shape[0], at
        cdef int32_t node
        with nogil:
            for i in range(n):
                node, at = 0, start[i]
                while True:
                    nodes[at] = node
                    at += 1
                    if t.feature[node] < 0:
                        break
                    node = child(&t, node, X[i, t.feature[node]])

    def contributions(self, const double[:, :] X, Py_ssize_t first, Py_ssize_t last,
                      double[:, :, ::1] out, double scale):
        """out[i, f] += scale * (change of the node's value at the splits by column f)."""
        cdef Tree t = self.t
        cdef Py_ssize_t i, k
        cdef int32_t node, below, f
        with nogil:
            for i in range(first, last):
                node = 0
                while t.feature[node] >= 0:
                    f = t.feature[node]
                    below = child(&t, node, X[i, f])
                    for k in range(t.K):
                        out[i, f, k] += scale * (t.value[below * t.K + k] - t.value[node * t.K + k])
                    node = below

    def shap(self, const double[:, :] X, Py_ssize_t first, Py_ssize_t last,
             const double[::1] cover, int depth, const double[:, ::1] rule,
             double[:, :, ::1] out, double scale):
        """out[i] += scale * Shapley values of row i; `depth` is the tree's, `cover` its weights;
        `rule` (2, points): where an integral over [0, 1] is looked at, and the weights there."""
        cdef Tree t = self.t
        cdef Journey j
        cdef Py_ssize_t i, points = rule.shape[1], longest = min(<Py_ssize_t> depth, X.shape[1]) + 1
        cdef double* memory = <double*> malloc((2 * (depth + 1) + longest) * points * sizeof(double))
        j.path = <Element*> malloc(longest * sizeof(Element))
        if memory == NULL or j.path == NULL:
            free(memory)
            free(j.path)
            raise MemoryError
        j.tree, j.cover, j.stride, j.scale = &t, &cover[0], X.strides[1] // 8, scale
        j.points, j.weights, j.n_points = &rule[0, 0], &rule[1, 0], <int> points
        j.products = memory + longest * points
        for i in range(longest):
            j.path[i].inverse = memory + i * points
        for i in range(points):
            j.products[i] = 1.0
        with nogil:
            for i in range(first, last):
                j.x, j.out = &X[0, 0] + i * (X.strides[0] // 8), &out[i, 0, 0]
                shapley(&j, 0, 0, 0, j.products + (depth + 1) * points)
        free(memory)
        free(j.path)


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
