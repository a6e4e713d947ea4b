"""Fits by Dask workers: the bits of one process, whatever the partitions, workers and accidents."""

import contextlib
import os
import random
import signal
import threading
import time
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.beyond_memory import digest
from pellucid.cluster import KMeans
from pellucid.data.sources import dask_client
from pellucid.data.sources.dask_fit import WorkerFit
from pellucid.data.sources.dask_placement import held_partitions
from pellucid.errors import DataError
from pellucid.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from pellucid.naive_bayes import GaussianNB
from pellucid.neighbors import KNeighborsClassifier
from pellucid.parallel.shard import GROUP

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Sending large graph"),
]
N = 3 * 2**16 + 1_000


@pytest.fixture(scope="module")
def cluster():
    # On a busy machine a killed worker may need longer than 15 seconds to start again.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "5 minutes"}):
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        )
        yield cluster
        with contextlib.suppress(KeyError):  # of a killed worker that Dask's own list has lost
            cluster.close()


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, N))
    group = rng.choice(["a", "b", "c"], N)
    label = np.where(x + (group == "a") + rng.logistic(size=N) > 0, "yes", "no")
    return pd.DataFrame({"x": np.where(z > 2, np.nan, x), "z": z, "group": group, "label": label})


def partitioned(frame, sizes):
    """A frame in partitions of random sizes, which Dask does not know."""
    cuts = np.sort(np.random.default_rng(sizes).integers(0, len(frame), sizes - 1))
    ends = [0, *cuts.tolist(), len(frame)]
    parts = [dask.delayed(frame.iloc[a:b]) for a, b in pairwise(ends)]
    return dd.from_delayed(parts, meta=frame.iloc[:0])


@pytest.mark.parametrize("partitions", [1, 2, 3, 5, 8, 13, 21, 40])
def test_partitions_do_not_change_a_bit(client, frame, partitions):
    found = GaussianNB().fit(partitioned(frame, partitions), y="label")
    assert digest(found._learned()) == digest(GaussianNB().fit(frame, "label")._learned())


def test_the_number_of_workers_does_not_change_a_bit(cluster, client, frame):
    lazy, learned = partitioned(frame, 6), {}
    tables = {LinearRegression: ("z", ["x", "z"]), LogisticRegression: ("label", list(frame))}
    for workers in (1, 4, 2):
        cluster.scale(workers)
        client.wait_for_workers(workers)
        until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == workers)  # noqa: B023
        for model, (y, names) in tables.items():
            found = model().fit(lazy[names], y=y)
            assert found.fit_report_["workers"] == workers
            # Sums travel, rows do not: all passes together are far below the bytes of the table.
            assert found.fit_report_["bytes_to_client"] < 0.05 * 8 * N * len(names)
            learned.setdefault(model, set()).add(digest(found._learned()))
    assert all(len(digests) == 1 for digests in learned.values())
    whole = LinearRegression().fit(frame[["x", "z"]], "z")
    assert learned[LinearRegression] == {digest(whole._learned())}


def pids(cluster):
    return [nanny.pid for nanny in cluster.workers.values()]


def until(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def replaced(cluster, client, killed):
    """Wait until Dask has started another worker."""
    until(lambda: killed not in pids(cluster) and None not in pids(cluster))
    until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 2)


def fit_while_killing(cluster, model, lazy, y, number, seed):
    """(model, the process that was killed): that of a random part, inside pass `number` of the fit.

    The worker is stopped before it gets its task and killed a moment later, so that the pass cannot be
    over; the fit has to begin that part again.
    """
    rng, answer = random.Random(seed), WorkerFit._answer
    killed = []

    def answer_and_kill(fit, *event):
        if len(fit.answers) != number or killed:
            return answer(fit, *event)
        address = rng.choice([p.worker for p in fit.processes])
        killed.extend(n.pid for n in cluster.workers.values() if n.worker_address == address)
        os.kill(killed[0], signal.SIGSTOP)
        answer(fit, *event)
        threading.Timer(rng.uniform(0, 0.2), os.kill, (killed[0], signal.SIGKILL)).start()
        return None

    with patch.object(WorkerFit, "_answer", answer_and_kill):
        found = model.fit(lazy, y=y) if y else model.fit(lazy)
    assert killed
    assert found.fit_report_["restarts"] == 1
    return found, killed[0]


