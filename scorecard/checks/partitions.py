"""Rows 15 and 16: parts of a table from memory, Parquet and Dask; workers of Dask that are killed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise
from logging import CRITICAL
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
from scorecard.runner import Case, counted

PARTS = (1, 2, 3, 5, 8, 13, 21, 40)
ROWS = 20_000
KILLS = 20  # of each model
KILLED_ROWS = 200_000  # four groups of rows, so that two workers share them
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
KILLED = ("LinearRegression", "LogisticRegression", "PoissonRegressor", "GaussianNB", "PCA")


def partitions(share: float) -> Iterator[Case]:
    """Every model from 8 partitionings of 3 back ends: the bits of the table in memory."""
    for name in MODELS if share == 1 else ["GaussianNB"]:
        for back_end, given in BACK_ENDS.items():
            for parts in PARTS if share == 1 else PARTS[2:3]:
                key = f"{name} from {back_end} in {parts} part(s)"
                yield Case(key, partial(_same_model, name, given, parts))


@cache
def table(rows: int = ROWS) -> pd.DataFrame:
    """Numbers with missing values, a category, a label and a count."""
    rng = np.random.default_rng(15)
    x, z = rng.normal(size=(2, rows))
    group = rng.choice(["a", "b", "c"], rows)
    label = np.where(x + (group == "a") + rng.logistic(size=rows) > 0, "yes", "no")
    holed = np.where(rng.random(rows) < 0.05, np.nan, x)
    counts = rng.poisson(np.exp(0.3 * x)).astype(float)
    return pd.DataFrame({"x": holed, "z": z, "group": group, "label": label, "count": counts})


def _columns(name: str, rows: int = ROWS) -> pd.DataFrame:
    _, y, names = MODELS[name]
    return table(rows)[[*names, *([y] if y else [])]]


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


def workers(share: float) -> Iterator[Case]:
    """A worker is killed inside a random pass of a fit, 20 times for each of 5 models."""
    for number in counted(KILLS * len(KILLED), share):
        name = KILLED[number % len(KILLED)]
        yield Case(f"{name} {number}", partial(_survives, name, number))


@contextmanager
def _cluster() -> Iterator[tuple[Any, Any]]:
    """Two worker processes, which say nothing of lost connections."""
    import dask
    import distributed

    quiet = {
        "distributed.deploy.lost-worker-timeout": "5 minutes",
        "logging.distributed": "critical",
    }
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
            silence_logs=CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        client.wait_for_workers(2)
        yield cluster, client


@cache
def _unharmed(name: str) -> tuple[str, int]:
    """The digest of a fit that nothing disturbs, and its passes."""
    Model, y, _ = MODELS[name]
    lazy = _lazy(_columns(name, KILLED_ROWS), 7)
    model = Model().fit(lazy, y=y) if y else Model().fit(lazy)
    return digest(model._learned()), model.fit_report_["passes"]


def _survives(name: str, number: int) -> None:
    from tests.data.test_dask_workers import fit_while_killing

    Model, y, _ = MODELS[name]
    lazy = _lazy(_columns(name, KILLED_ROWS), 7)
    with _cluster() as (cluster, client):
        expected, passes = _unharmed(name)
        hit = int(np.random.default_rng([number, 16]).integers(passes))
        found = fit_while_killing(cluster, client, Model(), lazy, y, hit, seed=number)
    assert digest(found._learned()) == expected, "other bits than without the kill"
