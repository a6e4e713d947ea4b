"""Coordinate descent on a quadratic with absolute values: the inner problem of proximal Newton."""

from libc.math cimport fabs


def quadratic_lasso(
    const double[:, ::1] H, const double[::1] g, const double[::1] strength,
    const double[::1] b, double[::1] d, double[::1] Hd, double tol, Py_ssize_t max_sweeps,
):
    """Minimise g.d + d'Hd / 2 + sum strength |b + d| over d, one entry after the other.

    `Hd` is H d. Sweeps over the entries that move until none moves the objective by more than tol;
    returns the number of sweeps.
    """
    cdef Py_ssize_t i, j, sweep = 0, m = g.shape[0]
    cdef double slope, curve, target, goal, step, gain, best
    with nogil:
        for sweep in range(max_sweeps):
            best = 0.0
            for i in range(m):
                curve = H[i, i]
                if not curve > 0.0:
                    continue
                slope = g[i] + Hd[i]
                target = b[i] + d[i] - slope / curve
                goal = strength[i] / curve
                if target > goal:
                    target -= goal
                elif target < -goal:
                    target += goal
                else:
                    target = 0.0
                step = target - b[i] - d[i]
                if step == 0.0:
                    continue
                d[i] += step
                for j in range(m):
                    Hd[j] += step * H[i, j]
                gain = curve * step * step
                if gain > best:
                    best = gain
            if not best > tol:
                break
    return sweep + 1
