"""`LinearSVR`: a straight tube around the targets, for many rows and columns."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.parameters import Choice, Real
from pellucid.svm.linear_base import LINEAR_PARAMETERS, LinearMachine


class LinearSVR(LinearMachine, Regressor):
    """Linear support vector regression: minimise |w, b|**2 / 2 + sum C_i (|e_i| - epsilon)+**q.

    e_i = y_i - w x_i - s b, s is `intercept_scaling` (the intercept s b is penalised, less the larger s
    is), q is 1, or 2 for the squared loss, C_i = C times the weight of the row.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half width of the tube.
    tol : float, default=1e-4
        Violation of the conditions allowed (q = 1), in units of the largest target if that is below 1.
    C : float, default=1.0
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0
    dual : "auto" or bool, default="auto"
        Accepted for compatibility: the solver follows from the loss. Descent along the dual for q = 1,
        Newton's method to the last digit for q = 2.
    verbose : int, default=0
        Accepted for compatibility; see `pellucid.watching`.
    random_state : int, generator or None
        Accepted for compatibility: the order of rows is always the same.
    max_iter : int, default=1000
    standardize : bool, default=False
        Subtract the means of the columns and divide numbers by their standard deviations first (levels,
        flags of missing cells and words keep their unit; sparse columns, and without an intercept, are
        only divided). `coef_` and `intercept_` suit the given columns.
    table : Table, optional

    Attributes
    ----------
    coef_ : (terms,); intercept_, means_
    n_iter_ : iterations.
    history_ : the objective of each iteration; for q = 1, violation and duality gap too.
    status_ : how the solver ended.
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.svm import LinearSVR
    >>> model = LinearSVR(C=100.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(2)
    array([7.])
    """

    _parameters = {
        "epsilon": Real(0, None, "left"),
        "loss": Choice("epsilon_insensitive", "squared_epsilon_insensitive"),
        **LINEAR_PARAMETERS,
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: Any = "auto",
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.standardize = standardize
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the tube; weight k counts as k equal rows."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.svm import linear_dual, primal

        X, scale, shift, means = self._seen(problem)
        prices = self._prices(problem.weights)
        line = primal.Line(X, problem.y, prices, self._bias(), float(self.epsilon))
        if self.loss == "epsilon_insensitive":
            found = parallel.interruptible(
                linear_dual.ridge_absolute, line, self.tol, self.max_iter, "LinearSVR"
            )
        else:
            found = parallel.interruptible(primal.ridge_squared, line, self.max_iter, "LinearSVR")
        learned = self._learned_line([found], scale, shift)
        return learned | {"coef_": learned["coef_"][0], "means_": means}

    def _predict(self, X: Any) -> np.ndarray:
        return self._line_scores(X)

    def _explain(self, X: Any) -> dict[str, Any]:
        return self._line_parts(X, "response")

    def _check_state(self) -> None:
        """Refuse arrays that do not belong together (model files)."""
        from pellucid.persist.fitted_state import expect_array, n_terms

        p = n_terms(self)
        expect_array(self, "coef_", p, finite=True)
        expect_array(self, "intercept_", 1, finite=True)
        expect_array(self, "means_", p, finite=True)
