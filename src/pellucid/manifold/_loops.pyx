"""Loops of t-SNE: distances, affinities, forces between points, and the tree that groups them.

With w = 1 / (1 + d**2 / dof) and u = w**((dof + 1) / 2) of a pair of points, the forces on a point
are attract = sum p w (y_i - y_j) and repel = sum u w (y_i - y_j); Z = sum of all u.

The Barnes-Hut tree has a tight box around the points of each node, split in the middle of every
side. Layout: nodes in preorder, `skip` is the next node that is not a descendant; points are in the
order of the leaves, and a node holds start <= t < stop of that order.
"""

from libc.math cimport INFINITY, exp, fabs, log, log1p, pow
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

cdef int STEPS = 200
cdef double CLOSE = 1e-10


def distances_to(const double[:, ::1] X, Py_ssize_t first, const int64_t[:, ::1] others,
                 double[:, ::1] out):
    """out[i, c] = |x_(first + i) - x_others[i, c]|**2."""
    cdef Py_ssize_t i, c, f
    cdef double d, total
    with nogil:
        for i in range(others.shape[0]):
            for c in range(others.shape[1]):
                total = 0.0
                for f in range(X.shape[1]):
                    d = X[first + i, f] - X[others[i, c], f]
                    total += d * d
                out[i, c] = total


cdef double entropy(const double *d, Py_ssize_t k, Py_ssize_t own, double least, double beta,
                    double *out) noexcept nogil:
    """Write the normalised exp(-beta d) of a row to `out`; returns their entropy."""
    cdef Py_ssize_t c
    cdef double total = 0.0, weighted = 0.0
    for c in range(k):
        out[c] = exp(-beta * (d[c] - least)) if c != own else 0.0
        total += out[c]
        weighted += (d[c] - least) * out[c] if out[c] > 0.0 else 0.0
    for c in range(k):
        out[c] /= total
    return log(total) + beta * weighted / total


def affinities(const double[:, ::1] D, Py_ssize_t first, bint whole, double perplexity,
               double[:, ::1] out):
    """Probabilities of the neighbours of each row with the given perplexity, by bisection of beta.

    D holds squared distances; if `whole`, column first + i of row i is the point itself.
    """
    cdef Py_ssize_t i, c, own, k = D.shape[1]
    cdef int step
    cdef double low, high, beta, least, mean, gap, goal = log(perplexity)
    with nogil:
        for i in range(D.shape[0]):
            own = first + i if whole else -1
            least, mean = INFINITY, 0.0
            for c in range(k):
                if c != own and D[i, c] < least:
                    least = D[i, c]
            for c in range(k):
                if c != own:
                    mean += (D[i, c] - least) / k
            beta = 1.0 / mean if mean > 1e-300 else 1.0
            low, high = 0.0, INFINITY
            for step in range(STEPS):
                gap = entropy(&D[i, 0], k, own, least, beta, &out[i, 0]) - goal
                if fabs(gap) < CLOSE:
                    break
                if gap > 0.0:
                    low = beta
                    beta = (beta + high) / 2.0 if high < INFINITY else beta * 2.0
                else:
                    high = beta
                    beta = (beta + low) / 2.0
                if beta > 1e300:
                    break


cdef inline double kernel(double squared, double dof, double *u) noexcept nogil:
    cdef double w = 1.0 / (1.0 + squared / dof)
    u[0] = w if dof == 1.0 else pow(w, (dof + 1.0) / 2.0)
    return w


def exact_forces(const double[:, ::1] Y, const double[:, ::1] P, Py_ssize_t low, Py_ssize_t high,
                 double dof, bint measure, double[:, ::1] attract, double[:, ::1] repel):
    """Forces on the points low..high from all others; returns their part of Z and of sum p log u."""
    cdef Py_ssize_t i, j, f, n = Y.shape[0], d = Y.shape[1]
    cdef double squared, step, w, u, z = 0.0, cross = 0.0
    with nogil:
        for i in range(low, high):
            for f in range(d):
                attract[i, f] = repel[i, f] = 0.0
            for j in range(n):
                if j == i:
                    continue
                squared = 0.0
                for f in range(d):
                    step = Y[i, f] - Y[j, f]
                    squared += step * step
                w = kernel(squared, dof, &u)
                z += u
                for f in range(d):
                    step = Y[i, f] - Y[j, f]
                    attract[i, f] += P[i, j] * w * step
                    repel[i, f] += u * w * step
                if measure:
                    cross -= P[i, j] * (dof + 1.0) / 2.0 * log1p(squared / dof)
    return z, cross


def attraction(const double[:, ::1] Y, const int32_t[::1] indptr, const int32_t[::1] indices,
               const double[::1] data, Py_ssize_t low, Py_ssize_t high, double dof, bint measure,
               double[:, ::1] attract):
    """Attraction of the points low..high by their neighbours; returns sum p log u."""
    cdef Py_ssize_t i, j, f, at, d = Y.shape[1]
    cdef double squared, step, w, u, cross = 0.0
    with nogil:
        for i in range(low, high):
            for f in range(d):
                attract[i, f] = 0.0
            for at in range(indptr[i], indptr[i + 1]):
                j = indices[at]
                squared = 0.0
                for f in range(d):
                    step = Y[i, f] - Y[j, f]
                    squared += step * step
                w = kernel(squared, dof, &u)
                for f in range(d):
                    attract[i, f] += data[at] * w * (Y[i, f] - Y[j, f])
                if measure:
                    cross -= data[at] * (dof + 1.0) / 2.0 * log1p(squared / dof)
    return cross


