"""Large NumPy arrays in unlinked scratch files: see scratch.h."""

from cpython.pycapsule cimport PyCapsule_New
from libc.string cimport memset, strncpy


cdef extern from "scratch.h" nogil:
    char scratch_folder[4096]
    size_t scratch_limit, scratch_threshold, scratch_smallest, scratch_budget, scratch_in_use
    size_t scratch_most, scratch_peak, scratch_visited
    int scratch_error
    void *scratch_malloc(void *, size_t)
    void *scratch_calloc(void *, size_t, size_t)
    void *scratch_realloc(void *, void *, size_t)
    void scratch_free(void *, void *, size_t)
    void scratch_copy(char *, const char *, size_t)
    void scratch_release()
    size_t scratch_resident()
    void scratch_relieve()
    void scratch_begin()
    void scratch_end()
    void scratch_lock()
    void scratch_unlock()
    void scratch_in_child()


cdef extern from "pthread.h" nogil:
    int pthread_atfork(void (*)(), void (*)(), void (*)())


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


pthread_atfork(scratch_lock, scratch_unlock, scratch_in_child)


def begin(bytes folder, size_t limit, size_t threshold, size_t budget):
    """A ceiling begins: where files go, the resident bytes above which their chunks are released, from
    how many bytes an array is large, and how many bytes of large arrays stay in memory."""
    global scratch_limit, scratch_threshold, scratch_smallest, scratch_budget, scratch_most
    global scratch_peak, scratch_visited
    if len(folder) >= 4096:
        raise ValueError("the path of the scratch folder is too long")
    strncpy(scratch_folder, folder, 4095)
    scratch_limit, scratch_threshold, scratch_budget = limit, threshold, budget
    scratch_smallest = min(scratch_smallest, threshold)
    scratch_most = scratch_in_use
    scratch_peak = scratch_visited = 0
    scratch_begin()


def end():
    """The ceiling ends; arrays that are still in use stay in their files."""
    scratch_end()


def copy(char[::1] to, const char[::1] data):
    """to[:] = data, faster if one of them is in scratch."""
    if to.shape[0] != data.shape[0]:
        raise ValueError("both sides must have the same number of bytes")
    if to.shape[0]:
        with nogil:
            scratch_copy(&to[0], &data[0], to.shape[0])


def state():
    """Bytes in scratch now and at most since `begin`; the last error of the system, then forgotten; the
    largest resident size that was seen, and the bytes that came from scratch, since `begin`."""
    global scratch_error
    cdef int failed = scratch_error
    scratch_error = 0
    return scratch_in_use, scratch_most, failed, scratch_peak, scratch_visited


def resident():
    """Bytes of this process in memory; 0 where the system does not say."""
    return scratch_resident()


def release():
    """Drop the pages of all scratch arrays from memory, and free memory; contents stay."""
    with nogil:
        scratch_release()


def relieve():
    """After a block of rows: go below the limit again, if other memory than scratch arrays has grown."""
    with nogil:
        scratch_relieve()
