"""The `distributions` parameter of MixedNB: distributions of columns, by name or position."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pellucid.errors import ParameterError, shown
from pellucid.naive_bayes.text_columns import WORD_KINDS

KINDS = ("normal", "bernoulli", "categorical", "poisson", "binomial", "multinomial", *WORD_KINDS)


class Distribution(NamedTuple):
    """The distribution that a user chose for a column, and the trials of a binomial one if given."""

    kind: str
    trials: float | None = None


def by_position(
    distributions: Mapping[Any, Any] | None, columns: tuple[str, ...]
) -> dict[int, Distribution]:
    """The chosen distributions by position of their columns."""
    out = {}
    for column, value in (distributions or {}).items():
        if isinstance(column, str) and column in columns:
            out[columns.index(column)] = _parsed(column, value)
        elif isinstance(column, int | np.integer) and 0 <= column < len(columns):
            out[int(column)] = _parsed(column, value)
        else:
            raise ParameterError(
                f"The 'distributions' parameter of MixedNB names column {shown(column)}, but X has no "
                "such column."
            )
    return out


def _parsed(column: Any, value: Any) -> Distribution:
    kind, trials = value, None
    if isinstance(value, tuple | list) and len(value) == 2 and value[0] == "binomial":
        kind, trials = value
        if not isinstance(trials, int | np.integer) or isinstance(trials, bool) or trials < 1:
            raise ParameterError(
                f"The 'distributions' parameter of MixedNB must give the number of trials of a "
                f"binomial column as an int in the range [1, inf). Got {shown(trials)} for column "
                f"{shown(column)} instead."
            )
    if kind not in KINDS:
        raise ParameterError(
            f"The 'distributions' parameter of MixedNB must map columns to one of {list(KINDS)} or to "
            f"('binomial', trials). Got {value!r} for column {column!r} instead."
        )
    return Distribution(kind, None if trials is None else float(trials))
