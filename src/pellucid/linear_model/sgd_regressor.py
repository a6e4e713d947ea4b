"""Linear regression by stochastic gradient descent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.weighted_sampling import held_back
from pellucid.errors import ParameterError
from pellucid.linear_model._sgd import base as sgd
from pellucid.linear_model.base import LinearPredictor, check_size, column_means
from pellucid.numerics.column_scaling import can_be_centred, deviations, rescaled, units
from pellucid.parameters import Choice, changed, learned, positional, shared
from pellucid.persist.fitted_state import expect_array, n_terms
from pellucid.records import Status, converting, is_watched

WORSE = 10  # times the loss without coefficients, or at the start, beyond which a fit has diverged
DIVERGED = Status(
    "diverged",
    "The coefficients fit far worse than no coefficients at all, because the step size is too large.",
    "Standardise the columns (standardize=True), or lower eta0.",
)

NEAR_THE_OPTIMUM = (
    "Stochastic gradient descent ends near the optimum, not at it, so there are no standard errors. "
    "Use LinearRegression for standard errors."
)


class SGDRegressor(LinearPredictor):
    """Linear regression by stochastic gradient descent. It minimises

        mean_i w_i loss(y_i - b0 - x_i . b) + alpha (r |b|_1 + (1 - r) |b|^2 / 2)

    with one gradient step per row and a decreasing step size; r is `l1_ratio`. Use it for data that
    arrive in batches (`partial_fit`) or are too large for many passes. Steps depend on the scale of
    the columns: standardise them first, or use `standardize`.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.linear_model import SGDRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SGDRegressor(tol=1e-9, penalty=None, random_state=0).fit(X, X @ [1.0, -2.0] + 3)
    >>> model.coef_.round(2), model.intercept_.round(2)
    (array([ 1., -2.]), array([3.]))
    """

    loss: str = positional(
        default="squared_error",
        check=Choice(
            "squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"
        ),
        description="Loss of an error d: 'squared_error' is d**2 / 2, 'huber' the same up to `epsilon` "
        "and linear beyond, 'epsilon_insensitive' the part of |d| beyond `epsilon`, "
        "'squared_epsilon_insensitive' the square of that part.",
        kw_only=False,
    )
    penalty: str | None = sgd.PENALTY
    alpha: float = sgd.ALPHA
    l1_ratio: float = sgd.L1_RATIO
    fit_intercept: bool = changed(after="l1_ratio")
    max_iter: int = sgd.MAX_ITER
    tol: float | None = sgd.TOL
    shuffle: bool = sgd.SHUFFLE
    verbose: int = shared.VERBOSE
    epsilon: float = sgd.EPSILON
    random_state: Any = shared.RANDOM_STATE
    learning_rate: str = sgd.LEARNING_RATE.replace(default="invscaling")
    eta0: float = sgd.ETA0
    power_t: float = sgd.POWER_T.replace(default=0.25)
    early_stopping: bool = sgd.EARLY_STOPPING
    validation_fraction: float = sgd.VALIDATION_FRACTION
    n_iter_no_change: int = sgd.N_ITER_NO_CHANGE
    warm_start: bool = shared.WARM_START
    average: bool | int = sgd.AVERAGE
    standardize: bool = sgd.SCALED_COLUMNS.replace(
        description="Scale numeric columns and y to mean 0 and standard deviation 1 during the fit; "
        "columns of categories and words stay as they are, and columns of a sparse table that are "
        "mostly 0 keep their mean. `tol`, `alpha` and `epsilon` apply to the scaled columns and y. "
        "`coef_` is reported on the original scale."
    )

    intercept_: np.ndarray = learned("Intercept, shape (1,).")
    n_iter_: int = learned(sgd.N_EPOCHS)
    t_: float = learned(sgd.N_STEPS)
    history_: dict[str, np.ndarray] = learned(shared.HISTORY)
    standard_coef_: np.ndarray = learned(sgd.STANDARD_COEF)
    pulled_: np.ndarray = learned(sgd.L1_APPLIED)
    averaged_: np.ndarray = learned(sgd.AVERAGED)
    walk_: np.ndarray = learned(sgd.SCALARS)

    _takes_text = True
    _rows = property(sgd.order_of_rows)

    _watches_rows = True
    fit = sgd.fit_from  # type: ignore[assignment]

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Run one more epoch, over these rows."""
        return self._learn_more(X, y, weights=sample_weight)

    def _fit(self, problem: Problem, start: tuple[Any, Any] = (None, None)) -> dict[str, Any]:
        from pellucid.linear_model._sgd.solver import new_state

        scaling = Scaling.learn(problem, self.fit_intercept) if self.standardize else None
        first = None if start[0] is None else np.ravel(start[0])
        (coef,), (intercept,) = sgd.initial_coefficients(self, 1, problem.p, first, start[1])
        if scaling is not None and (intercept or coef.any()):
            coef, intercept = scaling.to_scaled(coef, float(intercept))
        state = new_state(problem.p, coef, intercept)
        return self._run(problem, state, self.max_iter, 0, scaling)

    def _fit_more(self, problem: Problem, first: bool) -> dict[str, Any]:
        from pellucid.linear_model._sgd.solver import STEPS, last_states, new_state

        for name in ("early_stopping", "standardize"):
            if getattr(self, name):
                raise ParameterError(
                    f"{name} should be False with partial_fit, because one batch does not contain "
                    "the other rows. Use fit."
                )
        state = new_state(problem.p) if first else last_states(self)[0]
        return self._run(problem, state, 1, int(state.scalars[STEPS]), None)

    def _strengths_shown(self) -> dict[str, Any]:
        """Overridden, because a model may have no penalty, or one that ignores `l1_ratio`."""
        names = {None: (), "elasticnet": ("alpha", "l1_ratio")}.get(self.penalty, ("alpha",))
        return {name: float(getattr(self, name)) for name in names}

    def _reasons(self) -> tuple[str, ...]:
        """Overridden, because a model without a penalty has no standard errors either."""
        return () if self.penalty else (NEAR_THE_OPTIMUM,)

    def _run(
        self, problem: Problem, state: Any, epochs: int, begun: int, scaling: Any
    ) -> dict[str, Any]:
        """1. Scale. 2. Set rows aside for validation. 3. Solve. 4. Report on the original scale."""
        from pellucid.linear_model._sgd.solver import (
            addressable,
            learned_from,
            mean_loss,
            new_state,
            run_epochs,
        )

        problem = addressable(problem)
        options = sgd.sgd_options(
            self, epochs, begun, **sgd.loss_and_schedule(self, "epsilon_insensitive")
        )
        seed = parallel.seed_sequence(self.random_state)
        X, y, w, score = problem.X, problem.y, problem.weights, None
        users = problem.user_rows() if is_watched() else None
        if scaling is not None:  # 1
            X, y = rescaled(X, scaling.mean, scaling.scale), (y - scaling.mean_y) / scaling.scale_y
        if self.early_stopping and not begun:  # 2
            held = self._validation_weights(problem, seed)
            aside, rows = np.flatnonzero(held), np.flatnonzero(w - held)
            score = _validation_r2(X[aside], y[aside], held[aside])
            X, y, w = X[rows], y[rows], (w - held)[rows]
            users = None if users is None else users[rows]
        worst = max(mean_loss(options, X, y, w, one) for one in (new_state(problem.p), state))
        with converting(partial(_original_scale, scaling)):
            state = run_epochs(state, X, y, w, options, seed, 1000 * begun, score, users)  # 3
        if state.history[-1][0] > WORSE * worst and state.status.ok:
            state.status = DIVERGED
        _make_finite(state)
        learned = learned_from([state], options.average_from > 0)
        for name in ("coef_", "standard_coef_", "pulled_", "averaged_", "walk_"):
            learned[name] = learned[name][0]
        del learned["history_"]["mistakes"]
        learned["means_"] = column_means(problem.X, problem.weights)
        if scaling is not None:  # 4
            learned |= scaling.to_original(learned)
            check_size(learned["coef_"], learned["intercept_"])
        return learned

    def _validation_weights(self, problem: Problem, seed: Any) -> np.ndarray:
        """Weights of the validation rows."""

        def count(m: int) -> int:
            wanted = max(2, round(self.validation_fraction * m))
            if wanted > m - 2:
                raise ParameterError(
                    f"early_stopping with validation_fraction={self.validation_fraction} leaves too "
                    f"few of {m} rows for training. Lower validation_fraction, or set "
                    "early_stopping=False."
                )
            return wanted

        rng = parallel.stream(seed, "validation")
        return held_back(problem.weights, [np.arange(problem.n)], count, rng)

    def _check_state(self) -> None:
        """Overridden, because the intercept is an array and there are arrays of `partial_fit`."""
        p = n_terms(self)
        for name, width in (("coef_", p), ("intercept_", 1), ("means_", p)):
            expect_array(self, name, width, finite=True)
        for name, width in (("standard_coef_", p), ("pulled_", p), ("averaged_", p + 1)):
            expect_array(self, name, width)
        expect_array(self, "walk_", 8)


