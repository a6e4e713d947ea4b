"""Preparing a table for growing: the order of its columns, places, bins, and weights of rows.

Columns are sorted by a stable radix sort, missing values last. A double is mapped to an
unsigned integer of the same order (flip the sign bit of positive numbers, all bits of negative ones;
-0.0 counts as 0.0). Three stable counting passes order the rows by the upper 32 bits; rows that agree
there stand side by side and are then ordered by the lower 32 bits: by insertion if they are few, by
three more counting passes if they are many.
"""

from libc.math cimport INFINITY, floor, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from pellucid.tree._memory cimport allocate, release
from pellucid.tree._random cimport mix
from pellucid.tree._table cimport SMALL

import numpy as np


cdef enum:
    SHORT_RUN = 24          # up to this length insertion beats counting
    GRID = 1024             # cells in which thresholds are looked up
    MOST_PIVOTS = 65535     # whose intervals have numbers of 16 bits


cdef struct Item:
    uint32_t key            # the upper half of a value's bits, later the lower
    int32_t row


cdef inline uint64_t ordered_bits(double value) noexcept nogil:
    cdef uint64_t bits
    value += 0.0                                   # -0.0 becomes 0.0
    memcpy(&bits, &value, 8)
    return ~bits if bits >> 63 else bits | (<uint64_t> 1 << 63)


cdef void counting_passes(Item* items, Item* other, Py_ssize_t m) noexcept nogil:
    """Sort items by key: digits of 11, 11 and 10 bits, lowest first."""
    cdef uint32_t counts[3][2048]
    cdef uint32_t digit, total, here, key
    cdef int p
    cdef Py_ssize_t i
    cdef Item* source = items
    cdef Item* target = other
    memset(counts, 0, sizeof(counts))
    for i in range(m):
        key = items[i].key
        counts[0][key & 2047] += 1
        counts[1][(key >> 11) & 2047] += 1
        counts[2][key >> 22] += 1
    for p in range(3):
        digit = (source[0].key >> 11 * p) & 2047
        if counts[p][digit] == <uint32_t> m:       # one digit only: nothing to do
            continue
        total = 0
        for i in range(2048):
            here = counts[p][i]
            counts[p][i] = total
            total += here
        for i in range(m):
            digit = (source[i].key >> 11 * p) & 2047
            target[counts[p][digit]] = source[i]
            counts[p][digit] += 1
        source, target = target, source
    if source != items:
        memcpy(items, source, m * sizeof(Item))


cdef void insertion(Item* items, Py_ssize_t m) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef Item moved
    for i in range(1, m):
        moved = items[i]
        j = i
        while j > 0 and items[j - 1].key > moved.key:
            items[j] = items[j - 1]
            j -= 1
        items[j] = moved


cdef inline void sort_keys(Item* items, Item* other, Py_ssize_t m) noexcept nogil:
    if m <= SHORT_RUN:
        insertion(items, m)
    else:
        counting_passes(items, other, m)


cdef bint sort_items(const double* x, Item* items, Item* other, Py_ssize_t m) noexcept nogil:
    """Rows of items by value; their keys are the upper halves. True if two values are equal."""
    cdef Py_ssize_t start = 0, end, i
    cdef bint repeated = False
    sort_keys(items, other, m)
    while start < m:
        end = start + 1
        while end < m and items[end].key == items[start].key:
            end += 1
        if end - start > 1:
            for i in range(start, end):
                items[i].key = <uint32_t> ordered_bits(x[items[i].row])
            sort_keys(items + start, other, end - start)
            for i in range(start + 1, end):
                repeated |= items[i].key == items[i - 1].key
        start = end
    return repeated


def sort_column(const double[::1] x, int32_t[::1] order):
    """Fill `order` with the rows of x in ascending order, equal values by row, NaN last.

    Returns (number of missing values, True if two present values are equal).
    """
    cdef Py_ssize_t n = x.shape[0], i, m = 0, last = n
    cdef bint repeated = False
    cdef Item* items = <Item*> allocate(2 * max(n, 1) * sizeof(Item))
    if items == NULL:
        raise MemoryError
    with nogil:
        for i in range(n):
            if not isnan(x[i]):
                items[m].key = <uint32_t> (ordered_bits(x[i]) >> 32)
                items[m].row = <int32_t> i
                m += 1
        if m > 0:
            repeated = sort_items(&x[0], items, items + n, m)
        for i in range(m):
            order[i] = items[i].row
        last = m
        if m < n:
            for i in range(n):
                if isnan(x[i]):
                    order[last] = <int32_t> i
                    last += 1
        release(items)
    return n - m, bool(repeated)


def places_of(const double[:] x, const int32_t[::1] order, int32_t[:] places):
    """Where each row's value stands in the order; equal values, missing ones too, stand at the
    place of the first of them."""
    cdef Py_ssize_t i
    cdef int32_t place = 0
    cdef double v, last
    with nogil:
        last = x[order[0]] if order.shape[0] else 0.0
        for i in range(order.shape[0]):
            v = x[order[i]]
            if v != last and not (isnan(v) and isnan(last)):
                place = <int32_t> i
            places[order[i]] = place
            last = v


