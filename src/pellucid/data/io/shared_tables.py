"""Tables between processes: any container as one Arrow table, and a file that many can map.

Invariant: a table written with `write_shared` comes back with equal cells, without a copy in memory;
`settled` decides once what kind each column is, so that no part of the rows can decide otherwise.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pellucid.data.arrow import arrow_column, plain
from pellucid.data.arrow_numpy import to_arrow
from pellucid.data.intake import check_names, is_frame
from pellucid.data.learn_schema import kind_of
from pellucid.errors import DataError, DataTypeError


def as_arrow(data: Any) -> tuple[pa.Table, str]:
    """A user's table as Arrow, and what it was: "arrow", "pandas", "polars", "array" or "frame"."""
    if isinstance(data, pa.Table):
        check_names(tuple(data.column_names))
        return data, "arrow"
    if is_frame(data):
        return _frame(data), _family(data)
    array = np.asarray(data)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise DataTypeError(
            "the table must be a dataframe, an Arrow table, a path or a 2D array of numbers, "
            f"not {type(data).__name__} of {array.ndim} dimension(s) and type {array.dtype}."
        )
    columns = [to_arrow(np.ascontiguousarray(array[:, j])) for j in range(array.shape[1])]
    return pa.table(columns, names=[f"x{j}" for j in range(array.shape[1])]), "array"


def _family(frame: Any) -> str:
    package = type(frame).__module__.split(".")[0]
    return package if package in ("pandas", "polars") else "frame"


def _frame(data: Any) -> pa.Table:
    import narwhals as nw

    frame = nw.from_native(data, eager_only=True)
    check_names(tuple(map(str, frame.columns)))
    columns = []
    for name in frame.columns:
        try:
            columns.append(_named_levels(frame[name]).to_arrow())
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise DataError(
                f"column {name!r} mixes cells of several types: make it all numbers, all text or "
                "all dates."
            ) from None
        except pa.ArrowNotImplementedError:
            raise DataTypeError(
                f"column {name!r} has type {frame[name].to_native().dtype}, which no model can read. "
                "Turn it into numbers, text or dates first."
            ) from None
    return pa.table(columns, names=[str(name) for name in frame.columns])


def _named_levels(series: Any) -> Any:
    """The series; categories of pandas that are intervals (`pandas.cut`) or periods by their names."""
    import narwhals as nw

    levels = getattr(getattr(series.to_native(), "cat", None), "categories", None)
    if levels is None or str(levels.dtype).split("[")[0] not in ("interval", "period"):
        return series
    named = series.to_native().cat.rename_categories([str(level) for level in levels])
    return nw.from_native(named, series_only=True)


def readable(table: pa.Table) -> pa.Table:
    """The table in the plain types of `data.arrow`; a column that no model can read is refused."""
    columns = [plain(name, column) for name, column in zip(table.column_names, table.columns)]
    return pa.table(columns, names=table.column_names)


def settled(table: pa.Table, n: int) -> tuple[pa.Table, dict[str, str]]:
    """The table with labels as dictionaries, and the kind of every column, from its first n rows."""
    columns, kinds = [], {}
    for name, column in zip(table.column_names, table.columns):
        raw = kind_of(arrow_column(name, column.slice(0, n)), np.ones(n))
        kinds[name] = raw.kind
        labels = raw.kind == "categorical" and not pa.types.is_dictionary(column.type)
        columns.append(pc.dictionary_encode(column) if labels else column)
    return pa.table(columns, names=table.column_names).combine_chunks(), kinds


def fingerprint(table: pa.Table) -> str:
    """SHA-256 of names, types and cells of a table in memory."""
    sink = pa.BufferOutputStream()
    table = table.combine_chunks().replace_schema_metadata(None)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return hashlib.sha256(sink.getvalue()).hexdigest()


def file_fingerprint(path: str | Path) -> str:
    """SHA-256 of a file's bytes, as `sha256sum` prints it."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_shared(table: pa.Table, path: str | Path) -> None:
    """Write a table so that other processes can map it."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())


def open_shared(path: str | Path) -> pa.Table:
    """The table of `write_shared`, mapped from the file."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def take(table: pa.Table, rows: np.ndarray) -> pa.Table:
    """Some rows, in the given order."""
    return table.take(to_arrow(np.asarray(rows, dtype=np.int64)))


def without(table: pa.Table, names: Any) -> pa.Table:
    """The table without some columns."""
    gone = set(names)
    return table.select([name for name in table.column_names if name not in gone])


def stacked(first: pa.Table, second: pa.Table) -> pa.Table:
    """Two tables of the same columns, one below the other; number types may differ."""
    try:
        return pa.concat_tables(
            [first, second.select(first.column_names)], promote_options="permissive"
        ).unify_dictionaries()
    except (pa.ArrowInvalid, pa.ArrowTypeError, KeyError) as error:
        raise DataError(f"the two tables do not fit together: {error}.") from None


def native(table: pa.Table, container: str) -> Any:
    """The table in the container that its user works with, for estimators of other packages."""
    if container == "pandas":
        return table.to_pandas()
    if container == "polars":
        import polars

        return polars.from_arrow(table)
    if container == "array":
        columns = [arrow_column(n, c).values for n, c in zip(table.column_names, table.columns)]
        return np.column_stack(columns)
    return table


def with_empty_columns(table: pa.Table, names: list[str]) -> pa.Table:
    """The table with more columns, which hold no values."""
    empty = [pa.nulls(table.num_rows)] * len(names)
    return pa.table([*table.columns, *empty], names=[*table.column_names, *names])


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    """The table with one column replaced by numbers."""
    place = table.column_names.index(name)
    return table.set_column(place, name, to_arrow(np.asarray(values, dtype=float)))


def with_each_permuted(table: pa.Table, moved: list[tuple[str, np.ndarray]]) -> pa.Table:
    """Copies of the table one below the other, each with one column in another order."""
    n, columns = table.num_rows, []
    for name, column in zip(table.column_names, table.columns):
        rows = np.tile(np.arange(n), len(moved))
        for k, (which, order) in enumerate(moved):
            if which == name:
                rows[k * n : (k + 1) * n] = order
        columns.append(column.take(to_arrow(rows)))
    return pa.table(columns, names=table.column_names)


def repeated(table: pa.Table, rows: dict[str, int], n: int) -> pa.Table:
    """`n` equal rows; each column takes its cell from a row of its own."""
    columns = [
        table.column(name).take(to_arrow(np.full(n, rows[name], dtype=np.int64)))
        for name in table.column_names
    ]
    return pa.table(columns, names=table.column_names)


def cells_as_text(table: pa.Table, longest: int = 200) -> list[list[str | None]]:
    """Rows of cells as text, None where missing."""
    columns = [[_cell_text(cell, longest) for cell in column] for column in python_columns(table)]
    return [list(row) for row in zip(*columns)]


def python_columns(table: pa.Table) -> list[list[Any]]:
    """The cells of each column as Python objects, whatever its Arrow type."""
    return [
        plain(name, column).to_pylist() for name, column in zip(table.column_names, table.columns)
    ]


def _cell_text(cell: Any, longest: int) -> str | None:
    if cell is None or cell != cell:
        return None
    text = f"{cell:.6g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= longest else text[: longest - 3] + "..."
