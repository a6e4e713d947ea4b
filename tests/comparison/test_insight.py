"""What portraits say of single models, against what is known of those models otherwise."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pellucid.comparison import final_fit
from pellucid.comparison.analysis import example_rows, model_diagnostics
from pellucid.comparison.analysis.model_details import describe_model, region
from pellucid.comparison.analysis.model_details import tree as portrait_tree
from pellucid.comparison.execution.fold_task import FINAL, FoldTask
from pellucid.comparison.execution.worker_data import share_table
from pellucid.comparison.final_fit import FinalFitTask
from pellucid.comparison.planning.dataset import load_dataset
from pellucid.comparison.planning.plan import make_plan
from pellucid.comparison.planning.settings import Settings
from pellucid.inspection.cells import Cells


@pytest.fixture
def fitted(tmp_path):
    """A function: the bench, the fitted model and the job of a model's last round."""

    def make(data, model, best=0, **settings):
        known = Settings.of({"models": model, "effort": "normal", "test_size": 0, **settings})
        plan = make_plan(load_dataset(data, known), known)
        shared = share_table(plan, str(tmp_path))
        contender = next(c for c in plan.contenders if c.id == model)
        task = FoldTask.of(plan, contender, FINAL, shared, deadline=60.0, best=best)
        evaluator = task.evaluator()
        found = evaluator.fit(
            evaluator.unfitted(task.candidates[best], FINAL), evaluator.rows(task.train), task.train
        )
        return evaluator, found, task

    return make


def line(rng, n=300):
    x = rng.normal(size=(n, 2))
    return pd.DataFrame(
        {"a": x[:, 0], "b": x[:, 1], "y": 3 * x[:, 0] - x[:, 1] + rng.normal(size=n)}
    )


def test_limits_of_least_squares_are_those_of_theory(fitted, rng):
    evaluator, model, task = fitted(line(rng), "ols", target="y")
    found = model_diagnostics.coefficient_limits(evaluator, model, task, 10.0)
    table = model.summary()
    low = {row[0]: row[table.columns.index("low")] for row in table.rows}
    assert found["low"].tolist() == [[low["a"], low["b"]]]
    assert "t distribution" in found["method"]


def test_refits_on_redrawn_rows_find_the_standard_error(fitted, rng):
    evaluator, model, task = fitted(line(rng), "ridge", best=6, target="y")
    assert task.candidates[6] == {"alpha": 0.001}
    found = model_diagnostics.coefficient_limits(evaluator, model, task, 60.0)
    half = (found["high"] - found["low"]) / 2
    # Unit noise and columns: the standard error is 1 / sqrt(n); thirty refits tell it to a quarter.
    np.testing.assert_allclose(half, 1.96 / np.sqrt(300), rtol=0.45)
    assert (
        model_diagnostics.coefficient_limits(evaluator, model, task, 0.0) is None
    )  # no time, no limits


def test_the_path_is_a_refit_at_each_penalty(fitted, rng):
    evaluator, model, task = fitted(line(rng), "lasso", best=3, target="y")
    spread = evaluator.table.to_pandas()[["a", "b"]].std(ddof=0).to_numpy()
    found = model_diagnostics.path(evaluator, model, task, 60.0)
    assert found["param"] == "alpha" and found["x"] == sorted(c["alpha"] for c in task.candidates)
    assert found["terms"] == ["a", "b"] and found["y"][0][-1] == 0.0  # nothing survives the largest
    own = found["x"].index(found["chosen"])
    np.testing.assert_allclose([y[own] for y in found["y"]], model.coef_ * spread)


@pytest.mark.parametrize("model", ["naive_bayes", "knn", "lda", "tree"])
def test_no_part_of_a_portrait_fails(fitted, model):
    """A model without weights has no path; that is no error."""
    found = describe_model(*fitted("penguins", model), spent=5.0)
    assert {name: why for name, why in found.items() if name.endswith("_why")} == {}
    assert found["importances"] is not None and found["dependence"] is not None


