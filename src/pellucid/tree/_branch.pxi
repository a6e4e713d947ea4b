# A branch's own copy of its rows: numbered 0, 1, ..., so that labels, weights and marks of a node
# stand close together and the loops find them in the cache. Values are copied only for columns where
# the loops compare them; a threshold reads the two it needs from the whole table.

cdef struct Branch:
    Table t                     # the copy; its pointers own their memory unless shared below
    int32_t* number             # (n_rows of the whole table,) shared by all branches: new numbers


cdef void free_branch(Branch* b) noexcept nogil:
    free(<void*> b.t.X)
    free(<void*> b.t.labels)
    free(<void*> b.t.target)
    free(<void*> b.t.weights)
    free(<void*> b.t.packed)
    free(b.t.lists)
    free(b.t.goes_left)
    free(<void*> b.t.origin)


cdef int new_branch(const Table* whole, const Record* node, int32_t* number,
                    Branch* b) noexcept nogil:
    """Copy the rows of a node; 0 if there is enough memory."""
    cdef Py_ssize_t m = node.end - node.start, size = sizeof(double)
    b.t = whole[0]
    b.number = number
    b.t.n_rows = b.t.n = m
    b.t.X = <double*> malloc(m * whole.d * size)
    b.t.labels = <int32_t*> malloc(m * sizeof(int32_t)) if whole.labels != NULL else NULL
    b.t.target = <double*> malloc(m * size) if whole.target != NULL else NULL
    b.t.weights = <double*> malloc(m * size) if whole.weights != NULL else NULL
    b.t.packed = <uint16_t*> malloc(m * sizeof(uint16_t)) if whole.packed != NULL else NULL
    b.t.lists = <int32_t*> malloc(m * whole.d * sizeof(int32_t))
    b.t.goes_left = <uint8_t*> malloc(m)
    b.t.origin = <int32_t*> malloc(m * sizeof(int32_t))
    if (b.t.X == NULL or b.t.lists == NULL or b.t.goes_left == NULL or b.t.origin == NULL
            or (whole.labels != NULL and b.t.labels == NULL)
            or (whole.target != NULL and b.t.target == NULL)
            or (whole.weights != NULL and b.t.weights == NULL)
            or (whole.packed != NULL and b.t.packed == NULL)):
        free_branch(b)
        return -1
    copy_rows(whole, node, b)
    return 0


cdef void copy_rows(const Table* whole, const Record* node, Branch* b) noexcept nogil:
    """Rows are numbered in the order of column 0."""
    cdef const int32_t* rows = whole.lists + node.start
    cdef int32_t* origin = <int32_t*> b.t.origin
    cdef Py_ssize_t m = node.end - node.start, i, f
    for i in range(m):
        b.number[rows[i]] = <int32_t> i
        origin[i] = rows[i]
        if whole.labels != NULL:
            (<int32_t*> b.t.labels)[i] = whole.labels[rows[i]]
        if whole.target != NULL:
            (<double*> b.t.target)[i] = whole.target[rows[i]]
        if whole.weights != NULL:
            (<double*> b.t.weights)[i] = whole.weights[rows[i]]
        if whole.packed != NULL:
            (<uint16_t*> b.t.packed)[i] = whole.packed[rows[i]]
    for f in range(whole.d):
        rows = whole.lists + f * whole.n + node.start
        for i in range(m):
            b.t.lists[f * m + i] = b.number[rows[i]]
        if whole.compared[f]:
            for i in range(m):
                (<double*> b.t.X)[f * m + i] = whole.X[f * whole.n_rows + origin[i]]
