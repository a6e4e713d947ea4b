"""`LinearSVR`: linear support vector regression, for many rows and columns."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.parameters import Choice, Real, changed, learned, param, shared
from pellucid.records import converting
from pellucid.svm.linear_base import LinearSVM, is_short


class LinearSVR(LinearSVM, Regressor):
    """Linear support vector regression: minimise |w, b|**2 / 2 + sum C_i (|e_i| - epsilon)+**q.

    e_i = y_i - w x_i - s b, s is `intercept_scaling`, q is 1, or 2 for the squared loss, and C_i is C
    times the weight of the row. The intercept is s b. The solver is coordinate descent on the dual for
    q = 1 and Newton's method for q = 2.

    Examples
    --------
    >>> from pellucid.svm import LinearSVR
    >>> model = LinearSVR(C=100.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(2)
    array([7.])
    """

    epsilon: float = param(
        0.0, Real(0, None, "left"), "Largest error that costs nothing.", before="tol"
    )
    tol: float = changed(
        description="Largest accepted violation of the optimality conditions for the loss "
        "'epsilon_insensitive', times the largest target if that is below 1. Newton's method, used for "
        "the squared loss, solves to full precision."
    )
    loss: str = param(
        "epsilon_insensitive",
        Choice("epsilon_insensitive", "squared_epsilon_insensitive"),
        "Loss of an error beyond epsilon: its size, or its square.",
        after="C",
    )
    dual: Any = changed(after="intercept_scaling")

    coef_: np.ndarray = learned("Coefficients, shape (n_terms,).")
    intercept_: np.ndarray = learned("Intercept, shape (1,).")
    n_iter_: int = learned(shared.N_ITER)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.svm import linear_dual, primal, squared_dual

        X, scale, shift, means = self._prepared(problem)
        costs = self._costs(problem.weights)
        linear = primal.LinearProblem(X, problem.y, costs, self._bias(), float(self.epsilon))

        def one_row(state: Mapping[str, Any]) -> dict[str, np.ndarray]:
            found = self._coefficients(state["x"][None], scale, shift)
            return found | {"coef_": found["coef_"][0]}

        with converting(one_row):
            absolute = self.loss == "epsilon_insensitive"
            solve = linear_dual.ridge_absolute if absolute else squared_dual.ridge_squared
            found = parallel.interruptible(
                solve, linear, self.tol, self.max_iter, "LinearSVR", short=is_short(X)
            )
        learned = self._learned_from([found], scale, shift)
        return learned | {"coef_": learned["coef_"][0], "means_": means}

    def _predict(self, X: Any) -> np.ndarray:
        return self._linear_scores(X)

    def _explain(self, X: Any) -> dict[str, Any]:
        return self._linear_parts(X, "response")

    def _check_state(self) -> None:
        self._check_linear()
