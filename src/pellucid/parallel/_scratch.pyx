"""Large NumPy arrays in unlinked scratch files: see scratch.h."""

from cpython.pycapsule cimport PyCapsule_New
from libc.string cimport memset, strncpy


cdef extern from "scratch.h" nogil:
    char scratch_folder[4096]
    size_t scratch_limit, scratch_threshold, scratch_smallest, scratch_budget, scratch_in_use
    size_t scratch_most
    int scratch_error
    void *scratch_malloc(void *, size_t)
    void *scratch_calloc(void *, size_t, size_t)
    void *scratch_realloc(void *, void *, size_t)
    void scratch_free(void *, void *, size_t)
    void scratch_write(char *, const char *, size_t)
    void scratch_drop(size_t)
    void scratch_trim()
    size_t scratch_resident()
    void scratch_relieve(int)
    size_t scratch_watch(volatile int *)


cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyDataMemAllocator:
        void *ctx
        void *(*malloc)(void *, size_t)
        void *(*calloc)(void *, size_t, size_t)
        void *(*realloc)(void *, void *, size_t)
        void (*free)(void *, void *, size_t)
    ctypedef struct PyDataMem_Handler:
        char name[127]
        unsigned char version
        PyDataMemAllocator allocator
    object PyDataMem_SetHandler(object)
    int _import_array() except -1


_import_array()
cdef PyDataMem_Handler handler
memset(&handler, 0, sizeof(handler))
strncpy(handler.name, b"pellucid_scratch", 126)
handler.version = 1
handler.allocator.malloc = scratch_malloc
handler.allocator.calloc = scratch_calloc
handler.allocator.realloc = scratch_realloc
handler.allocator.free = scratch_free
capsule = PyCapsule_New(&handler, b"mem_handler", NULL)


def set_handler(wanted):
    """Let NumPy allocate with this handler in the current context; the one before is returned."""
    return PyDataMem_SetHandler(wanted)


def configure(bytes folder, size_t limit, size_t threshold, size_t budget):
    """Where files go, the resident bytes above which their pages are dropped, from how many bytes an
    array is large, and how many bytes of large arrays stay in memory."""
    global scratch_limit, scratch_threshold, scratch_smallest, scratch_budget, scratch_most
    if len(folder) >= 4096:
        raise ValueError("the path of the scratch folder is too long")
    strncpy(scratch_folder, folder, 4095)
    scratch_limit, scratch_threshold, scratch_budget = limit, threshold, budget
    scratch_smallest = min(scratch_smallest, threshold)
    scratch_most = scratch_in_use


def write(char[::1] to, const char[::1] data):
    """to[:] = data, faster for arrays in scratch."""
    if to.shape[0] != data.shape[0]:
        raise ValueError("both sides must have the same number of bytes")
    if to.shape[0]:
        with nogil:
            scratch_write(&to[0], &data[0], to.shape[0])


def state():
    """Bytes in scratch now and at most since `configure`; the last error of the system, then forgotten."""
    global scratch_error
    cdef int failed = scratch_error
    scratch_error = 0
    return scratch_in_use, scratch_most, failed


def resident():
    """Bytes of this process in memory; 0 where the system does not say."""
    return scratch_resident()


def release():
    """Drop the pages of all scratch arrays from memory, and free memory; contents stay."""
    with nogil:
        scratch_drop(0)
        scratch_trim()


def relieve(bint now=False):
    """Release pages if more than the limit is resident; looks after some blocks of rows, or `now`."""
    with nogil:
        scratch_relieve(now)


def watch(int[::1] stop):
    """Release pages whenever more than the limit is resident, until `stop` is set: the peak."""
    cdef size_t peak
    cdef volatile int *flag = <volatile int *>&stop[0]
    with nogil:
        peak = scratch_watch(flag)
    return peak
