"""Columns that a solver has shifted and scaled by powers of two, and the way back.

Invariant: powers of two round nothing. (x 2**units - shift) . b + b0 are the scores of x.
"""

import functools
from typing import Any

import numpy as np

from pellucid.numerics.row_blocks import Rows, as_dense


class ShiftedRows:
    """The rows of a table by blocks, minus a shift of the columns."""

    X: Rows
    intercept: bool
    shift: np.ndarray | None

    def block(self, rows: slice) -> Any:
        """A block of rows; CSR stays CSR if there is no shift."""
        return self.X.X[rows] if self.shift is None else self.X.dense(rows) - self.shift

    def table(self, rows: slice) -> np.ndarray:
        """The dense block with the column of the intercept (0 without one)."""
        block = self.block(rows)
        table = np.empty((block.shape[0], self.X.p + 1))
        table[:, :-1] = as_dense(block)
        table[:, -1] = float(self.intercept)
        return table


class ScaledColumns:
    """Coefficients (..., p + 1), the intercept last, in the units of a solver and of the user."""

    units: np.ndarray  # powers of two by which the original columns were multiplied

    @property
    def shift(self) -> np.ndarray | None:
        """What was subtracted from the scaled columns."""
        raise NotImplementedError

    @functools.cached_property
    def moved(self) -> bool:
        """Whether columns were shifted or scaled."""
        return self.shift is not None or bool(self.units.any())

    def original(self, B: np.ndarray) -> np.ndarray:
        """A copy of B for the original columns."""
        B = B.copy()
        if not self.moved:
            return B
        if self.shift is not None:
            B[..., -1] -= B[..., :-1] @ self.shift
        with np.errstate(over="ignore"):
            B[..., :-1] = np.ldexp(B[..., :-1], self.units)
        return B

    def scaled(self, B: np.ndarray) -> np.ndarray:
        """A copy of B, which is for the original columns, for the scaled ones."""
        B = B.copy()
        B[..., :-1] = np.ldexp(B[..., :-1], -self.units)
        if self.shift is not None:
            B[..., -1] += B[..., :-1] @ self.shift
        return B

    @property
    def centre(self) -> np.ndarray:
        """The shift on the original scale."""
        zero = np.zeros(len(self.units))
        return zero if self.shift is None else np.ldexp(self.shift, -self.units)
