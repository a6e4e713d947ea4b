"""What the board says of models: readable notes, scorers by name, labels as the user has them."""

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.comparison.analysis.by_folds import fold_interval
from pellucid.comparison.analysis.leaderboard import warning_notes
from pellucid.comparison.execution.worker_data import CodedClassifier, Evaluator, share_table
from pellucid.comparison.planning.dataset import load_dataset
from pellucid.comparison.planning.metric_bounds import bounds_of
from pellucid.comparison.planning.plan import make_plan
from pellucid.comparison.planning.registry import entries
from pellucid.comparison.planning.settings import Settings
from pellucid.model_selection import METRICS, metric
from tests.comparison.troublemakers import Troublemaker


def warning(text, count=1, category="ConvergenceWarning"):
    return {"category": category, "text": text, "count": count}


def test_warnings_of_one_kind_are_one_line():
    said = warning_notes([
        warning("QDA: Some classes do not vary in all directions: 'a' (x, y). There they have v.", 3),
        warning("QDA: Some classes do not vary in all directions: 'b' (z). There they have v.", 4),
        warning("MLPClassifier: Stopped at 200 passes (max_iter). Allow more.", 2),
        warning("MLPClassifier: Stopped at 300 passes (max_iter). Allow more."),
    ], [
        warning("SGD: The steps are too long. Shorten.", 5), warning("Stopped (max_iter).", 4),
    ])  # fmt: skip
    assert said == [
        "Some classes do not vary in all directions: 'a' (x, y) (7 fits)",
        "7 fits stopped at max_iter before converging",
        "The steps are too long (5 fits of the search)",
    ]


def test_a_long_warning_loses_its_lists_first():
    lists = ", ".join(f"'c{k}' ({', '.join(f'column {j}' for j in range(5))})" for k in range(3))
    (said,) = warning_notes([warning(f"QDA: Some classes do not vary: {lists}. More.")], [])
    assert said == "Some classes do not vary: 'c0', 'c1', 'c2' (1 fit)"
    (said,) = warning_notes([warning("x" * 500)], [])
    assert len(said) < 180


