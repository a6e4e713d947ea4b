"""The benchmarks run at a tiny size, notice different answers, and judge by them alone."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn.datasets")

from benchmarks import __main__ as command
from benchmarks import (
    answers,
    memory,
    process,
    race,
    report,
    samples,
    scale,
    single_row,
    watching,
    workload,
)
from benchmarks.workload import OURS, Workload
from pellucid.dummy import DummyClassifier
from tests.oracles import peer_sklearn

TINY = samples.classification(300, 4)


def entry(answer, **changes):
    fields = {
        "name": "test",
        "estimator": "dummy.DummyClassifier",
        "source": TINY,
        "answer": answer,
        "goals": {"fit": 1.0, "predict": None},
    }
    return Workload(**{**fields, **changes})


def judge(ours, peer, **tolerance):
    """An answer that is `ours` for our model and `peer` for anyone else's."""

    def measure(model, sample):
        return ours if type(model).__module__.startswith("pellucid") else peer

    return answers.Answer("number", measure, **tolerance)


def test_command_prints_a_table_and_writes_json(tmp_path, capsys):
    file = tmp_path / "out.json"
    arguments = ["dummy", "--quick", "--repeat", "2", "--no-memory", "--json", str(file)]
    assert command.main(arguments) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("workload") and len(printed) == 3
    written = json.loads(file.read_text())
    assert written["schema"] == 1 and written["versions"]["scikit-learn"]
    fitted, predicted = written["rows"]
    assert (fitted["action"], predicted["action"]) == ("fit", "predict")
    assert fitted["n"] == 400 and fitted["ratio"] > 0 and not fitted["failed"]
    assert fitted["ours_answer"] == fitted["peer_answer"]


def test_unknown_family(capsys):
    assert command.main(["forests"]) == 2
    assert "unknown family: forests. Known: cluster" in capsys.readouterr().err


def test_every_entry_is_complete():
    keys = []
    for family in workload.all_families():
        for found in workload.workloads(family):
            assert found.estimator.startswith(f"{family}."), found
            assert "fit" in found.goals and set(found.peers) <= {*workload.ADAPTERS, "SciPy"}
            assert workload.find(found.key) is found
            keys.append(found.key)
    assert len(set(keys)) == len(keys) >= 10


@pytest.mark.parametrize(
    ("ours", "peer", "tolerance", "agrees"),
    [
        (1.0, 1.0, {}, True),
        (0.9, 1.0, {}, True),
        (1.001, 1.0, {}, False),
        (1.001, 1.0, {"relative": 0.01}, True),
        (1.02, 1.0, {"relative": 0.01}, False),
        (-0.98, -1.0, {"relative": 0.01}, False),
        (0.01, 0.0, {"absolute": 0.01}, True),
        (math.nan, 1.0, {"absolute": 9.0}, False),
        (1.0, math.nan, {"absolute": 9.0}, False),
    ],
)
def test_answers_may_be_better_but_not_worse(ours, peer, tolerance, agrees):
    rows = race.race(entry(judge(ours, peer, **tolerance)), 300, 1)
    assert [row.failed for row in rows] == [not agrees] * 2
    if not agrees:
        assert rows[0].status.startswith("mismatch: number")
        assert "DIFFER" in report.table(rows) and rows[0].status in report.table(rows)


def test_tolerance_widens_only_where_chance_rules():
    exact = answers.squared_error(relative=0.01)
    assert exact.at(0.01) is exact
    drawn = answers.error_rate(absolute=0.01)
    assert drawn.at(0.25).absolute == pytest.approx(0.02)
    assert drawn.at(4.0) is drawn


def test_a_mismatch_is_the_exit_code(monkeypatch, capsys):
    bad = entry(judge(2.0, 1.0))
    monkeypatch.setattr(workload, "workloads", lambda family: (bad,))
    assert command.main(["dummy", "--quick", "--repeat", "1", "--no-memory"]) == 1
    assert "mismatch" in capsys.readouterr().out


def test_an_error_is_a_failed_row():
    def broken(model, sample):
        raise RuntimeError("no answer")

    (row,) = race.race(entry(answers.Answer("broken", broken)), 300, 1)
    assert row.failed and row.status == "error: RuntimeError: no answer"


