"""A checked container as a model: the reading half of the format.

The tree is untrusted: every tag, type, count and name is checked, classes come from `names.py`
only, and each is built by its own constructor and then checked: records check
themselves in `__post_init__`, estimators in `_check_state`. Invariant: arrays are disjoint,
writable views of the one buffer the file was read into, so a model takes the memory of its file.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.errors import ModelFileError
from pellucid.persist.allowed_classes import find_estimator, find_record, is_model
from pellucid.persist.checks import (
    SCALAR,
    VIEW,
    checked_bool,
    dtype_of,
    is_key,
    is_simple,
    reinterpreted,
    shape_of,
    valid_csr,
)
from pellucid.persist.container import MAX_ITEMS, MAX_VALUES, Contents, blame
from pellucid.persist.fitted_state import check_state
from pellucid.persist.tree_reader import TENSOR_TYPES, TreeReader, get, hashed_apart, parsed, unhex

_LEARNED = re.compile(r"[A-Za-z]\w*_", re.ASCII)


def decode(contents: Contents) -> Any:
    """The model of a checked file; whatever is wrong with its meaning is a `ModelFileError`."""
    try:
        model = Decoder(contents).value(contents.document.get("model"))
        if not is_model(type(model)):
            raise ModelFileError("it holds no model")
    except ModelFileError as error:
        raise blame(contents.name, error) from error
    except ImportError:
        raise  # a broken installation is not the file's fault
    except Exception as error:  # the last net: a reader must never die of a file
        fault = ModelFileError(f"it cannot be understood ({type(error).__name__}: {error})")
        raise blame(contents.name, fault) from error
    return model


class Decoder(TreeReader):
    """Builds the values; each tensor may be used once, so no two arrays share memory."""

    def __init__(self, contents: Contents) -> None:
        super().__init__(contents)
        self._records: list[tuple[Any, int]] = []  # each with the records it stands for
        self._n_items = self._n_records = 0

    # --- scalars of NumPy

    def _str_(self, tree: dict[str, Any]) -> np.str_:
        return np.str_(get(tree, "value", str))

    def _bytes_(self, tree: dict[str, Any]) -> np.bytes_:
        return np.bytes_(unhex(get(tree, "hex", str)))

    def _scalar(self, tree: dict[str, Any]) -> np.generic:
        dtype = dtype_of(get(tree, "dtype", str), SCALAR)
        raw = np.frombuffer(unhex(get(tree, "hex", str), dtype.itemsize), np.uint8)
        scalar: np.generic = checked_bool(raw.view(dtype))[0]
        return scalar

    # --- collections

    def _tuple(self, tree: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self._items(tree, "items"))

    def _set(self, tree: dict[str, Any]) -> Any:
        items = self._items(tree, "items")
        if not all(map(is_key, items)):
            raise ModelFileError("it holds a set with impossible members")
        return set(items)

    def _frozenset(self, tree: dict[str, Any]) -> Any:
        return frozenset(self._set(tree))

    def _dict(self, tree: dict[str, Any]) -> dict[Any, Any]:
        pairs = get(tree, "items", list)
        if not all(type(pair) is list and len(pair) == 2 for pair in pairs):
            raise ModelFileError("it holds a dictionary that is not made of pairs")
        keys = hashed_apart([self.value(key) for key, _ in pairs])
        if not all(map(is_key, keys)):
            raise ModelFileError("it holds a dictionary with impossible keys")
        table = {key: self.value(item) for key, (_, item) in zip(keys, pairs)}
        if len(table) != len(pairs):
            raise ModelFileError("it holds a dictionary with a key that occurs twice")
        return table

    def _items(self, tree: dict[str, Any], key: str) -> list[Any]:
        values = self.value(tree.get(key))
        if type(values) is not list:
            raise ModelFileError("it holds a sequence without items")
        return values

    def _texts(self, tree: dict[str, Any]) -> list[str]:
        raw, lengths = self._tensor(tree), self._tensor(tree, "lengths")
        if raw.dtype != np.uint8 or lengths.dtype != np.int64 or raw.ndim * lengths.ndim != 1:
            raise ModelFileError("it holds texts of the wrong type")
        text = parsed(lambda data: data.decode("utf-8", "surrogatepass"), raw.tobytes())
        if lengths.size and (lengths.min() < 0 or lengths.max() > len(text)):
            raise ModelFileError("it holds texts of impossible length")
        ends = np.cumsum(lengths)
        if (int(ends[-1]) if ends.size else 0) != len(text):
            raise ModelFileError("it holds texts that do not fit their lengths")
        self._count(ends.size)
        stops = ends.tolist()
        return [text[a:b] for a, b in zip([0, *stops], stops)]

    def _numbers(self, tree: dict[str, Any]) -> list[Any]:
        array = self._tensor(tree)
        if array.ndim != 1 or array.dtype not in (np.int64, np.float64):
            raise ModelFileError("it holds a list of numbers of the wrong type")
        self._count(array.size)
        numbers: list[Any] = array.tolist()
        return numbers

    def _repeat(self, tree: dict[str, Any]) -> list[Any]:
        times = get(tree, "times", int)
        item = self.value(tree.get("item"))
        # Repeated collections could unfold to more values than any machine can visit.
        if times < 0 or not (is_simple(item) or item == ()):
            raise ModelFileError("it repeats something that cannot be repeated")
        self._count(times)
        return [item] * times

    def _count(self, items: int) -> None:
        self._n_items += items
        if self._n_items > MAX_ITEMS:
            raise ModelFileError(f"its lists hold more than {MAX_ITEMS} values")

    # --- arrays

    def _tensor(self, tree: dict[str, Any], key: str = "tensor") -> np.ndarray:
        """The named array, as a view of the file's buffer; bools hold nothing but 0 and 1."""
        place = self._tensors.pop(get(tree, key, str), None)
        if place is None:
            raise ModelFileError(f"it lacks the array {tree[key][:80]!r} or uses it twice")
        dtype = np.dtype(TENSOR_TYPES[place.dtype][0]).newbyteorder("<")
        if place.begin == place.end:
            return np.empty(place.shape, dtype)
        raw = np.frombuffer(self._data, np.uint8, place.end - place.begin, place.begin)
        if place.begin % dtype.itemsize:
            raw = raw.copy()  # safetensors aligns; other writers may not
        return checked_bool(raw.view(dtype)).reshape(place.shape)

    def _array(self, tree: dict[str, Any]) -> np.ndarray:
        array = self._tensor(tree)
        if "as" in tree:
            array = reinterpreted(array, dtype_of(get(tree, "as", str), VIEW))
        if tree.get("order", "C") not in ("C", "F"):
            raise ModelFileError("it holds an array in an unknown order")
        return array.T if tree.get("order") == "F" else array

    def _objects(self, tree: dict[str, Any]) -> np.ndarray:
        values, shape = self._items(tree, "values"), shape_of(tree)
        if math.prod(shape) != len(values) or not all(map(is_key, values)):
            raise ModelFileError("it holds labels that are not simple values or do not fit")
        array = np.empty(len(values), object)
        array[:] = values
        return array.reshape(shape)

    def _csr(self, tree: dict[str, Any]) -> Any:
        data, indices, indptr = (self.value(tree.get(k)) for k in ("data", "indices", "indptr"))
        shape = shape_of(tree)
        if not valid_csr(data, indices, indptr, shape):
            raise ModelFileError("it holds a sparse matrix whose parts disagree")
        kind = tree.get("kind")
        if kind not in ("csr_matrix", "csr_array"):
            raise ModelFileError("it holds a sparse matrix of an unknown kind")
        from scipy import sparse

        return getattr(sparse, kind)((data, indices, indptr), shape=shape)

    # --- objects

    def _record(self, tree: dict[str, Any]) -> Any:
        before = self._n_records
        cls = find_record(tree.get("class"), self._version)
        record = _build(cls, self._table(tree, "fields"))
        check = getattr(record, "check", None)
        if check is not None:  # parameters of their own: a Table, a Text
            _asked(cls, check)
        self._n_records += 1
        self._records.append((record, self._n_records - before))
        return record

    def _same(self, tree: dict[str, Any]) -> Any:
        position = get(tree, "record", int)
        if not 0 <= position < len(self._records):
            raise ModelFileError("it refers to a record that does not come before")
        record, weight = self._records[position]
        # Records of records of records, each twice, would unfold without end.
        self._n_records += weight
        if self._n_records > MAX_VALUES:
            raise ModelFileError(f"its records unfold to more than {MAX_VALUES}")
        return record

    def _estimator(self, tree: dict[str, Any]) -> Any:
        cls = find_estimator(tree.get("class"), self._version)
        model = _build(cls, self._table(tree, "parameters"))
        learned = self._table(tree, "learned")
        for name in learned:
            if not _LEARNED.fullmatch(name):
                raise ModelFileError(f"it holds {name[:80]!r}, which no model learns")
        vars(model).update(learned)
        if "output" in tree:  # the container of `transform`, chosen with `set_output`
            chosen = get(tree, "output", str)
            _asked(cls, lambda: model.set_output(transform=chosen))
        if learned:
            _asked(cls, lambda: check_state(model))
        return model


def _build(cls: type, arguments: dict[str, Any]) -> Any:
    """Call the constructor; arguments this version does not have could change the answers."""
    if dataclasses.is_dataclass(cls):
        known = {field.name for field in dataclasses.fields(cls) if field.init}
    else:
        import inspect

        known = set(inspect.signature(cls).parameters)
    for name in arguments:
        if name not in known:
            raise ModelFileError(
                f"its {cls.__name__} has {name[:80]!r}, which this version of Pellucid does not "
                "have.\nIt was probably saved by a newer version; load it with that one."
            )
    return _asked(cls, lambda: cls(**arguments))


def _asked(cls: type, question: Callable[[], Any]) -> Any:
    try:
        return question()
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"its {cls.__name__} makes no sense ({error})") from error
