"""Row 15: a table in parts, from memory, files, other engines and Dask: the model of the whole table."""

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
from pellucid.cluster import KMeans
from pellucid.decomposition import PCA
from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
from pellucid.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from pellucid.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from pellucid.naive_bayes import GaussianNB, MixedNB
from pellucid.parallel import memory
from pellucid.tree import DecisionTreeClassifier
from scorecard.checks import dask_workers
from scorecard.runner import Case

PARTS = (1, 2, 3, 5, 8, 13, 21, 40)
WORKERS = (1, 2, 4)
ROWS = 20_000
SHARED_ROWS = 270_000  # five groups of rows, which up to four workers share
NUMBERS = ["x", "z"]
MIXED = [*NUMBERS, "group"]
# How a model is made, its target and the columns that it is fitted to.
MODELS: dict[str, tuple[Callable[[], Any], str | None, list[str]]] = {
    "LinearRegression": (LinearRegression, "z", ["x", "group"]),
    "LogisticRegression": (LogisticRegression, "label", MIXED),
    "PoissonRegressor": (PoissonRegressor, "count", NUMBERS),
    "GaussianNB": (GaussianNB, "label", MIXED),
    "MixedNB": (MixedNB, "label", MIXED),
    "LinearDiscriminantAnalysis": (LinearDiscriminantAnalysis, "label", NUMBERS),
    "PCA": (PCA, None, NUMBERS),
    "KMeans": (partial(KMeans, 3, n_init=1, random_state=0), None, NUMBERS),
    "DecisionTreeClassifier": (
        partial(DecisionTreeClassifier, splitter="hist", max_depth=6, random_state=0),
        "label", MIXED,
    ),
    "RandomForestClassifier": (
        partial(RandomForestClassifier, 3, splitter="hist", max_depth=6, random_state=0),
        "label", MIXED,
    ),
    "HistGradientBoostingClassifier": (
        partial(HistGradientBoostingClassifier, max_iter=5, early_stopping=False, random_state=0),
        "label", MIXED,
    ),
}  # fmt: skip
# Workers begin without the sample of rows with which one process begins; the optimum is the same.
CLOSE = ("LogisticRegression", "PoissonRegressor")


def partitions(share: float) -> Iterator[Case]:
    """Every model from 8 partitionings of 5 back ends, and of frames that 1, 2 and 4 workers hold."""
    names = MODELS if share == 1 else ["GaussianNB"]
    for name in names:
        for back_end, given in BACK_ENDS.items():
            for parts in PARTS if share == 1 else PARTS[2:3]:
                key = f"{name} from {back_end} in {parts} part(s)"
                yield Case(key, partial(_same_model, name, given, parts))
    for workers in WORKERS if share == 1 else ():
        for name in names:
            key = f"{name} by {workers} worker(s) in {len(PARTS)} partitionings"
            yield Case(key, partial(_same_by_workers, name, workers))


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


def _columns(name: str, rows: int = ROWS) -> pd.DataFrame:
    _, y, names = MODELS[name]
    return table(rows)[[*names, *([y] if y else [])]]


def _cut(frame: pd.DataFrame, parts: int) -> list[pd.DataFrame]:
    """Parts of random sizes."""
    cuts = np.sort(np.random.default_rng(parts).integers(0, len(frame), parts - 1))
    return [frame.iloc[a:b] for a, b in pairwise([0, *cuts.tolist(), len(frame)])]


def _chunks(frame: pd.DataFrame, parts: int) -> pa.Table:
    pieces = [pa.Table.from_pandas(part, preserve_index=False) for part in _cut(frame, parts)]
    return pa.concat_tables(pieces)


@contextmanager
def _in_memory(frame: pd.DataFrame, parts: int) -> Iterator[Any]:
    """An Arrow table of that many chunks."""
    yield _chunks(frame, parts)


@contextmanager
def _from_parquet(frame: pd.DataFrame, parts: int) -> Iterator[Any]:
    """Files with small groups of rows, written in any order, read below a ceiling of memory."""
    rng = np.random.default_rng(parts)
    with tempfile.TemporaryDirectory() as folder, _ceiling():
        pieces = _cut(frame, parts)
        for k in rng.permutation(parts):
            rows = pa.Table.from_pandas(pieces[k], preserve_index=False)
            path, size = Path(folder) / f"{k:03d}.parquet", int(rng.integers(50, 5_000))
            pq.write_table(rows, path, row_group_size=size)
        yield f"{folder}/*.parquet"


@contextmanager
def _from_polars(frame: pd.DataFrame, parts: int) -> Iterator[Any]:
    """A lazy frame of polars, run below a ceiling of memory."""
    import polars

    with _ceiling():
        yield polars.from_arrow(_chunks(frame, parts), rechunk=False).lazy()


@contextmanager
def _from_duckdb(frame: pd.DataFrame, parts: int) -> Iterator[Any]:
    """A relation of DuckDB, run below a ceiling of memory."""
    import duckdb

    with _ceiling():
        yield duckdb.from_arrow(_chunks(frame, parts))


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
    "LazyFrame": _from_polars,
    "DuckDB": _from_duckdb,
    "Dask": _from_dask,
}


def _same_model(name: str, given: Callable[[pd.DataFrame, int], Any], parts: int) -> None:
    make, y, _ = MODELS[name]
    frame, target = _columns(name), {"y": y} if y else {}
    with given(frame, parts) as source:
        found = make().fit(source, **target)
    assert _digest(found) == _digest(make().fit(frame, **target)), "other bits than in memory"


def _same_by_workers(name: str, workers: int) -> None:
    """Equal bits for all partitionings; those of memory, or coefficients within 1e-12 of them."""
    make, y, _ = MODELS[name]
    frame, target = _columns(name, SHARED_ROWS), {"y": y} if y else {}
    expected = make().fit(frame, **target)
    with dask_workers.cluster(workers):
        found = [make().fit(_lazy(frame, parts), **target) for parts in PARTS]
    assert len({_digest(model) for model in found}) == 1, "bits depend on the partitions"
    if name in CLOSE:
        for field in ("coef_", "intercept_"):
            a, b = getattr(found[0], field), getattr(expected, field)
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(expected.coef_).max())
        return
    if name == "KMeans":  # workers give no labels, and one sum of all distances
        np.testing.assert_array_equal(found[0].cluster_centers_, expected.cluster_centers_)
        np.testing.assert_allclose(found[0].inertia_, expected.inertia_, rtol=1e-14)
        return
    if name == "HistGradientBoostingClassifier":  # losses are sums in another order
        assert digest(found[0].trees_) == digest(expected.trees_), "other trees than in memory"
        assert digest(found[0].baseline_) == digest(expected.baseline_)
        return
    assert _digest(found[0]) == _digest(expected), "other bits than in memory"


def _digest(model: Any) -> str:
    return digest(model._learned())
