"""Limits count work: what is left out is decided beforehand; the clock counts where it was asked for."""

import os
import time
from types import SimpleNamespace

import pytest

import pellucid
from pellucid.app import cli
from pellucid.comparison.execution import scheduler, time_limit
from pellucid.comparison.execution.scheduler import Scheduler
from pellucid.comparison.planning import limits, time_estimate
from pellucid.comparison.planning.prepare import prepare
from pellucid.comparison.planning.settings import Settings
from tests.comparison import troublemakers


def plan_of(**settings):
    return prepare("iris", Settings.of({"models": "lda,tree,forest", "jobs": 2, **settings}))[0]


@pytest.fixture
def slow(monkeypatch):
    """A machine of figures on which each fit of some models takes so many seconds."""

    def set_to(**seconds):
        usual = time_estimate.fit_seconds
        monkeypatch.setattr(time_estimate, "fit_seconds", lambda plan: {
            name: seconds.get(name, own) for name, own in usual(plan).items()})  # fmt: skip

    return set_to


def test_the_work_decides_what_runs_whatever_the_machine_does(slow, monkeypatch):
    slow(tree=6.0, forest=30.0)  # quick: 120 s in five folds and a last round that counts twice
    found = []
    for load in (0.0, 50.0):
        monkeypatch.setattr("os.getloadavg", lambda load=load: (load,) * 3)
        plan = plan_of(effort="quick")
        found.append(
            (plan.key(), {c.id: (c.max_candidates, c.note, c.skipped) for c in plan.contenders})
        )
    assert found[0] == found[1]
    models = found[0][1]
    why = "120 rows (quick effort; --model-timeout allows more)"
    assert models["lda"] == (None, "", "")
    assert models["tree"] == (
        1,
        f"tries 1 of 3 candidates, because all would be too slow for {why}",
        "",
    )
    assert models["forest"] == (None, "", f"too slow for {why}")


def test_seconds_that_were_asked_for_take_the_place_of_work(slow):
    slow(tree=6.0, forest=30.0)
    plan = plan_of(effort="quick", model_timeout="10m")
    assert all(c.max_candidates is None and not c.skipped for c in plan.contenders)


def test_fewer_candidates_are_tried_from_the_middle(slow):
    slow(tree=6.0)
    found = pellucid.compare("iris", models="tree", effort="quick", cv=3, jobs=2, seed=0)
    row = next(row for row in found.rows if row["model"] == "tree")
    assert row["status"] == "ok" and "candidates, because all would be too slow" in row["notes"][0]
    tried = [bool(entry["scores"]) for entry in found.details["search"]["tree"]]
    plan = plan_of(effort="quick", cv=3)
    most = next(c.max_candidates for c in plan.contenders if c.id == "tree")
    assert sum(tried) == (most if most > 1 else 0) and most < len(tried)


def test_every_limit_is_told():
    told = dict(limits.describe_limits(plan_of(effort="quick")))
    assert told["work"] == "120 s of estimated work per model, the same on every machine"
    assert told["model timeout"] == told["time limit"] == "none"
    assert told["hanging"] == "killed after 200 s of CPU time in one fold, or 300 s without any"
    assert told["final fit"] == "2400 s of wall-clock time, 240 s for its part of the report"
    assert told["memory"].endswith("GB per process, its share of free memory")
    told = dict(
        limits.describe_limits(plan_of(model_timeout=60, time_limit="5m", memory_limit=1.5))
    )
    assert told["memory"] == "1.5 GB per process"
    assert told["model timeout"] == "60 s of wall-clock time, 10 s per fold"
    assert told["time limit"] == "300 s of wall-clock time, including the report"


def test_the_plan_shows_them(capsys):
    assert cli.run(["compare", "iris", "--models", "lda", "--plan", "--time-limit", "2m"]) == 0
    out = capsys.readouterr().out
    assert "s of estimated work per model" in out and "120 s of wall-clock time, including" in out


