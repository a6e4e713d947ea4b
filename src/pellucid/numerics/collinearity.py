"""Which columns are combinations of others: computed from the table, because its Gram matrix loses half
the digits.

Invariant: the intercept comes first, then the columns in their order; the first ones are kept.
"""

from dataclasses import dataclass

import numpy as np

from pellucid.numerics.linalg import EPS, Factor, null_space, ordered_factor


@dataclass(frozen=True)
class Aliases:
    """factor : of the columns `kept`; aliased : the others, sorted; p stands for the intercept.

    null (p + 1, aliased) : the changes of (b, b0) that change no fitted value.
    """

    factor: Factor
    kept: np.ndarray
    aliased: np.ndarray
    null: np.ndarray


def find_aliases(R: np.ndarray, intercept: bool) -> Aliases:
    """Of a table whose triangle is R (., p + 1), the intercept in its last column.

    Newton's method does not move along directions with less than p eps of the largest curvature.
    So a column was not estimated if its part that is independent of the others is below about the
    root of that.
    """
    p = R.shape[1] - 1
    order = np.append(p, np.arange(p)) if intercept else np.arange(p)
    factor = ordered_factor(R[:, order], 2 * np.sqrt(len(order) * EPS))
    null = np.zeros((p + 1, len(factor.aliased)))
    null[order] = null_space(R[:, order], factor, np.zeros(len(order), dtype=np.int64))
    return Aliases(factor, order[factor.order], np.sort(order[factor.aliased]), null)


def as_if_absent(x: np.ndarray, aliased: np.ndarray, null: np.ndarray) -> np.ndarray:
    """(b, b0) with the same fitted values, and 0 for what is aliased."""
    if not len(aliased):
        return x.copy()
    x = x - null @ np.linalg.solve(null[aliased], x[aliased])  # a column, or several
    x[aliased] = 0.0
    return x
