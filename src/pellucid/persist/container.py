"""The bytes of a model file: a safetensors container, checked before anything is built from it.

Invariant of `open_file`: the header is at most `MAX_HEADER` bytes and `MAX_VALUES` JSON values, the
tensors tile the data exactly, the SHA-256 agrees, and no more memory than the file and its header
was taken. Reading is plain Python (no NumPy, no safetensors), so looking inside a file is quick;
writing goes through safetensors itself. Invariant of `write_file`: `path` holds the complete new
file or what it held before.
"""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from io import RawIOBase
from typing import Any

from pellucid.errors import CannotSaveError, ModelFileError, PellucidError

FORMAT = 2  # what is written; formats from 1 on are read; a change of meaning raises it
READER = "0.1"  # the first release that reads FORMAT
KEY = "pellucid"
MAX_HEADER = 1 << 26
MAX_VALUES = 1 << 20
MAX_DEPTH = 64
MAX_ITEMS = 1 << 22  # of all lists that are stored as tensors
MAX_DIMENSIONS = 32
BLANK = "0" * 64
CHUNK = 1 << 20
ITEMSIZE = {
    "BOOL": 1, "I8": 1, "U8": 1, "I16": 2, "U16": 2, "F16": 2, "I32": 4, "U32": 4, "F32": 4,
    "I64": 8, "U64": 8, "F64": 8,
}  # fmt: skip
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Tensor:
    """Where an array lies in the data and how to read it."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Contents:
    """A checked file: the JSON document, the tensors by name, and the bytes they lie in."""

    name: str
    size: int
    document: dict[str, Any]
    tensors: dict[str, Tensor]
    data: bytearray


# --- reading ---------------------------------------------------------------------------------


def open_file(path: str | os.PathLike[str]) -> Contents:
    """Read and check the container; every fault is a `ModelFileError` that names the file."""
    name = os.fspath(path)
    try:
        # A pipe or device could block for ever or never end, and is never a model.
        if not stat.S_ISREG(os.stat(name).st_mode):
            raise ModelFileError("it is not a regular file")
        with open(name, "rb", buffering=0) as file:
            return _read(file, name)
    except FileNotFoundError as error:
        raise ModelFileError(f"There is no model file {name!r}.") from error
    except OSError as error:
        raise ModelFileError(f"Cannot read the model file {name!r}: {_reason(error)}.") from error
    except ModelFileError as error:
        raise blame(name, error) from error


def blame(name: str, error: ModelFileError) -> ModelFileError:
    """The same error with the name of the file and what to do."""
    if error.args and "\n" in str(error):  # a complete story already
        return ModelFileError(f"Cannot load {name!r}: {error}")
    return ModelFileError(
        f"Cannot load {name!r}: {error}.\nThe file is not a Pellucid model or was changed after "
        "it was saved; nothing was loaded. Use another copy or save the model again."
    )


def _read(file: RawIOBase, name: str) -> Contents:
    size = os.fstat(file.fileno()).st_size
    prefix = _exactly(file, 8, "it is shorter than the smallest header")
    length = int.from_bytes(prefix, "little")
    if length > min(MAX_HEADER, size - 8):
        raise ModelFileError(f"its header claims {length} bytes, but the file has {size}")
    header = bytes(_exactly(file, length, "its header is cut off"))
    document, tensors = parse_header(header)
    check_format(document)
    check_tiling(tensors, size - 8 - length)
    data = _exactly(file, size - 8 - length, "it shrank while it was read")
    _check_digest(document, prefix, header, data)
    return Contents(name, size, document, tensors, data)


def _exactly(file: RawIOBase, count: int, fault: str) -> bytearray:
    buffer = bytearray(count)
    view, done = memoryview(buffer), 0
    while done < count:
        step = file.readinto(view[done:])
        if not step:
            raise ModelFileError(fault)
        done += step
    return buffer


def parse_header(header: bytes) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The document and the table of tensors; bounded in size, count and depth."""
    if not header.startswith(b"{"):
        raise ModelFileError("it does not begin like a safetensors file")
    if count_values(header) > MAX_VALUES:
        raise ModelFileError(f"its header holds more than {MAX_VALUES} values")
    table = _parse_json(header, "its header")
    metadata = table.pop("__metadata__", None)
    text = metadata.get(KEY) if type(metadata) is dict else None
    if type(text) is not str:
        raise ModelFileError("it is a safetensors file without a Pellucid model")
    document = _parse_json(text, "its description of the model")
    return document, {name: _tensor(name, entry) for name, entry in table.items()}


def count_values(header: bytes) -> int:
    """An upper bound of the number of JSON values, found without parsing."""
    return 1 + sum(header.count(mark) for mark in (b",", b"[", b"{", b":"))


