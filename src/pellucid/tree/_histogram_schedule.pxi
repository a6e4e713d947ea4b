"""`Growth`: a round of trees, whose tasks any number of threads take as they come.

A tree goes through its stages by itself: all tasks of a stage may run at once, and whoever finishes
the last one opens the next stage. Nothing waits for the other trees. `to_take` counts down by
compare-and-swap, so a task is taken once; `under_way` says when a stage is over.
"""

cdef extern from *:
    """
    #include <sched.h>
    static inline long take_task(long* to_take) {
        long v = __atomic_load_n(to_take, __ATOMIC_RELAXED);
        while (v > 0)
            if (__atomic_compare_exchange_n(to_take, &v, v - 1, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                return v - 1;
        return -1;
    }
    static inline int is_last(long* under_way) {
        return __atomic_sub_fetch(under_way, 1, __ATOMIC_ACQ_REL) == 0;
    }
    static inline void publish(long* place, long value) {
        __atomic_store_n(place, value, __ATOMIC_RELEASE);
    }
    static inline int seen(const int* place) { return __atomic_load_n(place, __ATOMIC_ACQUIRE); }
    static inline void mark(int* place, int value) {
        __atomic_store_n(place, value, __ATOMIC_RELEASE);
    }
    static inline void count_idle(long* idle, long by) {
        __atomic_add_fetch(idle, by, __ATOMIC_RELAXED);
    }
    static inline void give_way(void) { sched_yield(); }
    """
    long take_task(long* to_take) nogil
    bint is_last(long* under_way) nogil
    void publish(long* place, long value) nogil
    int seen(const int* place) nogil
    void mark(int* place, int value) nogil
    void count_idle(long* idle, long by) nogil
    void give_way() nogil


cdef enum:
    DIVIDE = 0
    SEARCH = 1
    LEAVE = 2
    FINISHED = 3
    WAITING = 4                 # for a desk


cdef void open_tasks(Draft* t, long n) noexcept nogil:
    t.under_way = n
    publish(&t.to_take, n)


cdef class Growth(Store):
    """Grows rounds of trees: `begin`, `work` in any number of threads, `store`."""

    def work(self, int who):
        """Take tasks until every tree of the round is finished; threads start at different trees."""
        cdef Cell* spare = <Cell*> malloc(2 * WIDTH * 256 * sizeof(Cell))
        if spare == NULL:
            mark(&self.failed, 1)
        else:
            with nogil:
                self.work_on(who, spare)
            free(spare)
        if self.failed:
            raise MemoryError

    cdef void work_on(self, int who, Cell* spare) noexcept nogil:
        cdef int k, finished
        cdef long i
        cdef bint idle = False
        cdef Draft* t
        while self.stop[0] == 0 and not seen(&self.failed):
            finished, i = 0, -1
            for k in range(self.n_drafts):
                t = self.drafts + (who + k) % self.n_drafts
                if seen(&t.stage) == FINISHED:
                    finished += 1
                    continue
                i = take_task(&t.to_take)
                if i >= 0:
                    break
            if finished == self.n_drafts:
                break
            if idle != (i < 0):
                idle = i < 0
                count_idle(&self.idle, 1 if idle else -1)
            if i < 0:
                give_way()
                continue
            self.run(t, i, spare)
            if is_last(&t.under_way):
                self.go_on(t)

    cdef void run(self, Draft* t, long i, Cell* spare) noexcept nogil:
        if t.stage == DIVIDE:
            self.divide(t, i)
        elif t.stage == SEARCH:
            self.search(t, i, spare)
        else:
            self.leave(t, t.leaves[i])

    cdef void go_on(self, Draft* t) noexcept nogil:
        """A stage is over: open the next one that has tasks."""
        cdef int status = 0
        if t.stage == LEAVE:
            mark(&t.stage, FINISHED)
            if t.number + self.n_desks < self.n_drafts:
                self.sit_down(t + self.n_desks)
            return
        if t.stage == DIVIDE:
            status = self.assign(t)
            if status == 0 and t.n_pairs > 0:
                mark(&t.stage, SEARCH)
                open_tasks(t, t.n_pairs * self.n_blocks)
                return
        else:
            self.settle(t)
        if status == 0:
            status = self.plan(t)
        if status == 0 and t.done:
            if self.price > 0:
                self.prune(t)
            status = self.list_leaves(t)
        if status < 0:
            mark(&self.failed, 1)
        elif t.done:
            mark(&t.stage, LEAVE)
            open_tasks(t, t.n_listed)
        else:
            mark(&t.stage, DIVIDE)
            open_tasks(t, t.n_jobs)
