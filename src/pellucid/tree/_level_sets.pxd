"""Which levels go left at a node with a set of levels.

`start` is the node's `set_start`: -1 no set; from 0 on the first word of one bit for each level of
the column; below -1 the place -2 - start of a list. The list is the shorter form where few of many
levels leave the side of missing values: their number, then their codes, ascending.
"""

from libc.stdint cimport int32_t, uint32_t


cdef inline bint set_left(const uint32_t* sets, int32_t start, int32_t code,
                          bint missing_left) noexcept nogil:
    cdef const uint32_t* codes
    cdef Py_ssize_t low = 0, high, middle, count
    if start >= 0:
        return sets[start + (code >> 5)] >> (code & 31) & 1
    codes = sets + (-1 - start)
    count = high = sets[-2 - start]
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < <uint32_t> code:
            low = middle + 1
        else:
            high = middle
    if low < count and codes[low] == <uint32_t> code:
        return not missing_left
    return missing_left
