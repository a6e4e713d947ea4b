"""Coordinate descent on a quadratic with an elastic-net penalty.

Layout: Q is (k, k), C-contiguous and symmetric; q, b, the products Qb = Q b and the strengths l1, l2
are (k,).
"""

from libc.math cimport fabs, sqrt


cdef inline double shrunk(double z, double reach, bint positive) noexcept nogil:
    """Soft threshold."""
    if z > reach:
        return z - reach
    if z < -reach and not positive:
        return z + reach
    return 0.0


def descend(
    const double[:, ::1] Q, const double[::1] q, double[::1] b, double[::1] Qb,
    const double[::1] l1, const double[::1] l2, bint positive, double tol, Py_ssize_t epochs,
):
    """Minimise b'Qb/2 - q'b + sum l1 |b| + sum l2 b^2/2 in place; the number of epochs made.

    1. For each coordinate: its best value while the others stand still.
    2. Qb follows. 3. Stop when no coordinate of an epoch moved the fit by more than tol.
    """
    cdef Py_ssize_t j, i, epoch = 0, k = q.shape[0]
    cdef double old, new, curve, step, largest
    with nogil:
        while epoch < epochs:
            epoch += 1
            largest = 0.0
            for j in range(k):
                curve = Q[j, j] + l2[j]
                old = b[j]
                if not curve > 0.0:
                    new = 0.0
                else:
                    new = shrunk(q[j] - Qb[j] + Q[j, j] * old, l1[j], positive) / curve
                step = new - old
                if step != 0.0:
                    b[j] = new
                    for i in range(k):
                        Qb[i] += step * Q[j, i]
                    largest = max(largest, fabs(step) * sqrt(curve))
            if largest <= tol:
                break
    return epoch
