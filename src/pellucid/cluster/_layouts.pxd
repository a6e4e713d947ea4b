"""Rows and centres as the inner loops read them."""

from libc.math cimport sqrt
from libc.stdint cimport int32_t

from pellucid.cluster._lanes cimport fetch, row_t


cdef struct Queue:
    # Up to four rows that wait to be evaluated together.
    Py_ssize_t size
    Py_ssize_t row[4]


cdef class Rows:
    cdef const double[:, ::1] X
    cdef const int32_t[::1] places
    cdef const int32_t[::1] indptr, indices
    cdef const double[::1] data
    cdef double[:, ::1] scratch
    cdef bint sparse, placed
    cdef readonly Py_ssize_t n, d

    cdef inline const double *at(self, Py_ssize_t i) noexcept nogil:
        """A dense row."""
        return &self.X[self.places[i] if self.placed else i, 0]

    cdef inline void fetch_four(self, Py_ssize_t i) noexcept nogil:
        """Ask the memory for four dense rows that are read soon, unless they lie in sequence."""
        cdef Py_ssize_t r
        if self.placed:
            for r in range(i, min(i + 4, self.n)):
                fetch(self.at(r), self.d)

    cdef void four(self, const Queue *queue, row_t *rows) noexcept nogil
    cdef void release(self, const Queue *queue) noexcept nogil
    cdef void spread(self, Py_ssize_t i, int r, double factor) noexcept nogil
    cdef void add_to(self, Py_ssize_t i, double w, double *high, double *low) noexcept nogil


cdef class Centres:
    cdef readonly object array
    cdef const double[:, ::1] C
    cdef double[:, :, ::1] panels, shifted
    cdef double[::1] constants, origin
    cdef double radius, offset, slack


cdef inline double products_error(Centres centres, double squared) noexcept nogil:
    """Bound on what separates a distance by products from the plain one, both squared.

    The row lies at the distance sqrt(squared) from the origin. Products are off by at most
    (d + 1) ULP (radius**2 + 3 offset radius + radius |x - s|), plain distances and |x - s|**2 by
    (d + 3) ULP / 2 (radius + |x - s|)**2 each.
    """
    cdef double size = sqrt(squared) * (1.0 + centres.slack) + centres.radius
    return 2.0 * centres.slack * (size * size + 4.0 * centres.offset * centres.radius)
