"""Parameters of the growth of a tree, which trees, forests and gradient boosting share."""

from typing import Any

import numpy as np

from pellucid.parameters import Choice, Either, Integer, Nothing, Predicate, Real, param


def share(last: str) -> Predicate:
    """A float, not an int, above 0 and up to 1: the int 1 is a count."""
    inside = Real(0, 1, "neither" if last == ")" else "right")

    def accepts(value: Any) -> bool:
        return isinstance(value, float | np.floating) and inside.accepts(value)

    return Predicate(accepts, f"a float in the range (0.0, 1.0{last}", f"float in (0, 1{last}")


COUNT_OR_SHARE = {
    "split": Either(Integer(2), share("]")),
    "leaf": Either(Integer(1), share(")")),
}
MAX_DEPTH = param(
    None,
    Either(Integer(1), Nothing),
    "Largest number of splits between the root and a leaf. None grows until no split helps or "
    "another limit holds.",
)
MIN_SAMPLES_SPLIT = param(
    2,
    COUNT_OR_SHARE["split"],
    "Smallest number of samples in a node that may be split; a float is a share of all samples. "
    "Samples are sums of weights if all weights are integers, otherwise rows.",
)
MIN_SAMPLES_LEAF = param(
    1,
    COUNT_OR_SHARE["leaf"],
    "Smallest number of samples in a leaf; a float is a share of all samples. Samples are sums of "
    "weights if all weights are integers, otherwise rows.",
)
MIN_WEIGHT_FRACTION_LEAF = param(
    0.0, Real(0, 0.5, "both"), "Smallest share of the total weight in a leaf."
)
MAX_FEATURES = param(
    None,
    Either(Integer(1), share("]"), Choice("sqrt", "log2"), Nothing),
    "Number of columns drawn at random at each node, among which the best split is sought: a count, "
    "a share of the columns, their square root or logarithm. None takes all columns.",
)
MAX_LEAF_NODES = param(
    None,
    Either(Integer(2), Nothing),
    "Largest number of leaves. With a number, the tree is grown best first: the node whose split "
    "reduces the impurity most is split next.",
)
MIN_IMPURITY_DECREASE = param(
    0.0,
    Real(0, None),
    "Smallest weighted decrease of the impurity for which a node is split.",
)
CCP_ALPHA = param(
    0.0,
    Real(0, None),
    "Penalty for each leaf in cost-complexity pruning: subtrees that save less impurity per leaf "
    "are removed. 0 does not prune.",
)
MONOTONIC_CST = param(
    None,
    Either(
        Predicate(lambda v: isinstance(v, list | tuple | np.ndarray), "a list of -1, 0 and 1"),
        Predicate(lambda v: isinstance(v, dict), "a dict {column: sign}"),
        Nothing,
    ),
    "How the prediction may move with each column: 1 up, -1 down, 0 either way. A list has one "
    "number for each column, a dict names columns.",
)
