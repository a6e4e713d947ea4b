"""Rows of a node: as integers, counted into histograms, or partitioned by a split."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from pellucid.tree._histogram_records cimport Cell, Gradient, Split, Units
from pellucid.tree._leaf_sums cimport LeafSum


cdef enum:                      # of `count_rows`: where the cells of the rows stand
    ALL = 0                     # every row, in order
    ORDERED = 1                 # cells in the order of rows
    BY_ROW = 2


cdef extern from *:
    """
    #ifdef __SSE2__
    #include <emmintrin.h>
    static inline long long rounded(double x) { return _mm_cvtsd_si64(_mm_set_sd(x)); }
    #else
    #include <math.h>
    static inline long long rounded(double x) { return llrint(x); }
    #endif
    """
    int64_t rounded(double x) nogil             # to the nearest integer


cdef inline double h_of(const Gradient* gradients, const double* weights,
                        Py_ssize_t row) noexcept nogil:
    """What splits are scored by: the curvature of a row, or its weight."""
    return gradients[row].h if weights == NULL else weights[row]


cdef inline Cell cell_of(const Gradient* gradients, const double* weights, const int32_t* samples,
                         Py_ssize_t row, double up_g, double up_h, int shift) noexcept nogil:
    """Integers of one row; samples NULL: 1."""
    cdef Cell cell
    cell.g = rounded(gradients[row].g * up_g)
    cell.hc = (rounded(h_of(gradients, weights, row) * up_h) << shift) + (
        1 if samples == NULL else samples[row])
    return cell


cdef bint goes_left(const Split* s, int b, int n_bins) noexcept nogil
cdef void count_rows(const uint32_t* words, const int32_t* rows, const Cell* cells, Py_ssize_t n,
                     Cell** columns, int where, int width) noexcept nogil
cdef void set_units(const Gradient* gradients, const int32_t* rows, Py_ssize_t n, int shift,
                    const double* weights, Units* units) noexcept nogil
cdef void suit(double g, double h, double leaf_h, int64_t n, int shift, Units* units) noexcept nogil
cdef void sum_noise(const Gradient* gradients, const double* weights, const int32_t* samples,
                    const int32_t* rows, Py_ssize_t n, const Units* units,
                    LeafSum* sums) noexcept nogil
cdef double noise_of(const LeafSum* sums, const Units* units) noexcept nogil
cdef Cell to_cells(const Gradient* gradients, const double* weights, const int32_t* samples,
                   const int32_t* rows, Py_ssize_t n, const Units* units, Cell* cells,
                   Cell* ordered) noexcept nogil
cdef Py_ssize_t partition_rows(const Split* s, const uint8_t* column, int32_t* rows, int32_t* scratch,
                               Py_ssize_t n, int n_bins) noexcept nogil
cdef void gather_cells(const Cell* cells, const int32_t* rows, Py_ssize_t n, Cell* out) noexcept nogil
cdef Gradient sum_gradients(const Gradient* gradients, const int32_t* rows, Py_ssize_t n,
                            const Units* units) noexcept nogil
cdef Gradient rounded_sum(const LeafSum* sums, const Units* units) noexcept nogil
cdef double sum_weights(const double* weights, const int32_t* rows, Py_ssize_t n) noexcept nogil
