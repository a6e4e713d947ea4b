"""Histograms and the best splits of the children of a batch (steps 3 to 5)."""

from pellucid.tree._histogram_records cimport Cell, GrowingTree, Setup


cdef int assign(const Setup* s, GrowingTree* t) noexcept nogil
cdef void search(const Setup* s, GrowingTree* t, long task, Cell* spare) noexcept nogil
cdef void settle(const Setup* s, GrowingTree* t) noexcept nogil
