"""From a problem and a specification to a boosted model.

1. Hold validation rows back if the rounds may stop early.
2. Fit the initial model, if there is one; its raw predictions become offsets.
3. Run the rounds, after those of the fit that is continued.

Nothing is written on the estimator: what a fit needs stands in its `BoostingSpec`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.class_weights import class_weighted
from pellucid.ensemble.boosting import boosting_steps, initial_model
from pellucid.ensemble.boosting.losses import Objective
from pellucid.ensemble.boosting.rounds import Outcome, Settings, boost
from pellucid.ensemble.boosting.validation import split
from pellucid.errors import ParameterError, warn
from pellucid.records import unwatched
from pellucid.records.recorder import joined
from pellucid.tree.base import INTERRUPTIBLE_CELLS


@dataclass(frozen=True)
class BoostingSpec:
    """What a boosted model is fitted with.

    validation : the user's validation rows, or the share or number of samples to hold back; used if
        `settings.patience` is set.
    init : estimator that boosting starts from; None starts from a constant.
    earlier : learned attributes of the fit that is continued, with `warm_start`.
    """

    objective: Objective
    settings: Settings
    validation: Problem | float | None = None
    random_state: Any = None
    init: Any = None
    earlier: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BoostingFit:
    """A fitted model: what the rounds learned, and what they started from."""

    outcome: Outcome
    init: Any
    validation_seed: np.ndarray | None

    def learned(self, earlier: Mapping[str, Any]) -> dict[str, Any]:
        """The learned attributes that all boosting models have."""
        found = self.outcome
        before = earlier.get("history_")
        history = found.history if before is None else joined(before, found.history)
        seed = self.validation_seed
        return ({} if seed is None else {"validation_seed_": seed}) | {
            "trees_": found.trees,
            "baseline_": found.start,
            "n_iter_": found.trees.n_rounds,
            "n_trees_per_iteration_": found.trees.n_outputs,
            "history_": history,
        }


def fit_boosting(problem: Problem, spec: BoostingSpec) -> BoostingFit:
    """Fit trees to the problem by gradient boosting."""
    validation, seed = None, None
    if spec.settings.patience is not None:
        if isinstance(spec.validation, Problem):
            validation = spec.validation
        else:
            seed = _split_seed(spec)
            problem, validation = split(problem, spec.validation, seed)
    init = spec.earlier.get("init_")
    if spec.init is not None and not spec.earlier:
        with unwatched():
            init = initial_model.fitted(spec.init, problem)
    if init is not None:
        problem = _shifted(problem, init, spec.objective)
        validation = None if validation is None else _shifted(validation, init, spec.objective)
    before = (spec.earlier["trees_"], spec.earlier["baseline_"]) if spec.earlier else None
    args = (spec.objective, problem, spec.settings, validation, before)
    small = problem.n * problem.p < INTERRUPTIBLE_CELLS
    outcome = boost(*args) if small else parallel.interruptible(boost, *args)
    if outcome.gradients is not None:
        done = outcome.trees.n_rounds - (0 if before is None else before[0].n_rounds)
        boosting_steps.record(outcome.trees, outcome.history, outcome.gradients, done)
    return BoostingFit(outcome, init, seed)


def _split_seed(spec: BoostingSpec) -> np.ndarray:
    """The seed of the validation rows. A continued fit holds the same rows back, because any others
    were trained on before and would be scored too well."""
    if not spec.earlier:
        stream = parallel.stream(parallel.seed_sequence(spec.random_state), "validation")
        return stream.integers(0, 2**63, 2)
    seed = spec.earlier.get("validation_seed_")
    if seed is None:
        raise ParameterError(
            "With warm_start, early stopping needs rows that the earlier rounds did not see, but "
            "they saw all of them. Stop early from the first fit on, or fit without warm_start."
        )
    return seed


def _shifted(problem: Problem, init: Any, objective: Objective) -> Problem:
    """The problem with the raw predictions of the initial model as offsets, (n,) or (n, K)."""
    raw = initial_model.raw_predictions(init, problem.table, problem.schema, objective.name)
    raw = raw[:, 0] if raw.shape[1] == 1 else raw
    return replace(problem, offset=raw if problem.offset is None else raw + problem.offset)


def earlier_fit(model: Any, name: str) -> dict[str, Any]:
    """Learned attributes of the last fit, with `warm_start`; the parameter `name` is the number of
    rounds."""
    if not model.warm_start or "trees_" not in vars(model):
        return {}
    done, rounds = model.trees_.n_rounds, getattr(model, name)
    if rounds < done:
        raise ParameterError(
            f"{name}={rounds} must be larger or equal to n_iter_={done} when warm_start==True"
        )
    if rounds == done:
        warn(
            f"The earlier fit has {done} rounds already, so this warm start adds none. Increase "
            f"{name}.",
            UserWarning,
        )
    return model._learned()


def with_class_weight(problem: Problem, class_weight: Any) -> Problem:
    """The problem whose weights are multiplied by those of the classes."""
    weights = class_weighted(class_weight, problem)
    assert problem.classes is not None
    empty = parallel.count_rows(problem.y, weights, len(problem.classes)) <= 0
    if empty.any():
        label = problem.classes[empty].tolist()[0]
        raise ParameterError(
            f"class_weight gives class {label!r} the weight 0, so its log-odds are not finite. Remove "
            "its rows, or give it a small weight."
        )
    return problem.reweight(weights)
