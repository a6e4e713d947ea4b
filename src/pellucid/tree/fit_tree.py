"""From a `Problem` and a `TreeSpec` to a grown tree.

Invariant: class weights multiply the cost of a row; they do not change how samples are counted.
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
from pellucid.tree.stopping import Limits, limits_of
from pellucid.tree.tree_spec import TreeSpec, uses_bins

REPEATED_ROWS = 2**27


def grow_tree(
    spec: TreeSpec,
    problem: Problem,
    presorted: Presorted | None = None,
    key: int | None = None,
    limits: Limits | None = None,
) -> Nodes:
    """Grow the tree of a classifier or a regressor.

    `presorted` is the sorted table if it exists already; `key` drives the random choices, None takes
    it from `spec.random_state`; `limits` are those of another problem with as many samples.
    """
    key = tree_key(spec) if key is None else key
    limits = limits or limits_of(spec, problem)
    if problem.classes is not None:
        return _grow_classes(spec, problem, limits, presorted, key)
    check_target(spec.criterion, problem.y[problem.weights > 0], spec.owner)
    limits = with_weight(spec, limits, problem.weights)
    table = presorted or _sorted(spec, problem, problem.weights)
    return grow(
        table, problem.y, problem.weights, spec.criterion, limits, key=key,
        consume=presorted is None,
    )  # fmt: skip


def with_weight(spec: TreeSpec, limits: Limits, weights: np.ndarray) -> Limits:
    """The limits with `min_weight_fraction_leaf` as a share of the weights of this tree."""
    if spec.min_weight_fraction_leaf == 0:
        return limits
    least = spec.min_weight_fraction_leaf * float(weights.sum())
    return replace(limits, min_weight_leaf=least)


def _sorted(spec: TreeSpec, problem: Problem, weights: np.ndarray) -> Presorted:
    """The sorted or binned table of a single tree, whose growth may overwrite it."""
    if uses_bins(spec, problem.n):
        return binned_table(problem.table, problem.kinds, problem.n_levels, weights)
    return presort(problem.table, problem.kinds, problem.n_levels)


def _grow_classes(
    spec: TreeSpec,
    problem: Problem,
    limits: Limits,
    presorted: Presorted | None = None,
    key: int = 0,
) -> Nodes:
    """Grow the tree of a classifier."""
    factors = class_factors(spec.class_weight, problem) if spec.class_weight else None
    # Then costs and counts of samples need different weights.
    recount = factors is not None and problem.counts and not problem.unweighted
    if recount and (limits.min_samples_leaf > 1 or limits.min_samples_split > 2):
        problem, presorted, recount = repeated(problem), None, False
    weights = problem.weights if factors is None else problem.weights * factors[problem.y]
    limits = with_weight(spec, limits, weights)
    table = presorted or _sorted(spec, problem, weights)
    classes: Any = problem.classes
    nodes = grow(
        table, problem.y, weights, spec.criterion, limits, len(classes), key=key,
        count_rows=factors is not None, consume=presorted is None,
    )  # fmt: skip
    return _recount(nodes, problem) if recount else nodes


def repeated(problem: Problem) -> Problem:
    """The problem with k copies of each row of weight k: samples are counted by weight, but class
    weights must not change their number."""
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


def tree_key(spec: TreeSpec) -> int:
    """The number that drives all random choices of a tree; 0, without a draw, if it has none."""
    if spec.splitter != "random" and spec.max_features is None:
        return 0
    seed = parallel.seed_sequence(spec.random_state)
    return int(parallel.stream(seed, "tree").integers(0, 2**64, dtype=np.uint64))