cdef struct Node:
    # One cache line: mean of the points (0 beyond d), squared diagonal of the cell, range of points.
    double centre[3]
    double size
    int64_t start, stop, skip, unused


cdef class Tree:
    """The tree over points Y (n, d), d <= 3; `order` is the order of the leaves."""

    cdef readonly object order
    cdef readonly Py_ssize_t nodes
    cdef int64_t[::1] places, spare
    cdef double[:, ::1] Y
    cdef Node *table
    cdef Py_ssize_t d

    def __cinit__(self, const double[:, ::1] Y):
        self.table = <Node *> malloc(2 * Y.shape[0] * sizeof(Node))
        if self.table is NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.table)

    def __init__(self, const double[:, ::1] Y):
        import numpy as np

        cdef Py_ssize_t n = Y.shape[0]
        self.d = Y.shape[1]
        self.order = np.arange(n)
        self.places, self.spare = self.order, np.empty(n, dtype=np.int64)
        self.Y, self.nodes = np.array(Y), 0
        with nogil:
            self.grow(0, n, INFINITY)
        self.Y = np.asarray(Y)[self.order]

    cdef void grow(self, Py_ssize_t low, Py_ssize_t high, double cell) noexcept nogil:
        """Add a node for the points low..high, then its children; `cell`: squared diagonal of its cell.

        The cell is the part of the parent's box, not the tighter box around the points: with the
        latter, groups would be treated as one point too early.
        """
        cdef Py_ssize_t d = self.d, f, t, part, begin
        cdef Node *node = &self.table[self.nodes]
        cdef double least[3]
        cdef double most[3]
        cdef double value, side = 0.0, diagonal = 0.0
        cdef Py_ssize_t counts[9]
        self.nodes += 1
        node.start, node.stop = low, high
        node.centre[0] = node.centre[1] = node.centre[2] = 0.0
        for f in range(d):
            least[f], most[f] = INFINITY, -INFINITY
            for t in range(low, high):
                value = self.Y[self.places[t], f]
                least[f], most[f] = min(least[f], value), max(most[f], value)
                node.centre[f] += value
            node.centre[f] /= high - low
            side = max(side, most[f] - least[f])
            diagonal += (most[f] - least[f]) * (most[f] - least[f])
        node.size = diagonal if cell == INFINITY else cell
        if side > 0.0:
            self.divide(low, high, least, most, counts)
            begin = low
            for part in range(1 << d):
                if counts[part]:
                    self.grow(begin, begin + counts[part], diagonal / 4.0)
                begin += counts[part]
        node.skip = self.nodes

    cdef void divide(self, Py_ssize_t low, Py_ssize_t high, double *least, double *most,
                     Py_ssize_t *counts) noexcept nogil:
        """Sort points by the part of the box they lie in, and count them per part."""
        cdef Py_ssize_t t, f, part, begin
        cdef Py_ssize_t at[8]
        cdef double middle[3]
        for f in range(self.d):
            # Strictly below the largest value, even if both are neighbouring floats.
            middle[f] = least[f] + (most[f] - least[f]) / 2.0
            if middle[f] >= most[f]:
                middle[f] = least[f]
        for part in range(8):
            counts[part] = 0
        for t in range(low, high):
            counts[self.part(self.places[t], middle)] += 1
        begin = low
        for part in range(8):
            at[part] = begin
            begin += counts[part]
        for t in range(low, high):
            part = self.part(self.places[t], middle)
            self.spare[at[part]] = self.places[t]
            at[part] += 1
        for t in range(low, high):
            self.places[t] = self.spare[t]

    cdef inline int part(self, Py_ssize_t i, double *middle) noexcept nogil:
        cdef int found = 0
        cdef Py_ssize_t f
        for f in range(self.d):
            if self.Y[i, f] > middle[f]:
                found |= 1 << f
        return found

    def repulsion(self, Py_ssize_t low, Py_ssize_t high, double dof, double angle,
                  double[:, ::1] repel):
        """Repulsion on the points low..high, rows of `repel` in the user's order; returns their part of Z.

        A node counts as one point if the diagonal of its cell is less than `angle` times its distance.
        """
        cdef Py_ssize_t t, f
        cdef double y[3]
        cdef double force[3]
        cdef double z = 0.0
        with nogil:
            for t in range(low, high):
                for f in range(3):
                    y[f] = self.Y[t, f] if f < self.d else 0.0
                    force[f] = 0.0
                z += self.push(t, y, dof, angle * angle, force)
                for f in range(self.d):
                    repel[self.places[t], f] = force[f]
        return z

    cdef double push(self, Py_ssize_t t, const double *y, double dof, double limit,
                     double *force) noexcept nogil:
        """Add the repulsion on point t at y to `force`; returns its part of Z."""
        cdef Py_ssize_t at = 0
        cdef const Node *node
        cdef double a, b, c, squared, w, u, z = 0.0
        cdef bint leaf
        while at < self.nodes:
            node = &self.table[at]
            leaf = node.skip == at + 1
            if node.start <= t < node.stop:
                if leaf:
                    z += node.stop - node.start - 1  # identical points exert no force
                at += 1
                continue
            a, b, c = y[0] - node.centre[0], y[1] - node.centre[1], y[2] - node.centre[2]
            squared = a * a + b * b + c * c
            if not leaf and node.size >= limit * squared:
                at += 1
                continue
            w = kernel(squared, dof, &u)
            u *= node.stop - node.start
            z += u
            w *= u
            force[0] += w * a
            force[1] += w * b
            force[2] += w * c
            at = node.skip
        return z
