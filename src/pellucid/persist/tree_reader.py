"""The tree of a model file: one walk over its tagged values, without NumPy.

`Decoder` makes the model from it, `Preview` a description. The tree is untrusted: tags, types and
depth are checked here. Each tag of the format is the method of its name, here or in both readers.
"""

from __future__ import annotations

import datetime
import math
import re
import struct
from collections.abc import Callable
from typing import Any, TypeVar

from pellucid.errors import ModelFileError
from pellucid.persist.container import MAX_DEPTH, Contents

T = TypeVar("T")
TAGS = (
    "int", "float", "bytes", "date", "datetime", "scalar", "str_", "bytes_", "tuple", "set",
    "frozenset", "dict", "array", "objects", "texts", "numbers", "repeat", "csr", "record", "same",
    "estimator",
)  # fmt: skip
# Types of tensors: NumPy's name, code of `struct`.
TENSOR_TYPES = {
    "BOOL": ("bool", "?"), "I8": ("int8", "b"), "U8": ("uint8", "B"), "I16": ("int16", "h"),
    "U16": ("uint16", "H"), "F16": ("float16", "e"), "I32": ("int32", "i"), "U32": ("uint32", "I"),
    "F32": ("float32", "f"), "I64": ("int64", "q"), "U64": ("uint64", "Q"), "F64": ("float64", "d"),
}  # fmt: skip
_MAX_HEX = 1 << 20
_MAX_ALIKE = 64  # different values of one hash; a dictionary of n such values takes n * n steps


class TreeReader:
    """Reads values bottom-up."""

    def __init__(self, contents: Contents) -> None:
        self._version, self._depth = contents.document["format"], 0
        self._tensors, self._data = dict(contents.tensors), contents.data
        self._by_tag = {tag: getattr(self, f"_{tag}") for tag in TAGS}

    def value(self, tree: Any) -> Any:
        """The value of a JSON tree."""
        kind = type(tree)
        if kind is dict:
            tag = tree.get("@")
            read = self._by_tag.get(tag) if type(tag) is str else None
            return self._unknown(tag) if read is None else self._nested(read, tree)
        if kind is list:
            return self._nested(self._list, tree)
        if kind is float and not math.isfinite(tree):
            raise ModelFileError("it holds a number beyond the range of floats")
        return tree

    def _nested(self, read: Callable[[Any], Any], tree: Any) -> Any:
        self._depth += 1
        if self._depth > 2 * MAX_DEPTH + 4:  # a tuple is a tag and a list
            raise ModelFileError("it is nested too deeply")
        value = read(tree)
        self._depth -= 1
        return value

    def _unknown(self, tag: Any) -> Any:
        raise ModelFileError(f"it holds a value of the unknown kind {str(tag)[:40]!r}")

    def _list(self, tree: list[Any]) -> list[Any]:
        return hashed_apart([self.value(item) for item in tree])

    def _table(self, tree: dict[str, Any], key: str) -> dict[str, Any]:
        return {name: self.value(item) for name, item in get(tree, key, dict).items()}

    def _int(self, tree: dict[str, Any]) -> Any:
        text = get(tree, "hex", str)
        if len(text) > _MAX_HEX or not re.fullmatch(r"-?0x[0-9a-f]+", text):
            raise ModelFileError("it holds an impossible integer")
        return int(text, 16)

    def _float(self, tree: dict[str, Any]) -> float:
        text = get(tree, "value", str)
        if text in ("inf", "-inf", "nan"):
            return float(text)
        value: float = struct.unpack(">d", unhex(text, 8))[0]
        if math.isfinite(value):
            raise ModelFileError("it holds an impossible number")
        return value

    def _bytes(self, tree: dict[str, Any]) -> Any:
        return unhex(get(tree, "hex", str))

    def _date(self, tree: dict[str, Any]) -> Any:
        return parsed(datetime.date.fromisoformat, get(tree, "iso", str))

    def _datetime(self, tree: dict[str, Any]) -> Any:
        value = parsed(datetime.datetime.fromisoformat, get(tree, "iso", str))
        if value.tzinfo is not None:
            raise ModelFileError("it holds an impossible date")
        return value


def hashed_apart(values: list[Any]) -> list[Any]:
    """The values; refuses many that share one hash, which anybody can compute for large integers.

    Texts and bytes have secret hashes, and integers below 2**61 and floats are nearly their own.
    """
    alike: dict[int, list[Any]] = {}
    for value in values:
        kind = type(value)
        if (kind is int and not -(1 << 61) < value < 1 << 61) or kind is tuple:
            try:
                others = alike.setdefault(hash(value), [])
            except TypeError:  # a tuple with a list or an array in it is no key of any dictionary
                continue
            if value not in others:
                others.append(value)
            if len(others) > _MAX_ALIKE:
                raise ModelFileError(f"it holds more than {_MAX_ALIKE} values of the same hash")
    return values


def get(tree: dict[str, Any], key: str, kind: type) -> Any:
    """`tree[key]`, which must be of exactly this type."""
    value = tree.get(key)
    if type(value) is not kind:
        raise ModelFileError(f"a value of kind {tree.get('@')!r} lacks its {key!r}")
    return value


def parsed(parse: Callable[[Any], T], text: Any) -> T:
    """`parse(text)`."""
    try:
        return parse(text)
    except (ValueError, TypeError):
        raise ModelFileError("it holds a text, date or number that cannot be read") from None


def unhex(text: str, size: int | None = None) -> bytes:
    """Bytes from hexadecimal digits, of this size if one is given."""
    raw = parsed(bytes.fromhex, text)
    if size is not None and len(raw) != size:
        raise ModelFileError("it holds a number of the wrong size")
    return raw
