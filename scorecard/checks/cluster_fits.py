"""Rows 15 and 16: partitions, back ends and lost workers do not change what a model learns."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import pellucid
from pellucid.beyond_memory import digest
from pellucid.data.sources import find
from pellucid.decomposition import PCA
from pellucid.linear_model import Lasso, LinearRegression, LogisticRegression, PoissonRegressor
from pellucid.naive_bayes import GaussianNB
from scorecard.runner import Case, counted

ROWS = 3 * 2**16 + 1_000
PARTITIONINGS = (1, 2, 3, 5, 8, 13, 21, 40)
WORKERS = (1, 2, 4)
KILLS = 20
# Model, target, and whether the model in memory has equal bits or the same optimum to 1e-12.
MODELS: dict[str, tuple[Any, str | None, bool]] = {
    "GaussianNB": (GaussianNB, "label", True),
    "LogisticRegression": (LogisticRegression, "label", False),
    "LinearRegression": (LinearRegression, "units", True),
    "PoissonRegressor": (PoissonRegressor, "units", False),
    "PCA": (partial(PCA, n_components=2), None, True),
    "Lasso": (partial(Lasso, alpha=0.01), "units", True),
}
KILLED = tuple(MODELS)[:5]


def frame() -> pd.DataFrame:
    """Numbers with missing values, categories, a class and a count."""
    rng = np.random.default_rng(15)
    x, z = rng.normal(size=(2, ROWS))
    group = rng.choice(["a", "b", "c"], ROWS)
    label = np.where(x + (group == "a") + rng.logistic(size=ROWS) > 0, "yes", "no")
    units = rng.poisson(np.exp(0.3 * x)).astype(float)
    x = np.where(z > 2, np.nan, x)
    return pd.DataFrame({"x": x, "z": z, "group": group, "label": label, "units": units})


def _columns(y: str | None) -> list[str]:
    return ["x", "z", "group", *([y] if y else [])]


def _fitted(name: str, table: Any) -> Any:
    make, y, _ = MODELS[name]
    model = make()
    return model.fit(table, **({"y": y} if y else {}))


def assert_same(name: str, found: Any, whole: Any) -> None:
    """Equal bits, or 1e-12 for models whose fit in memory begins with a sample."""
    if MODELS[name][2]:
        assert digest(found._learned()) == digest(whole._learned()), "other bits"
        return
    least = 1e-12 * np.abs(whole.coef_).max()
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-12, atol=least)


# Row 15 -------------------------------------------------------------------------------------------


def partitions(share: float) -> Iterator[Case]:
    """Every model from files, a lazy frame, a database and Dask workers, however it is cut."""
    names = [list(MODELS)[k] for k in counted(len(MODELS), share)]
    for name in names:
        yield Case(f"{name} one machine", partial(_one_machine, name, share))
    for workers in WORKERS if share == 1 else WORKERS[1:2]:
        yield Case(f"Dask {workers} workers", partial(_dask, workers, names, share))


def _one_machine(name: str, share: float) -> None:
    import duckdb
    import polars

    table = pa.Table.from_pandas(frame()[_columns(MODELS[name][1])])
    whole = _fitted(name, table)
    with tempfile.TemporaryDirectory() as folder, _below_a_ceiling():
        for k in counted(len(PARTITIONINGS), share):
            path = Path(folder) / f"{k}.parquet"
            pq.write_table(table, path, row_group_size=-(-ROWS // PARTITIONINGS[k]))
            assert_same(name, _fitted(name, path), whole)
        for other in (polars.scan_parquet(path), duckdb.from_parquet(str(path))):
            assert_same(name, _fitted(name, other), whole)


@contextmanager
def _below_a_ceiling() -> Iterator[None]:
    """Every source counts as too large for the memory."""
    from pellucid.parallel import memory

    before, find.COPIES = find.COPIES, 10**9
    pellucid.set_memory(memory.resident() + 600 * 10**6)
    try:
        yield
    finally:
        find.COPIES = before
        pellucid.set_memory(None)


def _dask(workers: int, names: list[str], share: float) -> None:
    table = frame()
    with cluster(workers):
        for name in names:
            own = table[_columns(MODELS[name][1])]
            whole, digests = _fitted(name, own), set()
            for k in counted(len(PARTITIONINGS), share):
                found = _fitted(name, partitioned(own, PARTITIONINGS[k]))
                assert found.fit_report_["workers"] == workers
                assert_same(name, found, whole)
                digests.add(digest(found._learned()))
            assert len(digests) == 1, f"{name}: the partitions change its bits"


def partitioned(table: pd.DataFrame, parts: int) -> Any:
    """A Dask frame in partitions of random sizes, which Dask does not know."""
    import dask.dataframe

    cuts = np.sort(np.random.default_rng(parts).integers(0, len(table), parts - 1))
    pieces = [dask.delayed(table.iloc[a:b]) for a, b in pairwise([0, *cuts.tolist(), len(table)])]
    return dask.dataframe.from_delayed(pieces, meta=table.iloc[:0])


@contextmanager
def cluster(workers: int) -> Iterator[tuple[Any, Any]]:
    """Workers on this machine, and their client."""
    import dask
    import distributed

    settings = {
        "distributed.deploy.lost-worker-timeout": "5 minutes",
        "distributed.scheduler.allowed-failures": 1000,
        "distributed.scheduler.worker-ttl": "10 minutes",  # a busy machine is slow, not dead
        "distributed.comm.timeouts.connect": "5 minutes",
        "distributed.comm.timeouts.tcp": "5 minutes",
    }
    with (
        dask.config.set(settings),
        warnings.catch_warnings(),
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as own,
        distributed.Client(own) as client,
    ):
        warnings.simplefilter("ignore")  # frames are in the graph here
        client.wait_for_workers(workers)
        yield own, client


# Row 16 -------------------------------------------------------------------------------------------


def kills(share: float) -> Iterator[Case]:
    """A worker is killed at a random moment of a fit, which ends with the same bits."""
    for k in counted(len(KILLED), share):
        yield Case(f"{KILLED[k]}", partial(_killed, KILLED[k], len(counted(KILLS, share))))


def _killed(name: str, times: int) -> None:
    rng = np.random.default_rng([16, *name.encode()])
    table = frame()[_columns(MODELS[name][1])]
    with cluster(2) as (own, client):
        lazy = partitioned(table, 7)
        _fitted(name, lazy)  # imports everything on the workers
        whole = _fitted(name, lazy)
        expected, seconds = digest(whole._learned()), whole.fit_report_["seconds"]
        for _ in range(times):
            victim = rng.choice([nanny.pid for nanny in own.workers.values()])
            delay = float(rng.uniform(0, seconds))
            killer = threading.Timer(delay, os.kill, (victim, signal.SIGKILL))
            killer.start()
            found = _fitted(name, lazy)
            killer.join()
            assert digest(found._learned()) == expected, "other bits"
            report = found.fit_report_
            print(
                f"{name}: {report['restarts']} restarts, {report['seconds'] / seconds:.2f} x",
                flush=True,
            )
            _wait_for_workers(own, client, victim)


def _wait_for_workers(own: Any, client: Any, victim: int) -> None:
    """Until the killed worker has been replaced."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        pids = [nanny.pid for nanny in own.workers.values()]
        alive = len(client.scheduler_info(n_workers=-1)["workers"])
        if victim not in pids and None not in pids and alive == len(pids):
            return
        time.sleep(0.1)
    raise AssertionError("the killed worker was not replaced")