def two_classes(rng, n=120):
    x = rng.normal(size=n)
    y = np.where(x + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    return pd.DataFrame({"x": x, "z": rng.normal(size=n), "w": 1.0 + (x > 1), "y": y})


def test_notes_name_the_users_classes(rng):
    table = two_classes(rng, 60).drop(columns="w")
    table["same"] = np.where(table.y == "yes", 1.0, table.x)
    result = pellucid.compare(table, "y", models="qda", effort="quick", cv=2, test_size=0)
    notes = next(row["notes"] for row in result.rows if row["model"] == "qda")
    assert any("'yes'" in note and "fits" in note for note in notes)


@pytest.fixture
def evaluator(tmp_path, rng):
    """A bench whose positive class is the first by name."""
    table = two_classes(rng)
    settings = Settings.of({"target": "y", "weights": "w", "positive": "no", "test_size": 0})
    shared = share_table(make_plan(load_dataset(table, settings), settings), str(tmp_path))
    entry = next(e for e in entries("classification") if e.id == "logistic")
    return Evaluator(shared, "logistic", entry.make(), (), foreign=False)


def test_scorers_of_scikit_learn_see_codes_and_weights(evaluator):
    """`--positive no`: precision, recall and AUC are about the class that was asked for."""
    from sklearn import metrics

    rows = np.arange(len(evaluator.y))
    X = evaluator.rows(rows)
    fitted = evaluator.fit(evaluator.unfitted({}, "0"), X, rows)
    assert fitted.classes_.tolist() == ["no", "yes"]
    predictions = evaluator.predict(fitted, X)
    y, w = evaluator.y, evaluator.weights
    said = evaluator.score(
        ("precision", "jaccard", "neg_brier_score", "roc_auc", "matthews_corrcoef"),
        fitted, X, rows, predictions,
    )  # fmt: skip
    p = fitted.predict_proba(X)[:, 0]  # of "no", the class with code 1
    assert predictions.proba[:, 1] == pytest.approx(p)
    guess = (p > 0.5).astype(int)
    assert said == pytest.approx({
        "precision": metrics.precision_score(y, guess, sample_weight=w),
        "jaccard": metrics.jaccard_score(y, guess, sample_weight=w),
        "neg_brier_score": -metrics.brier_score_loss(y, p, sample_weight=w),
        "roc_auc": metrics.roc_auc_score(y, p, sample_weight=w),
        "matthews_corrcoef": metrics.matthews_corrcoef(y, guess, sample_weight=w),
    })  # fmt: skip


def test_models_inside_an_extra_model_have_seeds(evaluator):
    forest = pytest.importorskip("sklearn.ensemble").RandomForestClassifier(3)
    pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline(forest)
    foreign = Evaluator(evaluator.shared, "mine", pipeline, (), foreign=True)
    seeds = [
        foreign.unfitted({}, *task).get_params()["randomforestclassifier__random_state"]
        for task in (("0",), ("0",), ("1",))
    ]
    assert seeds[0] == seeds[1] != seeds[2] and forest.random_state is None
    forest.random_state = 5
    assert foreign.unfitted({}, "0").get_params()["randomforestclassifier__random_state"] == 5


def test_what_a_model_does_not_say_is_missing_for_scorers_too(evaluator):
    from pellucid.linear_model import RidgeClassifier

    rows = np.arange(len(evaluator.y))
    X = evaluator.rows(rows)
    fitted = RidgeClassifier().fit(X, evaluator.labels[evaluator.y])
    coded = CodedClassifier(evaluator, fitted)
    assert np.isnan(metric("neg_brier_score").compute(coded, X, evaluator.y, evaluator.weights))
    ours = metric("roc_auc").compute(
        evaluator.y, -fitted.decision_function(X), evaluator.weights, [0, 1]
    )
    theirs = pytest.importorskip("sklearn.metrics").get_scorer("roc_auc")
    assert theirs(coded, X, evaluator.y, sample_weight=evaluator.weights) == pytest.approx(ours)


def test_parameters_in_units_of_the_target(rng):
    """Thousands or millionths: the same candidates, and the same model up to the unit."""
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    table["y"] = table.a - 2 * table.b + 0.3 * rng.normal(size=80)
    results = []
    for unit in (1.0, 1024.0):
        scaled = table.assign(y=table.y * unit)
        result = pellucid.compare(
            scaled,
            "y",
            models=["svm_rbf", "svm_linear", "lasso", "elastic_net"],
            effort="quick",
            cv=3,
            test_size=0,
        )
        results.append({row["model"]: row["metrics"]["r2"] for row in result.rows})
    assert results[1] == pytest.approx(results[0], abs=2e-3)  # the unit has two digits
    assert min(results[1][name] for name in ("svm_rbf", "svm_linear", "lasso", "elastic_net")) > 0.6


def test_the_elastic_net_of_a_target_in_another_unit_is_the_same_model(rng):
    from pellucid.comparison.planning.registry import ENTRIES
    from pellucid.linear_model import ElasticNet

    entry = next(e for e in ENTRIES if e.id == "elastic_net")
    X = rng.normal(size=(60, 4))
    y = X @ [1.0, -2.0, 0.0, 0.5] + rng.normal(size=60)
    for one, other in zip(entry.candidates("thorough"), entry.candidates("thorough", 2.0**20)):
        small = ElasticNet(**one, tol=1e-12).fit(X, y)
        large = ElasticNet(**other, tol=1e-12).fit(X, y * 2.0**20)
        assert large.coef_ / 2.0**20 == pytest.approx(small.coef_, rel=1e-6, abs=1e-9)
    ratios = {c["l1_ratio"] for c in entry.candidates("thorough", 79000.0)}
    assert len(ratios) == 3  # one for each that is searched: paths along alpha hold on to it


def test_a_search_begins_in_the_middle():
    from pellucid.comparison.execution.candidate_choice import best_of, from_the_middle

    assert from_the_middle(1) == [0] and from_the_middle(4) == [1, 2, 0, 3]
    assert from_the_middle(5) == [2, 1, 3, 0, 4]
    scored = {2: {"scores": [0.5]}, 1: {"scores": [0.5]}, 0: {"scores": None, "why": "no"}}
    told = {0: {"scores": [1.0], "losses": [0.68]}, 1: {"scores": [1.0], "losses": [0.01]}}
    for ranking in (METRICS["accuracy"], METRICS["roc_auc"]):
        assert best_of(scored, ranking) == 1, "of equals the simpler one, whenever it was tried"
        assert best_of({0: {"scores": None}}, ranking) is None
        assert best_of(told, ranking) == 1, "of equals the one whose probabilities say more"
        assert best_of(told | {2: {"scores": [1.0], "losses": [None]}}, ranking) == 1


def test_an_order_that_cannot_be_told_from_the_best_has_the_better_probabilities():
    from pellucid.comparison.execution.candidate_choice import best_of

    found = {
        0: {"scores": [0.81, 0.79, 0.83], "losses": [0.69, 0.69, 0.69]},  # the best by a hair
        1: {"scores": [0.80, 0.80, 0.82], "losses": [0.52, 0.51, 0.53]},
        2: {"scores": [0.70, 0.69, 0.72], "losses": [0.30, 0.30, 0.30]},  # worse in every fold
        3: {"scores": [0.81, None, 0.83], "losses": [0.1, None, 0.1]},
    }
    assert best_of(found, METRICS["roc_auc"]) == 1
    assert best_of(found, METRICS["accuracy"]) == 0, "labels are what accuracy is about"
    silent = {c: {"scores": record["scores"]} for c, record in found.items()}
    assert best_of(silent, METRICS["roc_auc"]) == 0, "without probabilities the best order"


def test_the_best_third_goes_on_to_the_next_inner_fold():
    from pellucid.comparison.execution.candidate_choice import survivors
    from pellucid.comparison.planning.plan import candidates_on_fold

    counts = [[candidates_on_fold(n, f) for f in range(4)] for n in (1, 2, 4, 7, 13)]
    assert counts == [[1, 1, 1, 1], [2, 2, 2, 2], [4, 2, 1, 1], [7, 3, 1, 1], [13, 5, 2, 1]]
    found = {
        0: {"scores": [0.90], "losses": [0.9]},
        1: {"scores": [0.80], "losses": [0.2]},
        2: {"scores": [0.89], "losses": [0.8]},
        3: {"scores": [0.70], "losses": [0.1]},
    }
    assert survivors(found, 3, METRICS["accuracy"]) == [0, 2, 1]
    assert survivors(found, 3, METRICS["roc_auc"]) == [0, 3, 2], "half of them by their log loss"
    assert survivors(found | {4: {"scores": [None], "losses": [0.0]}}, 5, METRICS["rmse"])[0] == 3
    assert survivors({}, 2, METRICS["rmse"]) == []


def test_the_board_knows_repeats_and_that_r2_ends_at_one(rng):
    """Scorers have the interval of the folds of one repeat, within the bounds of the metric."""
    x = rng.normal(size=40)
    table = pd.DataFrame({"x": x, "y": x + 0.3 * rng.normal(size=40)})
    for name in ("explained_variance", "r2"):
        found = pellucid.compare(
            table, "y", models="ols", metric=name, cv=3, repeats=2, test_size=0
        )
        row = found.rows[0]
        scores = row["folds"][name]
        assert len(scores) == 6 and row["ci"][0] < row["mean"] < row["ci"][1] <= 1
        if name == "explained_variance":
            low, high = fold_interval(scores, 0.5, repeats=2)
            assert row["ci"] == pytest.approx([low, min(high, 1.0)], abs=0.01)


def test_every_scorer_of_scikit_learn_lies_within_its_bounds(rng):
    """What is told of an interval cannot lie beyond what a metric can be."""
    from sklearn.metrics import get_scorer, get_scorer_names

    y, said = np.array([1, 2, 1, 2, 2]), np.array([1, 2, 2, 1, 2])
    reached = set()
    for name in get_scorer_names():
        scorer = get_scorer(name)
        if scorer._response_method != "predict" or name.endswith(("_samples", "_ratio")):
            continue  # of many labels, or not defined where all are right
        low, high = bounds_of(name)
        good, bad = (scorer._sign * scorer._score_func(y, p, **scorer._kwargs) for p in (y, said))
        assert low <= bad <= good <= high, name
        reached |= {name} if good == pytest.approx(high) else set()
    assert {"neg_max_error", "matthews_corrcoef", "precision", "d2_absolute_error_score"} <= reached
    assert bounds_of("neg_brier_score") == (-np.inf, 0.0) and bounds_of("log_loss") == (0.0, np.inf)


def test_gamma_takes_part_where_the_target_is_positive(rng):
    table = pd.DataFrame({"x": rng.normal(size=40)})
    positive = pellucid.compare(
        table, np.exp(table.x).to_numpy(), models="gamma", cv=2, effort="quick"
    )
    assert {row["model"]: row["status"] for row in positive.rows}["gamma"] == "ok"
    mixed = pellucid.compare(table, table.x.to_numpy(), models="gamma", cv=2, effort="quick")
    row = next(row for row in mixed.rows if row["model"] == "gamma")
    assert (row["status"], row["reason"]) == ("skipped", "the target is not always positive")


def test_many_classes_have_a_report_without_regions(tmp_path):
    """The picture of regions has 31 colours; more classes are told, not an error."""
    table = pd.DataFrame({"a": np.arange(120) % 40, "b": np.arange(120) % 7})
    table["y"] = [f"n{k % 40:02d}" for k in range(120)]
    result = pellucid.compare(table, "y", models="tree", effort="quick", cv=2)
    page = result.report(tmp_path / "report.html").read_text()
    assert "Decision regions are shown for at most 31 classes." in page


def test_few_rows_of_a_class_mean_fewer_folds_not_no_score(rng):
    table = pd.DataFrame({"x": rng.normal(size=12), "y": ["p"] * 9 + ["n"] * 3})
    result = pellucid.compare(table, "y", models="tree", effort="quick")
    assert result.data["plan"]["n_folds"] == 3 and all(row["place"] for row in result.rows)


@pytest.mark.slow
def test_a_model_without_a_score_says_why(rng):
    table = two_classes(rng, 60)
    result = pellucid.compare(
        table, "y", models=["tree"], extra={"mine": Troublemaker()}, metric="log_loss",
        effort="quick", cv=2,
    )  # fmt: skip
    row = next(row for row in result.rows if row["model"] == "mine")
    assert row["place"] is None
    assert row["reason"] == "log_loss is undefined in 2 of 2 folds (the model has no probabilities)"
    late = table.assign(t=np.arange(60), y=np.where(np.arange(60) < 42, table.y, "no"))
    found = pellucid.compare(late, "y", models="tree", time="t", effort="quick", cv=3, test_size=0)
    assert found.recommended is None
    assert all("roc_auc needs two classes" in row["reason"] for row in found.rows)


def test_log_loss_is_a_second_witness_against_the_baseline_of_labels(rng):
    """Three classes whose shares depend on a column, but of which the first is always the largest."""
    x = rng.random(240)
    y = np.where(rng.random(240) < 0.5, "a", np.where(rng.random(240) < x, "b", "c"))
    table = pd.DataFrame({"x": x, "y": y})
    found = pellucid.compare(table, "y", models="logistic", effort="quick", test_size=0)
    row = next(row for row in found.rows if row["model"] == "logistic")
    assert row["metrics"]["log_loss"] < found.rows[-1]["metrics"]["log_loss"]
    p = found.data["pairs"]["p"]
    assert p[0][1] == p[1][0] and (row["mean"] <= 0.52 or p[0][1] < 0.05)
