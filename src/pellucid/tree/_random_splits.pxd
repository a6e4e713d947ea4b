"""One random threshold per column."""

from pellucid.tree._buckets cimport Buckets
from pellucid.tree._medians cimport Ranked
from pellucid.tree._table cimport Node, Split, Table


cdef void draw_number(const Table* t, const Node* node, const double* counts, int f,
                      double* sums, double* values, Buckets* b, Ranked* a,
                      Split* out) noexcept nogil
