"""Columns as networks see them: centred, in units of their own; and where explanations start.

Invariant: a sparse table stays sparse. Of its columns only measured numbers that are seldom 0 are
centred: a year of building has no use for its 0, and it would take all steps of the training to
find that out.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.neural_network.lessons import Lessons


def column_means(lessons: Lessons) -> np.ndarray:
    """Weighted means; shares before the sum, so that it cannot overflow."""
    X, share = lessons.X, lessons.weights / lessons.weights.max()
    share /= 2 * share.sum()

    def part(block: slice) -> np.ndarray:
        rows = X[block] if lessons.rows is None else X[lessons.rows[block]]
        return rows.T @ share[block]

    # Small blocks: the rows of each are gathered.
    half = parallel.reduce(part, np.add, parallel.row_blocks(lessons.n, 16 * X.shape[1]))
    top = np.finfo(float).max / 2
    return 2 * np.clip(half, -top, top)


def can_be_centred(X: Any, measured: np.ndarray) -> np.ndarray | bool:
    """The encoded columns whose mean may be taken away."""
    if isinstance(X, np.ndarray):
        return True
    stored = np.bincount(X.indices, minlength=X.shape[1])
    return measured & (2 * stored >= X.shape[0])


def standardised(X: Any, shift: np.ndarray, scale: np.ndarray) -> Any:
    """(X - shift) / scale of a sparse table; a column with a shift is full afterwards."""
    from scipy.sparse import csr_array

    full = np.flatnonzero(shift)
    kept = np.where(shift == 0, 1.0 / scale, 0.0)
    rest = X.multiply(kept).tocsr()
    if not len(full):
        return rest
    cells = (X[:, full].toarray() - shift[full]) / scale[full]
    ends = np.arange(len(cells) + 1) * len(full)
    centred = csr_array((cells.ravel(), np.tile(full, len(cells)), ends), shape=X.shape)
    out = (rest + centred).tocsr()
    out.eliminate_zeros()
    return out
