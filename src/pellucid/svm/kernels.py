"""Kernels: inner products of rows in a feature space, block by block.

Invariant: a block is a C-contiguous float64 array whose bits depend on its rows only, not on threads.
Products come from BLAS in blocks that stay in the cache, and the exponential follows at once. Sums over
Gaussian kernels of few columns are formed in registers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import DataError
from pellucid.numerics.row_blocks import inner_products, squared_lengths
from pellucid.svm import _loops

NAMES = ("linear", "poly", "rbf", "sigmoid", "precomputed")
BLOCK = 128  # rows per task
CHUNK = 256  # columns of kernel values in memory at a time
NARROW = 256  # largest number of columns for which products of rows are formed without BLAS
PANELS = 2048  # columns of panels of eight vectors that stay in the cache
STRIP = 32  # kernel rows computed at a time where whole rows are stored


@dataclass(frozen=True)
class Kernel:
    """k(x, z): x'z, (gamma x'z + coef0)**degree, exp(-gamma |x - z|**2), tanh(gamma x'z + coef0)."""

    name: str
    gamma: float
    degree: float
    coef0: float
    function: Callable[[Any, Any], Any] | None = None

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) of each row."""
        if self.name == "rbf":
            return np.ones(X.shape[0])
        if self.function is not None:
            ones = (X[i : i + 1] for i in range(X.shape[0]))
            return np.array([self.block(row, row)[0, 0] for row in ones])
        return self._applied(squared_lengths(X))

    def block(self, X: Any, Z: Any, left: Any = None, right: Any = None) -> np.ndarray:
        """k(x, z) for all pairs of rows; `left` and `right` are their squared lengths if known."""
        if self.function is not None:
            return self._called(X, Z)
        if self.name != "rbf":
            return np.ascontiguousarray(self._applied(inner_products(X, Z)))
        left = squared_lengths(X) if left is None else left
        right = squared_lengths(Z) if right is None else right
        out = np.ascontiguousarray(inner_products(X, Z))
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
        values = self.function(X, Z)
        try:
            found = np.ascontiguousarray(values, dtype=float)
        except (TypeError, ValueError):
            raise DataError(
                f"The kernel function returned {str(values)[:40]!r}: one number per pair of rows is "
                "needed."
            ) from None
        if found.shape == (X.shape[0], Z.shape[0]) and not np.isfinite(found).all():
            raise DataError(
                f"The kernel function returned {found[~np.isfinite(found)][0]}: one number per pair of "
                "rows is needed."
            )
        if found.shape != (X.shape[0], Z.shape[0]):
            raise DataError(
                f"The kernel function returned shape {found.shape} for {X.shape[0]} and "
                f"{Z.shape[0]} rows: one number per pair of rows is needed."
            )
        return found

    def rows(
        self, X: Any, chosen: np.ndarray, norms: np.ndarray, out: np.ndarray, slots: np.ndarray
    ) -> None:
        """Write k(x_i, x_j) for the chosen i and all j to out[slots], in parallel blocks of j."""
        single = out.dtype == np.float32

        def task(block: slice) -> None:
            for i in range(0, len(chosen), STRIP):
                some, to = chosen[i : i + STRIP], slots[i : i + STRIP]
                if not single:
                    out[to, block] = self.block(X[some], X[block], norms[some], norms[block])
                    continue
                products = np.ascontiguousarray(inner_products(X[some], X[block]))
                _loops.single_gaussian(
                    products, norms[some], norms[block], self.gamma, to, block.start, out
                )

        parallel.map(task, parallel.row_blocks(X.shape[0], CHUNK))

    def square(self, X: Any, norms: np.ndarray) -> np.ndarray:
        """k(x_i, x_j) for all pairs of rows, in parallel blocks of i."""
        n = X.shape[0]
        out = np.empty((n, n))

        def task(i: int) -> None:
            part = slice(i, i + BLOCK)
            out[part] = self.block(X[part], X, norms[part], norms)

        parallel.map(task, range(0, n, BLOCK))
        return out

    def sums(self, Z: Any, coefficients: np.ndarray) -> Callable[[Any], np.ndarray]:
        """The function that returns sum_j k(x_i, z_j) coefficients[j], (rows, m), of a block of rows."""
        right = squared_lengths(Z)

        def of(X: Any) -> np.ndarray:
            out, left = np.zeros((X.shape[0], coefficients.shape[1])), squared_lengths(X)
            for j in range(0, Z.shape[0], CHUNK):
                part = slice(j, j + CHUNK)
                out += self.block(X, Z[part], left, right[part]) @ coefficients[part]
            return out

        return of

    def narrow_sums(self, Z: np.ndarray, weights: np.ndarray) -> Callable[[Any], np.ndarray]:
        """The same for dense rows of few columns, the kernel "rbf" and one coefficient per vector.

        Rows are scaled so that the kernel is 2**-|x - z|**2. Eight vectors lie side by side in a panel;
        zeros of weight 0 fill the last panel.
        """
        unit, p, m = np.sqrt(self.gamma / np.log(2.0)), Z.shape[1], -(-len(Z) // 8)
        rows, weights = np.zeros((8 * m, p)), np.pad(weights, (0, 8 * m - len(Z)))
        np.multiply(Z, unit, out=rows[: len(Z)])
        right, some = -squared_lengths(rows), max(1, PANELS // p)
        rows *= 2.0
        panels = np.ascontiguousarray(rows.reshape(m, 8, p).transpose(0, 2, 1))
        del rows

        def of(X: Any) -> np.ndarray:
            X, out = np.ascontiguousarray(X * unit), np.zeros(len(X))
            _loops.gaussian_sums(X, panels, -squared_lengths(X), right, weights, some, out)
            return out[:, None]

        return of


def weighted_sum(kernel: Kernel, X: Any, Z: Any, coefficients: np.ndarray) -> np.ndarray:
    """sum_j k(x_i, z_j) coefficients[j], (n, m), in parallel blocks of rows."""
    out = np.empty((X.shape[0], coefficients.shape[1]))
    dense = isinstance(X, np.ndarray) and isinstance(Z, np.ndarray)
    if dense and kernel.name == "rbf" and out.shape[1] == 1 and X.shape[1] <= NARROW:
        sums = kernel.narrow_sums(Z, coefficients[:, 0])
    else:
        sums = kernel.sums(Z, coefficients)

    def task(i: int) -> None:
        rows = slice(i, min(i + BLOCK, X.shape[0]))
        out[rows] = sums(X[rows])

    parallel.map(task, range(0, X.shape[0], BLOCK))
    return out
