# Memory that will be asked for soon, in an order that the machine cannot foresee.

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define fetch_soon(place) __builtin_prefetch(place)
    #else
    #define fetch_soon(place) ((void) (place))
    #endif
    """
    void fetch_soon(const void* place) nogil
