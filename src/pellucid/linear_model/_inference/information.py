"""The record of the covariance of the coefficients of an unpenalised fit.

`_glm/information.py` and `_logistic/information.py` make it from the curvature at the optimum.
"""

from dataclasses import dataclass

import numpy as np

NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Information:
    """The inverse information of a fit with q sets of p + 1 coefficients, intercepts last.

    root : (q (p + 1), .), root root' is the covariance for dispersion 1. Rows of aliased coefficients
        are 0, the others are what they would be without them
    rank : of the table times q, intercepts included
    aliased : columns (p for the intercept) that the intercept and earlier columns span
    null : (p + 1, aliased), changes of (b, b0) that change no fitted value
    flat : positions in (q, p + 1) of other coefficients that have no finite variance
    """

    root: np.ndarray
    rank: int
    aliased: np.ndarray
    null: np.ndarray
    flat: np.ndarray
