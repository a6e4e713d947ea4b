"""The finished trees of all rounds of boosting: nodes in preorder, field by field."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from pellucid.tree._histogram_records cimport WIDTH, GrowingTree, Grown, Node, Split

import numpy as np

GROWN = np.dtype(
    [("value", "f8"), ("gain", "f8"), ("c", "f8"), ("h", "f8"), ("feature", "i4"), ("bin", "i4"),
     ("left", "i4"), ("right", "i4"), ("missing_left", "i4"), ("set_at", "i4")]
)
FEW_NODES = 2**12  # moving fewer nodes at once would take longer than small trees grow
FIELDS = {name: "u1" if name == "missing_left" else GROWN[name].str for name in GROWN.names}


cdef void* reallocated(void* memory, size_t size) except? NULL:
    cdef void* new = realloc(memory, size)
    if new == NULL and size > 0:
        raise MemoryError
    return new


cdef class GrownTrees:
    """The trees of one round after the other; all of them are read at the end."""

    def __cinit__(self):
        self.starts = []
        self.expect(0)

    def __dealloc__(self):
        free(self.grown)
        free(self.sets)

    def expect(self, Py_ssize_t nodes):
        """Reserve memory for the nodes of all rounds. Pages that no node was written to take none;
        moving the fields as they grow would take it twice."""
        self.fields = {name: np.empty(nodes, dtype=kind) for name, kind in FIELDS.items()}

    cdef int append(self, const GrowingTree* trees, int n_trees) except -1:
        """The trees of this round, in preorder, behind those of the rounds before."""
        cdef int k
        cdef int64_t leaves
        if self.n_grown >= FEW_NODES:
            self.keep_fields()
        for k in range(n_trees):
            leaves = trees[k].n_leaves
            if self.n_grown + 2 * leaves > self.grown_capacity:
                self.grown_capacity = 2 * (self.n_grown + 2 * leaves)
                self.grown = <Grown*> reallocated(self.grown, self.grown_capacity * sizeof(Grown))
            if self.n_sets + leaves > self.sets_capacity:
                self.sets_capacity = 2 * (self.n_sets + leaves)
                self.sets = <uint64_t*> reallocated(
                    self.sets, 4 * self.sets_capacity * sizeof(uint64_t))
            self.starts.append(self.first_grown + self.n_grown)
            self.store_tree(trees + k)
        return 0

    cdef int keep_fields(self) except -1:
        """Move the latest nodes into one array per field, which the export returns without a copy."""
        cdef int64_t last = self.first_grown + self.n_grown
        # Not np.asarray of a memoryview: NumPy reads its format in Python, and an interrupt that
        # arrives there is lost.
        nodes = np.empty(self.n_grown, dtype=GROWN)
        cdef uint8_t[::1] copy = nodes.view(np.uint8)
        memcpy(&copy[0], self.grown, self.n_grown * sizeof(Grown))
        for name, kept in self.fields.items():
            if last > len(kept):
                kept.resize(last + last // 8 + 64, refcheck=False)
            kept[self.first_grown:last] = nodes[name]
        self.first_grown, self.n_grown = last, 0
        return 0

    cdef int store_tree(self, const GrowingTree* t) except -1:
        """Inner values are means of the leaves below, by samples."""
        cdef int32_t* stack = <int32_t*> reallocated(NULL, 2 * (t.m + 1) * sizeof(int32_t))
        cdef int32_t node, above
        cdef int64_t first = self.n_grown, i
        cdef int depth = 1
        cdef Grown* g
        stack[0], stack[1] = 0, -1
        while depth > 0:
            depth -= 1
            node, above = stack[2 * depth], stack[2 * depth + 1]
            i = self.n_grown - first
            if above >= 0:
                self.grown[first + above].right = <int32_t> i
            self.describe(t, node, self.grown + first + i)
            self.n_grown += 1
            if t.nodes[node].is_split == 2:
                self.grown[first + i].left = <int32_t> i + 1
                stack[2 * depth], stack[2 * depth + 1] = t.nodes[node].right, <int32_t> i
                stack[2 * depth + 2], stack[2 * depth + 3] = t.nodes[node].left, -1
                depth += 2
        free(stack)
        for i in range(self.n_grown - first - 1, -1, -1):
            g = self.grown + first + i
            if g.feature >= 0:
                g.h = (g + 1).h + self.grown[first + g.right].h
                g.value = (g + 1).value + ((self.grown[first + g.right].value - (g + 1).value)
                                           * (self.grown[first + g.right].c / g.c))
        return 0

    cdef void describe(self, const GrowingTree* t, int32_t number, Grown* g) noexcept nogil:
        cdef const Node* node = t.nodes + number
        cdef const Split* s = &node.split
        g.value, g.c, g.h, g.gain = node.value, node.c, node.h, 0.0
        g.feature, g.bin, g.left, g.right, g.missing_left, g.set_at = -1, 0, -1, -1, 0, -1
        if node.is_split != 2:
            return
        g.feature, g.bin, g.missing_left, g.gain = s.feature, s.bin, s.missing_left, s.gain
        if s.is_set:
            g.set_at = <int32_t> self.n_sets
            memcpy(self.sets + 4 * self.n_sets, s.bins, sizeof(s.bins))
            self.n_sets += 1

    def add_values(self, const uint32_t[:, ::1] words, const int32_t[::1] n_bins, int64_t number,
                   double[::1] raw, Py_ssize_t first, Py_ssize_t last):
        """raw += the value of a tree of the last round, for rows [first, last) of binned columns;
        number: from the end, -1 is the last tree."""
        cdef int64_t start = self.starts[len(self.starts) + number]
        cdef const Grown* tree = self.grown + (start - self.first_grown)
        cdef const Grown* g
        cdef Py_ssize_t i
        cdef int b
        cdef bint left
        with nogil:
            for i in range(first, last):
                g = tree
                while g.feature >= 0:
                    b = words[g.feature // WIDTH, i] >> 8 * (g.feature % WIDTH) & 255
                    if b >= n_bins[g.feature]:
                        left = g.missing_left
                    elif g.set_at >= 0:
                        left = self.sets[4 * g.set_at + (b >> 6)] >> (b & 63) & 1
                    else:
                        left = b <= g.bin
                    g = tree + (g.left if left else g.right)
                raw[i] += g.value

    def export(self):
        """(fields of the nodes by name, sets of bins (m, 4), first node of each tree); ends the
        growth."""
        if self.n_grown:
            self.keep_fields()
        cdef int64_t n = self.first_grown
        sets = np.empty((self.n_sets, 4), dtype=np.uint64)
        cdef uint64_t[:, ::1] words = sets
        for kept in self.fields.values():
            kept.resize(n, refcheck=False)
        if self.n_sets:
            memcpy(&words[0, 0], self.sets, 4 * self.n_sets * sizeof(uint64_t))
        free(self.grown)
        free(self.sets)
        self.grown, self.sets = NULL, NULL
        return self.fields, sets, np.array([*self.starts, n], dtype=np.int64)
