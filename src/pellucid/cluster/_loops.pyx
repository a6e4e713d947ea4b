"""Loops of k-means: nearest centres with bounds, exact sums of the rows of each cluster, seeding.

Invariant: the squared distance of a row to a centre is the plain sum of (x[f] - c[f])**2 from the
first column to the last, each step rounded once; the nearest centre is the first one with the
smallest such sum. Every build, thread count and pruning rule gives these bits: bounds carry a
margin for rounding, and a row is skipped, or labelled from products, only if no other centre can be
its nearest.

Layouts: rows are a C-contiguous X (n, d), or X is None and they are CSR (indptr, indices, data);
panels (P, d, 4), see lanes.h; labels int32, -1 before the first pass; sums are pairs `high`, `low`
(k, d + 1) whose total is exact to about 30 digits, the last column being the sum of weights.
"""

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int32_t, int64_t

from pellucid.cluster._lanes cimport ULP, fetch, lanes, row_t
from pellucid.cluster._layouts cimport Centres, Queue, Rows, products_error

cdef enum:
    TILE = 256  # rows of a tile: those whose label may change are evaluated together
cdef Py_ssize_t AHEAD = 16  # rows of prefetching


cdef class Pass:
    """One pass over a range of rows: finds their nearest centres and updates the sums of the clusters.

    Bounds are kept so that a row whose label stays is only read. `way` (k,) is how far each centre
    has moved in all, `travel` (k,) the same plus the largest move of another centre at every step,
    both rounded up; `near` (k,) half the distance to the nearest other centre minus `way`, rounded
    down. With u and l the bounds on a row's distance to its own centre a and to all others when it
    was last evaluated, `upper` is u - way[a] and `gap` l - u + travel[a] of that moment: the label
    stays while gap > travel[a], or upper < near[a].

    If `high` and `low` are None, no sums are kept.
    """

    def __init__(self, Rows rows, w, Centres centres, way, travel, near, labels, upper, gap, high,
                 low):
        self.rows, self.w, self.centres = rows, w, centres
        self.way, self.travel, self.near = way, travel, near
        self.labels, self.upper, self.gap = labels, upper, gap
        self.high, self.low, self.adds = high, low, high is not None
        # A squared distance is off by at most (d + 3) ULP / 2 of itself, a distance by half that.
        self.slack = (rows.d + 8) * ULP
        self.moved = self.evaluated = 0
        self.finite = True

    def run(self, bint tighten, const int32_t[::1] stop):
        """Label all rows, by products and distances; returns early if `stop` is set."""
        cdef int32_t open[TILE]
        cdef Py_ssize_t tile, start, m
        with nogil:
            for tile in range((self.rows.n + TILE - 1) // TILE):
                if stop[0]:
                    break
                start = tile * TILE
                m = self.open_rows(start, open)
                if tighten:
                    m = self.tighten(start, open, m)
                self.evaluated += m
                m = self.screen_rows(start, open, m)
                self.evaluate_rows(start, open, m)

    cdef Py_ssize_t open_rows(self, Py_ssize_t start, int32_t *open) noexcept nogil:
        """Offsets of the rows of a tile whose labels may change, and their number."""
        cdef Py_ssize_t i, m = 0
        for i in range(start, min(start + TILE, self.rows.n)):
            open[m] = <int32_t> (i - start)
            m += not settled(self, i)  # without a branch, which could not be predicted
        return m

    cdef Py_ssize_t screen_rows(self, Py_ssize_t start, int32_t *open,
                                Py_ssize_t m) noexcept nogil:
        """Label the rows of a list from products; keeps the uncertain ones, returns their number."""
        cdef row_t rows[4]
        cdef double best[4]
        cdef double second[4]
        cdef double length[4]
        cdef int label[4]
        cdef double error
        cdef Py_ssize_t t, kept = 0
        cdef int r
        if not lanes.has_products:
            self.finite = False
            return m
        for t in range(0, m, 4):
            for r in range(min(4, m - t - AHEAD)):
                fetch(self.rows.at(start + open[t + AHEAD + r]), self.rows.d)
            for r in range(4):
                rows[r] = self.rows.at(start + open[t + r if t + r < m else t])
            lanes.products(
                rows, &self.centres.shifted[0, 0, 0], &self.centres.constants[0],
                self.centres.shifted.shape[0], self.rows.d, &self.centres.origin[0],
                best, second, label, length,
            )
            for r in range(min(4, m - t)):
                error = products_error(self.centres, length[r])
                if second[r] - best[r] > 2.0 * error:
                    settle(self, start + open[t + r], length[r] + best[r] + error,
                                max(length[r] + second[r] - error, 0.0), label[r])
                else:
                    open[kept] = open[t + r]
                    kept += 1
                    self.finite &= length[r] < INFINITY
        return kept

    cdef void evaluate_rows(self, Py_ssize_t start, const int32_t *open,
                            Py_ssize_t m) noexcept nogil:
        """Distances of the rows of a list to all centres, four by four."""
        cdef Queue queue
        cdef Py_ssize_t t
        cdef int r
        for t in range(0, m, 4):
            if not self.rows.sparse:
                for r in range(min(4, m - t - AHEAD)):
                    fetch(self.rows.at(start + open[t + AHEAD + r]), self.rows.d)
            queue.size = min(4, m - t)
            for r in range(queue.size):
                queue.row[r] = start + open[t + r]
            self.evaluate(&queue)

    def unsettled(self, int64_t[::1] out):
        """Write the rows whose label may change to `out`, return their number."""
        cdef Py_ssize_t i, n = 0
        with nogil:
            for i in range(self.rows.n):
                if not settled(self, i):
                    out[n] = i
                    n += 1
        return n

    def screen(self, const int64_t[::1] rows, const double[:, ::1] products,
               const double[::1] row_norms, const double[::1] centre_norms, double radius):
        """Label `rows` from `products` = (X[rows] - s) @ (C - s).T, uncertain ones by distances.

        `row_norms` (of the whole range) and `centre_norms` are squared norms of x - s and c - s;
        `radius` is the largest norm of a centre: together they bound the rounding errors.
        """
        cdef Queue open
        cdef Py_ssize_t t, i, j, label, k = products.shape[1]
        cdef double best, second, value, size, error
        open.size = 0
        with nogil:
            for t in range(rows.shape[0]):
                i = rows[t]
                best = second = INFINITY
                label = 0
                for j in range(k):
                    value = centre_norms[j] - 2.0 * products[t, j]
                    if value < best:
                        second = best
                        best = value
                        label = j
                    elif value < second:
                        second = value
                size = sqrt(row_norms[i]) + radius
                error = 2.0 * self.slack * size * size
                if second - best > 2.0 * error:
                    best += row_norms[i] + error
                    second += row_norms[i] - error
                    settle(self, i, best, second if second > 0.0 else 0.0, <int32_t> label)
                else:
                    open.row[open.size] = i
                    open.size += 1
                    if open.size == 4:
                        self.evaluate(&open)
            self.evaluate(&open)

    cdef Py_ssize_t tighten(self, Py_ssize_t start, int32_t *open, Py_ssize_t m) noexcept nogil:
        """Replace upper bounds by distances; keeps the rows still uncertain, returns their number."""
        cdef row_t rows[4]
        cdef row_t centres[4]
        cdef double squared[4]
        cdef Queue queue
        cdef Py_ssize_t t, i, kept = 0
        cdef int r
        for t in range(0, m, 4):
            queue.size = min(4, m - t)
            if self.rows.placed:
                for r in range(min(4, m - t - AHEAD)):
                    fetch(self.rows.at(start + open[t + AHEAD + r]), self.rows.d)
            for r in range(4):
                queue.row[r] = start + open[t + r if r < queue.size else t]
                centres[r] = &self.centres.C[max(self.labels[queue.row[r]], 0), 0]
            self.rows.four(&queue, rows)
            lanes.own(rows, centres, self.rows.d, squared)
            self.rows.release(&queue)
            for r in range(queue.size):
                i = queue.row[r]
                open[kept] = <int32_t> (i - start)
                kept += self.labels[i] < 0 or not within(self, i, sqrt(squared[r]))
        return kept

    cdef void evaluate(self, Queue *open) noexcept nogil:
        """Distances of the queued rows to all centres."""
        cdef row_t rows[4]
        cdef double best[4]
        cdef double second[4]
        cdef int label[4]
        cdef int r
        if open.size == 0:
            return
        self.rows.four(open, rows)
        lanes.nearest(
            rows, &self.centres.panels[0, 0, 0], self.centres.panels.shape[0], self.rows.d,
            best, second, label,
        )
        self.rows.release(open)
        for r in range(open.size):
            settle(self, open.row[r], best[r], second[r], label[r])
        open.size = 0

    cdef void move(self, Py_ssize_t i, int32_t label) noexcept nogil:
        """Give a row another label; it leaves one sum and joins another."""
        cdef int32_t old = self.labels[i]
        self.labels[i] = label
        self.moved += 1
        if not self.adds:
            return
        if old >= 0:
            self.rows.add_to(i, -self.w[i], &self.high[old, 0], &self.low[old, 0])
        self.rows.add_to(i, self.w[i], &self.high[label, 0], &self.low[label, 0])


cdef inline bint settled(Pass one, Py_ssize_t i) noexcept nogil:
    """True if the label of a row cannot change."""
    cdef int32_t a = one.labels[i]
    a = a if a > 0 else 0  # before the first pass no bound holds for any centre
    return (one.gap[i] > one.travel[a]) | (one.upper[i] < one.near[a])


cdef inline void bound(Pass one, Py_ssize_t i, double u, double l) noexcept nogil:
    """Store the bounds of a row: u on the distance to its own centre, l to all others."""
    cdef int32_t a = one.labels[i]
    cdef double way = one.way[a], travel = one.travel[a]
    one.upper[i] = u - way + 2.0 * ULP * (u + way)
    u += 2.0 * one.slack * u
    one.gap[i] = INFINITY if l == INFINITY else l - u + travel - 4.0 * ULP * (l + u + travel)


cdef inline bint within(Pass one, Py_ssize_t i, double distance) noexcept nogil:
    """Take the distance to the own centre as upper bound; true if the label cannot change."""
    cdef int32_t a = one.labels[i]
    cdef double way = one.way[a], travel = one.travel[a], gap = one.gap[i]
    cdef double u = one.upper[i] + way, l = gap - travel + u
    l -= 8.0 * ULP * (fabs(gap) + travel + fabs(u) + way)
    bound(one, i, distance * (1.0 + one.slack), l if l > 0.0 else 0.0)
    return settled(one, i)


cdef inline void settle(Pass one, Py_ssize_t i, double best, double second,
                        int32_t label) noexcept nogil:
    """Set the label, and bounds from squared distances."""
    if label != one.labels[i]:
        one.move(i, label)
    if one.adds:
        bound(one, i, sqrt(best) * (1.0 + one.slack), sqrt(second) * (1.0 - one.slack))


def distances(const double[:, ::1] X, const double[:, :, ::1] panels, double[:, ::1] out):
    """Squared distances of dense rows to the first out.shape[1] centres of the panels."""
    cdef Py_ssize_t i, j, p, n = X.shape[0], d = X.shape[1], k = out.shape[1]
    cdef row_t rows[4]
    cdef double block[16]
    cdef int r, l
    with nogil:
        for i in range(0, n, 4):
            for r in range(4):
                rows[r] = &X[i + r if i + r < n else i, 0]
            for p in range(panels.shape[0]):
                lanes.panel(rows, &panels[p, 0, 0], d, block)
                for r in range(min(4, n - i)):
                    for l in range(min(4, k - 4 * p)):
                        out[i + r, 4 * p + l] = block[4 * r + l]


def own_distances(Rows X, const double[:, ::1] C, const int32_t[::1] labels,
                  double[::1] out):
    """Squared distance of every dense row to the centre of its label."""
    cdef Py_ssize_t i, n = X.n
    cdef row_t rows[4]
    cdef row_t centres[4]
    cdef double squared[4]
    cdef int r
    with nogil:
        for i in range(0, n, 4):
            X.fetch_four(i + AHEAD)
            for r in range(4):
                rows[r] = X.at(i + r if i + r < n else i)
                centres[r] = &C[labels[i + r if i + r < n else i], 0]
            lanes.own(rows, centres, X.d, squared)
            for r in range(min(4, n - i)):
                out[i + r] = squared[r]


def trials(Rows X, const double[::1] w, const double[:, :, ::1] panels,
           const double[::1] closest, double[:, ::1] potential):
    """Weighted sums of the squared distances of dense rows to the nearest seed, if candidate t joined
    them: potential[:, t], as high and low parts.
    """
    cdef Py_ssize_t i, p, t, n = X.n, T = potential.shape[1]
    cdef row_t rows[4]
    cdef double block[16]
    cdef double value
    cdef int r, l
    with nogil:
        for i in range(0, n, 4):
            X.fetch_four(i + AHEAD)
            for r in range(4):
                rows[r] = X.at(i + r if i + r < n else i)
            for p in range(panels.shape[0]):
                lanes.panel(rows, &panels[p, 0, 0], X.d, block)
                for r in range(min(4, n - i)):
                    for l in range(min(4, T - 4 * p)):
                        t = 4 * p + l
                        value = block[4 * r + l]
                        value = value if value < closest[i + r] else closest[i + r]
                        lanes.add(&value, w[i + r], 1, &potential[0, t], &potential[1, t])
