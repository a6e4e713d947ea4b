"""Killed, interrupted, continued: the same bytes in the end, nothing corrupt, nobody left behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

COMMAND = [sys.executable, "-c", "from pellucid.app.cli import main; main()"]
RUN = [
    "compare",
    "penguins",
    "--models",
    "qda,logistic",
    "--cv",
    "3",
    "--effort",
    "quick",
    "-o",
    "run",
]


def start(folder, *arguments):
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(folder, *arguments):
    return subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True)


def lines(folder):
    path = folder / "run" / "events.jsonl"
    return path.read_text().count("\n") if path.exists() else 0


def wait_for(folder, count, process):
    end = time.monotonic() + 60
    while lines(folder) < count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted run, with one job at a time."""
    folder = tmp_path_factory.mktemp("whole")
    done = finish(folder, *RUN, "-j", "1")
    assert done.returncode == 0, done.stderr
    rows = json.loads((folder / "run" / "results.json").read_text())["leaderboard"]
    assert any("fits of the search" in note for row in rows for note in row["notes"]), rows
    return folder / "run"


def continued(folder, whole):
    done = finish(folder, "compare", "--resume", "--out", "run", "-j", "2", "-q")
    assert done.returncode == 0, done.stderr
    assert (folder / "run" / "results.json").read_bytes() == (whole / "results.json").read_bytes()
    same = ("leaderboard.csv", "config.toml", "model.pellucid")
    for name in same:
        assert (folder / "run" / name).read_bytes() == (whole / name).read_bytes(), name


