"""Whatever one model does, the others finish and its row says why it has no score."""

import importlib
import shutil
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.comparison.execution import scheduler
from pellucid.comparison.execution.candidate_choice import best_of
from pellucid.errors import DataError, ParameterError
from pellucid.model_selection import METRICS
from pellucid.names import ESTIMATORS
from tests.comparison import troublemakers


@pytest.fixture(scope="module")
def spoiled():
    """A comparison among troublemakers, with one honest model."""
    return pellucid.compare(
        "penguins",
        models=["tree"],
        effort="quick",
        cv=4,
        memory_limit=0.4,
        model_timeout=5,
        jobs=2,
        extra={
            "raises": troublemakers.Raises(),
            "hangs": troublemakers.Hangs(),
            "eats": troublemakers.Eats(),
            "dies": troublemakers.Dies(),
            "lazy": troublemakers.Troublemaker(),
        },
    )


def row(result, model):
    return next(row for row in result.rows if row["model"] == model)


def test_no_model_is_lost(spoiled):
    names = {"majority", "tree", "raises", "hangs", "eats", "dies", "lazy"}
    assert {row["model"] for row in spoiled.rows} == names


@pytest.mark.parametrize(
    ("model", "status", "reason"),
    [
        ("raises", "failed", "RuntimeError: the sky is falling"),
        ("hangs", "timed out", "one fold took more than 5 s (raise --model-timeout)"),
        ("eats", "failed", "memory"),
        ("dies", "failed", "killed"),
    ],
)
def test_a_failure_says_why(spoiled, model, status, reason):
    found = row(spoiled, model)
    assert found["status"] == status and reason in found["reason"]
    assert found["place"] is None and "mean" not in found


def test_the_others_finish(spoiled):
    assert row(spoiled, "tree")["place"] == 1 and spoiled.recommended == "tree"
    assert spoiled.data["test"]["model"] == "tree"


def test_a_metric_that_a_model_cannot_give_is_missing_not_zero(spoiled):
    lazy = row(spoiled, "lazy")
    assert lazy["status"] == "ok" and lazy["mean"] > 0
    assert lazy["metrics"]["log_loss"] != lazy["metrics"]["log_loss"]  # NaN


def test_names_of_extra_models_are_checked():
    lazy = troublemakers.Troublemaker()
    with pytest.raises(ParameterError, match="another model already has this name"):
        pellucid.compare("penguins", models=["tree"], extra={"tree": lazy})
    with pytest.raises(ParameterError, match="letters, digits"):
        pellucid.compare("penguins", models=["tree"], extra={"../x": lazy})


def test_a_model_that_cannot_be_sent_to_a_child_is_an_error_that_says_so():
    class Local(troublemakers.Troublemaker):
        pass

    with pytest.raises(DataError, match="'here' cannot be pickled for a worker process"):
        pellucid.compare("penguins", models=["tree"], extra={"here": Local()})


def test_a_search_that_hangs_ends_with_the_candidates_it_had(monkeypatch, tmp_path):
    from dataclasses import replace

    from pellucid.comparison.planning.prepare import prepare
    from pellucid.comparison.planning.settings import Settings
    from pellucid.comparison.run import Run

    monkeypatch.setattr(scheduler, "MIN_KILL_SECONDS", 2.0)
    settings = Settings.of({"models": "majority", "cv": 2, "model_timeout": 1.5})
    plan, findings = prepare("penguins", settings, None, {"slow": troublemakers.Sleeps()})
    tried = [{"seconds": 0.0}, {"seconds": 600.0}]
    models = [replace(c, candidates=tried) if c.id == "slow" else c for c in plan.contenders]
    plan = replace(plan, contenders=models)
    found = row(Run(plan, tmp_path, lambda event: None, findings).run(), "slow")
    assert found["status"] == "ok" and found["params"] == {"seconds": 0.0}
    assert "the time limit cut the search short in 2 of 2 folds" in found["notes"]


