"""Logistic regression for two and more classes."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import ProbabilisticClassifier
from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError
from pellucid.numerics.links import expit
from pellucid.numerics.losses import softmax
from pellucid.numerics.scores import linear_scores
from pellucid.parameters import (
    Boolean,
    Choice,
    Either,
    Integer,
    Jobs,
    Nothing,
    RandomState,
    Real,
    Test,
    Verbose,
)
from pellucid.records import Status

# Every solver finds the same optimum; scikit-learn's other names are understood.
SOLVERS = {
    "auto": "auto",
    "cd": "cd",
    "gd": "gd",
    "lbfgs": "lbfgs",
    "newton": "newton",
    "newton-cg": "newton",
    "newton-cholesky": "newton",
    "liblinear": "auto",
    "sag": "auto",
    "saga": "auto",
}


# Solvers that know absolute values: all of these name coordinate descent.
L1_SOLVERS = ("auto", "cd", "saga", "liblinear")


def _means(X: Any, weights: np.ndarray) -> np.ndarray:
    """Weighted means of the columns; halves are added, because whole sums may overflow."""
    half = X.T @ (weights / (2 * weights.max()) / (weights / weights.max()).sum())
    return 2 * np.clip(half, -np.finfo(float).max / 2, np.finfo(float).max / 2)


class LogisticRegression(ProbabilisticClassifier):
    """Logistic regression: the coefficients that minimise

        sum_i w_i log(1 + exp(-s_i (b0 + x_i . b))) + |b|^2 / (2 C)      (two classes, s = -1 or 1)

        -sum_i w_i log softmax(b0 + B x_i)_{y_i} + sum_k |b_k|^2 / (2 C)         (more classes)

    With `l1_ratio` r the penalty is (r |b|_1 + (1 - r) |b|^2 / 2) / C instead, and coefficients of
    useless columns are exactly 0. The intercept is never penalised. Columns in bad units are scaled
    inside; the penalty stays in the user's units. Without a penalty (`C=np.inf`), classes that a
    plane separates are reported.

    Parameters
    ----------
    C : float > 0, default=1.0
        Inverse strength of the penalty; `np.inf` for none.
    l1_ratio : float in [0, 1], default=0.0
        Share of the absolute values in the penalty: 0 is ridge, 1 the lasso, between them the
        elastic net.
    dual : False
    tol : float, default=1e-4
        "lbfgs" stops when no slope of the mean objective exceeds it, "gd" when the coefficients
        move less than it; "newton" always goes to the last digit.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1, without effect
    class_weight : dict {label: weight}, "balanced" or None
    random_state : without effect, no solver draws
    solver : {"auto", "newton", "lbfgs", "cd", "gd"}, default="auto"
        "auto" is Newton's method unless there are many coefficients, and coordinate descent ("cd")
        within Newton steps if l1_ratio > 0. "gd" is plain gradient
        descent, for watching. scikit-learn's other names are accepted for the same optimum.
    max_iter : int, default=100
    verbose : without effect; see `pellucid.watching`
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    n_jobs : int or None
        Number of threads; results do not depend on it.
    step : float or None, keyword-only
        Step of "gd" along the gradient of the mean objective; None takes one that cannot overshoot.
    table : Table, optional

    Attributes
    ----------
    coef_ : (1, p), or (classes, p), in the order of `terms_`
    intercept_ : (1,), or (classes,)
    classes_ : labels in sorted order
    n_iter_ : (1,)
    history_ : objective, gradient_norm and parameter_norm by iteration
    status_ : how the solver ended
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict([[0.5], [2.5]]).tolist()
    ['no', 'yes']
    >>> model.status_.code
    'converged'
    """

    _takes_text = True
    _parameters = {
        "C": Real(0, None, "right"),
        "l1_ratio": Real(0, 1, "both"),
        "dual": Choice(False),
        "tol": Real(0, None),
        "fit_intercept": Boolean,
        "intercept_scaling": Real(0, None),
        "class_weight": Either(
            Nothing, Choice("balanced"), Test(lambda v: isinstance(v, dict), "a dict")
        ),
        "random_state": RandomState,
        "solver": Choice(*SOLVERS),
        "max_iter": Integer(0),
        "verbose": Verbose,
        "warm_start": Boolean,
        "n_jobs": Jobs,
        "step": Either(Nothing, Real(0, None, "neither")),
    }

    coef_: np.ndarray
    intercept_: np.ndarray
    classes_: np.ndarray
    means_: np.ndarray
    n_iter_: np.ndarray
    history_: dict[str, np.ndarray]
    status_: Status

    def __init__(
        self,
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "auto",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        step: float | None = None,
        table: Any = None,
    ) -> None:
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.step = step
        self.table = table

    def _coding(self) -> str:
        return "reference" if np.isinf(self.C) else "onehot"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the coefficients."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model.logistic_solvers import Setting

        assert problem.classes is not None
        K = len(problem.classes)
        sparse = self._sparse()
        weights = problem.weights * self._class_weights(problem)[problem.y]
        setting = Setting(
            1.0 / self.C, self.fit_intercept, self.tol, self.max_iter, self.step,
            self._last_state(K, problem.p),
        )  # fmt: skip
        with parallel.using(self.n_jobs), parallel.one_blas_thread():
            found = self._solve(problem, weights, K, setting, sparse)
        return {
            "coef_": np.ascontiguousarray(found.x[:, :-1]),
            "intercept_": found.x[:, -1].copy(),
            "means_": _means(problem.X, weights),
            "n_iter_": np.array([max(found.n_iter, 1)], dtype=np.int32),
            "history_": found.history,
            "status_": found.status,
        }

    def _sparse(self) -> bool:
        """Whether the penalty has absolute values; a solver that cannot know them is an error."""
        if np.isinf(self.C) or (self.l1_ratio == 0 and self.solver != "cd"):
            if self.solver == "cd":
                raise ParameterError("solver='cd' needs a penalty: give a finite C.")
            return False
        if self.solver not in L1_SOLVERS:
            raise ParameterError(
                f"solver={self.solver!r} cannot have l1_ratio={self.l1_ratio}. With an L1 penalty "
                f"use one of {list(L1_SOLVERS)}; {self.solver!r} works with l1_ratio=0."
            )
        return True

    def _solve(
        self, problem: Problem, weights: np.ndarray, K: int, setting: Any, sparse: bool
    ) -> Any:
        from pellucid.linear_model import logistic_solvers as smooth
        from pellucid.linear_model.logistic_sparse import solve_sparse

        if sparse:
            return solve_sparse(problem.X, problem.y, weights, K, setting, float(self.l1_ratio))
        return smooth.solve(problem.X, problem.y, weights, K, SOLVERS[self.solver], setting)

    def _last_state(self, K: int, p: int) -> np.ndarray | None:
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        if self.coef_.shape != (1 if K == 2 else K, p):
            return None
        return np.column_stack([self.coef_, self.intercept_])

    def _class_weights(self, problem: Problem) -> np.ndarray:
        """One factor per class."""
        assert problem.classes is not None
        K = len(problem.classes)
        if self.class_weight is None:
            return np.ones(K)
        if isinstance(self.class_weight, str):
            counts = np.bincount(problem.y, problem.weights, minlength=K)
            return problem.weights.sum() / (K * counts)
        labels = problem.classes.tolist()
        strange = [label for label in self.class_weight if label not in labels]
        if strange:
            raise DataError(
                f"The classes, {strange}, of class_weight are not among the labels {labels}."
            )
        return np.array([float(self.class_weight.get(label, 1.0)) for label in labels])

    def _check_state(self) -> None:
        """Refuse coefficients that do not belong to the columns and classes (model files)."""
        from pellucid.persist.state import expect_array, n_terms

        K, p = len(self.classes_), n_terms(self)
        rows = 1 if K == 2 else K
        expect_array(self, "coef_", rows, p, finite=True)
        expect_array(self, "intercept_", rows, finite=True)
        expect_array(self, "means_", p, finite=True)

    def decision_function(self, X: Any) -> np.ndarray:
        """Log-odds of the second class (n,), or scores of all classes (n, K)."""
        return self._scores(self._encoded(X))

    def _scores(self, X: Any) -> np.ndarray:
        if len(self.classes_) == 2:
            return linear_scores(X, self.coef_[0], self.intercept_[0])
        return linear_scores(X, self.coef_, self.intercept_)

    def _proba(self, X: Any) -> np.ndarray:
        scores = self._scores(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(scores)

    def _codes(self, X: Any) -> np.ndarray:
        scores = self._scores(X)
        return (scores > 0).astype(np.int32) if scores.ndim == 1 else scores.argmax(axis=1)

    def _explain(self, X: Any) -> dict[str, Any]:
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        scores = self._scores(X)
        return {
            "base": self.coef_ @ self.means_ + self.intercept_,
            "contributions": (dense - self.means_)[:, :, None] * self.coef_.T,
            "prediction": scores.reshape(len(scores), -1),
            "scale": "log-odds",
            "method": "coefficient times distance from the training mean",
        }
