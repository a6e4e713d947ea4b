"""What models by stochastic gradient descent share: parameters, options, the base of classifiers."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.class_weights import class_factors
from pellucid.data.weighted_sampling import classes_of, held_back
from pellucid.errors import ParameterError
from pellucid.linear_model.base import CLASS_FACTORS, LinearClassifier, column_means
from pellucid.linear_model.standardize import Units
from pellucid.parameters import Boolean, Choice, Integer, Real, changed, learned, param, shared
from pellucid.persist.fitted_state import expect_array
from pellucid.records import converting, is_watched

PENALTY = param(
    "l2",
    Choice("l2", "l1", "elasticnet", None),
    "Penalty on the coefficients: their squares, their absolute values, both, or none.",
)
ALPHA = param(
    0.0001,
    Real(0, None),
    "Strength of the penalty. The step size of learning_rate='optimal' depends on it too.",
)
L1_RATIO = param(
    0.15,
    None | Real(0, 1, "both"),
    "Share of the L1 penalty for penalty='elasticnet': 0 is 'l2', 1 is 'l1'.",
)
MAX_ITER = param(1000, Integer(1), "Largest number of epochs (passes over all rows).")
TOL = param(
    1e-3,
    None | Real(0, None),
    "The fit stops when the loss, or with `early_stopping` the validation score, has not improved by "
    "`tol` for `n_iter_no_change` epochs. None runs all `max_iter` epochs.",
)
SHUFFLE = param(
    True,
    Boolean,
    "Whether every epoch visits the rows in a new random order. False keeps the order of the rows.",
)
EPSILON = param(
    0.1,
    Real(0, None),
    "Threshold of three losses: 'huber' is quadratic up to it and linear beyond; "
    "'epsilon_insensitive' and 'squared_epsilon_insensitive' ignore smaller errors.",
)
LEARNING_RATE = param(
    "optimal",
    Choice("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"),
    "Size of step t. 'constant': eta0. 'optimal': 1 / (alpha (t0 + t)). 'invscaling': "
    "eta0 / t**power_t. 'adaptive': eta0, divided by 5 whenever the loss stalls. 'pa1' and 'pa2': "
    "passive-aggressive steps limited by eta0.",
)
ETA0 = param(
    0.01,
    Real(0, None, "neither"),
    "Step size, or its start; 'pa1' and 'pa2' use it as their limit and 'optimal' does not use it.",
)
POWER_T = param(0.5, Real(0, None), "Exponent of the step size of learning_rate='invscaling'.")
EARLY_STOPPING = param(
    False,
    Boolean,
    "Whether to stop by the score on validation rows that are left out of the fit, instead of by the "
    "loss on the training rows.",
)
VALIDATION_FRACTION = param(
    0.1, Real(0, 1, "neither"), "Share of the rows that `early_stopping` uses for validation."
)
N_ITER_NO_CHANGE = param(
    5, Integer(1), "Number of epochs without improvement after which the fit stops."
)
AVERAGE = param(
    False,
    Boolean | Integer(0),
    "Whether to use the mean of the coefficients over all steps instead of the last ones. A number "
    "averages from that step on.",
)
SCALED_COLUMNS = shared.STANDARDIZE.replace(
    description="Scale numeric columns to mean 0 and standard deviation 1 during the fit; columns of "
    "categories and words stay as they are, and columns of a sparse table that are mostly 0 keep "
    "their mean. The penalty applies to the coefficients of the scaled columns. `coef_` is reported "
    "on the original scale."
)

N_EPOCHS = "Number of epochs that were run."
N_STEPS = "Number of steps so far, plus 1."
STANDARD_COEF = "Coefficients after the last step, without averaging."
L1_APPLIED = "L1 penalty applied to each coefficient so far, from which `partial_fit` continues."
AVERAGED = "Averaged coefficients, the intercept last; 0 without `average`."
SCALARS = (
    "State from which `partial_fit` continues: intercept, scale, step number, accumulated L1 "
    "penalty, number of averaged steps, mistakes so far, mistakes of the last epoch, last step size."
)


def sgd_options(model: Any, epochs: int, begun: int, **own: Any) -> Any:
    """`SGDOptions` from the parameters of a model; `own` are those that only its class knows."""
    from pellucid.linear_model._sgd.solver import SGDOptions

    shares = {"l1": 1.0, "elasticnet": float(model.l1_ratio or 0.0)}
    return SGDOptions(
        alpha=float(model.alpha) if model.penalty else 0.0,
        l1_share=shares.get(model.penalty or "", 0.0),
        intercept=model.fit_intercept, epochs=epochs, tol=None if begun else model.tol,
        patience=model.n_iter_no_change, shuffle=bool(model.shuffle), eta0=float(model.eta0),
        average_from=float(model.average), **own,
    )  # fmt: skip


def loss_and_schedule(model: Any, passive_aggressive_loss: str) -> dict[str, Any]:
    """The options that `SGDClassifier` and `SGDRegressor` have in common."""
    if model.learning_rate == "optimal" and model.alpha == 0:
        raise ParameterError(
            "alpha must be > 0 since learning_rate is 'optimal'. alpha is used to compute the "
            "optimal learning rate."
        )
    if model.learning_rate in ("pa1", "pa2") and model.loss != passive_aggressive_loss:
        raise ParameterError(
            f"Learning rate {model.learning_rate!r} only works with loss "
            f"{passive_aggressive_loss!r}. Got loss={model.loss!r}."
        )
    return {
        "loss": model.loss, "schedule": model.learning_rate, "power": float(model.power_t),
        "epsilon": float(model.epsilon), "rate": float(model.alpha),
    }  # fmt: skip


def order_of_rows(model: Any) -> str:
    """Without shuffling the rows keep the user's order; standardising copies them anyway."""
    if not model.shuffle:
        return "user"
    return "canonical" if model.standardize else "canonical_view"


