# Scratch memory of the loops. Large pieces come straight from the system and go back to it: a
# thread's heap would keep them, and the peak of a fit would be the sum of all its stages.

cdef extern from *:
    """
    #include <stdlib.h>
    #include <string.h>
    #ifdef __linux__
    #include <sys/mman.h>
    #define ROOM_MAPPED ((size_t) 1 << 18)
    #endif
    #define ROOM_HEAD 64            /* keeps the alignment of what follows */

    static void* take_room(size_t size) {
        size_t whole = size + ROOM_HEAD;
        char* at;
    #ifdef __linux__
        if (whole >= ROOM_MAPPED) {
            at = (char*) mmap(NULL, whole, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (at == (char*) MAP_FAILED) return NULL;
            *(size_t*) at = whole;
            return at + ROOM_HEAD;
        }
    #endif
        at = (char*) malloc(whole);
        if (at == NULL) return NULL;
        *(size_t*) at = whole;
        return at + ROOM_HEAD;
    }

    static void give_room(void* room) {
        char* at = (char*) room - ROOM_HEAD;
        if (room == NULL) return;
    #ifdef __linux__
        if (*(size_t*) at >= ROOM_MAPPED) {
            munmap(at, *(size_t*) at);
            return;
        }
    #endif
        free(at);
    }

    static int more_room(void** room, size_t used, size_t size) {
        void* larger;
    #ifdef __linux__
        char* at = (char*) *room - ROOM_HEAD;
        if (*room != NULL && *(size_t*) at >= ROOM_MAPPED && size >= ROOM_MAPPED) {
            at = (char*) mremap(at, *(size_t*) at, size + ROOM_HEAD, MREMAP_MAYMOVE);
            if (at == (char*) MAP_FAILED) return -1;
            *(size_t*) at = size + ROOM_HEAD;
            *room = at + ROOM_HEAD;
            return 0;
        }
    #endif
        larger = take_room(size);
        if (larger == NULL) return -1;
        if (used) memcpy(larger, *room, used);
        give_room(*room);
        *room = larger;
        return 0;
    }
    """
    void* take_room(size_t size) nogil
    void give_room(void* room) nogil
    int more_room(void** room, size_t used, size_t size) nogil
