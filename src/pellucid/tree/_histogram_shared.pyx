"""Growing the same trees by several processes, each of which holds some of the rows.

All processes go through the same passes. Between `count` and `search` they add up their histograms,
which are integers, so that no sum depends on who holds which rows; rows never leave their process. The
sums of leaves are added as integers too (`_leaf_sums`).

Nodes stand at places by samples of all processes (`Node.start`, `Node.end`), since their rows are
different ones in every process.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from pellucid.tree._histogram_count cimport cell_of, noise_of, rounded_sum, suit, sum_noise
from pellucid.tree._histogram_passes cimport StreamedGrowth
from pellucid.tree._histogram_records cimport (
    Cell, Gradient, GrowingTree, Node, add_words, histogram_size,
)
from pellucid.tree._histogram_tree cimport list_leaves, prune, set_numbers, set_value
from pellucid.tree._leaf_sums cimport LIMBS, LeafSum

import numpy as np


cdef class SharedGrowth(StreamedGrowth):
    """A `StreamedGrowth` of some of the rows: `begin`, then for each tree `begin_root`, `begin_passes`,
    passes of `count`, `counted` and `search`, and `leaf_sums`, `set_leaf_sums`."""

    def begin_root(self, int number, int n_parts, double g, double h, int64_t n):
        """A tree begins, in units that suit the n rows of all processes, whose gradients are at most g
        and curvatures at most h: sums of its rows here, as integers."""
        cdef GrowingTree* t = self.trees + number
        cdef int64_t i
        cdef Cell total, cell
        cdef LeafSum noise
        cdef int64_t[::1] sums = np.zeros(2 + 2 * LIMBS, dtype=np.int64)
        self.t = t
        t.n_parts = n_parts
        suit(g, h, h, n, self.s.shift, &t.units)
        total.g, total.hc = 0, 0
        memset(t.rows, 0, self.s.n * sizeof(int32_t))
        with nogil:
            for i in range(self.s.n):
                cell = cell_of(t.gradients, self.s.weights, self.s.samples, i, 1.0 / t.units.g,
                               1.0 / t.units.h, t.units.shift)
                add_words(&total, &cell)
            if self.s.has_sets:
                sum_noise(t.gradients, NULL, self.s.samples, NULL, self.s.n, &t.units, &noise)
                memcpy(&sums[2], &noise, sizeof(LeafSum))
        sums[0], sums[1] = total.g, total.hc
        return np.asarray(sums)

    def begin_passes(self, const int64_t[::1] total):
        """The sums of all rows are known: whether a pass is needed."""
        cdef Node* root = self.t.nodes
        self.t.units.noise = noise_of(<const LeafSum*> &total[2], &self.t.units)
        root.total.g, root.total.hc = total[0], total[1]
        set_numbers(self.t, root)
        root.end = <int64_t> root.c
        return self.checked(self.prepare_pass())

    def counted(self):
        """Histograms of this pass, (parts, integers); the caller may replace them by other sums."""
        cdef int64_t size = 2 * self.t.n_counted * histogram_size(&self.s)
        if not size:
            return np.empty((self.t.n_parts, 0), dtype=np.int64)
        return np.asarray(<int64_t[:self.t.n_parts, :size]> <int64_t*> self.parts)

    cdef void set_rows(self) noexcept nogil:
        """Nodes keep their places by samples."""

    def leaf_sums(self):
        """Sums of the gradients and curvatures of every leaf here, (leaves, LIMBS, 2) integers."""
        cdef GrowingTree* t = self.t
        cdef LeafSum* total
        cdef int i
        if self.s.ccp_alpha > 0:
            prune(&self.s, t)
        if list_leaves(t) < 0:
            raise MemoryError
        sums = np.zeros((t.n_listed, LIMBS, 2), dtype=np.int64)
        cdef int64_t[:, :, ::1] own = sums
        total = <LeafSum*> calloc(t.m, sizeof(LeafSum))
        if total == NULL:
            raise MemoryError
        with nogil:
            self.sum_leaves(total)
        for i in range(t.n_listed):
            memcpy(&own[i, 0, 0], total + t.leaves[i], sizeof(LeafSum))
        free(total)
        return sums

    def set_leaf_sums(self, const int64_t[:, :, ::1] sums):
        """Values of the leaves from the sums of all processes."""
        cdef GrowingTree* t = self.t
        cdef Gradient total
        cdef int i
        for i in range(t.n_listed):
            total = rounded_sum(<const LeafSum*> &sums[i, 0, 0], &t.units)
            t.nodes[t.leaves[i]].h = total.h
            set_value(&self.s, t.nodes + t.leaves[i], total)
        if self.s.update:
            self.add_leaves()
