"""Which models and which metric a table gets: counts, skewed targets, names of other libraries."""

import json
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from pellucid.comparison import compare
from pellucid.comparison.analysis.holdout_scores import intervals
from pellucid.comparison.execution.fold_task import FoldTask, FoldTaskRunner
from pellucid.comparison.execution.worker_data import Evaluator, Predictions, share_table
from pellucid.comparison.planning.dataset import load_dataset
from pellucid.comparison.planning.metric_bounds import bounds_of
from pellucid.comparison.planning.plan import (
    make_plan,
)
from pellucid.comparison.planning.registry import ALIASES, ENTRIES, chosen, entries
from pellucid.comparison.planning.settings import Settings
from pellucid.comparison.planning.target import skewed, small_counts, whole_numbers
from pellucid.errors import ParameterError
from pellucid.model_selection import METRICS


def planned(y, **more):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=len(y)), "b": rng.normal(size=len(y)), "y": y})
    known = Settings.of({"target": "y", "task": "regression", "effort": "quick", **more})
    return make_plan(load_dataset(table, known), known)


def draws(name, n=300):
    rng = np.random.default_rng(1)
    mean = np.exp(rng.normal(0.3, 0.6, n))
    return {
        "publications": rng.poisson(mean),
        "prices": np.round(1000 * mean),
        "stars": np.clip(np.round(rng.normal(3.5, 1.0, n)), 0, 5),
        "flag": rng.integers(0, 2, n),
        "amounts": mean,
        "noise": rng.normal(size=n),
        "bell": rng.normal(50, 5, n),
    }[name].astype(float)


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("publications", "poisson_deviance"), ("prices", "rmse"), ("stars", "rmse"),
        ("flag", "rmse"), ("amounts", "rmse"), ("noise", "rmse"),
    ],
)  # fmt: skip
def test_small_counts_are_ranked_by_their_deviance(name, metric):
    y = draws(name)
    plan = planned(y)
    assert plan.metric.name == plan.metrics[0] == metric
    assert small_counts(y) == (metric == "poisson_deviance")
    assert len(set(plan.metrics)) == len(plan.metrics)
    assert ("poisson_deviance" in plan.metrics) == whole_numbers(y)
    assert {"rmse", "mae", "r2"} <= set(plan.metrics)


def test_a_metric_that_was_asked_for_ranks():
    assert planned(draws("publications"), metric="rmse").metric.name == "rmse"
    assert planned(draws("amounts"), metric="poisson_deviance").metric.name == "poisson_deviance"
    with pytest.raises(ParameterError, match="for counts, but the target has negative values"):
        planned(draws("noise"), metric="poisson_deviance")
    assert bounds_of("poisson_deviance") == (0.0, np.inf)


def test_the_deviance_of_the_test_set_has_an_interval():
    rng = np.random.default_rng(2)
    mean, w = rng.gamma(2.0, 1.0, 400), np.ones(400)
    y = rng.poisson(mean).astype(float)
    value = METRICS["poisson_deviance"].compute(y, mean, w)
    low, high = intervals(y, w, Predictions(mean), 0, {"poisson_deviance": value}, 0)[
        "poisson_deviance"
    ]
    assert 0.8 * value < low < value < high < 1.3 * value


@pytest.mark.parametrize(
    ("name", "tail"), [("amounts", True), ("prices", True), ("bell", False), ("noise", False),
                       ("publications", False)],
)  # fmt: skip
def test_skewed_targets(name, tail):
    assert skewed(draws(name)) is tail
    assert skewed(7.0 * draws(name)) is tail  # whatever the unit


@pytest.mark.parametrize(("name", "takes_part"), [("amounts", True), ("bell", False)])
def test_skewed_targets_are_also_modelled_by_their_logarithm(name, takes_part):
    found = {c.id: c for c in planned(draws(name)).contenders}
    assert ("ridge_log" in found) is takes_part
    if takes_part:
        assert "fitted to log(y), because y is right-skewed" in found["ridge_log"].note
    asked = {c.id: c for c in planned(draws(name), models="ridge_log").contenders}
    assert bool(asked["ridge_log"].skipped) is not takes_part


def test_models_without_weights_are_skipped_where_rows_have_weights():
    asked = {"models": "knn,tree", "weights": "b"}
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=80), "b": rng.integers(1, 4, 80)})
    table["y"] = rng.normal(size=80)
    for weights, why in ((table.b, "it does not support sample weights"), (1, "")):
        known = Settings.of({"target": "y", "effort": "quick", **asked})
        found = make_plan(load_dataset(table.assign(b=weights), known), known).contenders
        assert {c.id: c.skipped for c in found} == {"knn": why, "tree": "", "mean": ""}


