"""What classifiers by stochastic gradient descent share: one walker per class, fit, batches."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.class_weights import class_factors
from pellucid.data.weighted_sampling import classes_of, held_back
from pellucid.errors import ParameterError
from pellucid.linear_model.linear_classifier import LinearClassifier, column_means
from pellucid.linear_model.standardize import standardised
from pellucid.parameters import (
    Boolean,
    ClassWeight,
    Either,
    Integer,
    Jobs,
    Nothing,
    RandomState,
    Real,
    Verbose,
)
from pellucid.persist.fitted_state import expect_array

# Options that all stochastic classifiers have.
WALKING = {
    "alpha": Real(0, None),
    "l1_ratio": Either(Nothing, Real(0, 1, "both")),
    "fit_intercept": Boolean,
    "max_iter": Integer(1),
    "tol": Either(Nothing, Real(0, None)),
    "shuffle": Boolean,
    "verbose": Verbose,
    "n_jobs": Jobs,
    "random_state": RandomState,
    "early_stopping": Boolean,
    "validation_fraction": Real(0, 1, "neither"),
    "n_iter_no_change": Integer(1),
    "class_weight": ClassWeight,
    "warm_start": Boolean,
    "standardize": Boolean,
}


class StochasticClassifier(LinearClassifier):
    """Base of `SGDClassifier` and `Perceptron`: one walker per class, class against the others."""

    penalty: str | None
    alpha: float
    l1_ratio: float
    fit_intercept: bool
    max_iter: int
    tol: float | None
    shuffle: bool
    n_jobs: int | None
    random_state: Any
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    class_weight: Any
    warm_start: bool
    standardize: bool

    @property
    def _rows(self) -> str:  # type: ignore[override]
        """Without shuffling the rows keep the user's order; standardising copies them anyway."""
        if not self.shuffle:
            return "user"
        return "canonical" if self.standardize else "canonical_view"

    def _plan(self) -> dict[str, Any]:
        """Options of `Plan` that only the subclass knows."""
        raise NotImplementedError

    def _extras(self, walkers: list[Any]) -> dict[str, Any]:
        """Further learned attributes."""
        return {}

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

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One more pass, over these rows."""
        if isinstance(self.class_weight, str):
            raise ParameterError(
                "class_weight 'balanced' is not supported for partial_fit: a batch does not know the "
                "sizes of all classes. Give the weights as a dict."
            )
        if self.standardize is True:
            raise ParameterError(
                "standardize=True is not supported for partial_fit: a batch does not know the "
                "deviations of all rows. Scale the columns before, or use fit."
            )
        return self._learn_more(X, y, weights=sample_weight, classes=classes)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._sgd.solver import addressable, new_walker

        problem = addressable(problem)
        assert problem.classes is not None
        K = len(problem.classes)
        q = 1 if K == 2 else K
        coef, b0 = self._first_state(q, problem.p)
        units = standardised(self.standardize, problem, bool(self.fit_intercept))
        seen = problem
        if units is not None:
            seen, (coef, b0) = units.apply(problem), units.inside(coef, b0)
        walkers = [new_walker(problem.p, coef[k], b0[k]) for k in range(q)]
        learned = self._walk(seen, walkers, self.max_iter, 0)
        return learned if units is None else units.restore(learned, problem.X, problem.weights)

    def _first_state(self, q: int, p: int) -> tuple[np.ndarray, np.ndarray]:
        given = self.__dict__.get("_start", (None, None))
        warm = self.warm_start and self.__sklearn_is_fitted__()
        coef, b0 = np.zeros((q, p)), np.zeros(q)
        if warm:
            coef, b0 = self.coef_, self.intercept_ * self.fit_intercept
        if given[0] is not None:
            coef = np.atleast_2d(np.asarray(given[0], dtype=float))
        if given[1] is not None:
            b0 = np.asarray(given[1], dtype=float).ravel()
        if coef.shape != (q, p) or b0.shape != (q,):
            raise ParameterError(
                "The provided coef_init or intercept_init does not match the dataset: the shapes must "
                f"be ({q}, {p}) and ({q},)."
            )
        return coef, b0

    def _fit_more(self, problem: Problem, first: bool) -> dict[str, Any]:
        from pellucid.linear_model._sgd.solver import Walker, addressable, new_walker

        problem = addressable(problem)
        assert problem.classes is not None
        q = 1 if len(problem.classes) == 2 else len(problem.classes)
        if first:
            walkers = [new_walker(problem.p) for _ in range(q)]
        else:
            kept = (self.standard_coef_, self.pulled_, self.averaged_, self.walk_)
            walkers = [Walker(*(part[k].copy() for part in kept)) for k in range(q)]
        return self._walk(problem, walkers, 1, int(walkers[0].state[2]))

    def _walk(
        self, problem: Problem, walkers: list[Any], epochs: int, begun: int
    ) -> dict[str, Any]:
        from pellucid.linear_model._sgd.solver import Plan, together, walk

        plan = Plan(
            alpha=float(self.alpha) if self.penalty else 0.0, l1_share=self._l1_share(),
            intercept=self.fit_intercept, epochs=epochs, tol=None if begun else self.tol,
            patience=self.n_iter_no_change, shuffle=bool(self.shuffle), **self._plan(),
        )  # fmt: skip
        factors = class_factors(self.class_weight, problem)
        seed = parallel.seed_sequence(self.random_state)
        held = self._held_back(problem, seed, begun)
        X, y, w = problem.X, problem.y, problem.weights
        if held is not None:
            rows = np.flatnonzero(w - held)
            X, y, w = X[rows], y[rows], (w - held)[rows]

        def one(k: int) -> Any:
            own = k if len(walkers) > 1 else 1
            target = np.where(y == own, 1.0, -1.0)
            weights = w * (
                factors[y] if len(walkers) == 1 else np.where(y == own, factors[own], 1.0)
            )
            check = None if held is None else _accuracy(problem, held, own)
            return walk(walkers[k], X, target, weights, plan, seed, k + 1000 * begun, check)

        with parallel.using(self.n_jobs):
            walkers = parallel.map(one, list(range(len(walkers))))
        return self._finished(walkers, problem, together(walkers, type(self).__name__), plan)

    def _finished(
        self, walkers: list[Any], problem: Problem, history: dict[str, Any], plan: Any
    ) -> dict[str, Any]:
        averaged = plan.average_from > 0 and walkers[0].state[4] > 0
        standard = np.stack([walker.coef for walker in walkers])
        mean = np.stack([walker.mean for walker in walkers])
        last = np.array([walker.intercept for walker in walkers])
        # The status is of a walker that failed, or else erred in its last pass, or took longest.
        worst = max(walkers, key=lambda k: (not k.status.ok, k.state[6] > 0, len(k.history)))
        for walker in walkers:
            walker.v, walker.state[1] = walker.coef, 1.0
        return {
            "coef_": np.ascontiguousarray(mean[:, :-1]) if averaged else standard.copy(),
            "intercept_": mean[:, -1].copy() if averaged else last,
            "means_": column_means(problem.X, problem.weights),
            "n_iter_": max(len(walker.history) for walker in walkers),
            "t_": float(walkers[0].state[2]),
            "standard_coef_": standard,
            "pulled_": np.stack([walker.q for walker in walkers]),
            "averaged_": mean,
            "walk_": np.stack([walker.state for walker in walkers]),
            "history_": history,
            "status_": worst.status,
        } | self._extras(walkers)

    def _l1_share(self) -> float:
        return {"l1": 1.0, "elasticnet": float(self.l1_ratio or 0.0)}.get(self.penalty or "", 0.0)

    def _held_back(self, problem: Problem, seed: Any, begun: int) -> np.ndarray | None:
        """Weights of the rows to judge by; None without early stopping."""
        if not self.early_stopping or begun:
            return None

        def some(m: int) -> int:  # of each class at least one sample, and not all
            return min(max(1, round(self.validation_fraction * m)), m - 1)

        rng = parallel.stream(seed, "validation")
        held = held_back(problem.weights, classes_of(problem.y), some, rng)
        if not held.any():
            raise ParameterError("early_stopping needs more than one row of a class.")
        return held

    def _check_state(self) -> None:
        super()._check_state()
        q, p = self.coef_.shape
        for name, width in (
            ("standard_coef_", p),
            ("pulled_", p),
            ("averaged_", p + 1),
            ("walk_", 8),
        ):
            expect_array(self, name, q, width)


def _accuracy(problem: Problem, held: np.ndarray, own: int) -> Any:
    rows = np.flatnonzero(held)
    X, right, w = problem.X[rows], problem.y[rows] == own, held[rows]

    def check(walker: Any) -> float:
        guess = X @ walker.coef + walker.intercept > 0
        return float(np.average(guess == right, weights=w))

    return check
