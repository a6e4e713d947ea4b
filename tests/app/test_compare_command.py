"""`pellucid compare` and its relatives as commands: streams, formats, gates, settings, hostile names."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pellucid
from pellucid.app import cli, compare_command
from pellucid.errors import PellucidWarning

QUICK = ["--models", "tree", "--effort", "quick", "--cv", "3"]


def call(capsys, *arguments):
    """Exit code, stdout, stderr."""
    code = cli.run(list(arguments))
    heard = capsys.readouterr()
    return code, heard.out, heard.err


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A folder with one finished run in runs/."""
    folder = tmp_path_factory.mktemp("ran")
    command = [sys.executable, "-c", "from pellucid.app.cli import main; main()"]
    done = subprocess.run(
        [*command, "compare", "penguins", *QUICK, "--json"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder / "stdout.json").write_text(done.stdout)
    (folder / "stderr.txt").write_text(done.stderr)
    return folder


@pytest.fixture
def here(ran, monkeypatch):
    monkeypatch.chdir(ran)
    return ran


def test_json_alone_is_on_stdout(here):
    data = json.loads((here / "stdout.json").read_text())
    assert data["schema"] == 2 and data["leaderboard"][0]["model"] == "tree"
    assert (here / "runs" / "latest" / "results.json").read_text() == (
        here / "stdout.json"
    ).read_text()


def test_stderr_tells_data_checks_plan_and_one_line_per_model(here):
    shown = (here / "stderr.txt").read_text()
    for word in (
        "sha256",
        "data    344 rows",
        "checks  ok",
        "plan    test set of 69 rows",
        "WROTE",
        "NEXT",
    ):
        assert word in shown
    # A final fit may begin, and even end, while the last fold of a model still runs.
    scored = re.findall(r" (?:scored|done) +0\.", shown)
    assert len(scored) == 2 and "\x1b" not in shown and "\r" not in shown
    after = ["final fits on all training rows ...", "testing and explaining tree ..."]
    places = [shown.index(phase) for phase in [*after, "writing the report ..."]]
    assert shown.index(scored[0]) < places[1] and places == sorted(places)
    assert max(map(len, shown.splitlines())) <= 100


def test_the_run_folder_holds_everything(here):
    names = {path.name for path in (here / "runs" / "latest").iterdir()}
    assert names >= {
        "config.toml", "events.jsonl", "results.json", "timings.json", "leaderboard.csv",
        "predictions.parquet", "model.pellucid", "summary.json", "log.txt", "parts",
    }  # fmt: skip


@pytest.mark.parametrize("columns", [60, 80, 100, 120])
def test_lines_are_as_wide_as_the_terminal(here, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in (
        ["show", "runs/latest"], ["show", "tree"], ["show", "gradient_boosting"], ["models"],
        ["check", "penguins"], ["compare", "penguins", "--plan"], ["compare", "--help"],
    ):  # fmt: skip
        code, out, _ = call(capsys, *command)
        lines = [line for line in out.splitlines() if not line.startswith("source ")]
        assert code == 0 and max(map(len, lines)) <= columns, command
        assert "…" not in out


def test_a_narrow_board_has_fewer_columns_and_says_so(here, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    narrow = call(capsys, "show", "runs/latest")[1]
    monkeypatch.setenv("COLUMNS", "100")
    wide = call(capsys, "show", "runs/latest")[1]
    assert "log loss" in wide.splitlines()[1] and "log loss" not in narrow.splitlines()[1]
    assert "a wider terminal also shows: roc auc, log loss, fit" in narrow
    assert "wider" not in wide and "TEST SET  (used once" in wide
    shown = wide[wide.index("\n\n") :]  # the sentences are the same, word by word
    assert shown.split() == narrow[narrow.index("\n\n") :].split()


def test_the_stored_settings_repeat_the_run(here, capsys, tmp_path):
    code, out, _ = call(
        capsys, "compare", "--config", "runs/latest/config.toml", "-o", str(tmp_path / "again"), "--json"
    )  # fmt: skip
    assert code == 0 and out == (here / "stdout.json").read_text()


@pytest.mark.parametrize(
    ("name", "look"),
    [
        ("csv", lambda text: next(csv.DictReader(io.StringIO(text)))["model"] == "tree"),
        ("jsonl", lambda text: json.loads(text.splitlines()[0])["model"] == "tree"),
        ("md", lambda text: "| = | tree |" in text),
        ("text", lambda text: "<- recommended" in text),
    ],
)
def test_formats(here, capsys, name, look):
    code, out, _ = call(capsys, "compare", "--resume", "--format", name)
    assert code == 0 and look(out)


def test_gates(here, capsys):
    assert call(capsys, "compare", "--resume", "--fail-under", "0.5")[0] == 0
    code, _, err = call(capsys, "compare", "--resume", "--fail-under", "0.999")
    assert code == 1 and "does not reach --fail-under" in err


def test_runs_show_explain_report(here, capsys):
    assert "penguins" in call(capsys, "runs")[1]
    entry = json.loads(call(capsys, "runs", "--json")[1])[0]
    assert entry["recommended"] == "tree" and f"{entry['mean']:.4f}" in call(capsys, "runs")[1]
    assert " missing (" in call(capsys, "explain", "--row", "3")[1]  # nothing was measured there
    assert "DecisionTreeClassifier" in call(capsys, "show", "runs/latest/model.pellucid")[1]
    code, out, _ = call(capsys, "explain", "runs/latest", "--row", "17")
    assert code == 0 and out.startswith("row 17 -> ") and " + contributions = " in out
    shown = json.loads(call(capsys, "explain", "--row", "3", "--json")[1])
    own = shown["rows"][0]
    assert (shown["schema"], own["row"]) == (2, 3) and own["class"] == own["prediction"]
    parts = sum(own["contributions"].values())
    assert own["baseline"] + parts == pytest.approx(own["total"], abs=1e-12)
    code, _, err = call(capsys, "explain", "runs/latest", "--row", "999")
    assert code == 2 and "rows 0 to 343" in err
    assert (
        call(capsys, "report", "-o", "r.md")[0] == 0
        and "| = | tree |" in (here / "r.md").read_text()
    )
    assert call(capsys, "report", "-o", "r.json", "--no-rows")[0] == 0
    assert json.loads((here / "r.json").read_text())["rows"] is None


def test_a_run_of_another_schema_is_refused_and_can_be_resumed(here, capsys):
    run = here / "runs" / "latest"
    for name, command in (("summary.json", "report"), ("results.json", "show")):
        data = json.loads((run / name).read_text())
        (run / name).write_text(json.dumps(data | {"schema": 1}))
        code, out, err = call(capsys, command)
        assert (code, out) == (2, "") and f"{name} has schema 1, but" in err
        assert "reads schema 2. Resume the run (pellucid compare --resume --out" in err
        assert call(capsys, "compare", "--resume", "-qq")[0] == 0
        assert json.loads((run / name).read_text())["schema"] == 2
        assert call(capsys, command)[0] == 0


def test_nothing_to_look_at_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for command in ("explain", "show", "report"):
        code, out, err = call(capsys, command)
        assert (code, out) == (2, "") and "there is no run yet. Start one with" in err
    assert "no runs in runs: start one" in call(capsys, "runs")[2]
    assert call(capsys, "runs", "elsewhere") == (2, "", "error: folder elsewhere does not exist.\n")


def test_the_list_of_models_is_not_cut_short(capsys):
    shown = call(capsys, "models", "--task", "classification")[1]
    words = " ".join(shown.split())
    assert "…" not in shown and "small trees, misclassified rows weighted up" in words
    assert "  svm_rbf: C 0.1, 1, 10, 100; gamma 0.01, scale\n" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_show_a_method(here, capsys):
    code, out, _ = call(capsys, "show", "tree")
    assert code == 0 and "decision_tree.py" in out and "impurity" in out
    code, _, err = call(capsys, "show", "tre")
    assert code == 2 and "'tre' is not a method, model file or run. Did you mean 'tree'?" in err


def test_every_method_and_every_class_can_be_shown(here, capsys):
    from pellucid.comparison.planning.registry import entries
    from pellucid.names import ESTIMATORS

    ids = {entry.id for task in ("classification", "regression") for entry in entries(task)}
    for name in sorted(ids | {known for names in ESTIMATORS.values() for known in names}):
        code, out, err = call(capsys, "show", name)
        assert code == 0 and not err and "source  " in out and len(out) > 300, name
    assert "not part of comparisons" in call(capsys, "show", "kmeans")[1]


def test_models_and_plan(here, capsys):
    assert "logistic" in call(capsys, "models")[1]
    listed = json.loads(call(capsys, "models", "--task", "regression", "--json")[1])
    assert {entry["task"] for entry in listed} == {"regression"}
    code, out, _ = call(capsys, "compare", "penguins", "--plan", "--cv", "4")
    assert code == 0 and "command line" in out and "about" in out
    assert "auto: cv+" in next(line for line in out.splitlines() if line.startswith("intervals"))
    plan = json.loads(call(capsys, "compare", "penguins", "--plan", "--json", "--cv", "4")[1])
    assert plan["settings"]["cv"] == {"value": 4, "source": "command line"}


@pytest.mark.parametrize(("effort", "seconds"), [("quick", 120), ("normal", 300)])
def test_the_plan_shows_every_limit_with_the_value_it_has(here, capsys, effort, seconds):
    plan = ["compare", "penguins", "--plan", "--effort", effort, "--cv", "4", "--jobs", "2"]
    out = call(capsys, *plan)[1]
    values = dict(line.split("  ", 1) for line in out.splitlines() if "  " in line.strip())
    assert f"no time limit; at most {seconds} s of estimated work" in values["model_timeout"]
    assert "no limit" in values["time_limit"] and " GB " in values["memory_limit"]
    assert not [line for line in out.splitlines() if line.split()[1:2] == ["-"]]
    said = " ".join(out.split())
    assert f"limits work: {seconds} s of estimated work per model" in said
    assert "time limit: none" in said and "GB per process" in said and "processes: 2" in said
    known = json.loads(call(capsys, *plan, "--json", "--time-limit", "90s")[1])["limits"]
    assert known["time limit"].startswith("90 s of wall-clock time") and known["processes"] == "2"
    assert set(known) > {"work", "model timeout", "time limit", "hanging", "memory"}


def test_runs_have_dates_and_durations_and_whole_names(here, capsys):
    import re

    from pellucid.app.commands.runs import facts, listed

    out = call(capsys, "runs")[1]
    name = next((here / "runs").glob("2*")).name
    head, _, line = out.splitlines()
    assert line.startswith(f"{name}  ") and "…" not in out
    assert head.split()[:3] == ["run", "date", "took"]
    assert re.search(r"  \d{4}-\d\d-\d\d \d\d:\d\d  +\d+(\.\d)? s  ", line)
    entry = facts(here / "runs" / name)
    assert entry["seconds"] > 0 and entry["date"][:10] in call(capsys, "runs", "--json")[1]
    long = entry | {"run": "2026-11-17-1200-" + "x" * 60, "target": "a target of many words " * 4}
    narrow = listed([long, entry], 80)
    assert max(map(len, narrow)) <= 80 and any(long["run"] in line for line in narrow)
    assert "logistic" not in narrow[0] and len(listed([long, entry], None)) == 4


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, ""), (0.51, "0.5 s"), (59.2, "59 s"), (64, "1 min 04 s"),
                          (3599.7, "1 h 00 min"), (7260, "2 h 01 min")],
)  # fmt: skip
def test_durations(seconds, text):
    from pellucid.app.commands.runs import duration

    assert duration(seconds) == text