def test_log_links_of_the_comparison_are_bounded():
    made = {e.id: e.make() for e in entries("regression")}
    for name in ("poisson", "gamma", "ridge_log"):
        assert made[name].bound_predictions is True


def test_boosting_is_not_starved():
    """Learning rate times rounds: 2.5 left 1.5 times the error of the class's own defaults."""
    for task in ("classification", "regression"):
        entry = next(e for e in entries(task) if e.id == "gradient_boosting")
        assert entry.rounds == "max_iter"
        for params in entry.candidates("thorough"):
            assert params["learning_rate"] * entry.most_rounds >= 9.9


def test_boosting_is_refitted_with_smaller_steps():
    """Four times the rounds of a quarter of the step: in the folds, and in the model of all rows."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=list("ab"))
    frame["y"] = frame["a"] + 0.1 * rng.normal(size=60)
    result = compare(frame, "y", models=["gradient_boosting"], cv=2, jobs=1, test_size=0)
    refitter = result.refitter
    rates = [p["learning_rate"] for p in refitter.contender("gradient_boosting").candidates]
    folds = [own["tuned"] for own in refitter.by_fold["gradient_boosting"]]
    chosen = [refitter.chosen["gradient_boosting"]]
    chosen += [own["best"] for own in refitter.by_fold["gradient_boosting"]]
    for best, params in zip(chosen, [refitter.params("gradient_boosting"), *folds]):
        assert params["learning_rate"] == rates[best] / 4
        assert params["max_iter"] % 4 == 0
    entry = refitter.contender("gradient_boosting").entry
    assert entry.refitted({"learning_rate": 0.1}, 30, "quick") == {
        "learning_rate": 0.1, "max_iter": 30,
    }  # fmt: skip


def test_all_settings_of_boosting_see_all_inner_folds_of_a_small_table(tmp_path):
    """One small fold says little about settings that are nearly equally good."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 2)), columns=list("ab"))
    frame["y"] = frame["a"] + rng.normal(size=90)
    models, run = ["gradient_boosting", "ridge"], tmp_path / "run"
    result = compare(frame, "y", models=models, cv=2, jobs=1, test_size=0, out=run)
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    folds = {name: [] for name in models}
    for one in lines:
        if one["event"] == "candidate":
            folds[one["model"]].append(len(one["scores"]))
    assert sorted(folds["gradient_boosting"]) == 2 * 3 * [1] + 2 * [2] + 2 * 2 * [3]
    assert sorted(folds["ridge"]) == 2 * 4 * [1] + 2 * 2 * [2] + 2 * [3]
    mean_model, boosting, ridge = 2 + 1, 2 * (6 + 3 + 2 + 1) + 1, 2 * (7 + 3 + 1 + 1) + 1
    assert result.data["plan"]["fits"] == mean_model + boosting + ridge


@pytest.mark.parametrize(("n", "halving_factor"), [(2000, 2), (2001, 3)])
def test_boosting_of_a_larger_table_is_searched_by_halving(n, halving_factor):
    plan = planned(np.arange(float(n)), test_size=0)
    found = {c.id: c.halving_factor for c in plan.contenders}
    assert found["gradient_boosting"] == halving_factor
    assert found["forest"] == 3


