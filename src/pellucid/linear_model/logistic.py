"""Logistic regression for two and more classes."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem, Wishes
from pellucid.data.class_weights import class_weighted
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model._logistic.absent_classes import (
    all_classes,
    present_classes,
    without_absent,
)
from pellucid.linear_model._logistic.base import L1_SOLVERS, SOLVERS, LogisticModel
from pellucid.linear_model.linear_classifier import column_means
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.parameters import (
    Boolean,
    Choice,
    ClassWeight,
    Either,
    Integer,
    Jobs,
    Nothing,
    RandomState,
    Real,
    Verbose,
)


class LogisticRegression(LogisticModel):
    """Logistic regression: the coefficients that minimise

        sum_i w_i log(1 + exp(-s_i (b0 + x_i . b))) + |b|^2 / (2 C)      (two classes, s = -1 or 1)

        -sum_i w_i log softmax(b0 + B x_i)_{y_i} + sum_k |b_k|^2 / (2 C)         (more classes)

    With `l1_ratio` r the penalty is (r |b|_1 + (1 - r) |b|^2 / 2) / C instead, and coefficients of
    useless columns are exactly 0. The intercept is never penalised. Columns in bad units are scaled
    inside; the penalty stays in the user's units. Without a penalty (`C=np.inf`) there are standard
    errors (`summary`), and classes that some columns separate, wholly or in part, are reported with
    the names of these columns; `firth=True` has finite coefficients there too.

    Parameters
    ----------
    C : float > 0, default=1.0
        Inverse strength of the penalty; `np.inf` for none.
    l1_ratio : float in [0, 1], default=0.0
        Share of the absolute values in the penalty: 0 is ridge, 1 the lasso, between them the
        elastic net.
    dual : False
    tol : float, default=1e-4
        "lbfgs" stops when a step promises to lower the objective by less than a millionth of it,
        "gd" when the coefficients move less than it, "sgd" when a pass lowers the mean
        objective by less; "newton" always goes to the last digit.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1, without effect
    class_weight : dict {label: weight}, "balanced" or None
        A class of weight 0 is absent from the fit; it keeps its label, with a chance of 0.
    random_state : int, generator or None
        Order of the rows for "sgd"; no other solver draws.
    solver : {"auto", "newton", "lbfgs", "cd", "gd", "sgd"}, default="auto"
        "auto" is Newton's method unless there are both many coefficients and many rows, and
        coordinate descent ("cd") within Newton steps if l1_ratio > 0. "gd" is plain gradient
        descent, "sgd" descent by mini-batches, both for watching. scikit-learn's other names are
        accepted for the same optimum.
    max_iter : int, default=100
    verbose : without effect; see `pellucid.watching`
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    n_jobs : int or None
        Number of threads; results do not depend on it.
    step : float or None, keyword-only
        Step of "gd" along the gradient of the mean objective; None takes one that cannot overshoot.
    firth : bool, default=False, keyword-only
        Firth's bias-reduced fit: finite on separated classes too. Needs `C=np.inf`.
    multiclass : {"softmax", "one_vs_rest"}, default="softmax", keyword-only
        "one_vs_rest" fits every class against all others; probabilities are divided by their sum.
    tau0, kappa : float, default=10.0 and 1.0, keyword-only
        Step k of "sgd" is (tau0 + k)**-kappa; kappa lies in (0.5, 1].
    batch_size : int, default=200, keyword-only
        Rows of a step of "sgd".
    standardize : bool, default=False, keyword-only
        Penalise the coefficients of numbers divided by their deviation (levels stay 0 and 1);
        `coef_` is told in the user's units.
    table : Table, optional

    Attributes
    ----------
    coef_ : (1, p), or (classes, p), in the order of `terms_`
    intercept_ : (1,), or (classes,)
    classes_ : labels in sorted order
    n_iter_ : (1,), or (classes,) for one-vs-rest
    history_ : objective, gradient_norm, parameter_norm, learning_rate by iteration; the last is the
        step along the slope of "gd" and "sgd", of the others the part of their own step that was taken
    separating_ : positions in `terms_` of columns that separate classes, without a penalty
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

    _parameters = {
        "C": Real(0, None, "right"),
        "l1_ratio": Real(0, 1, "both"),
        "dual": Choice(False),
        "tol": Real(0, None),
        "fit_intercept": Boolean,
        "intercept_scaling": Real(0, None),
        "class_weight": ClassWeight,
        "random_state": RandomState,
        "solver": Choice(*SOLVERS),
        "max_iter": Integer(0),
        "verbose": Verbose,
        "warm_start": Boolean,
        "n_jobs": Jobs,
        "step": Either(Nothing, Real(0, None, "neither")),
        "firth": Boolean,
        "multiclass": Choice("softmax", "one_vs_rest"),
        "tau0": Real(0, None, "neither"),
        "kappa": Real(0.5, 1, "right"),
        "batch_size": Integer(1),
        "standardize": Boolean,
    }

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
        firth: bool = False,
        multiclass: str = "softmax",
        tau0: float = 10.0,
        kappa: float = 1.0,
        batch_size: int = 200,
        standardize: bool = False,
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
        self.firth = firth
        self.multiclass = multiclass
        self.tau0 = tau0
        self.kappa = kappa
        self.batch_size = batch_size
        self.standardize = standardize
        self.table = table

    def _coding(self) -> str:
        return "reference" if np.isinf(self.C) else "onehot"

    def _wishes(self) -> Wishes:
        """Mini-batches depend on the order of rows: then it is that of their hashes."""
        return replace(super()._wishes(), canonical_rows=self.solver == "sgd")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the coefficients."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return penalised_evenly(self, np.isfinite(self.C), problem, self._fit_columns)

    def _fit_columns(self, problem: Problem) -> dict[str, Any]:
        weights, K = class_weighted(self.class_weight, problem), problem.n_classes
        if self.class_weight is None or len(present := present_classes(problem, weights)) == K:
            return self._fit_classes(problem, weights)
        learned = self._fit_classes(*without_absent(problem, weights, present))
        x = np.column_stack([learned["coef_"], learned["intercept_"]])
        x = all_classes(x, present, K, self.multiclass == "one_vs_rest")
        learned |= {"coef_": np.ascontiguousarray(x[:, :-1]), "intercept_": x[:, -1].copy()}
        if "inference_" in learned:
            learned["inference_"] = learned["inference_"] | {"present": present}
        return learned

    def _fit_classes(self, problem: Problem, weights: np.ndarray) -> dict[str, Any]:
        """Of classes that all have rows of weight."""
        K, sparse = problem.n_classes, self._sparse()
        separate = self.multiclass == "one_vs_rest" and K > 2
        with parallel.using(self.n_jobs), parallel.one_blas_thread():
            found = [
                self._solve(problem, (problem.y == k).astype(np.int32), weights, 2, sparse, k)
                for k in range(K)
            ] if separate else [self._solve(problem, problem.y, weights, K, sparse)]  # fmt: skip
        x = np.concatenate([one.x for one in found])
        if not np.isfinite(x).all():
            raise DataError(
                "Coefficients are larger than the largest float, because numbers of X are tiny. "
                "Multiply the columns by 2**60 or so, or give a penalty (a finite C)."
            )
        bad = [one.status for one in found if not one.status.ok]
        return {
            "coef_": np.ascontiguousarray(x[:, :-1]),
            "intercept_": x[:, -1].copy(),
            "means_": column_means(problem.X, weights),
            "n_iter_": np.array([max(one.n_iter, 1) for one in found], dtype=np.int32),
            "history_": _one_history([one.history for one in found]),
            "status_": bad[0] if bad else found[0].status,
            **self._known(found, problem, weights),
        }

    def _known(self, found: list[Any], problem: Problem, weights: np.ndarray) -> dict[str, Any]:
        """Without a penalty: facts for inference, and the columns that separate the classes."""
        known = [one.inference for one in found if getattr(one, "inference", None) is not None]
        guilty = sorted({j for one in found for j in getattr(one, "separating", ())})
        if len(known) < len(found):
            return {"separating_": guilty}
        from pellucid.linear_model._inference.logistic import facts

        return {"separating_": guilty} | facts(known, problem, weights, self.fit_intercept)

    def _sparse(self) -> bool:
        """Whether the penalty has absolute values; solvers and penalties that do not go together."""
        other = np.isfinite(self.C) or self.l1_ratio != 0 or self.solver in ("gd", "sgd", "cd")
        if self.firth and other:
            raise ParameterError(
                "firth=True is a penalty of its own, solved by Newton's method: it goes with "
                f"C=np.inf, l1_ratio=0 and solver='auto'. Got C={self.C}, l1_ratio={self.l1_ratio} "
                f"and solver={self.solver!r}."
            )
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
        self, problem: Problem, y: np.ndarray, w: np.ndarray, K: int, sparse: bool, k: int = -1
    ) -> Any:
        """One problem of K classes; k is the class of a one-vs-rest fit."""
        from pellucid.linear_model._logistic import descent as watched
        from pellucid.linear_model._logistic import solver as smooth
        from pellucid.linear_model._logistic.l1 import solve_sparse

        start = self._last_state(problem.n_classes, problem.p)
        setting = smooth.Setting(
            1.0 / float(self.C), self.fit_intercept, self.tol, self.max_iter,
            start if k < 0 or start is None else start[k : k + 1], problem.schema.terms, self.firth,
        )  # fmt: skip
        given = (problem.X, y, w, K)
        if sparse:
            return solve_sparse(*given, setting, float(self.l1_ratio))
        if self.solver == "gd":
            found = watched.solve_descent(*given, setting, self.step)
            return watched.with_separation(found, *given, setting)
        if self.solver == "sgd":
            pace = (self.tau0, self.kappa, self.batch_size)
            seed = parallel.seed_sequence(self.random_state)
            found = watched.solve_sgd(*given, setting, pace, seed)
            return watched.with_separation(found, *given, setting)
        return smooth.solve(*given, SOLVERS[self.solver], setting)

    def _last_state(self, K: int, p: int) -> np.ndarray | None:
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        if self.coef_.shape != (1 if K == 2 else K, p):
            return None
        last = np.column_stack([self.coef_, self.intercept_ * self.fit_intercept])
        return last if np.isfinite(last).all() else None


def _one_history(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Histories of one-vs-rest fits one after the other, with the number of their class."""
    if len(parts) == 1:
        return parts[0]
    names = dict.fromkeys(name for part in parts for name in part)
    sizes = [len(part["iteration"]) for part in parts]
    joined = {
        name: np.concatenate([part.get(name, np.full(n, np.nan)) for part, n in zip(parts, sizes)])
        for name in names
    }
    return joined | {"class": np.repeat(np.arange(len(parts), dtype=float), sizes)}
