"""Sources of CSV, TSV and JSON lines that do not fit into memory; smaller ones are read whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pellucid.data.io.read import FORMATS
from pellucid.data.io.source import find
from pellucid.data.sources.block_source import BlockSource

CELL = 4  # bytes of a cell with its separator, usually at least
PACKED = 10  # bytes that one byte of a compressed text usually stands for


def from_text(X: str | Path, text: Sequence[str] = ()) -> BlockSource | None:
    """A source of a text that may not fit into memory; None if it does, or is no such text.

    `text`: columns that stay as they are written.
    """
    from pellucid.data.sources.find import needs_scratch

    path = Path(os.path.expanduser(os.fspath(X)))
    if not path.is_file():
        return None
    size = path.stat().st_size * (PACKED if path.suffix.lower() in (".gz", ".zst") else 1)
    if not needs_scratch(size // CELL):
        return None
    found = find(path)
    kind = FORMATS.get(found.suffix)
    if kind not in ("csv", "tsv", "jsonl") or found.head(64).lstrip().startswith(b"["):
        return None
    from pellucid.data.io.streamed_text import parts_of

    def stamp() -> Any:
        state = os.stat(path)
        return state.st_ino, state.st_size, state.st_mtime_ns

    before = stamp()
    parts = parts_of(found, kind, text)
    return BlockSource(
        str(X), parts.schema, parts.batches, parts.n_rows, path.stat().st_size, stamp, before,
        paths=(str(path),),
    )  # fmt: skip
