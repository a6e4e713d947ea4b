"""Columns in units of their own: a fit on standardised columns, told in the user's units.

Invariant: scores do not change. (x - shift) * scale . b + b0 = x . (scale b) + b0 - shift . (scale b).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.errors import ParameterError
from pellucid.linear_model.linear_classifier import column_means
from pellucid.numerics.column_scaling import can_be_centred, rescaled, units


@dataclass(frozen=True)
class Units:
    """Of each column what is subtracted, and what it is then multiplied by."""

    shift: np.ndarray
    scale: np.ndarray

    @classmethod
    def learn(cls, problem: Problem, centre: bool) -> "Units":
        """Means and deviations by weight; constant columns keep their size.

        Only measured numbers have a unit of their own: levels, flags and counts of words keep theirs.
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

    def inside(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of the user's columns, in these units."""
        return coef / self.scale, intercept + coef @ self.shift

    def outside(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients in these units, for the user's columns."""
        own = coef * self.scale
        return own, intercept - own @ self.shift

    def told(self, learned: dict[str, Any]) -> dict[str, Any]:
        """What a penalised model learned in these units, in the user's."""
        out = dict(learned)
        coef, intercept = self.outside(learned["coef_"], learned["intercept_"])
        plain = not isinstance(learned["intercept_"], np.ndarray)
        out["coef_"], out["intercept_"] = coef, float(intercept) if plain else intercept
        out["means_"] = learned["means_"] / self.scale + self.shift
        return out

    def restore(self, learned: dict[str, Any], X: Any, weights: np.ndarray) -> dict[str, Any]:
        """What a stochastic model learned in these units, in the user's.

        Absolute values in the penalty pull alike in all columns: their account begins anew.
        """
        out = dict(learned)
        out["coef_"], out["intercept_"] = self.outside(learned["coef_"], learned["intercept_"])
        mean, walk = learned["averaged_"], learned["walk_"].copy()
        out["standard_coef_"], walk[:, 0] = self.outside(learned["standard_coef_"], walk[:, 0])
        coef, intercept = self.outside(mean[:, :-1], mean[:, -1])
        out["averaged_"] = np.column_stack([coef, intercept])
        walk[:, 3] = 0.0
        out["pulled_"], out["walk_"] = np.zeros_like(learned["pulled_"]), walk
        out["means_"] = column_means(X, weights)
        return out


def standardised(standardize: Any, problem: Problem, centre: bool) -> Units | None:
    """The units of a fit that asks for them."""
    return Units.learn(problem, centre) if standardize else None


def penalised_evenly(
    model: Any, penalty: bool, problem: Problem, fit: Callable[[Problem], dict[str, Any]]
) -> dict[str, Any]:
    """What `fit` learns; if `standardize` asks for it, from numbers divided by their deviation.

    Without a penalty the units make no difference, and inference is in the user's.
    """
    if not (model.standardize and penalty):
        return fit(problem)
    if getattr(model, "warm_start", False):
        raise ParameterError(
            "warm_start=True goes on from coefficients in the user's units, standardize=True "
            "computes in others: give one of them."
        )
    own = Units.learn(problem, bool(model.fit_intercept))
    return own.told(fit(own.apply(problem)))
