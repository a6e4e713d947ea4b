"""Growing the same trees by several processes, each of which holds some of the rows.

All processes go through the same passes. Between `count` and `search` they add up their histograms,
which are integers, so that no sum depends on who holds which rows; rows never leave their process. The
sums of a leaf are added as integers too: `LIMBS` of them for a number, the first for its leading bits,
each of the others for the bits that the one before has left over.

Nodes stand at places by samples of all processes (`Node.start`, `Node.end`), since their rows are
different ones in every process.
"""

from libc.stdint cimport int32_t, int64_t
from libc.math cimport ldexp, rint
from libc.string cimport memset

from pellucid.tree._histogram_count cimport cell_of
from pellucid.tree._histogram_passes cimport StreamedGrowth
from pellucid.tree._histogram_records cimport (
    Cell, Gradient, GrowingTree, Node, add_words, histogram_size,
)
from pellucid.tree._histogram_tree cimport list_leaves, prune, set_numbers, set_value

import numpy as np

cdef enum:
    LIMBS = 3


cdef inline void add_limbs(double x, double up, double base, int64_t* limbs) noexcept nogil:
    """Add x to a sum; `up` brings it below `base`, the number of values of a limb."""
    cdef double rest = x * up, whole
    cdef int k
    for k in range(LIMBS):
        whole = rint(rest)
        limbs[k] += <int64_t> whole
        rest = (rest - whole) * base            # exact


cdef class SharedGrowth(StreamedGrowth):
    """A `StreamedGrowth` of some of the rows: `begin`, then for each tree `begin_root`, `begin_passes`,
    passes of `count`, `counted` and `search`, and `leaf_sums`, `set_leaf_sums`."""

    @property
    def shift(self):
        """Bits that a sum of samples needs."""
        return self.s.shift

    @property
    def has_sets(self):
        """Whether there is a column of levels."""
        return bool(self.s.has_sets)

    def begin_root(self, int number, int n_parts, double unit_g, double unit_h, double noise):
        """A tree begins, in units that suit the rows of all processes: the sums of its rows here."""
        cdef GrowingTree* t = self.trees + number
        cdef int64_t i
        cdef Cell total, cell
        self.t = t
        t.n_parts = n_parts
        t.units.g, t.units.h, t.units.shift, t.units.noise = unit_g, unit_h, self.s.shift, noise
        total.g, total.hc = 0, 0
        memset(t.rows, 0, self.s.n * sizeof(int32_t))
        with nogil:
            for i in range(self.s.n):
                cell = cell_of(t.gradients, self.s.weights, self.s.samples, i, 1.0 / unit_g,
                               1.0 / unit_h, t.units.shift)
                add_words(&total, &cell)
        return np.array([total.g, total.hc], dtype=np.int64)

    def begin_passes(self, const int64_t[::1] total):
        """The sums of all rows are known: whether a pass is needed."""
        cdef Node* root = self.t.nodes
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

    def leaf_sums(self, int up_g, int up_h, int bits):
        """Sums of the gradients and curvatures of every leaf here, (leaves, 2, LIMBS) integers."""
        cdef GrowingTree* t = self.t
        cdef double scale_g = ldexp(1.0, up_g), scale_h = ldexp(1.0, up_h), base = ldexp(1.0, bits)
        cdef int64_t i
        if self.s.ccp_alpha > 0:
            prune(&self.s, t)
        if list_leaves(t) < 0:
            raise MemoryError
        sums = np.zeros((t.m, 2, LIMBS), dtype=np.int64)
        cdef int64_t[:, :, ::1] own = sums
        with nogil:
            self.find_leaves()
            for i in range(self.s.n):
                add_limbs(t.gradients[i].g, scale_g, base, &own[self.route_of[t.rows[i]], 0, 0])
                add_limbs(t.gradients[i].h, scale_h, base, &own[self.route_of[t.rows[i]], 1, 0])
        return sums[[t.leaves[i] for i in range(t.n_listed)]]

    def set_leaf_sums(self, const double[:, ::1] sums):
        """Values of the leaves from the sums of all processes."""
        cdef GrowingTree* t = self.t
        cdef Gradient total
        cdef int i
        for i in range(t.n_listed):
            total.g, total.h = sums[i, 0], sums[i, 1]
            t.nodes[t.leaves[i]].h = total.h
            set_value(&self.s, t.nodes + t.leaves[i], total)
        if self.s.update:
            self.add_leaves()
