"""One pass over rows, for its variants to extend."""

from libc.stdint cimport int32_t

from pellucid.cluster._layouts cimport Centres, Queue, Rows


cdef class Pass:
    cdef Rows rows
    cdef Centres centres
    cdef const double[::1] w, way, travel, near
    cdef int32_t[::1] labels
    cdef double[::1] upper, gap
    cdef double[:, ::1] high, low
    cdef double slack
    cdef bint adds
    cdef readonly Py_ssize_t moved, evaluated
    cdef readonly bint finite  # whether all rows evaluated are known to be finite

    cdef Py_ssize_t open_rows(self, Py_ssize_t start, int32_t *open) noexcept nogil
    cdef Py_ssize_t screen_rows(self, Py_ssize_t start, int32_t *open,
                                Py_ssize_t m) noexcept nogil
    cdef void evaluate_rows(self, Py_ssize_t start, const int32_t *open,
                            Py_ssize_t m) noexcept nogil
    cdef Py_ssize_t tighten(self, Py_ssize_t start, int32_t *open, Py_ssize_t m) noexcept nogil
    cdef void evaluate(self, Queue *open) noexcept nogil
    cdef void move(self, Py_ssize_t i, int32_t label) noexcept nogil
