"""The choice between the plain and the AVX2 build of the inner loops."""

cdef extern from "lanes.h":
    nearest_t nearest
    products_t products
    bint has_products
    panel_t panel
    across_t across
    own_t own
    add_t add
    bint choose_wide(bint wide) noexcept nogil


def use_wide(bint wide):
    """Choose the AVX2 build of the inner loops, where the processor has it, or the plain one."""
    wide = choose_wide(wide)
    lanes.has_products, lanes.nearest, lanes.products = has_products, nearest, products
    lanes.panel, lanes.across, lanes.own, lanes.add = panel, across, own, add
    return wide


use_wide(True)
