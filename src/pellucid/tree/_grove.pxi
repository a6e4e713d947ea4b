# Many small trees on bags of one table: drawn, grown and gathered without Python in between.

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
    """How often each row is drawn, with replacement; the key says it all."""
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


cdef void take_bag(const Table* whole, const double* w, int32_t[::1] rows, uint16_t[::1] packed,
                   Table* t) noexcept nogil:
    """The table of the rows that have weight: integers. `rows`: room for its members."""
    cdef Py_ssize_t n = whole.n_rows, i, m = 0
    cdef double most = 0.0
    t[0] = whole[0]
    t.weights = w
    for i in range(n):
        if w[i] > 0.0:
            rows[m] = <int32_t> i
            m += 1
            most = w[i] if w[i] > most else most
    t.members, t.n = &rows[0], m
    if 0 < whole.K <= 4 and most < 256.0:
        for i in range(n):
            packed[i] = <uint16_t> whole.labels[i] + 4 * <uint16_t> w[i]
        t.packed = &packed[0]


cdef int grow_bags_into(Workspace work, const double[:, ::1] bags, const uint64_t[::1] keys,
                        Draft draft, int32_t[::1] roots, int32_t[::1] rows, uint16_t[::1] packed,
                        Scratch* s) noexcept nogil:
    """Trees one after the other; -1 without memory, 1 if stopped."""
    cdef Table t
    cdef Py_ssize_t k
    cdef int status = 0
    for k in range(keys.shape[0]):
        take_bag(&work.t, &bags[k, 0], rows, packed, &t)
        roots[k] = <int32_t> draft.n_nodes
        if add_root(&t, draft, keys[k], s) != 0:
            return -1
        if not draft.nodes[roots[k]].stopped:
            status = grow_below(&t, draft, roots[k], &work.number[0], s)
        if status != 0:
            return status
    return 0


def grow_bags(Workspace work, const double[:, ::1] bags, const uint64_t[::1] keys,
              const int32_t[::1] n_levels, bint bounded):
    """A `Gathered` with the tree of every bag (rows of integer weights), whole in one thread."""
    cdef Py_ssize_t n = work.t.n_rows, k
    cdef Memory memory = work.memory(n)
    cdef Draft draft = memory.emptied(max(work.t.K, work.t.q))
    cdef int32_t[::1] roots = np.empty(len(keys), np.int32)
    cdef int32_t[::1] rows = np.empty(n, np.int32)
    cdef uint16_t[::1] packed = np.empty(n, np.uint16)
    cdef int32_t[:, ::1] waiting
    cdef Gathered out
    cdef Part part
    cdef Scratch* s = &memory.s
    cdef int status
    with nogil:
        status = grow_bags_into(work, bags, keys, draft, roots, rows, packed, s)
    if status < 0:
        raise MemoryError
    if status > 0:
        return None
    out = Gathered(draft.n_nodes, draft.size, draft.n_words, bounded, len(keys))
    waiting = np.empty((draft.n_nodes + 2, 3), np.int32)
    part.nodes, part.counts, part.words = draft.nodes, draft.counts, draft.words
    with nogil:
        for k in range(keys.shape[0]):
            gather_tree(&part, draft.size, NULL, n_levels, roots[k], k, waiting, out)
    work.done(memory)
    return out
