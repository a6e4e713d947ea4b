"""Quantiles and checks for `predict_interval`, without scipy.stats.

Invariant: an interval of level q leaves (1 - q) / 2 on each side.
"""

import numpy as np
from scipy.special import ndtri, stdtrit

from pellucid.errors import ParameterError

KINDS = ("observation", "mean")


def check_interval(level: float, kind: str) -> None:
    """Refuse a level that is no probability and a kind that does not exist."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise ParameterError(f"level must be in (0, 1). Got {level!r} instead.")
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {KINDS}. Got {kind!r} instead.")


def normal_reach(level: float) -> float:
    """How many standard deviations a normal interval reaches to each side."""
    return float(ndtri((1 + level) / 2))


def t_reach(level: float, dof: float) -> float:
    """As `normal_reach`, where the variance was estimated with `dof` degrees of freedom."""
    return normal_reach(level) if np.isinf(dof) else float(stdtrit(dof, (1 + level) / 2))
