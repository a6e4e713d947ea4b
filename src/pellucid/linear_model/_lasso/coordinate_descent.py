"""Coordinate descent, with as many lanes as the machine has."""

from pellucid.linear_model._lasso import _coordinate
from pellucid.numerics.simd import fastest

descend = fastest(_coordinate).descend
