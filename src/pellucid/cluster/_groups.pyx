"""Elkan's bounds, one for each panel of four centres instead of one for each centre."""

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int32_t

from pellucid.cluster._lanes cimport ULP, lanes, row_t
from pellucid.cluster._layouts cimport Queue
from pellucid.cluster._loops cimport Pass


cdef struct Nearest:
    # The nearest centre so far; `squared` are the distances of its panel, if they were computed.
    double best
    double squared[4]
    Py_ssize_t panel
    int32_t label


cdef class GroupPass(Pass):
    """A pass with a lower bound for every row and panel; computes the distances only if needed.

    `groups` (n, P): at most the distance of a row to any centre of the panel but its own; `upper`
    (n,): at least the distance to its own. `shift` (k,): how far each centre moved since the last
    pass, rounded up, `drift` (P,): the largest shift in each panel; `half` (k,): half the distance
    to the nearest other centre, rounded down.
    """

    cdef double[:, ::1] groups
    cdef const double[::1] shift, drift, half

    def bind(self, groups, shift, drift, half):
        """Set the bounds by panel."""
        self.groups, self.shift, self.drift, self.half = groups, shift, drift, half

    def run_groups(self, const int32_t[::1] stop):
        """Label all rows; returns early if `stop` is set."""
        cdef Queue one
        cdef row_t rows[4]
        cdef Py_ssize_t i
        one.size = 1
        with nogil:
            for i in range(self.rows.n):
                if i % 1024 == 0 and stop[0]:
                    break
                if self.groups_settled(i):
                    continue
                one.row[0] = i
                self.rows.four(&one, rows)
                self.look(i, rows[0])
                self.rows.release(&one)

    cdef inline bint groups_settled(self, Py_ssize_t i) noexcept nogil:
        """Move the bounds of a row along with the centres; true if its label cannot change."""
        cdef int32_t a = self.labels[i]
        cdef Py_ssize_t p
        cdef double l, lowest = INFINITY, u
        if a < 0:
            return False
        for p in range(self.centres.panels.shape[0]):
            l = self.groups[i, p] - self.drift[p]
            l -= fabs(l) * ULP
            self.groups[i, p] = l
            if l < lowest:
                lowest = l
        u = self.upper[i] + self.shift[a]
        u += u * ULP
        self.upper[i] = u
        return u * (1.0 + 2.0 * self.slack) < (lowest if lowest > self.half[a] else self.half[a])

    cdef void look(self, Py_ssize_t i, const double *x) noexcept nogil:
        """Compute the distance to the own centre, then to the panels that it does not rule out."""
        cdef int32_t a = self.labels[i]
        cdef Py_ssize_t p, last = self.centres.panels.shape[0] - 1
        cdef row_t panels[4]
        cdef Py_ssize_t number[4]
        cdef double squared[16]
        cdef double u, own_squared = INFINITY
        cdef int m = 0, r
        cdef Nearest found
        if a >= 0:
            own_squared = self.own_squared(x, a)
        found.best, found.label, found.panel = own_squared, a if a >= 0 else 0, -1
        u = sqrt(own_squared) * (1.0 + 3.0 * self.slack)
        for p in range(last + 1):
            if a < 0 or not u < self.groups[i, p]:
                number[m] = p
                panels[m] = &self.centres.panels[p, 0, 0]
                m += 1
            if m == 4 or (m > 0 and p == last):
                for r in range(m, 4):
                    panels[r] = panels[0]
                lanes.across(x, panels, self.rows.d, squared)
                for r in range(m):
                    self.look_into(i, number[r], &squared[4 * r], &found)
                self.evaluated += m
                m = 0
        self.close(i, own_squared, &found)

    cdef double own_squared(self, const double *x, int32_t a) noexcept nogil:
        cdef row_t rows[4]
        cdef row_t centres[4]
        cdef double squared[4]
        cdef int r
        for r in range(4):
            rows[r] = x
            centres[r] = &self.centres.C[a, 0]
        lanes.own(rows, centres, self.rows.d, squared)
        return squared[0]

    cdef inline void look_into(self, Py_ssize_t i, Py_ssize_t p, const double *squared,
                               Nearest *found) noexcept nogil:
        """The bound of a panel from its four distances; its first nearest centre, if nearer."""
        cdef double lowest = INFINITY
        cdef int32_t j
        cdef int l
        for l in range(4):
            j = <int32_t> (4 * p + l)
            if squared[l] < found.best or (squared[l] == found.best and j < found.label):
                found.best = squared[l]
                found.label = j
            if squared[l] < lowest:
                lowest = squared[l]
        self.groups[i, p] = sqrt(lowest) * (1.0 - self.slack)
        if found.label >> 2 == p:
            found.panel = p
            for l in range(4):
                found.squared[l] = squared[l]

    cdef inline void close(self, Py_ssize_t i, double own_squared, Nearest *found) noexcept nogil:
        """Upper bound and label; the bound of the label's panel leaves out its own centre."""
        cdef int32_t a = self.labels[i], label = found.label
        cdef double lowest = INFINITY, bound
        cdef int l
        self.upper[i] = sqrt(found.best) * (1.0 + self.slack)
        if found.panel == label >> 2:
            for l in range(4):
                if 4 * found.panel + l != label and found.squared[l] < lowest:
                    lowest = found.squared[l]
            self.groups[i, found.panel] = sqrt(lowest) * (1.0 - self.slack)
        if label == a:
            return
        if a >= 0 and a >> 2 != label >> 2:  # the old centre is now one of the others
            bound = sqrt(own_squared) * (1.0 - self.slack)
            if bound < self.groups[i, a >> 2]:
                self.groups[i, a >> 2] = bound
        self.move(i, label)
