"""Search spaces: geometric grids and lists, and their combinations."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Geometric:
    """`n` values from low to high with a constant ratio; integers if `whole`."""

    low: float
    high: float
    n: int
    whole: bool = False

    def values(self) -> list[Any]:
        grid = np.geomspace(self.low, self.high, self.n)
        if self.whole:
            return list(dict.fromkeys(round(v) for v in grid))
        return [float(f"{v:.6g}") for v in grid]  # the same value on every machine


def candidates(space: dict[str, Any]) -> list[dict[str, Any]]:
    """All combinations, the first parameter varying slowest."""
    axes = [axis.values() if isinstance(axis, Geometric) else list(axis) for axis in space.values()]
    return [dict(zip(space, combination, strict=True)) for combination in product(*axes)]


def edges(space: dict[str, Any], chosen: dict[str, Any]) -> list[str]:
    """Parameters whose chosen value lies at an end of its geometric range.

    A count of 1 is a natural limit, not an edge, and a range of two values has no inside.
    """
    out = []
    for name, axis in space.items():
        if isinstance(axis, Geometric) and name in chosen:
            values = axis.values()
            natural_limit = axis.whole and chosen[name] == 1
            if len(values) > 2 and chosen[name] in (values[0], values[-1]) and not natural_limit:
                out.append(name)
    return out
