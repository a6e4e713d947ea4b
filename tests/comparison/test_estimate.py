"""The estimate of a run's time: it follows the work, and keeps to limits."""

import json

import numpy as np
import pytest

from pellucid import compare
from pellucid.app import cli
from pellucid.comparison.planning import time_estimate
from pellucid.comparison.planning.prepare import prepare
from pellucid.comparison.planning.registry import ENTRIES
from pellucid.comparison.planning.settings import Settings, duration


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """No other program runs."""
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))


def plan_of(data="iris", **settings):
    return prepare(data, Settings.of({"jobs": 1, **settings}))[0]


def test_it_grows_with_the_work_and_shrinks_with_the_jobs():
    low, high = time_estimate.seconds(plan_of())
    assert 0 < low < high
    for more in ({"effort": "thorough"}, {"cv": 20}, {"data": "breast_cancer"}):
        assert time_estimate.seconds(plan_of(**more)) > (low, high), more
    for less in ({"effort": "quick"}, {"models": "tree"}, {"jobs": 2}):
        assert time_estimate.seconds(plan_of(**less)) < (low, high), less


def test_levels_count_as_columns_for_models_that_see_them_so(tmp_path):
    def seconds(levels, model):
        lines = "".join(f"v{i % levels},{i % 2}\n" for i in range(4000))
        (tmp_path / "t.csv").write_text("a,y\n" + lines)
        given = {"models": model, "task": "classification", "ignore": "D"}
        return time_estimate.seconds(plan_of(tmp_path / "t.csv", target="y", **given))

    assert seconds(1500, "logistic") > seconds(3, "logistic")
    assert seconds(1500, "forest") == pytest.approx(seconds(3, "forest"), rel=0.1)


def test_work_begins_with_what_is_cheap_on_this_table(tmp_path):
    def order(levels):
        lines = "".join(f"v{i % levels},{i % 7},{i % 2}\n" for i in range(2000))
        (tmp_path / "t.csv").write_text("a,b,y\n" + lines)
        given = {"models": "lda,tree,forest", "task": "classification", "ignore": "D"}
        plan = plan_of(tmp_path / "t.csv", target="y", **given)
        return [contender.id for contender in time_estimate.cheap_first(plan)]

    assert order(3) == ["majority", "lda", "tree", "forest"]
    assert order(1500) == ["majority", "tree", "forest", "lda"]  # it makes 1,500 columns of them


def test_durations():
    said = {"90": 90, "90s": 90, "1.5m": 90, "1h30m": 5400, "1h30": 3630, 7: 7}
    assert {text: duration(text) for text in said} == said
    for wrong in ("", "x", "0", "5 m", "1d", "9" * 40 + "x", "-3", True):
        with pytest.raises(ValueError):
            duration(wrong)


def spoken(folder, more="", n=200):
    """A table with a text column whose frequent words tell the class; `more` names another column."""
    middle = ",{}" if more else ""
    rows = "".join(
        f"w{i} is a {'dull' if i % 2 else 'fine'} text of word{i % 50}{middle.format(i % 7)},{i % 2}\n"
        for i in range(n)
    )
    (folder / "t.csv").write_text(f"say{',' + more if more else ''},y\n" + rows)
    return folder / "t.csv"


def test_models_that_make_words_dense_read_the_frequent_ones(tmp_path):
    given = {"models": "lda,qda,naive_bayes,tree", "task": "classification", "ignore": "D"}
    plan = plan_of(spoken(tmp_path, "size"), target="y", **given)
    frequent = "uses the 300 most frequent words of say"
    notes = {one.id: one.note for one in plan.contenders}
    assert notes == {"majority": "", "lda": frequent, "qda": frequent, "naive_bayes": "",
                     "tree": "without say (text)"}  # fmt: skip


