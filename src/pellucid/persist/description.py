"""What a model file contains, read without building the model and without NumPy.

Invariant: nothing of the file is executed or imported, and what is shown is bounded whatever the
file holds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pellucid.errors import ModelFileError
from pellucid.persist.allowed_classes import estimator_place, label_in
from pellucid.persist.container import MAX_ITEMS, Contents, Tensor, blame
from pellucid.persist.tree_reader import TENSOR_TYPES, TreeReader

SHOWN = 20  # items of a list that are shown
WIDTH = 200  # characters of a line that are shown
_SCALARS = {  # of NumPy scalars: code of `struct`
    "|b1": "?", "|i1": "b", "|u1": "B", "<i2": "h", "<u2": "H", "<f2": "e", "<i4": "i",
    "<u4": "I", "<f4": "f", "<i8": "q", "<u8": "Q", "<f8": "d",
}  # fmt: skip


@dataclass(frozen=True)
class Description:
    """A model file in plain values; `vars(description)` can be printed as JSON.

    estimator : where the class of the model is imported from, as "pellucid.dummy.DummyClassifier"
    parameters, learned, provenance : by name; long lists are cut, large arrays are shown by their shape
    columns : name and kind of each training column, and levels where it has them
    size : bytes of the file; arrays : number of arrays; format, sha256 : of the file
    """

    path: str
    estimator: str
    parameters: dict[str, Any]
    learned: dict[str, Any]
    columns: list[dict[str, Any]]
    provenance: dict[str, Any]
    size: int
    arrays: int
    format: int
    sha256: str

    def __str__(self) -> str:
        lines = [f"{self.estimator}  ({self.path}, {self.size} bytes, {self.arrays} arrays)"]
        lines += _section("parameters", self.parameters)
        lines += _section("learned", self.learned)
        shown = {
            str(column["name"]): f"{column['kind']} {column.get('levels', '')}".rstrip()
            for column in self.columns[:SHOWN]
        }
        if len(self.columns) > SHOWN:
            shown["..."] = f"{len(self.columns)} in all"
        lines += _section("columns", shown)
        lines += _section("provenance", self.provenance)
        return "\n".join([*lines, f"format {self.format}, sha256 {self.sha256}"])


def _section(title: str, entries: dict[str, Any]) -> list[str]:
    lines = [
        f"  {name}: {item if type(item) is str else repr(item)}" for name, item in entries.items()
    ]
    safe = ["".join(c if c.isprintable() else ascii(c)[1:-1] for c in line) for line in lines]
    return [title, *(line[:WIDTH] for line in safe)] if lines else []


def describe_contents(contents: Contents) -> Description:
    """The description of a checked file."""
    try:
        return _describe(contents)
    except ModelFileError as error:
        raise blame(contents.name, error) from error
    except (AttributeError, LookupError, TypeError, ValueError, struct.error) as error:
        fault = ModelFileError(f"its description cannot be understood ({type(error).__name__})")
        raise blame(contents.name, fault) from error


def _describe(contents: Contents) -> Description:
    document, reader = contents.document, Preview(contents)
    model, formula = document["model"], {}
    if model["@"] == "record":  # a wrapper: what it adds stands among the parameters
        formula, model = {"formula": model["fields"]["formula"]}, model["fields"]["model"]
    origin = document.get("provenance", {"@": "dict", "items": []})
    if model["@"] != "estimator" or origin["@"] != "dict":
        raise ModelFileError("it holds no model")
    learned = {name: item for name, item in model["learned"].items() if name != "schema_"}
    return Description(
        path=contents.name,
        estimator=estimator_place(model["class"], document["format"]),
        parameters=reader.table(formula | model["parameters"]),
        learned=reader.table(learned),
        columns=reader.columns(model["learned"].get("schema_")),
        provenance=reader.value(origin),
        size=contents.size,
        arrays=len(contents.tensors),
        format=document["format"],
        sha256=document["sha256"],
    )


def _records(tree: Any) -> Iterator[dict[str, Any]]:
    """The records of a tree in the order of their numbers: as they were finished when written."""
    below = [(tree, False)]
    while below:
        item, finished = below.pop()
        if finished:
            yield item
            continue
        if type(item) is dict and item.get("@") == "record":
            below.append((item, True))
        inner = item.values() if type(item) is dict else item if type(item) is list else ()
        below += [(part, False) for part in reversed(list(inner))]


class Preview(TreeReader):
    """Turns the tree into plain Python values that are fit to be shown."""

    def __init__(self, contents: Contents) -> None:
        super().__init__(contents)
        self._records = list(_records(contents.document["model"]))

    def table(self, entries: dict[str, Any]) -> dict[str, Any]:
        """Values by name."""
        return {name: self.value(item) for name, item in entries.items()}

    def columns(self, schema: Any) -> list[dict[str, Any]]:
        """Name, kind and levels of the columns of a schema."""
        if schema is None:
            return []
        if schema["@"] == "same":
            schema = self._records[schema["record"]]
        kinds, levels = (self._every(schema["fields"][key]) for key in ("kinds", "levels"))
        names = self._every(schema["fields"]["names"]) or [f"x{j}" for j in range(len(kinds))]
        return [
            {"name": name, "kind": kind, **({"levels": own} if own else {})}
            for name, kind, own in zip(names, kinds, levels, strict=True)
        ]

    def _every(self, tree: Any) -> list[Any]:
        return [] if tree is None else self._sequence(tree["items"], MAX_ITEMS)

    def _unknown(self, tag: Any) -> str:
        return f"({str(tag)[:40]})"

    # --- sequences: they end after `SHOWN` items with their number of items

    def _list(self, tree: Any) -> list[Any]:
        return self._sequence(tree, SHOWN)

    _texts = _numbers = _repeat = _list

    def _tuple(self, tree: dict[str, Any]) -> list[Any]:
        return self._sequence(tree["items"], SHOWN)

    _set = _frozenset = _tuple

    def _objects(self, tree: dict[str, Any]) -> Any:
        return self._sequence(tree["values"], SHOWN)

    def _sequence(self, tree: Any, limit: int) -> list[Any]:
        items: list[Any]
        if type(tree) is list:
            items, count = [self.value(item) for item in tree[:limit]], len(tree)
        elif tree["@"] == "repeat":
            count = tree["times"]
            items = [self.value(tree["item"])] * min(count, limit)
        elif tree["@"] == "numbers":
            tensor = self._tensors[tree["tensor"]]
            items, count = self._unpack(tensor, limit), tensor.shape[0]
        else:
            items, count = self._first_texts(tree, limit)
        return items if count <= limit else [*items, f"... {count} in all"]

    def _first_texts(self, tree: dict[str, Any], limit: int) -> tuple[list[str], int]:
        raw, lengths = self._tensors[tree["tensor"]], self._tensors[tree["lengths"]]
        text = self._raw(raw).decode("utf-8", "surrogatepass")
        items, start = [], 0
        for length in self._unpack(lengths, limit):
            items.append(text[start : start + length])
            start += length
        return items, lengths.shape[0]

    def _dict(self, tree: dict[str, Any]) -> dict[str, Any]:
        pairs = tree["items"][: 5 * SHOWN]
        return {str(self.value(key)): self.value(item) for key, item in pairs}

    # --- arrays

    def _raw(self, tensor: Tensor) -> bytes:
        return bytes(memoryview(self._data)[tensor.begin : tensor.end])

    def _unpack(self, tensor: Tensor, limit: int) -> list[Any]:
        code = TENSOR_TYPES[tensor.dtype][1]
        count = min(limit, (tensor.end - tensor.begin) // struct.calcsize(f"<{code}"))
        return list(struct.unpack_from(f"<{count}{code}", self._data, tensor.begin))

    def _array(self, tree: dict[str, Any]) -> Any:
        """Short one-dimensional arrays by their values, others by type and shape."""
        tensor, kind = self._tensors[tree["tensor"]], tree.get("as", "")
        shape = tensor.shape[:-1] if kind[1:2] in ("U", "S") else tensor.shape
        if len(shape) != 1 or shape[0] > SHOWN or kind[1:2] in ("M", "m", "S"):
            name = kind or TENSOR_TYPES[tensor.dtype][0]
            return f"{name} array of shape {shape[::-1] if tree.get('order') == 'F' else shape}"
        if not kind:
            return self._unpack(tensor, SHOWN)
        raw, width = self._raw(tensor), 4 * tensor.shape[-1]
        cells = [raw[i * width : (i + 1) * width] for i in range(shape[0])]
        return [cell.decode("utf-32-le", "surrogatepass").rstrip("\0") for cell in cells]

    def _csr(self, tree: dict[str, Any]) -> str:
        return f"sparse matrix of shape {tuple(tree['shape'])}"

    # --- simple values

    def _int(self, tree: dict[str, Any]) -> Any:
        return super()._int(tree) if len(tree["hex"]) < WIDTH else tree["hex"]

    def _scalar(self, tree: dict[str, Any]) -> Any:
        code = _SCALARS.get(tree["dtype"])
        raw = bytes.fromhex(tree["hex"])
        return struct.unpack(f"<{code}", raw)[0] if code else f"{tree['dtype']} {raw[::-1].hex()}"

    def _bytes(self, tree: dict[str, Any]) -> Any:
        return tree["hex"]

    _bytes_ = _bytes

    def _str_(self, tree: dict[str, Any]) -> Any:
        return tree["value"]

    def _date(self, tree: dict[str, Any]) -> Any:
        return tree["iso"]

    _datetime = _date

    # --- objects

    def _record(self, tree: dict[str, Any]) -> dict[str, Any]:
        return {"class": self._label(tree), **self._table(tree, "fields")}

    def _same(self, tree: dict[str, Any]) -> str:
        return "(as above)"

    def _estimator(self, tree: dict[str, Any]) -> str:
        arguments = (f"{name}={item!r}" for name, item in self._table(tree, "parameters").items())
        return f"{self._label(tree)}({', '.join(arguments)})"[:WIDTH]

    def _label(self, tree: dict[str, Any]) -> str:
        """The name of the class in the file; only `load` checks whether there is such a class."""
        return str(label_in(tree["class"], self._version) or tree["class"])[:WIDTH]
