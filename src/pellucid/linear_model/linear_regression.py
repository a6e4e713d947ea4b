"""Ordinary and weighted least squares."""

import math
import sys
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.linear_model.base import POSITIVE, SQUARES_STEP, LinearPredictor
from pellucid.parameters import Choice, Integer, Real, learned, param, shared
from pellucid.persist.fitted_state import expect_entries, expect_number, expect_positions
from pellucid.records import Status

# Entries n p^2 up to which a sparse table is solved directly, block by block.
DIRECT_WORK = 2**33
# Cells of the covariance up to which it is kept for intervals.
LARGEST_ROOT = 2**24


def _check_size(coef: np.ndarray, problem: Problem) -> None:
    if np.isfinite(coef).all():
        return
    for j in np.flatnonzero(~np.isfinite(coef).all(axis=0)):
        raise DataError(
            f"The coefficient of {problem.schema.terms[j]!r} overflows float64, because this column is "
            "many orders of magnitude smaller than y. Rescale it, for example by 1e18."
        )


def _status(aliased: np.ndarray, problem: Problem) -> Status:
    if not len(aliased):
        return Status("ok", "Solved directly.")
    terms = problem.schema.terms
    named = ", ".join(terms[j] for j in aliased[:10]) + (", ..." if len(aliased) > 10 else "")
    return Status(
        "ok",
        f"Combinations of other columns: {named}. The rank is {len(terms) - len(aliased)} of "
        f"{len(terms)}, so the coefficients are not unique and the shortest solution was taken.",
        "Predictions are not affected; to interpret coefficients, drop the columns named.",
    )


def _facts(found: Any, problem: Problem, intercept: bool) -> dict[str, Any]:
    """What inference needs: sums of squares and, if it is not too large, a root of the covariance."""
    from pellucid.linear_model._inference.intervals import slack

    rows, unweighted = problem.n_all, problem.unweighted
    facts = {
        "residual_ss": found.residual_ss,
        "total_ss": found.total_ss,
        "exponent": found.exponent,
        "unit_error": found.unit_error,
        "total": float(rows) if unweighted else problem.total,
        "rows": rows,
        "constant": bool(intercept),
        "condition": found.condition,
        "log_weights": 0.0 if unweighted else float(parallel.sum_rows(np.log(problem.weights))),
        "mass": float(rows) if unweighted else float(parallel.sum_rows(problem.weights)),
    }
    if found.null is not None and found.root.size <= LARGEST_ROOT:
        null, left = found.null, np.zeros(found.null.shape[1])
        if len(left) and rows > found.rank + 1:  # else there are no intervals
            left = slack(problem.X, null, -found.mean @ null)
        facts |= {"null": null, "slack": left, "root": found.root}
        facts |= {"centre": found.centre, "drift": found.drift}
    return facts


def _half_sum(found: Any) -> float:
    """Half the sum of squared errors of all targets; the largest float if that overflows."""
    squares = zip(found.residual_ss.tolist(), found.exponent.tolist())
    try:
        return 0.5 * sum(math.ldexp(value, 2 * int(exponent)) for value, exponent in squares)
    except OverflowError:
        return sys.float_info.max


