"""Where explanations of networks start: the means of the columns."""

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
