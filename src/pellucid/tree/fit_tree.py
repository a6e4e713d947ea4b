"""From a `Problem` and a tree model's parameters to a grown tree.

Invariant: class weights multiply the cost of a row; what counts as a sample they do not change.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.class_weights import class_factors
from pellucid.errors import DataError
from pellucid.tree import prediction
from pellucid.tree.criteria import check_target
from pellucid.tree.grower import grow
from pellucid.tree.nodes import Nodes
from pellucid.tree.presort import Presorted, binned_table, presort
from pellucid.tree.splitter import Limits
from pellucid.tree.stopping import limits_of, takes_bins

REPEATED_ROWS = 2**27


def grow_model(
    model: Any,
    problem: Problem,
    presorted: Presorted | None = None,
    key: int | None = None,
    limits: Limits | None = None,
) -> Nodes:
    """Grow the tree of a classifier or a regressor; `key` is behind its random choices, None: as the
    model's `random_state` says; `limits`: of another problem with as many samples."""
    key = tree_key(model) if key is None else key
    limits = limits or limits_of(model, problem)
    if problem.classes is not None:
        return grow_classes(model, problem, limits, presorted, key)
    check_target(model.criterion, problem.y[problem.weights > 0], model.owner)
    limits = with_weight(model, limits, problem.weights)
    table = presorted or _sorted(model, problem, problem.weights)
    return grow(
        table, problem.y, problem.weights, model.criterion, limits, key=key,
        consume=presorted is None,
    )  # fmt: skip


def with_weight(model: Any, limits: Limits, weights: np.ndarray) -> Limits:
    """A share of the weight in a leaf is a share of this tree's weights."""
    if model.min_weight_fraction_leaf == 0:
        return limits
    least = model.min_weight_fraction_leaf * float(weights.sum())
    return replace(limits, min_weight_leaf=least)


def _sorted(model: Any, problem: Problem, weights: np.ndarray) -> Presorted:
    """The sorted or binned table of one tree, which may use it up."""
    if takes_bins(model, problem.n):
        return binned_table(problem.table, problem.kinds, problem.n_levels, weights)
    return presort(problem.table, problem.kinds, problem.n_levels)


def grow_classes(
    model: Any, problem: Problem, limits: Limits, presorted: Presorted | None = None, key: int = 0
) -> Nodes:
    """Grow the tree of a classifier."""
    factors = class_factors(model.class_weight, problem) if model.class_weight else None
    apart = factors is not None and problem.counts and not problem.unweighted
    if apart and (limits.min_samples_leaf > 1 or limits.min_samples_split > 2):
        problem, presorted, apart = _repeated(problem), None, False
    weights = problem.weights if factors is None else problem.weights * factors[problem.y]
    limits = with_weight(model, limits, weights)
    table = presorted or _sorted(model, problem, weights)
    classes: Any = problem.classes
    nodes = grow(
        table, problem.y, weights, model.criterion, limits, len(classes), key=key,
        count_rows=factors is not None, consume=presorted is None,
    )  # fmt: skip
    return _recount(nodes, problem) if apart else nodes


def _repeated(problem: Problem) -> Problem:
    """Samples are counted by weight, costs are not: rows that stand there k times say both."""
    if problem.weights.sum() > REPEATED_ROWS:
        raise DataError(
            "With class_weight and limits on samples, rows are repeated by weight, and "
            f"{problem.weights.sum():g} rows are too many. Divide the weights by a common factor."
        )
    rows = np.repeat(np.arange(problem.n), problem.weights.astype(np.int64))
    return problem.take(rows, np.ones(len(rows)))


def _recount(nodes: Nodes, problem: Problem) -> Nodes:
    """The tree with samples counted by weight: leaves first, then parents."""
    leaf = prediction.apply(nodes, np.asfortranarray(problem.X))
    counts = np.bincount(leaf, problem.weights, minlength=nodes.n_nodes).astype(np.int64)
    for i in np.flatnonzero(nodes.feature >= 0)[::-1]:
        counts[i] = counts[nodes.left[i]] + counts[nodes.right[i]]
    return replace(nodes, n_samples=counts)


def tree_key(model: Any) -> int:
    """The number behind all random choices of a tree; a tree without any does not draw."""
    if model.splitter != "random" and model.max_features is None:
        return 0
    seed = parallel.seed_sequence(model.random_state)
    return int(parallel.stream(seed, "tree").integers(0, 2**64, dtype=np.uint64))
