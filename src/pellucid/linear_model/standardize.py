"""Fits on standardised columns, with coefficients reported on the original scale.

Invariant: scores do not change. (x - shift) * scale . b + b0 = x . (scale b) + b0 - shift . (scale b).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.errors import ParameterError
from pellucid.linear_model.base import column_means
from pellucid.numerics.column_scaling import can_be_centred, rescaled, units
from pellucid.records import converting


@dataclass(frozen=True)
class Units:
    """A shift and a scale for each column: x -> (x - shift) * scale."""

    shift: np.ndarray
    scale: np.ndarray

    @classmethod
    def learn(cls, problem: Problem, centre: bool) -> "Units":
        """Weighted means and deviations; constant columns keep their size.

        Only measured numbers are rescaled: levels, flags and counts of words keep their size.
        """
        mean, spread = units(problem.X, problem.weights, problem.schema)
        centred = can_be_centred(problem.X, problem.schema) & centre
        return cls(np.where(centred, mean, 0.0), 1.0 / spread)

    def apply(self, problem: Problem) -> Problem:
        """The same rows in these units."""
        X = problem.table
        if isinstance(X, np.ndarray):
            return replace(problem, X=(X - self.shift) * self.scale)
        if self.shift.any():
            return replace(problem, X=rescaled(X, self.shift, 1.0 / self.scale))
        return replace(problem, X=type(X)(X.multiply(self.scale)))

    def scaled_coef(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of the original columns, in these units."""
        return coef / self.scale, intercept + coef @ self.shift

    def original_coef(
        self, coef: np.ndarray, intercept: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients in these units, for the original columns."""
        own = coef * self.scale
        return own, intercept - own @ self.shift

    def to_original(self, learned: dict[str, Any]) -> dict[str, Any]:
        """What a penalised model learned in these units, on the original scale."""
        means = learned["means_"] / self.scale + self.shift
        return self.state_to_original(learned) | {"means_": means}

    def state_to_original(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The same for coefficients and intercept alone, and whatever needs no conversion."""
        out = dict(state)
        coef, intercept = self.original_coef(state["coef_"], state["intercept_"])
        plain = not isinstance(state["intercept_"], np.ndarray)
        out["coef_"], out["intercept_"] = coef, float(intercept) if plain else intercept
        return out

    def sgd_to_original(
        self, learned: dict[str, Any], X: Any, weights: np.ndarray
    ) -> dict[str, Any]:
        """What a stochastic model learned in these units, on the original scale.

        The account of the L1 penalty holds for one scale of the columns, so it starts again.
        """
        out = dict(learned)
        out["coef_"], out["intercept_"] = self.original_coef(
            learned["coef_"], learned["intercept_"]
        )
        mean, walk = learned["averaged_"], learned["walk_"].copy()
        out["standard_coef_"], walk[:, 0] = self.original_coef(
            learned["standard_coef_"], walk[:, 0]
        )
        coef, intercept = self.original_coef(mean[:, :-1], mean[:, -1])
        out["averaged_"] = np.column_stack([coef, intercept])
        walk[:, 3] = 0.0
        out["pulled_"], out["walk_"] = np.zeros_like(learned["pulled_"]), walk
        out["means_"] = column_means(X, weights)
        return out


def penalty_units(model: Any, penalty: bool, problem: Problem) -> Units | None:
    """The units in which `standardize` penalises the columns; None without it, or without a penalty."""
    if not (model.standardize and penalty):
        return None
    if getattr(model, "warm_start", False):
        raise ParameterError(
            "warm_start=True starts from coefficients on the original scale, but standardize=True "
            "fits on another scale. Set one of them to False."
        )
    return Units.learn(problem, bool(model.fit_intercept))


def penalised_evenly(
    model: Any, penalty: bool, problem: Problem, fit: Callable[[Problem], dict[str, Any]]
) -> dict[str, Any]:
    """What `fit` learns, from columns in the units of `penalty_units`, on the original scale."""
    own = penalty_units(model, penalty, problem)
    if own is None:
        return fit(problem)
    with converting(own.state_to_original):
        return own.to_original(fit(own.apply(problem)))
