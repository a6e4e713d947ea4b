"""Loops that collect all rows within a radius: panel by panel, by matrix products, or in the KD-tree.

Invariant: distances, layouts and bounds are those of `_loops`, so every method finds the same rows with
the same bits.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from pellucid.neighbors._panels cimport (
    WIDEST, below, bound_of, box_distance, choose_wide, panel, squared,
)


def use_wide(bint wide):
    """Choose the AVX2 build of the inner loops, where the processor has it, or the plain one."""
    return choose_wide(wide)


use_wide(True)


cdef class Found:
    """A growing list of (query, distance, row)."""

    cdef int32_t *owners
    cdef int32_t *rows
    cdef double *near
    cdef Py_ssize_t size, room
    cdef bint full

    def __cinit__(self):
        self.owners, self.rows, self.near = NULL, NULL, NULL
        self.size, self.room, self.full = 0, 0, False

    def __dealloc__(self):
        free(self.owners)
        free(self.rows)
        free(self.near)

    cdef void add(self, int32_t owner, double near, int32_t row) noexcept nogil:
        if self.size == self.room and not self.grown():
            return
        self.owners[self.size], self.near[self.size] = owner, near
        self.rows[self.size] = row
        self.size += 1

    cdef bint grown(self) noexcept nogil:
        cdef Py_ssize_t room = 2 * self.room + 1024
        cdef void *owners = realloc(self.owners, room * sizeof(int32_t))
        cdef void *rows = NULL
        cdef void *near = NULL
        if owners != NULL:
            self.owners = <int32_t *> owners
            rows = realloc(self.rows, room * sizeof(int32_t))
        if rows != NULL:
            self.rows = <int32_t *> rows
            near = realloc(self.near, room * sizeof(double))
        if near == NULL:
            self.full = True
            return False
        self.near, self.room = <double *> near, room
        return True

    def arrays(self, int32_t[::1] owners, double[::1] near, int32_t[::1] rows):
        """Copy the list to three arrays of `len(self)`."""
        if self.size:
            memcpy(&owners[0], self.owners, self.size * sizeof(int32_t))
            memcpy(&near[0], self.near, self.size * sizeof(double))
            memcpy(&rows[0], self.rows, self.size * sizeof(int32_t))

    def __len__(self):
        if self.full:
            raise MemoryError("the rows within the radius do not fit into memory")
        return self.size


def collect(int metric, double p, const double[::1] scale, const double[:, ::1] Q,
            const double[:, ::1] packed, const int64_t[::1] starts, int32_t first, double limit,
            Found found, const int32_t[::1] stop):
    """Add all packed rows, numbered from `first`, whose raw distance is at most `limit`."""
    cdef Py_ssize_t i, j, t, m, d = Q.shape[1]
    cdef double out[WIDEST]
    with nogil:
        for i in range(Q.shape[0]):
            if stop[0]:
                break
            for j in range(starts.shape[0] - 1):
                m = starts[j + 1] - starts[j]
                panel(metric, p, &scale[0], &Q[i, 0], &packed[0, 0] + starts[j] * d, d, m, limit,
                      out)
                for t in range(m):
                    if out[t] <= limit:
                        found.add(<int32_t> i, out[t], <int32_t> (first + starts[j] + t))


def collect_screened(const float[:, ::1] scores, const double[::1] lengths,
                     const double[::1] error, const double[:, ::1] Q,
                     const double[:, ::1] packed, const int64_t[::1] starts, double unit,
                     int32_t first, double limit, Found found, const int32_t[::1] stop):
    """The same from single-precision scores (see `_loops.screen`), which exclude most rows."""
    cdef Py_ssize_t i, j, t, m, d = packed.shape[1]
    cdef double near
    cdef float bound
    with nogil:
        for i in range(Q.shape[0]):
            if stop[0]:
                break
            bound = bound_of(limit, unit, lengths[i], error[i])
            for j in range(starts.shape[0] - 1):
                m = starts[j + 1] - starts[j]
                if not below(&scores[i, starts[j]], m, bound):
                    continue
                for t in range(m):
                    if not (scores[i, starts[j] + t] >= bound):
                        near = squared(&Q[i, 0], &packed[0, 0] + starts[j] * d + t, d, m)
                        if near <= limit:
                            found.add(<int32_t> i, near, <int32_t> (first + starts[j] + t))


def collect_down(int metric, double p, const double[:, ::1] Q, const double[:, ::1] packed,
                 const int32_t[::1] order, const double[:, :, ::1] boxes, int depth, double limit,
                 Found found, const int32_t[::1] stop):
    """The same in the tree, skipping boxes that are too far."""
    cdef Py_ssize_t nodes[128]
    cdef double out[WIDEST]
    cdef Py_ssize_t i, top, node, t, m, low, n = packed.shape[0], d = Q.shape[1]
    cdef Py_ssize_t leaves = <Py_ssize_t> 1 << depth
    with nogil:
        for i in range(Q.shape[0]):
            if stop[0]:
                break
            nodes[0], top = 1, 1
            while top > 0:
                top -= 1
                node = nodes[top]
                if not box_distance(metric, p, &Q[i, 0], &boxes[node, 0, 0], d) <= limit:
                    continue
                if node < leaves:
                    nodes[top], nodes[top + 1] = 2 * node + 1, 2 * node
                    top += 2
                    continue
                low = ((node - leaves) * n) >> depth
                m = (((node - leaves + 1) * n) >> depth) - low
                panel(metric, p, NULL, &Q[i, 0], &packed[0, 0] + low * d, d, m, limit, out)
                for t in range(m):
                    if out[t] <= limit:
                        found.add(<int32_t> i, out[t], order[low + t])