def test_what_does_not_exist_is_skipped_with_a_reason(monkeypatch):
    for absent in ("dummy.NoSuchClass", "nosuchfamily.Class"):
        (row,) = race.race(entry(judge(1, 1), estimator=absent), 300, 1)
        assert row.status == f"not available: pellucid.{absent}" and not row.failed

    def not_installed():
        raise ImportError("No module named 'sklearn'")

    monkeypatch.setattr(peer_sklearn, "version", not_installed)
    (row,) = race.race(entry(judge(1, 1)), 300, 1)
    assert row.status == "not available: scikit-learn" and not row.failed


def test_contenders_alternate_and_the_best_counts(monkeypatch):
    order, clock = [], iter(range(1000))
    monkeypatch.setattr(race.time, "perf_counter", lambda: next(clock))
    best = race.alternate({name: lambda name=name: order.append(name) for name in "ab"}, 3)
    assert "".join(order) == "abbaab"
    assert best == {"a": 1, "b": 1}


def test_contenders_are_made_outside_the_clock():
    made = []

    def params(sample):
        made.append(len(sample.y))
        return {"strategy": "prior"}

    rows = race.race(replace(entry(judge(1, 1)), params=params), 300, 5)
    assert [row.status for row in rows] == ["ok"] * len(rows)
    assert len(made) == 2  # ours and one peer's, however often they are fitted


def test_exponent():
    sizes = [100, 200, 400]
    assert race.exponent(sizes, [n**1.5 / 7 for n in sizes]) == pytest.approx(1.5)


def test_growth(capsys):
    found = race.growth(entry(judge(1, 1)), 400, 1)
    assert found["sizes"] == [100, 200, 400]
    assert set(found["exponents"]) == {OURS, "scikit-learn"}
    assert set(found["threads"]) == {"1", "2"}
    shown = report.growth_table([found])
    assert "n^" in shown and "2 threads" in shown
    assert command.main(["dummy", "--growth", "--quick", "--repeat", "1"]) == 0
    assert "dummy/majority  n = 100, 200, 400" in capsys.readouterr().out


def test_samples_are_reproducible_and_keep_rows_apart():
    a, b = TINY.sample(300), TINY.sample(300)
    np.testing.assert_array_equal(a.X, b.X)
    assert a.X.shape == (300, 4) and a.X_test.shape == (200, 4) and a.y_test.shape == (200,)
    assert a.X.flags.c_contiguous and a.X.dtype == np.float64
    assert not {tuple(row) for row in a.X} & {tuple(row) for row in a.X_test}
    blind = samples.regression(50, 3, supervised=False).sample(50)
    assert blind.y is None and blind.y_test is None


def test_measures_against_their_own_formulas():
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LinearRegression, LogisticRegression

    line = samples.regression(200, 3).sample(200)
    model = LinearRegression().fit(line.X, line.y)
    expected = np.sum((line.y - model.predict(line.X)) ** 2)
    assert answers.squared_error(0).measure(model, line) == pytest.approx(expected)
    length = expected + np.sum(model.coef_**2)
    assert answers.shortest_fit(0).measure(model, line) == pytest.approx(length)
    pca = PCA(2).fit(line.X)
    lost = np.sum((line.X - pca.inverse_transform(pca.transform(line.X))) ** 2)
    assert answers.lost_variance(0).measure(pca, line) == pytest.approx(lost)
    means = KMeans(3, n_init=1, random_state=0).fit(line.X)
    assert answers.inertia(0).measure(means, line) == pytest.approx(means.inertia_)
    for classes in (2, 3):
        data = samples.classification(200, 6, classes).sample(200)
        logistic = LogisticRegression(C=0.5).fit(data.X, data.y)
        chosen = logistic.predict_log_proba(data.X)[np.arange(200), data.y]
        expected = -0.5 * chosen.sum() + 0.5 * np.sum(logistic.coef_**2)
        found = answers.penalised_log_loss(0.5, 0).measure(logistic, data)
        assert found == pytest.approx(expected)


