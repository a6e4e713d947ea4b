"""The blend on the board: nested, without refits, and never shown better than it is."""

import json

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.comparison import compare
from pellucid.comparison.execution.fold_task import FoldTask, FoldTaskRunner
from pellucid.comparison.execution.inner_search import inner_path, part_path
from pellucid.comparison.execution.journal import RunState
from pellucid.comparison.execution.worker_data import share_table
from pellucid.comparison.planning.prepare import prepare
from pellucid.comparison.planning.settings import Settings

MODELS = ["ols", "ridge", "tree", "knn", "blend"]


class Silent:
    """A channel without a listener."""

    def poll(self):
        return False

    def send(self, message):
        pass


def table(seed=0, n=160, signal=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = signal * (X[:, 0] + np.abs(X[:, 1])) + rng.normal(size=n)
    return pd.DataFrame(X, columns=list("abc")).assign(y=y)


def run(frame, out, **settings):
    return compare(frame, "y", out=out, models=MODELS, effort="quick", jobs=1, **settings)


def weights(folder, fold):
    return RunState.read(folder / "events.jsonl").done["blend", fold]["tuned"]["weights"]


def test_predictions_are_the_weighted_mean_of_the_parts(tmp_path):
    result = run(table(), tmp_path / "run")
    found = result.predictions["blend"]
    for fold in range(5):
        own = found["fold"] == fold
        parts = weights(tmp_path / "run", str(fold))
        assert sum(parts.values()) == pytest.approx(1)
        expected = sum(w * result.predictions[m]["labels"][own] for m, w in parts.items())
        assert found["labels"][own] == pytest.approx(expected, abs=1e-12)
    row = next(row for row in result.rows if row["model"] == "blend")
    assert row["params"] == {"weights": weights(tmp_path / "run", "final")}
    assert any(" + " in note or note.startswith("1 ") for note in row["notes"])
    assert max(result.rows, key=lambda row: row["rank"])["model"] == "blend"


def test_weights_of_a_fold_never_see_its_test_rows(tmp_path):
    """Other targets in the test rows of a fold change its score, but not its weights."""
    frame = table()
    before = run(frame, tmp_path / "a")
    rows = before.predictions["blend"]["rows"][before.predictions["blend"]["fold"] == 0]
    frame.loc[before.refitter.plan.dataset.rows[rows], "y"] *= -3
    after = run(frame, tmp_path / "b")
    assert weights(tmp_path / "a", "0") == weights(tmp_path / "b", "0")
    assert weights(tmp_path / "a", "1") != weights(tmp_path / "b", "1")
    first, second = (
        next(r for r in result.rows if r["model"] == "blend") for result in (before, after)
    )
    assert first["folds"]["rmse"][0] != second["folds"]["rmse"][0]


@pytest.mark.parametrize(("model", "trees"), [("extra_trees", 40), ("bagging", 20)])
def test_a_search_with_few_trees_has_no_probability_of_0(tmp_path, model, trees):
    """Rows whose class no tree votes for have the probability of one more, undecided tree."""
    frame = table(n=120)
    frame["y"] = np.where(frame["y"] > 0, "yes", "no")
    frame.loc[::10, "y"] = "third"
    settings = {"target": "y", "metric": "log_loss", "models": (model, "blend"), "effort": "quick"}
    plan, _ = prepare(frame, Settings.of(settings))
    contender = next(c for c in plan.running if c.id == model)
    shared = share_table(plan, str(tmp_path))
    task = FoldTask.of(plan, contender, "0", shared, deadline=np.inf, parts=str(tmp_path))
    FoldTaskRunner(task, Silent(), []).run()
    own = np.load(inner_path(tmp_path, model, "0"))
    assert own.min() == pytest.approx(1 / 3 / (trees + 1))
    assert own.max() <= (trees + 1 / 3) / (trees + 1)
    outer = np.load(part_path(tmp_path, model, "0"))["proba"]
    assert outer.min() == 0  # the model itself is not changed


def test_noise_gives_no_advantage(tmp_path):
    """With a target of pure noise the blend is not better than the mean, and not recommended.

    Weights chosen on the rows that are scored would be better than the mean in every fold.
    """
    ratios = []
    for seed in range(3):
        result = run(table(seed, signal=0.0), tmp_path / str(seed))
        rows = {row["model"]: row for row in result.rows}
        assert result.recommended == "mean"
        ratios.append(rows["blend"]["mean"] / rows["mean"]["mean"])
    assert np.mean(ratios) > 1


def test_the_saved_blend_is_its_parts(tmp_path):
    frame = table()
    result = run(frame, tmp_path / "run", test_size=0)
    path = result.save("blend", tmp_path / "blend.pellucid")
    blend, X = pellucid.load(path), frame[list("abc")]
    expected = 0.0
    for name, weight in weights(tmp_path / "run", "final").items():
        own = pellucid.load(result.save(name, tmp_path / f"{name}.pellucid"))
        expected = expected + weight * own.predict(X)
    assert blend.predict(X) == pytest.approx(expected, abs=1e-12)
    assert blend.explain(X[:3]).gap() < 1e-9


def test_two_processes_and_a_resumed_run_give_the_same_bytes(tmp_path):
    frame = table()
    frame["y"] = np.where(frame["y"] > 0, "yes", "no")
    names = ["majority", "logistic", "tree", "knn", "blend"]
    for jobs, name in ((1, "one"), (2, "two")):
        compare(frame, "y", out=tmp_path / name, models=names, effort="quick", jobs=jobs)
    one, two = (json.loads((tmp_path / n / "results.json").read_text()) for n in ("one", "two"))
    assert one == two
    assert [row["status"] for row in one["leaderboard"]] == ["ok"] * 5


def test_text_columns_are_said_to_be_unusable(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array(
        ["red", "green", "blue", "long", "short", "round", "flat", "hot", "cold", "new", "old"]
    )
    text = [" ".join(rng.choice(words, 8)) for _ in range(120)]
    frame = pd.DataFrame({"text": text, "a": rng.normal(size=120)})
    frame["y"] = [("red" in t) != (a > 1) for t, a in zip(text, frame["a"])]
    result = compare(frame, "y", models=["naive_bayes", "blend"], effort="quick", jobs=1)
    blend = next(row for row in result.rows if row["model"] == "blend")
    assert (blend["status"], blend["reason"]) == ("skipped", "cannot use text columns")
