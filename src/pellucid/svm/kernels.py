"""Kernels: inner products of rows in another space, block by block.

Invariant: a block is a C-contiguous float64 array whose bits depend on its rows alone, not on threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import DataError
from pellucid.svm import _loops

NAMES = ("linear", "poly", "rbf", "sigmoid", "precomputed")
BLOCK = 256  # rows per task


@dataclass(frozen=True)
class Kernel:
    """k(x, z): x'z, (gamma x'z + coef0)**degree, exp(-gamma |x - z|**2), tanh(gamma x'z + coef0)."""

    name: str
    gamma: float
    degree: float
    coef0: float
    function: Callable[[Any, Any], Any] | None = None

    def norms(self, X: Any) -> np.ndarray:
        """Squared lengths of the rows."""
        if not isinstance(X, np.ndarray):
            return np.asarray(X.multiply(X).sum(axis=1), dtype=float).ravel()
        return np.einsum("ij,ij->i", X, X)

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) of each row."""
        if self.name == "rbf":
            return np.ones(X.shape[0])
        if self.function is not None:
            ones = (X[i : i + 1] for i in range(X.shape[0]))
            return np.array([self.block(row, row)[0, 0] for row in ones])
        return self._applied(self.norms(X))

    def block(self, X: Any, Z: Any, left: Any = None, right: Any = None) -> np.ndarray:
        """k(x, z) for all pairs of rows; `left` and `right` are their squared lengths if known."""
        if self.function is not None:
            return self._called(X, Z)
        if self.name != "rbf":
            return np.ascontiguousarray(self._applied(_products(X, Z)))
        left = self.norms(X) if left is None else left
        right = self.norms(Z) if right is None else right
        out = np.ascontiguousarray(_products(X, Z))
        if out.size:
            _loops.gaussian(out, left, right, self.gamma)
        return out

    def _applied(self, products: np.ndarray) -> np.ndarray:
        if self.name == "linear":
            return products
        inner = self.gamma * products + self.coef0
        return np.tanh(inner) if self.name == "sigmoid" else inner**self.degree

    def _called(self, X: Any, Z: Any) -> np.ndarray:
        assert self.function is not None
        found = np.ascontiguousarray(self.function(X, Z), dtype=float)
        if found.shape != (X.shape[0], Z.shape[0]):
            raise DataError(
                f"The kernel function returned shape {found.shape} for {X.shape[0]} and "
                f"{Z.shape[0]} rows: one number per pair is needed."
            )
        return found

    def rows(
        self, X: Any, chosen: np.ndarray, norms: np.ndarray, out: np.ndarray, slots: np.ndarray
    ) -> None:
        """Write k(x_i, x_j) for the chosen i and all j to out[slots], in parallel blocks of j."""
        left = X[chosen]

        def task(block: slice) -> None:
            out[slots, block] = self.block(left, X[block], norms[chosen], norms[block])

        parallel.map(task, parallel.row_blocks(X.shape[0], max(len(chosen), 1)))


def _products(X: Any, Z: Any) -> np.ndarray:
    found = X @ Z.T
    return found if isinstance(found, np.ndarray) else found.toarray()


def weighted_sum(kernel: Kernel, X: Any, Z: Any, coefficients: np.ndarray) -> np.ndarray:
    """sum_j k(x_i, z_j) coefficients[j], (n, m), in blocks of rows."""
    out = np.empty((X.shape[0], coefficients.shape[1]))
    right = kernel.norms(Z)

    def task(i: int) -> None:
        rows = slice(i, min(i + BLOCK, X.shape[0]))
        out[rows] = kernel.block(X[rows], Z, None, right) @ coefficients

    parallel.map(task, range(0, X.shape[0], BLOCK))
    return out
