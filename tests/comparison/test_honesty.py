"""On noise nothing is recommended; a planted leak is told; a locked part stays locked."""

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.comparison.analysis import statistics
from pellucid.comparison.checks.catalogue import run_checks
from pellucid.comparison.execution import run_folder as files
from pellucid.comparison.planning.dataset import load_dataset
from pellucid.comparison.planning.fold_choice import inner_splits
from pellucid.comparison.planning.plan import make_plan
from pellucid.comparison.planning.settings import Settings
from pellucid.errors import DataError


def noise(rng, n=80, p=4):
    frame = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"c{j}" for j in range(p)])
    frame["y"] = rng.choice(["no", "yes"], n)
    return frame


@pytest.mark.slow
def test_on_noise_the_baseline_is_recommended(rng):
    """All models take part; tables are small, so that ten of them take seconds.

    By hand with 60 rows and 3 columns: 39 of 40 tables with two classes, 20 of 20 with numbers.
    """
    runs = [
        pellucid.compare(noise(rng, n=50, p=2), "y", effort="quick", cv=4, test_size=0, seed=k)
        for k in range(10)
    ]
    assert all(len(run.rows) > 12 for run in runs)
    assert sum(run.recommended == "majority" for run in runs) >= 9


def findings(table, target="y", **settings):
    known = Settings.of({"target": target, **settings})
    dataset = load_dataset(table, known)
    return run_checks(dataset, known, make_plan(dataset, known).train)


def codes(found):
    return {f.code for f in found.found}


def test_a_leak_is_found_and_can_be_muted(rng):
    table = noise(rng, 300)
    assert "D011" not in codes(findings(table))
    table["cancelled"] = np.where(table.y == "yes", rng.normal(size=300), np.nan)
    found = findings(table)
    assert [f.columns for f in found.errors] == [("cancelled",)] and "D011" in codes(found)
    assert "--drop cancelled" in found.errors[0].text and "--ignore D011" in found.errors[0].text
    assert "D011" not in codes(findings(table, ignore="D011"))
    assert codes(findings(table, select="D008")) == set()


def test_a_copy_of_the_target_is_found(rng):
    table = noise(rng, 200)
    table["again"] = table.y.map({"no": "A", "yes": "B"})
    found = findings(table)
    assert [f.code for f in found.errors] == ["D010"]
    assert "--drop again" in found.errors[0].text and "--ignore D010" in found.errors[0].text
    assert "target leakage" in findings(noise(rng, 200)).fine
    assert "target leakage" not in found.fine  # it would contradict what was found
    assert not findings(table, ignore="D010").errors  # it was accepted


def test_a_copy_of_numbers_is_found_and_nothing_else_is_called_one(rng):
    """Columns in which no value comes twice are one-to-one with the target, but no copies."""
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    table["y"] = 10 + table.a - table.b + rng.normal(size=200)
    assert not findings(table).errors
    for name, values in {
        "cents": 100 * table.y + 3, "near": table.y + 0.02 * rng.normal(size=200),
        "curved": np.exp(table.y / 5), "far": 1e300 * table.y,
    }.items():  # fmt: skip
        found = findings(table.assign(**{name: values})).errors
        assert [f.columns for f in found] == [(name,)], name
        assert found[0].code == ("D010" if name in ("cents", "far") else "D011")
    heavy = pd.DataFrame({"a": rng.normal(size=300), "y": np.exp(1.2 * rng.normal(size=300))})
    for values in (5 * heavy.y + 0.001 * rng.normal(size=300), np.log(heavy.y) ** 3):
        found = findings(heavy.assign(copy=values)).errors
        assert [(f.code, f.columns) for f in found] == [("D011", ("copy",))]
    few = table.assign(y=rng.integers(0, 30, 200).astype(float))
    few["word"] = "w" + few.y.astype(int).astype(str)
    found = findings(few, task="regression").errors
    assert [(f.code, f.columns) for f in found] == [("D010", ("word",))]


def test_names_in_advice_can_be_pasted_into_a_shell(rng):
    table = noise(rng, 200)
    table["sent on; rm"] = table.y.map({"no": "A", "yes": "B"})
    assert "(--drop 'sent on; rm')" in findings(table).errors[0].text


