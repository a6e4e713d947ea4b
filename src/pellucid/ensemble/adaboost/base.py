"""What both AdaBoosts share: parameters, the rounds and their end, rows drawn by weight.

Invariant: a perfect base estimator gets more weight than all before it together, so it decides alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Estimator
from pellucid.data import InputSpec, Problem
from pellucid.data.weighted_sampling import EACH, copies_of
from pellucid.ensemble import base_estimators, collection, stages
from pellucid.ensemble.adaboost.round_steps import RoundSteps, user_weights
from pellucid.ensemble.bootstrap_samples import Bag, Sampler
from pellucid.errors import DataError, ParameterError
from pellucid.parameters import EstimatorInstance, Integer, Real, learned, param, positional, shared
from pellucid.records import Status, is_watched, unwatched
from pellucid.tree import explaining

NO_BETTER = 1e-12  # an error that is lower than that of guessing by less than this is rounding


class AdaBoost(Estimator):
    """Family of AdaBoost; `estimators_` holds the fitted base estimators."""

    estimator: Any = positional(
        default=None,
        check=EstimatorInstance | None,
        description="Base estimator, of Pellucid or with scikit-learn's interface. None uses a "
        "decision tree of depth 1 for classification and of depth 3 for regression.",
        kw_only=False,
    )
    n_estimators: int = param(50, Integer(1), "Largest number of base estimators.")
    learning_rate: float = param(
        1.0,
        Real(0, None, "neither"),
        "Factor for the weight of each base estimator. Smaller values need more base estimators.",
    )
    random_state: Any = shared.RANDOM_STATE.replace(
        description="Seed or generator of the random numbers of base estimators that draw, and of the "
        "rows drawn for base estimators that take no weights."
    )

    estimators_: list[Any] = learned(
        "The fitted base estimators. Those of a classifier have class codes as labels."
    )
    estimator_weights_: np.ndarray = learned(
        "Weight of each base estimator, shape (n_estimators,); 0 after the last round."
    )
    estimator_errors_: np.ndarray = learned(
        "Weighted error of each base estimator, shape (n_estimators,); 1 after the last round."
    )
    estimator_: Any = learned("An unfitted copy of the base estimator.")
    history_: dict[str, np.ndarray] = learned(
        "Diagnostics by round, as a dict of arrays of equal length: the weighted error of the base "
        "estimator, its weight, and as the objective the mean exponential loss of the training rows "
        "(for a regressor, the error)."
    )
    status_: Status = learned(shared.STATUS)

    # The checks fit hundreds of times; a few base estimators show the same faults as fifty.
    _check_params = {"n_estimators": 5}

    __len__, __getitem__ = collection.length, collection.item
    __iter__, __bool__ = collection.iterate, collection.true

    def _base_estimator(self) -> Any:
        raise NotImplementedError

    _takes_sparse = property(lambda self: base_estimators.takes_sparse(self._base_estimator()))
    _rows = property(lambda self: base_estimators.rows_for(self._base_estimator()))
    _substitute = "HistGradientBoosting{kind}"

    def _input_spec(self) -> InputSpec:
        base = self._base_estimator()
        spec = base_estimators.input_spec_of(base, type(self).__name__, str(self._kind))
        return replace(spec, positions=is_watched())  # of the rows whose weights are recorded

    def _steps(self, given: Problem, used: Problem, score: Any) -> RoundSteps:
        """What notes the rounds; `used` has the rows of the rounds."""
        n = given.n if given.position is None else len(given.position)
        to_user = user_weights(given, used)
        return RoundSteps(type(self).__name__, int(self.n_estimators), to_user, n, score)

    staged_score = stages.staged_score
    explain = explaining.explain

    def _vote_weights(self) -> np.ndarray:
        """Weights of the fitted base estimators."""
        return self.estimator_weights_[: len(self.estimators_)]

    def _trees(self) -> list[Any]:
        """The `Nodes` of the base estimators, which must be trees."""
        if not all(base_estimators.is_tree(tree) for tree in self.estimators_):
            raise ParameterError(
                f"explain of {type(self).__name__} needs a decision tree as its base estimator, "
                "because other models do not attribute a prediction to columns on the same scale."
            )
        return [tree.tree_ for tree in self.estimators_]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean importance of each column over the base estimators, by their weights."""
        self._check_fitted()
        if not all(hasattr(one, "feature_importances_") for one in self.estimators_):
            raise AttributeError("The base estimators have no feature_importances_.")
        a, parts = self._vote_weights(), [one.feature_importances_ for one in self.estimators_]
        return np.average(parts, axis=0, weights=a) if a.sum() > 0 else np.zeros(len(parts[0]))

    def _check_state(self) -> None:
        """Refuse learned parts that do not belong together (model files)."""
        a, n = self.estimator_weights_, len(self.estimators_)
        if not n or a.ndim != 1 or len(a) < n or self.estimator_errors_.shape != a.shape:
            raise DataError("the base estimators and their weights do not match")
        if not (np.isfinite(a[:n]) & (a[:n] > 0)).all():
            raise DataError("the weights of the base estimators are not positive")
        own, n_classes = np.arange(self.n_features_in_), len(vars(self).get("classes_", ()))
        for one in self.estimators_:
            base_estimators.check_fitted(one, self._base_estimator(), own, self.schema_, n_classes)


