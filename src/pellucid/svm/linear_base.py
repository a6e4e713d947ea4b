"""What `LinearSVC` and `LinearSVR` share: their parameters, the rows they see, explanations.

Invariant: `coef_` and `intercept_` are those of the user's columns, whatever was done inside.
"""

from typing import Any

import numpy as np

from pellucid.base import Estimator
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.numerics.column_scaling import units
from pellucid.numerics.linear_scores import linear_scores
from pellucid.parameters import Boolean, Choice, Integer, RandomState, Real, Verbose
from pellucid.records import Solution
from pellucid.svm.kernel_base import TOO_LARGE, largest_cell, scaled

HARD = "the hard margin is SVC(kernel='linear', C=inf), the hard tube SVR(kernel='linear', C=inf)"


class Price(Real):
    """A finite price; who asks for an infinite one hears where it is to be had."""

    def __str__(self) -> str:
        return f"{super().__str__()} ({HARD})"


LINEAR_PARAMETERS = {
    "dual": Choice("auto", True, False),
    "tol": Real(0, None, "neither"),
    "C": Price(0, None, "neither"),
    "fit_intercept": Boolean,
    "intercept_scaling": Real(0, None, "neither"),
    "verbose": Verbose,
    "random_state": RandomState,
    "max_iter": Integer(1),
    "standardize": Boolean,
}


class LinearMachine(Estimator):
    """Base of the linear machines."""

    _rows = "canonical"
    _takes_text = True

    def _seen(self, problem: Problem) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
        """Rows as the solver sees them, their scale, what was taken off the columns before, and the
        means that explanations start from.
        """
        X, w = problem.table, problem.weights
        dense = isinstance(X, np.ndarray)
        with np.errstate(over="ignore", invalid="ignore"):
            scale = 1.0 / units(X, w, problem.schema)[1] if self.standardize else np.zeros(0)
            means = np.asarray(X.T @ (w / w.sum())).ravel()
            # Without an intercept, or with zeros to keep, columns stay where they are.
            move = self.standardize and self.fit_intercept and dense
            shift = means if move else np.zeros(len(means))
            seen = scaled(X - shift if move else X, scale)
            size = largest_cell(seen)
        if not size < 1e150 or not np.isfinite(means).all():
            raise DataError(TOO_LARGE)
        return seen, scale, shift, means

    def _bias(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _prices(self, weights: np.ndarray) -> np.ndarray:
        return self.C * np.minimum(weights, 1e300 / max(self.C, 1.0))

    def _learned_line(
        self, found: list[Solution], scale: np.ndarray, shift: np.ndarray
    ) -> dict[str, Any]:
        """Coefficients and intercepts (one row per solution), the worst status, all histories."""
        V = np.array([one.x for one in found])
        worst = next((one.status for one in found if not one.status.ok), found[0].status)
        coef = scaled(V[:, :-1], scale)
        intercept = V[:, -1] * self._bias() - coef @ shift
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise DataError(TOO_LARGE)
        return {
            "coef_": np.ascontiguousarray(coef),
            "intercept_": intercept,
            "n_iter_": max(one.n_iter for one in found),
            "history_": _joined(found),
            "status_": worst,
        }

    def _line_scores(self, X: Any) -> np.ndarray:
        """x . coef_ + intercept_: (n,) for one row of coefficients, else one column for each."""
        coef = np.atleast_2d(self.coef_)
        intercept = np.atleast_1d(self.intercept_)
        one = len(coef) == 1
        return linear_scores(X, coef[0] if one else coef, intercept[0] if one else intercept)

    def _line_parts(self, X: Any, scale: str) -> dict[str, Any]:
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        coef, scores = np.atleast_2d(self.coef_), self._line_scores(X)
        return {
            "base": coef @ self.means_ + self.intercept_,
            "contributions": (dense - self.means_)[:, :, None] * coef.T,
            "prediction": scores.reshape(len(scores), -1),
            "scale": scale,
            "method": "coefficient times distance from the training mean",
        }


def _joined(found: list[Solution]) -> dict[str, np.ndarray]:
    """Histories one after the other, with the number of the solution."""
    if len(found) == 1:
        return found[0].history
    names = [name for name in found[0].history if all(name in one.history for one in found)]
    joined = {name: np.concatenate([one.history[name] for one in found]) for name in names}
    counts = [len(one.history["iteration"]) for one in found]
    ends = np.cumsum([0, *(one.history["iteration"][-1] + 1 for one in found[:-1])])
    joined["iteration"] = joined["iteration"] + np.repeat(ends, counts)
    return joined | {"machine": np.repeat(np.arange(len(found), dtype=float), counts)}