class LinearRegression(LinearPredictor):
    """Least squares: the coefficients b and intercept b0 that minimise

        sum_i w_i (y_i - b0 - x_i . b)^2

    solved directly and refined with residuals in double-double arithmetic, so that the result is
    as exact as the data. If columns are combinations of others, the shortest b is taken and
    `summary()` names them. Categories enter as differences from their first level.

    Examples
    --------
    >>> from pellucid.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[1.0], [2.0], [3.0], [4.0]], [2.0, 3.0, 5.0, 8.0])
    >>> model.coef_, model.intercept_
    (array([2.]), np.float64(-0.5))
    >>> print(model.summary())  # doctest: +ELLIPSIS
    Least squares...
    """

    copy_X: bool = shared.COPY_X
    tol: float = param(
        1e-6,
        Real(0, None),
        "Relative accuracy for sparse tables that are too wide for a direct solution. The solver 'gd' "
        "stops when the coefficients move less than tol.",
    )
    n_jobs: int | None = shared.N_JOBS
    positive: bool = POSITIVE
    solver: str = param(
        "auto",
        Choice("auto", "gd"),
        "'auto' solves directly. 'gd' is plain gradient descent from 0, which is easy to watch.",
        last=True,
    )
    max_iter: int = param(
        1000, Integer(1), "Largest number of iterations of the solver 'gd'.", last=True
    )
    step: float | None = SQUARES_STEP

    rank_: int = learned("Rank of the centred columns; direct solutions only.")
    singular_: np.ndarray = learned(
        "Singular values of the centred columns; direct solutions only."
    )
    aliased_: np.ndarray = learned(
        "Positions in `terms_` of the columns that are combinations of others; direct solutions only."
    )
    n_iter_: int = learned("Number of iterations of the solver 'gd'; 1 for direct solutions.")
    history_: dict[str, np.ndarray] = learned(
        f"{shared.HISTORY} The objective is half the sum of squared errors; direct solutions have one "
        "row."
    )
    inference_: dict[str, Any] = learned(
        "Statistics from which `summary` and `predict_interval` are computed; direct solutions only."
    )

    _several_targets = True
    _shares_rows = property(lambda self: self.solver == "auto" and not self.positive)
    _no_steps = "it is solved directly. Use solver='gd' to watch gradient descent."
    _target = "several"
    _invariant = ("weight scale", "column scale")

    def _coding(self) -> str:
        return "onehot" if self.positive else "reference"

    def _fit(self, problem: Problem) -> dict[str, Any]:
        if self.solver == "gd":
            from pellucid.linear_model._ridge.descent import descend_ridge

            return descend_ridge(self, problem, 0.0)
        Y = problem.y.reshape(problem.n, -1)
        with parallel.using(self.n_jobs):
            if self.positive:
                learned = self._fit_positive(problem, Y)
            elif not isinstance(problem.X, np.ndarray) and problem.n * problem.p**2 > DIRECT_WORK:
                learned = self._fit_iteratively(problem, Y)
            else:
                learned = self._fit_directly(problem, Y)
        _check_size(learned["coef_"], problem)
        value = learned.pop("objective")
        learned["history_"] = {"iteration": np.ones(1), "objective": np.array([value])}
        learned["n_iter_"] = 1
        if problem.y.ndim == 1:
            learned["coef_"] = learned["coef_"][0]
            learned["intercept_"] = float(learned["intercept_"][0])
        if not self.fit_intercept:
            learned["intercept_"] = 0.0
        return learned

    def _fit_directly(self, problem: Problem, Y: np.ndarray) -> dict[str, Any]:
        from pellucid.numerics.least_squares import least_squares

        found = least_squares(problem.X, Y, problem.weights, self.fit_intercept)
        return {
            "coef_": found.coef,
            "intercept_": found.intercept,
            "means_": found.mean,
            "rank_": found.rank,
            "singular_": found.singular,
            "aliased_": found.aliased,
            "status_": _status(found.aliased, problem),
            "inference_": _facts(found, problem, self.fit_intercept),
            "objective": _half_sum(found),
        }

    def _fit_positive(self, problem: Problem, Y: np.ndarray) -> dict[str, Any]:
        from pellucid.numerics.constrained import nonnegative_least_squares

        coef, intercept = nonnegative_least_squares(
            problem.X, Y, problem.weights, self.fit_intercept
        )
        means = problem.table.T @ (problem.weights / problem.weights.sum())
        status = Status("ok", "Solved by active sets with coefficients >= 0.")
        return {
            "coef_": coef, "intercept_": intercept, "status_": status,
            "means_": means if self.fit_intercept else np.zeros(problem.p),
            "objective": self._objective(problem, Y, coef, intercept),
        }  # fmt: skip

    def _fit_iteratively(self, problem: Problem, Y: np.ndarray) -> dict[str, Any]:
        from pellucid.numerics.constrained import iterative_least_squares

        coef, intercept, means, status = iterative_least_squares(
            problem.X, Y, problem.weights, self.fit_intercept, self.tol
        )
        return {
            "coef_": coef, "intercept_": intercept, "means_": means, "status_": status,
            "objective": self._objective(problem, Y, coef, intercept),
        }  # fmt: skip

    def _objective(self, problem: Problem, Y: np.ndarray, coef: Any, intercept: Any) -> float:
        from pellucid.linear_model._ridge.solver import objective

        b0 = intercept if self.fit_intercept else np.zeros(len(coef))
        return objective(problem.X, Y, problem.weights, np.zeros(len(coef)), (coef, b0, None))

    def _check_state(self) -> None:
        """Refuse a model file whose arrays do not match its columns or each other."""
        super()._check_state()
        if "inference_" not in vars(self):
            return
        k, p = np.atleast_2d(self.coef_).shape
        expect_number(self, "rank_", 0)
        expect_positions(self, "aliased_", p)
        kept = expect_entries(
            self, "inference_", residual_ss=(k,), total_ss=(k,), exponent=(k,), unit_error=(p + 1,),
            total=(), rows=(), constant=(), condition=(), log_weights=(), mass=(),
        )  # fmt: skip
        if not (kept["total"] > 0 and kept["rows"] > 0 and kept["mass"] > 0):
            raise DataError("it has no training rows")
        if not isinstance(kept["constant"], bool | np.bool_):
            raise DataError("it does not say whether its columns hold a constant")
        if "root" in kept:
            expect_entries(self, "inference_", root=(p, None), null=(p, None), centre=(p,))
            slack, drift = kept["null"].shape[1:], kept["root"].shape[1:]
            expect_entries(self, "inference_", slack=slack, drift=drift)

    def predict_interval(
        self, X: Any, level: float = 0.95, *, kind: str = "observation", weights: str = "frequency"
    ) -> np.ndarray:
        """Low and high end of the interval that covers a new observation (or, with kind="mean",
        its mean) in a share `level` of samples: (n, 2), or (n, targets, 2).
        """
        from pellucid.linear_model._inference.intervals import check_interval, least_squares_ends

        self._check_fitted()
        check_interval(level, kind)
        return self._answer(lambda X: least_squares_ends(self, X, level, kind, weights), X)

    def summary(
        self,
        *,
        errors: str = "classical",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        weights: str = "frequency",
        level: float = 0.95,
    ) -> Any:
        """Estimates with standard errors, t, p and confidence intervals, R2 and the F test.

        `errors`: "classical" (equal variances), "HC0", "HC1", "HC2", "HC3" (any variances) or
        "clustered" (rows of one of the `groups` depend on each other). All but the first need the
        rows of the fit again: X, y, and sample_weight if there were weights.
        `weights="frequency"` counts a weight k as k rows; `"precision"` counts each row once and
        takes weights as inverse variances (WLS), as it does with weights that are not whole.
        """
        from pellucid.linear_model._inference.estimates import least_squares
        from pellucid.linear_model._inference.summary_table import Request, summarise

        self._check_fitted()
        request = Request(errors, X, y, sample_weight, None, groups, weights, level)
        return summarise(self, request, least_squares)
