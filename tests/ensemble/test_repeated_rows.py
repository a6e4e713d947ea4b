"""Honest estimates on tables whose rows repeat with different labels: few columns, few values.

The truth is what the same model says of fresh rows, or scikit-learn's estimate on the same table.
"""

import numpy as np
import pytest
import sklearn.ensemble as peers
import sklearn.tree
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone

import pellucid.tree
from pellucid import ensemble
from pellucid.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor


def passengers(seed, n):
    """Three columns with 12 different rows in all."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, k, n) for k in (2, 3, 2)]).astype(float)
    return X, (rng.random(n) < expit(2.5 * X[:, 0] - X[:, 1] + 0.7 * X[:, 2] - 0.5)).astype(int)


FRESH = passengers(99, 20_000)


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
@pytest.mark.parametrize("family", ["RandomForest", "Bagging", "ExtraTrees"])
def test_out_of_bag_scores_are_those_of_single_rows(family, kind):
    own, theirs = [], []
    options = {"n_estimators": 40, "oob_score": True, "bootstrap": True, "random_state": 0}
    for seed in range(3):
        X, y = passengers(seed, 500)
        model = getattr(ensemble, family + kind)(**options).fit(X, y)
        own.append(model.oob_score_)
        theirs.append(getattr(peers, family + kind)(**options).fit(X, y).oob_score_)
    assert np.abs(np.subtract(own, theirs)).max() < 0.03
    assert model.oob_score_ == pytest.approx(model.score(*FRESH), abs=0.06)


def test_out_of_bag_answers_are_the_means_over_bags_without_the_copy():
    """Drawn copy by copy, each row's own mean over the trees that lack it, 400 trees of one leaf."""
    X, y = np.zeros((6, 1)), np.array([0.0, 0.0, 0.0, 1.0, 1.0, 5.0])
    options = {"n_estimators": 400, "oob_score": True, "random_state": 0}
    ours = ensemble.RandomForestRegressor(**options).fit(X, y).oob_prediction_
    rng, sums, votes = np.random.default_rng(1), np.zeros(6), np.zeros(6)
    for _ in range(4000):
        drawn = rng.integers(0, 6, 6)
        out = np.setdiff1d(np.arange(6), drawn)
        sums[out] += y[drawn].mean()
        votes[out] += 1
    truth = np.array([(sums / votes)[y == value].mean() for value in y])
    assert np.allclose(ours, truth, atol=0.12)
    assert ours[0] == ours[2] and ours[3] == ours[4]


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_out_of_bag_importances_know_the_columns_that_matter(kind):
    X, y = passengers(5, 800)
    X = np.column_stack([X, np.random.default_rng(0).integers(0, 2, 800)])
    model = getattr(ensemble, "RandomForest" + kind)(
        60, random_state=0, oob_importances=True, max_depth=4
    ).fit(X, y)
    assert model.oob_importances_[:2].min() > 0.03
    assert abs(model.oob_importances_[3]) < 0.02


def test_pruning_by_folds_keeps_a_split_that_is_right_in_nine_of_ten_rows():
    x = np.repeat([0.0, 1.0], 50)[:, None]
    y = np.repeat([0, 1, 1, 0], [45, 5, 45, 5])
    model = DecisionTreeClassifier(ccp_alpha="cv").fit(x, y)
    assert model.get_n_leaves() == 2
    assert model.cv_path_["loss"] == pytest.approx([0.1, 0.5])  # the last tree is the root alone
    other = DecisionTreeRegressor(ccp_alpha="cv").fit(x, y)
    assert other.get_n_leaves() == 2
    assert other.cv_path_["loss"][0] == pytest.approx(0.09, abs=0.01)


