"""Stable argsort of float64 columns by radix, missing values last.

A double is mapped to an unsigned integer of the same order (flip the sign bit of positive numbers,
all bits of negative ones; -0.0 counts as 0.0). Three stable counting passes order the rows by the
upper 32 bits; rows that agree there stand side by side and are then ordered by the full key: by
insertion if they are few, by three more counting passes over the lower 32 bits if they are many.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

cdef enum:
    SHORT_RUN = 24          # up to this length insertion beats counting


cdef struct Item:
    uint64_t key
    int32_t row


cdef inline uint64_t ordered_bits(double value) noexcept nogil:
    cdef uint64_t bits
    value += 0.0                                   # -0.0 becomes 0.0
    memcpy(&bits, &value, 8)
    return ~bits if bits >> 63 else bits | (<uint64_t> 1 << 63)


cdef void counting_passes(Item* items, Item* other, Py_ssize_t m, int first_bit) noexcept nogil:
    """Sort items by the 32 bits from first_bit on: digits of 11, 11 and 10 bits, lowest first."""
    cdef uint32_t counts[3][2048]
    cdef uint32_t digit, total, here
    cdef uint64_t key
    cdef int p
    cdef Py_ssize_t i
    cdef Item* source = items
    cdef Item* target = other
    memset(counts, 0, sizeof(counts))
    for i in range(m):
        key = items[i].key >> first_bit
        counts[0][key & 2047] += 1
        counts[1][(key >> 11) & 2047] += 1
        counts[2][(key >> 22) & 1023] += 1
    for p in range(3):
        digit = (source[0].key >> (first_bit + 11 * p)) & (1023 if p == 2 else 2047)
        if counts[p][digit] == <uint32_t> m:       # one digit only: nothing to do
            continue
        total = 0
        for i in range(2048):
            here = counts[p][i]
            counts[p][i] = total
            total += here
        for i in range(m):
            digit = (source[i].key >> (first_bit + 11 * p)) & (1023 if p == 2 else 2047)
            target[counts[p][digit]] = source[i]
            counts[p][digit] += 1
        source, target = target, source
    if source != items:
        memcpy(items, source, m * sizeof(Item))


cdef void insertion(Item* items, Py_ssize_t m) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef Item moved
    for i in range(1, m):
        moved = items[i]
        j = i
        while j > 0 and items[j - 1].key > moved.key:
            items[j] = items[j - 1]
            j -= 1
        items[j] = moved


cdef void sort_items(Item* items, Item* other, Py_ssize_t m) noexcept nogil:
    cdef Py_ssize_t start = 0, end
    if m <= SHORT_RUN:
        insertion(items, m)
        return
    counting_passes(items, other, m, 32)
    while start < m:
        end = start + 1
        while end < m and items[end].key >> 32 == items[start].key >> 32:
            end += 1
        if end - start > SHORT_RUN:
            counting_passes(items + start, other, end - start, 0)
        elif end - start > 1:
            insertion(items + start, end - start)
        start = end


def sort_column(const double[::1] x, int32_t[::1] order):
    """Fill `order` with the rows of x in ascending order, equal values by row, NaN last.

    Returns (number of missing values, True if two present values are equal).
    """
    cdef Py_ssize_t n = x.shape[0], i, m = 0, last = n
    cdef bint repeated = False
    cdef Item* items = <Item*> malloc(2 * max(n, 1) * sizeof(Item))
    if items == NULL:
        raise MemoryError
    with nogil:
        for i in range(n):
            if not isnan(x[i]):
                items[m].key = ordered_bits(x[i])
                items[m].row = <int32_t> i
                m += 1
        sort_items(items, items + n, m)
        for i in range(m):
            order[i] = items[i].row
            repeated = repeated or (i > 0 and items[i].key == items[i - 1].key)
        last = m
        if m < n:
            for i in range(n):
                if isnan(x[i]):
                    order[last] = <int32_t> i
                    last += 1
        free(items)
    return n - m, bool(repeated)


def places_of(const double[::1] x, const int32_t[::1] order, int32_t[::1] places):
    """Where each row's value stands in the order; equal values, missing ones too, stand at the
    place of the first of them."""
    cdef Py_ssize_t i
    cdef int32_t place = 0
    cdef double v, last
    with nogil:
        last = x[order[0]] if order.shape[0] else 0.0
        for i in range(order.shape[0]):
            v = x[order[i]]
            if v != last and not (isnan(v) and isnan(last)):
                place = <int32_t> i
            places[order[i]] = place
            last = v