def test_peak_memory_sees_what_c_code_allocates(monkeypatch):
    if not memory._RESET.exists():
        pytest.skip("the kernel keeps no high-water mark that can be reset")

    class Greedy:
        def fit(self, X, y):
            np.ones(len(X) * 10_000)  # 8 bytes each: 24 MB for 300 rows

    class Tiny(workload.Workload):
        def contender(self, who, sample):
            return Greedy()

    greedy = Tiny("test", "dummy.X", TINY, judge(1, 1), {"fit": None})
    monkeypatch.setattr(memory.registry, "find", lambda key: greedy)
    monkeypatch.setattr(memory, "_first_rows", lambda sample, rows: few(sample))
    sent = []
    memory._measure(type("Pipe", (), {"send": staticmethod(sent.append)}), "test", OURS, 300)
    assert 20e6 < sent[0] < 60e6


def few(sample):
    return samples.Sample(sample.X[:5], sample.y[:5], sample.X_test, sample.y_test)


@pytest.mark.slow
def test_peak_memory_in_a_child():
    if not memory._RESET.exists():
        pytest.skip("the kernel keeps no high-water mark that can be reset")
    found = memory.peak_bytes("dummy/majority", OURS, 20_000)
    assert found is not None and 0 <= found < 200e6


def test_process_rows(tmp_path):
    same = process.Command(
        "same", process._python("print(1)"), process._python("print(1)"), goal_seconds=60
    )
    row = process.race(same, 1)
    assert row.status == "ok" and row.ours_seconds > 0 and "60 s yes" in report.table([row])
    other = process.Command("other", process._python("print(1)"), process._python("print(2)"), 60)
    assert process.race(other, 1).status.startswith("mismatch")
    absent = process.Command("absent", process._python("import nosuch"), ("true",), 60)
    assert process.race(absent, 1).status.startswith("not available: ModuleNotFoundError")
    broken = process.Command("broken", process._python("1 / 0"), ("true",), 60)
    row = process.race(broken, 1)
    assert row.failed and "ZeroDivisionError" in row.status


@pytest.mark.parametrize("name", single_row.MODELS)
def test_single_rows_are_raced_at_equal_labels(name):
    row = single_row.race(name, 1)
    assert row.status == "ok" and row.ours_seconds > 0 and row.peer_seconds > 0


def test_single_rows_of_other_labels_are_no_race(monkeypatch):
    monkeypatch.setattr("pellucid.single_row.RowPredictor.predict", lambda self, row: "other")
    assert single_row.race(single_row.MODELS[0], 1).status.startswith("mismatch: other")


def test_goals_are_shown_but_only_judged_at_full_size():
    row = race.Row("w", "300 x 4", "fit", "p", n=300, goal=2.0, ours_seconds=1.0, peer_seconds=3.0)
    assert "3.00x  2x yes" in report.table([row])
    slower = race.Row("w", "300 x 4", "fit", "p", n=300, goal=4.0, ours_seconds=1, peer_seconds=3)
    assert "4x no" in report.table([slower])
    small = race.Row("w", "3k x 4", "fit", "p", n=300, goal=4.0, ours_seconds=1, peer_seconds=3)
    text = report.table([small])
    assert "4x no" not in text and "(n=300)" in text


def test_our_dummy_takes_part():
    assert isinstance(entry(judge(1, 1)).contender(OURS, TINY.sample(300)), DummyClassifier)


@pytest.mark.slow
def test_a_table_beyond_the_ceiling_is_fitted_below_it(tmp_path):
    scale.write_table(tmp_path / "t.parquet", 1_000_000)  # 480 MB and more in memory
    for name in ("LinearRegression", "GaussianNB"):
        row = scale.measure(name, tmp_path / "t.parquet", "350MB", tmp_path / "out")
        # A busy machine may let more pages in before they are dropped.
        assert not row["failed"] and row["peak_mb"] < 450, row


def test_watching_is_measured_and_costs_nothing_without_a_watch():
    found = watching.measured("tree.DecisionTreeClassifier", 1)
    assert found.steps > 10 and 0 < found.hooks < 20
    from pellucid.records import is_watched

    assert watching.hook_calls(lambda: [is_watched() for _ in range(7)]) == 7
