"""Growing the trees of gradient boosting on binned columns, one tree per class at a time."""

from libc.stdint cimport int32_t, uint64_t

from pellucid.tree._histogram_records cimport Cell, Gradient, GrowingTree, Setup
from pellucid.tree._histogram_store cimport GrownTrees


cdef class Growth:
    cdef Setup s
    cdef list kept                             # the arrays behind the pointers
    cdef const int32_t[::1] n_bins
    # Tree k grows in workspace k % n_workspaces, after tree k - n_workspaces: memory is for as many
    # trees as there are threads, however many classes.
    cdef GrowingTree* trees
    cdef int n_trees, n_workspaces
    cdef int n_slots                           # of a workspace
    cdef int failed                            # no memory
    cdef const int32_t[::1] round_rows         # None: all
    cdef const double[:, :, ::1] gradients
    cdef const double[::1] weights             # None: splits are scored by curvatures
    cdef double[:, ::1] raw
    cdef GrownTrees grown

    cdef int set_columns(self, config) except -1
    cdef int set_limits(self, limits, bint bounded) except -1
    cdef int allocate_trees(self) except -1
    cdef void* array(self, size_t size) except NULL
    cdef int plant(self, GrowingTree* t, const Gradient* gradients, uint64_t key) noexcept nogil
    cdef void start_tree(self, GrowingTree* t) noexcept nogil
    cdef void work_on(self, int who, Cell* spare) noexcept nogil
    cdef void run(self, GrowingTree* t, long i, Cell* spare) noexcept nogil
    cdef void go_on(self, GrowingTree* t) noexcept nogil
