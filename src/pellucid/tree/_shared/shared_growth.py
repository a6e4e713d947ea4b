"""A round of boosted trees that several processes grow together, each on its own rows.

Invariant: what is exchanged are integers, or facts that have no order, so the trees do not depend on who
holds which rows.
"""

from collections.abc import Callable

import numpy as np

from pellucid import parallel
from pellucid.tree._histogram_shared import SharedGrowth


def grow_together(
    growth: SharedGrowth,
    gradients: np.ndarray,
    passes: tuple[int, Callable[[], None]],
) -> None:
    """Grow the trees of a round; `passes`: parts of a pass, and what counts the rows of one."""
    n_parts, count = passes
    n = parallel.total_rows(gradients.shape[1])
    for k, own in enumerate(gradients):
        top = parallel.largest(np.array([np.abs(own[:, 0]).max(), own[:, 1].max()]))
        total = growth.begin_root(k, n_parts, top[0], top[1], n)
        more = growth.begin_passes(parallel.added(total))
        while more:
            count()
            parts = growth.counted()
            if parts.size:
                parts[0] = parallel.added(parts.sum(axis=0))
                parts[1:] = 0
            more = growth.search()
        growth.set_leaf_sums(parallel.added(growth.leaf_sums()))
