"""A model as a JSON tree and a table of arrays: the writing half of the format.

Types are matched exactly, never by `isinstance`: a subclass may carry code or meaning that a file
cannot, so it is refused. Invariant: `decode(encode(model))` holds equal bits in equal types; arrays
come back native, contiguous and in the same memory order (C or Fortran).
"""

from __future__ import annotations

import dataclasses
import datetime
import math
import struct
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pellucid import __version__
from pellucid.errors import CannotSaveError
from pellucid.persist.allowed_classes import estimator_label, is_model, record_label
from pellucid.persist.container import FORMAT, MAX_DEPTH, MAX_ITEMS, READER
from pellucid.persist.fitted_state import reads_text_quickly

EXACT_INT = 1 << 53  # any JSON reader keeps integers below this
PACK = 256  # from this length on, lists of one type are stored as tensors
_ADVICE = (
    "A model file holds data only, so that loading it can never run code. "
    "Pickle keeps such a model for readers who trust you"
)


def encode(
    model: Any, provenance: dict[str, Any] | None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the tensors of a model file."""
    encoder = Encoder(type(model).__name__)
    if not is_model(type(model)):
        raise CannotSaveError(
            f"Cannot save {type(model).__module__}.{type(model).__qualname__}: "
            "it is not one of Pellucid's estimators."
        )
    tree = encoder.value(model)
    python = ".".join(map(str, sys.version_info[:3]))
    versions = {"pellucid": __version__, "numpy": np.__version__, "python": python}
    origin = encoder.inside("provenance", versions | (provenance or {}))
    document = {"format": FORMAT, "reader": READER, "model": tree, "provenance": origin}
    return document, encoder.tensors


class Encoder:
    """Visits a model once; remembers where it is, so that an error can name the value."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.tensors: dict[str, np.ndarray] = {}
        self._path: list[str] = []
        self._role = "value"
        self._shared: dict[int, tuple[int, Any]] = {}  # keeps the records, so ids stay theirs
        self._n_items = 0

    def value(self, value: Any) -> Any:
        """The JSON form of any value a model may hold."""
        if len(self._path) > MAX_DEPTH:
            raise self._refusal("is nested too deeply (does it contain itself?)")
        kind = type(value)
        encoder = _ENCODERS.get(kind)
        if encoder is not None:
            return encoder(self, value)
        if isinstance(value, np.generic):
            return self._scalar(value)
        if record_label(kind) is not None:
            return self._record(value)
        if estimator_label(kind) is not None:
            return self._estimator(value)
        if _is_csr(value):
            return self._csr(value)
        raise self._foreign(value)

    def inside(self, step: str, value: Any) -> Any:
        """Encode `value`, found at `step` of the present place."""
        self._path.append(step)
        tree = self.value(value)
        self._path.pop()
        return tree

    # --- simple values

    def _itself(self, value: Any) -> Any:
        return value

    def _int(self, value: int) -> Any:
        return value if -EXACT_INT < value < EXACT_INT else {"@": "int", "hex": hex(value)}

    def _float(self, value: float) -> Any:
        if math.isfinite(value):
            return value
        bits = struct.pack(">d", value).hex()
        usual = {"7ff0000000000000": "inf", "fff0000000000000": "-inf", "7ff8000000000000": "nan"}
        return {"@": "float", "value": usual.get(bits, bits)}

    def _bytes(self, value: bytes) -> Any:
        return {"@": "bytes", "hex": value.hex()}

    def _date(self, value: datetime.date) -> Any:
        return {"@": "date", "iso": value.isoformat()}

    def _datetime(self, value: datetime.datetime) -> Any:
        if value.tzinfo is not None or value.fold:
            raise self._refusal("is a datetime with a time zone; use UTC without one")
        return {"@": "datetime", "iso": value.isoformat()}

    def _scalar(self, value: np.generic) -> Any:
        if isinstance(value, np.str_) and type(value) is np.str_:
            return {"@": "str_", "value": str(value)}
        if isinstance(value, np.bytes_) and type(value) is np.bytes_:
            return {"@": "bytes_", "hex": value.hex()}
        dtype = self._dtype(value.dtype)
        return {"@": "scalar", "dtype": dtype.str, "hex": np.asarray(value, dtype).tobytes().hex()}

    # --- collections

    def _tuple(self, value: tuple[Any, ...]) -> Any:
        return {"@": "tuple", "items": self._items(value)}

    def _set(self, value: set[Any] | frozenset[Any]) -> Any:
        if not all(map(_hashable_data, value)):
            raise self._refusal("has members that are not simple values")
        members = sorted(value, key=lambda item: (type(item).__name__, repr(item)))
        return {"@": type(value).__name__, "items": self._items(members)}

    def _items(self, values: Iterable[Any]) -> Any:
        values = list(values)
        return self._packed(values) or [
            self.inside(f"[{i}]", item) for i, item in enumerate(values)
        ]

    def _packed(self, values: list[Any]) -> Any:
        """Long lists of one kind: levels, vocabularies, the empty levels of a thousand numbers."""
        if len(values) < PACK:
            return None
        self._n_items += len(values)
        if self._n_items > MAX_ITEMS:
            raise self._refusal(f"makes more than {MAX_ITEMS} values in lists; use an array")
        kinds = {type(item) for item in values}
        if all(item is values[0] for item in values) and _repeatable(values[0]):
            return {"@": "repeat", "times": len(values), "item": self.value(values[0])}
        if kinds == {str}:
            return self._texts(values)
        if kinds == {float}:
            return {"@": "numbers", "tensor": self._keep(np.array(values, np.float64))}
        if kinds == {int} and all(-(1 << 63) <= item < 1 << 63 for item in values):
            return {"@": "numbers", "tensor": self._keep(np.array(values, np.int64))}
        return None

    def _texts(self, values: list[str]) -> Any:
        text = "".join(values).encode("utf-8", "surrogatepass")
        lengths = np.array([len(item) for item in values], np.int64)
        return {
            "@": "texts",
            "tensor": self._keep(np.frombuffer(text, np.uint8) if text else np.empty(0, np.uint8)),
            "lengths": self._keep(lengths),
        }

    def _dict(self, value: dict[Any, Any]) -> Any:
        if not all(map(_hashable_data, value)):
            raise self._refusal("has keys that are not simple values")
        return {
            "@": "dict",
            "items": [
                [self.value(key), self.inside(_step(key, i), item)]
                for i, (key, item) in enumerate(value.items())
            ],
        }

    # --- arrays

    def _array(self, value: np.ndarray) -> Any:
        if value.dtype.kind == "O":
            values = self._items(value.ravel().tolist())
            return {"@": "objects", "shape": list(value.shape), "values": values}
        dtype = self._dtype(value.dtype)
        fortran = value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous
        plain = np.ascontiguousarray(value.T if fortran else value, dtype=dtype)
        plain = plain.reshape(value.shape[::-1] if fortran else value.shape)  # keeps 0-d
        tree: dict[str, Any] = {"@": "array"}
        if dtype.kind in "MmUS":
            tree["as"] = dtype.str
            plain = _as_numbers(plain)
        if fortran:
            tree["order"] = "F"
        tree["tensor"] = self._keep(plain)
        return tree

    def _dtype(self, dtype: np.dtype) -> np.dtype:
        """The little-endian form of a type that a file can hold."""
        if dtype.kind in "US" and dtype.itemsize == 0:
            return np.dtype("<U1" if dtype.kind == "U" else "S1")
        if dtype.kind in "biuMmUS" or (dtype.kind == "f" and dtype.itemsize <= 8):
            return dtype.newbyteorder("<")
        raise self._refusal(f"has the type {dtype}, which a model file does not hold")

    def _csr(self, value: Any) -> Any:
        parts = (value.data, value.indices, value.indptr)
        data, indices, indptr = (
            self.inside(step, part) for step, part in zip(("data", "indices", "indptr"), parts)
        )
        kind = type(value).__name__
        shape = [int(length) for length in value.shape]
        return {"@": "csr", "kind": kind, "shape": shape, "data": data, "indices": indices,
                "indptr": indptr}  # fmt: skip

    def _keep(self, array: np.ndarray) -> str:
        """Put the array beside the tree, under the path of the value that holds it."""
        base = "".join(self._path).removeprefix(".") or "value"
        name, count = base, 1
        while name in self.tensors or name == "__metadata__":
            count += 1
            name = f"{base}~{count}"
        self.tensors[name] = array
        return name

    # --- objects

    def _record(self, record: Any) -> Any:
        """A record; one that occurs again, as a schema shared by many trees, is written once."""
        if id(record) in self._shared:
            return {"@": "same", "record": self._shared[id(record)][0]}
        fields = {name: self.inside(f".{name}", item) for name, item in _fields(record).items()}
        self._shared[id(record)] = len(self._shared), record
        return {"@": "record", "class": record_label(type(record)), "fields": fields}

    def _estimator(self, model: Any) -> Any:
        schema = vars(model).get("schema_")
        if schema is not None and not reads_text_quickly(schema):
            raise CannotSaveError(
                f"Cannot save {self.owner}: the 'pattern' {schema.text_pattern!r} of its Text could "
                "take forever on some texts, so no file may hold it. Use characters and classes "
                r"of characters where only the last one repeats, such as '[a-z][a-z-]+' or '\w\w+'."
            )
        role = self._role
        self._role = "parameter"
        parameters = {
            name: self.inside(f".{name}", item)
            for name, item in model.get_params(deep=False).items()
        }
        self._role = "learned attribute" if role != "parameter" else role
        learned = {
            name: self.inside(f".{name}", vars(model)[name])
            for name in sorted(vars(model))
            if name.endswith("_") and not name.startswith("_")
        }
        self._role = role
        if learned and hasattr(model, "_check_parameters"):
            model._check_parameters()  # `load` will check them, so check before writing
        tree = {
            "@": "estimator",
            "class": estimator_label(type(model)),
            "parameters": parameters,
            "learned": learned,
        }
        output = vars(model).get("_sklearn_output_config", {}).get("transform")
        kept = output is not None and hasattr(model, "set_output")
        return {**tree, "output": output} if kept else tree

    # --- refusals

    def _foreign(self, value: Any) -> CannotSaveError:
        kind = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if isinstance(value, np.random.RandomState | np.random.Generator):
            return self._refusal("is a random generator; give an integer instead")
        if callable(getattr(value, "get_params", None)) and callable(getattr(value, "fit", None)):
            fault = f"is the estimator {name}, which is not one of Pellucid's"
        elif callable(value):
            fault = f"is code ({getattr(value, '__qualname__', name)})"
        else:
            fault = f"is an object of type {name}"
        return self._refusal(f"{fault}. {_ADVICE}")

    def _refusal(self, fault: str) -> CannotSaveError:
        path = "".join(self._path).removeprefix(".")
        return CannotSaveError(f"Cannot save {self.owner}: the {self._role} {path!r} {fault}.")


def _fields(record: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(record):
        return {
            field.name: getattr(record, field.name)
            for field in dataclasses.fields(record)
            if field.init
        }
    parameters: dict[str, Any] = record.get_params(deep=False)
    return parameters


def _as_numbers(array: np.ndarray) -> np.ndarray:
    """Dates as their int64 ticks; text with one more axis, its characters."""
    if array.dtype.kind in "Mm":
        return array.view("<i8")
    unit, size = ("<u4", 4) if array.dtype.kind == "U" else ("u1", 1)
    return np.ndarray((*array.shape, array.dtype.itemsize // size), unit, buffer=array.tobytes())


def _repeatable(item: Any) -> bool:
    return item == () if type(item) is tuple else type(item) in _SIMPLE


def _hashable_data(key: Any) -> bool:
    if type(key) is tuple:
        return all(map(_hashable_data, key))
    return type(key) in _SIMPLE or isinstance(key, np.generic)


def _step(key: Any, position: int) -> str:
    readable = type(key) is str and key.isascii() and key.isprintable() and len(key) <= 60
    return f"[{key!r}]" if readable else f"[{position}]"


def _is_csr(value: Any) -> bool:
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and type(value) in (sparse.csr_matrix, sparse.csr_array)


_SIMPLE = {type(None), bool, int, float, str, bytes, datetime.date, datetime.datetime}
_ENCODERS: dict[type, Callable[[Encoder, Any], Any]] = {
    type(None): Encoder._itself,
    bool: Encoder._itself,
    str: Encoder._itself,
    int: Encoder._int,
    float: Encoder._float,
    bytes: Encoder._bytes,
    datetime.date: Encoder._date,
    datetime.datetime: Encoder._datetime,
    list: Encoder._items,
    tuple: Encoder._tuple,
    set: Encoder._set,
    frozenset: Encoder._set,
    dict: Encoder._dict,
    np.ndarray: Encoder._array,
    np.memmap: Encoder._array,
}