def test_precedence_of_settings(tmp_path, monkeypatch, capsys):
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    (tmp_path / "pyproject.toml").write_text("[tool.pellucid]\ncv = 7\nseed = 3\nrepeats = 2\n")
    monkeypatch.setenv("PELLUCID_SEED", "4")
    monkeypatch.setenv("PELLUCID_REPEATS", "3")
    out = call(capsys, "compare", "penguins", "--plan", "--json", "--repeats", "4")[1]
    settings = json.loads(out)["settings"]
    assert settings["cv"]["value"] == 7 and settings["cv"]["source"].endswith("pyproject.toml")
    assert settings["seed"] == {"value": 4, "source": "environment PELLUCID_SEED"}
    assert settings["repeats"] == {"value": 4, "source": "command line"}
    assert settings["effort"] == {"value": "normal", "source": "default"}


def test_every_flag_has_its_word_in_the_file_and_in_the_environment(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pellucid.toml").write_text('format = "json"\nrandom-state = 5\nquiet = 1\n')
    code, out, err = call(capsys, "compare", "iris", "--plan")
    assert code == 0 and err == "" and json.loads(out)["settings"]["seed"]["value"] == 5
    assert call(capsys, "compare", "iris", "--plan", "--format", "text")[1].startswith("data")
    monkeypatch.setenv("PELLUCID_RANDOM_STATE", "7")
    assert (
        json.loads(call(capsys, "compare", "iris", "--plan")[1])["settings"]["seed"]["value"] == 7
    )
    (tmp_path / "pellucid.toml").write_text("no-progress = true\ncolor = 'never'\njson = true\n")
    assert json.loads(call(capsys, "check", "iris")[1])["schema"] == 1
    (tmp_path / "pellucid.toml").unlink()
    monkeypatch.setenv("PELLUCID_JSON", "1")
    assert json.loads(call(capsys, "check", "iris")[1])["schema"] == 1


def test_init_writes_a_file_that_is_read_back(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert call(capsys, "init", "--target", "species")[0] == 0
    code, out, _ = call(capsys, "compare", "penguins", "--plan")
    assert code == 0 and "pellucid.toml" in out
    code, _, err = call(capsys, "init")
    assert code == 2 and "exists" in err


@pytest.fixture
def leaky(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{i * 7 % 23},{'2024' if i % 3 == 0 else ''},{'yes' if i % 3 == 0 else 'no'}"
        for i in range(120)
    ]
    (tmp_path / "leak.csv").write_text("a,cancel,churned\n" + "\n".join(rows) + "\n")


def test_a_leak_is_told_and_stops_only_with_strict(leaky, capsys):
    code, out, err = call(capsys, "compare", "leak.csv", "-t", "churned", *QUICK, "--no-progress")
    assert code == 0 and "LEADERBOARD" in out
    assert "! D01" in err and "cancel" in err
    code, out, err = call(capsys, "compare", "leak.csv", "-t", "churned", "--strict")
    assert code == 1 and out == "" and "no model was trained" in err


def test_check_is_a_gate(leaky, capsys):
    code, out, _ = call(capsys, "check", "leak.csv", "-t", "churned")
    assert code == 1 and "'cancel'" in out
    code, out, _ = call(capsys, "check", "leak.csv", "-t", "churned", "--format", "github")
    assert code == 1 and out.startswith("::error file=leak.csv,title=D01")
    assert call(capsys, "check", "penguins")[0] == 0


HOSTILE = ["<script>alert(1)</script>", '"quoted", with comma', "x" * 10_000, "\u202eright\u200f"]
HOSTILE += ["🐧🐧", "{{7*7}}"]


def test_hostile_names_and_labels(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with open("t.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*HOSTILE[:6], "<b>y</b>"])
        for i in range(60):
            writer.writerow([*((i * (k + 3)) % 17 for k in range(6)), HOSTILE[i % 3]])
    code, out, err = call(capsys, "compare", "t.csv", "-t", "<b>y</b>", *QUICK, "-o", "run")
    assert code == 0, err
    assert all(len(line) <= 100 for line in out.splitlines())
    assert "\u202e" not in out + err and "\t" not in out
    assert call(capsys, "explain", "run", "--row", "0")[0] == 0
    shown = call(capsys, "compare", "--resume", "-o", "run", "--format", "md")[1]
    assert "<script>" not in shown.replace("\\<", "")


def test_the_report_is_opened_at_the_end(here, capsys, monkeypatch):
    import click

    opened = []
    monkeypatch.setattr(click, "launch", opened.append)
    code, _, _ = call(
        capsys,
        "compare",
        "xor",
        "--models",
        "majority",
        "--cv",
        "2",
        "-o",
        "shown",
        "--open",
        "-qq",
    )
    page = here / "shown" / "report.html"
    assert code == 0 and opened == [page.resolve().as_uri()] and page.exists()


def test_columns_are_named_whole_everywhere(tmp_path, monkeypatch, capsys):
    """Repeated options, lists in a file, the environment: a comma or blank in a name divides nothing."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 7},{i % 5},{i % 3},{i * i % 11},{i}\n" for i in range(40))
    (tmp_path / "t.csv").write_text('"GDP, total",cancel date,a,b,y\n' + rows)
    plan = ["compare", "t.csv", "-t", "y", "--plan", "--json"]

    def dropped(*more):
        code, out, err = call(capsys, *plan, *more)
        assert code == 0, err
        return json.loads(out)["settings"]["drop"]["value"], len(
            json.loads(out)["data"]["features"]
        )

    assert dropped("--drop", "GDP, total", "--drop", "cancel date") == (
        ["GDP, total", "cancel date"],
        2,
    )
    assert dropped("--drop", "GDP, total,a,cancel date")[1] == 1
    (tmp_path / "pellucid.toml").write_text('drop = ["GDP, total", "a"]\n')
    assert dropped() == (["GDP, total", "a"], 2)
    monkeypatch.setenv("PELLUCID_DROP", "cancel date")
    assert dropped() == (["cancel date"], 3)
    code, _, err = call(capsys, *plan, "--drop", "GDP")
    assert code == 2 and "column 'GDP' is not in t.csv." in err
    assert "Columns: 'GDP, total', cancel date, a, b, y." in err


def test_a_run_knows_how_its_table_was_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{'éu'[i % 2]},{i * 3 % 11},7,{i % 2 + i % 5}.5\n" for i in range(40))
    (tmp_path / "latin.csv").write_bytes(('été,b,"c,d",y\n' + rows).encode("cp1252"))
    shown = [
        "--encoding",
        "cp1252",
        "--drop",
        "c,d",
        "--models",
        "ridge",
        "--effort",
        "quick",
        "--cv",
        "2",
        "-qq",
    ]
    assert call(capsys, "compare", "latin.csv", "-t", "y", "-o", "a run", *shown)[0] == 0
    code, out, err = call(capsys, "explain", "a run", "--row", "1")
    assert code == 0 and "été" in out, err
    assert call(capsys, "report", "a run")[0] == 0
    assert call(capsys, "compare", "--resume", "-o", "a run")[0] == 0
    command = json.loads((tmp_path / "a run" / "summary.json").read_text())["reproduce"]["command"]
    assert "--drop c,d --effort quick --encoding cp1252" in command
    (tmp_path / "a run" / "summary.json").unlink()
    assert "pellucid compare --resume --out 'a run'" in call(capsys, "report", "a run")[2]


def test_fewer_folds_than_asked_for_are_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(
        "a,y\n" + "".join(f"{i % 7},{i * i % 31}.5\n" for i in range(60))
    )
    plan = ["compare", "t.csv", "-t", "y", "--plan", "--repeats", "2"]
    shown = " ".join(call(capsys, *plan, "--cv", "40")[1].split())
    assert "nested 24-fold x 2 shuffled CV (too few rows for 40)" in shown
    assert "nested 5-fold x 2 shuffled CV, normal search" in " ".join(
        call(capsys, *plan)[1].split()
    )
    code, out, _ = call(capsys, "compare", "penguins", "--plan", "--json")
    assert code == 0 and json.loads(out)["data"]["task_why"] == "a built-in data set"


def test_ctrl_c_while_the_report_is_written_says_how_to_continue(tmp_path, monkeypatch, capsys):

    def pressed(*given):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    run = ["compare", "iris", "--models", "tree", "--effort", "quick", "--cv", "2", "-o", "r"]
    with monkeypatch.context() as patch:
        patch.setattr(compare_command, "write_report", pressed)
        code, _, err = call(capsys, *run)
    assert code == 130 and "Resume: pellucid compare --resume --out r" in err
    code, _, err = call(capsys, "compare", "--resume", "--out", "r")
    assert code == 0 and (tmp_path / "r" / "report.html").exists()


@pytest.mark.parametrize("part", ["summarise", "write_summary"])
def test_a_report_that_fails_is_a_note_and_costs_no_board(part, tmp_path, monkeypatch, capsys):
    def broken(*given, **more):
        raise ValueError("Nanosecond resolution is not supported")

    where = "summary.summarise" if part == "summarise" else "write_report.write_summary"
    monkeypatch.chdir(tmp_path)
    run = ["compare", "iris", "--models", "tree", "--effort", "quick", "--cv", "2", "-o", "r"]
    with monkeypatch.context() as patch:
        patch.setattr(f"pellucid.report.{where}", broken)
        code, out, err = call(capsys, *run)
    assert code == 0 and "LEADERBOARD" in out and "TEST SET" in out
    assert "note: the report could not be written: ValueError: Nanosecond resolution" in err
    assert "Try again: pellucid compare --resume --out r" in err
    for name in ("results.json", "leaderboard.csv", "predictions.parquet", "model.pellucid"):
        assert (tmp_path / "r" / name).exists(), name
    before = (tmp_path / "r" / "results.json").read_bytes()
    code, _, err = call(capsys, "compare", "--resume", "--out", "r")
    assert code == 0 and (tmp_path / "r" / "report.html").exists(), err
    assert (tmp_path / "r" / "results.json").read_bytes() == before


def test_an_old_report_that_cannot_be_removed_is_a_note(tmp_path, monkeypatch, capsys):
    def refused(self, missing_ok=False):
        if self.name == "summary.json":
            raise PermissionError(13, "Permission denied", str(self))
        remove(self, missing_ok)

    remove = Path.unlink
    run = ["compare", "iris", "--models", "tree", "--effort", "quick", "--cv", "2"]
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refused)
        code, out, err = call(capsys, *run, "-o", str(tmp_path / "r"))
    assert code == 0 and "LEADERBOARD" in out
    assert "note: the report could not be written: PermissionError" in err


def test_a_full_disk_costs_the_files_and_not_the_board(tmp_path, monkeypatch, capsys):
    def full(*given):
        raise OSError(28, "No space left on device")

    run = ["compare", "iris", "--models", "tree", "--effort", "quick", "--cv", "2"]
    folder = str(tmp_path / "r")
    with monkeypatch.context() as patch:
        patch.setattr("pellucid.comparison.run.wide", full)
        code, out, err = call(capsys, *run, "-o", folder)
        with pytest.warns(PellucidWarning, match="could not be written to .*: No space left"):
            result = pellucid.compare(
                "iris", models=["tree"], effort="quick", cv=2, out=tmp_path / "python"
            )
    assert code == 2 and "LEADERBOARD" in out and result.recommended == "tree"
    assert f"error: the results could not be written to {folder}: No space left" in err
    code, _, err = call(capsys, "compare", "--resume", "--out", folder)
    assert code == 0 and (tmp_path / "r" / "results.json").exists(), err


def test_a_time_limit_that_lets_no_model_run_is_no_result(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = ["compare", "iris", "--models", "tree", "--effort", "quick", "-o", "r", "-qq"]
    code, out, err = call(capsys, *run, "--time-limit", "0.01s")
    assert code == 2 and "error: no model has a score; raise --time-limit" in err
    assert "stopped: not started: it needs about 1 s, but only 0 s were left" in out
    code, out, _ = call(capsys, "compare", "--resume", "r", "-qq")  # without a limit: to the end
    assert code == 0 and "<- recommended" in out


def test_any_model_of_a_run_can_be_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = ["compare", "iris", "--models", "tree,lda", "--effort", "quick", "--cv", "2", "-qq"]
    assert call(capsys, *run, "-o", "r")[0] == 0
    before = (tmp_path / "r" / "results.json").read_bytes()
    best = json.loads(before)["recommended"]
    other = {"tree": "lda", "lda": "tree"}[best]
    code, out, err = call(capsys, "compare", "--resume", "r", "--use", other)
    assert code == 0, err
    assert f"saved {other}, fitted on 120 training rows: r/{other}.pellucid" in out
    assert "test set, 30 rows: accuracy" in out and "the test set has been used 2 times" in out
    assert f"you chose {other}; the recommended model is " in out
    code, out, _ = call(capsys, "compare", "--resume", "--out", "r", "--use", other, "--json")
    shown = json.loads(out)
    assert shown["test_used"] == 2 and shown["recommended"] == best  # the same model: nothing new
    assert (tmp_path / "r" / "results.json").read_bytes() == before
    from pellucid.persist import load

    assert type(load(tmp_path / "r" / f"{other}.pellucid")).__name__ != type(
        load(tmp_path / "r" / "model.pellucid")).__name__  # fmt: skip
    code, _, err = call(capsys, "compare", "--resume", "r", "--use", "forest")
    assert code == 2 and "no model 'forest' in this run. Models with a score: majority" in err
    code, _, err = call(capsys, *run, "--use", "lda")
    assert code == 2 and "--use saves a model of an existing run: add --resume RUN" in err
    assert call(capsys, *run, "-o", "r", "--force")[0] == 0  # such files are parts of a run


def test_a_complete_run_is_judged_anew_without_fitting_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = ["compare", "iris", "--models", "tree", "--effort", "quick", "--cv", "2", "-o", "r", "-q"]
    assert call(capsys, *run)[0] == 0
    journal = (tmp_path / "r" / "events.jsonl").read_text()
    code, out, err = call(capsys, "compare", "--resume", "r", "--prefer", "score", "--json")
    assert code == 0, err
    assert json.loads(out)["settings"]["prefer"] == "score"
    assert 'prefer = "score"' in (tmp_path / "r" / "config.toml").read_text()
    more = (tmp_path / "r" / "events.jsonl").read_text().removeprefix(journal)
    assert {json.loads(line)["event"] for line in more.splitlines()} <= {"opened", "finished"}


def test_amounts_count_as_numbers_and_a_warning_is_said_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [
        f'"${1000 + 37 * (i % 91):,}.50",{2**53 + 2 * i + 1},{"ny"[i % 3 > 1]}' for i in range(150)
    ]
    (tmp_path / "us.csv").write_text("\n".join(["price,big,bought", *rows]))
    code, out, err = call(capsys, "check", "us.csv", "--target", "bought")
    assert code == 0
    assert "column 'price' of us.csv is read as numbers: '$1,000.50' is 1000.5" in err
    assert "'price'" not in out  # nothing is wrong with it
    assert err.count("beyond 2**53") == 1
