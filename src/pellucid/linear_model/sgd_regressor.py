"""Linear regression by stochastic gradient descent."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.weighted_sampling import held_back
from pellucid.errors import ParameterError
from pellucid.linear_model._sgd.base import WALKING
from pellucid.linear_model.base import LinearPredictor, check_size
from pellucid.linear_model.linear_classifier import column_means
from pellucid.numerics.column_scaling import can_be_centred, deviations, rescaled, units
from pellucid.parameters import Boolean, Choice, Either, Integer, Real
from pellucid.records import Status

NUMBER_LOSSES = ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")

WORSE = 10  # times the loss of no coefficients at all: the walk leads away
DIVERGED = Status(
    "diverged",
    "The coefficients fit far worse than none at all: the steps are too long.",
    "Standardise the columns, or lower eta0.",
)

NEAR_THE_OPTIMUM = (
    "Steps from row to row end near the best coefficients, not at them: no standard errors. "
    "LinearRegression has them."
)


class SGDRegressor(LinearPredictor):
    """A linear regression that learns row by row: it walks down

        mean_i w_i loss(y_i - b0 - x_i . b) + alpha (r |b|_1 + (1 - r) |b|^2 / 2)

    one row a step, with steps that shrink. For data that come in batches, or too many to be
    visited often. Steps depend on units: standardise the columns first, or use `standardize`.

    Parameters
    ----------
    loss : {"squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"}
        d^2 / 2; the same up to `epsilon` and linear beyond; |d| beyond `epsilon`; its square.
    penalty : {"l2", "l1", "elasticnet", None}, default="l2"
    alpha : float >= 0, default=0.0001
        Strength of the penalty.
    l1_ratio : float in [0, 1], default=0.15
        r of "elasticnet".
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Passes at most.
    tol : float or None, default=1e-3
        Stop when the loss has not fallen by it for `n_iter_no_change` passes; None makes all.
    shuffle : bool, default=True
        A new random order for every pass; False keeps the order of the rows.
    verbose : without effect; see `pellucid.watching`
    epsilon : float, default=0.1, for all losses but the first
    random_state : int, generator or None
    learning_rate : {"invscaling", "constant", "optimal", "adaptive", "pa1", "pa2"}
        "invscaling": eta0 / t**power_t; "constant": eta0; "optimal": 1 / (alpha (t0 + t));
        "adaptive": eta0, divided by 5 whenever the loss stalls; "pa1", "pa2": passive-aggressive.
    eta0 : float > 0, default=0.01
    power_t : float, default=0.25
    early_stopping : bool, default=False
        Judge by R2 on a held-back share, `validation_fraction`, of the rows.
    validation_fraction : float in (0, 1), default=0.1
    n_iter_no_change : int, default=5
    warm_start : bool, default=False
    average : bool or int, default=False
        Use the mean of the coefficients over all steps, or from that step on.
    standardize : bool, default=False, keyword-only
        Walk over columns and y of mean 0 and deviation 1 (sparse columns keep their mean); `tol`,
        `alpha` and `epsilon` then speak of these, `coef_` of your own.
    table : Table, optional

    Attributes
    ----------
    coef_ : (terms,), in the order of `terms_`; intercept_ : (1,)
    n_iter_, t_ : passes and steps; history_ : objective and learning_rate by pass
    status_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.linear_model import SGDRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SGDRegressor(tol=1e-9, penalty=None, random_state=0).fit(X, X @ [1.0, -2.0] + 3)
    >>> model.coef_.round(2), model.intercept_.round(2)
    (array([ 1., -2.]), array([3.]))
    """

    _takes_text = True
    _parameters = {
        name: rule for name, rule in WALKING.items() if name not in ("class_weight", "n_jobs")
    } | {
        "loss": Choice(*NUMBER_LOSSES),
        "penalty": Choice("l2", "l1", "elasticnet", None),
        "epsilon": Real(0, None),
        "learning_rate": Choice("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"),
        "eta0": Real(0, None, "neither"),
        "power_t": Real(0, None),
        "average": Either(Boolean, Integer(0)),
        "standardize": Boolean,
    }

    n_iter_: int
    t_: float
    status_: Status
    history_: dict[str, np.ndarray]
    standard_coef_: np.ndarray
    pulled_: np.ndarray
    averaged_: np.ndarray
    walk_: np.ndarray

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        epsilon: float = 0.1,
        random_state: Any = None,
        learning_rate: str = "invscaling",
        eta0: float = 0.01,
        power_t: float = 0.25,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        average: bool | int = False,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.epsilon = epsilon
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.average = average
        self.standardize = standardize
        self.table = table

    @property
    def _rows(self) -> str:  # type: ignore[override]
        """Without shuffling the rows keep the user's order; standardising copies them anyway."""
        if not self.shuffle:
            return "user"
        return "canonical" if self.standardize else "canonical_view"

    def fit(
        self,
        X: Any,
        y: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Walk over the rows until nothing improves; `coef_init`, `intercept_init` are the start."""
        self._start = (coef_init, intercept_init)
        try:
            return self._learn(X, y, weights=sample_weight)
        finally:
            del self._start

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """One more pass, over these rows."""
        return self._learn_more(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._sgd.solver import new_walker

        units = units_of(problem, self.fit_intercept) if self.standardize else None
        coef, b0 = self._first_state(problem.p)
        if units is not None and (b0 or coef.any()):
            coef, b0 = units.inward(coef, b0)
        return self._walk(problem, new_walker(problem.p, coef, b0), self.max_iter, 0, units)

    def _fit_more(self, problem: Problem, first: bool) -> dict[str, Any]:
        from pellucid.linear_model._sgd.solver import Walker, new_walker

        for name in ("early_stopping", "standardize"):
            if getattr(self, name):
                raise ParameterError(
                    f"{name} should be False with partial_fit: one batch does not know the others."
                )
        if first:
            walker = new_walker(problem.p)
        else:
            v, q = self.standard_coef_.copy(), self.pulled_.copy()
            walker = Walker(v, q, self.averaged_.copy(), self.walk_.copy())
        return self._walk(problem, walker, 1, int(walker.state[2]), None)

    def _strengths_shown(self) -> dict[str, Any]:
        names = {None: (), "elasticnet": ("alpha", "l1_ratio")}.get(self.penalty, ("alpha",))
        return {name: float(getattr(self, name)) for name in names}

    def _reasons(self) -> tuple[str, ...]:
        return () if self.penalty else (NEAR_THE_OPTIMUM,)

    def _first_state(self, p: int) -> tuple[np.ndarray, float]:
        coef, b0 = self.__dict__.get("_start", (None, None))
        if self.warm_start and self.__sklearn_is_fitted__():
            coef = self.coef_ if coef is None else coef
            b0 = self.intercept_ * self.fit_intercept if b0 is None else b0
        coef = np.zeros(p) if coef is None else np.asarray(coef, dtype=float).ravel()
        b0 = np.zeros(1) if b0 is None else np.asarray(b0, dtype=float).ravel()
        if coef.shape != (p,) or b0.shape != (1,):
            raise ParameterError(
                "The provided coef_init or intercept_init does not match the dataset: there must be "
                f"{p} coefficients and 1 intercept."
            )
        return coef, float(b0[0])

    def _plan(self, epochs: int, begun: int) -> Any:
        from pellucid.linear_model._sgd.solver import Plan

        if self.learning_rate == "optimal" and self.alpha == 0:
            raise ParameterError(
                "alpha must be > 0 since learning_rate is 'optimal'. alpha is used to compute the "
                "optimal learning rate."
            )
        if self.learning_rate in ("pa1", "pa2") and self.loss != "epsilon_insensitive":
            raise ParameterError(
                f"Learning rate {self.learning_rate!r} only works with loss 'epsilon_insensitive'. "
                f"Got loss={self.loss!r}."
            )
        share = {"l1": 1.0, "elasticnet": float(self.l1_ratio or 0.0)}.get(self.penalty or "", 0.0)
        return Plan(
            loss=self.loss, alpha=float(self.alpha) if self.penalty else 0.0, l1_share=share,
            schedule=self.learning_rate, eta0=float(self.eta0), power=float(self.power_t),
            epsilon=float(self.epsilon), intercept=self.fit_intercept, epochs=epochs,
            tol=None if begun else self.tol, patience=self.n_iter_no_change,
            shuffle=bool(self.shuffle), rate=float(self.alpha), average_from=float(self.average),
        )  # fmt: skip

    def _walk(
        self, problem: Problem, walker: Any, epochs: int, begun: int, units: Any
    ) -> dict[str, Any]:
        from pellucid.linear_model._sgd.solver import (
            addressable,
            mean_loss,
            new_walker,
            together,
            walk,
        )

        problem = addressable(problem)
        plan, seed = self._plan(epochs, begun), parallel.seed_sequence(self.random_state)
        X, y, w, check = problem.X, problem.y, problem.weights, None
        if units is not None:
            X, y = units.table(X), (y - units.mean_y) / units.scale_y
        if self.early_stopping and not begun:
            held = self._held_back(problem, seed)
            aside, rows = np.flatnonzero(held), np.flatnonzero(w - held)
            check = _judge(X[aside], y[aside], held[aside])
            X, y, w = X[rows], y[rows], (w - held)[rows]
        worst = max(mean_loss(plan, X, y, w, k) for k in (new_walker(problem.p), walker))
        walker = walk(walker, X, y, w, plan, seed, 1000 * begun, check)
        if walker.history[-1][0] > WORSE * worst and walker.status.ok:
            walker.status = DIVERGED
        history = together([walker], type(self).__name__)
        del history["mistakes"]
        averaged = plan.average_from > 0 and walker.state[4] > 0
        learned = _learned(walker, bool(averaged)) | {
            "means_": column_means(problem.X, problem.weights), "history_": history,
            "n_iter_": len(walker.history), "status_": walker.status,
        }  # fmt: skip
        if units is not None:
            learned |= units.told(learned)
            check_size(learned["coef_"], learned["intercept_"])
        return learned

    def _held_back(self, problem: Problem, seed: Any) -> np.ndarray:
        """Weights of the rows to judge by."""

        def some(m: int) -> int:
            count = max(2, round(self.validation_fraction * m))
            if count > m - 2:
                raise ParameterError(
                    f"early_stopping holds back validation_fraction={self.validation_fraction} of {m} "
                    "rows, and at least 2: too few are left to learn from."
                )
            return count

        rng = parallel.stream(seed, "validation")
        return held_back(problem.weights, [np.arange(problem.n)], some, rng)

    def _check_state(self) -> None:
        from pellucid.persist.fitted_state import expect_array, n_terms

        p = n_terms(self)
        for name, width in (("coef_", p), ("intercept_", 1), ("means_", p)):
            expect_array(self, name, width, finite=True)
        for name, width in (("standard_coef_", p), ("pulled_", p), ("averaged_", p + 1)):
            expect_array(self, name, width)
        expect_array(self, "walk_", 8)


@dataclass(frozen=True)
class Units:
    """Means and deviations of the columns and of y; sparse columns keep their mean (0 here)."""

    mean: np.ndarray
    scale: np.ndarray
    mean_y: float
    scale_y: float

    def table(self, X: Any) -> Any:
        return rescaled(X, self.mean, self.scale)

    def outward(self, coef: np.ndarray, b0: float) -> tuple[np.ndarray, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            coef = coef * (self.scale_y / self.scale)
            return coef, self.mean_y + b0 * self.scale_y - float(coef @ self.mean)

    def told(self, learned: dict[str, Any]) -> dict[str, Any]:
        """Coefficients, and the state from which `partial_fit` goes on, in the user's units.

        Absolute values in the penalty pull alike in all columns: their account begins anew.
        """
        coef, b0 = self.outward(learned["coef_"], float(learned["intercept_"][0]))
        walk, mean = learned["walk_"].copy(), learned["averaged_"]
        standard, walk[0] = self.outward(learned["standard_coef_"], float(walk[0]))
        walk[3] = 0.0
        return {
            "coef_": coef, "intercept_": np.array([b0]), "standard_coef_": standard, "walk_": walk,
            "pulled_": np.zeros_like(coef),
            "averaged_": np.append(*self.outward(mean[:-1], float(mean[-1]))),
        }  # fmt: skip

    def inward(self, coef: np.ndarray, b0: float) -> tuple[np.ndarray, float]:
        b0 = (b0 + float(coef @ self.mean) - self.mean_y) / self.scale_y
        return coef * (self.scale / self.scale_y), b0


def units_of(problem: Problem, intercept: bool) -> Units:
    """From all rows, by weight; constants keep their unit, and all their 0 without an intercept."""
    mean, scale = units(problem.X, problem.weights, problem.schema)
    mean_y, scale_y = deviations(problem.y[:, None], problem.weights)
    mean = np.where(can_be_centred(problem.X, problem.schema) & intercept, mean, 0.0)
    return Units(mean, scale, float(mean_y[0]) if intercept else 0.0, float(scale_y[0]))


def _learned(walker: Any, averaged: bool) -> dict[str, Any]:
    """Coefficients, and the state from which `partial_fit` goes on."""
    from pellucid.linear_model._sgd.solver import TOO_LARGE

    if walker.status.code == "diverged":  # finite, so that the model can be saved and looked at
        for part in (walker.q, walker.mean, walker.state):
            np.nan_to_num(part, copy=False, nan=0.0, posinf=TOO_LARGE, neginf=-TOO_LARGE)
    standard = walker.coef
    walker.state[1] = 1.0
    return {
        "coef_": walker.mean[:-1].copy() if averaged else standard.copy(),
        "intercept_": np.array([walker.mean[-1] if averaged else walker.intercept]),
        "t_": float(walker.state[2]), "standard_coef_": standard, "pulled_": walker.q,
        "averaged_": walker.mean, "walk_": walker.state,
    }  # fmt: skip


def _judge(X: Any, y: np.ndarray, w: np.ndarray) -> Any:
    """R2 on rows held back."""
    middle = float(np.average(y, weights=w))
    total = float(w @ (y - middle) ** 2)

    def check(walker: Any) -> float:
        error = float(w @ (y - X @ walker.coef - walker.intercept) ** 2)
        return 1 - error / total if total > 0 else -error

    return check
