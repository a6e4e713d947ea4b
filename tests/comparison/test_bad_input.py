"""Wrong input: exit code 2 and one helpful line, nothing half-written."""

import json
import subprocess
import sys

import pytest

import pellucid
from pellucid.app import cli

GOOD = "a,b,y\n" + "".join(f"{i % 7},{i * 3 % 11},{'uv'[i % 2]}\n" for i in range(40))


@pytest.fixture
def complain(tmp_path, monkeypatch, capsys):
    """Run `pellucid compare` on a file; the one line it says."""
    monkeypatch.chdir(tmp_path)

    def run(content, *arguments, name="t.csv"):
        if content is not None:
            data = content if isinstance(content, bytes) else content.encode()
            (tmp_path / name).write_bytes(data)
        assert cli.run(["compare", name, *arguments]) == 2
        heard = capsys.readouterr()
        assert heard.out == "" and heard.err.count("\n") == 1 and heard.err.startswith("error: ")
        assert not (tmp_path / "runs").exists()
        return heard.err

    return run


def test_no_such_file(complain, tmp_path):
    (tmp_path / "data.csv").write_text(GOOD)
    assert "There is no file dta.csv. Did you mean 'data.csv'?" in complain(None, name="dta.csv")


def test_options_without_effect_are_refused(complain):
    said = complain(None, "--positive", "Gentoo", name="penguins")
    assert (
        "--positive is only for two classes, but the target 'species' has 3. Leave it out." in said
    )
    said = complain(None, "--positive", "3", name="tips")
    assert "--positive is only for two classes, but the target 'tip' is numeric." in said
    said = complain(None, "--encoding", "cp1252", name="penguins")
    assert "--encoding is only for files, but penguins is not one. Leave it out." in said


def test_no_such_data_set(complain):
    assert "named pinguins. Did you mean 'penguins'?" in complain(None, name="pinguins")


def test_empty_file(complain):
    assert "t.csv is empty" in complain("")


def test_target_absent(complain):
    assert "column 'tagret' is not in t.csv" in complain(GOOD, "-t", "tagret")
    assert "Did you mean 'species'?" in complain(None, "-t", "specis", name="penguins")


def test_target_not_named(complain):
    assert "which column of t.csv should be predicted" in complain(GOOD)


def test_one_class(complain):
    only = "a,y\n" + "".join(f"{i},u\n" for i in range(30))
    assert "has only one class, 'u'" in complain(only, "-t", "y")


def test_every_row_its_own_class(complain):
    own = "a,y\n" + "".join(f"{i},name{i}\n" for i in range(30))
    assert "the target 'y' has a different value in every row" in complain(own, "-t", "y")


