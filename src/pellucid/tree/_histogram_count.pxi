"""Rows of a node: counted into histograms, or sent to the two sides of a division."""


cdef inline void add_cell(Entry* e, Slope s, double c, const int counting) noexcept nogil:
    e.g += s.g
    e.h += s.h
    if counting != SAME:
        e.c += c


cdef enum:
    ALL = 0                     # every row, slopes by row
    ORDERED = 1                 # slopes in the order of rows
    BY_ROW = 2


cdef inline void add_rows(const uint32_t* words, const int32_t* rows, const Slope* slopes,
                          const double* weights, Py_ssize_t n, Entry** columns,
                          const int where, const int counting) noexcept nogil:
    """Rows of four columns; `where` and `counting` are constants where this is called."""
    cdef Py_ssize_t i, row
    cdef uint32_t word
    cdef Slope s
    cdef Entry* a = columns[0]
    cdef Entry* b = columns[1]
    cdef Entry* c = columns[2]
    cdef Entry* d = columns[3]
    cdef double count = 1.0
    for i in range(n):
        row = i if where == ALL else rows[i]
        s = slopes[row if where == BY_ROW else i]
        word = words[row]
        if counting == WEIGHTS:
            count = weights[row]
        add_cell(a + (word & 255), s, count, counting)
        add_cell(b + (word >> 8 & 255), s, count, counting)
        add_cell(c + (word >> 16 & 255), s, count, counting)
        add_cell(d + (word >> 24), s, count, counting)


cdef void count_rows(const uint32_t* words, const int32_t* rows, const Slope* slopes,
                     const double* weights, Py_ssize_t n, Entry** columns, int where,
                     int counting) noexcept nogil:
    if where == ALL and counting == ROWS:
        add_rows(words, rows, slopes, weights, n, columns, ALL, ROWS)
    elif where == ALL and counting == SAME:
        add_rows(words, rows, slopes, weights, n, columns, ALL, SAME)
    elif where == ORDERED and counting == ROWS:
        add_rows(words, rows, slopes, weights, n, columns, ORDERED, ROWS)
    elif where == ORDERED and counting == SAME:
        add_rows(words, rows, slopes, weights, n, columns, ORDERED, SAME)
    else:
        add_rows(words, rows, slopes, weights, n, columns, where, counting)


cdef inline bint goes_left(const Split* s, int b, int n_bins) noexcept nogil:
    if b >= n_bins:
        return s.missing_left
    if s.is_set:
        return s.bins[b >> 6] >> (b & 63) & 1
    return b <= s.bin


cdef Py_ssize_t send_rows(const Split* s, const uint8_t* cells, int32_t* rows, int32_t* scratch,
                          Py_ssize_t n, int n_bins) noexcept nogil:
    """Stable partition of rows in place: how many went left. cells: the column, WIDTH apart."""
    cdef uint8_t side[256]
    cdef Py_ssize_t i, left = 0, right = 0
    cdef int32_t row
    cdef uint8_t is_left
    for i in range(256):
        side[i] = goes_left(s, <int> i, n_bins)
    for i in range(n):
        row = rows[i]
        is_left = side[cells[<Py_ssize_t> row * WIDTH]]
        rows[left] = row                # without a branch; what is overwritten has been read
        scratch[right] = row
        left += is_left
        right += 1 - is_left
    memcpy(rows + left, scratch, right * sizeof(int32_t))
    return left


cdef Slope gather(const Slope* slopes, const int32_t* rows, Py_ssize_t n, Slope* out) noexcept nogil:
    """Slopes in the order of rows, and their sum; out may be NULL."""
    cdef Slope total
    cdef Py_ssize_t i
    total.g, total.h = 0.0, 0.0
    for i in range(n):
        if out != NULL:
            out[i] = slopes[rows[i]]
        total.g += slopes[rows[i]].g
        total.h += slopes[rows[i]].h
    return total