def longest_run(const double[:] x, const int32_t[::1] order, int32_t[::1] run):
    """Where the longest run of one value, the first of equally long ones, begins and ends."""
    cdef Py_ssize_t i, start = 0, n = order.shape[0]
    with nogil:
        run[0] = run[1] = 0
        for i in range(1, n + 1):
            if i < n and x[order[i]] == x[order[start]]:
                continue
            if i - start > run[1] - run[0]:
                run[0], run[1] = <int32_t> start, <int32_t> i
            start = i


def buckets_of(const double[::1] x, const int32_t[::1] order, const int32_t[::1] labels,
               uint16_t[::1] cells, int32_t[::1] starts):
    """Rows of a column without missing values, dealt by their places (see `places_of`) into
    buckets; cells: label * buckets + bucket; starts: rows before each bucket, and all of them."""
    cdef Py_ssize_t i, b = 0, last = -1, n = x.shape[0], buckets = starts.shape[0] - 1
    with nogil:
        for i in range(n):
            if i == 0 or x[order[i]] != x[order[i - 1]]:
                b = i * buckets // n
            while last < b:
                last += 1
                starts[last] = <int32_t> i
            cells[order[i]] = <uint16_t> (labels[order[i]] * buckets + b)
        for i in range(last + 1, buckets + 1):
            starts[i] = <int32_t> n


def cut_column(const double[::1] x, const int32_t[::1] order, Py_ssize_t present,
               const double[::1] weights, int most, uint8_t[::1] bins, double[::1] low,
               double[::1] high):
    """Bins of a sorted column, the one after the last for missing rows; returns their number.

    1. Count the values. 2. Up to `most` of them have a bin each; else a bin ends at the first value
    by which its share of the weight (None: of the rows) is reached. Fills the smallest and the
    largest value of every bin.
    """
    cdef Py_ssize_t i, distinct = 0
    cdef double total = 0.0, passed = 0.0, v, last = 0.0
    cdef int b = -1, goals = 0
    cdef bint fresh = True
    with nogil:
        for i in range(present):                                                        # 1
            v = x[order[i]]
            distinct += i == 0 or v != last
            total += 1.0 if weights is None else weights[order[i]]
            last = v
        for i in range(present):                                                        # 2
            v = x[order[i]]
            if i == 0 or v != last:
                if i > 0:
                    while goals < most - 1 and passed >= total * (
                            <double> (goals + 1) / <double> most):
                        goals += 1
                        fresh = True
                if fresh or distinct <= most:
                    b += 1
                    low[b] = v
                    fresh = False
            high[b] = v
            passed += 1.0 if weights is None else weights[order[i]]
            bins[order[i]] = <uint8_t> b
            last = v
        b = b + 1 if present else 1
        for i in range(present, x.shape[0]):
            bins[order[i]] = <uint8_t> b
    return b


def survey(const double[::1] w):
    """(all are 1, all are > 0, all are integers, the largest): one pass over weights."""
    cdef bint ones = True, positive = True, integers = True
    cdef double most = 0.0
    if w.shape[0] < SMALL:
        survey_weights(w, &ones, &positive, &integers, &most)
    else:
        with nogil:
            survey_weights(w, &ones, &positive, &integers, &most)
    return bool(ones), bool(positive), bool(integers), most


cdef void survey_weights(const double[::1] w, bint* ones, bint* positive, bint* integers,
                         double* most) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(w.shape[0]):
        ones[0] &= w[i] == 1.0
        positive[0] &= w[i] > 0.0
        integers[0] &= w[i] == floor(w[i])
        most[0] = w[i] if w[i] > most[0] else most[0]


def keep_rows(const int32_t[:, ::1] order, const uint8_t[::1] wanted, int32_t[:, ::1] lists):
    """The sorted lists without the unwanted rows. Small ones are not worth a change of threads."""
    if order.shape[0] * order.shape[1] < SMALL:
        keep_wanted(&order[0, 0], order.shape[0], order.shape[1], wanted, lists.shape[1], &lists[0, 0])
    else:
        with nogil:
            keep_wanted(&order[0, 0], order.shape[0], order.shape[1], wanted, lists.shape[1],
                        &lists[0, 0])


cdef void keep_wanted(const int32_t* order, Py_ssize_t d, Py_ssize_t n, const uint8_t[::1] wanted,
                      Py_ssize_t m, int32_t* lists) noexcept nogil:
    cdef Py_ssize_t f, i, k
    for f in range(d):
        k = 0
        for i in range(n):
            if k < m:
                lists[f * m + k] = order[f * n + i]
            k += wanted[order[f * n + i]]


