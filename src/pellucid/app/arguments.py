"""Recognise swapped arguments: a table where a model belongs, or a model where a table belongs.

Only the first bytes of a file are read; nothing is loaded.
"""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from pellucid.errors import DataError

TABLES = (".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson", ".xlsx", ".gz", ".zst")
HEAD = 4096


def is_model(path: str) -> bool:
    """Whether a file starts like a model file: the length of a header, then the header."""
    head, size = _head(path)
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= size - 8


def is_table(path: str) -> bool:
    """Whether a file is a table rather than a damaged model, by its extension or as plain text."""
    head, _ = _head(path)
    if not head or is_model(path):
        return False
    return Path(path).suffix.lower() in TABLES or b"\0" not in head


def _head(path: str) -> tuple[bytes, int]:
    """The first bytes and the size of a regular file."""
    try:
        if not Path(path).is_file():
            return b"", 0
        with open(path, "rb") as file:
            return file.read(HEAD), Path(path).stat().st_size
    except OSError:  # reported when the file is read
        return b"", 0


def refuse_table(model: str, data: str | None, command: str) -> None:
    """Raise an error if `model` is a table; suggest the command if the arguments are swapped."""
    if not is_table(model):
        return
    swapped = data is not None and (is_model(data) or (Path(data) / "model.pellucid").is_file())
    meant = (
        f" Did you mean: pellucid {command} {quote(str(data))} {quote(model)}" if swapped else ""
    )
    raise DataError(
        f"{model} is a table, not a model. Usage: pellucid {command} MODEL DATA.{meant}"
    )


def refuse_model(data: str | None, usage: str) -> None:
    """Raise an error if `data` is a model."""
    if data is not None and is_model(data):
        raise DataError(f"{data} is a model, not a table. Usage: pellucid {usage}")
