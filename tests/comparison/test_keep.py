"""Any model of a board can be saved, and what a report lacks costs neither board nor model."""

import numpy as np
import pytest

import pellucid
from pellucid.comparison import final_fit
from pellucid.comparison.analysis import example_rows as single
from pellucid.comparison.analysis import model_details, report_data
from pellucid.comparison.checks import profile
from pellucid.errors import CannotSaveError, ParameterError, PellucidWarning
from pellucid.persist import load
from tests.comparison.troublemakers import Raises, Troublemaker


@pytest.fixture(scope="module")
def found():
    extra = {"mine": Troublemaker(), "bad": Raises()}
    given = {"models": "tree,forest", "effort": "quick", "cv": 2, "seed": 3}
    return pellucid.compare("iris", extra=extra, **given)


def test_a_saved_model_is_the_one_fitted_by_hand(found, tmp_path):
    table = found.refitter.plan.dataset.table
    for model in ("forest", "tree", "majority"):
        path = found.save(model, tmp_path / f"{model}.pellucid")
        kept = load(path)
        row = next(row for row in found.rows if row["model"] == model)
        params = kept.get_params()
        assert {name: params[name] for name in row["params"]} == row["params"]
        train = found.refitter.plan.train
        y = np.array(found.refitter.plan.dataset.classes)[found.refitter.plan.dataset.y]
        X = table.take(train)
        by_hand = type(kept)(**params).fit(X, y[train])
        np.testing.assert_array_equal(by_hand.predict_proba(table), kept.predict_proba(table))


def test_the_recommended_model_is_saved_as_it_was_kept(found, tmp_path):
    table = found.refitter.plan.dataset.table
    kept = load(found.save(found.recommended, tmp_path / "m.pellucid"))
    np.testing.assert_array_equal(kept.predict_proba(table), found.best_.predict_proba(table))


def test_what_cannot_be_saved_is_told_with_what_can(found, tmp_path):
    there = "Models with a score: majority, tree, mine, forest"
    for model, message in (
        ("nope", f"there is no model 'nope' in this run. {there}"),
        ("bad", f"bad has no score in this run. {there}"),
    ):
        with pytest.raises(ParameterError) as error:
            found.save(model, tmp_path / "x")
        assert message in str(error.value)
    with pytest.raises(CannotSaveError, match="Troublemaker is not a Pellucid model"):
        found.save("mine", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def broken(*given, **more):
    raise ValueError("Nanosecond resolution")


@pytest.mark.parametrize(("module", "name", "what"), [
    (profile, "profile", "The overview of the columns"),
    (single, "pick", "The choice of example rows"),
    (single, "cells", "The cells of example rows"),
    (report_data, "searches", "The table of searches"),
])  # fmt: skip
def test_a_part_of_the_report_that_fails_is_a_note(module, name, what, monkeypatch, tmp_path):
    monkeypatch.setattr(module, name, broken)
    with pytest.warns(PellucidWarning, match=f"{what} failed: ValueError: Nanosecond"):
        found = pellucid.compare("iris", models="tree", effort="quick", cv=2, out=tmp_path / "r")
    assert found.recommended == "tree" and found.data["test"]["model"] == "tree"
    assert found.best_ is not None and (tmp_path / "r" / "results.json").exists()
    assert found.report(tmp_path / "page.html").exists()


class Ear:
    """What a process that finishes would send."""

    def __init__(self):
        self.said = {}

    def send(self, message):
        self.said |= message


@pytest.mark.parametrize("name", ["explained", "learning_curve", "importances", "describe_model"])
def test_a_description_of_the_kept_model_that_fails_is_a_note(name, found, monkeypatch, tmp_path):
    from pellucid.comparison.execution.worker_data import share_table

    refitter = found.refitter
    task = refitter.task("tree", share_table(refitter.plan, str(tmp_path)))
    task = final_fit.FinalFitTask(
        task, str(tmp_path / "m"), {}, {"random": [1, 2]}, refitter.plan.folds,
        details_incomplete=True,
    )  # fmt: skip
    monkeypatch.setattr(final_fit, name, broken)
    ear = Ear()
    final_fit.run_final_fit(task, ear)
    part = {"explained": "rows", "learning_curve": "learning", "describe_model": "portrait"}.get(
        name, name
    )
    assert ear.said["kind"] == "done" and ear.said["test"]["metrics"]
    assert ear.said["failed_parts"] == {part: "ValueError: Nanosecond resolution"}
    notes = report_data.ReportData(refitter.plan, None)
    notes.failed_parts(ear.said)
    assert report_data.PARTS[part] in notes.notes[0] and "Nanosecond" in notes.notes[0]


def test_a_portrait_that_fails_costs_no_round(found, monkeypatch, tmp_path):
    from pellucid.comparison.execution.fold_task import work
    from pellucid.comparison.execution.worker_data import share_table

    monkeypatch.setattr(model_details, "describe_model", broken)
    ear = Ear()
    ear.poll = lambda: False
    work(found.refitter.task("tree", share_table(found.refitter.plan, str(tmp_path))), ear)
    assert ear.said["kind"] == "done" and ear.said["portrait"] == {}
