"""`LinearSVC`: the widest straight margin, for many rows and columns."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.data.class_weights import class_weighted
from pellucid.errors import ParameterError
from pellucid.parameters import Choice, ClassWeight
from pellucid.svm.linear_base import LINEAR_PARAMETERS, LinearMachine


class LinearSVC(LinearMachine, Classifier):
    """Linear support vector classifier: minimise R(w, b) + sum_i C_i max(0, 1 - y_i (w x_i + s b))**q.

    R is |w, b|**2 / 2 or |w, b|_1, s is `intercept_scaling` (the intercept s b is penalised, less the
    larger s is), q is 2 for the squared hinge and 1 for the hinge, C_i = C times the weight of the row
    and of its class. Several classes: each against the rest, or all in one machine (Crammer and Singer):
    minimise 1/2 sum_k |w_k, b_k|**2 + sum_i C_i max_k (1[k != y_i] + score_k(x_i) - score_{y_i}(x_i)).

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The hinge goes with "l2" only.
    dual : "auto" or bool, default="auto"
        Accepted for compatibility: the solver follows from penalty and loss. Newton's method to the last
        digit for "l2" and the squared hinge, descent along the dual for the hinge, Newton steps on the
        free coefficients for "l1".
    tol : float, default=1e-4
        Violation of the conditions allowed (hinge and "l1").
    C : float, default=1.0
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        "crammer_singer" is one machine for all classes; penalty, loss and dual are then of no effect.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0
    class_weight : dict {label: weight}, "balanced" or None
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
    coef_ : (1, terms) for two classes, else (classes, terms); intercept_, classes_, means_
    n_iter_ : iterations of the slowest class.
    history_ : the objective of each iteration; for the hinge, violation and duality gap too.
    status_ : how the solver ended.
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.svm import LinearSVC
    >>> model = LinearSVC(C=10.0).fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[0.5], [2.5]]).tolist()
    ['no', 'yes']
    """

    _parameters = {
        "penalty": Choice("l1", "l2"),
        "loss": Choice("hinge", "squared_hinge"),
        "multi_class": Choice("ovr", "crammer_singer"),
        "class_weight": ClassWeight,
        **LINEAR_PARAMETERS,
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.standardize = standardize
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the margin; weight k counts as k equal rows."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.svm import linear_dual, primal

        assert problem.classes is not None
        if self.penalty == "l1" and self.loss == "hinge" and self.multi_class == "ovr":
            raise ParameterError(
                "The combination of penalty='l1' and loss='hinge' is not supported. Use "
                "loss='squared_hinge', or penalty='l2'."
            )
        K = len(problem.classes)
        X, scale, shift, means = self._seen(problem)
        prices = self._prices(class_weighted(self.class_weight, problem))
        if self.multi_class == "crammer_singer":
            return self._joint(X, problem.y, prices, K, scale, shift) | {"means_": means}

        def one(k: int) -> Any:
            line = primal.Line(X, np.where(problem.y == k, 1.0, -1.0), prices, self._bias(), np.nan)
            name = f"LinearSVC {k}"
            if self.penalty == "l1":
                return primal.lasso_squared(line, self.tol, self.max_iter, name)
            if self.loss == "hinge":
                return linear_dual.ridge_absolute(line, self.tol, self.max_iter, name)
            return primal.ridge_squared(line, self.max_iter, name)

        tasks = [1] if K == 2 else range(K)
        found = parallel.interruptible(lambda: parallel.map(one, tasks) if K > 2 else [one(1)])
        return self._learned_line(found, scale, shift) | {"means_": means}

    def _joint(
        self,
        X: Any,
        y: np.ndarray,
        prices: np.ndarray,
        K: int,
        scale: np.ndarray,
        shift: np.ndarray,
    ) -> dict[str, Any]:
        """One machine for all classes; of two, the difference of their weights."""
        from pellucid.svm import crammer_singer

        found = parallel.interruptible(
            crammer_singer.solve, X, y, prices, K, self._bias(), self.tol, self.max_iter
        )
        V = found.x[1:] - found.x[:1] if K == 2 else found.x
        rows = [replace(found, x=v) for v in V]
        return self._learned_line(rows, scale, shift) | {"history_": found.history}

    def _scores(self, X: Any) -> np.ndarray:
        return self._line_scores(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes (n, K); for two classes that of the second (n,)."""
        return self._answer(self._scores, X)

    def _explain(self, X: Any) -> dict[str, Any]:
        return self._line_parts(X, "votes")

    def _check_state(self) -> None:
        """Refuse arrays that do not belong together (model files)."""
        from pellucid.persist.fitted_state import expect_array, n_terms

        K, p = len(self.classes_), n_terms(self)
        expect_array(self, "coef_", 1 if K == 2 else K, p, finite=True)
        expect_array(self, "intercept_", 1 if K == 2 else K, finite=True)
        expect_array(self, "means_", p, finite=True)
