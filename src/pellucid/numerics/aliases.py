"""What a singular information matrix still tells: columns that others span, errors of all the rest.

    H null = 0,   inverse = H[kept, kept]^-1, 0 in the rows and columns of the aliased ones

A combination l of the coefficients has the variance l' inverse l, whichever columns were kept, if
l . null = 0; a coefficient that takes part in a null vector is not unique and has none.

Invariant: the columns that come first are kept; H is symmetric, without negative eigenvalues.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .linalg import GRAM_LIMIT

PART = 1e-6  # of the largest entry of a null vector (of unit columns): less takes no part


@dataclass(frozen=True)
class Aliases:
    """kept, aliased : positions; inverse (m, m); null (m, aliased); loose : (m,) not unique."""

    kept: np.ndarray
    aliased: np.ndarray
    inverse: np.ndarray
    null: np.ndarray
    loose: np.ndarray

    @property
    def rank(self) -> int:
        return len(self.kept)


def find_aliases(H: np.ndarray, first: np.ndarray) -> Aliases:
    """`first`: positions of intercepts, which are kept before all others."""
    m = len(H)
    diagonal = np.sqrt(np.maximum(np.diagonal(H), 0.0))
    scale = 1.0 / np.where(diagonal > 0, diagonal, 1.0)
    S = H * scale * scale[:, None]
    order = np.concatenate([first, np.setdiff1d(np.arange(m), first)]).astype(np.int64)
    kept = _independent(S, order)
    aliased = np.setdiff1d(order, kept)
    inverse, null = np.zeros((m, m)), np.zeros((m, len(aliased)))
    null[aliased, np.arange(len(aliased))] = 1.0
    if len(kept):
        factor = cho_factor(S[np.ix_(kept, kept)])
        inverse[np.ix_(kept, kept)] = cho_solve(factor, np.eye(len(kept)))
        null[kept] = -cho_solve(factor, S[np.ix_(kept, aliased)])
    part = np.abs(null) > PART * np.abs(null).max(axis=0, initial=1e-300)
    return Aliases(
        kept, aliased, inverse * scale * scale[:, None], null * scale[:, None], part.any(axis=1)
    )


def _independent(S: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Positions that no earlier ones span: Cholesky's elimination, skipping what is left of none."""
    S, kept = S.copy(), []
    for j in order:
        if S[j, j] <= GRAM_LIMIT**-2:
            continue
        row = S[j] / np.sqrt(S[j, j])
        S -= np.outer(row, row)
        kept.append(j)
    return np.sort(np.array(kept, dtype=np.int64))