def test_folds_do_not_know_noise():
    """Labels that no column knows: the whole tree is right on half of the held rows, not less."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 3, (400, 3)).astype(float), rng.integers(0, 2, 400)
        found.append(DecisionTreeClassifier(ccp_alpha="cv").fit(X, y).cv_path_["loss"][0])
    assert np.mean(found) == pytest.approx(0.5, abs=0.03)


def log_loss(model, X, y):
    return -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize("name", ["HistGradientBoostingClassifier", "GradientBoostingClassifier"])
def test_early_stopping_judges_as_fresh_rows_would(name):
    options = {"random_state": 0}
    stopping = (
        {"early_stopping": True, "max_iter": 100}
        if "Hist" in name
        else {"n_iter_no_change": 10, "validation_fraction": 0.2}
    )
    gaps = []
    for seed in range(3):
        X, y = passengers(seed, 1500)
        model = getattr(ensemble, name)(**options, **stopping).fit(X, y)
        gaps.append(model.history_["validation_loss"][-1] - log_loss(model, *FRESH))
        whole = getattr(ensemble, name)(**options).fit(X, y)
        assert log_loss(model, *FRESH) < log_loss(whole, *FRESH) + 0.01
    assert abs(np.mean(gaps)) < 0.05


def test_early_stopping_of_regression_judges_as_fresh_rows_would():
    X, y = passengers(1, 1500)
    model = HistGradientBoostingRegressor(early_stopping=True, random_state=0).fit(X, y)
    truth = 0.5 * np.mean((FRESH[1] - model.predict(FRESH[0])) ** 2)
    assert model.history_["validation_loss"][-1] == pytest.approx(truth, rel=0.15)


def test_samples_that_a_round_did_not_draw_judge_it():
    X, y = passengers(2, 1500)
    model = ensemble.GradientBoostingClassifier(subsample=0.5, random_state=0).fit(X, y)
    theirs = peers.GradientBoostingClassifier(subsample=0.5, random_state=0).fit(X, y)
    assert model.oob_scores_[-20:].mean() == pytest.approx(
        theirs.oob_scores_[-20:].mean(), rel=0.04
    )


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 10_000))
def test_weights_copies_and_order_give_the_same_estimates(seed):
    rng = np.random.default_rng(seed)
    X, y = passengers(seed, 40)
    y[:2] = 0, 1
    w = rng.integers(0, 4, 40)
    w[:2] = 2
    rows = rng.permutation(np.repeat(np.arange(40), w))
    few = {"random_state": 0}
    for model, found in (
        (ensemble.RandomForestClassifier(30, oob_score=True, oob_importances=True, **few),
         lambda m: (m.oob_score_, *m.oob_importances_)),
        (ensemble.BaggingRegressor(n_estimators=10, oob_score=True, **few), lambda m: (m.oob_score_,)),
        (DecisionTreeClassifier(ccp_alpha="cv"), lambda m: m.cv_path_["loss"]),
        (HistGradientBoostingClassifier(max_iter=8, early_stopping=True, min_samples_leaf=2, **few),
         lambda m: m.history_["validation_loss"]),
        (ensemble.GradientBoostingRegressor(n_estimators=8, subsample=0.5, **few),
         lambda m: m.oob_scores_),
    ):  # fmt: skip
        weighted = found(model.fit(X, y, sample_weight=w))
        repeated = found(model.fit(X[rows], y[rows]))
        assert np.array_equal(weighted, repeated), model


def test_rows_of_fractional_weight_stay_apart():
    """Such weights do not say how many samples a row is; each row goes its own way."""
    X, y = passengers(4, 600)
    w = np.random.default_rng(0).uniform(0.5, 1.5, 600)
    model = ensemble.RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, y, w)
    assert model.oob_score_ == pytest.approx(model.score(*FRESH), abs=0.06)
    boosted = HistGradientBoostingClassifier(early_stopping=True, random_state=0).fit(X, y, w)
    assert log_loss(boosted, *FRESH) < 0.55
    order = np.random.default_rng(1).permutation(600)
    again = ensemble.RandomForestClassifier(60, oob_score=True, random_state=0)
    assert again.fit(X[order], y[order], w[order]).oob_score_ == model.oob_score_


@pytest.mark.parametrize("leaf", [1, 10, 0.04])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_samples_in_leaves_of_boosted_trees_are_samples(kind, leaf):
    """Limits count samples, not different rows: as on the rows one by one, and as with weights."""
    X, y = passengers(0, 1000)
    tree, peer = (
        getattr(module, f"DecisionTree{kind}")(max_depth=2, min_samples_leaf=leaf)
        for module in (pellucid.tree, sklearn.tree)
    )
    model = getattr(ensemble, f"AdaBoost{kind}")(tree, n_estimators=10).fit(X, y)
    first = clone(peer).fit(X, y)
    assert model.estimators_[0].get_n_leaves() == first.get_n_leaves()
    if kind == "Classifier":
        assert model.score(X, y) >= peers.AdaBoostClassifier(peer, n_estimators=10).fit(X, y).score(
            X, y
        )
    rows, w = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    weighted = getattr(ensemble, f"AdaBoost{kind}")(tree, n_estimators=10)
    weighted.fit(rows[:, :-1], rows[:, -1].astype(int), sample_weight=w)
    assert np.array_equal(weighted.predict(X), model.predict(X))


def test_a_boosted_learner_that_holds_rows_back_deals_out_copies():
    x, y = np.repeat([0.0, 1.0], 50)[:, None], np.repeat([0, 1, 1, 0], [45, 5, 45, 5])
    tree = DecisionTreeClassifier(ccp_alpha="cv")
    model = ensemble.AdaBoostClassifier(tree, n_estimators=1).fit(x, y)
    assert model.estimators_[0].get_n_leaves() == 2