def test_a_round_without_end_is_ended_by_what_it_uses(monkeypatch):
    monkeypatch.setattr(limits, "MIN_BEYOND", 0.6)
    monkeypatch.setattr(limits, "BEYOND", 0.0)
    monkeypatch.setattr(limits, "LOOK", 0.1)
    monkeypatch.setattr(scheduler, "IDLE", 0.6)
    extra = {"spins": troublemakers.Spins(), "hangs": troublemakers.Hangs()}
    found = pellucid.compare("iris", models="majority", cv=2, extra=extra, jobs=2, test_size=0)
    why = {row["model"]: (row["status"], row["reason"]) for row in found.rows}
    assert why["spins"][0] == why["hangs"][0] == "timed out"
    assert "used more than 1 s of CPU time, far more than planned" in why["spins"][1]
    assert why["hangs"][1] == "one fold used no CPU time for 1 s"


def test_other_programs_do_not_end_a_round():
    """However long it took by the clock, as long as it has not used too much of the processor."""
    plan = plan_of(effort="quick")

    def reason(used, idle, share=None, age=1e9, limit=10.0):
        watch = SimpleNamespace(used=used, idle=idle, look=lambda: None)
        running_task = SimpleNamespace(share=share, watch=watch, age=age, limit=limit)
        return Scheduler.overdue(SimpleNamespace(plan=plan), running_task)

    assert reason(199, 299) == "" and "200 s of CPU time" in reason(201, 0)
    assert reason(5, 301) == "one fold used no CPU time for 300 s"
    assert reason(0, 0, share=7.0, age=11) == "one fold took more than 10 s (raise --model-timeout)"
    assert reason(1e9, 1e9, share=7.0, age=9) == ""


def test_what_a_process_uses_is_seen():
    watch = limits.ProcessWatch(os.getpid())
    watch.looked -= 2
    sum(range(3_000_000))
    watch.look()
    assert watch.used > 0 and watch.idle == 0
    assert limits.cpu_seconds(2**30) is None


def clock_of(slow, limit, **seconds):
    plan = plan_of(effort="quick")  # its work fits: only the clock below limits it
    slow(**seconds)
    plan = plan_of(effort="quick", time_limit=limit)
    return plan, time_limit.TimeBudget(plan, 2), {c.id: c for c in plan.contenders}


def test_time_that_is_left_decides_how_much_a_model_tries(slow):
    _, found, models = clock_of(slow, 60, tree=0.1, forest=0.1)
    assert found.affordable(models["tree"], 5, 3, []) == 3
    assert found.affordable(models["tree"], 5, 3, [110.0]) < 3
    found.began -= 57  # all but what is kept for the end
    assert found.affordable(models["tree"], 5, 3, []) < 3
    found.began -= 3
    assert found.affordable(models["tree"], 5, 1, []) == 0


def test_a_part_of_the_time_is_kept_for_the_fit_and_the_report(slow):
    _, found, models = clock_of(slow, 60, tree=0.1)
    assert found.end - found.fits_end == pytest.approx(found.report) and found.report > 1
    record = {"fit_seconds": 4.0, "predict_seconds": 1.0}
    for _ in range(5):
        found.record(models["tree"], record, 4, 20.0)
    assert found.end - found.fits_end == pytest.approx(found.report + time_limit.MORE_ROWS * 5.0)
    assert found.round(models["tree"], 1) == 5.0  # as this model took here, not as estimated
    assert found.round(models["lda"], 1) > 10 * found.each["lda"]  # slower than thought, as that


def test_without_a_limit_nothing_is_cut(slow):
    plan = plan_of(effort="quick")
    found = time_limit.TimeBudget(plan, 2)
    assert found.left == found.deadline(plan.contenders[1], 3) == float("inf")
    assert found.affordable(plan.contenders[1], 5, 3, [1e9]) == len(plan.contenders[1].candidates)


@pytest.mark.slow
def test_a_time_limit_holds_for_the_whole_command(tmp_path):
    """Also with a model that would take the whole time, and one that hangs."""
    began = time.monotonic()
    extra = {"sleeps": troublemakers.Sleeps(2.0), "hangs": troublemakers.Hangs()}
    found = pellucid.compare(
        "penguins", models="lda", effort="quick", time_limit=12, extra=extra, jobs=2, out=tmp_path
    )
    assert time.monotonic() - began < 13.2
    assert found.data["stopped"] == "time limit" and found.data["test"]["model"] == "lda"
    status = {row["model"]: row["status"] for row in found.rows}
    assert status["hangs"] == "stopped" and status["lda"] == "ok"
