"""Monotone constraints of columns: from the user's parameter to an array."""

from typing import Any

import numpy as np

from pellucid.data.schema import Schema
from pellucid.errors import ParameterError


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