def test_questions_regions_and_dependences_of_dates_are_dates(fitted, rng):
    """Days since 1970 are for the models, not for readers."""
    days = np.datetime64("2012-01-01") + np.arange(300)
    table = line(rng)
    table["day"] = days
    table["y"] = np.where(np.arange(300) < 150, "early", "late")
    evaluator, model, task = fitted(table, "tree", target="y")
    asked = [n["test"] for n in portrait_tree(evaluator, model, task)["nodes"] if n["test"]]
    assert asked == ["day <= 2012-05-29 12:00"]
    found = model_diagnostics.dependence(evaluator, model, task, ["day"])["columns"][0]
    assert found["kind"] == "datetime" and 15340 <= min(found["x"]) < max(found["x"]) < 15640
    assert found["y"][0][0] == 1.0 and found["y"][0][-1] == 0.0


def test_regions_know_how_sure_they_are(fitted):
    evaluator, model, task = fitted("penguins", "logistic")
    plane = {"x": "bill_length_mm", "y": "bill_depth_mm", "xs": [32.0, 45.0, 59.0], "ys": [14.0, 21.0],
             "middle": dict.fromkeys(evaluator.table.column_names, 0)}  # fmt: skip
    found = region(evaluator, model, replace(task, plane=plane))
    sure = np.array(found["certainty"])
    assert sure.shape == np.shape(found["grid"]) == (2, 3)
    assert 1 / 3 <= sure.min() < sure.max() <= 1


def test_dependence_of_a_line_is_its_slope(fitted, rng):
    table = line(rng)
    table["c"] = rng.choice(["u", "v"], 300)
    table["y"] += 2.0 * (table.c == "v")
    evaluator, model, task = fitted(table, "ols", target="y")
    found = model_diagnostics.dependence(evaluator, model, task, ["a", "c"])
    first, second = found["columns"]
    slope = np.diff(first["y"][0]) / np.diff(first["x"])
    weight = dict(zip(model.terms_, model.coef_))
    np.testing.assert_allclose(slope, weight["a"])
    step = dict(zip(second["x"], second["y"][0]))
    assert step["v"] - step["u"] == pytest.approx(weight["c=v"]) and second["kind"] == "levels"


def test_dependence_of_classes_is_a_mean_of_probabilities(fitted):
    evaluator, model, task = fitted("iris", "logistic", best=4)
    found = model_diagnostics.dependence(evaluator, model, task, ["petal length (cm)"])["columns"][
        0
    ]
    assert len(found["y"]) == 3
    np.testing.assert_allclose(np.sum(found["y"], axis=0), 1.0)
    setosa, _, virginica = found["y"]  # as sure as they were of the other columns
    assert np.all(np.diff(setosa) < 0) and setosa[-1] < 0.2
    assert np.all(np.diff(virginica) > 0) and virginica[-1] > 0.6


def test_the_projection_is_the_space_of_the_discriminant(fitted):
    sklearn = pytest.importorskip("sklearn.discriminant_analysis")
    evaluator, model, task = fitted("iris", "lda", best=1)
    found = model_diagnostics.projection(evaluator, model, task)
    X = evaluator.table.to_pandas().to_numpy()[task.train]
    theirs = sklearn.LinearDiscriminantAnalysis().fit(X, evaluator.y[task.train]).transform(X)
    ours = np.column_stack([found["x"], found["y"]])
    assert found["codes"] == evaluator.y[task.train].tolist()
    # The same plane: ours is a linear map of theirs, and no axis is lost.
    centred = theirs - theirs.mean(axis=0)
    back = centred @ np.linalg.lstsq(centred, ours, rcond=None)[0]
    np.testing.assert_allclose(back, ours - ours.mean(axis=0), atol=1e-6 * np.abs(ours).max())
    assert np.linalg.matrix_rank(ours) == 2


def test_two_classes_are_counted_along_the_discriminant(fitted):
    evaluator, model, task = fitted("breast_cancer", "lda")
    found = model_diagnostics.projection(evaluator, model, task)
    assert len(found["edges"]) == 25 and np.sum(found["counts"]) == model_diagnostics.POINTS
    middle = np.add(found["edges"][1:], found["edges"][:-1]) / 2
    means = [np.average(middle, weights=counts) for counts in found["counts"]]
    assert means[0] < 0 < means[1]


def test_support_vectors_are_counted_by_class(fitted):
    evaluator, model, task = fitted("iris", "svm_rbf")
    found = model_diagnostics.support(evaluator, model, task)
    assert found["vectors"] == model.n_support_.tolist() and found["rows"] == [50, 50, 50]


