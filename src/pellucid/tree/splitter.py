"""The split of one node, with its columns in parallel.

Invariant: the best split of a column depends on the node's rows alone, and columns are compared
in their order; the chunks of columns that threads take change nothing.
"""

import numpy as np

from pellucid import parallel

CHUNK = 2**16  # cells that are worth a thread's attention
TASKS = 8  # of one node where rows are not sorted by column


class Splitter:
    """Splits nodes of a workspace one at a time, all threads on one node."""

    def __init__(self, work, d: int, max_features: int, n_jobs: int | None, lists: bool) -> None:
        self.work, self.d, self.n_jobs, self.lists = work, d, n_jobs, lists
        self.drawn = max_features < d
        self.splits = np.zeros((d, work.split_bytes()), dtype=np.uint8)

    def _chunks(self, rows: int) -> list[tuple[int, int]]:
        # Members are gathered once per chunk: few chunks, but enough to share out.
        least = 1 if self.lists else -(-self.d // TASKS)
        step = max(least, min(self.d, CHUNK // max(rows, 1)))
        return [(f, min(f + step, self.d)) for f in range(0, self.d, step)]

    def search(self, buffer, node: int, rows: int) -> bool:
        """Find the best split of a node; False if it stays a leaf."""
        if self.drawn:
            self.work.search_drawn(buffer, node, self.splits)
        else:
            known = np.full(1, np.inf)
            parallel.map(
                lambda c: self.work.search(buffer, node, c[0], c[1], self.splits, known),
                self._chunks(rows),
                n_jobs=self.n_jobs,
            )
        return self.work.choose(buffer, node, self.splits)

    def split(self, buffer, node: int, rows: int) -> tuple[int, int]:
        """Make the two children of a node whose split was found."""
        if not self.work.split(buffer, node) and self.lists:
            parallel.map(
                lambda c: self.work.partition(buffer, node, c[0], c[1]),
                self._chunks(rows),
                n_jobs=self.n_jobs,
            )
        return buffer.segment(node)[4:6]
