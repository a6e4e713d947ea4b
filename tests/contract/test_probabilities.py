"""predict, predict_proba, predict_log_proba and decision_function tell one story."""

from functools import cache

import numpy as np
import pytest

from tests.contract.classes import applies_to, classifier, has
from tests.contract.compare import fitted, quietly
from tests.contract.data import class_count, mixed, noise, numbers

SAMPLES = {
    "binary": lambda Model: numbers(Model, n_classes=2),
    "three classes": numbers,
    "noise and a rare class": noise,
    "mixed table": mixed,
}


@pytest.fixture(params=SAMPLES)
def case(request, Model):
    return labelled(Model, request.param)


@cache
def labelled(Model, name: str):
    """(model, table): fitted to words as labels, whose order is not that of their first rows."""
    sample = SAMPLES[name](Model)
    words = np.array(["pear", "fig", "apple"])[: max(class_count(Model, 3), 2)]
    model = fitted(Model, sample.with_y(words[sample.y]))
    return model, sample.X


@applies_to(classifier, has("predict_proba"))
def test_rows_of_probabilities_sum_to_one(Model, case):
    model, X = case
    probability = model.predict_proba(X)
    assert probability.shape == (len(X), len(model.classes_))
    assert np.all((probability >= 0) & (probability <= 1))
    assert np.max(np.abs(probability.sum(axis=1) - 1)) <= 1e-12


@applies_to(classifier, has("predict_proba"))
def test_predict_is_the_most_probable_class(Model, case):
    """The first of equals wins, so that ties do not depend on anything."""
    model, X = case
    best = np.argmax(model.predict_proba(X), axis=1)
    assert np.array_equal(model.predict(X), model.classes_[best])


@applies_to(classifier, has("predict_log_proba"))
def test_logarithms_of_probabilities(Model, case):
    model, X = case
    direct = quietly(np.log, model.predict_proba(X))
    logs = model.predict_log_proba(X)
    seen = np.isfinite(direct)
    assert np.allclose(logs[seen], direct[seen], rtol=1e-12, atol=1e-12)
    assert np.all(logs[~seen] < -700)


@applies_to(classifier, has("decision_function"))
def test_predict_follows_the_decision_function(Model, case):
    model, X = case
    scores = model.decision_function(X)
    if len(model.classes_) == 2:
        assert scores.shape == (len(X),)
        best = (scores > 0).astype(int)
    else:
        assert scores.shape == (len(X), len(model.classes_))
        best = np.argmax(scores, axis=1)
    assert np.array_equal(model.predict(X), model.classes_[best])


@applies_to(classifier, has("decision_function", "predict_proba"))
def test_probability_rises_with_the_decision_function(Model):
    """Never AUC and 1 - AUC from the same model."""
    sample = numbers(Model, n_classes=2)
    model = fitted(Model, sample)
    order = np.argsort(model.decision_function(sample.X), kind="stable")
    assert np.all(np.diff(model.predict_proba(sample.X)[order, 1]) >= -1e-12)


@applies_to(classifier)
def test_score_is_the_share_of_right_answers(Model, case):
    model, X = case
    guess = model.predict(X)
    truth = np.where(np.arange(len(guess)) % 4 == 0, "fig", guess)
    weights = np.arange(1.0, len(guess) + 1)
    assert model.score(X, truth) == pytest.approx(np.mean(guess == truth), abs=1e-12)
    expected = np.average(guess == truth, weights=weights)
    assert model.score(X, truth, sample_weight=weights) == pytest.approx(expected, abs=1e-12)


@applies_to(classifier)
def test_classes_are_sorted_and_predictions_belong_to_them(Model, case):
    model, X = case
    assert list(model.classes_) == sorted(set(model.classes_))
    assert set(model.predict(X)) <= set(model.classes_)
    assert model.predict(X).dtype == model.classes_.dtype
