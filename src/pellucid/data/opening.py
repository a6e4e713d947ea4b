"""Tables behind paths, and y, weights and offset that are named columns of the table."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.data.intake import RawTable, check_names, is_frame
from pellucid.data.targets import as_vector
from pellucid.errors import DataError, DataTypeError
from pellucid.parallel.memory import is_limited
from pellucid.parallel.shard import shard

if TYPE_CHECKING:
    from pellucid.data.sources.block_source import BlockSource

# Tables of these packages with a shape are in memory; these marks and packages may be more than that.
_IN_MEMORY = ("numpy", "pandas", "polars", "pyarrow", "scipy")
_SOURCES = ("__dask_graph__", "__arrow_c_stream__", "collect_schema")
_PACKAGES = ("pyarrow", "duckdb", "_duckdb", "pellucid")


def opened(X: Any, *columns: Any) -> tuple[Any, ...]:
    """The table behind a path, and each of y, weights, offset that is a column name as that column.

    A list of names gives several columns. Named columns are taken out of the table. Below a memory
    ceiling (`streaming`) the arrays of a source may be in scratch files. There, and where other
    processes hold other rows, they are filled batch after batch, without a copy of the table between.
    """
    if not isinstance(X, np.ndarray):
        source = source_behind(X)
        if source is not None and (is_limited() or shard() is not None):
            from pellucid.data.sources.scratch_table import scratch_table

            return scratch_table(source, *columns)
        X = _loaded(X, source, columns)
    out = []
    for given in columns:
        if isinstance(given, str):
            X, given = _split(X, given)
        elif _are_names(given, X):
            parts = []
            for name in given:
                X, part = _split(X, name)
                parts.append(as_vector(part))
            given = np.column_stack(parts)
        out.append(given)
    return X, *out


def source_behind(X: Any) -> "BlockSource | None":
    """The block source that X is or names; None for a table in memory or a file that is read whole."""
    kind = type(X)
    package = kind.__module__.partition(".")[0]
    if not isinstance(X, str | Path):
        if kind in (np.ndarray, RawTable, list, tuple) or (
            package in _IN_MEMORY and hasattr(kind, "shape")
        ):
            return None
        if not any(hasattr(kind, mark) for mark in _SOURCES) and package not in _PACKAGES:
            return None
    from pellucid.data.sources.find import source_of

    return source_of(X)


def on_workers(X: Any) -> Any:
    """X as a `DaskTable` if it is a Dask frame of which workers hold the rows; else None."""
    kind = type(X)
    if kind.__name__ != "DaskTable" and not hasattr(kind, "__dask_graph__"):
        return None
    from pellucid.data.sources import find

    return find.on_workers(X)


def large_source(X: Any, *columns: Any) -> Any:
    """X as a source if it does not fit into memory, as one that need not be run again, or as it is.

    Where the source names its features, no other columns count but y, weights and offset in `columns`.
    """
    source = None if type(X) is np.ndarray else source_behind(X)
    if source is None:
        return X, False
    from pellucid.data.sources.find import is_large

    if source.features is not None:
        source = source.select(list(dict.fromkeys([*source.features, *_named(columns)])))

    large = is_large(source)
    whole = isinstance(X, str | Path) and Path(X).suffix.lower() in (".parquet", ".pq")
    return (X if whole and not large else source), large


def _loaded(X: Any, source: "BlockSource | None", columns: tuple[Any, ...]) -> Any:
    """The table in memory."""
    if isinstance(X, str | Path) and (source is None or len(source.paths) == 1):
        from pellucid.data.io.read import FORMATS, read

        if source is None or Path(X).suffix.lower() in FORMATS:
            return read(X)
    if source is None:
        return X
    table = source.load()
    if source.features is None:
        return table
    others = _named(columns)
    return table.select([n for n in source.names if n in source.features or n in others])


def _named(columns: tuple[Any, ...]) -> list[str]:
    """The names of columns among y, weights and offset."""
    lists = [given if isinstance(given, list) else [given] for given in columns]
    return [name for names in lists for name in names if isinstance(name, str)]


def _are_names(given: Any, X: Any) -> bool:
    """A list of strings that are all columns of the table."""
    if not isinstance(given, list) or not given or not is_frame(X):
        return False
    return all(isinstance(v, str) for v in given) and set(given) <= set(map(str, _names(X)))


def _names(X: Any) -> list[Any]:
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def _split(X: Any, name: str) -> tuple[Any, Any]:
    """The table without the named column, and that column."""
    if not is_frame(X):
        raise DataTypeError(
            f"{name!r} names a column, but X is not a table with named columns (a dataframe, an "
            "Arrow table or a path)."
        )
    raw = _names(X)
    names = [str(n) for n in raw]
    check_names(tuple(names))
    if name not in names:
        from pellucid.data.io.source import did_you_mean, listing

        hint = did_you_mean(name, names)
        raise DataError(f"column {name!r} is not in the table.{hint} {listing(names)}")
    if hasattr(X, "column_names"):
        return X.drop_columns([name]), X.column(name)
    return X[[n for n in raw if str(n) != name]], X[raw[names.index(name)]]