def test_no_model_has_a_score(tmp_path, monkeypatch, capsys):
    """The last third of the time has one class only: the board says so, and it is no success."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{i % 5},{'uv'[i % 2] if i < 40 else 'u'}\n" for i in range(60))
    (tmp_path / "t.csv").write_text("t,a,y\n" + rows)
    words = ["compare", "t.csv", "-t", "y", "--time", "t", "--cv", "3", "--models", "tree"]
    assert cli.run([*words, "--effort", "quick", "--test-size", "0"]) == 2
    heard = capsys.readouterr()
    assert "roc_auc needs two classes" in " ".join(heard.out.split())
    assert "error: no model has a score; the leaderboard gives the reasons" in heard.err
    assert cli.run(["explain", "runs/latest", "--row", "1"]) == 2
    assert "has no model file: no model has a score." in capsys.readouterr().err
    results = tmp_path / "runs" / "latest" / "results.json"
    told = json.loads(results.read_text())
    results.write_text(json.dumps(told | {"recommended": "mine"}))
    assert cli.run(["explain", "runs/latest", "--row", "1"]) == 2
    assert "has no model file: mine is not a Pellucid model." in capsys.readouterr().err
    failed = {"test": {"model": "tree", "failed": "no memory"}, "recommended": "tree"}
    results.write_text(json.dumps(told | failed))
    assert cli.run(["explain", "runs/latest", "--row", "1"]) == 2
    assert "has no model file: tree could not be fitted (no memory)." in capsys.readouterr().err
    results.unlink()
    for words in (["explain", "runs/latest", "--row", "1"], ["predict", "runs/latest", "t.csv"]):
        assert cli.run(words) == 2
        said = capsys.readouterr().err
        assert "no model file: the run is not complete. Resume it: pellucid compare" in said


def test_constant_number(complain):
    only = "a,y\n" + "".join(f"{i},2.5\n" for i in range(30))
    assert "'y' is 2.5 in every row" in complain(only, "-t", "y")


def test_all_rows_lack_the_target(complain):
    none = "a,y\n" + "".join(f"{i},\n" for i in range(30))
    assert "the target 'y' is missing in all 30 rows" in complain(none, "-t", "y")


def test_duplicate_columns(complain):
    assert "2 columns named 'a'" in complain("a,a,y\n1,2,u\n3,4,v\n", "-t", "y")


def test_a_folder(complain, tmp_path):
    (tmp_path / "here").mkdir()
    assert "here is a folder" in complain(None, "-t", "y", name="here")


def test_broken_parquet(complain):
    assert "t.parquet cannot be read" in complain(b"PAR1 nothing", "-t", "y", name="t.parquet")


def test_wrong_encoding(complain):
    assert "t.csv is not UTF-8: byte 0xff" in complain(b"a,y\n1,\xff\xfe\xfa\n", "-t", "y")


def test_three_rows(complain):
    assert "has only 3 rows with a target. A comparison needs at least 6" in complain(
        "a,y\n1,u\n2,v\n3,u\n", "-t", "y"
    )


def test_infinite_values(complain):
    bad = GOOD.replace("3,9,v", "inf,9,v")
    assert "column 'a' contains infinity in row 3" in complain(bad, "-t", "y")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("xyz", "column 'w' contains text ('x'), but weights must be numbers."),
        (["2020-01-01", "2020-01-02"], "column 'w' contains dates, but weights must be numbers."),
        (["1", "-2"], "the weight 'w' is negative in row 1. Weights must be present"),
        (["1", "2", ""], "the weight 'w' is missing in row 2."),
    ],
)
def test_weights_that_are_none(complain, weights, message):
    lines = GOOD.splitlines()
    rows = [f"{line},{weights[k % len(weights)]}" for k, line in enumerate(lines[1:])]
    table = "\n".join([lines[0] + ",w", *rows]) + "\n"
    assert message in complain(table, "-t", "y", "--weights", "w")


def test_a_target_with_units_says_how_numbers_are_written(complain):
    heavy = "a,y\n" + "".join(f"{i},{i}.25 kg\n" for i in range(300))
    said = complain(heavy, "-t", "y")
    assert "contains text ('0.25 kg'). If that is a number, write it like 3.2" in said
    assert "without units" in complain(heavy, "-t", "y", "--task", "regression")


@pytest.mark.parametrize("power", [200, -200])
def test_targets_whose_squares_are_no_floats(complain, power):
    table = "a,y\n" + "".join(f"{i % 7},{i}.5e{power}\n" for i in range(60))
    said = complain(table, "-t", "y")
    assert f"up to 5.95e{power + 1:+}" in said and "Rescale it." in said


def test_too_many_classes(complain):
    many = "a,y\n" + "".join(f"{i},name{i}\n" for i in range(300))
    assert "300 different values, too many for classes" in complain(many, "-t", "y")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "rocauc"], "Unknown metric 'rocauc'"),
        (["--metric", "rmse"], "metric 'rmse' cannot be used for classification"),
        (["--models", "logistik"], "unknown model 'logistik'. Did you mean 'logistic'?"),
        (["--models", "ols"], "model 'ols' is for regression"),
        (["--cv", "1"], "cv must be an integer from 2 to 100"),
        (["--cv", "x"], "Got 'x' instead"),
        (["--time-limit", "soon"], "a time such as 90s, 10m or 1h"),
        (["--effort", "huge"], "effort must be one of quick, normal, thorough"),
        (["--group", "c"], "column 'c' is not in t.csv"),
        (["--group", "y"], "is the target and cannot also be used as group"),
        (["--positive", "w"], "has no class 'w'"),
        (["--ignore", "X1"], "unknown check 'X1'"),
        (["--task", "regression"], "contains text ('u')"),
        (["--tst", "x"], "No such option"),
    ],
)
def test_wrong_settings(complain, arguments, message):
    assert message in complain(GOOD, "-t", "y", *arguments)


def test_an_unwritable_folder(complain, tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot create the run folder" in complain(GOOD, "-t", "y", "-o", "file/run")


def test_a_full_folder_is_not_replaced(complain, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    assert "mine is not empty" in complain(GOOD, "-t", "y", "-o", "mine", "-q")
    assert "not part of a run, so it is not replaced" in complain(
        GOOD, "-t", "y", "-o", "mine", "--force", "-q"
    )
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"


def test_wrong_settings_file(complain, tmp_path):
    (tmp_path / "pellucid.toml").write_text("taget = 'y'\n")
    assert "unknown setting 'taget'. Did you mean 'target'?" in complain(GOOD)
    (tmp_path / "pellucid.toml").write_text("target = \n")
    assert "not valid TOML" in complain(GOOD)


def test_another_encoding_can_be_named(complain, tmp_path, capsys):
    text = ("größe,y\n" + "".join(f"{i % 7},{'äu'[i % 2]}\n" for i in range(40))).encode("cp1252")
    told = complain(text, "-t", "y", "--encoding", "ascii")
    assert "t.csv is not ASCII: byte 0xf6" in told and "--encoding cp1252" in told
    assert "There is no encoding 'klingon'" in complain(text, "-t", "y", "--encoding", "klingon")
    assert cli.run(["check", "t.csv", "-t", "y", "--encoding", "cp1252"]) == 0
    assert "ä = 20 (50.0 %)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
@pytest.mark.parametrize(("kilobytes", "file"), [(2, "pellucid-"), (40, "events.jsonl"), (120, "")])
def test_a_full_disk_leaves_no_half_of_a_file(tmp_path, kilobytes, file):
    def little_room():
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, kilobytes * 1024))

    command = [sys.executable, "-c", "from pellucid.app.cli import main; main()", "compare", "tips"]
    command += ["--models", "ols", "--effort", "quick", "--cv", "3", "-q", "-o", "run"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=little_room
    )
    assert done.stderr.count("\n") == 1, done.stderr
    if file:
        assert done.returncode == 2 and "error: cannot write" in done.stderr and file in done.stderr
    else:  # the results are kept; only the report has no room
        assert done.returncode == 0 and "note: the report could not be written" in done.stderr
    left = {path.name: path for path in (tmp_path / "run").iterdir()}
    assert "report.html" not in left and not any(name.startswith(".") for name in left)
    for name in ("results.json", "timings.json"):
        assert name not in left or json.loads(left[name].read_text())
    if "model.pellucid" in left:
        assert pellucid.load(left["model.pellucid"])


def test_names_with_blanks_around_are_meant(complain):
    told = complain(GOOD.replace("a,b,y", " a , b, y "), "-t", "y")
    assert "Did you mean ' y '? Columns: ' a ', ' b', ' y '." in told


def test_a_gate_that_nothing_can_pass(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(GOOD)
    assert cli.run(["compare", "t.csv", "-t", "y", "--fail-under", "nan", "--plan"]) == 2
    assert "--fail-under must be a finite number" in capsys.readouterr().err


def test_too_few_groups_say_the_way_out(complain):
    table = "g,a,y\n" + "".join(f"{i % 5},{i * 3 % 11},{i * i % 7}.5\n" for i in range(60))
    told = complain(table, "-t", "y", "--group", "g")
    assert "5 folds need at least 5 groups, but only 4 can be used for training." in told
    assert "(--cv 4)" in told and "(--test-size 0)" in told


def test_what_a_file_is_named_can_be_mended_in_a_shell(complain):
    assert "Its content looks like csv: rename it to end in .csv" in complain(GOOD, name="t.dat")
    assert "rename it to end in .csv, .tsv or .jsonl" in complain(GOOD, name="t.parquet")
    assert "rename it to end in .parquet" in complain(b"PAR1" + b"x" * 30, name="t.csv")


def test_advice_is_quoted_for_a_shell(complain):
    endless = GOOD.replace("a,b,y", "it is,b,y") + "inf,1,u\n"
    assert "(--drop 'it is')" in complain(endless, "-t", "y")


def test_messages_show_numbers_as_people_write_them():
    import numpy as np

    from pellucid.errors import ParameterError

    with pytest.raises(ParameterError, match=r"cv must be an integer .* Got 1 instead"):
        pellucid.compare("penguins", cv=np.int64(1))


def test_a_run_that_is_being_written_is_neither_replaced_nor_continued(complain, tmp_path, capsys):
    from pellucid.comparison.execution.journal import Journal

    (tmp_path / "t.csv").write_text(GOOD)
    run = ["compare", str(tmp_path / "t.csv"), "-t", "y", "--models", "tree", "--cv", "2", "-q"]
    out = tmp_path / "live"
    assert cli.run([*run, "--effort", "quick", "-o", str(out)]) == 0
    capsys.readouterr()
    before = (out / "events.jsonl").read_bytes()
    (out / "results.json").unlink()
    live = Journal(out / "events.jsonl")
    said = "another process is writing live"
    assert said in complain(GOOD, "-t", "y", "-o", "live", "--force", "-q")
    assert said in complain(GOOD, "--resume", "-o", "live")
    assert (out / "events.jsonl").read_bytes() == before
    live.close()
    assert cli.run(["compare", "--resume", "-o", str(out), "-q"]) == 0


def test_replacing_a_run_does_not_close_what_it_opened(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = ["compare", "iris", "--models", "tree", "--cv", "2", "--effort", "quick", "-j1"]
    for times, more in ((1, []), (2, ["--force"]), (3, ["--force"])):
        assert cli.run([*run, "-o", "same", *more]) == 0
        said = capsys.readouterr()
        assert ("used once" if times == 1 else f"used {times} times") in said.out
        assert "WROTE  same/report.html" in said.err


def test_numbers_with_fractions_can_be_classes(tmp_path, capsys):
    rows = "".join(f"{i % 7 + (i % 3 > 0) * 3},{(1.5, 2.5, 3)[i % 3]}\n" for i in range(90))
    (tmp_path / "t.csv").write_text("a,y\n" + rows)
    run = ["compare", str(tmp_path / "t.csv"), "-t", "y", "--task", "classification", "--json"]
    code = cli.run([*run, "--models", "lda", "--effort", "quick", "-o", str(tmp_path / "r"), "-q"])
    told = json.loads(capsys.readouterr().out)
    assert code == 0 and {row["status"] for row in told["leaderboard"]} == {"ok"}
    assert [c["label"] for c in told["data"]["classes"]] == ["1.5", "2.5", "3"]


def test_a_test_part_that_no_model_came_to_says_so():
    from pellucid.report import terminal

    told = {"test": None, "complete": True, "plan": {"test_rows": 10, "test_why": "stratified"}}
    assert terminal.test_set(told, {}) == ["TEST SET  not used yet: no model has a score"]
    assert "not complete" in terminal.test_set(told | {"complete": False}, {})[0]


def test_a_class_that_is_read_as_missing_is_told(complain):
    rows = "".join(f"{i},{'NA' if i % 3 else 'yes'}\n" for i in range(30))
    said = complain("a,y\n" + rows, "-t", "y")
    assert "the target 'y' has only one class, 'yes'" in said
    assert (
        "20 rows without a target are excluded; values such as NA and null are read as missing"
        in said
    )


def test_classes_beyond_whole_numbers_of_arrays_have_names(tmp_path, capsys, rng):
    rows = "".join(f"{x},{1e300 if x > 0 else -1e300:.0e}\n" for x in rng.normal(size=60))
    (tmp_path / "t.csv").write_text("a,y\n" + rows)
    words = ["compare", str(tmp_path / "t.csv"), "-t", "y", "--models", "tree", "--cv", "2"]
    assert cli.run([*words, "--effort", "quick", "-q", "-o", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    assert cli.run(["predict", str(tmp_path / "run"), str(tmp_path / "t.csv"), "-q"]) == 0
    assert capsys.readouterr().out.startswith("prediction,p_-1e+300,p_1e+300\n")


def test_the_likeliest_targets_are_named(complain):
    names = [f"c{i}" for i in range(20)]
    wide = ",".join(names) + "\n" + ",".join("1" for _ in names) + "\n"
    told = complain(wide)
    assert "Likely: 'c19' (the last column), 'c0' (the first column)." in told
    assert "c10, ..., c19 (20 in all)" in told
    told = complain("id,Class label,y,z\n1,a,2,3\n")
    assert "Likely: 'Class label', 'y', 'z' (the last column), 'id' (the first column)." in told


def test_a_list_of_columns_does_not_contradict_itself(complain):
    told = complain("'OBS' 'GRADE'\nx\ny\n", "-t", "GRADE")
    assert "column 'GRADE' is not in t.csv." in told
    assert "It has one column, named \"'OBS' 'GRADE'\"." in told
    told = complain('it\'s,"a, b",y\n1,2,3\n', "-t", "b")
    assert "Columns: \"it's\", 'a, b', y." in told


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [(["--models", "xgboost"], "gradient_boosting"), (["--models", "random_forest"], "forest"),
     (["--metric", "auc"], "roc_auc"), (["--metric", "logloss"], "log_loss")],
)  # fmt: skip
def test_names_from_elsewhere_get_the_name_that_is_meant(arguments, meant, capsys):
    assert cli.run(["compare", "iris", "--plan", *arguments]) == 2
    assert f"Did you mean '{meant}'?" in capsys.readouterr().err