@dataclass(frozen=True)
class Scaling:
    """Means and standard deviations of the columns and of y.

    The mean is 0 for columns that are not centred (without an intercept: all of them and y).
    """

    mean: np.ndarray
    scale: np.ndarray
    mean_y: float
    scale_y: float

    @classmethod
    def learn(cls, problem: Problem, intercept: bool) -> "Scaling":
        """From all rows, by weight; constant columns are not scaled."""
        mean, scale = units(problem.X, problem.weights, problem.schema)
        mean_y, scale_y = deviations(problem.y[:, None], problem.weights)
        mean = np.where(can_be_centred(problem.X, problem.schema) & intercept, mean, 0.0)
        return cls(mean, scale, float(mean_y[0]) if intercept else 0.0, float(scale_y[0]))

    def to_scaled(self, coef: np.ndarray, intercept: float) -> tuple[np.ndarray, float]:
        """Coefficients of the original columns, for the scaled ones."""
        intercept = (intercept + float(coef @ self.mean) - self.mean_y) / self.scale_y
        return coef * (self.scale / self.scale_y), intercept

    def _original(self, coef: np.ndarray, intercept: float) -> tuple[np.ndarray, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            coef = coef * (self.scale_y / self.scale)
            return coef, self.mean_y + intercept * self.scale_y - float(coef @ self.mean)

    def to_original(self, learned: dict[str, Any]) -> dict[str, Any]:
        """Coefficients, and the state from which `partial_fit` continues, on the original scale.

        The L1 penalty is the same for all columns of a scale, so its accumulated sums restart at 0.
        """
        coef, intercept = self._original(learned["coef_"], float(learned["intercept_"][0]))
        scalars, mean = learned["walk_"].copy(), learned["averaged_"]
        standard, scalars[0] = self._original(learned["standard_coef_"], float(scalars[0]))
        scalars[3] = 0.0
        return {
            "coef_": coef, "intercept_": np.array([intercept]), "standard_coef_": standard,
            "walk_": scalars, "pulled_": np.zeros_like(coef),
            "averaged_": np.append(*self._original(mean[:-1], float(mean[-1]))),
        }  # fmt: skip


def _original_scale(scaling: Scaling | None, state: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The learned attributes of a state of the solver."""
    coef, intercept = state["coef"], state["intercept"]
    if scaling is not None:
        coef, intercept = scaling._original(coef, intercept)
    return {"coef_": coef, "intercept_": np.array([intercept])}


def _make_finite(state: Any) -> None:
    """Make the state of a diverged fit finite, so that the model can be saved and inspected."""
    from pellucid.linear_model._sgd.solver import TOO_LARGE

    if state.status.code == "diverged":
        for part in (state.q, state.mean, state.scalars):
            np.nan_to_num(part, copy=False, nan=0.0, posinf=TOO_LARGE, neginf=-TOO_LARGE)


def _validation_r2(X: Any, y: np.ndarray, w: np.ndarray) -> Callable[[Any], float]:
    mean = float(np.average(y, weights=w))
    total = float(w @ (y - mean) ** 2)

    def score(state: Any) -> float:
        error = float(w @ (y - X @ state.coef - state.intercept) ** 2)
        return 1 - error / total if total > 0 else -error

    return score