def test_a_leak_is_repeated_below_the_board_and_stops_only_if_asked(rng, tmp_path, capsys):
    from pellucid.app.cli import run

    table = noise(rng, 60)
    table["again"] = table.y.map({"no": "A", "yes": "B"})
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["compare", str(tmp_path / "t.csv"), "-t", "y", "--models", "tree", "--cv", "2"]
    assert run([*words, "-o", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out
    assert "!! D010 'again' is a copy of the target 'y'" in said
    assert "--drop again" in said and "--ignore D010" in said
    assert run([*words, "-o", str(tmp_path / "other"), "--strict"]) == 1
    out, err = capsys.readouterr()
    assert not out and not (tmp_path / "other").exists()
    assert "!! D010" in err and "--strict is set" in err


def test_a_column_far_ahead_of_the_others_is_questioned(rng):
    table = noise(rng, 400)
    hint = (table.y == "yes") ^ (rng.random(400) < 0.03)
    table["boat"] = np.where(hint, "7", None)
    assert "D015" in codes(findings(table)) and not findings(table).errors
    assert not any(f.leak for f in findings(table).found)  # a column may simply be good


def test_a_column_far_ahead_that_is_filled_in_after_the_outcome_is_a_leak(rng):
    table = noise(rng, 400)
    table["boat"] = np.where((table.y == "yes") & (rng.random(400) < 0.9), "7", None)
    assert [f.code for f in findings(table).found if f.leak] == ["D015"]


def test_what_cannot_help_is_left_out(rng):
    table = noise(rng, 100)
    table["same"], table["gone"] = 3, np.nan
    table["id"], table["code"] = np.arange(100) * 3 + 1, [f"k{i}" for i in range(100)]
    found = findings(table)
    assert sorted(found.excluded) == ["code", "gone", "id", "same"]
    assert {"D002", "D003", "D005"} <= codes(found)
    assert "id" not in findings(table, ignore="D005").excluded


def test_duplicates_correlations_times_and_small_classes(rng):
    table = noise(rng, 100)
    table["twin"] = table.c0 * 2 + rng.normal(size=100) * 0.01
    table["when"] = pd.date_range("2024-01-01", periods=100)
    table.loc[:2, "y"] = "rare"
    table = pd.concat([table, table.iloc[:20]], ignore_index=True)
    assert {"D006", "D007", "D008", "D009"} <= codes(findings(table))
    assert "D009" not in codes(findings(table, time="when"))


def test_the_test_part_is_never_trained_on(rng):
    """Rows of the test part are lies: a model that had seen them would be better there."""
    settings = Settings.of({"target": "y"})
    plan = make_plan(load_dataset(noise(rng, 100), settings), settings)
    assert not set(plan.train) & set(plan.test) and len(plan.test) == 20
    for train, test in plan.folds:
        assert not set(plan.test) & ({*train, *test}) and not set(train) & set(test)


def test_groups_stay_together_and_the_past_predicts_the_future(rng):
    table = noise(rng, 120)
    table["patient"], table["when"] = np.arange(120) % 30, rng.permutation(120)
    settings = Settings.of({"target": "y", "group": "patient"})
    plan = make_plan(load_dataset(table, settings), settings)
    groups = plan.dataset.groups
    for train, test in [*plan.folds, (plan.train, plan.test)]:
        assert not set(groups[train]) & set(groups[test])
    settings = Settings.of({"target": "y", "time": "when"})
    plan = make_plan(load_dataset(table, settings), settings)
    for train, test in [*plan.folds, (plan.train, plan.test)]:
        assert plan.dataset.times[train].max() < plan.dataset.times[test].min()


def test_openings_are_counted_over_the_runs_of_a_folder(tmp_path, rng):
    table = noise(rng, 80)
    first = pellucid.compare(table, "y", models="majority", cv=2, out=tmp_path / "a")
    second = pellucid.compare(table, "y", models="majority", cv=2, out=tmp_path / "b")
    assert (first.timings["openings"], second.timings["openings"]) == (1, 2)
    assert first.data == second.data  # the result does not depend on it
    assert len(files.runs(tmp_path)) == 2


def test_runs_of_other_programs_in_the_temporary_folder_are_not_counted(tmp_path, monkeypatch, rng):
    table = noise(rng, 80)
    pellucid.compare(table, "y", models="majority", cv=2, out=tmp_path / "pellucid-run-other")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = pellucid.compare(table, "y", models="majority", cv=2)
    assert result.timings["openings"] == 1


@pytest.mark.parametrize("journal", [b"\xff\n", b"[]\n", b"no journal\n", b""])
def test_a_damaged_run_beside_this_one_is_passed_over(tmp_path, rng, journal):
    table = noise(rng, 60)
    pellucid.compare(table, "y", models="majority", cv=2, out=tmp_path / "a")
    with (tmp_path / "a" / "events.jsonl").open("ab") as file:
        file.write(journal)
    second = pellucid.compare(table, "y", models="majority", cv=2, out=tmp_path / "b")
    assert second.timings["openings"] == (1 if journal else 2)


def test_a_link_to_a_run_is_followed_when_it_is_replaced(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "log.txt").write_text("old")
    (tmp_path / "latest").symlink_to("run")
    assert files.new_folder(str(tmp_path / "latest"), "t", force=True) == tmp_path / "run"
    assert not (tmp_path / "run" / "log.txt").exists()


def test_few_groups_or_times_leave_inner_folds(rng):
    y = np.tile([0, 1], 20)
    for kind, n_folds in (("group", 2), ("time", 1)):
        two = inner_splits(kind, 3, y, np.arange(40) // 20, "roc_auc", 0, classes=True)
        assert len(two) == n_folds and {len(test) for _, test in two} == {20}
        univariate = inner_splits(kind, 3, y, np.zeros(40), "roc_auc", 0, classes=True)
        assert [np.bincount(y[test]).tolist() for _, test in univariate] == [[10, 10]] * 2
    rare = inner_splits("stratified", 3, np.r_[0, 0, y], None, "roc_auc", 0, classes=True)
    assert len(rare) == 3
    rare = inner_splits("stratified", 3, np.r_[0, 0, np.ones(30)], None, "roc_auc", 0, classes=True)
    assert len(rare) == 2
    table = noise(rng, 60).assign(g=np.arange(60) % 3)
    known = Settings.of({"target": "y", "group": "g", "cv": 2})
    assert len(make_plan(load_dataset(table, known), known).folds) == 2


def test_a_class_that_a_fold_lacks_has_probability_zero(rng):
    table = noise(rng, 60)
    table.loc[0, "y"] = "once"
    result = pellucid.compare(table, "y", models="tree", effort="quick", cv=3)
    assert all(row["status"] == "ok" for row in result.rows)
    shares = result.predictions["tree"]["proba"]
    assert shares.shape[1] == 3 and np.allclose(shares.sum(axis=1), 1)


def test_seeds_belong_to_models_by_name(rng):
    """Adding a model never changes another's numbers."""
    table = noise(rng, 90)
    few = pellucid.compare(table, "y", models=["bagging"], effort="quick", cv=3)
    more = pellucid.compare(table, "y", models=["bagging", "tree"], effort="quick", cv=3)
    rows = [next(r for r in run.rows if r["model"] == "bagging") for run in (few, more)]
    assert rows[0]["folds"] == rows[1]["folds"]


@pytest.mark.parametrize("n", [40, 60, 100, 200])
def test_a_leak_is_found_in_small_tables_too(rng, n):
    """Two columns that separate the classes perfectly do not hide each other."""
    y = rng.permutation(n) % 2
    table = pd.DataFrame({"a": rng.normal(size=n), "c": 3 * y + rng.random(n)})
    table["d"] = 5 * y + 0.01 * rng.normal(size=n)
    table["y"] = np.where(y == 1, "yes", "no")
    found = findings(table)
    assert [f.columns for f in found.errors] == [("c",), ("d",)]
    assert "target leakage" not in found.fine
    assert not findings(table[["a", "y"]]).errors


def test_columns_of_noise_say_nothing_alone(rng):
    from pellucid.comparison.checks.univariate import univariate_scores

    table = pd.DataFrame(rng.normal(size=(60, 40)), columns=[f"c{j}" for j in range(40)])
    for target in (rng.choice(["u", "v"], 60), rng.choice(list("uvw"), 60), rng.normal(size=60)):
        dataset = load_dataset(table.assign(y=target), Settings.of({"target": "y"}))
        scores = np.array(
            list(univariate_scores(dataset, dataset.raw(), np.arange(60), 0).values())
        )
        assert np.median(scores) < (0.58 if dataset.classes else 0.05) and scores.max() < 0.8


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ("GDP, total", ["a", "b", "a,b", " c "]),
        ("GDP, total,b", ["a", "a,b", " c "]),
        ("b, GDP, total", ["a", "a,b", " c "]),
        ("a,b", ["GDP, total", "a", "b", " c "]),  # the whole text is a name
        (["a", "b"], ["GDP, total", "a,b", " c "]),
        (["a,b", " c "], ["GDP, total", "a", "b"]),
        ("a, c ", ["GDP, total", "b", "a,b"]),
        ("b , a,", ["GDP, total", "a,b", " c "]),
    ],
)
def test_names_with_commas_and_blanks_can_be_dropped(rng, told, left):
    table = pd.DataFrame(rng.normal(size=(20, 5)), columns=["GDP, total", "a", "b", "a,b", " c "])
    for role in ("drop", "id"):
        known = Settings.of({"target": "y", role: told})
        assert load_dataset(table.assign(y=rng.normal(size=20)), known).columns == left


def test_a_missing_name_is_told_among_quoted_ones(rng):
    table = pd.DataFrame(rng.normal(size=(20, 3)), columns=["GDP, total", " y ", "z"])
    with pytest.raises(DataError) as caught:
        load_dataset(table, Settings.of({"target": "z", "drop": "GDP"}))
    assert "column 'GDP' is not in" in str(caught.value)
    assert str(caught.value).endswith("Columns: 'GDP, total', ' y ', z.")


def test_another_test_file_is_another_comparison(rng, tmp_path):
    table = noise(rng, 60)
    table.iloc[:40].to_csv(tmp_path / "train.csv", index=False)
    known = Settings.of({"target": "y", "test": str(tmp_path / "test.csv")})
    plans = []
    for start in (40, 50):
        table.iloc[start : start + 10].to_csv(tmp_path / "test.csv", index=False)
        plans.append(make_plan(load_dataset(str(tmp_path / "train.csv"), known), known))
    assert plans[0].key() != plans[1].key() and plans[0].test_set_id() != plans[1].test_set_id()
    table.assign(y="maybe").iloc[40:].to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(DataError, match="has the class 'maybe', which no training row has"):
        load_dataset(str(tmp_path / "train.csv"), known)


def test_repeated_sentences_are_told(rng):
    words = ["free prize call now", "are you home yet", "see you at the station", "win a new car"]
    texts = [" ".join(rng.permutation(words)) + f" {k} or {k + 7}" for k in range(58)] + [
        "so long and thanks"
    ] * 2
    found = findings(pd.DataFrame({"text": texts, "y": rng.choice(["u", "v"], 60)}))
    assert "1 of 60 rows repeats another row" in " ".join(f.text for f in found.found)


def test_a_test_file_shapes_nothing_but_its_own_scores(rng, tmp_path):
    """Task, classes, kinds and models come from the table alone; the file has one vault beside all."""
    table = noise(rng, 40).assign(y=np.arange(40) % 3, said=[f"w{i % 4} is it" for i in range(40)])
    other = table.iloc[:20].assign(said=[f"these are all new words {i}" for i in range(20)])
    known = Settings.of({"target": "y", "test": str(tmp_path / "test.csv")})
    other.to_csv(tmp_path / "test.csv", index=False)
    plans = []
    for rows in (30, 40):
        table.iloc[:rows].to_csv(tmp_path / "train.csv", index=False)
        plans.append(make_plan(load_dataset(str(tmp_path / "train.csv"), known), known))
    assert plans[0].test_set_id() == plans[1].test_set_id() and plans[0].key() != plans[1].key()
    assert plans[0].metric.name == "accuracy" and plans[0].dataset.kinds["said"] == "categorical"
    for y, said in (
        (np.arange(20) + 0.5, "has the class '0.5', which no training row has"),
        (np.nan, "the target 'y' is missing in every row of the test file .*test.csv"),
    ):
        other.assign(y=y).to_csv(tmp_path / "test.csv", index=False)
        with pytest.raises(DataError, match=said):
            load_dataset(str(tmp_path / "train.csv"), known)


def test_rows_of_a_test_file_choose_no_model(rng, tmp_path):
    table = pd.DataFrame({"a": rng.normal(size=40), "y": rng.gamma(2.0, size=40)})
    table.to_csv(tmp_path / "train.csv", index=False)
    (tmp_path / "test.csv").write_text("a,y\n" + "1,-3\n" * 10)
    known = Settings.of({"target": "y", "test": str(tmp_path / "test.csv")})
    plan = make_plan(load_dataset(str(tmp_path / "train.csv"), known), known)
    assert "gamma" in {c.id for c in plan.running}


def test_a_word_that_gives_the_answer_away_is_a_leak(rng):
    """Every sentence differs, so no level repeats; one word of it says the class."""
    y = rng.integers(0, 2, 120)
    words = ["the", "fee", "of", "this", "case", "was", "due", "in", "may", "and", "later"]
    said = np.where(y == 1, "settled", "refused")
    texts = [f"{' '.join(rng.permutation(words))} {i} {s}" for i, s in enumerate(said)]
    table = pd.DataFrame(
        {"a": rng.normal(size=120), "note": texts, "y": np.where(y == 1, "u", "v")}
    )
    found = findings(table)
    assert [(f.code, f.columns) for f in found.errors] == [("D011", ("note",))]
    harmless = table.assign(y=rng.permutation(table.y))
    assert not findings(harmless).errors and "target leakage" in findings(harmless).fine
    numbers = table.assign(y=10 * y + 0.1 * rng.normal(size=120))
    assert [f.columns for f in findings(numbers).errors] == [("note",)]


def test_intervals_of_the_locked_part_count_groups(rng):
    """Groups that are right or wrong together: a run knows them, and its board says how many."""
    g = np.repeat(np.arange(20), 10)
    x = rng.normal(size=200)
    odd = rng.random(20) < 0.4  # groups in which the column means the opposite
    table = pd.DataFrame({"x": x, "g": g, "y": np.where((x > 0) ^ odd[g], "u", "v")})
    words = {"models": "majority", "metric": "accuracy", "cv": 2}
    told = pellucid.compare(table, "y", group="g", **words)
    test = told.data["test"]
    assert test["groups"] == 4 and told.data["plan"]["test_why"] == "4 whole groups"
    assert "only, 40 rows of 4 groups)" in " ".join(repr(told).split())
    low, high = test["intervals"]["accuracy"]
    univariate = statistics.wilson(test["metrics"]["accuracy"], 40)
    assert high - low > 1.2 * (univariate[1] - univariate[0])
    plainly = pellucid.compare(table.drop(columns="g"), "y", **words).data["test"]
    assert "groups" not in plainly and plainly["intervals"]["accuracy"] == pytest.approx(
        statistics.wilson(plainly["metrics"]["accuracy"], 40)
    )


def test_a_column_that_is_filled_in_after_the_outcome_is_questioned(rng):
    table = noise(rng, 400)
    table["body"] = np.where((table.y == "no") & (rng.random(400) < 0.3), 1.0, np.nan)
    table["visits"] = np.where((table.y == "no") & (rng.random(400) < 0.5), np.nan, 2.0)
    table["cabin"] = np.where(rng.random(400) < 0.3, 1.0, np.nan)
    said = [f for f in findings(table).found if f.code == "D016"]
    assert [f.columns for f in said] == [("body",), ("visits",)]
    assert said[0].text.startswith("wherever 'body' has a value, 'y' is 'no' (")
    assert said[1].text.startswith("wherever 'visits' is missing, 'y' is 'no' (")
    assert "target leakage" not in findings(table).fine
    few = noise(rng, 400)
    few["note"] = np.where(
        np.cumsum(few.y == "no") <= 8, np.where(few.y == "no", 1.0, np.nan), np.nan
    )
    assert "D016" not in codes(findings(few))  # eight rows can be luck


def test_few_repeated_rows_are_noted_and_many_are_a_warning(rng):
    table = noise(rng, 300)

    def level(repeated):
        found = findings(pd.concat([table, table.iloc[:repeated]], ignore_index=True))
        return next((f.level, f.text.split(":")[0]) for f in found.found if f.code == "D006")

    assert level(1) == ("note", "1 of 301 rows repeats another row")
    assert level(30) == ("warning", "30 of 330 rows repeat another row")


def test_parts_that_add_up_to_the_target_are_reported(rng):
    table = pd.DataFrame({c: rng.poisson(m, 200) for c, m in (("casual", 20), ("registered", 90))})
    table["temp"], table["when"] = rng.normal(size=200), np.arange(200) % 24
    table["y"] = table.casual + table.registered
    (found,) = [f for f in findings(table).found if f.code == "D017"]
    assert found.level == "error" and found.columns == ("casual", "registered")
    assert "--drop casual --drop registered" in found.text
    assert "D017" not in codes(findings(table, ignore="D017"))
    table["y"] = table.y + rng.integers(0, 2, 200)  # nearly, but not their sum
    assert "D017" not in codes(findings(table))
