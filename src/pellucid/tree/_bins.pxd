"""The best threshold of a binned column."""

from pellucid.tree._buckets cimport Buckets
from pellucid.tree._row_order cimport Sorter
from pellucid.tree._table cimport Node, Split, Table


cdef void split_bins(const Table* t, const Node* node, const double* counts, int f, Buckets* b,
                     Sorter* o, double* left, Split* out) noexcept nogil
cdef double bin_threshold(const Table* t, const Split* split) noexcept nogil
