"""Sources behind paths: Parquet and Arrow files, folders of them (hive partitions too), data sets.

The order of rows is that of the files by their paths, and within a file that of the file.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pellucid.data.io.source import find as find_file
from pellucid.data.sources.block_source import DAMAGE, BlockSource
from pellucid.errors import DataError

PARQUET, ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
_MISSING_PART = "__HIVE_DEFAULT_PARTITION__"  # what a folder's name says for a missing value
_BUFFER = 2**18  # bytes of a column chunk that are read at once


def is_data_set(X: str | Path) -> bool:
    """Whether a path is a folder, a pattern, or one file that can be read in parts."""
    text = os.fspath(X)
    if text.lower().endswith((*PARQUET, *ARROW)):
        return True
    return (any(mark in text for mark in "*?[") and not os.path.exists(text)) or os.path.isdir(text)


def from_path(X: str | Path) -> BlockSource:
    """A source of one file, of all files of a pattern, or of a folder."""
    text = os.path.expanduser(os.fspath(X))
    if os.path.isdir(text):
        return _from_files(text, _in_folder(text), text)
    if os.path.exists(text):
        find_file(text)  # refuses what cannot be opened
        return _from_files(text, [text])
    found = _matching(text)
    if not found:
        if not any(mark in text for mark in "*?["):
            find_file(text)
        raise DataError(f"no file matches {text}.")
    return _from_files(text, found)


def _matching(pattern: str) -> list[str]:
    """The files that match, and those in folders with the ending of a file, as Spark writes a table."""
    found: list[str] = []
    for path in glob.glob(pattern, recursive=True):
        if not os.path.isdir(path):
            found.append(path)
        elif path.lower().endswith((*PARQUET, *ARROW)):
            found += _in_folder(path)
    return sorted(set(found))


def _in_folder(folder: str) -> list[str]:
    found = [
        os.path.join(place, name)
        for place, folders, names in os.walk(folder)
        for name in names
        if not name.startswith((".", "_"))
        and not any(part.startswith((".", "_")) for part in Path(place).relative_to(folder).parts)
    ]
    if not found:
        raise DataError(f"{folder} is a folder without files.")
    return sorted(found)


def _from_files(name: str, paths: list[str], folder: str | None = None) -> BlockSource:
    endings = {os.path.splitext(path)[1].lower() for path in paths}
    formats = {"parquet" for e in endings if e in PARQUET} | {"ipc" for e in endings if e in ARROW}
    other = sorted(e for e in endings if e not in (*PARQUET, *ARROW))
    if other or len(formats) > 1:
        raise DataError(
            f"{name} holds files of several kinds ({', '.join(sorted(endings))}): the files of one "
            "table must be all Parquet (.parquet) or all Arrow (.arrow, .feather). Give a pattern "
            "such as 'folder/*.parquet'."
        )
    for path in paths:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe: opening it would wait
            raise DataError(f"{path} cannot be read: it is not a regular file.")
    (kind,) = formats
    read = _Files(name, paths, kind, folder)
    schema, n_rows = read.schema()
    size = sum(os.path.getsize(path) for path in paths)
    return BlockSource(
        name, schema, read, n_rows, size, read.stamp, read.stamp(), paths=tuple(paths)
    )


class _Files:
    """Reads the batches of files of one format, one after the other."""

    def __init__(self, name: str, paths: list[str], kind: str, folder: str | None) -> None:
        self.name, self.paths, self.kind = name, paths, kind
        self.parts = [_hive(path, folder) for path in paths] if folder else [{} for _ in paths]
        self.part_types = _part_types(name, self.parts)

    def stamp(self) -> tuple[Any, ...]:
        try:
            found = [os.stat(path) for path in self.paths]
        except OSError as error:
            raise DataError(f"{error.filename} can no longer be read: {error.strerror}.") from None
        return tuple((s.st_ino, s.st_size, s.st_mtime_ns) for s in found)

    def schema(self) -> tuple[pa.Schema, int]:
        """The types of all files as one, and their rows; from the ends of the files alone."""
        schemas, n_rows = [], 0
        for path in self.paths:
            own, rows = self._head(path)
            schemas.append(own)
            n_rows += rows
        names = schemas[0].names
        for path, own in zip(self.paths, schemas):
            if len(set(own.names)) < len(own.names):
                twice = next(name for name in own.names if own.names.count(name) > 1)
                raise DataError(f"{path} has several columns named {twice!r}. Rename all but one.")
            if set(own.names) != set(names):
                odd = sorted(set(own.names) ^ set(names))[0]
                raise DataError(
                    f"The columns of {path} and {self.paths[0]} differ: {odd!r} is in only one of them."
                )
        fields = [_joined(self.name, name, [s.field(name).type for s in schemas]) for name in names]
        fields += [pa.field(name, kind) for name, kind in self.part_types.items()]
        return pa.schema(fields), n_rows

    def _head(self, path: str) -> tuple[pa.Schema, int]:
        try:
            if self.kind == "parquet":
                from pyarrow.parquet import ParquetFile

                with ParquetFile(path) as file:
                    labels = [n for n in file.schema_arrow.names if n.startswith("__index_level_")]
                    keep = [f for f in file.schema_arrow if f.name not in labels]
                    return pa.schema(keep), file.metadata.num_rows
            with pa.OSFile(path) as raw, pa.ipc.open_file(raw) as reader:
                rows = sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))
                return reader.schema, rows
        except MemoryError:  # Arrow's is an `ArrowException` too
            raise
        except DAMAGE as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise DataError(f"{path} cannot be read: {os.strerror(error.errno)}.") from None
            raise self._refusal(path, " ".join(str(error).split())) from None

    def _refusal(self, path: str, why: str) -> DataError:
        found, kind = find_file(path), "a Parquet" if self.kind == "parquet" else "an Arrow"
        if found.head(6).startswith((b"PAR1", b"ARROW1")):
            return found.broken(f"it starts as {kind} file, but its end is wrong ({why})")
        return DataError(
            f"{path} is not {kind} file ({why}). If it is text, rename it to end in .csv, .tsv or "
            ".jsonl (or, in Python, give format='csv')."
        )

    def __call__(self, columns: list[str], rows: int) -> Iterator[Any]:
        for path, parts in zip(self.paths, self.parts):
            own = [name for name in columns if name not in self.part_types]
            try:
                for batch in self._file(path, own, rows):
                    yield self._with_parts(batch, columns, parts)
            except MemoryError:
                raise
            except DAMAGE as error:
                raise OSError(f"{path}: {error}") from error

    def _file(self, path: str, columns: list[str], rows: int) -> Iterator[Any]:
        if self.kind == "parquet":
            from pyarrow.parquet import ParquetFile

            with ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
                yield from file.iter_batches(rows, columns=columns, use_threads=False)
            return
        with pa.OSFile(path) as raw, pa.ipc.open_file(raw) as reader:
            for i in range(reader.num_record_batches):
                batch = reader.get_batch(i).select(columns)
                for start in range(0, batch.num_rows, rows):
                    yield batch.slice(start, rows)

    def _with_parts(self, batch: Any, columns: list[str], parts: dict[str, str | None]) -> Any:
        """The batch with the columns that the names of its folders give."""
        arrays = []
        for name in columns:
            if name in self.part_types:
                arrays.append(_repeated(parts[name], batch.num_rows, self.part_types[name]))
            else:
                arrays.append(batch.column(batch.schema.get_field_index(name)))
        return pa.RecordBatch.from_arrays(arrays, columns)


def _repeated(cell: str | None, n: int, kind: pa.DataType) -> Any:
    from pellucid.data.arrow_numpy import to_arrow

    if cell is None:
        return pa.nulls(n, kind)
    return to_arrow([cell] * n).cast(pa.string()).cast(kind)


def _hive(path: str, folder: str) -> dict[str, str | None]:
    """The columns in the names of folders: `year=2024/month=3/part.parquet`."""
    from urllib.parse import unquote

    pairs = [p.split("=", 1) for p in Path(path).parent.relative_to(folder).parts if "=" in p]
    return {key: None if value == _MISSING_PART else unquote(value) for key, value in pairs}


def _part_types(name: str, parts: list[dict[str, str | None]]) -> dict[str, pa.DataType]:
    """Whole numbers if all values of a folder's column are, else text."""
    if any(set(part) != set(parts[0]) for part in parts):
        raise DataError(f"the folders of {name} do not all name the same columns (a=1/b=2).")
    values = {key: {part[key] for part in parts} - {None} for key in parts[0]}
    whole = {key: all(re.fullmatch(r"-?\d{1,18}", v or "") for v in values[key]) for key in values}
    return {key: pa.int64() if whole[key] else pa.string() for key in whole}


