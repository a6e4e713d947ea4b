"""From the public parameters of trees to the engine's `Limits`."""

import math
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError
from pellucid.parameters import Choice, Either, Nothing, RandomState, Real
from pellucid.tree.criteria import SEVERAL_CRITERIA
from pellucid.tree.growth_parameters import (
    CCP_ALPHA,
    COUNT_OR_SHARE,
    MAX_DEPTH,
    MAX_FEATURES,
    MAX_LEAF_NODES,
    MIN_IMPURITY_DECREASE,
    MIN_WEIGHT_FRACTION_LEAF,
    MONOTONIC_CST,
)
from pellucid.tree.splitter import Limits

GROWTH_PARAMETERS = {
    "max_depth": MAX_DEPTH.check,
    "min_samples_split": COUNT_OR_SHARE["split"],
    "min_samples_leaf": COUNT_OR_SHARE["leaf"],
    "min_weight_fraction_leaf": MIN_WEIGHT_FRACTION_LEAF.check,
    "max_features": MAX_FEATURES.check,
    "random_state": RandomState,
    "max_leaf_nodes": MAX_LEAF_NODES.check,
    "min_impurity_decrease": MIN_IMPURITY_DECREASE.check,
    "ccp_alpha": CCP_ALPHA.check,
    "monotonic_cst": MONOTONIC_CST.check,
}
LEVEL_RULES = {"auto": 0, "one_vs_rest": 1, "apart": 2}
TREE_PARAMETERS = GROWTH_PARAMETERS | {
    "splitter": Choice("best", "random", "hist", "auto"),
    "ccp_alpha": Either(Real(0, None), Choice("cv")),
    "max_split_loss": Either(Real(0, None), Nothing),
    "categories": Choice(*LEVEL_RULES),
}
FARTHEST = 900  # binary digits between the sizes of targets: the small one's must stay normal
AUTO_HIST = 2**18  # rows from which splitter="auto" cuts columns into bins


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


def count_of(value: Any, total: float) -> int:
    """A number of samples, given as such or as a share of all."""
    return int(value) if isinstance(value, int | np.integer) else math.ceil(value * total)


def takes_bins(model: Any, n: int) -> bool:
    """Columns of numbers are cut into bins before growing."""
    if model.splitter == "hist" and model.criterion == "absolute_error":
        raise ParameterError(
            "splitter='hist' does not work with criterion='absolute_error': medians are no sums "
            "over bins. Use splitter='best'."
        )
    large = model.splitter == "auto" and n >= AUTO_HIST and model.criterion != "absolute_error"
    return model.splitter == "hist" or large


def _signs(model: Any, problem: Problem) -> tuple[int, ...] | None:
    from pellucid.tree.monotonic import monotone_signs

    owner = type(model).__name__
    signs = monotone_signs(model.monotonic_cst, problem.schema, owner)
    if signs is not None and problem.classes is not None and len(problem.classes) > 2:
        raise ParameterError(
            f"Monotonicity constraints are not supported with multiclass classification: "
            f"monotonic_cst of {owner} needs two classes, y has {len(problem.classes)}."
        )
    return None if signs is None else tuple(signs.tolist())


def _check_targets(model: Any, problem: Problem) -> None:
    """Refuse what several targets at once do not go with."""
    y, owner = problem.y, type(model).__name__
    if problem.classes is not None or y.ndim == 1:
        return
    if model.criterion not in SEVERAL_CRITERIA:
        raise ParameterError(
            f"criterion={model.criterion!r} of {owner} takes one target, y has {y.shape[1]}: use one "
            f"of {', '.join(map(repr, SEVERAL_CRITERIA))}, or a model for each target."
        )
    if model.monotonic_cst is not None:
        raise ParameterError(
            f"Monotonicity constraints are not supported with multiple outputs: monotonic_cst of "
            f"{owner} needs one target, y has {y.shape[1]}."
        )
    size = np.abs(y[problem.weights > 0]).max(axis=0)
    exponents = np.frexp(np.where(size > 0, size, size.max()))[1]
    small = int(exponents.argmin())
    if exponents.max() - exponents[small] > FARTHEST:
        raise DataError(
            f"target {small} of y is smaller than others by more than 2**{FARTHEST}: one tree cannot "
            "lower the errors of both. Give the targets other units, or each a model of its own."
        )


def limits_of(model: Any, problem: Problem) -> Limits:
    """The stopping rules of a tree model, but for its least weight of a leaf."""
    _check_targets(model, problem)
    if model.categories == "apart" and model.max_leaf_nodes is not None:
        raise ParameterError(
            "categories='apart' does not go with max_leaf_nodes: one split may make as many "
            "leaves as a column has levels. Use max_depth or ccp_alpha."
        )
    total = problem.total if problem.counts else float(np.count_nonzero(problem.weights))
    leaf = count_of(model.min_samples_leaf, total)
    split = max(2, count_of(model.min_samples_split, total), 2 * leaf)
    return Limits(
        max_depth=2**31 - 1 if model.max_depth is None else int(model.max_depth),
        min_samples_split=split,
        min_samples_leaf=leaf,
        max_leaf_nodes=model.max_leaf_nodes,
        min_impurity_decrease=model.min_impurity_decrease,
        max_features=number_of_features(model.max_features, problem.p),
        drawn_splits=model.splitter == "random",
        max_split_loss=math.inf if model.max_split_loss is None else model.max_split_loss,
        level_rule=LEVEL_RULES[model.categories],
        signs=_signs(model, problem),
    )
