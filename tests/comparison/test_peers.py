"""Models of other packages on the board, and searches on a sample of a large table."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from pellucid.comparison import compare
from pellucid.comparison.execution import worker_data
from pellucid.comparison.planning import plan as planning
from pellucid.errors import ParameterError


def table(n=150, classes=False):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    X["c"] = np.array(["x", "y", None], dtype=object)[rng.integers(0, 3, n)]
    X.loc[::10, "a"] = np.nan
    y = X["b"] + (X["c"] == "x") + 0.1 * rng.normal(size=n)
    return X.assign(y=np.where(y > 0.3, "yes", "no") if classes else y)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost"])
def test_a_peer_has_a_row_and_is_never_saved(name, classes, tmp_path):
    pytest.importorskip(name)
    result = compare(
        table(classes=classes), "y", models=["tree"], peers=name, effort="quick", cv=2, jobs=1,
        prefer="score", out=tmp_path / "run",
    )  # fmt: skip
    row = next(row for row in result.rows if row["model"] == name)
    base = next(row for row in result.rows if row["baseline"])
    assert row["status"] == "ok", row["reason"]
    assert row["mean"] != base["mean"] and row["notes"][0].startswith(f"foreign: {name}.")
    saved = (tmp_path / "run" / "model.pellucid").exists()
    assert saved == (result.recommended != name)
    with pytest.raises(Exception, match="cannot be saved safely"):
        result.save(name, tmp_path / "peer.pellucid")


def test_any_estimator_by_its_path():
    path = "sklearn.ensemble.HistGradientBoostingRegressor"
    frame = table().drop(columns="c").dropna()
    result = compare(frame, "y", models=["ols"], peers=path, effort="quick", jobs=1, test_size=0)
    found = result.predictions["HistGradientBoostingRegressor"]
    plan = result.refitter.plan
    train, test = plan.folds[0]
    X, y = frame[["a", "b"]].to_numpy(), frame["y"].to_numpy()
    own = HistGradientBoostingRegressor(random_state=0).fit(X[train], y[train]).predict(X[test])
    assert found["labels"][found["fold"] == 0] == pytest.approx(own, abs=1e-6)


def test_unknown_and_missing_peers(monkeypatch):
    with pytest.raises(ParameterError, match="unknown peer 'prophet'"):
        compare(table(), "y", models=["ols"], peers="prophet", jobs=1)
    with pytest.raises(ParameterError, match="cannot be imported"):
        compare(table(), "y", models=["ols"], peers="sklearn.nothing.Here", jobs=1)
    monkeypatch.setattr("pellucid.comparison.planning.peers.find_spec", lambda name: None)
    result = compare(table(), "y", models=["ols"], peers="lightgbm", effort="quick", jobs=1)
    row = next(row for row in result.rows if row["model"] == "lightgbm")
    assert (row["status"], row["reason"]) == ("skipped", "lightgbm is not installed")


def test_a_large_table_is_searched_on_a_sample(monkeypatch):
    frame = table(400, classes=True)
    monkeypatch.setattr(planning, "LARGE_TABLE", 200)
    monkeypatch.setattr(planning, "SAMPLED_ROWS", 90)
    result = compare(frame, "y", models=["logistic"], effort="quick", jobs=1)
    assert result.data["plan"]["search_rows"] == 90
    row = next(row for row in result.rows if row["model"] == "logistic")
    assert row["notes"][0] == "searched on a sample of 90 of 320 rows"
    assert len(result.predictions["logistic"]["rows"]) == 320  # scored on all rows


def test_a_sample_keeps_the_shares_of_the_classes(monkeypatch):
    monkeypatch.setattr(worker_data, "LARGE_TABLE", 100)
    own = object.__new__(worker_data.Evaluator)
    own.shared = worker_data.SharedTable("", (), ("a", "b"), "arrow", 0, 3, 100)
    own.y = (np.arange(1000) % 10 == 0).astype(int)
    rows = own.sampled(np.arange(1000), "0")
    assert len(rows) == len(np.unique(rows)) == 100
    assert own.y[rows].sum() == 10
    assert (rows == own.sampled(np.arange(1000), "0")).all()
    assert not np.array_equal(rows, own.sampled(np.arange(1000), "1"))
