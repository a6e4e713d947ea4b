"""Lists of nearest rows: heaps of pairs (distance, row), the worst first."""

from libc.stdint cimport int32_t


cdef inline bint precedes(double a, int32_t i, double b, int32_t j) noexcept nogil:
    return a < b or (a == b and i < j)


cdef inline void sink(double *near, int32_t *rows, Py_ssize_t k, double value, int32_t row,
                      Py_ssize_t at) noexcept nogil:
    """Put a pair at position `at` of a heap of k, then restore the heap below."""
    cdef Py_ssize_t child = 2 * at + 1
    while child < k:
        if child + 1 < k and precedes(near[child], rows[child], near[child + 1], rows[child + 1]):
            child += 1
        if not precedes(value, row, near[child], rows[child]):
            break
        near[at], rows[at] = near[child], rows[child]
        at = child
        child = 2 * at + 1
    near[at], rows[at] = value, row


cdef inline void offer(double *near, int32_t *rows, Py_ssize_t k, double value,
                       int32_t row) noexcept nogil:
    if precedes(value, row, near[0], rows[0]):
        sink(near, rows, k, value, row, 0)
