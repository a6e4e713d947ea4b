"""The training table, a node and a split, as all stages of growing a tree see them."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t


cdef enum:
    SMALL = 65536               # cells below which releasing the GIL takes longer than the work


cdef struct Node:               # a node under construction
    int64_t start, end          # its segment of the sorted lists
    int64_t at                  # rows of the sorted segment below the threshold
    int64_t set_start           # where its set of levels stands, as in `_level_sets`; -1: none
    uint64_t key                # of its random choice of columns
    double weight, cost, mean   # mean: of the target (the median for absolute), 0 for classes
    double rest                 # of deviances: what the mean lacks by rounding
    double per_unit             # of the distances r: 1, or 1 / mean for deviances
    double size                 # of a deviance's unit in the cost
    double lower, upper         # of its value, by monotone constraints
    double threshold
    double decrease             # of the cost, by its split
    int32_t feature             # -1 leaf
    int32_t left, right
    int32_t depth
    int32_t forced              # column whose levels are still being separated, -1: none
    int32_t missing_left
    int32_t stopped             # 1: step 1 holds, never split
    int32_t like                # of numbers: a row whose target is that of all rows, -1: they differ
    int32_t below, above        # rows of X on both sides of a threshold that is not read yet, else -1


cdef struct Split:              # the best one of a column
    double cost
    double threshold            # set here only if it is random
    Py_ssize_t at               # rows of the node's order below it
    int32_t feature             # -1: no split is allowed
    int32_t missing_left
    int32_t below, above        # the last of these rows and the next one (-1: not known yet)


cdef struct Binned:             # columns of numbers in bins; of the whole table
    const uint8_t* bins         # (d, n_rows), or NULL: not binned
    const int32_t* n_bins       # (d,)
    const double* low           # (d, 256) smallest and largest value of every bin
    const double* high


cdef struct Columns:
    const double* X             # cell (row, f) at row * row_step + f * column_step
    Py_ssize_t row_step, column_step
    Py_ssize_t n_rows
    int d
    const uint8_t* kinds        # (d,) 1: codes of levels
    const int32_t* n_levels     # (d,)
    int most_levels
    const uint8_t* repeated     # (d,) 1: some value occurs twice
    const uint8_t* missing      # (d,) 1: some value is missing
    const uint8_t* compared     # (d,) 1: the loops compare values, not only their order
    Binned binned               # with members


cdef struct Target:             # invariant: labels or values, by criterion
    int criterion
    int K                       # classes, 0: numbers
    int q                       # targets of a row, 1 for classes
    int size                    # sums per group of rows: K class weights, or q + 1 for numbers
    const int32_t* labels       # (n_rows,)
    const double* values        # (n_rows, q)
    const double* weights       # (n_rows,), or NULL: all 1
    const uint16_t* packed      # class + 4 * weight, for up to 4 classes and integers below 256
    const double* k_log_k       # NULL unless entropy of integer weights
    double* row_cost            # (n_rows,) about its node's mean, or means; for deviances, or NULL
    const int32_t* places       # (n_rows,) place of a row by target, for absolute errors
    int32_t* ranks              # (n_rows,) the same among the rows of its node


cdef struct RowOrder:           # see `_row_order`
    Py_ssize_t n                # rows of the tree
    Py_ssize_t stride           # length of a list: n, with members all rows
    int32_t* lists              # (d, stride) sorted rows
    int32_t* members            # (n,) rows of the nodes side by side, or NULL: lists are partitioned
    const int32_t* places       # (n_rows, d) where a value stands in the lists; with members
    const int32_t* common       # (d, 2) where the longest run of one value begins and ends in each
                                # list, or NULL; with places of a whole table
    bint shared                 # members without places or bins
    uint8_t* goes_left          # (n_rows,)


cdef struct Rules:              # when a node may be split, and how
    int max_depth, max_features
    Py_ssize_t min_rows         # of a child
    Py_ssize_t min_rows_split   # of a node that may be split
    double min_weight, min_weight_split, min_decrease
    double max_loss             # of a split, per weight of the node
    int level_rule              # 0: sets, all or ordered; 1: one level against the others; 2: apart
    bint drawn_splits           # one random split per column instead of the best one
    bint demanding              # children need more than one row or some weight
    const int8_t* signs         # (d,) of monotone constraints, or NULL


cdef struct Source:             # where the rows of a branch come from
    const Table* parent
    const int32_t* origin       # its rows in the parent; NULL: this is the whole table
    uint8_t* ready              # (d,) 1: the branch has its own copy of the column; NULL: of all


cdef struct Table:
    Columns columns
    Target y
    RowOrder rows
    Rules rules
    Source source
    const int32_t* stop         # another thread sets it to end the work
