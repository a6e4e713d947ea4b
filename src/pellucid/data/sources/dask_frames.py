"""Dask frames: models are fitted by the workers of a client (`dask_fit`); predictions stay lazy.

Where the table is wanted on this machine, partitions are asked for one after the other, `AHEAD` of them
at a time, and written to scratch. Rows keep their global order. A lost worker's partitions are computed
again by Dask; one that gives no answer for `WAIT` seconds is an error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from pellucid.data.io.shared_tables import as_arrow
from pellucid.data.sources.block_source import BlockSource, NamedColumns
from pellucid.data.sources.spool import from_stream
from pellucid.data.sources.streams import same_dictionaries
from pellucid.errors import DataError, DataTypeError

AHEAD = 4  # partitions that are computed while one is written
WAIT = 600.0  # seconds for a partition or a pass; dask.config "pellucid.timeout"


@dataclass(frozen=True)
class DaskTable(NamedColumns):
    """A Dask frame and the client whose workers fit models to it; `features` as in `BlockSource`."""

    frame: Any
    client: Any
    features: tuple[str, ...] | None = None
    name: str = "the Dask frame"

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.frame.columns]

    def gathered(self) -> BlockSource:
        """The table on this machine, computed by the workers."""
        return replace(from_dask(self.frame, self.client), features=self.features)


def dask_table(X: Any, client: Any = None) -> DaskTable | None:
    """A Dask frame with the client that computes it; None without one, and for other tables."""
    if isinstance(X, DaskTable):
        return X
    if not hasattr(type(X), "__dask_graph__"):
        return None
    client = client or _current_client()
    if client is None:
        return None
    check_frame(X)
    return DaskTable(X, client)


def from_dask(X: Any, client: Any = None) -> BlockSource:
    """A source of a Dask frame, computed once, in the order of its partitions, into scratch."""
    check_frame(X)
    tables = _partitions(X, client)
    batches = (batch for table in tables for batch in table.to_batches())
    return from_stream("the Dask frame", map(same_dictionaries, batches))


def check_frame(X: Any) -> None:
    """Refuse Dask collections without named columns."""
    if not hasattr(X, "to_delayed") or not hasattr(X, "columns"):
        raise DataTypeError(
            "Dask collections are given as a dask.dataframe with named columns, not as "
            f"{type(X).__name__}. Use dask.dataframe.from_dask_array(X, columns=[...])."
        )


def _arrow(part: Any) -> pa.Table:
    """A partition as Arrow, on the worker; the index is no column."""
    return as_arrow(part.reset_index(drop=True))[0]


def _partitions(X: Any, client: Any) -> Iterator[pa.Table]:
    import dask

    as_table = dask.delayed(_arrow, pure=False)  # asked for again, a partition has a key of its own
    parts = X.to_delayed()
    client = client or _current_client()
    if client is None:
        for part in parts:
            yield as_table(part).compute(scheduler="threads")
        return
    from pellucid.data.sources import dask_client

    wait, losses = longest_wait(), dask_client.Losses()
    waiting: deque[tuple[int, Any]] = deque()

    def result() -> pa.Table:
        number, future = waiting.popleft()

        def again() -> Any:
            return client.compute(as_table(parts[number]))

        return dask_client.computed(client, future, number, wait, losses, again)

    try:
        for number, part in enumerate(parts):
            waiting.append((number, client.compute(as_table(part))))
            if len(waiting) > AHEAD:
                yield result()
        while waiting:
            yield result()
    finally:
        dask_client.release(future for _, future in waiting)


def longest_wait() -> float:
    """Seconds after which a partition or a pass counts as stuck."""
    import dask

    return float(dask.config.get("pellucid.timeout", WAIT))


def late_partition(number: int, wait: float) -> DataError:
    """The error for a partition that the workers have not computed in time."""
    return DataError(
        f"partition {number} of the Dask frame has not been computed within {wait:g} seconds. Look "
        "at the dashboard of the cluster: a worker may be stuck or out of memory."
    )


def _current_client() -> Any:
    """The client of this process, if there is one."""
    import sys

    if "distributed" not in sys.modules:
        return None
    from distributed import client

    current: Any = client.default_client
    try:
        return current()
    except ValueError:
        return None


def lazy_answer(X: Any, answer: Callable[[Any], Any], dtype: Any, width: int | None) -> Any:
    """The answers for each partition as a lazy Dask array, (n,) or (n, width)."""
    import dask
    import dask.array

    arrays: Any = dask.array
    shape = (float("nan"),) if width is None else (float("nan"), width)
    function = dask.delayed(answer)  # in the graph once, not with every partition
    empty = np.empty((0,) if width is None else (0, width), dtype=dtype)
    parts = [dask.delayed(_call)(function, part, empty) for part in X.to_delayed()]
    chunks = [arrays.from_delayed(part, shape=shape, dtype=dtype) for part in parts]
    return arrays.concatenate(chunks)


def _call(function: Callable[[Any], Any], part: Any, empty: np.ndarray) -> Any:
    return function(part) if len(part) else empty
