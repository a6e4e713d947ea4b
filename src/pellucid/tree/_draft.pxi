# Nodes under construction, in memory that grows without Python.

cdef class Draft:
    """Nodes under construction: records, class weights (or means), words of level sets."""

    cdef Record* nodes
    cdef double* counts
    cdef uint32_t* words
    cdef Py_ssize_t n_nodes, room, n_words, word_room
    cdef int size

    def __cinit__(self, int size):
        self.size = size

    def __dealloc__(self):
        free(self.nodes)
        free(self.counts)
        free(self.words)

    cdef int reserve(self, Py_ssize_t nodes, Py_ssize_t words) noexcept nogil:
        """Room for that many more; 0 if there is enough memory."""
        cdef Py_ssize_t room
        cdef void* moved
        if self.n_nodes + nodes > self.room:
            room = 2 * (self.n_nodes + nodes) + 6
            moved = realloc(self.nodes, room * sizeof(Record))
            if moved == NULL:
                return -1
            self.nodes = <Record*> moved
            moved = realloc(self.counts, room * self.size * sizeof(double))
            if moved == NULL:
                return -1
            self.counts = <double*> moved
            self.room = room
        if self.n_words + words > self.word_room:
            room = 2 * (self.n_words + words)
            moved = realloc(self.words, room * sizeof(uint32_t))
            if moved == NULL:
                return -1
            self.words = <uint32_t*> moved
            self.word_room = room
        return 0

    def __len__(self):
        return self.n_nodes

    def segment(self, Py_ssize_t i):
        """(start, end, stopped, decrease, left, right) of node i."""
        cdef Record* node = self.nodes + i
        return node.start, node.end, bool(node.stopped), node.decrease, node.left, node.right

    def close(self, Py_ssize_t i):
        """Node i stays a leaf although a division was found."""
        self.nodes[i].feature = -1
        self.nodes[i].threshold = self.nodes[i].decrease = 0.0
        self.nodes[i].missing_left = 0

    def export(self, dtype):
        """Copies: records, (nodes, size) class weights or means, words."""
        cdef Py_ssize_t n = self.n_nodes
        records = np.empty(n, dtype)
        if records.itemsize != sizeof(Record):
            raise TypeError("the record layout differs from the compiled one")
        counts = np.empty((n, self.size))
        words = np.empty(self.n_words, np.uint32)
        cdef uint8_t[::1] raw = records.view(np.uint8)
        cdef double[:, ::1] c = counts
        cdef uint32_t[::1] w = words
        if n:
            memcpy(&raw[0], self.nodes, n * sizeof(Record))
            memcpy(&c[0, 0], self.counts, n * self.size * sizeof(double))
        if self.n_words:
            memcpy(&w[0], self.words, self.n_words * sizeof(uint32_t))
        return records, counts, words
