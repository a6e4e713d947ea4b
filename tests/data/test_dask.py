"""Dask frames: the same model for every partitioning and number of workers; predictions stay lazy."""

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.cluster import KMeans
from pellucid.data.sources import dask_frames
from pellucid.errors import DataError
from pellucid.linear_model import LinearRegression, LogisticRegression
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
