"""Rows of a node: as integers, counted into histograms, or partitioned by a split."""

from libc.math cimport fabs, frexp, ldexp
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from pellucid.tree._histogram_records cimport Cell, Gradient, Split, Units, add_words
from pellucid.tree._leaf_sums cimport LIMB_BITS, LeafSum, add_leaf_row, add_leaf_rows, leaf_sum
from pellucid.tree._prefetch cimport prefetch


cdef enum:
    AHEAD = 16                  # rows that are prefetched


cdef inline void add_rows(const uint32_t* words, const int32_t* rows, const Cell* cells,
                          Py_ssize_t n, Cell** columns, const int where,
                          const int width) noexcept nogil:
    """Rows of up to four columns; `where` and `width` are constants where this is called."""
    cdef Py_ssize_t i, row
    cdef uint32_t word
    cdef const Cell* cell
    cdef Cell* a = columns[0]
    cdef Cell* b = columns[1]
    cdef Cell* c = columns[2]
    cdef Cell* d = columns[3]
    for i in range(n):
        if where != ALL and i + AHEAD < n:
            prefetch(words + rows[i + AHEAD])
        row = i if where == ALL else rows[i]
        cell = cells + (row if where == BY_ROW else i)
        word = words[row]
        add_words(a + (word & 255), cell)
        if width > 1:
            add_words(b + (word >> 8 & 255), cell)
        if width > 2:
            add_words(c + (word >> 16 & 255), cell)
        if width > 3:
            add_words(d + (word >> 24), cell)


cdef inline void add_columns(const uint32_t* words, const int32_t* rows, const Cell* cells,
                             Py_ssize_t n, Cell** columns, const int where,
                             int width) noexcept nogil:
    if width == 1:
        add_rows(words, rows, cells, n, columns, where, 1)
    elif width == 2:
        add_rows(words, rows, cells, n, columns, where, 2)
    elif width == 3:
        add_rows(words, rows, cells, n, columns, where, 3)
    else:
        add_rows(words, rows, cells, n, columns, where, 4)


cdef void count_rows(const uint32_t* words, const int32_t* rows, const Cell* cells, Py_ssize_t n,
                     Cell** columns, int where, int width) noexcept nogil:
    if where == ALL:
        add_columns(words, rows, cells, n, columns, ALL, width)
    elif where == ORDERED:
        add_columns(words, rows, cells, n, columns, ORDERED, width)
    else:
        add_columns(words, rows, cells, n, columns, BY_ROW, width)


cdef inline int exponent(double largest, int bits) noexcept nogil:
    """largest * 2**this < 2**bits."""
    cdef int e = 0
    if largest > 0:
        frexp(largest, &e)
        e = min(bits - e, 1000)
    return e


cdef void set_units(const Gradient* gradients, const int32_t* rows, Py_ssize_t n, int shift,
                    const double* weights, Units* units) noexcept nogil:
    """Units in which no sum over these rows can overflow; rows NULL: the first n."""
    cdef double g = 0.0, h = 0.0, leaf_h = 0.0
    cdef Py_ssize_t i, row
    for i in range(n):
        row = i if rows == NULL else rows[i]
        g = max(g, fabs(gradients[row].g))
        leaf_h = max(leaf_h, gradients[row].h)
        if weights != NULL:
            h = max(h, weights[row])
    suit(g, leaf_h if weights == NULL else h, leaf_h, n, shift, units)


cdef void suit(double g, double h, double leaf_h, int64_t n, int shift, Units* units) noexcept nogil:
    """Units for n rows with gradients up to g, curvatures up to h, and in the leaves up to leaf_h."""
    cdef int e = exponent(g * n, 62)
    cdef int64_t rows = n
    units.g = ldexp(1.0, -e)
    e = exponent(h * n, 62 - shift)
    units.h, units.shift = ldexp(1.0, -e), shift
    units.bits = 62
    while rows > 0:
        units.bits -= 1
        rows >>= 1
    units.bits = min(units.bits, LIMB_BITS)
    units.up_g, units.up_h = exponent(g, units.bits), exponent(leaf_h, units.bits)
    units.up_noise = exponent(h, units.bits)