def test_trees_do_not_learn_rows_by_heart(tmp_path):
    """Levels of two rows each say nothing of new rows, but sets of them divide the training rows."""
    rng = np.random.default_rng(0)
    rows = "".join(
        f"t{rng.integers(200)},{'ab'[i % 2]},{x:.3f},{'no' if x + rng.normal() < 0 else 'yes'}\n"
        for i, x in enumerate(rng.normal(size=400))
    )
    (tmp_path / "t.csv").write_text("ticket,side,x,y\n" + rows)
    told = "without ticket (fewer than 3 rows per level)"
    plan = plan_of(tmp_path / "t.csv", target="y")
    found = {c.id: (c.dropped, c.note) for c in plan.contenders if c.dropped}
    assert found == dict.fromkeys(("tree", "adaboost", "bagging", "forest"), (("ticket",), told))
    (tmp_path / "u.csv").write_text("ticket,y\n" + "".join(
        f"{row.split(',')[0]},{row.split(',')[3]}\n" for row in rows.split()))  # fmt: skip
    assert not any(c.dropped for c in plan_of(tmp_path / "u.csv", target="y").contenders)
    found = compare(tmp_path / "t.csv", target="y", models="tree", effort="quick", cv=3, jobs=1)
    scores = {row["model"]: row["mean"] for row in found.data["leaderboard"]}
    assert scores["tree"] > 0.7


def test_a_model_is_left_out_of_a_table_of_text_only_if_it_reads_none(tmp_path):
    given = {"task": "classification", "ignore": "D"}
    skipped = {c.id for c in plan_of(spoken(tmp_path), target="y", **given).contenders if c.skipped}
    texts = {e.id for e in ENTRIES if getattr(e.model_class(), "_takes_text", False)}
    asked = {e.id for e in ENTRIES if e.task == "classification"} - {"majority"}
    assert skipped == asked - texts and not skipped & {"lda", "qda"}


def test_discriminants_learn_from_words_alone(tmp_path):
    found = compare(
        spoken(tmp_path, n=120), target="y", models="lda,qda", task="classification", ignore="D",
        effort="quick", cv=3, jobs=1, seed=0,
    )  # fmt: skip
    rows = {row["model"]: row for row in found.data["leaderboard"]}
    assert [rows[name]["status"] for name in ("lda", "qda")] == ["ok", "ok"]
    assert rows["lda"]["mean"] > 0.95


def test_limits_bound_it():
    low, high = time_estimate.seconds(plan_of(effort="thorough"))
    assert time_estimate.seconds(plan_of(effort="thorough", time_limit=high / 2))[1] == high / 2
    assert time_estimate.seconds(plan_of(effort="thorough", time_limit=low / 2)) == (
        low / 2,
        low / 2,
    )
    assert time_estimate.seconds(plan_of(effort="thorough", model_timeout="1s")) < (low, high)


@pytest.mark.parametrize(
    ("range_", "text"),
    [
        ((3.2, 11.0), "estimated 3-11 s"),
        ((5.0, 5.0), "estimated 5 s"),
        ((61.0, 170.0), "estimated 1-3 min"),
        ((40.0, 121.0), "estimated up to 3 min"),
        ((4000.0, 14000.0), "estimated 1-4 h"),
    ],
)
def test_it_is_told_in_a_unit_that_fits(monkeypatch, range_, text):
    monkeypatch.setattr(time_estimate, "seconds", lambda plan: range_)
    monkeypatch.setattr(time_estimate, "_jobs", lambda plan: 1)
    assert time_estimate.describe_estimate(None) == text


def test_other_programs_stretch_its_end_and_are_told(monkeypatch):
    plan = plan_of()
    low, high = time_estimate.seconds(plan)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("os.getloadavg", lambda: (7.0, 7.0, 7.0))
    assert time_estimate.seconds(plan) == (low, pytest.approx(4 * high))
    assert time_estimate.describe_estimate(plan).endswith(" on this busy machine")


def test_every_model_of_ours_has_its_own_figures():
    assert set(time_estimate.SPEED) == {entry.id for entry in ENTRIES}
    assert set(time_estimate.REGRESSION_SPEED) <= {e.id for e in ENTRIES if e.task == "regression"}


def test_the_plan_tells_it(capsys):
    assert cli.run(["compare", "iris", "--plan", "-j1"]) == 0
    out = capsys.readouterr().out
    assert time_estimate.describe_estimate(plan_of()) in out
    assert cli.run(["compare", "iris", "--plan", "-j1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["estimated_seconds"]
    assert told == list(time_estimate.seconds(plan_of()))


def test_the_one_forest_of_a_quick_search_draws_more_columns_for_numbers():
    drawn = {
        (e.task, e.id): {c["max_features"] for c in e.candidates("quick")}
        for e in ENTRIES
        if e.id in ("forest", "extra_trees")
    }
    assert drawn == {(task, model): {share} for task, share in (("classification", "sqrt"),
                     ("regression", 0.5)) for model in ("forest", "extra_trees")}  # fmt: skip
