"""SHA-256 of values: arrays by dtype, shape and bytes, records by their fields, text not at all."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import struct
import types
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

# Clocks: what they show is different in every run.
CLOCKS = {"seconds", "time", "times", "elapsed"}
TEXT = (str, type, types.FunctionType, types.MethodType, types.BuiltinFunctionType)


class Hash(Protocol):
    """What `hashlib.sha256()` gives."""

    def update(self, data: bytes, /) -> None: ...


def digests(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """(key, SHA-256) of a value; the parts of a record, a dict or an estimator are listed alone."""
    parts = _parts(value)
    if parts is None:
        if not isinstance(value, TEXT):
            yield key, digest(value)
        return
    for name, part in parts:
        if not isinstance(part, TEXT):
            yield f"{key}.{name}", digest(part)


def digest(value: Any) -> str:
    """The SHA-256 of all numbers and labels in a value."""
    found = hashlib.sha256()
    _feed(found, value)
    return found.hexdigest()


def learned(model: Any) -> Iterator[tuple[str, Any]]:
    """Learned attributes of an estimator, stored ones and properties, sorted by name."""
    names = {*vars(model), *(n for n in dir(type(model)) if _is_property(type(model), n))}
    for name in sorted(names):
        if name.endswith("_") and not name.startswith("_"):
            try:
                yield name, getattr(model, name)
            except AttributeError:
                continue  # an attribute that this fit does not have


def _is_property(cls: type, name: str) -> bool:
    return not callable(getattr(cls, name, None))


def _parts(value: Any) -> list[tuple[str, Any]] | None:
    """Named parts of a record, a mapping, an estimator or a plain object; None for all else."""
    if isinstance(value, type) or value is None:
        return None
    if hasattr(value, "get_params"):
        return [(name, part) for name, part in learned(value) if name != "schema_"]
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.name[0] != "_"]
        return [(name, getattr(value, name)) for name in sorted(set(names) - CLOCKS)]
    if isinstance(value, Mapping):
        items = sorted((str(name), part) for name, part in value.items())
        return [(name, part) for name, part in items if name not in CLOCKS]
    if hasattr(value, "tocsr"):
        return [(n, getattr(value.tocsr(), n)) for n in ("data", "indices", "indptr", "shape")]
    return None


def _feed(found: Hash, value: Any) -> None:
    if isinstance(value, TEXT):
        return
    parts = _parts(value)
    if parts is not None:
        for name, part in parts:
            found.update(f".{name}".encode())
            _feed(found, part)
    elif isinstance(value, np.ndarray | np.generic):
        _feed_array(found, np.asarray(value))
    elif isinstance(value, list | tuple | range | Iterator):
        items = list(value)
        found.update(f"[{len(items)}]".encode())
        for item in items:
            _feed(found, item)
    elif isinstance(value, set | frozenset):
        _feed(found, sorted(value))
    else:
        found.update(_scalar(value))


def _feed_array(found: Hash, array: np.ndarray) -> None:
    """Text in an array is a label, and labels count."""
    found.update(f"{array.dtype}{array.shape}".encode())
    if array.dtype != object:
        found.update(np.ascontiguousarray(array).tobytes())
        return
    for item in array.ravel():
        if isinstance(item, str):
            found.update(f"'{item}'".encode())
        else:
            _feed(found, item)


def _scalar(value: Any) -> bytes:
    if isinstance(value, float):
        return b"f" + struct.pack("<d", value)
    if value is None or isinstance(value, bool | int | bytes | datetime.date | datetime.timedelta):
        return f"{type(value).__name__}{value!r}".encode()
    raise TypeError(f"No digest of a {type(value).__name__} is defined.")
