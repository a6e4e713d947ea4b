"""The support of each distribution: counts are never negative, binary cells are 0 or 1.

Invariant: one rule for all models, in training and in prediction; missing cells are always allowed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pellucid.errors import DataError


class Rule(NamedTuple):
    """Which cells are impossible, given the largest possible value, and which are allowed."""

    impossible: Callable[[Any, float], Any]
    wanted: str


COUNTS = Rule(lambda x, most: x < 0, "cells must be at least 0")
BINARY = Rule(lambda x, most: (x != 0) & (x != 1) & (x == x), "cells must be 0 or 1")
SUCCESSES = Rule(
    lambda x, most: (x < 0) | (x > most) | ((x != np.floor(x)) & (x == x)),
    "cells must be 0, 1, 2, ..., {most}",
)
RULES = {"poisson": COUNTS, "multinomial": COUNTS, "bernoulli": BINARY, "binomial": SUCCESSES}


def check_counts(X: Any, owner: str, schema: Any, position: np.ndarray | None = None) -> None:
    """Raise an error for a negative number, which is neither a count nor the code of a category.

    `position` is the row of X of each of the user's rows, if some were left out.
    """
    values = X if isinstance(X, np.ndarray) else X.data
    if values.min(initial=0.0) >= 0 or np.fmin.reduce(values, axis=None, initial=0.0) >= 0:
        return  # the first is faster, but NaN if a cell is missing
    rows, columns = COUNTS.impossible(X, np.inf).nonzero()
    i, j = int(rows[0]), int(columns[0])
    names = schema.columns if schema.layout == "codes" else schema.terms
    wanted = "needs counts"
    if schema.layout == "codes":
        wanted = "needs categories, as codes 0, 1, ... or text"
    raise DataError(
        f"Negative values in data passed to {owner} (input X): row {_user_row(i, position)}, column "
        f"{names[j]!r} is {X[i, j]:g}. {owner} {wanted}. Use GaussianNB or MixedNB for other numbers."
    )


def check_column(
    x: np.ndarray,
    kind: str,
    name: str,
    most: float | None = None,
    position: np.ndarray | None = None,
) -> None:
    """Raise an error for a cell that the distribution of its column in MixedNB cannot have.

    `most` is the number of trials of a binomial column, if given.
    """
    if kind not in RULES:
        return
    bad = RULES[kind].impossible(x, np.inf if most is None else most)
    if not bad.any():
        return
    i = int(np.argmax(bad))
    top = "the number of trials" if most is None else f"{most:g}"
    other = "'normal'" if x[i] < 0 else "'poisson' or 'normal'"
    raise DataError(
        f"Input X of MixedNB: row {_user_row(i, position)}, column {name!r} is {x[i]:g}, but the "
        f"distribution is {kind!r}: {RULES[kind].wanted.format(most=top)}. Correct the cell, or fit "
        f"with distributions={{{name!r}: ...}} set to {other}."
    )


def _user_row(i: int, position: np.ndarray | None) -> int:
    return i if position is None else int(np.flatnonzero(position == i)[0])
