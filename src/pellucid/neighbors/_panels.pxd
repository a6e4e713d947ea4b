"""Distances to panels of rows. Each module that uses them chooses the build of its own copy."""

from libc.stdint cimport int64_t

cdef extern from "lanes.h":
    void panel(int metric, double p, const double *scale, const double *q, const double *x,
               Py_ssize_t d, Py_ssize_t m, double worst, double *out) noexcept nogil
    void panelled(const double *X, const int64_t *order, Py_ssize_t m, Py_ssize_t d,
                  double *out) noexcept nogil
    double box_distance(int metric, double p, const double *q, const double *box,
                        Py_ssize_t d) noexcept nogil
    double squared(const double *q, const double *x, Py_ssize_t d, Py_ssize_t m) noexcept nogil
    bint below(const float *s, Py_ssize_t m, float bound) noexcept nogil
    float bound_of(double worst, double unit, double length, double error) noexcept nogil
    double halved(const double *x, const double *centre, double factor, Py_ssize_t d, Py_ssize_t m,
                  float *out) noexcept nogil
    int candidates(const float *q, const float *x, Py_ssize_t d, Py_ssize_t m, float bound,
                   int *found) noexcept nogil
    bint choose_wide(bint wide) noexcept nogil

cdef enum:
    WIDEST = 256  # rows in the largest panel
