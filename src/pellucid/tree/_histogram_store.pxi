"""`Growth`: finished trees, their leaves' values, and what remains of them."""


cdef class Store(Search):
    """The trees of one round after the other; all of them are read at the end."""

    # The finished trees -------------------------------------------------------------------------

    cdef void prune(self, Draft* t) noexcept nogil:
        """Cost-complexity pruning: a branch stays if its gains are above the price of its leaves."""
        cdef int32_t i
        cdef Node* node
        for i in range(t.m - 1, -1, -1):                # children stand after their parents
            node = t.nodes + i
            node.value = 0.0
            if node.divided == 2:
                node.value = (node.split.gain - self.price + t.nodes[node.left].value
                              + t.nodes[node.right].value)
                if node.value <= 0:
                    node.divided, node.value = 1, 0.0
        t.n_leaves = 1
        for i in range(t.m):
            node = t.nodes + i
            if i > 0 and t.nodes[node.parent].divided != 2:
                node.divided = min(node.divided, 1)
            t.n_leaves += node.divided == 2

    cdef int list_leaves(self, Draft* t) noexcept nogil:
        cdef int32_t i
        if t.n_leaves > t.room_leaves:
            t.room_leaves = 2 * t.n_leaves
            if make_room(<void**> &t.leaves, t.room_leaves * sizeof(int32_t)) < 0:
                return -1
        t.n_listed = 0
        for i in range(t.m):
            if self.is_leaf(t, i):
                t.leaves[t.n_listed] = i
                t.n_listed += 1
        return 0

    cdef bint is_leaf(self, Draft* t, int32_t i) noexcept nogil:
        """Divided in vain counts as a leaf; below such a node there is nothing."""
        return t.nodes[i].divided != 2 and (i == 0 or t.nodes[t.nodes[i].parent].divided == 2)

    cdef void undo(self, Draft* t, int32_t number) noexcept nogil:
        """Rows of a node that was divided in vain in ascending order again, as those of its children
        are: sums are then the same whether it was divided, which depends on idle threads, or not."""
        cdef Node* node = t.nodes + number
        cdef int32_t* rows = t.rows
        cdef int32_t* scratch = scratch_of(t, node)
        cdef int64_t a = node.start, b, at = 0
        if node.left < 0:
            return
        self.undo(t, node.left)
        self.undo(t, node.right)
        b = t.nodes[node.right].start
        while a < t.nodes[node.left].end or b < node.end:
            if b == node.end or (a < t.nodes[node.left].end and rows[a] < rows[b]):
                scratch[at] = rows[a]
                a += 1
            else:
                scratch[at] = rows[b]
                b += 1
            at += 1
        memcpy(rows + node.start, scratch, (node.end - node.start) * sizeof(int32_t))

    cdef void leave(self, Draft* t, int32_t number) noexcept nogil:
        """Value of a leaf from exact sums; with `update` its rows' predictions too."""
        cdef Node* node = t.nodes + number
        cdef const int32_t* rows = t.rows + node.start
        cdef Slope total
        cdef int64_t i
        cdef double value = 0.0
        self.undo(t, number)
        total = sum_of(t.slopes, rows, node.end - node.start)
        node.h = total.h
        if total.h + self.p.l2 > 0:
            value = min(max(-total.g / (total.h + self.p.l2), node.lower), node.upper)
        node.value = self.rate * value
        if self.p.steep * value > 0:    # the loss of a leaf is lowest at log(1 + v), never beyond it
            node.value = self.p.steep * min(self.rate * fabs(value), log1p(fabs(value)))
        if self.update:
            for i in range(node.end - node.start):
                self.raw[t.number, rows[i]] += node.value

    def leaf_rows(self):
        """(tree, rows) of every leaf, for losses that find the best value themselves; they have one
        tree a round, so that it is still at its desk."""
        cdef int i, k
        cdef Draft* t
        cdef Node* node
        assert self.n_drafts == self.n_desks
        parts = []
        for k in range(self.n_drafts):
            t = self.drafts + k
            for i in range(t.n_listed):
                node = t.nodes + t.leaves[i]
                parts.append((k, np.asarray(
                    <int32_t[:node.end - node.start]> (t.rows + node.start)).copy()))
        return parts

    def set_values(self, const double[::1] values, bint update):
        """Other values for the leaves, in the order of `leaf_rows`; as in `leave`."""
        cdef int i, k, following = 0
        cdef int64_t j
        cdef Draft* t
        cdef Node* node
        for k in range(self.n_drafts):
            t = self.drafts + k
            for i in range(t.n_listed):
                node = t.nodes + t.leaves[i]
                node.value = self.rate * values[following]
                following += 1
                for j in range(node.start, node.end if update else node.start):
                    self.raw[k, t.rows[j]] += node.value

    def expect(self, Py_ssize_t nodes):
        """Room for so many nodes of all rounds. Memory that no node has written to is none yet; moving
        the fields as they grow would take it twice."""
        self.fields = {name: np.empty(nodes, dtype=kind) for name, kind in FIELDS.items()}

    def store(self):
        """The trees of this round, in preorder, and their fields behind those of the rounds before."""
        cdef int k
        cdef int64_t leaves
        self.first_grown += self.n_grown
        self.n_grown = 0
        for k in range(self.n_drafts):
            leaves = self.drafts[k].n_leaves
            if self.n_grown + 2 * leaves > self.room_grown:
                self.room_grown = 2 * (self.n_grown + 2 * leaves)
                self.grown = <Grown*> grown_to(self.grown, self.room_grown * sizeof(Grown))
            if self.n_sets + leaves > self.room_sets:
                self.room_sets = 2 * (self.n_sets + leaves)
                self.sets = <uint64_t*> grown_to(self.sets, 4 * self.room_sets * sizeof(uint64_t))
            self.starts.append(self.first_grown + self.n_grown)
            self.store_tree(self.drafts + k)
        self.keep_fields()

    cdef int keep_fields(self) except -1:
        """Arrays of their own hold the fields from the first: at the end no other copy is made."""
        cdef int64_t last = self.first_grown + self.n_grown
        nodes = np.asarray(<char[:self.n_grown * sizeof(Grown)]> <char*> self.grown).view(GROWN)
        for name, kept in self.fields.items():
            if last > len(kept):
                kept.resize(last + last // 8 + 64, refcheck=False)
            kept[self.first_grown:last] = nodes[name]
        return 0

    cdef int store_tree(self, Draft* t) except -1:
        """Inner values are means of the leaves below, by samples."""
        cdef int32_t* stack = <int32_t*> grown_to(NULL, 2 * (t.m + 1) * sizeof(int32_t))
        cdef int32_t node, above
        cdef int64_t first = self.n_grown, i
        cdef int depth = 1
        cdef Grown* g
        stack[0], stack[1] = 0, -1
        while depth > 0:
            depth -= 1
            node, above = stack[2 * depth], stack[2 * depth + 1]
            i = self.n_grown - first
            if above >= 0:
                self.grown[first + above].right = <int32_t> i
            self.describe(t, node, self.grown + first + i)
            self.n_grown += 1
            if t.nodes[node].divided == 2:
                self.grown[first + i].left = <int32_t> i + 1
                stack[2 * depth], stack[2 * depth + 1] = t.nodes[node].right, <int32_t> i
                stack[2 * depth + 2], stack[2 * depth + 3] = t.nodes[node].left, -1
                depth += 2
        free(stack)
        for i in range(self.n_grown - first - 1, -1, -1):
            g = self.grown + first + i
            if g.feature >= 0:
                g.h = (g + 1).h + self.grown[first + g.right].h
                g.value = (g + 1).value + ((self.grown[first + g.right].value - (g + 1).value)
                                           * (self.grown[first + g.right].c / g.c))
        return 0

    cdef void describe(self, Draft* t, int32_t number, Grown* g) noexcept nogil:
        cdef Node* node = t.nodes + number
        cdef Split* s = &node.split
        g.value, g.c, g.h, g.gain = node.value, node.c, node.h, 0.0
        g.feature, g.bin, g.left, g.right, g.missing_left, g.set_at = -1, 0, -1, -1, 0, -1
        if node.divided != 2:
            return
        g.feature, g.bin, g.missing_left, g.gain = s.feature, s.bin, s.missing_left, s.gain
        if s.is_set:
            g.set_at = <int32_t> self.n_sets
            memcpy(self.sets + 4 * self.n_sets, s.bins, sizeof(s.bins))
            self.n_sets += 1

    def send(self, const uint32_t[:, ::1] words, int k, double[::1] raw, Py_ssize_t first,
             Py_ssize_t last):
        """raw += the value of tree k of the last round, for rows [first, last) of binned columns."""
        cdef int64_t start = self.starts[len(self.starts) - self.n_drafts + k]
        cdef const Grown* tree = self.grown + (start - self.first_grown)
        cdef const Grown* g
        cdef Py_ssize_t i
        cdef int b
        cdef bint left
        with nogil:
            for i in range(first, last):
                g = tree
                while g.feature >= 0:
                    b = words[g.feature // WIDTH, i] >> 8 * (g.feature % WIDTH) & 255
                    if b >= self.n_bins[g.feature]:
                        left = g.missing_left
                    elif g.set_at >= 0:
                        left = self.sets[4 * g.set_at + (b >> 6)] >> (b & 63) & 1
                    else:
                        left = b <= g.bin
                    g = tree + (g.left if left else g.right)
                raw[i] += g.value

    def export(self):
        """(fields of the nodes by name, sets of bins (m, 4), first node of each tree); ends the
        growth."""
        cdef int64_t n = self.first_grown + self.n_grown
        sets = np.empty((self.n_sets, 4), dtype=np.uint64)
        cdef uint64_t[:, ::1] words = sets
        for kept in self.fields.values():
            kept.resize(n, refcheck=False)
        if self.n_sets:
            memcpy(&words[0, 0], self.sets, 4 * self.n_sets * sizeof(uint64_t))
        free(self.grown)
        free(self.sets)
        self.grown, self.sets = NULL, NULL
        return self.fields, sets, np.array([*self.starts, n], dtype=np.int64)