def initial_coefficients(
    model: Any, q: int, p: int, coef_init: Any, intercept_init: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (q, p) and intercepts (q,): given ones, those of a warm start, or zeros."""
    if model.warm_start and model.__sklearn_is_fitted__():
        coef_init = model.coef_ if coef_init is None else coef_init
        if intercept_init is None:
            intercept_init = model.intercept_ * model.fit_intercept
    coef, intercept = np.zeros((q, p)), np.zeros(q)
    if coef_init is not None:
        coef = np.atleast_2d(np.asarray(coef_init, dtype=float))
    if intercept_init is not None:
        intercept = np.asarray(intercept_init, dtype=float).ravel()
    if coef.shape != (q, p) or intercept.shape != (q,):
        raise ParameterError(
            "The provided coef_init or intercept_init does not match the dataset. coef_init needs "
            f"shape {(p,) if q == 1 else (q, p)} and intercept_init shape {(q,)}."
        )
    return coef, intercept


def fit_from(
    self: Any,
    X: Any,
    y: Any,
    coef_init: Any = None,
    intercept_init: Any = None,
    sample_weight: Any = None,
) -> Any:
    """Run epochs until nothing improves, starting from `coef_init` and `intercept_init`."""
    return self._learn(X, y, weights=sample_weight, start=(coef_init, intercept_init))


class StochasticClassifier(LinearClassifier):
    """Base of `SGDClassifier` and `Perceptron`.

    More than two classes are one problem each, that class against all others.
    """

    penalty: str | None = PENALTY
    alpha: float = ALPHA
    l1_ratio: float = L1_RATIO
    fit_intercept: bool = changed(after="l1_ratio")
    max_iter: int = MAX_ITER
    tol: float | None = TOL
    shuffle: bool = SHUFFLE
    verbose: int = shared.VERBOSE
    eta0: float = ETA0
    n_jobs: int | None = shared.N_JOBS
    random_state: Any = shared.RANDOM_STATE
    early_stopping: bool = EARLY_STOPPING
    validation_fraction: float = VALIDATION_FRACTION
    n_iter_no_change: int = N_ITER_NO_CHANGE
    class_weight: Any = CLASS_FACTORS
    warm_start: bool = shared.WARM_START
    average: bool | int = AVERAGE
    standardize: bool = SCALED_COLUMNS

    n_iter_: int = learned(N_EPOCHS)
    t_: float = learned(N_STEPS)
    history_: dict[str, np.ndarray] = learned(shared.HISTORY)
    standard_coef_: np.ndarray = learned(STANDARD_COEF)
    pulled_: np.ndarray = learned(L1_APPLIED)
    averaged_: np.ndarray = learned(AVERAGED)
    walk_: np.ndarray = learned(SCALARS)

    _rows = property(order_of_rows)

    def _own_options(self) -> dict[str, Any]:
        """Fields of `SGDOptions` that only the subclass knows."""
        raise NotImplementedError

    def _more_learned(self, states: list[Any]) -> dict[str, Any]:
        """Learned attributes that only the subclass has; `Perceptron` counts mistakes."""
        return {}

    _watches_rows = True
    fit = fit_from  # type: ignore[assignment]

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Run one more epoch, over these rows."""
        if isinstance(self.class_weight, str):
            raise ParameterError(
                "class_weight 'balanced' is not supported for partial_fit, because one batch does not "
                "contain the sizes of all classes. Give the weights as a dict."
            )
        if self.standardize is True:
            raise ParameterError(
                "standardize=True is not supported for partial_fit, because one batch does not "
                "contain the standard deviations of all rows. Scale the columns before, or use fit."
            )
        return self._learn_more(X, y, weights=sample_weight, classes=classes)

    def _fit(self, problem: Problem, start: tuple[Any, Any] = (None, None)) -> dict[str, Any]:
        from pellucid.linear_model._sgd.solver import addressable, new_state

        problem = addressable(problem)
        q = 1 if problem.n_classes == 2 else problem.n_classes
        coef, intercept = initial_coefficients(self, q, problem.p, *start)
        units, scaled = None, problem
        if self.standardize:
            units = Units.learn(problem, bool(self.fit_intercept))
            scaled, (coef, intercept) = units.apply(problem), units.scaled_coef(coef, intercept)
        states = [new_state(problem.p, coef[k], intercept[k]) for k in range(q)]
        if units is None:
            return self._run(scaled, states, self.max_iter, 0)
        with converting(units.state_to_original):
            learned = self._run(scaled, states, self.max_iter, 0)
        return units.sgd_to_original(learned, problem.X, problem.weights)

    def _fit_more(self, problem: Problem, first: bool) -> dict[str, Any]:
        from pellucid.linear_model._sgd.solver import STEPS, addressable, last_states, new_state

        problem = addressable(problem)
        q = 1 if problem.n_classes == 2 else problem.n_classes
        states = [new_state(problem.p) for _ in range(q)] if first else last_states(self)
        return self._run(problem, states, 1, int(states[0].scalars[STEPS]))

    def _run(self, problem: Problem, states: list[Any], epochs: int, begun: int) -> dict[str, Any]:
        """1. Set rows aside for validation. 2. Solve the problem of each class. 3. Collect."""
        from pellucid.linear_model._sgd.solver import learned_from, run_epochs

        options = sgd_options(self, epochs, begun, **self._own_options())
        factors = class_factors(self.class_weight, problem)
        seed = parallel.seed_sequence(self.random_state)
        held = self._validation_weights(problem, seed, begun)  # 1
        X, y, w = problem.X, problem.y, problem.weights
        users = problem.user_rows() if is_watched() else None
        if held is not None:
            rows = np.flatnonzero(w - held)
            X, y, w = X[rows], y[rows], (w - held)[rows]
            users = None if users is None else users[rows]

        def solve(k: int) -> Any:
            own = k if len(states) > 1 else 1
            target = np.where(y == own, 1.0, -1.0)
            weights = w * (
                factors[y] if len(states) == 1 else np.where(y == own, factors[own], 1.0)
            )
            score = None if held is None else _validation_accuracy(problem, held, own)
            name = k + 1000 * begun
            with converting(partial(_all_classes, states, k, options.average_from > 0)):
                return run_epochs(states[k], X, target, weights, options, seed, name, score, users)

        with parallel.using(self.n_jobs):  # 2
            problems = list(range(len(states)))
            one_by_one = users is not None  # in an order that those who watch can follow
            states = list(map(solve, problems)) if one_by_one else parallel.map(solve, problems)
        means = {"means_": column_means(problem.X, problem.weights)}
        learned = learned_from(states, options.average_from > 0)  # 3
        return learned | means | self._more_learned(states)

    def _validation_weights(self, problem: Problem, seed: Any, begun: int) -> np.ndarray | None:
        """Weights of the validation rows; None without early stopping."""
        if not self.early_stopping or begun:
            return None

        def count(m: int) -> int:  # at least one sample of each class, and not all of them
            return min(max(1, round(self.validation_fraction * m)), m - 1)

        rng = parallel.stream(seed, "validation")
        held = held_back(problem.weights, classes_of(problem.y), count, rng)
        if not held.any():
            raise ParameterError(
                "early_stopping needs a class with at least 2 rows. Set early_stopping=False."
            )
        return held

    def _check_state(self) -> None:
        """Check the arrays of `partial_fit` in addition to the coefficients (model files)."""
        super()._check_state()
        q, p = self.coef_.shape
        for name, width in (
            ("standard_coef_", p),
            ("pulled_", p),
            ("averaged_", p + 1),
            ("walk_", 8),
        ):
            expect_array(self, name, q, width)


def _all_classes(
    states: list[Any], k: int, averaged: bool, state: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Coefficients of all problems while problem k is solved."""
    found = [one.result(averaged) for one in states]
    found[k] = state["coef"], state["intercept"]
    coef, intercept = zip(*found)
    return {"coef_": np.stack(coef), "intercept_": np.array(intercept)}


def _validation_accuracy(problem: Problem, held: np.ndarray, own: int) -> Callable[[Any], float]:
    rows = np.flatnonzero(held)
    X, right, w = problem.X[rows], problem.y[rows] == own, held[rows]

    def score(state: Any) -> float:
        predicted = X @ state.coef + state.intercept > 0
        return float(np.average(predicted == right, weights=w))

    return score
