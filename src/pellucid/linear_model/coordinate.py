"""Coordinate descent, with as many lanes as the machine has.

Invariant: both builds give equal bits, so the choice is only a matter of speed.
"""

from pellucid.linear_model import _coordinate
from pellucid.numerics._loops import cpu_has_avx2

descend = _coordinate.descend
if cpu_has_avx2():
    from pellucid.linear_model import _coordinate_avx2

    descend = _coordinate_avx2.descend
