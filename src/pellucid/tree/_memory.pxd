"""Memory of the loops. Large blocks come straight from the system and go back to it: the heap of a
thread would keep them, and the peak of a fit would be the sum of all its stages.
"""

cdef extern from *:
    """
    #include <stdlib.h>
    #include <string.h>
    /* Under AddressSanitizer all memory comes from malloc, which surrounds it with red zones. */
    #if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
    #define MAPS_MEMORY
    #include <sys/mman.h>
    #define MAPPED_SIZE ((size_t) 1 << 18)
    #endif
    #define HEADER_SIZE 64          /* holds the size of a block; keeps the alignment of the rest */

    static inline void* allocate(size_t size) {
        size_t whole = size + HEADER_SIZE;
        char* start;
    #ifdef MAPS_MEMORY
        if (whole >= MAPPED_SIZE) {
            start = (char*) mmap(NULL, whole, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (start == (char*) MAP_FAILED) return NULL;
            *(size_t*) start = whole;
            return start + HEADER_SIZE;
        }
    #endif
        start = (char*) malloc(whole);
        if (start == NULL) return NULL;
        *(size_t*) start = whole;
        return start + HEADER_SIZE;
    }

    static inline void release(void* block) {
        char* start;
        if (block == NULL) return;
        start = (char*) block - HEADER_SIZE;
    #ifdef MAPS_MEMORY
        if (*(size_t*) start >= MAPPED_SIZE) {
            munmap(start, *(size_t*) start);
            return;
        }
    #endif
        free(start);
    }

    static inline int reallocate(void** block, size_t used, size_t size) {
        void* larger;
    #ifdef MAPS_MEMORY
        if (*block != NULL && size >= MAPPED_SIZE) {
            char* start = (char*) *block - HEADER_SIZE;
            if (*(size_t*) start >= MAPPED_SIZE) {
                start = (char*) mremap(start, *(size_t*) start, size + HEADER_SIZE, MREMAP_MAYMOVE);
                if (start == (char*) MAP_FAILED) return -1;
                *(size_t*) start = size + HEADER_SIZE;
                *block = start + HEADER_SIZE;
                return 0;
            }
        }
    #endif
        larger = allocate(size);
        if (larger == NULL) return -1;
        if (used) memcpy(larger, *block, used);
        release(*block);
        *block = larger;
        return 0;
    }
    """
    void* allocate(size_t size) nogil           # NULL without memory
    void release(void* block) nogil             # NULL is fine
    int reallocate(void** block, size_t used, size_t size) nogil    # 0, or -1 without memory
