"""Row 15: parts of a table from memory, Parquet and Dask."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import pellucid
from pellucid.beyond_memory import digest
from pellucid.decomposition import PCA
from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
from pellucid.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from pellucid.naive_bayes import GaussianNB
from pellucid.parallel import memory
from scorecard.runner import Case

PARTS = (1, 2, 3, 5, 8, 13, 21, 40)
ROWS = 20_000
NUMBERS = ["x", "z"]
# Model, target and the columns that it is fitted to.
MODELS: dict[str, tuple[type, str | None, list[str]]] = {
    "LinearRegression": (LinearRegression, "z", ["x", "group"]),
    "LogisticRegression": (LogisticRegression, "label", [*NUMBERS, "group"]),
    "PoissonRegressor": (PoissonRegressor, "count", NUMBERS),
    "GaussianNB": (GaussianNB, "label", [*NUMBERS, "group"]),
    "LinearDiscriminantAnalysis": (LinearDiscriminantAnalysis, "label", NUMBERS),
    "PCA": (PCA, None, NUMBERS),
}


def partitions(share: float) -> Iterator[Case]:
    """Every model from 8 partitionings of 3 back ends: the bits of the table in memory."""
    for name in MODELS if share == 1 else ["GaussianNB"]:
        for back_end, given in BACK_ENDS.items():
            for parts in PARTS if share == 1 else PARTS[2:3]:
                key = f"{name} from {back_end} in {parts} part(s)"
                yield Case(key, partial(_same_model, name, given, parts))


@cache
def table(rows: int = ROWS, seed: int = 15) -> pd.DataFrame:
    """Numbers with missing values, a category, a label and a count."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, rows))
    group = rng.choice(["a", "b", "c"], rows)
    label = np.where(x + (group == "a") + rng.logistic(size=rows) > 0, "yes", "no")
    holed = np.where(rng.random(rows) < 0.05, np.nan, x)
    counts = rng.poisson(np.exp(0.3 * x)).astype(float)
    return pd.DataFrame({"x": holed, "z": z, "group": group, "label": label, "count": counts})


def _columns(name: str) -> pd.DataFrame:
    _, y, names = MODELS[name]
    return table()[[*names, *([y] if y else [])]]


def _cut(frame: pd.DataFrame, parts: int) -> list[pd.DataFrame]:
    """Parts of random sizes."""
    cuts = np.sort(np.random.default_rng(parts).integers(0, len(frame), parts - 1))
    return [frame.iloc[a:b] for a, b in pairwise([0, *cuts.tolist(), len(frame)])]


@contextmanager
def _in_memory(frame: pd.DataFrame, parts: int) -> Iterator[Any]:
    """An Arrow table of that many chunks."""
    pieces = [pa.Table.from_pandas(part, preserve_index=False) for part in _cut(frame, parts)]
    yield pa.concat_tables(pieces)


@contextmanager
def _from_parquet(frame: pd.DataFrame, parts: int) -> Iterator[Any]:
    """Files with small groups of rows, read below a ceiling of memory."""
    with tempfile.TemporaryDirectory() as folder, _ceiling():
        for k, part in enumerate(_cut(frame, parts)):
            rows = pa.Table.from_pandas(part, preserve_index=False)
            pq.write_table(rows, Path(folder) / f"{k:03d}.parquet", row_group_size=997)
        yield f"{folder}/*.parquet"


@contextmanager
def _ceiling() -> Iterator[None]:
    """Every source counts as large, and arrays from 256 kB on may be in scratch files."""
    limits = {"LARGEST": 2**18, "SMALLEST": 2**18, "BUDGET": 0}
    with patch("pellucid.data.sources.find.COPIES", 10**9), patch.multiple(memory, **limits):
        pellucid.set_memory(memory.resident() + 600 * 10**6)
        try:
            yield
        finally:
            pellucid.set_memory(None)


@contextmanager
def _from_dask(frame: pd.DataFrame, parts: int) -> Iterator[Any]:
    """A frame whose partitions have sizes that Dask does not know, computed by threads."""
    yield _lazy(frame, parts)


def _lazy(frame: pd.DataFrame, parts: int) -> Any:
    import dask
    import dask.dataframe as dd

    pieces = [dask.delayed(part) for part in _cut(frame, parts)]
    return dd.from_delayed(pieces, meta=frame.iloc[:0])


BACK_ENDS: dict[str, Callable[[pd.DataFrame, int], Any]] = {
    "memory": _in_memory,
    "Parquet": _from_parquet,
    "Dask": _from_dask,
}


def _same_model(name: str, given: Callable[[pd.DataFrame, int], Any], parts: int) -> None:
    Model, y, _ = MODELS[name]
    frame = _columns(name)
    with given(frame, parts) as source:
        found = Model().fit(source, y=y) if y else Model().fit(source)
    whole = Model().fit(frame, y=y) if y else Model().fit(frame)
    assert digest(found._learned()) == digest(whole._learned()), "other bits than in memory"
