"""Nodes under construction, in memory that grows without Python, and the arrays of grown trees."""

from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from pellucid.tree._memory cimport reallocate, release
from pellucid.tree._table cimport SMALL, Node

import numpy as np


cdef class NodeBuffer:
    """Nodes under construction: records, class weights (or means), words of level sets."""

    def __cinit__(self, int size):
        self.size = size

    def __dealloc__(self):
        release(self.nodes)
        release(self.counts)
        release(self.words)

    cdef int reserve(self, Py_ssize_t nodes, Py_ssize_t words) noexcept nogil:
        """Reserve memory for that many more; 0 if there is enough."""
        cdef Py_ssize_t capacity, size = self.size * sizeof(double)
        if self.n_nodes + nodes > self.node_capacity:
            capacity = (self.n_nodes + nodes) * 3 // 2 + 6
            if (reallocate(<void**> &self.nodes, self.n_nodes * sizeof(Node),
                           capacity * sizeof(Node)) != 0
                    or reallocate(<void**> &self.counts, self.n_nodes * size, capacity * size) != 0):
                return -1
            self.node_capacity = capacity
        if self.n_words + words > self.word_capacity:
            capacity = 2 * (self.n_words + words)
            if reallocate(<void**> &self.words, self.n_words * sizeof(uint32_t),
                          capacity * sizeof(uint32_t)) != 0:
                return -1
            self.word_capacity = capacity
        return 0

    def __len__(self):
        return self.n_nodes

    def segment(self, Py_ssize_t i):
        """(start, end, stopped, decrease, left, right) of node i."""
        cdef Node* node = self.nodes + i
        return node.start, node.end, bool(node.stopped), node.decrease, node.left, node.right

    def close(self, Py_ssize_t i):
        """Node i stays a leaf although a split was found."""
        self.nodes[i].feature = -1
        self.nodes[i].threshold = self.nodes[i].decrease = 0.0
        self.nodes[i].missing_left = 0


cdef class Gathered:
    """The arrays of trees, one behind the other, each in depth-first order, left before right; names
    as in `nodes.Nodes`. Links and places of sets count from the beginning of their tree; tree k has
    the nodes [starts[k], starts[k + 1]) and the words [word_starts[k], word_starts[k + 1]) of sets."""

    def __init__(self, Py_ssize_t m, int size, Py_ssize_t words, bint bounded, Py_ssize_t trees):
        self.feature = self._feature = np.empty(m, np.int32)
        self.left = self._left = np.full(m, -1, np.int32)
        self.right = self._right = np.full(m, -1, np.int32)
        self.set_start = self._set_start = np.full(m, -1, np.int32)
        self.like = self._like = np.empty(m, np.int32)
        self.threshold = self._threshold = np.empty(m)
        self.cost = self._cost = np.empty(m)
        self.decrease = self._decrease = np.empty(m)
        self.weight = self._weight = np.empty(m)
        self.rows = self._rows = np.empty(m, np.int64)
        self.missing_left = self._missing_left = np.empty(m, np.uint8)
        self.sets = self._sets = np.empty(words, np.uint32)
        self.counts = self._counts = np.empty((m, size))
        self.lower = self._lower = np.empty(m * bounded)
        self.upper = self._upper = np.empty(m * bounded)
        self.starts = self._starts = np.zeros(trees + 1, np.int64)
        self.word_starts = self._word_starts = np.zeros(trees + 1, np.int64)


def gather(list buffers, const int32_t[::1] attach, const int32_t[::1] n_levels, bint bounded=False):
    """One tree from a trunk, buffers[0], and its branches; branch k grows out of node attach[k - 1].

    The node of the trunk at which a branch grows is the root of the branch.
    """
    cdef NodeBuffer buffer, trunk = buffers[0]
    cdef Py_ssize_t k, n_parts = len(buffers), m = -attach.shape[0], n_words = 0
    cdef Part* parts = <Part*> malloc(n_parts * sizeof(Part))
    cdef int32_t[::1] branch = np.zeros(trunk.n_nodes, np.int32)
    if parts == NULL:
        raise MemoryError
    for k in range(n_parts):
        buffer = buffers[k]
        parts[k].nodes, parts[k].counts, parts[k].words = buffer.nodes, buffer.counts, buffer.words
        m, n_words = m + buffer.n_nodes, n_words + buffer.n_words
        if k > 0:
            branch[attach[k - 1]] = <int32_t> k
    cdef Gathered out = Gathered(m, trunk.size, n_words, bounded, 1)
    cdef int32_t[:, ::1] waiting = np.empty((m + 2, 3), np.int32)
    try:
        if m < SMALL:
            gather_tree(parts, trunk.size, &branch[0], n_levels, 0, 0, waiting, out)
        else:
            with nogil:
                gather_tree(parts, trunk.size, &branch[0], n_levels, 0, 0, waiting, out)
    finally:
        free(parts)
    return out


cdef void gather_tree(const Part* parts, int size, const int32_t* branch, const int32_t[::1] n_levels,
                      int32_t root, Py_ssize_t tree, int32_t[:, ::1] waiting,
                      Gathered out) noexcept nogil:
    """Walk down: `waiting` holds part, node, and the parent that a right child has, else -1."""
    cdef const Node* node
    cdef const uint32_t* words
    cdef Py_ssize_t height = 1, used = out._word_starts[tree], first_word = used, length
    cdef Py_ssize_t at = out._starts[tree], first = at
    cdef int32_t part, i, parent
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = 0, root, -1
    while height > 0:
        height -= 1
        part, i, parent = waiting[height, 0], waiting[height, 1], waiting[height, 2]
        if part == 0 and branch != NULL and branch[i] > 0:
            part, i = branch[i], 0
        node = parts[part].nodes + i
        if parent >= 0:
            out._right[first + parent] = <int32_t> (at - first)
        out._feature[at], out._threshold[at] = node.feature, node.threshold
        out._like[at] = node.like
        out._cost[at], out._decrease[at], out._weight[at] = node.cost, node.decrease, node.weight
        out._rows[at], out._missing_left[at] = node.end - node.start, <uint8_t> node.missing_left
        if out._lower.shape[0]:
            out._lower[at], out._upper[at] = node.lower, node.upper
        memcpy(&out._counts[at, 0], parts[part].counts + i * size, size * sizeof(double))
        if node.set_start != -1:
            words = parts[part].words + (
                node.set_start if node.set_start >= 0 else -2 - node.set_start)
            if node.set_start >= 0:
                length = (n_levels[node.feature] + 31) // 32
                out._set_start[at] = <int32_t> (used - first_word)
            else:
                length, out._set_start[at] = 1 + words[0], <int32_t> (-2 - (used - first_word))
            memcpy(&out._sets[used], words, length * sizeof(uint32_t))
            used += length
        if node.left >= 0:
            parent = <int32_t> (at - first)
            out._left[at] = parent + 1
            waiting[height, 0], waiting[height, 1], waiting[height, 2] = part, node.right, parent
            height += 1
            waiting[height, 0], waiting[height, 1], waiting[height, 2] = part, node.left, -1
            height += 1
        at += 1
    out._starts[tree + 1], out._word_starts[tree + 1] = at, used