def _parse_json(text: bytes | str, what: str) -> dict[str, Any]:
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        parsed = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise ModelFileError(f"{what} is nested too deeply") from None
    except ValueError as error:  # malformed JSON or UTF-8, integers of thousands of digits
        raise ModelFileError(f"{what} is not valid JSON ({error})") from None
    if type(parsed) is not dict:
        raise ModelFileError(f"{what} is not a JSON object")
    return parsed


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key occurs twice")
    return table


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _tensor(name: str, entry: Any) -> Tensor:
    try:
        dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        numbers = [*shape, begin, end]
    except (TypeError, KeyError, ValueError):
        raise ModelFileError(f"its entry for the array {name!r} is incomplete") from None
    if type(shape) is not list or type(dtype) is not str or dtype not in ITEMSIZE:
        raise ModelFileError(f"its array {name!r} has an unknown type")
    if len(shape) > MAX_DIMENSIONS or not all(type(k) is int and k >= 0 for k in numbers):
        raise ModelFileError(f"its array {name!r} has an impossible shape or place")
    return Tensor(dtype, tuple(shape), begin, end)


def check_tiling(tensors: dict[str, Tensor], size: int) -> None:
    """Arrays lie one behind the other without overlap or holes and have the bytes of their shape."""
    position = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        count = ITEMSIZE[tensor.dtype]
        for length in tensor.shape:
            count *= length
        if tensor.begin != position or tensor.end - tensor.begin != count:
            raise ModelFileError(f"its array {name!r} does not fill its place in the file")
        position = tensor.end
    if position != size:
        raise ModelFileError(f"its arrays need {position} bytes, but the file has {size} for them")


def check_format(document: dict[str, Any]) -> None:
    """A file of a newer format names the release that reads it; the rest of it is not read."""
    version, reader = document.get("format"), document.get("reader")
    if type(version) is not int or version < 1:
        raise ModelFileError("it does not state the version of its format")
    if version > FORMAT:
        known = type(reader) is str and len(reader) < 40 and reader.isprintable()
        release = f"Pellucid {reader} or newer" if known else "a newer Pellucid"
        raise ModelFileError(
            f"it has model file format {version}, and this Pellucid reads formats up to {FORMAT}.\n"
            f"Load it with {release}."
        )


def _check_digest(
    document: dict[str, Any], prefix: bytearray, header: bytes, data: bytearray
) -> None:
    digest = document.get("sha256")
    if type(digest) is not str or not _DIGEST.fullmatch(digest):
        raise ModelFileError("it does not state its SHA-256")
    from hashlib import sha256

    total = sha256(prefix)
    total.update(header.replace(digest.encode(), BLANK.encode(), 1))
    total.update(data)
    if total.hexdigest() != digest:
        raise ModelFileError("its content does not agree with its SHA-256")


# --- writing ---------------------------------------------------------------------------------


def write_file(
    path: str | os.PathLike[str], document: dict[str, Any], tensors: dict[str, Any]
) -> None:
    """Write beside `path`, seal with the SHA-256, force to disk, rename; or raise and clean up."""
    target = os.path.realpath(os.fspath(path))
    text = json.dumps({"sha256": BLANK, **document}, allow_nan=False, separators=(",", ":"))
    try:
        mode = _mode_of(target)
        scratch = os.path.join(os.path.dirname(target), f".pellucid-{os.urandom(8).hex()}.tmp")
        try:
            mode = _create(scratch, mode)
            _serialise(scratch, tensors, text)
            os.chmod(scratch, mode)
            _seal(scratch)
            os.replace(scratch, target)
        finally:
            if os.path.lexists(scratch):
                os.unlink(scratch)
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        raise PellucidError(
            f"Cannot save the model to {os.fspath(path)!r}: {_reason(error)}. "
            "Nothing was written there."
        ) from error


def _mode_of(target: str) -> int | None:
    if os.path.isdir(target):
        raise IsADirectoryError("it is a folder; give the name of a file")
    if not os.path.exists(target):
        return None
    found = os.stat(target).st_mode
    if not stat.S_ISREG(found):
        raise OSError("it is not a regular file")
    return stat.S_IMODE(found)


def _create(scratch: str, mode: int | None) -> int:
    """Reserve the name, so that a read-only folder is an error now; the umask gives the mode."""
    handle = os.open(scratch, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        return stat.S_IMODE(os.fstat(handle).st_mode) if mode is None else mode
    finally:
        os.close(handle)


def _serialise(scratch: str, tensors: dict[str, Any], text: str) -> None:
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    try:
        save_file(tensors, scratch, metadata={KEY: text})
    except SafetensorError as error:  # a full disk reaches us as this
        raise OSError(str(error)) from error


def _seal(scratch: str) -> None:
    """Replace the blank digest by that of the file, and check what a reader will check."""
    from hashlib import sha256

    with open(scratch, "r+b") as file:
        prefix = file.read(8)
        header = file.read(int.from_bytes(prefix, "little"))
        if len(header) > MAX_HEADER or count_values(header) > MAX_VALUES:
            raise CannotSaveError(
                f"The model holds more than {MAX_VALUES} separate values besides its arrays, "
                "which is more than a model file takes."
            )
        total = sha256(prefix + header)
        while chunk := file.read(CHUNK):
            total.update(chunk)
        file.seek(8 + header.index(BLANK.encode()))
        file.write(total.hexdigest().encode())
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).rstrip(".")
