"""Parameters of the growth of a tree, which trees, forests and gradient boosting share.

`monotone_signs` turns one of them, the monotone constraints of columns, into an array.
"""

from typing import Any

import numpy as np

from pellucid.data.schema import Schema
from pellucid.errors import ParameterError
from pellucid.parameters import Choice, Integer, Predicate, Real, param


def share(last: str) -> Predicate:
    """A float, not an int, above 0 and up to 1: the int 1 is a count."""
    inside = Real(0, 1, "neither" if last == ")" else "right")

    def accepts(value: Any) -> bool:
        return isinstance(value, float | np.floating) and inside.accepts(value)

    return Predicate(accepts, f"a float in the range (0.0, 1.0{last}", f"float in (0, 1{last}")


COUNT_OR_SHARE = {"split": Integer(2) | share("]"), "leaf": Integer(1) | share(")")}
MAX_DEPTH = param(
    None,
    Integer(1) | None,
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
    Integer(1) | share("]") | Choice("sqrt", "log2") | None,
    "Number of columns drawn at random at each node, among which the best split is sought: a count, "
    "a share of the columns, their square root or logarithm. None takes all columns.",
)
MAX_LEAF_NODES = param(
    None,
    Integer(2) | None,
    "Largest number of leaves. With a number, the tree is grown best first: the node whose split "
    "reduces the impurity most is split next.",
)
MIN_IMPURITY_DECREASE = param(
    0.0, Real(0, None), "Smallest weighted decrease of the impurity for which a node is split."
)
CCP_ALPHA = param(
    0.0,
    Real(0, None),
    "Penalty for each leaf in cost-complexity pruning: subtrees that save less impurity per leaf "
    "are removed. 0 does not prune.",
)
MONOTONIC_CST = param(
    None,
    Predicate(lambda v: isinstance(v, list | tuple | np.ndarray), "a list of -1, 0 and 1")
    | Predicate(lambda v: isinstance(v, dict), "a dict {column: sign}")
    | None,
    "How the prediction may move with each column: 1 up, -1 down, 0 either way. A list has one "
    "number for each column, a dict names columns.",
)


def monotone_signs(given: Any, schema: Schema, owner: str) -> np.ndarray | None:
    """1 up, -1 down, 0 free, by column (int8); None if all are free."""
    if given is None:
        return None
    d = schema.n_columns
    signs = np.zeros(d, dtype=np.int8)
    if isinstance(given, dict):
        for name, sign in given.items():
            if schema.names is None or name not in schema.names:
                raise ParameterError(
                    f"monotonic_cst of {owner} names the column {name!r}, which X does not have."
                )
            signs[schema.names.index(name)] = _sign(sign, owner)
    else:
        values = np.asarray(given)
        if values.shape != (d,):
            raise ParameterError(
                f"monotonic_cst of {owner} has shape {values.shape}, but X has {d} columns."
            )
        signs[:] = [_sign(value, owner) for value in values.tolist()]
    bad = np.flatnonzero((signs != 0) & (schema.n_levels > 0))
    if len(bad):
        raise ParameterError(
            f"Categorical column {schema.name(int(bad[0]))!r} cannot have a monotone constraint, "
            "because its levels have no order."
        )
    return signs if signs.any() else None


def _sign(value: Any, owner: str) -> int:
    if isinstance(value, bool) or value not in (-1, 0, 1):
        raise ParameterError(f"monotonic_cst of {owner} must contain -1, 0 or 1. Got {value!r}.")
    return int(value)