cdef void sum_noise(const Gradient* gradients, const double* weights, const int32_t* samples,
                    const int32_t* rows, Py_ssize_t n, const Units* units,
                    LeafSum* sums) noexcept nogil:
    """Sums of g^2, by sample, and of h, in units in which both are near 1; rows NULL: the first n."""
    cdef double up_g = ldexp(1.0, units.up_g - units.bits), c = 1.0
    cdef double up_h = ldexp(1.0, units.up_noise - units.bits), up = ldexp(1.0, units.bits)
    cdef double pair[2]
    cdef double g
    cdef Py_ssize_t i, row
    memset(sums, 0, sizeof(LeafSum))
    for i in range(n):
        row = i if rows == NULL else rows[i]
        if samples != NULL:
            c = <double> max(samples[row], 1)
        g = gradients[row].g * up_g
        pair[0], pair[1] = g * (g / c), h_of(gradients, weights, row) * up_h
        add_leaf_row(sums, pair, up, up, up)


cdef double noise_of(const LeafSum* sums, const Units* units) noexcept nogil:
    """Sum of g^2, by sample, over the sum of h."""
    cdef double h = leaf_sum(sums, 1, units.bits, units.bits)
    cdef double squares = leaf_sum(sums, 0, units.bits, units.bits)
    if h <= 0.0:
        return 0.0
    return ldexp(squares / h, units.up_noise + units.bits - 2 * units.up_g)


cdef Cell to_cells(const Gradient* gradients, const double* weights, const int32_t* samples,
                   const int32_t* rows, Py_ssize_t n, const Units* units, Cell* cells,
                   Cell* ordered) noexcept nogil:
    """Integers of the rows, and their sum; samples NULL: 1 each."""
    cdef Cell total
    cdef Py_ssize_t i
    cdef int32_t row
    cdef double up_g = 1.0 / units.g, up_h = 1.0 / units.h
    total.g, total.hc = 0, 0
    for i in range(n):
        row = rows[i]
        cells[row] = cell_of(gradients, weights, samples, row, up_g, up_h, units.shift)
        add_words(&total, cells + row)
        if ordered != NULL:
            ordered[i] = cells[row]
    return total


cdef bint goes_left(const Split* s, int b, int n_bins) noexcept nogil:
    if b >= n_bins:
        return s.missing_left
    if s.is_set:
        return s.bins[b >> 6] >> (b & 63) & 1
    return b <= s.bin


cdef Py_ssize_t partition_rows(const Split* s, const uint8_t* column, int32_t* rows, int32_t* scratch,
                               Py_ssize_t n, int n_bins) noexcept nogil:
    """Stable partition of rows in place: how many went left."""
    cdef uint8_t side[256]
    cdef Py_ssize_t i, left = 0, right = 0
    cdef int32_t row
    cdef uint8_t is_left
    for i in range(256):
        side[i] = goes_left(s, <int> i, n_bins)
    for i in range(n):
        if i + AHEAD < n:
            prefetch(column + rows[i + AHEAD])
        row = rows[i]
        is_left = side[column[row]]
        rows[left] = row                # without a branch; what is overwritten has been read
        scratch[right] = row
        left += is_left
        right += 1 - is_left
    memcpy(rows + left, scratch, right * sizeof(int32_t))
    return left


cdef void gather_cells(const Cell* cells, const int32_t* rows, Py_ssize_t n, Cell* out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if i + AHEAD < n:
            prefetch(cells + rows[i + AHEAD])
        out[i] = cells[rows[i]]


cdef Gradient sum_gradients(const Gradient* gradients, const int32_t* rows, Py_ssize_t n,
                            const Units* units) noexcept nogil:
    """Exact sum of the gradients of rows, rounded once."""
    cdef LeafSum sums
    memset(&sums, 0, sizeof(LeafSum))
    add_leaf_rows(&sums, &gradients[0].g, rows, n, ldexp(1.0, units.up_g), ldexp(1.0, units.up_h),
                  ldexp(1.0, units.bits))
    return rounded_sum(&sums, units)


cdef Gradient rounded_sum(const LeafSum* sums, const Units* units) noexcept nogil:
    cdef Gradient total
    total.g = leaf_sum(sums, 0, units.bits, units.up_g)
    total.h = leaf_sum(sums, 1, units.bits, units.up_h)
    return total


cdef double sum_weights(const double* weights, const int32_t* rows, Py_ssize_t n) noexcept nogil:
    cdef double total = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        total += weights[rows[i]]
    return total
