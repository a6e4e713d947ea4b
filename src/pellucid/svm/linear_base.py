"""What `LinearSVC` and `LinearSVR` share: parameters, preparation of the rows, explanations.

Invariant: `coef_` and `intercept_` are reported on the original scale.
"""

from typing import Any

import numpy as np

from pellucid.base import Estimator
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.numerics.column_scaling import units
from pellucid.numerics.linear_scores import class_scores, explained_scores
from pellucid.numerics.row_blocks import as_dense, largest_cell
from pellucid.parameters import Choice, Ignored, Integer, RandomState, Real, learned, param, shared
from pellucid.records import Solution, Status
from pellucid.svm.kernel_base import scaled

TOO_LARGE = (
    "A product of these rows exceeds the largest float64. Divide the columns by a power of ten, or use "
    "standardize=True."
)


SHORT_CELLS = 2**14  # of tables on which a batch of epochs is too short to interrupt


def is_short(X: Any) -> bool:
    """Whether the solvers return to Python often enough to notice Ctrl-C."""
    return X.shape[0] * X.shape[1] <= SHORT_CELLS


class FiniteC(Real):
    """A finite C; the error message names the models that accept an infinite one."""

    def __str__(self) -> str:
        return f"{super().__str__()} (for C=inf use SVC or SVR with kernel='linear')"


class LinearSVM(Estimator):
    """Base of LinearSVC and LinearSVR."""

    dual: Any = param(
        "auto",
        Ignored("the solver follows from the penalty and the loss.", Choice("auto", True, False)),
    )
    tol: float = param(
        1e-4,
        Real(0, None, "neither"),
        "Largest accepted violation of the optimality conditions, for errors that are not squared, the "
        "penalty 'l1' and tables of more than 1500 columns. Newton's method, used otherwise, solves to "
        "full precision.",
    )
    C: float = param(
        1.0,
        FiniteC(0, None, "neither"),
        "Cost of an error; a smaller C is a stronger penalty on the coefficients.",
    )
    fit_intercept: bool = shared.FIT_INTERCEPT.replace(
        description="Whether to fit an intercept. It is penalised like the coefficients, less so with a "
        "larger `intercept_scaling`."
    )
    intercept_scaling: float = param(
        1.0,
        Real(0, None, "neither"),
        "Value of the constant column whose coefficient gives the intercept. A large value makes the "
        "penalty on the intercept small.",
    )
    verbose: int = shared.VERBOSE
    random_state: Any = param(
        None, Ignored("the rows are always visited in the same order.", RandomState)
    )
    max_iter: int = param(1000, Integer(1), "Largest number of iterations of the solver.")
    standardize: bool = shared.STANDARDIZE.replace(
        description="Subtract the means of the columns and divide numbers by their standard deviations "
        "before the fit. Columns of categories, missing-value indicators and words are not divided. "
        "Sparse columns, and all columns without an intercept, are not centred. `coef_` and "
        "`intercept_` are reported on the original scale."
    )

    intercept_: np.ndarray = learned("Intercepts, one for each row of coefficients.")
    means_: np.ndarray = learned("Means of the encoded columns, where explanations start.")
    n_iter_: int = learned("Number of iterations; the largest of all binary problems.")
    history_: dict[str, np.ndarray] = learned(
        "Diagnostics by iteration: 'iteration', 'objective' and 'duality_gap', and 'violation' or "
        "'gradient_norm', depending on the solver. With more than two classes also 'machine', the "
        "number of the binary problem."
    )
    status_: Status = learned(shared.STATUS)

    _rows = "canonical"
    _takes_text = True
    _reads_float32 = True
    _reads_entries = True

    def _prepared(self, problem: Problem) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
        """Rows as the solver sees them, factors of the columns, values subtracted before, and means."""
        X, w = problem.table, problem.weights
        dense = isinstance(X, np.ndarray)
        with np.errstate(over="ignore", invalid="ignore"):
            scale = 1.0 / units(X, w, problem.schema)[1] if self.standardize else np.zeros(0)
            means = np.asarray(X.T @ (w / w.sum())).ravel()
            # Without an intercept, or with zeros to keep, columns are not centred.
            move = self.standardize and self.fit_intercept and dense
            shift = means if move else np.zeros(len(means))
            seen = scaled(X - shift if move else X, scale)
            size = largest_cell(seen)
        if not size < 1e150 or not np.isfinite(means).all():
            raise DataError(TOO_LARGE)
        return seen, scale, shift, means

    def _bias(self) -> float:
        """Value of the constant column."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _costs(self, weights: np.ndarray) -> np.ndarray:
        """C times the weights, without overflow."""
        return self.C * np.minimum(weights, 1e300 / max(self.C, 1.0))

    def _learned_from(
        self, found: list[Solution], scale: np.ndarray, shift: np.ndarray
    ) -> dict[str, Any]:
        """Coefficients and intercepts (one row per solution), the worst status, all histories."""
        worst = next((one.status for one in found if not one.status.ok), found[0].status)
        learned = self._coefficients(np.array([one.x for one in found]), scale, shift)
        if not all(np.isfinite(part).all() for part in learned.values()):
            raise DataError(TOO_LARGE)
        return learned | {
            "n_iter_": max(one.n_iter for one in found),
            "history_": _joined(found),
            "status_": worst,
        }

    def _coefficients(
        self, V: np.ndarray, scale: np.ndarray, shift: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Coefficients and intercepts on the original scale, from rows of the solver's vectors."""
        coef = scaled(V[:, :-1], scale)
        intercept = V[:, -1] * self._bias() - coef @ shift
        return {"coef_": np.ascontiguousarray(coef), "intercept_": intercept}

    def _linear_scores(self, X: Any) -> np.ndarray:
        """x . coef_ + intercept_: (n,) for one row of coefficients, else one column for each."""
        return class_scores(X, np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_))

    def _propagates_nan(self) -> bool:
        """True unless one of several classes has a coefficient of 0, whose column is never read."""
        return self.coef_.ndim == 1 or len(self.coef_) == 1 or bool(np.all(self.coef_))

    def _linear_parts(self, X: Any, scale: str) -> dict[str, Any]:
        dense, coef = as_dense(X), np.atleast_2d(self.coef_)
        base, scores = coef @ self.means_ + self.intercept_, self._linear_scores(X)
        return explained_scores(dense, self.means_, coef, base, scores) | {"scale": scale}

    def _check_linear(self, *shape: int) -> None:
        """Raise an error for inconsistent arrays in a model file; `shape` without the columns."""
        from pellucid.persist.fitted_state import expect_array, n_terms

        p = n_terms(self)
        expect_array(self, "coef_", *shape, p, finite=True)
        expect_array(self, "intercept_", *(shape or (1,)), finite=True)
        expect_array(self, "means_", p, finite=True)


def _joined(found: list[Solution]) -> dict[str, np.ndarray]:
    """Histories one after the other, with the number of the binary problem as "machine"."""
    if len(found) == 1:
        return found[0].history
    names = [name for name in found[0].history if all(name in one.history for one in found)]
    joined = {name: np.concatenate([one.history[name] for one in found]) for name in names}
    counts = [len(one.history["iteration"]) for one in found]
    ends = np.cumsum([0, *(one.history["iteration"][-1] + 1 for one in found[:-1])])
    joined["iteration"] = joined["iteration"] + np.repeat(ends, counts)
    return joined | {"machine": np.repeat(np.arange(len(found), dtype=float), counts)}
