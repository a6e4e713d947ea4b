"""Predictions for tables of any size: the same as in memory, resumed after a kill."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pellucid
from pellucid import beyond_memory
from pellucid.data.opening import source_behind
from pellucid.errors import DataError
from pellucid.linear_model import LinearRegression, LogisticRegression


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 3))
    label = np.where(X[:, 0] + rng.logistic(size=10_000) > 0, "yes", "no")
    return pa.table({"a": X[:, 0], "b": X[:, 1], "id": np.arange(10_000), "label": label.tolist()})


@pytest.fixture
def model(table):
    return LogisticRegression().fit(table.select(["a", "b", "label"]), "label")


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(beyond_memory, "PART_ROWS", 2_048)


def content(folder):
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder))}


def test_predict_reads_large_sources_in_parts(table, model, tmp_path, monkeypatch):
    pq.write_table(table.select(["b", "a"]), tmp_path / "t.parquet", row_group_size=777)
    expected = model.predict_proba(table.select(["a", "b"]))
    monkeypatch.setattr("pellucid.data.sources.find.COPIES", 10**9)
    monkeypatch.setattr("pellucid.data.sources.block_source.CELLS", 4_096)
    found = model.predict_proba(tmp_path / "t.parquet")
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert (model.predict(tmp_path / "t.parquet") == model.predict(table.select(["a", "b"]))).all()


def test_predict_to_writes_what_predict_gives(table, model, tmp_path, small_parts):
    place = model.predict_to(table, tmp_path / "out", copy=["id"])
    assert sorted(os.listdir(place)) == ["_job.json", *(f"part-{k:06d}.parquet" for k in range(5))]
    found = pq.read_table(place, columns=["id", "prediction", "p_no", "p_yes"])
    assert found.column("id").to_pylist() == list(range(10_000))
    rows = table.select(["a", "b"])
    assert found.column("prediction").to_pylist() == model.predict(rows).tolist()
    np.testing.assert_allclose(found.column("p_yes"), model.predict_proba(rows)[:, 1], rtol=1e-14)


def test_predict_to_continues_and_refuses_another_job(table, model, tmp_path, small_parts):
    pq.write_table(table, tmp_path / "t.parquet")
    place = model.predict_to(tmp_path / "t.parquet", tmp_path / "out")
    before = content(place)
    (place / "part-000002.parquet").unlink()
    # What a killed process leaves; in a container the next one may have its number.
    (place / f".part-000002.parquet.{os.getpid()}.part").write_bytes(b"half")
    kept = (place / "part-000001.parquet").stat().st_mtime_ns
    model.predict_to(tmp_path / "t.parquet", place)
    assert content(place) == before
    assert (place / "part-000001.parquet").stat().st_mtime_ns == kept
    other = LogisticRegression(C=0.1).fit(table.select(["a", "b", "label"]), "label")
    with pytest.raises(DataError, match="another model or table"):
        other.predict_to(tmp_path / "t.parquet", place)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(DataError, match="not empty"):
        model.predict_to(tmp_path / "t.parquet", tmp_path / "full")


def test_a_killed_prediction_is_resumed_with_equal_bytes(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3_000_000, 2))
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "t.parquet")
    sample = pa.table({"a": X[:1000, 0], "b": X[:1000, 1], "y": X[:1000].sum(axis=1)})
    LinearRegression().fit(sample, "y").save(tmp_path / "m.pellucid")
    command = [sys.executable, "-c", "from pellucid.app.cli import main; main()"]
    arguments = ["predict", str(tmp_path / "m.pellucid"), str(tmp_path / "t.parquet"), "-o"]
    running = subprocess.Popen([*command, *arguments, str(tmp_path / "out") + "/"])
    while not (tmp_path / "out" / "part-000001.parquet").exists() and running.poll() is None:
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    found = [name for name in os.listdir(tmp_path / "out") if name.endswith(".parquet")]
    assert 0 < len(found) < 12
    for out in ("out", "whole"):
        subprocess.run([*command, *arguments, str(tmp_path / out) + "/"], check=True)
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    found = pq.read_table(tmp_path / "whole").column("prediction").to_numpy()
    np.testing.assert_allclose(found, X.sum(axis=1), atol=1e-12)


def test_set_memory_takes_sizes_as_people_write_them():
    from pellucid.parallel.memory import get_memory

    pellucid.set_memory("1.5GB")
    assert get_memory() == 1_500_000_000
    pellucid.set_memory(None)
    for wrong in ("much", "-1GB", 0, True, 1.5):
        with pytest.raises(ValueError, match="must be a number of bytes"):
            pellucid.set_memory(wrong)


def test_a_large_table_is_compared_on_a_sample_and_fitted_as_a_whole(tmp_path, monkeypatch):
    from pellucid.comparison import large_table
    from pellucid.parallel import memory

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 2))
    y = np.where(X[:, 0] + rng.logistic(size=30_000) > 4, "rare", "usual")
    target = pa.array(y.tolist(), mask=np.arange(30_000) % 100 == 0)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": target})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=5_000)
    monkeypatch.setattr("pellucid.data.sources.find.COPIES", 10**9)
    monkeypatch.setattr(large_table, "MOST_ROWS", 2_000)
    pellucid.set_memory(memory.resident() + 600 * 10**6)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            result = pellucid.compare(
                tmp_path / "t.parquet", "y", models=["logistic", "knn"], effort="quick", jobs=1
            )
    finally:
        pellucid.set_memory(None)
    words = " ".join(str(warning.message) for warning in said)
    plan, source = result.refitter.plan, source_behind(tmp_path / "t.parquet")
    (note,) = [n for n in result.data["data"]["notes"] if "sample" in n]  # so the report has it
    assert note.startswith("30,000 rows do not fit into memory")
    assert "compared on a stratified sample of 2,000 rows" in words
    assert f"fitted again on {29_700 - len(plan.test):,} rows" in words
    sample = large_table.stratified(source, "y", True, 2_000, 0)
    share = np.mean(np.array(sample.table.column("y").to_pylist()) == "rare")
    assert abs(share - np.mean(y == "rare")) < 0.005 and sample.n_missing == 300
    # The model is the one that the same parameters give on all rows but those of the test set.
    keep = np.arange(30_000) % 100 != 0
    keep[sample.rows[plan.dataset.rows[plan.test]]] = False
    twin = result.refitter.contender("logistic").make()
    twin.set_params(**result.refitter.params("logistic")).fit(X[keep], y[keep])
    np.testing.assert_array_equal(result.best_.coef_, twin.coef_)


def test_a_large_table_is_checked_on_a_sample(tmp_path, monkeypatch, capsys):
    from pellucid.app import cli
    from pellucid.comparison import large_table
    from pellucid.parallel import memory

    x = np.random.default_rng(0).normal(size=8_000)
    table = pa.table({"x": x, "leak": 2 * x, "empty": pa.nulls(8_000, pa.float64()), "y": 3 * x})
    pq.write_table(table, tmp_path / "t.parquet")
    monkeypatch.setattr("pellucid.data.sources.find.COPIES", 10**9)
    monkeypatch.setattr(large_table, "MOST_ROWS", 500)
    call = ["check", str(tmp_path / "t.parquet"), "-t", "y", "--memory", str(memory.resident())]
    try:
        cli.run(call)
        said = " ".join(capsys.readouterr().out.split())
        cli.run([*call, "--json"])
        found = {entry["code"] for entry in json.loads(capsys.readouterr().out)["checks"]}
    finally:
        pellucid.set_memory(None)
    assert "8,000 rows do not fit into memory: the checks see a stratified sample of 500" in said
    monkeypatch.undo()  # of all rows, the same problems
    cli.run(call[:4])
    whole = capsys.readouterr().out
    assert "8000 rows" in whole and found and all(code in whole for code in found)


@pytest.mark.parametrize("outgrown", [True, False])
def test_the_refit_is_bound_by_its_own_memory(outgrown, tmp_path, monkeypatch, capsys):
    """A ceiling below what this process holds is no obstacle; one below any fit keeps the sample's."""
    from pellucid.app import cli
    from pellucid.comparison import large_table
    from pellucid.parallel import memory

    rng = np.random.default_rng(1)
    x = rng.normal(size=8_000)
    table = pa.table({"x": x, "y": 2 * x + rng.normal(size=8_000)})
    pq.write_table(table, tmp_path / "t.parquet")
    monkeypatch.setattr("pellucid.data.sources.find.COPIES", 10**9)
    monkeypatch.setattr(large_table, "MOST_ROWS", 500)
    ballast = np.ones(2**26 if outgrown else 1)  # half of it is enough for any other process
    size = str(memory.resident() // 2 if outgrown else 50_000)
    run = str(tmp_path / "run")
    try:
        code = cli.run(["compare", str(tmp_path / "t.parquet"), "-t", "y", "--models", "ridge",
                        "--effort", "quick", "--memory", size, "--out", run])  # fmt: skip
    finally:
        pellucid.set_memory(None)
    del ballast
    said = " ".join(capsys.readouterr().err.split())
    assert code == 0
    assert "compared on a stratified sample of 500 rows" in said
    model = pellucid.load(f"{run}/model.pellucid")
    if outgrown:
        assert "ridge was fitted again on 7,900 rows, all but the test set" in said
        assert abs(model.coef_[0] - 2) < 0.05
    else:
        assert "the saved model was fitted to the sample only:" in said and "needs at least" in said
        assert abs(model.coef_[0] - 2) < 0.2