@pytest.mark.slow
def test_the_time_of_the_whole_run_holds_for_a_round_that_hangs(monkeypatch, tmp_path):
    """It has a minute of its own, but the run has four seconds: it is stopped, not failed."""
    from pellucid.comparison.execution.journal import RunState
    from pellucid.comparison.planning.prepare import prepare
    from pellucid.comparison.planning.settings import Settings
    from pellucid.comparison.run import Run

    monkeypatch.setattr(scheduler, "MIN_KILL_SECONDS", 1.0)
    settings = Settings.of(
        {
            "models": "lda",
            "cv": 2,
            "effort": "quick",
            "time_limit": 4,
            "model_timeout": 600,
            "jobs": 2,
        }
    )
    plan, findings = prepare("penguins", settings, None, {"hangs": troublemakers.Hangs()})
    began = time.monotonic()
    result = Run(plan, tmp_path, lambda event: None, findings).run()
    assert time.monotonic() - began < 60 and not result.data["complete"]
    found = row(result, "hangs")
    assert (found["status"], found["reason"]) == ("stopped", "0 of 2 folds done")
    assert result.recommended == "lda" and result.data["test"]["model"] == "lda"
    # What was taken for want of time is not written down: a continued run searches again.
    assert ("hangs", "0") not in RunState.read(tmp_path / "events.jsonl").done
    assert not RunState.read(tmp_path / "events.jsonl").failed


def test_a_last_round_that_hangs_costs_no_score(monkeypatch, tmp_path):
    """All folds are done when the fit on all training rows hangs: the row keeps its scores."""
    from pellucid.comparison.planning.prepare import prepare
    from pellucid.comparison.planning.settings import Settings
    from pellucid.comparison.run import Run

    monkeypatch.setattr(scheduler, "MIN_KILL_SECONDS", 1.0)
    settings = Settings.of({"models": "majority", "cv": 2, "model_timeout": 1.0, "test_size": 0.5})
    plan, findings = prepare("penguins", settings, None, {"slow": troublemakers.HangsOnMany()})
    result = Run(plan, tmp_path, lambda event: None, findings).run()
    found = row(result, "slow")
    assert found["status"] == "ok" and found["mean"] > 0 and found["params"] == {}
    assert found["notes"] == ["the time limit ended the fit on all training rows"]
    assert row(result, "majority")["status"] == "ok"


def test_the_recommended_model_is_described_even_if_its_last_round_was_hurried(
    monkeypatch, tmp_path
):
    from pellucid.comparison.execution.journal import RunState
    from pellucid.comparison.planning.prepare import prepare
    from pellucid.comparison.planning.settings import Settings
    from pellucid.comparison.run import Run

    whole = RunState.add

    def details_incomplete(self, record):
        if record["event"] == "done" and record["fold"] == "final":
            record["portrait"] = {}  # as of a round that was killed
        return whole(self, record)

    monkeypatch.setattr(RunState, "add", details_incomplete)
    settings = Settings.of({"models": "lda", "cv": 2, "effort": "quick"})
    plan, findings = prepare("penguins", settings)
    result = Run(plan, tmp_path, lambda event: None, findings).run()
    assert result.recommended == "lda" and result.model_details["lda"]["coefficients"] is not None


def test_a_description_that_hangs_costs_no_test_score(tmp_path):
    """The kept model hangs on the part of the rows that its learning curve takes."""
    from pellucid.comparison.planning.prepare import prepare
    from pellucid.comparison.planning.settings import Settings
    from pellucid.comparison.run import Run

    settings = Settings.of({"models": "majority", "cv": 5, "model_timeout": 1.0})
    slow = {"slow": troublemakers.HangsOnFew()}
    plan, findings = prepare("penguins", settings, None, slow)
    result = Run(plan, tmp_path, lambda event: None, findings).run()
    assert result.recommended == "slow" and result.complete
    assert result.data["test"]["metrics"]["accuracy"] > 0.8
    assert result.finish["rows"] and result.finish.get("learning") is None


