"""Loops of networks: operations for which NumPy would need several passes over small arrays.

Every function works in place, on float64 or float32 alike.
"""

from libc.math cimport exp, fabs, log1p

cdef extern from "steps.h":
    void adam_double_plain(double *x, const double *g, double *m, double *v, Py_ssize_t n,
                           double decay, double rate, double beta1, double beta2,
                           double epsilon) noexcept nogil
    void adam_float_plain(float *x, const float *g, float *m, float *v, Py_ssize_t n,
                          float decay, float rate, float beta1, float beta2,
                          float epsilon) noexcept nogil

ctypedef fused real:
    double
    float


def add_and_rectify(real[:, ::1] Z, const real[::1] b):
    """Z = max(Z + b, 0); NaN stays NaN, so that divergence is detected."""
    cdef Py_ssize_t i, j
    cdef real value
    with nogil:
        for i in range(Z.shape[0]):
            for j in range(Z.shape[1]):
                value = Z[i, j] + b[j]
                Z[i, j] = 0 if value < 0 else value


def rectified_slope(const real[:, ::1] A, real[:, ::1] D):
    """D = D where A > 0, else 0: the derivative of relu at 0 is 0."""
    cdef Py_ssize_t i, j
    with nogil:
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                D[i, j] = D[i, j] if A[i, j] > 0 else 0


def momentum(real[::1] x, const real[::1] g, real[::1] v, double decay, double rate, double keep,
             bint nesterov):
    """v = keep v - rate s; x += v, or (Nesterov) keep v - rate s, with the gradient s = g + decay x."""
    cdef Py_ssize_t i
    cdef real gradient, speed, r = <real> rate, k = <real> keep, d = <real> decay
    with nogil:
        for i in range(x.shape[0]):
            gradient = g[i] + d * x[i]
            speed = k * v[i] - r * gradient
            v[i] = speed
            x[i] += k * speed - r * gradient if nesterov else speed


def adam(real[::1] x, const real[::1] g, real[::1] m, real[::1] v, double decay, double rate,
         double beta1, double beta2, double epsilon):
    """One step of Adam with running means m of the gradient g + decay x and v of its square."""
    cdef Py_ssize_t n = x.shape[0]
    if n == 0:
        return
    with nogil:
        if real is double:
            adam_double_plain(&x[0], &g[0], &m[0], &v[0], n, decay, rate, beta1, beta2, epsilon)
        else:
            adam_float_plain(&x[0], &g[0], &m[0], &v[0], n, <float> decay, <float> rate,
                             <float> beta1, <float> beta2, <float> epsilon)


def log_loss(real[:, ::1] Z, const real[:, ::1] Y, const real[::1] share):
    """sum_i share_i sum_k log loss(y_ik, z_ik); Z becomes its derivative in z."""
    cdef Py_ssize_t i, k
    cdef double z, small, total = 0.0, row
    with nogil:
        for i in range(Z.shape[0]):
            row = 0.0
            for k in range(Z.shape[1]):
                z = Z[i, k]
                small = exp(-fabs(z))  # in (0, 1]: accurate in both tails
                row += (z if z > 0.0 else 0.0) - Y[i, k] * z + log1p(small)
                Z[i, k] = <real> (
                    share[i] * ((1.0 if z >= 0.0 else small) / (1.0 + small) - Y[i, k])
                )
            total += share[i] * row
    return total
