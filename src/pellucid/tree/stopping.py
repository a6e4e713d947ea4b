"""How a tree is grown: the specification made from public parameters, and its stopping rules."""

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError
from pellucid.tree.criteria import SEVERAL_CRITERIA
from pellucid.tree.splitter import Limits

LEVEL_RULES = {"auto": 0, "one_vs_rest": 1, "apart": 2}
FARTHEST = 900  # largest difference of the binary exponents of targets: no small one underflows
AUTO_HIST = 2**18  # rows from which splitter="auto" puts the values of columns into bins


@dataclass(frozen=True)
class TreeSpec:
    """The parameters from which one tree is grown, under their public names."""

    owner: str  # class that the user fits, for messages
    criterion: str
    splitter: str = "best"
    max_depth: int | None = None
    min_samples_split: float = 2
    min_samples_leaf: float = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: Any = None
    random_state: Any = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    class_weight: Any = None
    monotonic_cst: Any = None
    max_split_loss: float | None = None
    categories: str = "auto"

    @staticmethod
    def of(model: Any, **own: Any) -> "TreeSpec":
        """The specification of a tree, or of the trees of a forest; `own` replaces parameters."""
        given = {name: value for name, value in vars(model).items() if name in _SPECIFIED}
        return TreeSpec(owner=type(model).__name__, **given | own)


_SPECIFIED = {field.name for field in fields(TreeSpec)}


def number_of_features(max_features: Any, d: int) -> int:
    """Number of columns that a node draws from d columns."""
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
    """A number of samples, given as a count or as a share of the total."""
    return int(value) if isinstance(value, int | np.integer) else math.ceil(value * total)


def takes_bins(spec: TreeSpec, n: int) -> bool:
    """Whether the values of numeric columns are put into bins before growing."""
    if spec.splitter == "hist" and spec.criterion == "absolute_error":
        raise ParameterError(
            "splitter='hist' does not work with criterion='absolute_error', because a median is not "
            "a sum over bins. Use splitter='best'."
        )
    large = spec.splitter == "auto" and n >= AUTO_HIST and spec.criterion != "absolute_error"
    return spec.splitter == "hist" or large


def _signs(spec: TreeSpec, problem: Problem) -> tuple[int, ...] | None:
    from pellucid.tree.monotonic import monotone_signs

    signs = monotone_signs(spec.monotonic_cst, problem.schema, spec.owner)
    if signs is not None and problem.classes is not None and len(problem.classes) > 2:
        raise ParameterError(
            f"Monotonicity constraints are not supported with multiclass classification: "
            f"monotonic_cst of {spec.owner} needs two classes, but y has {len(problem.classes)}."
        )
    return None if signs is None else tuple(signs.tolist())


def _check_targets(spec: TreeSpec, problem: Problem) -> None:
    """Refuse parameters and targets that one tree for several targets cannot combine."""
    y = problem.y
    if problem.classes is not None or y.ndim == 1:
        return
    if spec.criterion not in SEVERAL_CRITERIA:
        raise ParameterError(
            f"criterion={spec.criterion!r} of {spec.owner} takes one target, but y has {y.shape[1]}. "
            f"Use one of {', '.join(map(repr, SEVERAL_CRITERIA))}, or fit a model for each target."
        )
    if spec.monotonic_cst is not None:
        raise ParameterError(
            f"Monotonicity constraints are not supported with multiple outputs: monotonic_cst of "
            f"{spec.owner} needs one target, but y has {y.shape[1]}."
        )
    size = np.abs(y[problem.weights > 0]).max(axis=0)
    exponents = np.frexp(np.where(size > 0, size, size.max()))[1]
    small = int(exponents.argmin())
    if exponents.max() - exponents[small] > FARTHEST:
        raise DataError(
            f"Target {small} of y is smaller than another target by a factor of more than "
            f"2**{FARTHEST}, too much for one tree. Rescale the targets, or fit a model for each."
        )


def limits_of(spec: TreeSpec, problem: Problem) -> Limits:
    """The stopping rules of a tree, except the smallest weight of a leaf."""
    _check_targets(spec, problem)
    if spec.categories == "apart" and spec.max_leaf_nodes is not None:
        raise ParameterError(
            "categories='apart' does not work with max_leaf_nodes, because one split may make as many "
            "leaves as a column has levels. Use max_depth or ccp_alpha."
        )
    total = problem.total if problem.counts else float(np.count_nonzero(problem.weights))
    leaf = count_of(spec.min_samples_leaf, total)
    split = max(2, count_of(spec.min_samples_split, total), 2 * leaf)
    return Limits(
        max_depth=2**31 - 1 if spec.max_depth is None else int(spec.max_depth),
        min_samples_split=split,
        min_samples_leaf=leaf,
        max_leaf_nodes=spec.max_leaf_nodes,
        min_impurity_decrease=spec.min_impurity_decrease,
        max_features=number_of_features(spec.max_features, problem.p),
        drawn_splits=spec.splitter == "random",
        max_split_loss=math.inf if spec.max_split_loss is None else spec.max_split_loss,
        level_rule=LEVEL_RULES[spec.categories],
        signs=_signs(spec, problem),
    )
