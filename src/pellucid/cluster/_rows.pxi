# Rows in either form, as the inner loops read them.


cdef struct Queue:
    # Up to four rows that wait to be evaluated together.
    Py_ssize_t size
    Py_ssize_t row[4]


cdef class Rows:
    """A range of rows, dense or CSR; `four` gives dense pointers to up to four of them.

    With `places`, row i is row places[i] of a dense X.
    """

    cdef const double[:, ::1] X
    cdef const int32_t[::1] places
    cdef const int32_t[::1] indptr, indices
    cdef const double[::1] data
    cdef double[:, ::1] scratch
    cdef bint sparse, placed
    cdef readonly Py_ssize_t n, d

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

    cdef inline const double *at(self, Py_ssize_t i) noexcept nogil:
        """A dense row."""
        return &self.X[self.places[i] if self.placed else i, 0]

    cdef inline void fetch_four(self, Py_ssize_t i) noexcept nogil:
        """Ask the memory for four dense rows that are read soon, unless they lie in sequence."""
        cdef Py_ssize_t r
        if self.placed:
            for r in range(i, min(i + 4, self.n)):
                fetch(self.at(r), self.d)

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
                add(&self.data[t], w, 1, high + self.indices[t], low + self.indices[t])
        else:
            add(self.at(i), w, self.d, high, low)
        add(&ONE, w, 1, high + self.d, low + self.d)
