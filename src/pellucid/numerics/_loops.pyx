"""Loops."""
def double_sum(const double[::1] x):
    cdef Py_ssize_t i
    cdef double s = 0.0
    with nogil:
        for i in range(x.shape[0]):
            s += x[i]
    return s
