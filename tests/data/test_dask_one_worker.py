"""Fits by one worker, of models that visit rows in an order of their own: the bits of one process."""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

from pellucid.beyond_memory import digest
from pellucid.data import Table
from pellucid.data.sources import dask_one_worker
from pellucid.errors import DataError, ScratchError
from pellucid.linear_model import LinearRegression, SGDClassifier
from pellucid.parallel import get_memory
from pellucid.parallel.memory import limited_to
from tests.data.test_sources import MODELS, NUMBERS, make, target_of

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Sending large graph"),
    pytest.mark.filterwarnings("ignore::pellucid.errors.ConvergenceWarning"),
]


@pytest.fixture(scope="module")
def client():
    # On a busy machine a killed worker may need longer than 15 seconds to start again.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "5 minutes"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    X = rng.gamma(2.0, size=(3_000, 4))
    X[:, 3] = np.floor(X[:, 3])
    score = X @ [1.0, -1.0, 0.5, 0.25]
    columns = {f"x{j}": X[:, j] for j in range(4)}
    return pd.DataFrame(columns | {
        "region": rng.choice(["north", "south", "east"], len(X)), "weight": rng.integers(0, 3, len(X)),
        "churn": np.where(score + rng.logistic(size=len(X)) > 1, "yes", "no"),
        "units": rng.poisson(np.exp(score / 8)) + 1.0,
    })  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_every_model_that_streams_is_fitted_by_workers(name, client, frame):
    columns = ["x0", "x1", "x3"] if name in NUMBERS else ["x0", "x1", "x2", "x3", "region"]
    model, twin = make(name, **MODELS[name]), make(name, **MODELS[name])
    target = target_of(model)
    given = {} if target is None else {"y": target}
    rows = frame[columns + ([target] if target else [])]
    model.fit(dd.from_pandas(rows, npartitions=5), **given)
    assert digest(model._learned()) == digest(twin.fit(rows, **given)._learned())
    assert model.fit_report_["workers"] == 1


def test_weights_are_a_column_and_missing_rows_are_dropped(client, frame):
    holed = frame[["x0", "x1", "weight", "churn"]].copy()
    holed.loc[::7, "x0"] = np.nan
    model = SGDClassifier(random_state=0, table=Table(missing="drop"))
    lazy = dd.from_pandas(holed, npartitions=4)
    found = digest(model.fit(lazy, y="churn", sample_weight="weight")._learned())
    model.fit(holed.drop(columns="weight"), "churn", sample_weight=holed["weight"])
    assert found == digest(model._learned())


def test_rows_beyond_the_memory_of_a_worker_go_to_scratch_files(client, frame):
    rows = frame[["x0", "x1", "churn"]].sample(
        100_000, replace=True, random_state=0, ignore_index=True
    )

    def everything_is_large(copies):
        import pellucid.data.sources.find as find
        import pellucid.parallel.memory as memory

        find.COPIES, memory.LARGEST, memory.SMALLEST, memory.BUDGET = copies, 2**18, 2**18, 0

    model, before = SGDClassifier(max_iter=2, tol=None, random_state=0), 3
    client.run(everything_is_large, 10**9)
    try:
        model.fit(dd.from_pandas(rows, npartitions=4), y="churn")
    finally:
        client.run(everything_is_large, before)
        client.restart()
    assert model.fit_report_["scratch_bytes"] > 0
    most = min(w["memory_limit"] for w in client.scheduler_info(n_workers=-1)["workers"].values())
    assert model.fit_report_["memory_limit"] <= most / 2
    found = digest(model._learned())
    assert found == digest(model.fit(rows, "churn")._learned())


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def pid_of(client, address):
    return client.run(os.getpid, workers=[address])[address]


