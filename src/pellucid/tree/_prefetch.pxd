"""Hints about memory that will be read soon, in an order that the machine cannot foresee."""

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define prefetch(place) __builtin_prefetch(place)
    #else
    #define prefetch(place) ((void) (place))
    #endif
    """
    void prefetch(const void* place) nogil
