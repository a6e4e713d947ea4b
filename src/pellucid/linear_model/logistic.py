"""Logistic regression for two and more classes."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.class_weights import class_weighted
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model._logistic.base import (
    DUAL,
    INTERCEPT_SCALING,
    L1_SOLVERS,
    PENALTY,
    SOLVERS,
    LogisticModel,
)
from pellucid.linear_model.base import column_means
from pellucid.linear_model.standardize import penalty_units
from pellucid.parameters import Boolean, Choice, Integer, Real, changed, learned, param, shared
from pellucid.records import converting, converting_x


class LogisticRegression(LogisticModel):
    """Logistic regression. The coefficients minimise

        sum_i w_i log(1 + exp(-s_i (b0 + x_i . b))) + |b|^2 / (2 C)      (two classes, s = -1 or 1)

        -sum_i w_i log softmax(b0 + B x_i)_{y_i} + sum_k |b_k|^2 / (2 C)         (more classes)

    With `l1_ratio` r the penalty is (r |b|_1 + (1 - r) |b|^2 / 2) / C instead, and the coefficients of
    useless columns are exactly 0. The intercept is never penalised. Solvers rescale columns of extreme
    size, but the penalty applies to the original scale unless `standardize` is set. Without a penalty
    (`C=np.inf`), `summary` has standard errors, and a warning names the columns that separate the
    classes completely or in part; `firth=True` gives finite coefficients then.

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

    penalty: Any = PENALTY
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
        "Tolerance for stopping. 'lbfgs' stops when the expected relative decrease of the objective is "
        "below tol / 1e6, 'gd' when the coefficients change by less than tol, 'sgd' when an epoch "
        "lowers the mean objective by less than tol. 'newton' and 'cd' do not use tol.",
    )
    fit_intercept: bool = changed(after="tol")
    intercept_scaling: float = INTERCEPT_SCALING
    class_weight: Any = shared.CLASS_WEIGHT
    random_state: Any = shared.RANDOM_STATE.replace(
        description="Seed or generator for the order of the rows in the solver 'sgd'. No other "
        "solver draws random numbers."
    )
    solver: str = param(
        "auto",
        Choice(*SOLVERS),
        "'auto' uses Newton's method, L-BFGS if there are both many coefficients and many rows, or "
        "coordinate descent ('cd') within Newton steps if l1_ratio > 0. 'gd' is plain gradient descent "
        "and 'sgd' is mini-batch gradient descent; both are meant for teaching. Other names of "
        "scikit-learn's solvers are accepted and find the same optimum.",
    )
    max_iter: int = param(100, Integer(0), "Largest number of iterations, or of epochs of 'sgd'.")
    verbose: int = shared.VERBOSE
    warm_start: bool = shared.WARM_START
    n_jobs: int | None = shared.N_JOBS
    step: float | None = shared.STEP
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
    eta0: float | None = param(
        None,
        None | Real(0, None, "neither"),
        "Factor of the step size eta0 (tau0 + k)**-kappa of the solver 'sgd', along the gradient of "
        "the mean objective of a batch. None begins with steps that cannot overshoot, which become "
        "smaller from tau0 + k = 200 on.",
        last=True,
    )
    tau0: float = param(
        10.0,
        Real(0, None),
        "Delay in the step size eta0 (tau0 + k)**-kappa of step k of the solver 'sgd'. The steps are "
        "counted from 0, or from 1 if tau0 is 0.",
        last=True,
    )
    kappa: float = param(
        1.0,
        Real(0.5, 1, "right"),
        "Decay in the step size eta0 (tau0 + k)**-kappa of step k of the solver 'sgd'.",
        last=True,
    )
    batch_size: int = param(
        200, Integer(1), "Number of rows in each step of the solver 'sgd'.", last=True
    )
    standardize: bool = shared.STANDARDIZE

    n_iter_: np.ndarray = learned(
        "Number of iterations, shape (1,), or (n_classes,) for one-vs-rest."
    )
    history_: dict[str, np.ndarray] = learned(
        "Diagnostics by iteration, or by epoch of 'sgd': 'iteration', 'objective' (the sum over the "
        "rows), 'gradient_norm', 'parameter_norm' and 'learning_rate', which is the step size for 'gd' "
        "and 'sgd' and otherwise the fraction of the solver's full step that was taken. One-vs-rest "
        "fits follow each other, with their 'class'. `pellucid.watching` records every step of 'sgd'."
    )

    def _meaning_of(self, penalty: str | None) -> dict[str, Any]:
        if penalty is None:
            return {"C": np.inf, "l1_ratio": 0.0}
        return {"l1_ratio": {"l1": 1.0, "l2": 0.0}.get(penalty, self.l1_ratio)}

    def _coding(self) -> str:
        return "reference" if np.isinf(self.C) else "onehot"

    @property
    def _shares_rows(self) -> bool:
        exact = self.solver not in ("sgd", "gd", "cd") and not self.firth
        return exact and not self.standardize and (self.l1_ratio == 0 or np.isinf(self.C))

    @property
    def _rows(self) -> str:
        """Mini-batches depend on the order of the rows, so 'sgd' needs a canonical one."""
        return "canonical" if self.solver == "sgd" else "user"

    def _fit(self, problem: Problem) -> dict[str, Any]:
        """1. Standardise the columns. 2. Weight the classes and leave out those of weight 0.
        3. Solve. 4. Report all classes on the original scale."""
        from pellucid.linear_model._logistic.preparation import (
            all_classes,
            present_classes,
            without_absent,
        )

        solve = self._solver()
        units = penalty_units(self, bool(np.isfinite(self.C)), problem)  # 1
        fitted = problem if units is None else units.apply(problem)
        weights, K = class_weighted(self.class_weight, fitted), fitted.n_classes  # 2
        present = np.arange(K)
        if self.class_weight is not None:
            present = present_classes(fitted, weights)
        if len(present) < K:
            fitted, weights = without_absent(fitted, weights, present)

        def on_original_scale(x: np.ndarray) -> dict[str, Any]:
            x = all_classes(x, present, K, self.multiclass == "one_vs_rest")
            found = {"coef_": np.ascontiguousarray(x[:, :-1]), "intercept_": x[:, -1].copy()}
            return found if units is None else units.state_to_original(found)

        with (
            parallel.using(self.n_jobs), parallel.one_blas_thread(),
            converting(lambda state: on_original_scale(state["x"])),
        ):  # fmt: skip
            solutions = self._solve(solve, fitted, weights)  # 3
        x = np.concatenate([one.x for one in solutions])
        if not np.isfinite(x).all():
            raise DataError(
                "Coefficients overflow float64, because X contains extremely small numbers. Rescale "
                "X, for example X * 1e18, or use a penalty (a finite C)."
            )
        x = all_classes(x, present, K, self.multiclass == "one_vs_rest")  # 4
        failed = [one.status for one in solutions if not one.status.ok]
        learned = {
            "coef_": np.ascontiguousarray(x[:, :-1]),
            "intercept_": x[:, -1].copy(),
            "means_": column_means(fitted.X, weights),
            "n_iter_": np.array([max(one.n_iter, 1) for one in solutions], dtype=np.int32),
            "history_": _joined([one.history for one in solutions]),
            "status_": failed[0] if failed else solutions[0].status,
            "separating_": sorted({j for one in solutions for j in one.separating}),
            **self._inference(solutions, fitted, weights, present),
        }
        return learned if units is None else units.to_original(learned)

    def _solver(self) -> Callable[..., Any]:
        """The solver, a function of (X, y, weights, number of classes, setting)."""
        from pellucid.linear_model._logistic.descent import Batches, Descent, solve_by_descent
        from pellucid.linear_model._logistic.l1 import solve_l1
        from pellucid.linear_model._logistic.solver import solve

        if self._has_l1_penalty():
            return partial(solve_l1, l1_ratio=float(self.l1_ratio))
        if self.solver in ("gd", "sgd"):
            batches = Batches(self.eta0, self.tau0, self.kappa, self.batch_size, self.random_state)
            method = Descent(self.step) if self.solver == "gd" else batches
            return partial(solve_by_descent, method=method)
        return partial(solve, solver=SOLVERS[self.solver])

    def _has_l1_penalty(self) -> bool:
        """Whether to use a solver for an L1 penalty; an error if `solver` does not fit the penalty."""
        other = np.isfinite(self.C) or self.l1_ratio != 0 or self.solver in ("gd", "sgd", "cd")
        if self.firth and other:
            raise ParameterError(
                "firth=True has a penalty of its own and is solved by Newton's method. It needs "
                f"C=np.inf, l1_ratio=0 and solver='auto'. Got C={self.C}, l1_ratio={self.l1_ratio} "
                f"and solver={self.solver!r}."
            )
        if np.isinf(self.C) or (self.l1_ratio == 0 and self.solver != "cd"):
            if self.solver == "cd":
                raise ParameterError("solver='cd' needs a penalty. Set C to a finite number.")
            return False
        if self.solver not in L1_SOLVERS:
            raise ParameterError(
                f"solver={self.solver!r} does not support l1_ratio={self.l1_ratio}. Use one of "
                f"{list(L1_SOLVERS)}, or l1_ratio=0."
            )
        return True

    def _solve(self, solve: Callable[..., Any], problem: Problem, weights: np.ndarray) -> list[Any]:
        """One solution of all classes, or one of each class against all others."""
        from pellucid.linear_model._logistic.preparation import Setting

        K = problem.n_classes
        start, alpha = self._last_coefficients(K, problem.p), 1.0 / float(self.C)
        terms = problem.schema.terms if alpha == 0 else ()  # for messages about separated classes
        setting = Setting(
            alpha, self.fit_intercept, self.tol, self.max_iter, start, terms, self.firth
        )
        if self.multiclass == "softmax" or K == 2:
            return [solve(problem.X, problem.y, weights, K, setting)]
        solutions: list[Any] = []
        for k in range(K):
            own = setting if start is None else replace(setting, x0=start[k : k + 1])
            y = (problem.y == k).astype(np.int32)
            with converting_x(partial(_with_other_classes, [one.x for one in solutions], K)):
                solutions.append(solve(problem.X, y, weights, 2, own))
        return solutions

    def _inference(
        self, solutions: list[Any], problem: Problem, weights: np.ndarray, present: np.ndarray
    ) -> dict[str, Any]:
        """`inference_`, if every solution has what it is computed from (without a penalty only)."""
        known = [one.inference for one in solutions if one.inference is not None]
        if len(known) < len(solutions):
            return {}
        from pellucid.linear_model._logistic.information import facts

        found = facts(known, problem, weights, self.fit_intercept)
        return {name: value | {"present": present} for name, value in found.items()}

    def _last_coefficients(self, K: int, p: int) -> np.ndarray | None:
        """Coefficients and intercepts of the last fit, for a warm start; None if there are none."""
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        if self.coef_.shape != (1 if K == 2 else K, p):
            return None
        last = np.column_stack([self.coef_, self.intercept_ * self.fit_intercept])
        return last if np.isfinite(last).all() else None


def _with_other_classes(done: list[np.ndarray], K: int, x: np.ndarray) -> np.ndarray:
    """Coefficients of all classes while one is fitted: those before it are final, others are 0."""
    return np.concatenate([*done, x, np.zeros((K - len(done) - 1, x.shape[1]))])


def _joined(histories: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The histories of one-vs-rest fits one after the other, with the number of their class."""
    if len(histories) == 1:
        return histories[0]
    names = dict.fromkeys(name for one in histories for name in one)
    sizes = [len(one["iteration"]) for one in histories]
    joined = {
        name: np.concatenate(
            [one.get(name, np.full(n, np.nan)) for one, n in zip(histories, sizes)]
        )
        for name in names
    }
    return joined | {"class": np.repeat(np.arange(len(histories), dtype=float), sizes)}