def _joined(source: str, name: str, types: list[pa.DataType]) -> pa.Field:
    """One type for a column of several files: equal ones, null with any, numbers of any width."""
    kinds = [kind for kind in dict.fromkeys(types) if not pa.types.is_null(kind)] or types[:1]
    if len(kinds) == 1:
        return pa.field(name, kinds[0])
    if all(pa.types.is_integer(kind) or pa.types.is_boolean(kind) for kind in kinds):
        return pa.field(name, pa.int64())
    if all(pa.types.is_integer(k) or pa.types.is_floating(k) for k in kinds):
        return pa.field(name, pa.float64())
    raise DataError(
        f"column {name!r} has different types in the files of {source}: "
        f"{', '.join(map(str, kinds))}. Write them again with one type."
    )


def from_dataset(X: Any) -> BlockSource:
    """A source of a `pyarrow.dataset.Dataset`; its own filter holds."""

    def read(columns: list[str], rows: int) -> Iterator[Any]:
        scanner = X.scanner(
            columns=columns, batch_size=rows, batch_readahead=1, fragment_readahead=1,
            use_threads=True,
        )  # fmt: skip
        return iter(scanner.to_batches())

    files = list(getattr(X, "files", None) or ())

    def stamp() -> tuple[Any, ...]:
        found = [os.stat(path) for path in files if os.path.exists(path)]
        return tuple((s.st_ino, s.st_size, s.st_mtime_ns) for s in found)

    size = sum(os.path.getsize(path) for path in files if os.path.exists(path)) or None
    return BlockSource("the data set", X.schema, read, X.count_rows(), size, stamp, stamp())
