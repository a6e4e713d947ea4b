"""Sources of lazy frames and streams: polars, DuckDB, readers of record batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pellucid.data.sources.block_source import BlockSource
from pellucid.data.sources.spool import from_stream
from pellucid.errors import DataError

ROWS = 2**16  # of a batch that a stream is asked for


def from_lazy_frame(X: Any) -> BlockSource:
    """A source of a `polars.LazyFrame`, computed once, in batches, into scratch."""
    if hasattr(X, "collect_batches"):
        batches = X.collect_batches(chunk_size=ROWS, maintain_order=True)
    else:
        frame = X.collect(engine="streaming")
        batches = frame.iter_slices(ROWS)
    parts = (batch for frame in batches for batch in frame.to_arrow().to_batches())
    return from_stream("the lazy frame", map(same_dictionaries, parts))


def same_dictionaries(batch: Any) -> Any:
    """A batch whose categories without an order have one type, whatever their number."""
    arrays, fields = [], []
    for field, column in zip(batch.schema, batch.columns):
        kind = field.type
        if pa.types.is_dictionary(kind) and not kind.ordered:
            column = column.cast(kind.value_type)
            kind = pa.dictionary(pa.int32(), pa.string())
            column = column.cast(pa.string()).dictionary_encode()
        arrays.append(column)
        fields.append(pa.field(field.name, column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def from_relation(X: Any) -> BlockSource:
    """A source of a DuckDB relation, computed once, in batches, into scratch."""
    reader = getattr(X, "to_arrow_reader", None) or X.fetch_record_batch
    return from_stream("the DuckDB relation", reader(ROWS))


def from_reader(X: Any) -> BlockSource:
    """A source of a `pyarrow.RecordBatchReader` or another stream of Arrow data."""
    reader = X if isinstance(X, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(X)
    return from_stream("the stream of record batches", reader)


def from_duckdb_file(path: str, query: str) -> BlockSource:
    """A source of a query on a DuckDB file, which is opened for reading only."""
    try:
        import duckdb
    except ImportError:
        raise DataError(
            f"{path} is a DuckDB file: install duckdb to read it (pip install duckdb)."
        ) from None
    with duckdb.connect(path, read_only=True) as connection:
        try:
            return from_relation(connection.sql(query))
        except duckdb.Error as error:
            raise DataError(f"{path}: the query failed ({error}).") from None
