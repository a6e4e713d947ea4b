# The centres of one pass, laid out for the inner loops.


cdef class Centres:
    """Centres C (k, d), and what gives squared distances to them by products.

    With s an origin among the centres and c' = c - s, |x - c|**2 is |x - s|**2 plus the constant
    |c'|**2 + 2 s.c' minus 2 x.c'. `shifted` holds -2 c' in panels, padded with 0, and `constants`
    are padded with +inf; `radius` is the largest |c'|, `offset` |s|.
    """

    cdef readonly object array
    cdef const double[:, ::1] C
    cdef double[:, :, ::1] panels, shifted
    cdef double[::1] constants, origin
    cdef double radius, offset, slack

    def __init__(self, C):
        cdef Py_ssize_t j, f, k = C.shape[0], d = C.shape[1], n_panels = (k + 3) // 4
        cdef double c, squares, along
        self.array = self.C = C
        self.panels = cvarray((n_panels, d, 4), 8, "d")
        self.shifted = cvarray((n_panels, d, 4), 8, "d")
        self.constants, self.origin = cvarray((4 * n_panels,), 8, "d"), cvarray((d,), 8, "d")
        self.slack, self.radius, self.offset = (d + 8) * ULP, 0.0, 0.0
        layout(C, self.panels)
        with nogil:
            for f in range(d):
                c = 0.0
                for j in range(k):
                    c += self.C[j, f] / k
                self.origin[f] = c
                self.offset += c * c
            for j in range(4 * n_panels):
                squares = along = 0.0
                for f in range(d):
                    c = self.C[j, f] - self.origin[f] if j < k else 0.0
                    self.shifted[j >> 2, f, j & 3] = -2.0 * c
                    squares += c * c
                    along += self.origin[f] * c
                self.constants[j] = squares + 2.0 * along if j < k else INFINITY
                self.radius = max(self.radius, squares)
            self.radius = sqrt(self.radius) * (1.0 + self.slack)
            self.offset = sqrt(self.offset) * (1.0 + self.slack)

    cdef inline double error(self, double squared) noexcept nogil:
        """Bound on what separates a distance by products from the plain one, both squared.

        The row lies at the distance sqrt(squared) from the origin. Products are off by at most
        (d + 1) ULP (radius**2 + 3 offset radius + radius |x - s|), plain distances and |x - s|**2 by
        (d + 3) ULP / 2 (radius + |x - s|)**2 each.
        """
        cdef double size = sqrt(squared) * (1.0 + self.slack) + self.radius
        return 2.0 * self.slack * (size * size + 4.0 * self.offset * self.radius)
