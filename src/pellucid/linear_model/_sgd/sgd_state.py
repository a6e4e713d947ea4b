"""The coefficients of one problem while it is solved by stochastic gradient descent."""

from dataclasses import dataclass, field

import numpy as np

from pellucid.records import Status

# Positions in `SGDState.scalars`, the layout of `_loops`.
INTERCEPT, SCALE, STEPS, L1_TOTAL, N_AVERAGED, ALL_MISTAKES, MISTAKES, LAST_STEP = range(8)


@dataclass
class SGDState:
    """Coefficients of one problem while it is solved; `_loops` documents the layout."""

    v: np.ndarray  # coefficients divided by the scale
    q: np.ndarray  # L1 penalty applied to each coefficient so far
    mean: np.ndarray  # averaged coefficients, the intercept last
    scalars: np.ndarray
    history: list[tuple[float, ...]] = field(default_factory=list)
    status: Status = field(default_factory=lambda: Status("ok", "No epoch was run."))

    @property
    def coef(self) -> np.ndarray:
        return self.v * self.scalars[SCALE]

    @property
    def intercept(self) -> float:
        return float(self.scalars[INTERCEPT])

    def copied(self) -> "SGDState":
        arrays = self.v.copy(), self.q.copy(), self.mean.copy(), self.scalars.copy()
        return SGDState(*arrays, status=self.status)

    def result(self, averaged: bool) -> tuple[np.ndarray, float]:
        """Coefficients and intercept: averaged ones, if some have been averaged."""
        if averaged and self.scalars[N_AVERAGED] > 0:
            return self.mean[:-1].copy(), float(self.mean[-1])
        return self.coef, self.intercept