def draw_counts(uint64_t key, Py_ssize_t draws, double[::1] counts):
    """How often each row is drawn, with replacement; depends on the key alone."""
    cdef Py_ssize_t n = counts.shape[0]
    if draws < SMALL:
        count_draws(key, draws, n, &counts[0])
    else:
        with nogil:
            count_draws(key, draws, n, &counts[0])


cdef void count_draws(uint64_t key, Py_ssize_t draws, Py_ssize_t n, double* counts) noexcept nogil:
    cdef uint64_t state = mix(key ^ <uint64_t> 0xA24BAED4963EE407)      # not the tree's own numbers
    cdef double scale = <double> n * 2.0 ** -53                         # rounds to n at no draw
    cdef Py_ssize_t i
    memset(counts, 0, n * sizeof(double))
    for i in range(draws):
        state += <uint64_t> 0x9E3779B97F4A7C15
        counts[<Py_ssize_t> (<double> (mix(state) >> 11) * scale)] += 1.0


cdef inline Py_ssize_t grid_cell(double v, double low, double scale) noexcept nogil:
    """Cell of an even grid; never decreases with v, so cells keep the order of values."""
    cdef double at = (v - low) * scale
    if v <= low or scale == 0.0:
        return 0
    return <Py_ssize_t> (at if at < GRID - 1 else GRID - 1)


cdef int fill_grid(const double[::1] cuts, int32_t* start, double* padded,
                   double* scale) noexcept nogil:
    """Sorted cuts by cells: start[g] of them stand in cells before g. Returns how many steps of
    bisection find a value among the cuts of its cell; `padded` (3 m + 2) ends with infinite cuts."""
    cdef Py_ssize_t m = cuts.shape[0], j, g, most = 0
    cdef double width = cuts[m - 1] - cuts[0] if m > 0 else 0.0
    cdef int steps = 0
    scale[0] = (GRID - 1) / width if width > 0.0 else 0.0
    if not scale[0] < INFINITY:
        scale[0] = 0.0                  # one cell: bisection alone
    memset(start, 0, (GRID + 1) * sizeof(int32_t))
    for j in range(m):
        padded[j] = cuts[j]
        start[grid_cell(cuts[j], cuts[0], scale[0]) + 1] += 1
    for j in range(m, 3 * m + 2):
        padded[j] = INFINITY
    for g in range(GRID):
        most = max(most, start[g + 1])
        start[g + 1] += start[g]
    while most >> steps:
        steps += 1
    return steps


cdef inline Py_ssize_t cuts_below(double v, const double* cuts, double low, double scale,
                                  const int32_t* start, int steps) noexcept nogil:
    """How many cuts are smaller than v."""
    cdef Py_ssize_t at = start[grid_cell(v, low, scale)]
    cdef Py_ssize_t step = (<Py_ssize_t> 1 << steps) >> 1
    while step > 0:
        at += step if cuts[at + step - 1] < v else 0
        step >>= 1
    return at


def number_bins(const double[::1] values, const double[::1] thresholds, uint8_t[:, ::1] cells,
                int place):
    """Bin of every value: how many thresholds lie below it; after the last bin if it is missing."""
    cdef Py_ssize_t i, n = values.shape[0], m = thresholds.shape[0]
    cdef int32_t start[GRID + 1]
    cdef double padded[770]
    cdef double scale, low = thresholds[0] if m > 0 else 0.0
    cdef int steps
    assert m < 256
    with nogil:
        steps = fill_grid(thresholds, start, padded, &scale)
        for i in range(n):
            if isnan(values[i]):
                cells[i, place] = <uint8_t> (m + 1)
            else:
                cells[i, place] = <uint8_t> cuts_below(values[i], padded, low, scale, start, steps)


def count_between(const double[::1] values, const double[::1] pivots, uint16_t[::1] which,
                  int64_t[::1] counts):
    """Interval of every value, the number of pivots below it, and how many values each one has."""
    cdef Py_ssize_t i, m = pivots.shape[0]
    cdef int32_t start[GRID + 1]
    cdef double[::1] padded = np.empty(3 * m + 2)
    cdef double scale, low = pivots[0]
    cdef int steps
    assert 0 < m <= MOST_PIVOTS and counts.shape[0] == m + 1
    with nogil:
        steps = fill_grid(pivots, start, &padded[0], &scale)
        for i in range(values.shape[0]):
            which[i] = <uint16_t> cuts_below(values[i], &padded[0], low, scale, start, steps)
            counts[which[i]] += 1


def level_bins(const double[::1] codes, const uint8_t[::1] bin_of, int n_bins,
               uint8_t[:, ::1] cells, int place):
    """Bin of every level; after the last bin if it is missing."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(codes.shape[0]):
            if 0.0 <= codes[i] < bin_of.shape[0]:
                cells[i, place] = bin_of[<Py_ssize_t> codes[i]]
            else:
                cells[i, place] = <uint8_t> n_bins
