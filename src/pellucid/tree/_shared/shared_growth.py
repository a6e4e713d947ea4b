"""A round of boosted trees that several processes grow together, each on its own rows.

Invariant: what is exchanged are integers, or facts that have no order, so the trees do not depend on who
holds which rows.
"""

from collections.abc import Callable
from math import frexp, ldexp

import numpy as np

from pellucid import parallel
from pellucid.tree._histogram_shared import SharedGrowth

SUM_BITS = 62


def grow_together(
    growth: SharedGrowth,
    gradients: np.ndarray,
    samples: np.ndarray,
    passes: tuple[int, Callable[[], None]],
) -> None:
    """Grow the trees of a round; `passes`: parts of a pass, and what counts the rows of one."""
    n_parts, count = passes
    n = parallel.total_rows(gradients.shape[1])
    bits = SUM_BITS - n.bit_length()  # of each limb
    for k, own in enumerate(gradients):
        top = parallel.largest(np.array([np.abs(own[:, 0]).max(), own[:, 1].max()]))
        unit_g = ldexp(1.0, -_up(top[0] * n, SUM_BITS))
        unit_h = ldexp(1.0, -_up(top[1] * n, SUM_BITS - growth.shift))
        total = growth.begin_root(k, n_parts, unit_g, unit_h, _noise(own, samples, growth.has_sets))
        more = growth.begin_passes(parallel.added(total))
        while more:
            count()
            parts = growth.counted()
            if parts.size:
                parts[0] = parallel.added(parts.sum(axis=0))
                parts[1:] = 0
            more = growth.search()
        ups = [_up(value, bits) for value in top.tolist()]
        sums = parallel.added(growth.leaf_sums(ups[0], ups[1], bits))
        growth.set_leaf_sums(_numbers(sums, ups, bits))


def _up(largest: float, bits: int) -> int:
    """largest * 2**this < 2**bits."""
    return min(bits - frexp(largest)[1], 1000) if largest > 0 else 0


def _numbers(sums: np.ndarray, ups: list[int], bits: int) -> np.ndarray:
    """Sums in limbs (leaves, 2, limbs) as numbers (leaves, 2), rounded once."""
    out = np.empty(sums.shape[:2])
    last = sums.shape[2] - 1
    for place in np.ndindex(*out.shape):
        whole = sum(int(limb) << bits * (last - k) for k, limb in enumerate(sums[place]))
        out[place] = ldexp(float(whole), -ups[place[1]] - bits * last)
    return out


def _noise(gradients: np.ndarray, samples: np.ndarray, needed: bool) -> float:
    """Sum of g^2, by sample, over the sum of h; as `noise_of`."""
    if not needed:
        return 0.0

    def part(rows: slice) -> np.ndarray:
        g, h = gradients[rows, 0], gradients[rows, 1]
        c = np.maximum(samples[rows], 1) if len(samples) else 1.0
        return np.array([(g * (g / c)).sum(), h.sum()])

    blocks = parallel.row_blocks(len(gradients), 2)
    squares, curvature = parallel.reduce(part, np.add, blocks)
    return float(squares / curvature) if curvature > 0 else 0.0
