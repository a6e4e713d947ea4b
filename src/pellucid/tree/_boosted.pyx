"""Rows through the trees of a boosted model: sums of leaves and contributions. NumPy only.

The arrays are those of `boosting_trees.BoostedTrees`; X holds codes, column after column. Rows are
independent and every row's sum is taken in the order of the trees, so blocks of rows may run in
different threads.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t


cdef class Walkers:
    """The arrays of all trees."""

    cdef const int64_t[::1] start
    cdef const int32_t[::1] feature, left, right, set_start, n_levels
    cdef const double[::1] threshold, value
    cdef const uint8_t[::1] missing_left
    cdef const uint32_t[::1] sets
    cdef Py_ssize_t K

    def __cinit__(self, const int64_t[::1] start, const int32_t[::1] feature,
                  const double[::1] threshold, const int32_t[::1] left, const int32_t[::1] right,
                  const uint8_t[::1] missing_left, const int32_t[::1] set_start,
                  const uint32_t[::1] sets, const double[::1] value, const int32_t[::1] n_levels,
                  Py_ssize_t K):
        self.start, self.feature, self.threshold, self.left = start, feature, threshold, left
        self.right, self.missing_left, self.set_start, self.sets = right, missing_left, set_start, sets
        self.value, self.n_levels, self.K = value, n_levels, K

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
        cdef Py_ssize_t i, t
        cdef int64_t node
        with nogil:
            for t in range(tree, end):
                for i in range(first, last):
                    node = self.start[t]
                    while self.feature[node] >= 0:
                        node = self.below(self.start[t], node, X[i, self.feature[node]])
                    out[i, t % self.K] += self.value[node]

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
