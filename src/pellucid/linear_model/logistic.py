"""Logistic regression for two and more classes."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.class_weights import class_weighted
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model._logistic.absent_classes import (
    all_classes,
    present_classes,
    without_absent,
)
from pellucid.linear_model._logistic.base import (
    DUAL,
    INTERCEPT_SCALING,
    L1_SOLVERS,
    SOLVERS,
    LogisticModel,
)
from pellucid.linear_model.linear_classifier import column_means
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.parameters import (
    CLASS_WEIGHT,
    FIT_INTERCEPT,
    N_JOBS,
    RANDOM_STATE,
    STANDARDIZE,
    STEP,
    VERBOSE,
    WARM_START,
    Boolean,
    Choice,
    Integer,
    Real,
    learned,
    param,
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

    C: float = param(
        1.0, Real(0, None, "right"), "Inverse strength of the penalty; `np.inf` means none."
    )
    l1_ratio: float = param(
        0.0,
        Real(0, 1, "both"),
        "Share of the L1 penalty: 0 is ridge, 1 is the lasso, a value between them the elastic net.",
    )
    dual: bool = DUAL
    tol: float = param(
        1e-4,
        Real(0, None),
        "When a solver stops: 'lbfgs' when a step promises to lower the objective by less than the "
        "share tol / 1e6, 'gd' when the coefficients move less than tol, 'sgd' when an epoch lowers "
        "the mean objective by less than tol. 'newton' always solves to full precision.",
    )
    fit_intercept: bool = FIT_INTERCEPT
    intercept_scaling: float = INTERCEPT_SCALING
    class_weight: Any = CLASS_WEIGHT
    random_state: Any = RANDOM_STATE.replace(
        description="Seed or generator for the order of the rows in the solver 'sgd'. No other "
        "solver draws random numbers."
    )
    solver: str = param(
        "auto",
        Choice(*SOLVERS),
        "'auto' is Newton's method, L-BFGS if there are both many coefficients and many rows, or "
        "coordinate descent ('cd') within Newton steps if l1_ratio > 0. 'gd' is plain gradient "
        "descent and 'sgd' is mini-batch gradient descent; both are meant for watching. Other names "
        "of scikit-learn are accepted and find the same optimum.",
    )
    max_iter: int = param(100, Integer(0), "Largest number of iterations, or of epochs of 'sgd'.")
    verbose: int = VERBOSE
    warm_start: bool = WARM_START
    n_jobs: int | None = N_JOBS
    step: float | None = STEP
    firth: bool = param(
        False,
        Boolean,
        "Whether to use Firth's bias-reduced fit, whose coefficients are finite on separated classes "
        "too. It needs `C=np.inf`.",
        last=True,
    )
    multiclass: str = param(
        "softmax",
        Choice("softmax", "one_vs_rest"),
        "How more than two classes are modelled: jointly, or each class against all others with the "
        "probabilities divided by their sum.",
        last=True,
    )
    tau0: float = param(
        10.0,
        Real(0, None, "neither"),
        "Delay in the step size (tau0 + k)**-kappa of step k of the solver 'sgd'.",
        last=True,
    )
    kappa: float = param(
        1.0,
        Real(0.5, 1, "right"),
        "Decay in the step size (tau0 + k)**-kappa of step k of the solver 'sgd'.",
        last=True,
    )
    batch_size: int = param(
        200, Integer(1), "Number of rows in each step of the solver 'sgd'.", last=True
    )
    standardize: bool = STANDARDIZE

    n_iter_: np.ndarray = learned(
        "Number of iterations, shape (1,), or (n_classes,) for one-vs-rest."
    )
    history_: dict[str, np.ndarray] = learned(
        "Diagnostics by iteration: 'objective', 'gradient_norm', 'parameter_norm' and "
        "'learning_rate', which is the step along the gradient for 'gd' and 'sgd', otherwise the "
        "part of the solver's own step that was taken."
    )

    def _coding(self) -> str:
        return "reference" if np.isinf(self.C) else "onehot"

    @property
    def _rows(self) -> str:  # type: ignore[override]
        """Mini-batches depend on the order of rows."""
        return "canonical" if self.solver == "sgd" else "user"

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