@pytest.mark.filterwarnings("ignore:KMeans. max_iter=3 was not enough")  # for equal bits it is
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (GaussianNB(), "label"),
        (LogisticRegression(), "label"),
        (KMeans(3, n_init=1, max_iter=3, random_state=0), None),
    ],
    ids=str,
)
def test_a_killed_worker_is_replaced(cluster, client, frame, model, y):
    lazy = partitioned(frame if y else frame[["x", "z"]], 7)
    expected = digest(model.fit(lazy, **({"y": y} if y else {}))._learned())
    passes = model.fit_report_["passes"]
    for number in (0, passes // 2, passes - 1):
        found, killed = fit_while_killing(cluster, model, lazy, y, number, seed=number)
        assert digest(found._learned()) == expected
        replaced(cluster, client, killed)


def deadly(folder, deaths):
    """A partition that kills its worker the first times that it is computed."""

    def part(number):
        if number == 1:
            seen = len(os.listdir(folder))
            if seen < deaths:
                open(f"{folder}/{seen}", "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
        x = np.random.default_rng(number).normal(size=GROUP)
        return pd.DataFrame({"x": x, "label": np.where(x > 0, "yes", "no")})

    return dd.from_map(part, range(3), meta=pd.DataFrame({"x": [0.0], "label": ["no"]}))


@pytest.fixture
def impatient(cluster):
    """A scheduler that gives a task up when it has lost its first worker."""
    before, cluster.scheduler.allowed_failures = cluster.scheduler.allowed_failures, 0
    yield
    cluster.scheduler.allowed_failures = before


@pytest.mark.parametrize("model", [GaussianNB(), SGDClassifier(random_state=0)], ids=str)
def test_a_partition_that_dask_gives_up_is_asked_for_again(client, impatient, tmp_path, model):
    lazy = deadly(tmp_path, 2)
    found = digest(model.fit(lazy, y="label")._learned())
    assert len(os.listdir(tmp_path)) == 2 <= model.fit_report_["restarts"]
    assert digest(model.fit(lazy.compute(), "label")._learned()) == found


def test_a_partition_that_kills_its_workers_is_an_error_that_names_it(
    client, impatient, tmp_path, monkeypatch
):
    monkeypatch.setattr(dask_client, "LOSSES", 1)
    lazy, model = deadly(tmp_path, 2), GaussianNB()
    with pytest.raises(
        DataError, match=r"partition \d of the Dask frame could not be.*repartition"
    ):
        model.fit(lazy, y="label")
    monkeypatch.undo()  # Dask may need a moment to forget the error: the next fit asks again
    for number in range(2):  # the next fit does not meet the stored error
        (tmp_path / str(number)).touch()
    model.fit(lazy, y="label")


def test_gathered_partitions_that_dask_gives_up_are_asked_for_again(
    client, impatient, tmp_path, monkeypatch
):
    lazy = deadly(tmp_path, 2)
    source = pellucid.scan(lazy, gather=True)
    assert len(os.listdir(tmp_path)) == 2
    assert source.load().to_pandas()["x"].tolist() == lazy.compute()["x"].tolist()
    monkeypatch.setattr(dask_client, "LOSSES", 1)
    for seen in os.listdir(tmp_path):
        (tmp_path / seen).unlink()
    with pytest.raises(
        DataError, match=r"partition \d of the Dask frame could not be.*repartition"
    ):
        pellucid.scan(lazy, gather=True)


def test_a_persisted_frame_survives_a_killed_worker(cluster, client, frame):
    lazy = partitioned(frame, 7).persist()
    distributed.wait(lazy)
    for model in (GaussianNB(), SGDClassifier(max_iter=3, tol=None, random_state=0)):
        expected = digest(model.fit(lazy, y="label")._learned())
        killed = pids(cluster)[0]
        os.kill(killed, signal.SIGKILL)
        assert digest(model.fit(lazy, y="label")._learned()) == expected
        replaced(cluster, client, killed)
    found, killed = fit_while_killing(cluster, GaussianNB(), lazy, "label", 2, seed=2)
    replaced(cluster, client, killed)
    assert digest(found._learned()) == digest(GaussianNB().fit(frame, "label")._learned())


def test_dask_forgets_the_tasks_of_a_fit(cluster, client, frame):
    before = set(cluster.scheduler.tasks)
    LogisticRegression().fit(partitioned(frame, 5), y="label")
    until(lambda: before.issuperset(cluster.scheduler.tasks))


def test_a_stuck_worker_is_an_error_that_names_its_rows(cluster, client, frame):
    victim = pids(cluster)[0]
    timer = threading.Timer(1.0, os.kill, (victim, signal.SIGSTOP))
    lazy = partitioned(frame, 4)
    try:
        with (
            dask.config.set({"pellucid.timeout": 3}),
            pytest.raises(DataError, match=r"has not (answered|been computed).* within 3 seconds"),
        ):
            timer.start()
            while True:
                LogisticRegression().fit(lazy, y="label")
    finally:
        os.kill(victim, signal.SIGCONT)


def test_other_models_refuse_or_gather_on_demand(client, frame):
    small = dd.from_pandas(frame[["x", "z", "label"]].dropna().head(500), npartitions=3)
    with pytest.raises(
        DataError, match=r"cannot be fitted by Dask.*HistGradientBoosting.*gather=True"
    ):
        KNeighborsClassifier().fit(small, y="label")
    found = KNeighborsClassifier().fit(pellucid.scan(small, gather=True), y="label")
    assert found.score(small.compute()[["x", "z"]], small.compute()["label"]) > 0.5
    with pytest.raises(DataError, match="the name of one of its columns"):
        GaussianNB().fit(small[["x", "z"]], y=small["label"])
    with pytest.raises(DataError, match="has no column 'lbel'"):
        GaussianNB().fit(small, y="lbel")


def test_an_error_of_the_data_reaches_the_user(client, frame):
    broken = frame[["x", "z"]].fillna(0.0)
    broken.loc[N - 5, "z"] = np.inf
    with pytest.raises(DataError, match="contains infinity"):
        LinearRegression().fit(dd.from_pandas(broken, npartitions=5), y="x")


@pytest.mark.parametrize("order", [[0, 2, 4, 1, 3, 5], [5, 4, 3, 2, 1, 0], [0, 0, 0, 0, 0, 1]])
def test_rows_of_a_persisted_frame_are_fitted_where_they_lie(client, frame, order):
    """Partitions on the workers in any order, some of them empty: the bits of one process."""
    ends = [0, 50_000, 50_000, 131_072, 190_001, 190_002, N]
    pieces = [frame.iloc[a:b] for a, b in pairwise(ends)]
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    place = {k: workers[min(i // 3, 1)] for i, k in enumerate(order)}
    held = [
        client.submit(lambda part: part, piece, workers=[place.get(k, workers[0])], pure=False)
        for k, piece in enumerate(pieces)
    ]
    lazy = dd.from_delayed(held, meta=frame.iloc[:0]).persist()
    distributed.wait(lazy)
    assert [future.key for future in held_partitions(lazy)] != []
    assert held_partitions(lazy[["x"]]) == []  # a task of its own for each partition
    for model, y, names in (
        (GaussianNB(), "label", list(frame)),
        (LinearRegression(), "z", ["group", "z"]),  # other columns than the partitions have
    ):
        rows = lazy if y == "label" else pellucid.scan(lazy, features=names[:1])
        found = model.fit(rows, y=y)
        assert found.fit_report_["workers"] == 2
        expected = type(model)().fit(frame[names], y)
        assert digest(found._learned()) == digest(expected._learned())
