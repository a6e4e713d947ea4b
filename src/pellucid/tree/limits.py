"""From the public parameters of trees to the engine's `Limits`."""

import math
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.parameters import Choice, Either, Integer, Nothing, RandomState, Real, Test
from pellucid.tree.splitter import Limits


def _share(last: str) -> Test:
    """A float, not an int, above 0 and up to 1: the int 1 is a count."""
    inside = Real(0, 1, "neither" if last == ")" else "right")
    return Test(
        lambda v: isinstance(v, float | np.floating) and inside.accepts(v),
        f"a float in the range (0.0, 1.0{last}",
    )


COUNT_OR_SHARE = {
    "split": Either(Integer(2), _share("]")),
    "leaf": Either(Integer(1), _share(")")),
}
MAX_FEATURES = Either(Integer(1), _share("]"), Choice("sqrt", "log2"), Nothing)
CLASS_WEIGHTS = Test(lambda v: isinstance(v, dict), "a dict {label: weight}")
GROWTH_PARAMETERS = {
    "max_depth": Either(Integer(1), Nothing),
    "min_samples_split": COUNT_OR_SHARE["split"],
    "min_samples_leaf": COUNT_OR_SHARE["leaf"],
    "min_weight_fraction_leaf": Real(0, 0.5, "both"),
    "max_features": MAX_FEATURES,
    "random_state": RandomState,
    "max_leaf_nodes": Either(Integer(2), Nothing),
    "min_impurity_decrease": Real(0, None),
    "ccp_alpha": Real(0, None),
    "monotonic_cst": Nothing,
}
TREE_PARAMETERS = GROWTH_PARAMETERS | {
    "splitter": Choice("best", "random"),
    "ccp_alpha": Either(Real(0, None), Choice("cv")),
}


def number_of_features(max_features: Any, d: int) -> int:
    """Columns to draw at a node of a table with d columns."""
    if max_features is None:
        return d
    if max_features == "sqrt":
        return max(1, int(math.sqrt(d)))
    if max_features == "log2":
        return max(1, int(math.log2(d)))
    if isinstance(max_features, int | np.integer):
        return min(int(max_features), d)
    return max(1, int(max_features * d))


def _count(value: Any, total: float) -> int:
    """A number of samples, given as such or as a share of all."""
    return int(value) if isinstance(value, int | np.integer) else math.ceil(value * total)


def limits_of(model: Any, problem: Problem, weight: float) -> Limits:
    """The stopping rules of a tree model for a problem of this total weight."""
    total = problem.total if problem.counts else float(np.count_nonzero(problem.weights))
    leaf = _count(model.min_samples_leaf, total)
    split = max(2, _count(model.min_samples_split, total), 2 * leaf)
    return Limits(
        max_depth=2**31 - 1 if model.max_depth is None else int(model.max_depth),
        min_samples_split=split,
        min_samples_leaf=leaf,
        min_weight_leaf=model.min_weight_fraction_leaf * weight,
        max_leaf_nodes=model.max_leaf_nodes,
        min_impurity_decrease=model.min_impurity_decrease,
        max_features=number_of_features(model.max_features, problem.p),
        drawn_splits=model.splitter == "random",
    )