@dataclass(frozen=True)
class Rule:
    """How an error becomes the weight of a base estimator, and new weights of the rows.

    a = learning_rate (log((1 - error) / error) + bonus); log w += a (loss - unchanged).
    """

    n_estimators: int
    learning_rate: float
    worst: float  # error from which a base estimator is useless
    bonus: float = 0.0
    unchanged: float = 0.0  # loss of rows whose weight stays

    def log_factor(self, error: float, weight: float) -> float:
        """Logarithm of the factor by which a round changes the mean exponential loss of the weighted
        votes: exp(-a (K - 1) / K) for right rows, exp(a / K) for wrong ones."""
        right, wrong = -weight * self.worst, weight * (1.0 - self.worst)
        error = min(max(error, 0.0), 1.0)  # a sum of weights may exceed 1 by rounding
        with np.errstate(divide="ignore"):
            return float(np.logaddexp(np.log1p(-error) + right, np.log(error) + wrong))


FitOne = Callable[[int, np.ndarray], tuple[Any, np.ndarray]]


def fit_rounds(
    problem: Problem,
    rule: Rule,
    fit_one: FitOne,
    losses_of: Callable[[np.ndarray], np.ndarray],
    steps: RoundSteps,
) -> dict[str, Any]:
    """The learned attributes. `fit_one(t, weights)` gives base estimator t and its predictions of the
    rows, `losses_of(predictions)` their losses in [0, 1]."""
    log_loss, log_w = 0.0, np.log(problem.weights)
    found: list[Any] = []
    weights, errors = np.zeros(rule.n_estimators), np.ones(rule.n_estimators)
    state = {"estimators_": found, "estimator_weights_": weights, "estimator_errors_": errors}
    for t in range(rule.n_estimators):
        log_w -= log_w.max()  # logarithms, so that no weight vanishes or overflows
        w = np.exp(log_w)
        w /= w.sum()
        with unwatched():  # the base estimator is a step of this fit
            one, predicted = fit_one(t, w)
        losses = losses_of(predicted)
        error = float((w * losses).sum())
        useless = error >= rule.worst - NO_BETTER
        if useless and found:
            break
        found.append(one)
        errors[t] = error
        last = useless or error <= 0
        if last:
            weights[t] = 1.0 + 2.0 * float(weights[:t].sum())
        else:
            weights[t] = rule.learning_rate * (np.log((1 - error) / error) + rule.bonus)
        log_loss += rule.log_factor(error, float(weights[t]))
        steps.add(state, w, predicted, float(np.exp(log_loss)) if rule.unchanged == 0 else error)
        if last:
            break
        log_w += weights[t] * (losses - rule.unchanged)
    status = _status(errors, len(found), rule.worst, problem.classes is not None)
    return state | {"history_": steps.history(), "status_": status}


def _status(errors: np.ndarray, fitted: int, worst: float, classes: bool) -> Status:
    """How the rounds ended; `errors` are 1 after the last of them."""
    error, useless = float(errors[fitted - 1]), worst - NO_BETTER
    if fitted == 1 and classes and error > worst + NO_BETTER:
        return Status(
            "worse_than_chance",
            f"The error of the first base estimator ({error:.3g}) is worse than random guessing "
            f"({worst:.3g}), so boosting stopped.",
            "Use another estimator.",
        )
    if error <= 0:
        return Status(
            "early_stopped", f"Base estimator {fitted} makes no errors, so it decides alone."
        )
    if fitted == len(errors) and error < useless:
        return Status("ok", f"All {fitted} base estimators were fitted.")
    which = 1 if error >= useless else fitted + 1
    why = "is no better than random guessing" if classes else "has a mean loss of at least one half"
    return Status("early_stopped", f"Base estimator {which} {why}, so boosting stopped.")


def drawn(problem: Problem, w: np.ndarray, seed: Any, t: int) -> Bag:
    """Rows drawn by weight, as many as the table stands for: base estimator t takes no weights."""
    sampler = Sampler(problem.reweight(w), int(problem.total), 1.0, True, False)
    return sampler.draw(parallel.stream(seed, "bag", t))


def one_row_per_sample(problem: Problem, base: Any) -> Problem:
    """The problem with a row for each sample if the base estimator may count samples, because the
    weights of the rounds do not count them. Very many samples stay weighted rows."""
    copies = copies_of(problem.weights)
    if copies is None or not _counts(base) or copies.sum() > max(EACH, 4 * problem.n):
        return problem
    rows = np.repeat(np.arange(problem.n), copies)
    return problem.gathered().take(rows, np.ones(len(rows)))


def _counts(base: Any) -> bool:
    """Whether the number of samples can matter to a base estimator that is given weights."""
    if not base_estimators.is_tree(base):
        return base_estimators.takes_weights(base)
    limits = (base.min_samples_leaf, base.min_samples_split)
    return limits != (1, 2) or base.ccp_alpha == "cv"
