"""`TreeSpec`: how one tree is grown, made from the public parameters of a model."""

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pellucid.errors import ParameterError

LEVEL_RULES = {"auto": 0, "one_vs_rest": 1, "apart": 2}
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


def uses_bins(spec: TreeSpec, n: int) -> bool:
    """Whether the values of numeric columns are put into bins before growing."""
    if spec.splitter == "hist" and spec.criterion == "absolute_error":
        raise ParameterError(
            "splitter='hist' does not work with criterion='absolute_error', because a median is not "
            "a sum over bins. Use splitter='best'."
        )
    large = spec.splitter == "auto" and n >= AUTO_HIST and spec.criterion != "absolute_error"
    return spec.splitter == "hist" or large
