"""The inner loops of `lanes.h`, in the build that the processor can run: one choice for all modules."""

cdef extern from *:
    """
    /* Prefetch a row. */
    static inline void fetch(const double *x, Py_ssize_t d)
    {
        for (Py_ssize_t f = 0; f < d; f += 8) __builtin_prefetch(x + f);
        __builtin_prefetch(x + d - 1);
    }
    #define ULP 2.220446049250313e-16
    """
    ctypedef const double *row_t "const double *"
    void fetch(const double *x, Py_ssize_t d) noexcept nogil
    const double ULP

ctypedef void (*nearest_t)(
    row_t *row, const double *panels, Py_ssize_t n_panels, Py_ssize_t d, double *best,
    double *second, int *label,
) noexcept nogil
ctypedef void (*products_t)(
    row_t *row, const double *panels, const double *constants, Py_ssize_t n_panels, Py_ssize_t d,
    const double *origin, double *best, double *second, int *label, double *length,
) noexcept nogil
ctypedef void (*panel_t)(row_t *row, const double *panels, Py_ssize_t d, double *out) noexcept nogil
ctypedef void (*across_t)(const double *x, row_t *panel, Py_ssize_t d, double *out) noexcept nogil
ctypedef void (*own_t)(row_t *row, row_t *centre, Py_ssize_t d, double *out) noexcept nogil
ctypedef void (*add_t)(
    const double *x, double w, Py_ssize_t d, double *high, double *low
) noexcept nogil

cdef struct Lanes:
    bint has_products  # whether `products` may be called
    nearest_t nearest
    products_t products
    panel_t panel
    across_t across
    own_t own
    add_t add

cdef Lanes lanes
