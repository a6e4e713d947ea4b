"""Ensembles by stages, against ensembles that are fitted with fewer base estimators."""

import numpy as np
import pytest

import pellucid
from pellucid.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from pellucid.naive_bayes import GaussianNB


def table(classes, n=150, seed=0):
    """Rows of which some occur twice."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n)
    y = np.digitize(y, [0.3, 1.5]) if classes == 3 else (y > 0.8) * 1 if classes else y
    return np.concatenate((X, X[:20])), np.concatenate((y, y[:20]))


def watched(model, X, y, weights=None):
    with pellucid.watching() as watch:
        model.fit(X, y, sample_weight=weights)
    return watch


MEANS = [
    (RandomForestClassifier, {"oob_score": True}, 3),
    (RandomForestRegressor, {"oob_score": True}, 0),
    (ExtraTreesRegressor, {}, 0),
    (BaggingClassifier, {"oob_score": True}, 3),
    (BaggingClassifier, {"estimator": GaussianNB(), "oob_score": True}, 2),
    (BaggingRegressor, {"max_features": 0.6, "oob_score": True}, 0),
]


@pytest.mark.filterwarnings("ignore:.*rows were drawn for every:UserWarning")
@pytest.mark.parametrize(("Model", "options", "classes"), MEANS)
def test_stages_and_steps_are_smaller_ensembles(Model, options, classes):
    X, y = table(classes)
    model = Model(n_estimators=12, random_state=1, **options)
    watch = watched(model, X, y)
    stages, scores = list(model.staged_predict(X)), list(model.staged_score(X, y))
    assert len(watch.steps) == len(stages) == len(scores) == 12
    for k in (1, 5, 12):
        small = Model(n_estimators=k, random_state=1, **options).fit(X, y)
        assert np.array_equal(small.predict(X), stages[k - 1])
        assert small.score(X, y) == scores[k - 1]
        assert np.array_equal(small.predict(X), watch.model(k - 1).predict(X))
        if classes:
            proba = list(model.staged_predict_proba(X))[k - 1]
            assert np.array_equal(small.predict_proba(X), proba)
        if "oob_score" in options:
            error = watch.steps[k - 1].numbers["oob_error"]
            assert error == pytest.approx(1 - small.oob_score_, abs=1e-12)
    assert not hasattr(watch.model(3), "oob_score_")
    assert hasattr(watch.model(-1), "oob_score_") == ("oob_score" in options)


def test_a_warm_start_records_the_new_trees():
    X, y = table(2)
    model = RandomForestClassifier(4, random_state=0, warm_start=True).fit(X, y)
    model.set_params(n_estimators=7)
    watch = watched(model, X, y)
    assert [step.iteration for step in watch.steps] == [5, 6, 7]
    assert len(watch.steps[0].state["trees_"]) == 5


def plain_adaboost(votes, y, K, rate, weights):
    """Row weights, errors and weights of the rounds by the formulas of SAMME."""
    w, found = weights / weights.sum(), []
    for predicted in votes:
        wrong = predicted != y
        error = w[wrong].sum()
        a = rate * (np.log((1 - error) / error) + np.log(K - 1))
        found.append((w, error, a))
        w = w * np.exp(a * wrong)
        w = w / w.sum()
    return found


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_adaboost_rounds_are_those_of_the_formulas(classes, weighted):
    X, y = table(classes)
    given = np.random.default_rng(5).random(len(y)) + 0.1 if weighted else np.ones(len(y))
    model = AdaBoostClassifier(n_estimators=9, learning_rate=0.8)
    watch = watched(model, X, y, given if weighted else None)
    votes = [model.classes_[one.predict(X)] for one in model.estimators_]
    expected = plain_adaboost(votes, y, classes, 0.8, given)
    score = np.zeros((len(y), classes))
    assert len(watch.steps) == len(expected) == 9
    for t, (step, (w, error, a)) in enumerate(zip(watch.steps, expected)):
        # Row weights are per unit of sample weight.
        assert step.event["row_weights"] * given == pytest.approx(w, rel=1e-9)
        assert step.numbers["error"] == pytest.approx(error) == model.history_["error"][t]
        assert step.numbers["weight"] == pytest.approx(a) == model.history_["weight"][t]
        right = votes[t][:, None] == model.classes_
        score += a * np.where(right, 1.0, -1.0 / (classes - 1))
        own = score[np.arange(len(y)), np.searchsorted(model.classes_, y)]
        loss = np.exp(-own * (classes - 1) / classes)  # of the coded votes, times (K - 1) / K
        assert step.numbers["objective"] == pytest.approx(np.average(loss, weights=given))
        hits = model.classes_[score.argmax(axis=1)] == y
        assert step.numbers["train_score"] == pytest.approx(np.average(hits, weights=given))
    assert list(model.history_) == ["iteration", "objective", "error", "weight"]


@pytest.mark.parametrize("Model", [AdaBoostClassifier, AdaBoostRegressor])
def test_adaboost_steps_are_its_stages(Model):
    X, y = table(3 if Model is AdaBoostClassifier else 0)
    model = Model(n_estimators=8)
    plain, watch = Model(n_estimators=8).fit(X, y), watched(model, X, y)
    assert np.array_equal(plain.predict(X), model.predict(X))
    for k, (stage, score) in enumerate(zip(model.staged_predict(X), model.staged_score(X, y))):
        assert np.array_equal(watch.model(k).predict(X), stage)
        assert watch.steps[k].numbers["train_score"] == pytest.approx(score)
        assert len(watch.model(k).history_["error"]) == k + 1


def test_the_worst_and_the_best_base_estimator_end_the_history():
    for y in ([0, 0, 1, 1], [0, 1, 0, 1]):
        model = AdaBoostClassifier().fit([[0.0], [1.0], [2.0], [3.0]], y)
        assert np.isfinite(model.history_["objective"]).all()
        assert len(model.history_["error"]) == len(model.estimators_)


BOOSTING = [
    (GradientBoostingClassifier, {"subsample": 0.7, "random_state": 0}, 2, "n_estimators"),
    (GradientBoostingClassifier, {}, 3, "n_estimators"),
    (GradientBoostingRegressor, {"loss": "huber"}, 0, "n_estimators"),
    (HistGradientBoostingClassifier, {"early_stopping": True, "random_state": 0}, 3, "max_iter"),
    (HistGradientBoostingRegressor, {"loss": "squared_error"}, 0, "max_iter"),
]


@pytest.mark.parametrize(("Model", "options", "classes", "name"), BOOSTING)
def test_boosting_steps_are_models_of_fewer_rounds(Model, options, classes, name, tmp_path):
    X, y = table(classes)
    model = Model(**{name: 10}, **options)
    watch = watched(model, X, y)
    assert [step.iteration for step in watch.steps] == list(range(11))
    assert watch.steps[-1].state["trees_"] is model.trees_
    for k in (1, 4, 10):
        small, step = Model(**{name: k}, **options).fit(X, y), watch.model(k)
        assert np.array_equal(small.predict(X), step.predict(X))
        for attribute in ("n_iter_", "train_score_", "n_estimators_", "oob_scores_"):
            if hasattr(small, attribute):
                assert np.array_equal(getattr(small, attribute), getattr(step, attribute))
        step.save(tmp_path / "model")
        assert np.array_equal(pellucid.load(tmp_path / "model").predict(X), step.predict(X))
    start = watch.model(0).predict(X)
    assert (start == start[0]).all()


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "log_loss", "softmax"])
def test_gradients_are_those_of_the_loss(loss):
    classes = {"log_loss": 2, "softmax": 3}.get(loss, 0)
    X, y = table(classes)
    y = np.abs(1000 * y) if loss == "poisson" else 1000 * y if not classes else y
    if classes:
        model = HistGradientBoostingClassifier(max_iter=4, early_stopping=True, random_state=1)
    else:
        model = HistGradientBoostingRegressor(loss=loss, max_iter=4)
    watch = watched(model, X, y)
    for k in range(1, 5):
        before, event = watch.model(k - 1), watch.steps[k].event
        if classes:
            expected = before.predict_proba(X) - (y[:, None] == model.classes_)
            expected = expected[:, 1] if classes == 2 else expected
        else:
            expected = before.predict(X) - y
        rows = event["rows"]
        assert len(rows) < len(y) if classes else len(rows) == len(y)  # not the validation rows
        assert event["gradients"] == pytest.approx(expected[rows], rel=1e-9, abs=1e-9)
        assert sum(tree.n_leaves for tree in event["trees"]) == event["leaves"]


def test_many_rows_keep_an_even_sample(monkeypatch):
    from pellucid.ensemble import stages

    monkeypatch.setattr(stages, "ROW_NUMBERS", 100)
    X, y = table(2)
    event = watched(AdaBoostClassifier(n_estimators=5), X, y).steps[1].event
    assert len(event["rows"]) == len(event["row_weights"]) == 20
    assert (event["rows"][0], event["rows"][-1]) == (0, len(y) - 1)


@pytest.mark.parametrize("model", [RandomForestClassifier(9), BaggingClassifier(n_estimators=9)])
def test_progress_counts_base_estimators_while_they_are_fitted(model):
    X, y = table(2)
    seen = []
    with pellucid.watching(state=False, progress=seen.append):
        model.fit(X, y)
    assert {row["source"] for row in seen} == {type(model).__name__}
    assert seen[-1]["iteration"] == seen[-1]["total"] == 9
    counts = [row["iteration"] for row in seen]
    assert counts == sorted(counts)

    def stop(row):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), pellucid.watching(progress=stop):
        model.fit(X, y)
