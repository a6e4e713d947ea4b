"""When a node may be split: the limits of a tree, as its parameters and as the loops take them."""

import math
import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError
from pellucid.tree.criteria import SEVERAL_CRITERIA
from pellucid.tree.tree_spec import LEVEL_RULES, TreeSpec, count_of, number_of_features

FARTHEST = 900  # largest difference of the binary exponents of targets: no small one underflows


@dataclass(frozen=True)
class Limits:
    """Stopping rules. Samples are sums of weights if all weights are integers, else rows."""

    max_depth: int = 2**31 - 1
    min_samples_split: float = 2
    min_samples_leaf: float = 1
    min_weight_leaf: float = 0.0
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0  # of impurity * weight / total weight
    max_features: int = 2**31 - 1
    drawn_splits: bool = False  # one random split per column instead of the best one
    max_split_loss: float = float("inf")  # weighted impurity of the two children
    level_rule: int = 0  # 0: two sets of levels, 1: one level against the others, 2: all apart
    signs: tuple[int, ...] | None = None  # monotone constraints by column: -1, 0, 1

    def rules(
        self, counts: bool, total: float, w_exponent: int, exponent: int, n_targets: int = 1
    ) -> "Rules":
        """The limits in growing units: weights were divided by 2**w_exponent (`total` too), costs of
        the target by 2**exponent; the loops add up over the targets what the limits state for
        their mean."""
        tiny = sys.float_info.min  # a child of weight 0 is never allowed
        leaf = max(_scaled(self.min_weight_leaf, -w_exponent), tiny)
        rows, rows_split, split = int(self.min_samples_leaf), int(self.min_samples_split), 0.0
        if counts:
            leaf, split = max(float(self.min_samples_leaf), leaf), float(self.min_samples_split)
            rows, rows_split = 1, 2
        return Rules(
            max_depth=min(self.max_depth, 2**31 - 1),
            max_features=min(self.max_features, 2**31 - 1),
            min_rows=rows,
            min_rows_split=rows_split,
            min_weight=leaf,
            min_weight_split=split,
            min_decrease=_scaled(n_targets * self.min_impurity_decrease * total, -exponent),
            max_loss=_scaled(n_targets * self.max_split_loss, -exponent),
            level_rule=self.level_rule,
            drawn_splits=self.drawn_splits,
            demanding=self.min_samples_leaf > 1 or self.min_weight_leaf > 0,
        )

    def sign_array(self) -> np.ndarray | None:
        """The monotone constraints as int8."""
        return None if self.signs is None else np.array(self.signs, dtype=np.int8)


class Rules(NamedTuple):
    """`Limits` as the compiled loops take them; the fields of `Rules` in `_table.pxd`."""

    max_depth: int
    max_features: int
    min_rows: int  # of a child
    min_rows_split: int  # of a node that may be split
    min_weight: float
    min_weight_split: float
    min_decrease: float  # of the cost
    max_loss: float  # of a split, per weight of the node
    level_rule: int
    drawn_splits: bool
    demanding: bool  # children need more than one row or some weight


def _scaled(x: float, exponent: int) -> float:
    """x * 2**exponent, infinite where that is too large."""
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.inf


def _signs(spec: TreeSpec, problem: Problem) -> tuple[int, ...] | None:
    from pellucid.tree.growth_parameters import monotone_signs

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
