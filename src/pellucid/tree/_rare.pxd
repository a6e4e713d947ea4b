"""The best threshold of a column with a common value; see `_rare.pyx`."""

from pellucid.tree._row_order cimport Sorter
from pellucid.tree._table cimport Node, Split, Table


cdef void split_rare(const Table* t, const Node* node, const double* counts, int f, Sorter* o,
                     Split* out) noexcept nogil