def test_neighbours_are_the_nearest_other_rows(fitted):
    evaluator, model, task = fitted("iris", "knn", best=3)
    X = evaluator.table.to_pandas().to_numpy()
    X = X / X.std(axis=0)
    found = model_diagnostics.neighbours(evaluator, model, task)
    assert len(found) == model_diagnostics.SHOWN
    for entry in found:
        far = np.sqrt(((X - X[entry["row"]]) ** 2).sum(axis=1))
        far[entry["row"]] = np.inf
        told = [near["distance"] for near in entry["near"]]
        np.testing.assert_allclose(told, np.sort(far)[: len(told)], atol=1e-9)
        assert all(evaluator.y[near["row"]] == near["actual"] for near in entry["near"])


@pytest.mark.parametrize(
    ("data", "model"), [("penguins", "logistic"), ("penguins", "tree"), ("diabetes", "ols")]
)
def test_what_would_change_a_prediction_changes_it(fitted, data, model):
    evaluator, found, task = fitted(data, model)
    table, rows = evaluator.table.to_pandas(), [0, 5, 150, 5]
    changes = example_rows.changed(evaluator, found, rows, task.train, 60.0)
    assert changes[1] == changes[3] and any(entry["found"] for entry in changes)
    for row, entry in zip(rows, changes, strict=True):
        before = found.predict(table.iloc[[row]])[0]
        assert entry["before"] == (str(before) if entry["threshold"] is None else before)
        for change in entry["found"]:
            assert 1 <= len(change["columns"]) <= example_rows.MOST_CHANGED
            changed = table.iloc[[row]].copy()
            for name, old, new in change["columns"]:
                assert old == example_rows._text(Cells(table).cell(list(table).index(name), row))
                cells = Cells(table)
                texts = [
                    example_rows._text(cells.cell(list(table).index(name), i))
                    for i in range(len(table))
                ]
                changed[name] = table[name].iloc[[texts.index(new)]].to_numpy()
            after = found.predict(changed)[0]
            if entry["threshold"] is None:
                assert str(after) == change["prediction"] != entry["before"]
            else:
                middle = np.median(evaluator.y[task.train])
                assert after == pytest.approx(change["prediction"], rel=1e-3)
                assert (after < middle) != (before < middle) and middle == entry["threshold"]


@pytest.mark.filterwarnings("ignore:.*recorded no steps")
@pytest.mark.parametrize(("model", "steps"), [("tree", True), ("lda", False)])
def test_a_fit_with_steps_is_replayed_beside_the_model(fitted, tmp_path, monkeypatch, model, steps):
    evaluator, _, fold_task = fitted("penguins", model)
    task = FinalFitTask(fold_task, str(tmp_path / "model.pellucid"), {}, {}, [])
    monkeypatch.setattr(final_fit, "REPLAY_SECONDS", 60.0)
    found, page = final_fit.save_replay(evaluator, task), tmp_path / "replay.html"
    assert (found is not None) == steps == page.exists()
    for name, value in (("MOST_REPLAYED", 10), ("REPLAY_SECONDS", -1.0), ("REPLAY_BYTES", 10)):
        page.unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            patch.setattr(final_fit, name, value)
            assert final_fit.save_replay(evaluator, task) is None and not page.exists()


def test_rows_left_without_time_have_no_changes(fitted):
    evaluator, model, task = fitted("penguins", "logistic")
    assert example_rows.changed(evaluator, model, [0, 1], task.train, -1.0) == [None, None]


@pytest.mark.parametrize("model", ["lda", "knn", "tree", "svm_rbf", "majority"])
def test_a_portrait_fails_in_no_part(fitted, model):
    evaluator, found, task = fitted("penguins", model)
    changes = describe_model(evaluator, found, task, 0.5)
    assert {name: why for name, why in changes.items() if name.endswith("_why")} == {}


def test_a_busy_machine_does_not_lengthen_portraits(fitted, monkeypatch):
    """What a round has spent is counted by the processor, not by the clock on the wall."""
    from pellucid.comparison.execution import fold_task as jobs

    *_, task = fitted("iris", "tree")
    changes, wall = [], jobs.time.monotonic
    monkeypatch.setattr(
        "pellucid.comparison.analysis.model_details.describe_model",
        lambda evaluator, model, own, spent: changes.append(spent),
    )
    worker = jobs.FoldTaskRunner(replace(task, candidates=task.candidates[:1]), None, [])
    monkeypatch.setattr(jobs.time, "monotonic", lambda: wall() + 30.0)  # others had the processor
    worker.run()
    assert 0 < changes[0] < 10
