"""Which cells a distribution can have: counts are never negative, flags are 0 or 1.

Invariant: one rule for all models, in training and in prediction; missing cells are always possible.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pellucid.errors import DataError


class Rule(NamedTuple):
    """Cells that cannot be, given the largest possible one, and what can be instead."""

    impossible: Callable[[Any, float], Any]
    wanted: str


COUNTS = Rule(lambda x, most: x < 0, "counts are 0 or more")
FLAGS = Rule(lambda x, most: (x != 0) & (x != 1) & (x == x), "flags are 0 or 1")
SUCCESSES = Rule(
    lambda x, most: (x < 0) | (x > most) | ((x != np.floor(x)) & (x == x)),
    "numbers of successes are 0, 1, 2, ..., {most}",
)
RULES = {"poisson": COUNTS, "multinomial": COUNTS, "bernoulli": FLAGS, "binomial": SUCCESSES}


def check_counts(X: Any, owner: str, schema: Any, position: np.ndarray | None = None) -> None:
    """Refuse negative numbers, which no count and no code of a category can be.

    `position`: of the user's rows among those of X, where some were left out.
    """
    values = X if isinstance(X, np.ndarray) else X.data
    if values.min(initial=0.0) >= 0 or np.fmin.reduce(values, axis=None, initial=0.0) >= 0:
        return  # the first is quicker, and NaN if a cell is missing
    rows, columns = COUNTS.impossible(X, np.inf).nonzero()
    i, j = int(rows[0]), int(columns[0])
    names = schema.columns if schema.layout == "codes" else schema.terms
    wanted = "counts things: give counts"
    if schema.layout == "codes":
        wanted = "takes categories: give their codes 0, 1, ..., or text"
    raise DataError(
        f"Negative values in data passed to {owner} (input X): row {_user_row(i, position)}, column "
        f"{names[j]!r} holds {X[i, j]:g}. {owner} {wanted}, or use GaussianNB or MixedNB."
    )


def check_column(
    x: np.ndarray,
    kind: str,
    name: str,
    most: float | None = None,
    position: np.ndarray | None = None,
) -> None:
    """Refuse cells of a column that its distribution in MixedNB cannot have; `most`: of trials."""
    if kind not in RULES:
        return
    bad = RULES[kind].impossible(x, np.inf if most is None else most)
    if not bad.any():
        return
    i = int(np.argmax(bad))
    top = "the number of trials" if most is None else f"{most:g}"
    other = "'normal'" if x[i] < 0 else "'poisson' or 'normal'"
    raise DataError(
        f"Input X of MixedNB: row {_user_row(i, position)}, column {name!r} holds {x[i]:g}. Its "
        f"distribution is {kind!r}: {RULES[kind].wanted.format(most=top)}. Correct the cell, or fit "
        f"with distributions={{{name!r}: ...}} of {other}."
    )


def _user_row(i: int, position: np.ndarray | None) -> int:
    return i if position is None else int(np.flatnonzero(position == i)[0])
