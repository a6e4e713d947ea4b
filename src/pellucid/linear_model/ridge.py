"""Ridge regression, and the classifier by ridge regression on the classes."""

from typing import Any

import numpy as np

from pellucid import conformal
from pellucid.data import Problem
from pellucid.data.class_weights import class_weighted
from pellucid.errors import DataError
from pellucid.linear_model.base import (
    CLASS_FACTORS,
    POSITIVE,
    SQUARES_STEP,
    LinearClassifier,
    LinearPredictor,
    check_size,
)
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.parameters import (
    Array,
    Boolean,
    Choice,
    Ignored,
    Integer,
    Real,
    learned,
    number_list,
    param,
    positional,
    shared,
)

# Every solver finds the same optimum; scikit-learn's names are accepted.
SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")


class Ridge(LinearPredictor):
    """Least squares with small coefficients: b and b0 minimise

        sum_i w_i (y_i - b0 - x_i . b)^2 + alpha |b|^2

    The intercept b0 is never penalised. Solved directly, and refined where columns are nearly
    dependent; tables with more columns than rows are solved in as many unknowns as rows.

    Examples
    --------
    >>> from pellucid.linear_model import Ridge
    >>> model = Ridge(alpha=5.0).fit([[1.0], [2.0], [3.0], [4.0]], [2.0, 3.0, 5.0, 8.0])
    >>> model.coef_.round(12), round(model.intercept_, 12)
    (array([1.]), np.float64(2.0))
    """

    alpha: Any = positional(
        default=1.0,
        check=Real(0, None) | Array,
        description="Strength of the penalty, one number or one per target; 0 is least squares.",
        kw_only=False,
    )
    copy_X: bool = shared.COPY_X
    max_iter: int | None = param(
        None,
        None | Integer(1),
        "Largest number of iterations of the solver 'gd' (None: 1000) and for very wide sparse tables. "
        "Direct solutions do not iterate.",
    )
    tol: float = param(
        1e-4,
        Real(0, None),
        "The solver 'gd' stops when the coefficients move less than tol. Very wide sparse tables are "
        "solved to a relative accuracy of tol / 1e6.",
    )
    solver: str = param(
        "auto",
        Choice(*SOLVERS, "gd"),
        "All but 'gd' name the same direct solution. 'gd' is plain gradient descent, which is easy to "
        "watch.",
    )
    positive: bool = POSITIVE
    random_state: Any = shared.NO_RANDOM_STATE
    step: float | None = SQUARES_STEP
    standardize: bool = shared.STANDARDIZE

    n_iter_: Any = learned("Number of iterations; 1 for direct solutions.")
    solver_: str = learned("Name of the solver, as given.")
    history_: dict[str, np.ndarray] = learned(shared.HISTORY)

    _several_targets = True
    _no_steps = "it is solved directly. Use solver='gd' to watch gradient descent."
    _target = "several"

    _shares_rows = property(
        lambda self: self.solver != "gd" and not self.positive and not self.standardize
    )

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return penalised_evenly(self, bool(np.any(self.alpha)), problem, self._fit_columns)

    def _fit_columns(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._ridge.descent import descend_ridge
        from pellucid.linear_model._ridge.solver import fitted

        Y = problem.y.reshape(problem.n, -1)
        alpha = self._strengths(Y.shape[1])
        if self.solver == "gd":
            return descend_ridge(self, problem, float(alpha[0])) | {"solver_": "gd"}
        found, how = fitted(self, problem, Y, problem.weights, alpha, by_products=True)
        coef, intercept, means = found
        return self._finished(coef, intercept, problem.y) | {"means_": means} | how

    def _strengths(self, targets: int) -> np.ndarray:
        alpha = number_list("Ridge", "alpha", self.alpha, Real(0, None))
        if alpha.size not in (1, targets):
            raise DataError(
                f"Number of targets and number of penalties do not correspond: {alpha.size} != "
                f"{targets}"
            )
        return np.full(targets, alpha)


class RidgeClassifier(LinearClassifier):
    """Least squares on the classes. For each class c, b and b0 minimise

        sum_i w_i (y_ic - b0 - x_i . b)^2 + alpha |b|^2,    y_ic = 1 if row i is of class c, else -1

    and a row belongs to the class of the largest value. The fit is fast and exact, but rows far on
    the right side of the plane count as much as rows on the wrong side.

    Examples
    --------
    >>> from pellucid.linear_model import RidgeClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> RidgeClassifier().fit(X, y).predict([[0.5], [2.5]]).tolist()
    ['no', 'yes']
    """

    alpha: float = positional(
        default=1.0,
        check=Real(0, None),
        description="Strength of the penalty; 0 is least squares.",
        kw_only=False,
    )
    copy_X: bool = shared.COPY_X
    max_iter: int | None = param(
        None,
        None | Integer(1),
        "Largest number of iterations for very large sparse tables; all others are solved directly. "
        "None allows ten times the smaller of the numbers of rows and columns.",
    )
    tol: float = param(
        1e-4,
        Real(0, None),
        "Very large sparse tables are solved iteratively, to a relative accuracy of tol / 1e6.",
    )
    class_weight: Any = CLASS_FACTORS
    solver: str = param("auto", Ignored("all solvers find the same optimum.", Choice(*SOLVERS)))
    positive: bool = param(False, Boolean, "Whether to allow no negative coefficient.")
    random_state: Any = shared.NO_RANDOM_STATE
    standardize: bool = shared.STANDARDIZE

    n_iter_: np.ndarray = learned(shared.N_ITER)
    solver_: str = learned("The value of `solver`.")
    history_: dict[str, np.ndarray] = learned(shared.HISTORY)

    _proba = conformal.calibrated_probabilities

    _shares_rows = property(lambda self: not self.positive and not self.standardize)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        """Fit, with columns divided by their standard deviations if `standardize` is set."""
        return penalised_evenly(self, self.alpha > 0, problem, self._fit_columns)

    def _fit_columns(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._ridge.solver import fitted

        assert problem.classes is not None
        K = len(problem.classes)
        Y = np.full((problem.n, K if K > 2 else 1), -1.0)
        own = np.arange(problem.n) if K > 2 else np.flatnonzero(problem.y)
        Y[own, problem.y if K > 2 else 0] = 1.0
        weights = class_weighted(self.class_weight, problem)
        alpha = np.full(Y.shape[1], float(self.alpha))
        found, how = fitted(self, problem, Y, weights, alpha, by_products=True)
        coef, intercept, means = found
        check_size(coef, intercept)
        how["n_iter_"] = np.full(len(coef), how["n_iter_"], dtype=np.int32)
        return {"coef_": coef, "intercept_": intercept, "means_": means} | how
