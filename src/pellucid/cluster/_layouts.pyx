"""Rows in either form, and the centres of one pass, laid out for the inner loops."""

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t

from cython.view cimport array as cvarray

from pellucid.cluster._lanes cimport ULP, lanes, row_t

cdef double ONE = 1.0


cdef class Rows:
    """A range of rows, dense or CSR; `four` gives dense pointers to up to four of them.

    With `places`, row i is row places[i] of a dense X.
    """

    def __init__(self, X, places, indptr, indices, data, scratch):
        """`scratch` (4, d) of zeros is where CSR rows are spread out; None for dense rows."""
        self.sparse = X is None
        self.X, self.indptr, self.indices, self.data = X, indptr, indices, data
        self.scratch, self.places, self.placed = scratch, places, places is not None
        if self.sparse:
            self.n = indptr.shape[0] - 1
        else:
            self.n = len(places) if self.placed else X.shape[0]
        self.d = scratch.shape[1] if self.sparse else X.shape[1]

    cdef void four(self, const Queue *queue, row_t *rows) noexcept nogil:
        """Pointers to the queued rows; free places repeat the first one."""
        cdef int r
        cdef Py_ssize_t i
        for r in range(4):
            i = queue.row[r if r < queue.size else 0]
            if self.sparse:
                self.spread(i, r, 1.0)
                rows[r] = &self.scratch[r, 0]
            else:
                rows[r] = self.at(i)

    cdef void release(self, const Queue *queue) noexcept nogil:
        """Zero the scratch rows that `four` filled."""
        cdef int r
        if self.sparse:
            for r in range(4):
                self.spread(queue.row[r if r < queue.size else 0], r, 0.0)

    cdef void spread(self, Py_ssize_t i, int r, double factor) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(self.indptr[i], self.indptr[i + 1]):
            self.scratch[r, self.indices[t]] = factor * self.data[t]

    cdef void add_to(self, Py_ssize_t i, double w, double *high, double *low) noexcept nogil:
        """Add w times row i, and w itself, to one row of the sums."""
        cdef Py_ssize_t t
        if self.sparse:
            for t in range(self.indptr[i], self.indptr[i + 1]):
                lanes.add(&self.data[t], w, 1, high + self.indices[t], low + self.indices[t])
        else:
            lanes.add(self.at(i), w, self.d, high, low)
        lanes.add(&ONE, w, 1, high + self.d, low + self.d)


cdef class Centres:
    """Centres C (k, d), and what gives squared distances to them by products.

    With s an origin among the centres and c' = c - s, |x - c|**2 is |x - s|**2 plus the constant
    |c'|**2 + 2 s.c' minus 2 x.c'. `shifted` holds -2 c' in panels, padded with 0, and `constants`
    are padded with +inf; `radius` is the largest |c'|, `offset` |s|.
    """

    def __init__(self, C):
        cdef Py_ssize_t j, f, k = C.shape[0], d = C.shape[1], n_panels = (k + 3) // 4
        cdef double c, squares, along
        self.array = self.C = C
        self.panels = cvarray((n_panels, d, 4), 8, "d")
        self.shifted = cvarray((n_panels, d, 4), 8, "d")
        self.constants, self.origin = cvarray((4 * n_panels,), 8, "d"), cvarray((d,), 8, "d")
        self.slack, self.radius, self.offset = (d + 8) * ULP, 0.0, 0.0
        layout(C, self.panels)
        with nogil:
            for f in range(d):
                c = 0.0
                for j in range(k):
                    c += self.C[j, f] / k
                self.origin[f] = c
                self.offset += c * c
            for j in range(4 * n_panels):
                squares = along = 0.0
                for f in range(d):
                    c = self.C[j, f] - self.origin[f] if j < k else 0.0
                    self.shifted[j >> 2, f, j & 3] = -2.0 * c
                    squares += c * c
                    along += self.origin[f] * c
                self.constants[j] = squares + 2.0 * along if j < k else INFINITY
                self.radius = max(self.radius, squares)
            self.radius = sqrt(self.radius) * (1.0 + self.slack)
            self.offset = sqrt(self.offset) * (1.0 + self.slack)


def layout(const double[:, ::1] C, double[:, :, ::1] panels):
    """Write the centres into panels, padded with +inf."""
    cdef Py_ssize_t j, f, k = C.shape[0]
    with nogil:
        for j in range(4 * panels.shape[0]):
            for f in range(C.shape[1]):
                panels[j >> 2, f, j & 3] = C[j, f] if j < k else INFINITY
