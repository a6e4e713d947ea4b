"""Nodes, splits, histograms and growing trees of boosting, as all stages see them."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport realloc


cdef extern from *:
    """
    #define TIE 1e-12
    #define EXPECTED_GAIN 0.6366197723675814
    typedef long long pair_of_words __attribute__((vector_size(16), aligned(8), may_alias));
    static inline void add_words(void* to, const void* from) {
        *(pair_of_words*) to += *(const pair_of_words*) from;
    }
    """
    const double TIE            # relative difference below which two splits are equally good
    const double EXPECTED_GAIN  # 2 / pi, see `scan_sets`
    void add_words(void* to, const void* other) nogil


cdef enum:
    WIDTH = 4                   # columns in a word of bins
    MANY = 32                   # nodes in a batch where leaves are not limited
    SUPPORT = 10                # samples below which levels are pooled; and smoothing of their order


cdef struct Gradient:           # of the loss at one row, and its curvature
    double g, h


cdef struct Cell:               # of a histogram, or one row's share of it
    int64_t g, hc


cdef struct Units:              # of the integers of one tree
    double g, h
    int shift                   # bits of c
    int bits, up_g, up_h, up_noise      # of exact sums, see `_leaf_sums`
    double noise                # what a split gains by chance: mean of g^2 over that of h


cdef struct Split:              # the best one of a node or of a block of columns
    double gain
    double num, den             # their ratio is the score, summed over the children
    Cell left
    uint64_t bins[4]            # a set of bins that go left
    int32_t feature, bin        # feature -1: no split; bin: the last one that goes left
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
    int32_t is_split            # 1: for now, 2: for good
    int32_t counted             # number of its histogram in a pass over all rows, -1: none


cdef struct Pair:               # two children to be searched; the larger may be -1: no such child
    int32_t small, large
    int32_t parent_slot         # -1: both are counted
    int32_t small_search, large_search


cdef struct GrowingTree:        # one tree, with all that its tasks write to
    Node* nodes
    int32_t* front              # leaves of best-first order that can be split
    # From here to `ordered`: of its workspace. In passes over all rows, `rows` holds the node of each.
    int32_t* rows
    Cell* cells                 # by row
    Cell* ordered               # in the order of rows, of the nodes that are counted
    const Gradient* gradients   # by row
    int32_t* jobs               # nodes to be split, -1: the root is to be opened
    Pair* pairs
    Split* found                # (pair, side, block)
    uint8_t* masks
    Cell* parts                 # histograms (part of a pass, node that is counted); NULL: no passes
    int32_t n_parts, n_counted
    int32_t* leaves
    int32_t* unused_slots
    Units units
    int32_t m, capacity, n_front, n_leaves, batch, done
    int32_t n_jobs, n_pairs, n_masks, n_free, n_listed
    int32_t job_capacity, pair_capacity, mask_capacity, leaf_capacity
    int32_t number
    int stage
    long to_take, under_way     # tasks to be taken, and tasks not finished


cdef struct Grown:              # a node of a finished tree; `GROWN` in `_histogram_store`
    double value, gain, c, h
    int32_t feature, bin, left, right, missing_left, set_at


cdef struct Limits:             # when a node is not split; `histogram_grower.HistogramLimits`
    double l2, min_c, min_split, min_h, min_gain
    double share                # of the columns that a node may look at
    int32_t max_leaves, max_depth
    bint bounded                # by monotone constraints
    int steep                   # the side (1, -1, 2: both) on which curvature grows as exp, or 0


cdef struct Setup:              # what the tasks of all trees share
    const uint32_t* words       # (blocks of four columns, n)
    const uint8_t* columns      # (d, n) the bins again, column after column
    const int32_t* n_bins       # (d,) 0 for columns that only fill a word
    const uint8_t* kinds        # (n_columns,) 1: bins are levels
    const signed char* signs    # (n_columns,) monotone: 1 up, -1 down
    const int32_t* samples      # (n,) or NULL: 1 each
    const uint8_t* groups       # (n_groups, n_columns) that may stand on one path; n_groups 0: all
    int64_t* first              # (d + 1,) entry of a column in a histogram
    Py_ssize_t n
    int n_blocks, n_columns, n_groups
    int shift                   # bits of samples
    bint has_sets
    Limits limits
    Cell* pool                  # histograms: slots of each workspace in turn
    long idle                   # threads without a task
    const int32_t* stop         # another thread sets it to end the work
    double* raw                 # (trees, n) predictions of the round, and the rest of its settings
    double rate, ccp_alpha
    bint update
    const double* weights       # (n,) in place of curvatures where splits are scored, or NULL
    bint streamed               # rows are visited in passes, see `_histogram_passes`


cdef inline double count_of(const Units* units, int64_t hc) noexcept nogil:
    return <double> (hc & ((<int64_t> 1 << units.shift) - 1))


cdef inline double curvature_of(const Units* units, int64_t hc) noexcept nogil:
    return <double> (hc >> units.shift) * units.h


cdef inline int64_t histogram_size(const Setup* s) noexcept nogil:
    """Cells of the histogram of a node."""
    return s.first[WIDTH * s.n_blocks]


cdef inline int width_of(const Setup* s, int block) noexcept nogil:
    """Columns in the words of a block; the others only fill the last one."""
    return min(<int> WIDTH, s.n_columns - <int> WIDTH * block)


cdef inline bint limited(const Setup* s) noexcept nogil:
    """Where leaves are not limited every split stands, and the order does not matter."""
    return s.limits.max_leaves < 2147483647


cdef inline int resize(void** memory, size_t size) noexcept nogil:
    """0, or -1 without memory; the content stays."""
    cdef void* new = realloc(memory[0], size)
    if new == NULL:
        return -1
    memory[0] = new
    return 0


cdef inline Cell* gathered(GrowingTree* t, const Node* node) noexcept nogil:
    """Where a smaller child's cells stand in order: it has at most half of its parent's rows, so half
    of the memory is enough. The root of drawn rows stands at the beginning."""
    return t.ordered + ((t.nodes[node.parent].start + 1) // 2 if node.parent >= 0 else 0)


cdef inline int32_t* scratch_of(GrowingTree* t, const Node* node) noexcept nogil:
    """Room for the rows of a node while they are sent: where its smaller child's cells will stand."""
    return <int32_t*> (t.ordered + (node.start + 1) // 2)


cdef inline bint is_larger(const GrowingTree* t, const Node* node) noexcept nogil:
    """Whether a node is the larger of two children; of equal ones that is the right one."""
    cdef const Node* above = t.nodes + node.parent
    if node.parent < 0:
        return False
    if t.n_parts > 0:           # rows are not known before the pass, and either child may be counted
        return node.c > 0.5 * above.c or (node.c == 0.5 * above.c and node.start > above.start)
    if 2 * (node.end - node.start) == above.end - above.start:
        return node.start > above.start
    return 2 * (node.end - node.start) > above.end - above.start
