"""What the user gives as X, as a block source; and whether it fits into memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pellucid.data.sources.block_source import BlockSource
from pellucid.errors import DataError, DataTypeError, ParameterError
from pellucid.parallel.memory import get_memory, resident

# Arrays of the table's size that a fit in memory may hold: Arrow's, ours, and one more.
COPIES = 3
DUCKDB = (".duckdb", ".ddb")


def scan(
    source: Any,
    *,
    features: Sequence[str] | None = None,
    table: str | None = None,
    query: str | None = None,
    client: Any = None,
    gather: bool = False,
) -> Any:
    """A table that need not fit into memory, for `fit` and `predict` of any model.

    Parameters
    ----------
    source : a path (Parquet, Arrow or DuckDB file), a pattern such as "sales/*.parquet", a folder, a
        `pyarrow.dataset.Dataset`, a reader of record batches, a `polars.LazyFrame`, a DuckDB relation,
        a Dask frame, or a connection of ADBC or Python's DB-API.
    features : the columns that the model uses; None uses all but the target, weights and offset.
    table, query : of a DuckDB file or a connection: the table to read, or the SQL query.
    client : the Dask client whose workers compute a Dask frame and fit models to it; None uses the
        current one, else threads of this process.
    gather : whether models are fitted to a Dask frame on this machine, to which its rows are moved.

    Rows keep the order of the source; files are read in the order of their paths. Streams, lazy frames
    and queries are run once, now, and written to a scratch file.

    Examples
    --------
    >>> import pellucid
    >>> from pellucid.linear_model import LinearRegression
    >>> source = pellucid.scan("sales/*.parquet", features=["price", "region"])  # doctest: +SKIP
    >>> LinearRegression().fit(source, y="units")  # doctest: +SKIP
    """
    if table is not None and query is not None:
        raise ParameterError("Give table or query, not both.")
    found: Any = _with_query(source, table, query)
    if found is None and not gather:
        found = on_workers(source, client)
    found = found or source_of(source, client)
    if found is None:
        raise DataTypeError(
            f"scan takes a path, a data set, a lazy frame, a stream, a query or a Dask frame, not a "
            f"{type(source).__name__}. Give a table in memory to fit directly."
        )
    if features is None:
        return found
    if isinstance(features, str):
        raise ParameterError(f"features must be a list of names, not the text {features!r}.")
    for name in features:
        found.require(name)
    return replace(found, features=tuple(features))


def on_workers(X: Any, client: Any = None) -> Any:
    """A `DaskTable` if X is a Dask frame and there is a client, whose workers hold it; else None."""
    if not hasattr(type(X), "__dask_graph__") and type(X).__name__ != "DaskTable":
        return None
    from pellucid.data.sources.dask_frames import dask_table

    return dask_table(X, client)


def _with_query(source: Any, table: str | None, query: str | None) -> BlockSource | None:
    from pellucid.data.sources.databases import from_query, quoted

    if table is not None:
        query = f"SELECT * FROM {quoted(table)}"
    path = os.fspath(source) if isinstance(source, str | Path) else None
    if path is not None and path.lower().endswith(DUCKDB):
        if query is None:
            raise ParameterError(f"{path} is a DuckDB file: give table= or query=.")
        from pellucid.data.io.source import find
        from pellucid.data.sources.streams import from_duckdb_file

        find(path)
        return from_duckdb_file(path, query)
    if query is None:
        return None
    if not hasattr(source, "cursor"):
        raise ParameterError("table and query are for DuckDB files and database connections.")
    return from_query(source, query)


def source_of(X: Any, client: Any = None, text: Sequence[str] = ()) -> BlockSource | None:
    """The source that X is or names; None for a table in memory and for files that are read whole.

    `text`: columns of a CSV file that stay as they are written.
    """
    if isinstance(X, BlockSource):
        return X
    if isinstance(X, str | Path):
        from pellucid.data.sources.files import from_path, is_data_set
        from pellucid.data.sources.text_files import from_text

        return from_path(X) if is_data_set(X) else from_text(X, text)
    kind = type(X)
    package = kind.__module__.split(".")[0]
    if package == "pyarrow" and hasattr(X, "scanner") and hasattr(X, "count_rows"):
        from pellucid.data.sources.files import from_dataset

        return from_dataset(X)
    if hasattr(kind, "__dask_graph__") or kind.__name__ == "DaskTable":
        from pellucid.data.sources.dask_frames import DaskTable, from_dask

        return X.gathered() if isinstance(X, DaskTable) else from_dask(X, client)
    return _stream_of(X, package)


def _stream_of(X: Any, package: str) -> BlockSource | None:
    kind = type(X)
    if callable(getattr(kind, "cursor", None)):  # a connection has no table of its own
        raise DataError("Give pellucid.scan(connection, query=...), not the connection itself.")
    if package in ("duckdb", "_duckdb") and hasattr(X, "fetch_record_batch"):
        from pellucid.data.sources.streams import from_relation

        return from_relation(X)
    if hasattr(kind, "collect_schema") and not hasattr(kind, "shape"):
        from pellucid.data.sources.streams import from_lazy_frame

        return from_lazy_frame(X)
    if hasattr(kind, "__arrow_c_stream__") and not hasattr(kind, "shape"):
        from pellucid.data.sources.streams import from_reader

        return from_reader(X)
    return None


def is_large(source: BlockSource) -> bool:
    """Whether a source should be fitted through scratch files, because it would not fit in memory."""
    return needs_scratch((source.n_rows or 0) * len(source.names))


def needs_scratch(cells: int) -> bool:
    """Whether a table with this number of cells does not fit into memory."""
    return COPIES * 8 * cells > get_memory() - resident()
