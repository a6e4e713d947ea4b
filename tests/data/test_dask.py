"""Dask frames: the same model for every partitioning and number of workers; predictions stay lazy."""

import asyncio
import gc
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pellucid
from pellucid.cluster import KMeans
from pellucid.data.sources import dask_client, dask_frames, dask_worker
from pellucid.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from pellucid.errors import DataError
from pellucid.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from tests.data.test_sources import assert_same, learned

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 2))
    group = pd.Categorical(rng.choice(["a", "b", "c"], 5_000))
    label = np.where(X[:, 0] + rng.logistic(size=5_000) > 0, "yes", "no")
    return pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "group": group, "label": label})


@pytest.fixture(scope="module")
def model(frame):
    return LogisticRegression().fit(frame, "label")


@pytest.mark.parametrize("partitions", [1, 2, 3, 5, 8, 13, 40, 100])
def test_partitions_do_not_change_the_model(frame, model, partitions):
    lazy = dd.from_pandas(frame, npartitions=partitions)
    assert_same(learned(LogisticRegression().fit(lazy, "label")), learned(model))


def test_predictions_are_lazy(frame, model):
    lazy = dd.from_pandas(frame.drop(columns="label"), npartitions=3)
    for method in ("predict", "predict_proba"):
        found = getattr(model, method)(lazy)
        assert hasattr(found, "dask")
        np.testing.assert_array_equal(found.compute(), getattr(model, method)(frame.iloc[:, :3]))


def test_labels_of_clusters_are_lazy(frame):
    lazy, model = dd.from_pandas(frame[["x", "z"]], npartitions=3), KMeans(2, random_state=0)
    found = model.fit(frame[["x", "z"]]).predict(lazy)
    assert hasattr(found, "dask") and found.dtype == np.int32
    np.testing.assert_array_equal(found.compute(), model.labels_)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_workers_do_not_change_the_model_and_a_lost_one_is_replaced(frame, model, workers):
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        lazy = dd.from_pandas(frame, npartitions=8)
        found = LogisticRegression().fit(pellucid.scan(lazy, client=client), "label")
        assert_same(learned(found), learned(model))
        killed = []

        def slow(part):
            import os
            import time

            time.sleep(0.1)
            return part.assign(x=part["x"] + 0 * os.getpid())

        source = lazy.map_partitions(slow, meta=lazy._meta)
        parts = dask_frames._partitions(source, client)
        first = next(parts)
        if workers > 1:
            address = next(iter(client.scheduler_info()["workers"]))
            killed.append(address)
            cluster.sync(cluster.workers[next(iter(cluster.workers))].kill)
        rows = first.num_rows + sum(part.num_rows for part in parts)
        assert rows == len(frame)


@pytest.mark.slow
@pytest.mark.parametrize("gather", [False, True], ids=["on workers", "gathered"])
def test_a_stuck_partition_is_an_error_that_names_it(frame, gather):
    def stuck(part):
        import time

        time.sleep(5)
        return part

    with distributed.Client(processes=False, n_workers=1, dashboard_address=None) as client:
        lazy = dd.from_pandas(frame, npartitions=2)
        source = lazy.map_partitions(stuck, meta=lazy._meta)
        late = pytest.raises(DataError, match="partition 0 of the Dask frame has not been computed")
        with late, dask.config.set({"pellucid.timeout": 1.0}):
            scanned = pellucid.scan(source, client=client, gather=gather)
            LinearRegression().fit(scanned, "x")


def test_results_that_nobody_waits_for_leave_no_error_behind():
    """Dask would print it: "Task exception was never retrieved"."""
    with distributed.Client(processes=False, n_workers=1, dashboard_address=None) as client:
        loop, errors = client.loop.asyncio_loop, []
        loop.call_soon_threadsafe(loop.set_exception_handler, lambda _, error: errors.append(error))
        late = [client.submit(int, k, workers=["tcp://127.0.0.1:1"]) for k in range(3)]
        assert dask_client.results(client, late, 5.0) == []
        dask_client.release(late)
        for _ in range(2):
            client.sync(asyncio.sleep, 0.1)
            gc.collect()
        assert errors == []


def test_a_partition_that_gives_other_rows_is_refused(frame, monkeypatch):
    part, names = frame.head(9), list(frame)
    made = dask_worker.as_table(part, None, names)
    rows = dask_worker.Rows(0, ((2, 4), (6, 9)), dask_worker.facts(made))
    schema = rows.expected.schema
    found = dask_worker.cut("", part, rows, schema, None, names)
    assert found.equals(pa.concat_tables([made.slice(2, 2), made.slice(6)]))
    assert found.schema.metadata is None
    turned = part.assign(group=part["group"].array[::-1])
    for other in (part.assign(z=0.0), part.iloc[::-1], turned):
        with pytest.raises(DataError, match="gave different rows when it was computed again"):
            dask_worker.cut("", other, rows, schema, None, names)
        assert isinstance(dask_worker.cut_there("", other, rows, schema, None, names), DataError)
    monkeypatch.setattr(dask_worker, "facts", None)  # the same table is not read for it
    assert dask_worker.cut("", made, rows, schema, None, names).equals(found)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LinearRegression(),
        PoissonRegressor(),
        HistGradientBoostingClassifier(max_iter=2),
        HistGradientBoostingRegressor(max_iter=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_lazy_predictions_of_empty_and_single_row_partitions(model):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"speed": rng.gamma(2.0, size=61), "z": rng.normal(size=61)})
    frame["site"] = pd.Series(rng.choice(["north", "süd"], 61), dtype="string")
    ends = [0, 0, 1, 30, 30, 61]
    parts = [dask.delayed(frame.iloc[a:b]) for a, b in pairwise(ends)]
    lazy = dd.from_delayed(parts, meta=frame.iloc[:0])
    model.fit(frame, (frame["z"] > 0).astype(float))
    for method in ("predict", "predict_proba") if hasattr(model, "classes_") else ("predict",):
        expected, found = getattr(model, method)(frame), getattr(model, method)(lazy)
        assert hasattr(found, "dask")
        assert (found.dtype, found.ndim) == (expected.dtype, expected.ndim)
        np.testing.assert_array_equal(found.compute(scheduler="threads"), expected)


def test_lazy_predictions_of_several_targets():
    frame = pd.DataFrame({"a": np.arange(8.0), "b": np.arange(8.0) ** 2})
    model = LinearRegression().fit(frame, np.column_stack((frame["a"], -frame["b"])))
    found = model.predict(dd.from_pandas(frame, npartitions=3))
    assert found.shape[1] == 2
    answer = found.compute(scheduler="threads")
    np.testing.assert_allclose(answer, model.predict(frame), rtol=1e-12, atol=1e-12)


def test_an_empty_partition_has_the_types_of_the_others(frame):
    """pandas gives large strings to Arrow, and categories of any type."""
    names = ["x", "group", "label"]
    kinds = [dask_worker.as_table(part, None, names).schema for part in (frame, frame.iloc[:0])]
    assert kinds[0].types == kinds[1].types
