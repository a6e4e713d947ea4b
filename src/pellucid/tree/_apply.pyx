"""Sending rows down a grown tree: leaves, paths and contributions. NumPy only, for fast starts.

The arrays are those of `nodes.Nodes`; X holds codes, column after column. Rows are independent, so
blocks of them may run in different threads.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

import numpy as np


cdef struct Tree:
    const int32_t* feature
    const double* threshold
    const int32_t* left
    const int32_t* right
    const uint8_t* missing_left
    const int32_t* set_start
    const uint32_t* sets
    const int32_t* n_levels
    const double* value
    Py_ssize_t K


cdef inline bint goes_left(const Tree* t, int32_t node, double x) noexcept nogil:
    """A level that the tree does not know counts as missing."""
    cdef int32_t code
    if isnan(x):
        return t.missing_left[node]
    if t.set_start[node] < 0:
        return x <= t.threshold[node]
    if not 0.0 <= x < t.n_levels[t.feature[node]]:
        return t.missing_left[node]
    code = <int32_t> x
    return t.sets[t.set_start[node] + (code >> 5)] >> (code & 31) & 1


cdef class Walker:
    """The pointers to one tree's arrays."""

    cdef Tree t
    cdef bint plain             # no sets of levels
    cdef object kept

    def __cinit__(self, const int32_t[::1] feature, const double[::1] threshold,
                  const int32_t[::1] left, const int32_t[::1] right,
                  const uint8_t[::1] missing_left, const int32_t[::1] set_start,
                  const uint32_t[::1] sets, const int32_t[::1] n_levels,
                  const double[:, ::1] value):
        self.kept = (feature, threshold, left, right, missing_left, set_start, sets, n_levels, value)
        self.t.feature, self.t.threshold = &feature[0], &threshold[0]
        self.t.left, self.t.right = &left[0], &right[0]
        self.t.missing_left, self.t.set_start = &missing_left[0], &set_start[0]
        self.t.sets = &sets[0] if sets.shape[0] else NULL
        self.t.n_levels, self.t.value, self.t.K = &n_levels[0], &value[0, 0], value.shape[1]
        self.plain = sets.shape[0] == 0

    def apply(self, const double[::1, :] X, Py_ssize_t first, Py_ssize_t last, int32_t[::1] leaf):
        """Leaf of the rows [first, last)."""
        cdef Tree t = self.t
        cdef Py_ssize_t i, n = X.shape[0]
        cdef const double* x
        cdef double v
        cdef int32_t node
        with nogil:
            for i in range(first, last):
                x = &X[0, 0] + i
                node = 0
                if self.plain:
                    while t.feature[node] >= 0:
                        v = x[t.feature[node] * n]
                        if v <= t.threshold[node] or (t.missing_left[node] and isnan(v)):
                            node = t.left[node]
                        else:
                            node = t.right[node]
                else:
                    while t.feature[node] >= 0:
                        v = x[t.feature[node] * n]
                        node = t.left[node] if goes_left(&t, node, v) else t.right[node]
                leaf[i] = node

    def paths(self, const double[::1, :] X, const int64_t[::1] start, int64_t[::1] nodes):
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
                    if goes_left(&t, node, X[i, t.feature[node]]):
                        node = t.left[node]
                    else:
                        node = t.right[node]

    def contributions(self, const double[::1, :] X, Py_ssize_t first, Py_ssize_t last,
                      double[:, :, ::1] out, double scale):
        """out[i, f] += scale * (change of the node's value at the divisions by column f)."""
        cdef Tree t = self.t
        cdef Py_ssize_t i, k
        cdef int32_t node, child, f
        with nogil:
            for i in range(first, last):
                node = 0
                while t.feature[node] >= 0:
                    f = t.feature[node]
                    child = t.left[node] if goes_left(&t, node, X[i, f]) else t.right[node]
                    for k in range(t.K):
                        out[i, f, k] += scale * (t.value[child * t.K + k] - t.value[node * t.K + k])
                    node = child
