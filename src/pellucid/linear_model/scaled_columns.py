"""Columns that a solver has shifted and scaled by powers of two, and the way back.

Invariant: powers of two round nothing. (x 2**units - shift) . b + b0 are the scores of x.
"""

import functools

import numpy as np


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
