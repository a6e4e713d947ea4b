"""Checks of the fields of a record.

Invariant: a record that exists is valid, whatever file or caller its fields came from.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pellucid.errors import ParameterError


def require(condition: bool, record: object, field: str, must: str) -> None:
    """Refuse the record unless the condition holds."""
    if not condition:
        raise ParameterError(f"The '{field}' field of {type(record).__name__} must be {must}.")


def store(record: object, field: str, value: Any) -> None:
    """Set a field of a frozen record while it is being made."""
    object.__setattr__(record, field, value)


def store_array(
    record: object, field: str, shape: tuple[int | None, ...], dtype: type = np.float64
) -> np.ndarray:
    """Replace a field by a read-only array of the given shape; None stands for any length."""
    wanted = " x ".join("any" if size is None else str(size) for size in shape)
    must = f"an array of numbers, {wanted}"
    try:
        given = np.asarray(getattr(record, field))
    except ValueError:
        given = np.empty(0, dtype=object)
    require(given.dtype.kind in "fiub", record, field, must)
    same = given.ndim == len(shape) and all(
        size is None or size == actual for size, actual in zip(shape, given.shape)
    )
    require(same, record, field, must)
    array: np.ndarray = given.astype(dtype, copy=False).view()
    array.flags.writeable = False
    store(record, field, array)
    return array


def store_strings(record: object, field: str, values: Iterable[Any]) -> tuple[str, ...]:
    """Replace a field by a tuple of strings."""
    require(not isinstance(values, str), record, field, "a sequence of strings")
    strings = tuple(values)
    correct = all(isinstance(value, str) for value in strings)
    require(correct, record, field, "a sequence of strings")
    store(record, field, strings)
    return strings
