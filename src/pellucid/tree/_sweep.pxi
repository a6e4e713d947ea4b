# The best threshold of a column: its sweeps with the missing rows on either side.

cdef void sweep(const Table* t, const Record* node, const double* counts, Sweep* s,
                Py_ssize_t first, Py_ssize_t last, bint missing_left, Ranked* a) noexcept nogil:
    """One sweep over the present rows, with the missing ones on the given side."""
    s.first, s.last = first, last
    if t.criterion == ABSOLUTE:
        sweep_absolute(t, node, s.column, s, missing_left, a)
        return
    memset(s.sums, 0, t.size * sizeof(double))
    s.weights[0] = 0.0
    if missing_left:
        s.weights[0] = weigh_rows(t, node, counts, s.rows, s.present, node.end - node.start,
                                  s.sums)
    sweep_blocks(t, node, counts, s)


cdef void split_number(const Table* t, const Record* node, const double* counts, int f,
                       const int32_t* rows, Sweep* memory, double known, Ranked* a,
                       Split* out) noexcept nogil:
    """Best threshold of column f: missing rows right first, then left; lowest threshold on ties.

    1. Leave out the missing rows, which stand last. 2. Sweep with them on the right; the division
    present | missing is the last candidate. 3. Sweep with them on the left.
    """
    cdef const double* x = t.X + f * t.column_step
    cdef Py_ssize_t m = node.end - node.start, q = m, step = t.row_step
    cdef double tie
    cdef Sweep s, mirrored
    while q > 0 and t.missing[f] and isnan(x[rows[q - 1] * step]):
        q -= 1
    out.cost, out.feature, out.missing_left = INFINITY, -1, 0
    if q == 0 or (q == m and t.repeated[f] and x[rows[0] * step] == x[rows[q - 1] * step]):
        return
    s = memory[0]
    s.rows, s.x, s.present, s.known = rows, (x if t.repeated[f] else NULL), q, known
    s.step, s.column = step, f
    if t.criterion == ABSOLUTE:
        fill_ranked(t, node, rows, a)
    sweep(t, node, counts, &s, t.min_rows, min(m - t.min_rows, q - 1 if q == m else q), False, a)
    if q < m and x[rows[0] * step] != x[rows[q - 1] * step]:
        mirrored = s
        sweep(t, node, counts, &mirrored, t.min_rows - (m - q), min(q - t.min_rows, q - 1), True, a)
        tie = TIE * node.cost
        if mirrored.at > 0 and (mirrored.lowest + tie < s.lowest or
                                (mirrored.lowest <= s.lowest + tie and mirrored.at < s.at)):
            s = mirrored
            out.missing_left = 1
    if s.at > 0:
        out.feature, out.cost, out.at = f, s.cost, s.at
        out.below, out.above = rows[s.at - 1], rows[s.at]
