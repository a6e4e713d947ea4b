"""Interaction constraints as arrays: groups of columns that may be split on the same path."""

from itertools import combinations
from typing import Any

import numpy as np

from pellucid.errors import ParameterError


def interaction_groups(given: Any, d: int, owner: str) -> np.ndarray | None:
    """(groups, d) uint8, 1 where a column belongs to a group; None: no constraint."""
    if given is None:
        return None
    if isinstance(given, str):
        pairs = combinations(range(d), 2) if given == "pairwise" else ((j,) for j in range(d))
        sets: list[Any] = list(pairs) or [(0,)]
    else:
        sets = [tuple(group) for group in given]
    groups = np.zeros((len(sets), d), dtype=np.uint8)
    for g, group in enumerate(sets):
        for j in group:
            if isinstance(j, bool) or not isinstance(j, int | np.integer) or not 0 <= j < d:
                raise ParameterError(
                    f"interaction_cst of {owner} must contain column numbers from 0 to {d - 1}. "
                    f"Got {j!r}."
                )
            groups[g, int(j)] = 1
    rest = groups.max(axis=0, initial=0) == 0
    return np.vstack([groups, rest.astype(np.uint8)]) if rest.any() else groups
