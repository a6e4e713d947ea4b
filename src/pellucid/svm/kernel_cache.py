"""Rows of the kernel matrix during the fit: a bounded cache of the most recently used ones.

Invariant: the cache takes at most `megabytes` (but at least one working set). Rows of the kernel "rbf"
are stored in single precision while their rounding is far below the tolerance; `too_coarse` is True
when it is not, and `refine` switches to double precision.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.numerics.row_blocks import squared_lengths
from pellucid.records import Status
from pellucid.svm import _loops, kernels
from pellucid.svm.kernel_checks import allowance, check_part, indefinite_status

SINGLE_TOL = 1e-4  # from this tolerance on, rows may be stored in single precision
ROUNDING = 2.0**-24


class KernelRows:
    """Least-recently-used cache of the kernel rows of a `Dual`."""

    def __init__(self, problem: Any, megabytes: float, working: int, tol: float) -> None:
        n = problem.X.shape[0]
        self.problem, self.megabytes, self.working = problem, megabytes, working
        precomputed = problem.K is not None
        self.norms = np.zeros(n) if precomputed else squared_lengths(problem.X)
        coarse = not precomputed and problem.kernel.name == "rbf" and tol >= SINGLE_TOL
        self.kept = problem.K if precomputed else self._store(np.float32 if coarse else np.float64)
        self.whole: np.ndarray | None = None
        self.nonzero = np.zeros(n, dtype=bool)  # rows whose multipliers are not 0
        self.slack = allowance(problem.K) if precomputed else 0.0
        self.indefinite: Status | None = None  # set for a kernel function that is not semi-definite

    def _store(self, dtype: Any) -> np.ndarray:
        n = self.problem.X.shape[0]
        size = np.dtype(dtype).itemsize * n
        most = max(n - n // 16, min(n, self.working))  # the last rows are rarely used again
        slots = int(min(max(self.megabytes * 2**20 / size, self.working), most))
        self.slot = np.full(n, -1)
        self.owner = np.full(slots, -1)
        self.used = np.zeros(slots, dtype=np.int64)
        self.clock = 0
        return np.empty((slots, n), dtype=dtype)

    def diagonal(self) -> np.ndarray:
        """k(x, x) of all rows."""
        problem = self.problem
        if problem.K is not None:
            return np.ascontiguousarray(np.diagonal(problem.K))
        return problem.kernel.diagonal(problem.X)

    def local(self, chosen: np.ndarray) -> np.ndarray:
        """Kernel matrix of the chosen variables."""
        problem, base = self.problem, self.problem.base[chosen]
        everything = len(chosen) == len(problem.base)
        if everything and self.whole is not None:
            return self.whole
        if problem.K is not None:
            found = np.ascontiguousarray(problem.K[np.ix_(base, base)])
            if not everything:
                check_part(found, self.slack)
        else:
            found = problem.kernel.square(problem.X[base], self.norms[base])
            if problem.kernel.function is not None and self.indefinite is None:
                self.indefinite = indefinite_status(found, len(problem.base))
        if everything:
            self.whole = found
        return found

    def _slots(self, rows: np.ndarray) -> np.ndarray:
        """Positions in `kept` of the kernel rows of distinct rows of X; missing ones are computed."""
        if self.problem.K is not None:
            return rows
        self.clock += 1
        cached = rows[self.slot[rows] >= 0]
        self.used[self.slot[cached]] = self.clock
        missing = rows[self.slot[rows] < 0]
        if len(missing):
            # Slots of rows whose multipliers became 0 are reused before free memory.
            idle = ~self.nonzero[np.maximum(self.owner, 0)] & (self.owner >= 0)
            age = np.where(idle & (self.used < self.clock), -1, self.used)
            free = np.argsort(age, kind="stable")[: len(missing)]
            self._touch(free[self.owner[free] < 0])
            gone = self.owner[free]
            self.slot[gone[gone >= 0]] = -1
            self.problem.kernel.rows(self.problem.X, missing, self.norms, self.kept, free)
            self.slot[missing], self.owner[free], self.used[free] = free, missing, self.clock
        return self.slot[rows]

    def _touch(self, slots: np.ndarray) -> None:
        """Take the memory of slots that were never used, one by one.

        The system clears memory when it is first touched, in pages of up to 2 MB: a block of rows would
        touch all slots at once, which Ctrl-C cannot end.
        """
        stop = parallel.StopFlag()
        for slot in slots:
            self.kept[slot] = 0
            stop.check()

    def weighted_sum(
        self, rows: np.ndarray, weights: np.ndarray, nonzero: np.ndarray
    ) -> np.ndarray:
        """sum_i weights[i] k(x_rows[i], .) for all rows of X, in parallel blocks.

        `nonzero` marks the rows whose multipliers are not 0.
        """
        self.nonzero = nonzero
        slots = self._slots(rows)
        out = np.zeros(self.kept.shape[1])
        parallel.map(
            lambda b: _loops.add_rows(self.kept, slots, weights, b.start, b.stop, out),
            parallel.row_blocks(len(out), 64),
        )
        return out

    def gradient(self, a: np.ndarray) -> np.ndarray:
        """Qa + p from the multipliers alone, in double precision."""
        problem = self.problem
        weights = np.bincount(problem.base, a * problem.signs, problem.X.shape[0])
        rows = np.flatnonzero(weights)
        if problem.K is not None:
            sums = problem.K[:, rows] @ weights[rows]
        else:
            X = problem.X
            sums = kernels.weighted_sum(problem.kernel, X, X[rows], weights[rows, None])[:, 0]
        return problem.signs * sums[problem.base] + problem.linear

    def too_coarse(self, a: np.ndarray, tol: float) -> bool:
        """Whether rounding may change a gradient by a tenth of `tol` (three standard deviations)."""
        return self.kept.dtype == np.float32 and 3 * ROUNDING * np.sqrt(a @ a) > 0.1 * tol

    def refine(self) -> None:
        """Store rows in double precision from now on."""
        self.kept = self._store(np.float64)
