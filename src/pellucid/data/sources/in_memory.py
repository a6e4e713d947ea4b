"""Tables in memory as sources, for what works on any of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pellucid.data.io.read import read
from pellucid.data.io.shared_tables import as_arrow
from pellucid.data.sources.block_source import BlockSource


def from_table(X: Any) -> BlockSource:
    """A source of a table in memory, or of a file that is read whole."""
    from pathlib import Path

    name = str(X) if isinstance(X, str | Path) else "the table"
    table: pa.Table = read(X) if isinstance(X, str | Path) else as_arrow(X)[0]

    def batches(columns: list[str], rows: int) -> Iterator[Any]:
        return iter(table.select(columns).to_batches(max_chunksize=rows))

    return BlockSource(name, table.schema, batches, table.num_rows, table.nbytes)