@pytest.mark.parametrize("effort", ["quick", "normal", "thorough"])
def test_boosting_of_a_small_table_may_follow_single_rows(effort):
    """Leaves of three rows and more leave an error of .23 to .58 on a steep curve, of one .13 to .16."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (150, 3))
    y = 1 / (1.02 - X[:, 0])
    entry = next(e for e in entries("regression") if e.id == "gradient_boosting")
    errors = []
    for params in entry.candidates(effort):
        model = entry.make().set_params(**params, max_iter=200, random_state=0)
        model.fit(X[:100], y[:100])
        errors.append(np.sqrt(np.mean((model.predict(X[100:]) - y[100:]) ** 2)) / y[100:].std())
    assert min(errors) < 0.2


@pytest.mark.parametrize("noise", [0.3, 5.0])
def test_quick_boosting_is_as_good_as_the_defaults_of_its_class(noise):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (1200, 4))
    y = np.sin(2 * X[:, 0]) * 3 + X[:, 1] * X[:, 2] + rng.normal(0, noise, 1200)
    entry = next(e for e in entries("regression") if e.id == "gradient_boosting")

    def error(model):
        return np.mean((model.fit(X[:800], y[:800]).predict(X[800:]) - y[800:]) ** 2)

    stopping = {"early_stopping": True, "max_iter": entry.most_rounds, "n_iter_no_change": 20}
    models = [entry.make().set_params(**p, **stopping) for p in entry.candidates("quick")]
    found = [error(model.set_params(random_state=0)) for model in models]
    usual = error(entry.model_class()(random_state=0))
    assert min(found) <= (1.02 if noise < 1 else 0.95) * usual


@pytest.mark.parametrize(
    ("task", "said", "meant"),
    [
        ("classification", "xgboost", "gradient_boosting"),
        ("regression", "LightGBM", "gradient_boosting"),
        ("regression", "catboost", "gradient_boosting"), ("classification", "random_forest", "forest"),
        ("regression", "RandomForestRegressor", "forest"), ("classification", "rf", "forest"),
        ("classification", "svm", "svm_rbf"), ("classification", "LogisticRegression", "logistic"),
        ("classification", "lr", "logistic"), ("regression", "lr", "ols"), ("regression", "nn", "mlp"),
        ("regression", "Ridge", "ridge"), ("classification", "XGBClassifier", "gradient_boosting"),
        ("regression", "elasticnet", "elastic_net"), ("classification", "logistc", "logistic"),
        ("regression", "LinearRegression", "ols"), ("regression", "dummy", "mean"),
    ],
)  # fmt: skip
def test_names_of_other_libraries_are_understood_in_the_error(task, said, meant):
    with pytest.raises(ParameterError, match=f"Did you mean '{meant}'"):
        chosen(task, (said,), ())


def test_every_alias_leads_to_a_model():
    known = {entry.id for entry in ENTRIES}
    assert {id for ids in ALIASES.values() for id in ids} <= known
    assert not set(ALIASES) & known


def test_every_model_has_a_title_and_one_plain_line():
    for entry in ENTRIES:
        assert entry.title[0].isupper() or entry.title.startswith("k-")
        assert len(entry.title) <= 40
        assert 10 <= len(entry.description) <= 43  # `pellucid models` fits 80 columns
        assert not entry.description.endswith(".")
        assert entry.title.lower() != entry.description
    for task in ("classification", "regression"):
        titles = [entry.title for entry in ENTRIES if entry.task == task]
        assert len(set(titles)) == len(titles)


def test_a_fit_that_only_describes_takes_the_steps_of_the_search():
    entry = next(e for e in entries("regression") if e.id == "gradient_boosting")
    params = entry.candidates("normal")[0]
    fine = params | entry.refitted(params, 50, "normal")
    assert fine["max_iter"] == 200 and fine["learning_rate"] == params["learning_rate"] / 4
    assert entry.coarser(fine, "normal") == params | {"max_iter": 50}
    stopped = params | {"early_stopping": True, "max_iter": 1000}
    assert entry.coarser(stopped, "normal") == stopped
    forest = next(e for e in entries("regression") if e.id == "forest")
    assert forest.coarser({"n_estimators": 100}, "normal") == {"n_estimators": 100}


def test_a_target_in_thousands_needs_no_tolerance_of_thousandths():
    svm = next(e for e in entries("regression") if e.id == "svm_rbf")
    found = {unit: svm.candidates("normal", unit)[0] for unit in (1.0, 2000.0, 0.01)}
    assert [params["tol"] for params in found.values()] == [0.001, 2.0, 0.001]
    assert [params["epsilon"] for params in found.values()] == [0.1, 200.0, 0.001]


def test_a_search_ends_support_vector_machines_after_some_steps_per_row(monkeypatch, tmp_path):
    """What reaches the limit is scored as it is, without a warning; the fit on all rows has no limit."""
    plan = planned(np.random.default_rng(1).normal(size=200), test_size=0, models=("svm_rbf",))
    contender = next(c for c in plan.running if c.id == "svm_rbf")
    contender = replace(contender, entry=replace(contender.entry, steps_per_row=1))
    limits, fit, parts = [], Evaluator.fit, str(tmp_path)

    def fit_and_note(self, model, X, rows):
        limits.append((model.max_iter, len(rows)))
        return fit(self, model, X, rows)

    monkeypatch.setattr(Evaluator, "fit", fit_and_note)
    shared = share_table(plan, parts)
    task = FoldTask.of(plan, contender, "0", shared, deadline=60.0, parts=parts)
    channel = SimpleNamespace(poll=lambda: False, send=lambda message: None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        message = FoldTaskRunner(task, channel, caught).run()
    *searched, last = limits
    assert len(searched) > 3 and all(steps == rows for steps, rows in searched) and last[0] == -1
    assert not caught and not message["warnings"]
