"""Where a table comes from: a file, standard input or an open buffer, compressed or not.

Invariant: a `Source` can be opened as often as one likes (a reader that fails is followed by a
search for the place of the fault), and every reader sees plain, decompressed bytes.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pellucid.data.io.bounds import LONGEST_LINE, read_bounded, read_special, refuse_long_lines
from pellucid.errors import DataError, ParameterError

# Recognised by content, not by name, so that a .gz that is not one still reads.
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_SUFFIXES = (".gz", ".zst")
_MOST_PACKED = 1 << 14  # bytes that one compressed byte can stand for, with some room

# File contents that are often fed to a table reader by mistake.
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or an Excel workbook. Unpack it, or name the workbook .xlsx",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook. Name it .xls",
    b"\x80\x04": "a pickle, which can run any code when it is opened. Save the table as Parquet",
    b"\x80\x05": "a pickle, which can run any code when it is opened. Save the table as Parquet",
    b"ARROW1": "an Arrow or Feather file. Save the table as Parquet",
    b"\x89HDF": "an HDF5 file. Save the table as Parquet",
    b"SQLite format 3": "an SQLite database. In Python, pellucid.scan(connection, query=...) reads "
    "it; for a command, save the table as Parquet",
    b"%PDF": "a PDF document. Save the table in it as CSV",
    b"BZh": "compressed with bzip2. Unpack it, or compress with gzip or zstd instead",
    b"\xfd7zXZ": "compressed with xz. Unpack it, or compress with gzip or zstd instead",
}


@dataclass(frozen=True)
class Source:
    """A name for messages, and either a path or the bytes themselves; the sheet of a workbook."""

    name: str
    path: Path | None = None
    data: bytes | None = None
    sheet: str | None = None

    @property
    def suffix(self) -> str:
        """The extension in lower case without that of a compression: `.csv` for `A.CSV.gz`."""
        if self.path is None:
            return ""
        stem = self.path.name.lower()
        for compression in _SUFFIXES:
            stem = stem.removesuffix(compression)
        return Path(stem).suffix

    def open(self, mapped: bool = False) -> Any:
        """A new stream of the decompressed bytes, from the start."""
        if self.path is None:
            raw = pa.BufferReader(self.data)
        elif mapped and self.path.stat().st_size:  # an empty file cannot be mapped
            raw = pa.memory_map(str(self.path))
        else:
            raw = pa.OSFile(str(self.path))
        start = bytes(raw.read(4))
        raw.seek(0)
        for magic, compression in _COMPRESSIONS.items():
            if start.startswith(magic):
                return pa.CompressedInputStream(raw, compression)
        return raw

    def content(self) -> Any:
        """All bytes as one Arrow buffer; a plain file is mapped, not copied."""
        stream = self.open(mapped=True)
        try:
            return stream.read_buffer() if stream.seekable() else pa.py_buffer(stream.read())
        except OSError as error:
            raise self.broken(f"its compression is damaged ({error})") from None

    def head(self, size: int = 65_536) -> bytes:
        """The first bytes."""
        try:
            return bytes(self.open().read(size))
        except OSError as error:
            raise self.broken(f"its compression is damaged ({error})") from None

    def refuse_long_lines(self) -> None:
        """Refuse a text with a line that no table has; small sources cannot hold one."""
        size = len(self.data or b"") if self.path is None else self.path.stat().st_size
        if size > LONGEST_LINE or (size > LONGEST_LINE // _MOST_PACKED and self._is_packed()):
            try:
                refuse_long_lines(self.open(), self.name)
            except OSError as error:
                raise self.broken(f"its compression is damaged ({error})") from None

    def _is_packed(self) -> bool:
        return isinstance(self.open(), pa.CompressedInputStream)

    def broken(self, why: str) -> DataError:
        """The error for a file that was cut or changed."""
        return DataError(
            f"{self.name} cannot be read: {' '.join(why.split())}. The file is incomplete or "
            "changed; copy or download it again."
        )


def find(source: Any) -> Source:
    """What the user means by `source`: a path, `"-"`, or an object with `read`."""
    if isinstance(source, Source):
        return source
    if isinstance(source, str) and source == "-":
        return Source("standard input", data=read_bounded(sys.stdin.buffer, "standard input"))
    if isinstance(source, (str, os.PathLike)):
        return _find_file(os.fspath(source))
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Source("the input", data=bytes(source))
    if hasattr(source, "read"):
        content = source.read()
        data = content.encode("utf-8") if isinstance(content, str) else bytes(content)
        name = getattr(source, "name", None)
        return Source(str(name) if isinstance(name, str) else "the given buffer", data=data)
    raise DataError(
        f"A table is read from a path, '-' (standard input) or an open file, "
        f"not from a {type(source).__name__}."
    )


def refuse_foreign(source: Source, head: bytes) -> None:
    """Say what a file really is when its first bytes belong to another format."""
    for magic, meaning in _FOREIGN.items():
        if head.startswith(magic):
            raise DataError(f"{source.name} is not a text table: it looks like {meaning}.")
    if head[8:12] == b"DUCK":
        raise DataError(
            f"{source.name} is a DuckDB database. In Python, pellucid.scan({source.name!r}, table=...) "
            "reads a table of it; for a command, save the table as Parquet."
        )


def did_you_mean(name: str, known: Any) -> str:
    """` Did you mean 'x'?` for the nearest known name, or nothing; case and outer blanks are ignored."""
    lower: dict[str, str] = {}
    for candidate in known:
        lower.setdefault(str(candidate).strip().lower(), str(candidate))
    near = difflib.get_close_matches(name.strip().lower(), list(lower), n=1, cutoff=0.6)
    return f" Did you mean {lower[near[0]]!r}?" if near else ""


def require_column(table: Any, name: str, source: str) -> None:
    """Raise an error with the most similar name unless the table has the column."""
    if name not in table.column_names:
        raise DataError(
            f"column {name!r} is not in {source}.{did_you_mean(name, table.column_names)} "
            f"{listing(table.column_names)}"
        )


def listing(names: Sequence[str], most: int = 12) -> str:
    """`Columns: a, 'b, c', ..., z.` with the last one always; names that could mislead in quotes."""
    if len(names) == 1:
        return (
            f"It has one column, named {_clear(names[0])}. If that is a whole line, its cells are "
            "separated in a way that is not recognised."
        )
    if len(names) <= most:
        return f"Columns: {', '.join(map(_clear, names))}."
    some = ", ".join(map(_clear, names[: most - 1]))
    return f"Columns: {some}, ..., {_clear(names[-1])} ({len(names)} in all)."


def _clear(name: str) -> str:
    """A name, cut if very long, in quotes if it could be taken for another or for several."""
    cut = name if len(name) <= 60 else name[:57] + "..."
    plain = cut == cut.strip() and cut and not set(cut) & set(",'\"\n\t")
    return cut if plain else repr(cut)


def refuse_duplicates(source: Source, names: Sequence[str]) -> None:
    """Refuse two columns of the same name."""
    if len(set(names)) == len(names):
        return
    name = next(name for name, times in Counter(names).items() if times > 1)
    places = [str(i + 1) for i, other in enumerate(names) if other == name]
    raise DataError(
        f"{source.name} has {len(places)} columns named {name!r} (columns {', '.join(places)}). "
        "Rename or remove all but one."
    )


def selected(source: Source, names: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    """The columns to read: all, or the selected ones, which must exist."""
    if columns is None:
        return list(names)
    if isinstance(columns, str):
        raise ParameterError(f"columns must be a list of names, not the text {columns!r}.")
    for name in columns:
        if name not in names:
            hint = did_you_mean(str(name), names)
            raise DataError(f"{source.name} has no column {name!r}.{hint} {listing(names)}")
    return list(columns)


def _find_file(text: str | bytes) -> Source:
    name = os.fsdecode(text)
    if name.split("://")[0] in ("http", "https", "ftp", "s3", "gs"):
        raise DataError(f"{name} is an address: Pellucid uses no network. Download the file first.")
    path, sheet = Path(name).expanduser(), None
    if not path.exists() and "#" in path.name:  # book.xlsx#Sheet
        stem, sheet = path.name.split("#", 1)
        name, path = name[: -len(sheet) - 1], path.with_name(stem)
    if path.is_dir():
        raise DataError(f"{name} is a folder, not a file.{_readable_in(path)}")
    if not path.exists():
        raise DataError(f"There is no file {name}.{_nearest(path)}")
    try:
        regular = path.is_file()
        data = None if regular else read_special(path, name)
        if regular:
            path.open("rb").close()
    except PermissionError:
        raise DataError(f"{name} exists, but you may not read it (its permissions).") from None
    except OSError as error:
        raise DataError(f"{name} cannot be opened: {error.strerror}.") from None
    return Source(name, path if regular else None, data, sheet)


def _readable_in(folder: Path) -> str:
    endings = (".csv", ".tsv", ".parquet", ".json", ".jsonl", ".xlsx", *_SUFFIXES)
    found = sorted(str(folder / name) for name in os.listdir(folder) if name.endswith(endings))
    if not found:
        return " Give one file."
    shown = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
    return f" Give one of the files in it: {shown}"


def _nearest(path: Path) -> str:
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if folder != path.parent:
        missing = path.parent.relative_to(folder).parts[0]
        inside = [entry.name for entry in folder.iterdir() if entry.is_dir()]
        return f" The folder {folder / missing} does not exist.{did_you_mean(missing, inside)}"
    names = [entry.name for entry in folder.iterdir() if entry.is_file()]
    hint = did_you_mean(path.name, names)
    # The same table in another format is nearer than any spelling.
    twin = [known for known in names if known.split(".")[0] == path.name.split(".")[0]]
    return f" Did you mean {sorted(twin)[0]!r}?" if twin and not hint else hint
