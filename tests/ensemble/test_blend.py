"""Blends: greedy selection against brute force, exact explanations, honesty on noise."""

import itertools

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as TheirLogistic

import pellucid
from pellucid.ensemble import BlendClassifier, BlendRegressor, ExtraTreesClassifier
from pellucid.ensemble.blend.log_odds import to_probability
from pellucid.ensemble.blend.selection import log_loss, root_mean_squared_error, select, weights_of
from pellucid.errors import CannotSaveError, ParameterError
from pellucid.linear_model import LinearRegression, LogisticRegression
from pellucid.naive_bayes import GaussianNB
from pellucid.neighbors import KNeighborsClassifier
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor


def table(n=150, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    scores = X[:, :1] * np.arange(classes) + (X[:, 1:2] > 0) * (np.arange(classes) % 2)
    return X, (scores + rng.gumbel(size=(n, classes))).argmax(axis=1)


def parts():
    return [
        ("logistic", LogisticRegression()),
        ("bayes", GaussianNB()),
        ("trees", ExtraTreesClassifier(10, min_samples_leaf=3, random_state=1)),
    ]


@pytest.mark.parametrize("loss", [log_loss, root_mean_squared_error])
def test_each_pick_is_the_best_one_and_the_end_is_the_lowest(loss):
    rng = np.random.default_rng(3)
    values, y, w = rng.random((5, 40)), rng.random(40), rng.integers(1, 4, 40).astype(float)
    picks, losses = select(values, y, w, loss, 12)
    for k in range(len(picks)):
        tried = [
            loss(y, values[[*picks[:k], j]].mean(axis=0), w / w.sum()) for j in range(len(values))
        ]
        assert picks[k] == np.argmin(tried)
        assert losses[k] == pytest.approx(min(tried), rel=1e-12)
    assert losses[-1] == losses.min()
    assert weights_of(picks, 5) == pytest.approx(np.bincount(picks, minlength=5) / len(picks))


def test_two_picks_are_close_to_the_best_pair():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    values = y + rng.normal(size=(4, 200)) * [[1.0], [1.2], [2.0], [3.0]]
    share = np.full(200, 1 / 200)
    pairs = itertools.combinations_with_replacement(range(4), 2)
    best = min(root_mean_squared_error(y, values[list(p)].mean(axis=0), share) for p in pairs)
    _, losses = select(values, y, np.ones(200), root_mean_squared_error, 2)
    assert losses[-1] == pytest.approx(best)


def test_prediction_is_the_weighted_mean_and_the_parts_are_the_models_themselves():
    X, y = table()
    blend = BlendClassifier(parts(), random_state=0).fit(X, y)
    alone = dict(parts())
    expected = sum(
        w * alone[name].fit(X, y).predict_proba(X)
        for name, w in zip(blend.names_, blend.weights_)
        if name != "trees"
    )
    for name, w, model in zip(blend.names_, blend.weights_, blend.estimators_):
        if name == "trees":
            expected = expected + w * model.predict_proba(X)
    assert blend.predict_proba(X) == pytest.approx(expected, abs=1e-12)
    assert blend.weights_.sum() == pytest.approx(1)
    assert len(blend.picks_) <= 30


@pytest.mark.parametrize("classes", [2, 3])
def test_explanations_add_up_also_from_log_odds(classes):
    X, y = table(classes=classes)
    blend = BlendClassifier(parts(), weights=[2, 1, 1], random_state=0).fit(X, y)
    found = blend.explain(X[:20])
    assert found.scale == "probability"
    assert found.gap() < 1e-12
    own = blend.predict_proba(X[:20])
    assert found.prediction == pytest.approx(own[:, 1:] if classes == 2 else own)


def test_a_part_without_contributions_has_a_column_of_its_own():
    X, y = table()
    members = [("tree", DecisionTreeClassifier(max_depth=2)), ("knn", KNeighborsClassifier())]
    found = BlendClassifier(members, weights=[1, 1]).fit(X, y).explain(X[:5])
    assert found.columns[-1] == "(not explained by columns)"
    assert found.gap() < 1e-12


def test_integral_of_the_softmax_agrees_with_many_small_steps():
    rng = np.random.default_rng(1)
    base, parts = rng.normal(size=3), rng.normal(size=(4, 5, 3))
    steps = 20_000
    expected, total = np.zeros_like(parts), parts.sum(axis=1)
    for t in (np.arange(steps) + 0.5) / steps:
        z = np.exp(base + t * total)
        p = (z / z.sum(axis=1, keepdims=True))[:, None, :]
        expected += p * (parts - (parts * p).sum(axis=2, keepdims=True)) / steps
    assert to_probability(base, parts)[1] == pytest.approx(expected, abs=1e-7)


def test_columns_and_given_weights():
    X, y = table()
    members = [("a", DecisionTreeRegressor(max_depth=2)), ("b", LinearRegression())]
    blend = BlendRegressor(members, weights=[1, 3], columns={"a": [0, 2]}).fit(X, y.astype(float))
    a = DecisionTreeRegressor(max_depth=2).fit(X[:, [0, 2]], y.astype(float))
    b = LinearRegression().fit(X, y.astype(float))
    expected = 0.25 * a.predict(X[:, [0, 2]]) + 0.75 * b.predict(X)
    assert blend.predict(X) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ParameterError, match="columns of 'a'"):
        BlendRegressor(members, columns={"a": [9]}).fit(X, y)
    with pytest.raises(ParameterError, match="2 numbers"):
        BlendRegressor(members, weights=[1]).fit(X, y)


def test_parts_of_other_packages_and_names(tmp_path):
    X, y = table()
    blend = BlendClassifier([("theirs", TheirLogistic()), ("ours", LogisticRegression())])
    blend.set_params(theirs__C=0.5, ours=GaussianNB(), weights=[1, 1])
    assert blend.get_params()["theirs__C"] == 0.5
    blend.fit(X, y)
    expected = TheirLogistic(C=0.5).fit(X, y).predict_proba(X) / 2
    expected += GaussianNB().fit(X, y).predict_proba(X) / 2
    assert blend.predict_proba(X) == pytest.approx(expected)
    with pytest.raises(CannotSaveError, match="not one of Pellucid's"):
        blend.save(tmp_path / "blend.pellucid")
    with pytest.raises(ParameterError, match="needs classifiers"):
        BlendClassifier([("no", LinearRegression())]).fit(X, y)


def test_steps_are_the_picks():
    X, y = table()
    with pellucid.watching() as watch:
        blend = BlendClassifier(parts(), random_state=0).fit(X, y)
    assert len(watch.steps) == len(blend.picks_)
    assert watch.steps[0].sentence.startswith("Pick 1 is ")
    assert len(watch.model(0).names_) == 1


def test_damaged_files_are_refused(tmp_path):
    X, y = table()
    blend = BlendClassifier(parts(), weights=[1, 1, 1]).fit(X, y)
    for name, value in (
        ("weights_", np.array([0.5, 0.5, 0.5])),
        ("names_", ["a"]),
        ("estimators_features_", [np.array([7])] * 3),
        ("estimators_", [LinearRegression().fit(X, y)] * 3),
    ):
        kept = getattr(blend, name)
        setattr(blend, name, value)
        blend.save(tmp_path / "bad.pellucid")
        with pytest.raises(pellucid.errors.ModelFileError):
            pellucid.load(tmp_path / "bad.pellucid")
        setattr(blend, name, kept)
