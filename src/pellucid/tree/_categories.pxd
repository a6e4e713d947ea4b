"""Splits of the levels of a categorical column into two sets."""

from libc.stdint cimport int32_t

from pellucid.tree._level_groups cimport Levels
from pellucid.tree._medians cimport Ranked
from pellucid.tree._table cimport Node, Split, Table


cdef enum:
    ONE_AGAINST_OTHERS = 1      # rules for levels, `Rules.level_rule`
    APART = 2


cdef int split_levels(const Table* t, const Node* node, const double* counts, int f,
                      const int32_t* rows, Levels* v, Ranked* a, Split* out) noexcept nogil
