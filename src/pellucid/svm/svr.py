"""`SVR`: support vector regression with a kernel."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.parameters import Real, changed, param
from pellucid.records import Recorder, converting
from pellucid.svm.kernel_base import SHORT_ROWS, KernelSVM


class SVR(KernelSVM, Regressor):
    """Support vector regression: minimise 1/2 |w|**2 + sum_i C_i max(0, |y_i - w f(x_i) - b| - epsilon).

    f is the feature map of the kernel and C_i is C times the weight of the row. Errors up to epsilon
    cost nothing, and rows with smaller errors are not support vectors. The dual problem has two
    multipliers per row. It is solved by steps on pairs of multipliers until no pair violates the
    optimality conditions by more than `tol`.

    Examples
    --------
    >>> from pellucid.svm import SVR
    >>> model = SVR(kernel="linear", C=100, epsilon=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(3)
    array([7.])
    """

    tol: float = changed(
        description="Largest accepted violation of the optimality conditions, times the largest target "
        "if that is below 1."
    )
    C: float = param(
        1.0,
        Real(0, None, "right"),
        "Cost of an error beyond epsilon, per unit. `np.inf` allows no such error: fit raises an error "
        "if no function of the kernel comes within epsilon of all targets.",
        after="tol",
    )
    epsilon: float = param(
        0.1, Real(0, None, "left"), "Largest error that costs nothing.", after="C"
    )

    def _solve(self, problem: Problem) -> dict[str, Any]:
        X, facts = self._prepared(problem, problem.weights)
        n, y = problem.n, problem.y
        with converting(
            lambda at: self._single(problem, X, facts, at["a"][:n] - at["a"][n:], at["rho"])
        ):
            recorder = Recorder("SVR")
        limits = self._limits(problem.weights)
        found = parallel.interruptible(
            lambda: self._minimum(
                X, facts["gamma_"], recorder, np.isinf(self.C), float(np.abs(y).max()),
                signs=np.repeat([1.0, -1.0], n),
                linear=np.concatenate([self.epsilon - y, self.epsilon + y]),
                limits=np.tile(limits, 2), start=np.zeros(2 * n), base=np.tile(np.arange(n), 2),
            ),
            short=n <= SHORT_ROWS,
        )  # fmt: skip
        if found.status.code == "not_separable":
            raise DataError(
                "C=inf allows no error beyond epsilon, but no function of this kernel comes within "
                f"epsilon={self.epsilon:g} of all targets. Use a finite C, a larger epsilon, or a more "
                "flexible kernel."
            )
        a, _, rho = found.x
        return self._learned_single(problem, X, facts, a[:n] - a[n:], rho, found, recorder)

    def _predict(self, X: Any) -> np.ndarray:
        return self._sums(X, self.dual_coef_.T)[:, 0] + self.intercept_[0]

    def _explain(self, X: Any) -> Any:
        return self._explain_single(X, self._predict(X), "response")