def test_a_full_disk_is_told_by_the_file_that_could_not_be_written(tmp_path):
    """/dev/full takes nothing: what remains in the buffer must not hide the message."""
    from pathlib import Path

    from pellucid.comparison.execution.journal import Journal

    journal = Journal(tmp_path / "events.jsonl")
    journal._file.close()
    journal._file = Path("/dev/full").open("a", encoding="utf-8")  # noqa: SIM115
    with pytest.raises(DataError, match=r"cannot write .*events.jsonl: No space left on device"):
        try:
            journal.write("done", text="x" * 10)
        finally:
            journal.close()


def test_a_fold_that_fails_while_the_last_round_runs_ends_its_model_alone(rng):
    table = pd.DataFrame({"x": rng.normal(size=40), "y": np.tile(["a", "b"], 20)})
    result = pellucid.compare(
        table, "y", models=["naive_bayes"], cv=2, test_size=0, jobs=8,
        extra={"bad": troublemakers.FitsLongAndSaysNothing(5.0)},
    )  # fmt: skip
    assert row(result, "bad")["reason"] == "RuntimeError: no answer"
    assert row(result, "naive_bayes")["place"]


SCRIPT = """
import numpy as np, pandas as pd, pellucid
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

class Squares(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self
    def transform(self, X):
        return np.square(X)

def work():
    X = np.random.default_rng(0).normal(size=(60, 2))
    table = pd.DataFrame(X).assign(y=(X**2).sum(axis=1) > 1.4).rename(columns=str)
    extra = {"mine": make_pipeline(Squares(), LogisticRegression())}
    result = pellucid.compare(table, "y", models=["majority"], cv=2, extra=extra)
    print([row for row in result.rows if row["model"] == "mine"][0])

"""


@pytest.mark.slow
@pytest.mark.parametrize("guard", ['if __name__ == "__main__":\n    work()', "work()"])
def test_parts_of_a_model_may_be_defined_in_a_script(tmp_path, guard):
    (tmp_path / "script.py").write_text(SCRIPT + guard)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    if "if" in guard:
        assert "'status': 'ok'" in done.stdout
    else:
        assert "defined in the script" in done.stdout and "Traceback" not in done.stderr


def test_scores_that_went_through_the_journal_may_be_undefined():
    found = {0: {"scores": [None, 0.9]}, 1: {"scores": [0.5, 0.7]}, 2: {"scores": []}}
    for name in ("accuracy", "roc_auc", "log_loss"):
        assert best_of(found, METRICS[name]) == 1
        assert best_of({2: {"scores": [None]}, 1: {"scores": [None]}}, METRICS[name]) == 1
        assert best_of({0: {"scores": []}}, METRICS[name]) is None


def test_the_first_row_waits_for_no_family():
    """The fork server loads the baselines alone; a family comes with the first order for it."""
    code = (
        "import sys\nfrom pellucid.comparison.execution.preload import load_package\n"
        "print(*sorted(n for n in sys.modules if n.count('.') == 1 and n.startswith('pellucid.')))\n"
        "load_package('pellucid.svm')\n"
        "print('pellucid.svm.dual' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = done.stdout.splitlines()
    assert set(before.split()) & set(ESTIMATORS) == {"pellucid.dummy"} and after == "True"


def test_a_module_that_is_gone_is_the_reason(tmp_path, monkeypatch, capfd):
    (tmp_path / "shortlived.py").write_text(
        "from tests.comparison.troublemakers import Troublemaker\n\n\n"
        "class Mine(Troublemaker):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    model = importlib.import_module("shortlived").Mine()
    (tmp_path / "shortlived.py").unlink()
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    result = pellucid.compare(
        "iris", models="majority", extra={"mine": model}, cv=2, effort="quick", test_size=0
    )
    found = row(result, "mine")
    assert found["status"] == "failed" and "No module named 'shortlived'" in found["reason"]
    assert row(result, "majority")["status"] == "ok" and "Traceback" not in capfd.readouterr().err