@pytest.mark.parametrize("moment", ["take", "fit"])
def test_a_lost_worker_is_replaced(moment, client, frame, monkeypatch):
    """The worker is stopped before it gets a task and killed while it has it."""
    client.wait_for_workers(2)
    submit, killed = dask_one_worker.OneWorkerFit._submit, []

    def submit_and_kill(fit, task, *arguments):
        if killed or task.__name__ != moment or (moment == "take" and arguments[0] != 2):
            return submit(fit, task, *arguments)
        killed.append(pid_of(client, fit.worker))
        os.kill(killed[0], signal.SIGSTOP)
        future = submit(fit, task, *arguments)
        threading.Timer(0.2, os.kill, (killed[0], signal.SIGKILL)).start()
        return future

    monkeypatch.setattr(dask_one_worker.OneWorkerFit, "_submit", submit_and_kill)
    rows, model = frame[["x0", "x1", "churn"]], SGDClassifier(random_state=0)
    model.fit(dd.from_pandas(rows, npartitions=4), y="churn")
    assert killed and model.fit_report_["restarts"] == 1
    found = digest(model._learned())
    assert found == digest(model.fit(rows, "churn")._learned())
    client.wait_for_workers(2)


def test_a_stuck_worker_is_an_error(client, frame, monkeypatch):
    client.wait_for_workers(2)
    submit, stuck = dask_one_worker.OneWorkerFit._submit, []

    def submit_and_stop(fit, task, *arguments):
        if task is dask_one_worker.fit:
            fit.wait = 3.0
            stuck.append(pid_of(client, fit.worker))
            os.kill(stuck[0], signal.SIGSTOP)
        return submit(fit, task, *arguments)

    monkeypatch.setattr(dask_one_worker.OneWorkerFit, "_submit", submit_and_stop)
    lazy = dd.from_pandas(frame[["x0", "x1", "churn"]], npartitions=2)
    try:
        with pytest.raises(DataError, match=r"has not reported to the scheduler for 3 seconds"):
            SGDClassifier().fit(lazy, y="churn")
    finally:
        for pid in stuck:
            os.kill(pid, signal.SIGCONT)


def test_errors_reach_the_user(client, frame):
    model = SGDClassifier()
    rows = frame[["x0", "x1", "churn"]]
    broken = rows.assign(x1=np.where(np.arange(len(rows)) == 2_500, np.inf, rows["x1"]))
    with pytest.raises(DataError, match="contains infinity: row 2500, column 'x1'"):
        model.fit(dd.from_pandas(broken, npartitions=4), y="churn")

    def refuse(part):
        raise OSError("the part is gone")

    parts = [dask.delayed(rows.iloc[:100]), dask.delayed(refuse)(1)]
    with pytest.raises(OSError, match="the part is gone"):
        model.fit(dd.from_delayed(parts, meta=rows.iloc[:0], verify_meta=False), y="churn")
    with pytest.raises(DataError, match="has no rows"):
        model.fit(dd.from_pandas(rows.iloc[:0], npartitions=1), y="churn")

    def no_scratch(folder):
        os.environ["PELLUCID_SCRATCH"] = folder

    client.run(no_scratch, "/nowhere")
    try:
        with pytest.raises(ScratchError, match="/nowhere cannot be written"):
            model.fit(dd.from_pandas(rows, npartitions=2), y="churn")
    finally:
        client.run(no_scratch, "")
    assert "coef_" not in vars(model)
    until(lambda: not any(client.run(lambda: len(dask_one_worker._rows)).values()))


def test_a_fit_that_nobody_waits_for_stops(client, frame):
    rows = pd.concat([frame[["x0", "x1", "churn"]]] * 10)
    lazy = dd.from_pandas(rows, npartitions=2)
    attempt = dask_one_worker.OneWorkerFit._result

    def interrupted(fit, future, number):
        if number is None:
            time.sleep(1.5)
            raise KeyboardInterrupt
        return attempt(fit, future, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dask_one_worker.OneWorkerFit, "_result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            SGDClassifier(max_iter=10**6, tol=None).fit(lazy, y="churn")

    def names():
        return [thread.name for thread in threading.enumerate()]

    until(lambda: not any("pellucid-fit" in found for found in client.run(names).values()))


def test_a_ceiling_of_a_context_comes_first():
    before = get_memory()
    with limited_to(123_456_789):
        assert get_memory() == 123_456_789
    assert get_memory() == before


def test_sums_over_rows_are_still_shared(client, frame):
    rows = frame[["x0", "units"]]
    model = LinearRegression().fit(dd.from_pandas(rows, npartitions=2), y="units")
    assert "passes" in model.fit_report_
