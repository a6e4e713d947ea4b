"""Growing the trees of gradient boosting on binned columns, one tree per class at a time.

A cell holds its column's bin (uint8); the bin after the last one is for missing values. Four columns
stand side by side in one word. The histogram of a node holds, for every bin, the sums of the
gradients g, of the curvatures h and of the samples c of its rows, as integers: g in 2^-62 of the
largest possible sum, h in the bits that c leaves free in a second word. So one addition of two words
counts a cell, sums have no order, and the larger of two children is exactly the parent minus the
smaller, which alone is counted. A division is good by the drop of the quadratic model of the loss,
g^2 / (h + l2) summed over the children; values of leaves come from the slopes as they are.

Steps of one batch of nodes (numbered again below)
1. `plan`: leaves are divided best first; the next ones that are likely to be divided form a batch;
2. `divide`: the rows of each node go left or right, their order kept;
3. `assign`: which children are searched, where their histograms stand, which columns they may use;
4. `search`: four columns of a pair of children are one task: count, subtract, best division;
5. `settle`: best column of every child, ties to the lowest.

Threads take the tasks of all trees of a round as they come (`_histogram_schedule.pxi`). Tasks share
nothing, so bits are the same for any number of threads. A batch may divide a node that best-first
order never reaches: `plan` then leaves it whole.
"""

from libc.math cimport INFINITY, fabs, frexp, isnan, ldexp, log, log1p
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcpy, memset

import numpy as np


cdef enum:
    WIDTH = 4                   # columns in a word of bins
    MANY = 32                   # nodes in a batch where leaves are not limited
    SUPPORT = 10                # samples below which levels are pooled; and smoothing of their order


cdef double CHANCE = 0.6366197723675814         # 2 / pi, see `scan_sets`
cdef double TIE = 1e-12         # relative difference below which two divisions are equally good


cdef struct Slope:              # of the loss at one row
    double g, h


cdef struct Cell:               # of a histogram, or one row's share of it
    int64_t g, hc


cdef struct Units:              # of the integers of one tree
    double g, h
    int shift                   # bits of c
    double noise                # what a division gains by chance: mean of g^2 over that of h


cdef struct Split:
    double gain
    double num, den             # their ratio is the score, summed over the children
    Cell left
    uint64_t bins[4]            # a set of bins that go left
    int32_t feature, bin        # feature -1: no division; bin: the last one that goes left
    int32_t missing_left, is_set        # missing_left -1: none was missing


cdef struct Node:
    int64_t start, end          # its rows
    Cell total
    double g, h, c              # the same as numbers
    double lower, upper         # of its value, by monotone constraints
    Split split
    uint64_t key                # of its random choices
    double value
    int32_t parent, left, right, depth
    int32_t slot                # of its histogram, -1: none
    int32_t mask                # number of its row of allowed columns, -1: all
    int32_t divided


cdef struct Pair:               # two children to be searched; the larger may be -1: no such child
    int32_t small, large
    int32_t parent_slot         # -1: both are counted
    int32_t small_search, large_search


cdef struct Draft:              # one tree, with all that its tasks write to
    Node* nodes
    int32_t* front              # leaves of best-first order that can be divided
    int32_t* rows               # from here to `ordered`: of its desk
    Cell* cells                 # by row
    Cell* ordered               # in the order of rows, of the nodes that are counted
    const Slope* slopes         # by row
    int32_t* jobs               # nodes to be divided, -1: the root is to be opened
    Pair* pairs
    Split* found                # (pair, side, block)
    uint8_t* masks
    int32_t* leaves
    int32_t* free_slots
    Units units
    int32_t m, room, n_front, n_leaves, batch, done
    int32_t n_jobs, n_pairs, n_masks, n_free, n_listed
    int32_t room_jobs, room_pairs, room_masks, room_leaves
    int32_t number
    int stage
    long to_take, under_way        # tasks to be taken, and tasks not finished


cdef struct Grown:              # a node of a finished tree; `GROWN` in NumPy
    double value, gain, c, h
    int32_t feature, bin, left, right, missing_left, set_at


GROWN = np.dtype(
    [("value", "f8"), ("gain", "f8"), ("c", "f8"), ("h", "f8"), ("feature", "i4"), ("bin", "i4"),
     ("left", "i4"), ("right", "i4"), ("missing_left", "i4"), ("set_at", "i4")]
)
FIELDS = {name: "u1" if name == "missing_left" else GROWN[name].str for name in GROWN.names}


cdef struct Limits:
    double l2, min_c, min_split, min_h, min_gain
    double share                # of the columns that a node may look at
    int32_t max_leaves, max_depth
    bint bounded                # by monotone constraints
    int steep                   # the side (1, -1) on which curvature grows as the exponential, or 0


include "_histogram_count.pxi"
include "_histogram_scan.pxi"
include "_histogram_growth.pxi"
include "_histogram_search.pxi"
include "_histogram_store.pxi"
include "_histogram_schedule.pxi"
include "_histogram_slopes.pxi"
include "_bucket_bounds.pxi"