def kill_at(folder, events):
    """Start, kill -9 after so many events, and see that no child survives."""
    process = start(folder, *RUN, "-j", "2")
    wait_for(folder, events, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_results_are_the_same_for_one_and_two_jobs(tmp_path, whole):
    assert finish(tmp_path, *RUN, "-j", "2").returncode == 0
    assert (tmp_path / "run" / "results.json").read_bytes() == (whole / "results.json").read_bytes()


def test_results_hold_no_clock_path_or_host(whole):
    text = (whole / "results.json").read_text()
    assert str(whole.parent) not in text and os.uname().nodename not in text
    assert "seconds" not in text and time.strftime("%Y-%m") not in text
    assert "models" in json.loads((whole / "timings.json").read_text())


def test_killed_and_continued_gives_the_same_bytes(tmp_path, whole):
    kill_at(tmp_path, 9)
    assert not (tmp_path / "run" / "results.json").exists()
    journal = tmp_path / "run" / "events.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"event":"done","model":"tr')  # a torn line
    continued(tmp_path, whole)


def test_a_final_fit_waits_for_the_folds_of_its_model(tmp_path, whole):
    """Continued where one fold and the final round of a model are left, and two jobs could run both."""
    shutil.copytree(whole, tmp_path / "run")
    journal = tmp_path / "run" / "events.jsonl"
    left = [("logistic", "0"), ("logistic", "final")]
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    kept = [e for e in events if (e.get("model"), e.get("fold")) not in left]
    kept = [e for e in kept if e["event"] not in ("opened", "finished")]
    assert len(kept) < len(events)
    journal.write_text("".join(json.dumps(e) + "\n" for e in kept))
    (tmp_path / "run" / "results.json").unlink()
    continued(tmp_path, whole)


def test_killed_before_its_first_event(tmp_path, monkeypatch, capsys):
    """A run that has only just opened its journal can be resumed."""
    from pellucid.app.cli import run
    from pellucid.comparison import run as runs

    def killed(path):
        raise SystemExit

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(runs.RunState, "read", killed)
        run(["compare", "penguins", "--models", "tree", "--cv", "2", "-o", str(tmp_path / "run")])
    assert (tmp_path / "run" / "events.jsonl").read_bytes() == b""
    assert run(["compare", "--resume", "-o", str(tmp_path / "run")]) == 0
    assert "recommended" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("chain", range(4))
def test_killed_at_any_moment(chain, tmp_path, whole):
    """Twenty kills: four runs, each killed five times and continued each time, then to the end."""
    rng = np.random.default_rng(chain)
    for kill in range(5):
        again = ["compare", "--resume", "-o", "run", "-q"]
        process = start(tmp_path, *(again if lines(tmp_path) else RUN))
        before = lines(tmp_path)
        if kill % 2:  # while fits are running: after some events of this process
            wait_for(tmp_path, before + 1 + int(rng.integers(0, 5)), process)
        else:  # at any moment: while it starts, reads, plans
            wait_for(tmp_path, 1, process)
            time.sleep(float(rng.uniform(0, 1.5)))
        process.kill()
        process.communicate()
    continued(tmp_path, whole)


def test_ctrl_c_keeps_what_is_done_and_says_how_to_continue(tmp_path, whole):
    process = start(tmp_path, *RUN, "-j", "1")
    wait_for(tmp_path, 6, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "stopping after the current fits" in err and "--resume" in err
    assert f"Partial report: {os.path.join('run', 'report.html')}." in err
    assert "majority" in out and "stopped" in out and "Traceback" not in err
    partial = json.loads((tmp_path / "run" / "results.json").read_text())
    assert partial["complete"] is False and partial["test"] is None
    assert len(partial["leaderboard"]) == 3
    continued(tmp_path, whole)


def stopped_by(how, monkeypatch, folder, after):
    """A run that Ctrl-C or the time limit ends when `after` has all its folds."""
    from pellucid.comparison.execution.time_limit import TimeBudget
    from pellucid.comparison.planning.prepare import prepare
    from pellucid.comparison.planning.settings import Settings
    from pellucid.comparison.run import Run

    given = {"models": "lda,mlp", "cv": 2, "effort": "quick", "jobs": 1, "time_limit": "1h"}
    plan, findings = prepare("penguins", Settings.of(given))
    until = [time.monotonic() + 3600]
    monkeypatch.setattr(TimeBudget, "fits_end", property(lambda budget: until[0]))

    def on_event(event):
        if (event["event"], event.get("model"), event.get("fold")) == ("done", after, "1"):
            if how == "Ctrl-C":
                os.kill(os.getpid(), signal.SIGINT)
            else:
                until[0] = time.monotonic()

    folder.mkdir()
    return Run(plan, folder, on_event, findings).run()


@pytest.mark.usefixtures("no_garbage_collection")
@pytest.mark.parametrize("how", ["Ctrl-C", "time limit"])
def test_both_ways_to_stop_early_treat_the_test_part_alike(how, tmp_path, monkeypatch):
    """Opened if a model has its score, for the best of those; else it stays closed."""
    with monkeypatch.context() as patch:
        closed = stopped_by(how, patch, tmp_path / "a", "majority")
    assert closed.data["stopped"] == how and closed.data["test"] is None
    assert not (tmp_path / "a" / "model.pellucid").exists()
    with monkeypatch.context() as patch:
        opened = stopped_by(how, patch, tmp_path / "b", "lda")
    assert opened.data["stopped"] == how and not opened.complete
    assert opened.recommended == opened.data["test"]["model"] == "lda"
    assert opened.best_.predict is not None and opened.timings["openings"] == 1
    best = next(row for row in opened.rows if row["model"] == "lda")
    assert (how == "time limit") == any(
        "the time limit ended the fit on all training rows" in n for n in best["notes"]
    )
    late = next(row for row in opened.rows if row["model"] == "mlp")
    assert late["status"] == "stopped"
    assert (how == "time limit") == late["reason"].startswith("not started: it needs about")


@pytest.mark.slow
def test_ctrl_c_twice_stops_at_once(tmp_path):
    process = start(tmp_path, *RUN, "-j", "1")
    wait_for(tmp_path, 4, process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err


@pytest.mark.slow
def test_a_changed_setting_is_refused_with_the_difference(tmp_path):
    kill_at(tmp_path, 3)
    done = finish(tmp_path, "compare", "--resume", "-o", "run", "--seed", "7")
    assert done.returncode == 2
    assert "seed: 0 -> 7" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
def test_changed_data_is_refused(tmp_path):
    table = "a,b\n" + "\n".join(f"{i * 7 % 13},{'xy'[i % 2]}" for i in range(60)) + "\n"
    (tmp_path / "t.csv").write_text(table)
    first = finish(tmp_path, "compare", "t.csv", "-t", "b", "--models", "tree", "-o", "run", "-q")
    assert first.returncode == 0, first.stderr
    (tmp_path / "run" / "results.json").unlink()
    (tmp_path / "t.csv").write_text(table.replace("6,x", "6,y"))
    done = finish(tmp_path, "compare", "--resume", "-o", "run", "-q")
    assert done.returncode == 2 and "something changed: data:" in done.stderr


def test_a_complete_run_is_shown_again_and_its_report_repaired(whole):
    page = whole / "report.html"
    text = page.read_text()
    page.unlink()
    done = finish(whole.parent, "compare", "--resume", "-o", "run")
    assert done.returncode == 0 and "LEADERBOARD" in done.stdout and "complete" in done.stderr
    assert f"{page.relative_to(whole.parent)} was missing: written again" in done.stderr
    assert page.read_text() == text


def test_a_complete_run_refuses_another_comparison(whole):
    before = contents(whole)
    done = finish(
        whole.parent, "compare", "iris", "--seed", "5", "--resume", "-o", "run", "-q", "--json"
    )
    assert done.returncode == 2 and done.stdout == ""
    assert "cannot resume this run, because something changed: data: " in done.stderr
    assert "seed: 0 -> 5" in done.stderr
    assert contents(whole) == before


def contents(folder):
    return sorted((str(p), p.read_bytes()) for p in folder.rglob("*") if p.is_file())


@pytest.mark.slow
def test_killed_before_the_report_is_repaired(tmp_path, whole):
    """The results are there, the summary is not: the same bytes again, and the report."""
    shutil.copytree(whole, tmp_path / "run")
    for name in ("summary.json", "report.html"):
        (tmp_path / "run" / name).unlink()
    continued(tmp_path, whole)
    assert (tmp_path / "run" / "report.html").exists()
    assert json.loads((tmp_path / "run" / "timings.json").read_text())["openings"] == 1


@pytest.mark.slow
def test_a_run_that_is_told_to_end_leaves_no_copy_of_the_table(tmp_path, monkeypatch):
    with tempfile.TemporaryDirectory(prefix="p") as short:  # sockets have short names only
        monkeypatch.setenv("TMPDIR", short)
        process = start(tmp_path, *RUN, "-j", "1")
        wait_for(tmp_path, 3, process)
        assert list(Path(short).glob("pellucid-*/table.arrow"))
        process.terminate()
        process.communicate(timeout=20)
        assert process.returncode == 143 and not list(Path(short).glob("pellucid-*"))


def test_no_child_outlives_a_killed_parent(tmp_path):
    code = (
        "import pellucid; from tests.comparison.troublemakers import Hangs\n"
        "def hear(e): print(e['event'], flush=True)\n"
        "pellucid.compare('penguins', models=['majority'], extra={'h': Hangs()}, progress=hear)"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True
    )
    seen = 0
    for line in process.stdout:  # five folds of the baseline, then the one that hangs
        seen += line.startswith("started")
        if seen == 6:
            break
    group = children_of(process.pid)
    process.kill()
    process.communicate()
    end = time.monotonic() + 10
    while any(alive(pid) for pid in group) and time.monotonic() < end:
        time.sleep(0.05)
    assert group and not any(alive(pid) for pid in group)


def children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    parent = int(stat.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            if parent == pid:
                found += [int(entry), *children_of(int(entry))]
    return found


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_long_temporary_folder_has_room_for_no_socket(tmp_path):
    long = tmp_path / ("x" * 100)
    long.mkdir()
    done = subprocess.run(
        [*COMMAND, "compare", "iris", "--models", "lda", "--effort", "quick", "--cv", "2", "-q"],
        cwd=tmp_path, env={**os.environ, "TMPDIR": str(long)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == ""
    assert list(long.iterdir()) == []
