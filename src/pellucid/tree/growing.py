"""From a `Problem` and a tree model's parameters to a grown tree.

Invariant: class weights multiply the cost of a row; what counts as a sample they do not change.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import ParameterError
from pellucid.tree.grower import grow
from pellucid.tree.limits import limits_of
from pellucid.tree.nodes import Nodes
from pellucid.tree.presort import Presorted, presort


def grow_model(model: Any, problem: Problem, presorted: Presorted | None = None) -> Nodes:
    """Grow the tree of a classifier or a regressor."""
    if problem.classes is not None:
        return grow_classes(model, problem, presorted)
    table = presorted or presort(problem.X, problem.kinds, problem.n_levels)
    limits = limits_of(model, problem, float(problem.weights.sum()))
    return grow(table, problem.y, problem.weights, model.criterion, limits, key=tree_key(model))


def grow_classes(model: Any, problem: Problem, presorted: Presorted | None = None) -> Nodes:
    """Grow the tree of a classifier."""
    factors = class_factors(model.class_weight, problem)
    if factors is not None and problem.counts and not problem.unweighted:
        # Samples are counted by weight, costs are not: repeated rows say both.
        problem = problem.take(np.repeat(np.arange(problem.n), problem.weights.astype(np.int64)))
        problem, presorted = problem.reweight(np.ones(problem.n)), None
    classes: Any = problem.classes
    weights = problem.weights if factors is None else problem.weights * factors[problem.y]
    table = presorted or presort(problem.X, problem.kinds, problem.n_levels)
    return grow(
        table, problem.y, weights, model.criterion,
        limits_of(model, problem, float(weights.sum())), len(classes),
        key=tree_key(model), count_rows=factors is not None,
    )  # fmt: skip


def tree_key(model: Any) -> int:
    """The number behind all random choices of a tree; a tree without any does not draw."""
    if model.splitter == "best" and model.max_features is None:
        return 0
    seed = parallel.seed_sequence(model.random_state)
    return int(parallel.stream(seed, "tree").integers(0, 2**64, dtype=np.uint64))


def class_factors(class_weight: Any, problem: Problem) -> np.ndarray | None:
    """Weight of each class; "balanced" gives all classes the same total weight."""
    if class_weight is None or problem.classes is None:
        return None
    sums = np.bincount(problem.y, problem.weights, minlength=len(problem.classes))
    if class_weight == "balanced":
        present = sums > 0  # a bag may lack a class
        return np.where(present, sums.sum() / (present.sum() * np.where(present, sums, 1.0)), 0.0)
    known = problem.classes.tolist()
    strange = [label for label in class_weight if label not in known]
    if strange:
        raise ParameterError(
            f"The classes, {strange}, are not in class_weight: the labels are {known}."
        )
    factors = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
    if not np.isfinite(factors).all() or (factors < 0).any() or not (factors * sums).sum() > 0:
        raise ParameterError(
            "The 'class_weight' parameter must give finite weights >= 0, not all of them 0."
        )
    return factors
