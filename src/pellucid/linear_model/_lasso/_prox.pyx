"""Coordinate descent on a quadratic with an L1 penalty: the inner problem of proximal Newton."""


cdef inline double soft_threshold(double target, double reach) noexcept nogil:
    """The minimiser of (t - target)^2 / 2 + reach |t|."""
    if target > reach:
        return target - reach
    if target < -reach:
        return target + reach
    return 0.0


def quadratic_lasso(
    const double[:, ::1] H, const double[::1] g, const double[::1] strength,
    const double[::1] b, double[::1] d, double[::1] Hd, double tol, Py_ssize_t max_sweeps,
):
    """Minimise g.d + d'Hd / 2 + sum strength |b + d| over d, one entry after the other.

    `Hd` is H d. Sweeps over the entries that move until none moves the objective by more than tol;
    returns the number of sweeps.
    """
    cdef Py_ssize_t i, j, sweep = 0, m = g.shape[0]
    cdef double gradient, curve, target, step, gain, best
    with nogil:
        for sweep in range(max_sweeps):
            best = 0.0
            for i in range(m):
                curve = H[i, i]
                if not curve > 0.0:
                    continue
                gradient = g[i] + Hd[i]
                target = soft_threshold(b[i] + d[i] - gradient / curve, strength[i] / curve)
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


def quadratic_lasso_by_rows(
    const double[::1] cells, const int[::1] rows, const int[::1] starts,
    const Py_ssize_t[::1] column, const Py_ssize_t[::1] cls,
    const double[:, ::1] factors, const double[:, ::1] shares,
    const double[::1] curves, const double[::1] ridge, const double[::1] g,
    const double[::1] strength, const double[::1] b, double[::1] d, double[:, ::1] Z,
    double[::1] means, double tol, Py_ssize_t max_sweeps,
):
    """As `quadratic_lasso`, with H never formed: entry i of d belongs to a column and a class.

    Row r has the curvature factors[r, k] (1[k = l] - shares[r, l]) by its scores of classes k and l,
    `ridge` is added to the diagonal of H, and `curves` is that diagonal. Columns stand one after the
    other (cells, rows, starts). Z (n, q) are the changes of the scores, means[r] = sum_l shares Z[r].
    A visit of an entry costs the cells of its column.
    """
    cdef Py_ssize_t i, j, k, r, e, sweep = 0, m = g.shape[0]
    cdef double gradient, curve, target, step, gain, best, move
    with nogil:
        for sweep in range(max_sweeps):
            best = 0.0
            for i in range(m):
                curve = curves[i]
                if not curve > 0.0:
                    continue
                j = column[i]
                k = cls[i]
                gradient = g[i] + ridge[i] * d[i]
                for e in range(starts[j], starts[j + 1]):
                    r = rows[e]
                    gradient += cells[e] * (factors[r, k] * (Z[r, k] - means[r]))
                target = soft_threshold(b[i] + d[i] - gradient / curve, strength[i] / curve)
                step = target - b[i] - d[i]
                if step == 0.0:
                    continue
                d[i] += step
                for e in range(starts[j], starts[j + 1]):
                    r = rows[e]
                    move = step * cells[e]
                    Z[r, k] += move
                    means[r] += shares[r, k] * move
                gain = curve * step * step
                if gain > best:
                    best = gain
            if not best > tol:
                break
    return sweep + 1
