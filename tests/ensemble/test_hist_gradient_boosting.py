"""Histogram boosting: equal to a plain twin and to scikit-learn; constraints, offsets, stopping."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import xlogy
from sklearn import ensemble as theirs
from sklearn.metrics import f1_score, get_scorer, make_scorer, r2_score

import pellucid
from pellucid.ensemble import GradientBoostingRegressor
from pellucid.ensemble import HistGradientBoostingClassifier as Classifier
from pellucid.ensemble import HistGradientBoostingRegressor as Regressor
from pellucid.ensemble.boosting import losses
from pellucid.ensemble.boosting.fit_boosting import BoostingSpec, fit_boosting
from pellucid.ensemble.boosting.rounds import Settings
from pellucid.ensemble.boosting.validation import split
from pellucid.errors import DataError, ParameterError
from pellucid.numerics.objectives import losses as formulas
from pellucid.tree.histogram_grower import HistogramLimits
from tests.contract.compare import assert_same_bits
from tests.ensemble import boosting_twin as twin


def table(seed, n=70, missing=True, levels=True):
    """Numbers with repeats and gaps, a column of levels, a target that depends on all of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    X[:, 2] = rng.integers(0, 5, n) if levels else X[:, 2]
    target = X[:, 0] + np.sin(2 * X[:, 1]) + (X[:, 2] % 3) + rng.normal(size=n)
    if missing:
        X[rng.random((n, 3)) < 0.1] = np.nan
    return X, target, rng


def as_frame(X):
    names = np.array([f"level {k}" for k in range(5)] + [None], dtype=object)
    codes = np.where(np.isnan(X[:, 2]), 5, X[:, 2]).astype(int)
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": names[codes]})


def logistic(y, raw):
    p = 1 / (1 + np.exp(-raw))
    return p - y, p * (1 - p)


@pytest.mark.parametrize("seed", (0, 1, 2, 3, 7, 10))
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_to_a_plain_twin(seed, weighted):
    X, target, rng = table(seed)
    weights = rng.integers(1, 4, len(X)).astype(float) if weighted else np.ones(len(X))
    settings = {"max_iter": 6, "max_leaf_nodes": 5, "min_samples_leaf": 6, "learning_rate": 0.3,
                "l2_regularization": 0.5}  # fmt: skip
    kinds = [0, 0, 1]
    model = Regressor(**settings).fit(as_frame(X), target, weights)
    mean = np.average(target, weights=weights)
    expected = twin.boost(X, kinds, target, weights, lambda y, raw: (raw - y, np.ones(len(y))),
                          mean, 6, 0.3, 5, 6, 0.5)  # fmt: skip
    assert np.allclose(model.predict(as_frame(X)), expected, rtol=0, atol=1e-9)
    y = (target > 1).astype(float)
    model = Classifier(**settings).fit(as_frame(X), y, weights)
    share = np.average(y, weights=weights)
    start = np.log(share / (1 - share))
    expected = twin.boost(X, kinds, y, weights, logistic, start, 6, 0.3, 5, 6, 0.5)
    assert np.allclose(model.decision_function(as_frame(X)), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_first_split_is_the_best_of_all(seed):
    """All thresholds, sets in order, missing left and right, weights."""
    X, target, rng = table(1000 + seed, n=40)
    weights = rng.integers(1, 3, 40).astype(float)
    model = Regressor(max_iter=1, max_leaf_nodes=2, min_samples_leaf=5).fit(
        as_frame(X), target, weights
    )
    g = weights * (np.average(target, weights=weights) - target)
    noise = (g * g / weights).sum() / weights.sum()
    best = twin.best_split(X, [0, 0, 1], np.arange(40), g, weights, weights, 5, 0.0, noise)
    if best is None:
        assert model.trees_.feature.max() < 0
        return
    tree = model.trees_.tree(0)
    assert tree.feature[0] == best[2]
    left = model.predict(as_frame(X)) == model.predict(as_frame(X))[np.argmax(best[1])]
    assert np.array_equal(left, best[1])


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma"])
def test_numbers_as_in_scikit_learn(loss):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, (1500, 6)) / 100 - 1  # few values: bins are those of scikit-learn
    X[rng.random(X.shape) < 0.05] = np.nan
    eta = np.nan_to_num(X) @ np.linspace(-1, 1, 6)
    y = np.exp(eta) * rng.gamma(3, 1 / 3, 1500) if loss == "gamma" else rng.poisson(np.exp(eta))
    ours = Regressor(loss, max_iter=20).fit(X, y)
    reference = theirs.HistGradientBoostingRegressor(loss=loss, max_iter=20).fit(X, y)
    assert np.allclose(ours.predict(X), reference.predict(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_as_in_scikit_learn(n_classes):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 200, (1500, 6)) / 100 - 1
    score = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=1500)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    ours = Classifier(max_iter=15, max_leaf_nodes=8).fit(X, y)
    reference = theirs.HistGradientBoostingClassifier(max_iter=15, max_leaf_nodes=8).fit(X, y)
    assert np.allclose(ours.predict_proba(X), reference.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize(
    ("objective", "outputs"),
    [(losses.SQUARED, 1), (losses.LOGISTIC, 1), (losses.POISSON, 1), (losses.GAMMA, 1),
     (losses.quantile(0.3), 1), (losses.softmax(3), 3), (losses.EXPONENTIAL, 1),
     (losses.huber(0.6), 1)],
    ids=lambda o: getattr(o, "name", ""),
)  # fmt: skip
def test_slopes_against_finite_differences(objective, outputs):
    rng = np.random.default_rng(2)
    n, step = 40, 1e-5
    raw = rng.normal(size=(outputs, n))
    y = rng.integers(0, max(outputs, 2), n) if outputs > 1 else rng.integers(0, 2, n) + 0.0
    y = rng.gamma(2, 1, n) if objective.name == "gamma" else y
    y = y.astype(np.int32) if outputs > 1 else y
    w, out = rng.random(n) + 0.5, np.empty((outputs, n, 2))
    if objective.adapt is not None:
        objective.adapt(y - raw[0], w)
    objective.gradients(y, raw, w, out)
    for k in range(outputs):
        for i in range(n):
            losses_at = []
            for shift in (-step, 0.0, step):
                moved = raw.copy()
                moved[k, i] += shift
                losses_at.append(objective.loss(y, moved, w) * w.sum())
            assert np.isclose((losses_at[2] - losses_at[0]) / (2 * step), out[k, i, 0], atol=1e-6)
            if objective.renew is None:
                bend = (losses_at[2] - 2 * losses_at[1] + losses_at[0]) / step**2
                assert np.isclose(bend, out[k, i, 1], atol=2e-3)


def test_softmax_slopes_are_the_formulas():
    rng = np.random.default_rng(3)
    raw, y = 20 * rng.normal(size=(4, 50)), rng.integers(0, 4, 50).astype(np.int32)
    out = np.empty((4, 50, 2))
    mean = losses.softmax(4).gradients(y, raw, np.ones(50), out)
    truth = np.eye(4)[y]
    assert np.allclose(out[:, :, 0].T, formulas.softmax(raw.T) - truth, atol=1e-15)
    assert np.isclose(mean, -(truth * formulas.log_softmax(raw.T)).sum(axis=1).mean(), rtol=1e-13)


def test_training_loss_never_rises():
    X, target, _ = table(4, n=300)
    model = Regressor(max_iter=60, min_samples_leaf=3).fit(as_frame(X), target)
    history = model.history_["objective"]
    assert len(history) == 61
    assert np.all(np.diff(history) <= 1e-12)
    residual = target - model.predict(as_frame(X))
    assert np.isclose(history[-1], 0.5 * np.mean(residual**2), rtol=1e-10)


@pytest.mark.parametrize("Model", [Regressor, Classifier])
@pytest.mark.parametrize("more", [{}, {"subsample": 0.7, "max_features": 0.6}])
def test_weights_are_copies_to_the_bit(Model, more):
    X, target, rng = table(5, n=200)
    y = target if Model is Regressor else np.digitize(target, [0.5, 2])
    weights = rng.integers(0, 4, 200)
    frame, copies = as_frame(X), np.repeat(np.arange(200), weights)
    settings = {"max_iter": 10, "min_samples_leaf": 8, "max_bins": 20, "random_state": 1} | more
    by_weight = Model(**settings).fit(frame, y, weights.astype(float))
    by_copies = Model(**settings).fit(frame.iloc[copies], y[copies])
    assert np.array_equal(by_weight.trees_.value, by_copies.trees_.value)
    assert np.array_equal(by_weight.predict(frame), by_copies.predict(frame))


@pytest.mark.parametrize(
    "model",
    [
        Classifier(max_iter=4, max_leaf_nodes=12, early_stopping=False),
        Regressor(
            max_iter=6, max_leaf_nodes=9, early_stopping=False, subsample=0.7, random_state=0
        ),
        GradientBoostingRegressor(
            n_estimators=5, max_depth=5, max_leaf_nodes=14, ccp_alpha=0.003, loss="huber"
        ),
    ],
    ids=lambda m: type(m).__name__,
)
def test_equal_bits_for_any_number_of_threads(model):
    """Idle threads make a tree divide nodes that it may not need: that must leave no trace."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(30_000, 9))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0) + 1.0 * (X[:, 3] > 0.5)
    found = set()
    try:
        for threads in (1, 2, 4, 8, 8):
            pellucid.set_threads(threads)
            model.fit(X, y)
            found.add((model.trees_.value.tobytes(), model.predict(X).tobytes()))
    finally:
        pellucid.set_threads(None)
    assert len(found) == 1


def test_monotone_constraints_hold():
    rng = np.random.default_rng(7)
    X = rng.random((800, 3))
    y = np.sin(9 * X[:, 0]) + 2 * X[:, 1] - np.cos(8 * X[:, 2]) + 0.3 * rng.normal(size=800)
    grid = np.linspace(0, 1, 60)
    for Model, target in ((Regressor, y), (Classifier, y > 0.5)):
        model = Model(max_iter=30, monotonic_cst=[1, 0, -1], min_samples_leaf=5).fit(X, target)
        free = Model(max_iter=30, min_samples_leaf=5).fit(X, target)
        broken = 0
        for j, sign in ((0, 1), (2, -1)):
            for base in rng.random((15, 3)):
                rows = np.tile(base, (60, 1))
                rows[:, j] = grid
                ask = "predict" if Model is Regressor else "decision_function"
                assert np.all(sign * np.diff(getattr(model, ask)(rows)) >= 0)
                broken += bool(np.any(sign * np.diff(getattr(free, ask)(rows)) < 0))
        assert broken > 0  # the data ask for more than the constraint allows


def test_constraints_that_cannot_be_kept_are_named():
    X, target, _ = table(8)
    with pytest.raises(ParameterError, match="'c'"):
        Regressor(monotonic_cst={"c": 1}).fit(as_frame(X), target)
    with pytest.raises(ParameterError, match="'z'"):
        Regressor(monotonic_cst={"z": 1}).fit(as_frame(X), target)
    with pytest.raises(ParameterError, match="quantiles"):
        Regressor("absolute_error", monotonic_cst={"a": 1}).fit(as_frame(X), target)
    with pytest.raises(ParameterError, match="two classes"):
        y = np.digitize(target, [0, 1])
        Classifier(monotonic_cst={"a": 1}).fit(as_frame(X), y)


def test_columns_of_different_groups_never_meet():
    X, target, _ = table(9, n=400, missing=False, levels=False)
    y = target + X[:, 0] * X[:, 1] + X[:, 1] * X[:, 2]
    model = Regressor(max_iter=20, min_samples_leaf=3, interaction_cst=[[0], [1, 2]]).fit(X, y)
    met = set()
    for t in range(20):
        tree = model.trees_.tree(t)
        paths = [(0, frozenset())]
        while paths:
            node, seen = paths.pop()
            if tree.feature[node] < 0:
                met.add(seen)
                continue
            seen = seen | {int(tree.feature[node])}
            paths += [(tree.left[node], seen), (tree.right[node], seen)]
    assert frozenset({1, 2}) in met
    assert all(not (0 in seen and len(seen) > 1) for seen in met)


def test_offset_moves_the_raw_prediction():
    n = 250  # every value has a bin, whatever the weights
    X, target, rng = table(10, n=n)
    X[:, :2] += 1e-6 * np.arange(n)[:, None]  # equal rows with weights would count as one
    frame, shift = as_frame(X), rng.normal(size=n)
    settings = {"max_iter": 10, "min_samples_leaf": 5}
    model = Regressor(**settings).fit(frame, target + shift, offset=shift)
    plain = Regressor(**settings).fit(frame, target)
    assert np.allclose(model.predict(frame), plain.predict(frame), atol=1e-9)
    assert np.allclose(model.predict(frame, offset=shift), plain.predict(frame) + shift, atol=1e-9)
    time = np.exp(shift)
    count = rng.poisson(time * np.exp(0.5 * target))
    rate = Regressor("poisson", **settings).fit(frame, count, offset=np.log(time))
    weighted = Regressor("poisson", **settings).fit(frame, count / time, time)
    assert np.allclose(rate.predict(frame), weighted.predict(frame), rtol=1e-9)
    y = rng.random(n) < 1 / (1 + np.exp(-target - shift))
    odds = Classifier(**settings).fit(frame, y, offset=shift)
    start = odds.baseline_[0]
    assert abs(np.mean(1 / (1 + np.exp(-start - shift)) - y)) < 1e-12
    with pytest.raises(ParameterError, match="two classes"):
        Classifier().fit(frame, np.digitize(target, [0, 1]), offset=shift)


def test_scores_and_stages_take_offsets(rng):
    X, shift = rng.normal(size=(300, 2)), rng.normal(size=300)
    y = rng.poisson(np.exp(0.5 * X[:, 0] + shift))
    model = Regressor("poisson", max_iter=8).fit(X, y, offset=shift)
    said = model.predict(X, offset=shift)
    assert model.score(X, y, offset=shift) == pytest.approx(r2_score(y, said), rel=1e-12)
    assert model.score(X, y) != model.score(X, y, offset=shift)
    *_, last = model.staged_predict(X, offset=shift)
    np.testing.assert_allclose(last, said, rtol=1e-12)
    for method in ("path", "shap"):
        told = model.explain(X, method, offset=shift)
        assert told.is_additive(1e-12)
        np.testing.assert_allclose(np.exp(told.prediction[:, 0]), said, rtol=1e-12)
        np.testing.assert_array_equal(told.contributions[:, -1, 0], shift)
    two = Classifier(max_iter=8).fit(X, y > 1, offset=3 * shift)
    chances = two.predict_proba(X, offset=3 * shift)
    labels = two.predict(X, offset=3 * shift)
    np.testing.assert_array_equal(labels, two.classes_[chances.argmax(axis=1)])
    assert (labels != two.predict(X)).any()
    assert two.score(X, y > 1, offset=3 * shift) == (labels == (y > 1)).mean()
    np.testing.assert_allclose(np.exp(two.predict_log_proba(X, offset=3 * shift)), chances)
    for stages, end in ((two.staged_predict_proba, chances), (two.staged_predict, labels)):
        *_, last = stages(X, offset=3 * shift)
        np.testing.assert_array_equal(last, end)
    with pytest.raises(ParameterError, match="two classes"):
        next(Classifier(max_iter=1).fit(X, y % 3).staged_predict(X, offset=shift))


@pytest.mark.parametrize("scale", [1e-200, 1e155, 1e300])
@pytest.mark.parametrize("stops", [False, True])
def test_targets_whose_squares_are_no_numbers(scale, stops, rng):
    X, e = rng.normal(size=(150, 3)), int(np.frexp(scale)[1])
    noisy = X[:, 0] + rng.normal(size=150)

    def fitted(y):
        held = {"X_val": X[100:], "y_val": y[100:]} if stops else {}
        model = Regressor(max_iter=60, min_samples_leaf=2, early_stopping=stops, tol=0)
        return model.fit(X[:100], y[:100], **held)

    near, far = fitted(noisy), fitted(np.ldexp(noisy, e))
    assert far.n_iter_ == near.n_iter_
    assert (near.n_iter_ < 60) == stops
    np.testing.assert_allclose(far.predict(X), np.ldexp(near.predict(X), e), rtol=1e-12)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
@pytest.mark.parametrize("shift", [800.0, -800.0])
def test_offsets_beyond_the_exponential(loss, shift, rng):
    """A common offset moves the start and nothing else, where exp of it is no number."""
    X = rng.normal(size=(100, 2))
    y = rng.poisson(2.0, 100) + 0.5
    model = Regressor(loss, max_iter=5)
    plain = model.fit(X, y).predict(X)
    far = model.fit(X, y, offset=np.full(100, shift))
    np.testing.assert_allclose(far.predict(X, offset=np.full(100, shift)), plain, rtol=1e-10)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "squared_error"])
def test_steps_out_of_all_numbers_are_named(loss, rng):
    X = rng.normal(size=(100, 2))
    y = rng.poisson(2.0, 100) + 0.5
    rate = 1e300 if loss == "squared_error" else 1e6
    with pytest.raises(DataError, match="learning_rate is too large"):
        Regressor(loss, max_iter=5, learning_rate=rate).fit(X, y)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
@pytest.mark.parametrize("rate", [0.1, 0.7])
def test_a_leaf_far_from_the_others_is_not_overshot(loss, rate):
    """Newton's step for a group of counts 1,000 times the mean is 999, where log(1000) is right."""
    group = np.arange(20_000) < 20
    y = np.where(group, 1e5, 0.0) if loss == "poisson" else np.where(group, 1e-3, 1.0)
    model = Regressor(loss, max_iter=60, learning_rate=rate, early_stopping=False)
    model.fit(group[:, None].astype(float), y)
    assert (np.diff(model.history_["objective"]) <= 1e-12).all()
    np.testing.assert_allclose(model.predict([[1.0]]), y[0], rtol=0.02)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantiles_hold_their_share(q):
    rng = np.random.default_rng(11)
    X = rng.random((3000, 2))
    y = X[:, 0] + X[:, 1] * rng.normal(size=3000)
    model = Regressor("quantile", quantile=q, max_iter=60).fit(X, y)
    assert abs(np.mean(y <= model.predict(X)) - q) < 0.03
    if q == 0.5:
        same = Regressor("absolute_error", max_iter=60).fit(X, y)
        assert np.array_equal(same.predict(X), model.predict(X))


def test_a_leaf_of_the_absolute_loss_holds_the_lower_median():
    model = Regressor("absolute_error", max_iter=1, learning_rate=1.0, min_samples_leaf=2)
    X, y = [[0.0]] * 2 + [[1.0]] * 2, [0.0, 1.0, 10.0, 20.0]
    assert model.fit(X, y).predict([[0.0], [1.0]]).tolist() == [0.0, 10.0]


def test_early_stopping_looks_at_clean_rows():
    X, target, rng = table(12, n=600)
    y = target + 2 * rng.normal(size=600)
    stopped = Regressor(
        max_iter=300, early_stopping=True, n_iter_no_change=5, random_state=0, min_samples_leaf=5
    ).fit(as_frame(X), y)
    assert stopped.n_iter_ < 300
    assert len(stopped.history_["validation_loss"]) == stopped.n_iter_ + 1
    assert np.allclose(stopped.validation_score_, -stopped.history_["validation_loss"])
    new = Regressor(max_iter=300, early_stopping=True, n_iter_no_change=5, min_samples_leaf=5)
    new.fit(as_frame(X)[:400], y[:400], X_val=as_frame(X)[400:], y_val=y[400:])
    residual = y[400:] - new.predict(as_frame(X)[400:])
    assert np.isclose(new.history_["validation_loss"][-1], 0.5 * np.mean(residual**2), rtol=1e-9)
    with pytest.raises(ParameterError, match="X_val"):
        Regressor(early_stopping=False).fit(X, y, X_val=X, y_val=y)
    by_score = Regressor(max_iter=50, early_stopping=True, scoring=None, random_state=0)
    assert by_score.fit(as_frame(X), y).validation_score_.max() <= 1


def test_early_stopping_by_any_scorer():
    """The recorded scores are those of scikit-learn's scorers for the model of each round."""
    X, target, rng = table(12, n=500)
    y = np.where(target + rng.normal(size=500) > np.median(target), "yes", "no")
    rows = {"X_val": as_frame(X)[300:], "y_val": y[300:]}
    options = {"max_iter": 12, "early_stopping": True, "min_samples_leaf": 5}
    for scoring in ("roc_auc", "neg_log_loss", make_scorer(f1_score, pos_label="yes")):
        model = Classifier(scoring=scoring, **options).fit(as_frame(X)[:300], y[:300], **rows)
        scorer = get_scorer(scoring)
        assert np.isclose(model.validation_score_[-1], scorer(model, *rows.values()), rtol=1e-12)
        assert len(model.validation_score_) == model.n_iter_ + 1
    twice = {name: np.repeat(rows[name], 2, axis=0) for name in rows}
    again = Classifier(scoring="roc_auc", **options).fit(as_frame(X)[:300], y[:300], **twice)
    once = Classifier(scoring="roc_auc", **options).fit(as_frame(X)[:300], y[:300], **rows)
    assert np.allclose(again.validation_score_, once.validation_score_, rtol=1e-12)
    model = Regressor(scoring="neg_max_error", **options).fit(
        X[:300], target[:300], X_val=X[300:], y_val=target[300:]
    )
    worst = np.abs(model.predict(X[300:]) - target[300:]).max()
    assert np.isclose(model.validation_score_[-1], -worst, rtol=1e-9)
    with pytest.raises(ParameterError, match="scoring"):
        Classifier(scoring="nonsense", **options).fit(X, y)


def test_copies_of_a_row_are_split_like_rows():
    X, target, _ = table(13, n=100)
    problem, _ = pellucid.data.prepare(
        np.repeat(X, 3, axis=0), np.repeat(target, 3), None, None, None, Regressor()._input_spec()
    )
    train, test = split(problem, 0.2, np.arange(2))
    assert (train.weights.sum(), test.weights.sum()) == (240, 60)
    for part in (train, test):
        assert set(part.weights) <= {1.0, 2.0, 3.0}
    once = dict(zip(test.y, test.weights))
    assert sum(w + once.get(t, 0) == 3 for t, w in zip(train.y, train.weights)) == train.n
    alone = prepared_rows(X, target)
    assert {*split(alone, 0.2, np.arange(2))[1].weights} == {1.0}  # rows without copies go whole


def prepared_rows(X, target):
    rows, _ = pellucid.data.prepare(X, target, None, None, None, Regressor()._input_spec())
    return rows


def test_a_problem_and_a_specification_are_all_that_a_fit_needs():
    X, target, _ = table(14)
    model = Regressor(max_iter=7, learning_rate=0.3).fit(as_frame(X), target)
    settings = Settings(
        rounds=7, rate=0.3, limits=HistogramLimits(min_samples_leaf=20.0, max_leaves=31)
    )
    spec = BoostingSpec(losses.SQUARED, settings)
    found = fit_boosting(prepared_rows(as_frame(X), target), spec).outcome
    assert_same_bits((found.trees, found.start), (model.trees_, model.baseline_))


def test_stages_end_in_the_prediction():
    X, target, _ = table(14)
    model = Regressor(max_iter=7, min_samples_leaf=5).fit(as_frame(X), target)
    stages = list(model.staged_predict(as_frame(X)))
    assert len(stages) == 7
    assert np.array_equal(stages[-1], model.predict(as_frame(X)))
    y = np.digitize(target, [0.5, 2])
    model = Classifier(max_iter=7, min_samples_leaf=5).fit(as_frame(X), y)
    *_, last = model.staged_predict_proba(as_frame(X))
    assert np.array_equal(last, model.predict_proba(as_frame(X)))
    *_, last = model.staged_predict(as_frame(X))
    assert np.array_equal(last, model.predict(as_frame(X)))
    assert len(list(model.staged_decision_function(as_frame(X)))) == 7


def test_warm_start_continues():
    X, target, _ = table(15)
    whole = Regressor(max_iter=12, min_samples_leaf=5).fit(as_frame(X), target)
    model = Regressor(max_iter=5, min_samples_leaf=5, warm_start=True).fit(as_frame(X), target)
    model.set_params(max_iter=12).fit(as_frame(X), target)
    assert model.n_iter_ == 12
    assert np.allclose(model.predict(as_frame(X)), whole.predict(as_frame(X)), atol=1e-10)
    with pytest.raises(ParameterError, match="max_iter"):
        model.set_params(max_iter=3).fit(as_frame(X), target)


def test_levels_without_meaning_are_left_alone():
    """Of 40 levels some seem to matter by chance; sets must gain more than that."""
    rng = np.random.default_rng(5)
    n = 4000
    X = pd.DataFrame({"id": rng.integers(0, 40, n).astype(str), "x": rng.normal(size=n)})
    y = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-X.x)), "yes", "no")
    model = Classifier(max_iter=20).fit(X, y)
    assert model.feature_importances_[0] < 0.1


def test_any_number_of_levels():
    rng = np.random.default_rng(16)
    size = 1 / np.arange(1, 4001)
    code = rng.choice(4000, 20_000, p=size / size.sum())
    y = (code % 7) + 0.1 * rng.normal(size=20_000)
    X = pd.DataFrame({"id": pd.Categorical([f"id{k}" for k in code])})
    model = Regressor(max_iter=50, early_stopping=False).fit(X, y)
    frequent = code < 200
    assert np.corrcoef(y[frequent], model.predict(X[frequent]))[0, 1] > 0.97
    reference = theirs.HistGradientBoostingRegressor(categorical_features="from_dtype")
    with pytest.raises(ValueError, match="cardinality"):
        reference.fit(X, y)


@pytest.mark.parametrize("Model", [Regressor, GradientBoostingRegressor])
def test_columns_of_many_frequent_levels_are_used(Model):
    """As a level's mean would be: more levels than bins are no loss."""
    rng = np.random.default_rng(1)
    code = rng.integers(0, 700, 21_000)
    y = rng.normal(size=700)[code] + 0.3 * rng.normal(size=len(code))
    X = pd.DataFrame({"x": rng.normal(size=len(code)), "id": [f"id{k}" for k in code]})
    train = np.arange(len(code)) < 14_000
    model = Model(**({"early_stopping": False} if Model is Regressor else {"max_depth": 5}))
    model.fit(X[train], y[train])
    means = pd.Series(y[train]).groupby(code[train]).mean()[code[~train]].to_numpy()
    best = 1 - ((y[~train] - means) ** 2).mean() / y[~train].var()
    assert model.score(X[~train], y[~train]) > best - 0.03
    assert model.feature_importances_.argmax() == 1
    told = model.explain(X[:50])
    np.testing.assert_allclose(
        told.base + told.contributions.sum(axis=1), told.prediction, rtol=1e-10
    )


def test_many_levels_with_weights_as_copies_and_constraints():
    rng = np.random.default_rng(2)
    code, w = rng.integers(0, 400, 8000), rng.integers(0, 4, 8000)
    X = pd.DataFrame({"id": [f"id{k:03}" for k in code], "x": rng.normal(size=8000)})
    y = rng.normal(size=400)[code] + X["x"].to_numpy()
    settings = {"max_iter": 5, "monotonic_cst": [0, 1], "interaction_cst": "no_interactions"}
    settings["early_stopping"] = False
    one = Regressor(**settings).fit(X, y, sample_weight=w)
    other = Regressor(**settings).fit(X.loc[np.repeat(X.index, w)], np.repeat(y, w))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    steps = one.predict(pd.DataFrame({"id": "id007", "x": np.linspace(-2, 2, 50)}))
    assert (np.diff(steps) >= 0).all()
    assert steps[-1] > steps[0]


@pytest.mark.slow
def test_a_hundred_thousand_levels():
    """Levels that come once say nothing; the frequent ones are still told apart."""
    n = 120_000
    code = np.r_[np.arange(100_000), np.arange(n - 100_000) % 20]
    y = (code % 2).astype(float)
    X = pd.DataFrame({"id": pd.Categorical.from_codes(code, [f"id{k}" for k in range(100_000)])})
    model = Regressor(max_iter=5, early_stopping=False, learning_rate=0.5).fit(X, y)
    assert model.score(X[100_000:], y[100_000:]) > 0.9


def test_kinds_of_columns_are_those_of_the_table():
    X, target, _ = table(17)
    by_kind = Regressor(max_iter=5, table=pellucid.Table(kinds={"x2": "categorical"}))
    assert by_kind.fit(X, target).is_categorical_.tolist() == [False, False, True]
    assert Regressor(max_iter=5).fit(X, target).is_categorical_ is None
    for given in ([2], np.array([2]), ["x2"], [False, False, True]):
        named = Regressor(max_iter=5, categorical_features=given).fit(X, target)
        assert named.is_categorical_.tolist() == [False, False, True]
        np.testing.assert_array_equal(named.predict(X), by_kind.predict(X))
        assert named.table is None
    with pytest.raises(ParameterError, match="categorical_features"):
        Regressor(categorical_features=2).fit(X, target)
    with pytest.raises(DataError, match="which X does not have"):
        Regressor(categorical_features=["height"]).fit(X, target)


def test_without_validation_rows_the_training_rows_stop_the_rounds():
    X, target, _ = table(20)
    settings = {"max_iter": 200, "early_stopping": True, "validation_fraction": None, "tol": 1e-2}
    settings |= {"n_iter_no_change": 3, "learning_rate": 0.5}
    model = Regressor(**settings).fit(X, target)
    peer = theirs.HistGradientBoostingRegressor(**settings).fit(X, target)
    assert model.n_iter_ == peer.n_iter_ < 200 and len(model.validation_score_) == 0
    np.testing.assert_allclose(model.train_score_, peer.train_score_, rtol=1e-6)


def test_verbose_prints_nothing(capsys):
    X, target, _ = table(18)
    Regressor(max_iter=3, verbose=2).fit(X, target)
    assert capsys.readouterr().out == ""


def test_importances_are_shares_of_the_gain():
    rng = np.random.default_rng(19)
    X = rng.normal(size=(500, 3))
    model = Regressor(max_iter=20).fit(X, 3 * X[:, 1] + 0.1 * rng.normal(size=500))
    assert np.isclose(model.feature_importances_.sum(), 1)
    assert model.feature_importances_[1] > 0.95


def test_explanations_of_the_log_link():
    X, target, rng = table(20, n=300)
    model = Regressor("poisson", max_iter=20).fit(as_frame(X), rng.poisson(np.exp(0.4 * target)))
    why = model.explain(as_frame(X))
    assert why.scale == "link"
    assert why.gap() < 1e-10
    assert np.allclose(np.exp(why.prediction[:, 0]), model.predict(as_frame(X)))


@pytest.mark.parametrize("fault", ["loop", "far", "nan", "short", "column", "round", "set"])
def test_forged_trees_are_refused(fault):
    from dataclasses import replace

    X, target, _ = table(21)
    trees = Regressor(max_iter=3, min_samples_leaf=5).fit(as_frame(X), target).trees_
    parts = {name: np.array(getattr(trees, name)) for name in
             ("right", "value", "feature", "start", "set_start", "threshold")}  # fmt: skip
    inner = np.flatnonzero(trees.feature >= 0)
    if fault == "loop":
        parts["right"][inner[-1]] = 0
    elif fault == "far":
        parts["right"][inner[0]] = 2**30
    elif fault == "nan":
        parts["value"][0] = np.nan
    elif fault == "short":
        parts["threshold"] = parts["threshold"][:-1]
    elif fault == "column":
        parts["feature"][inner[0]] = 7
    elif fault == "round":
        parts["start"][1] = -4
    else:
        parts["set_start"][inner] = 2**30
    with pytest.raises(DataError):
        replace(trees, **parts)


def test_bad_targets_are_named():
    X = np.arange(60.0)[:, None]
    model = Regressor("poisson", early_stopping=True)
    with pytest.raises(DataError, match=">= 0"):
        model.fit(X, np.ones(60), X_val=X, y_val=-np.ones(60))
    with pytest.raises(DataError, match=">= 0"):
        Regressor("poisson").fit(X, np.linspace(-1, 1, 60))
    with pytest.raises(DataError, match="> 0"):
        Regressor("gamma").fit(X, np.zeros(60))
    with pytest.raises(ParameterError, match="'quantile'"):
        Regressor("quantile").fit(X, X[:, 0])
    with pytest.raises(DataError, match="validation"):
        Classifier(early_stopping=True).fit([[1.0], [2.0]], [0, 1])


def test_what_leaves_nothing_to_learn_from_is_named():
    X, y, _ = table(4)
    frame, labels = as_frame(X), np.array(["no", "yes"])[(y > 1).astype(int)]
    with pytest.raises(ParameterError, match="class 'no' the weight 0"):
        Classifier(class_weight={"no": 0, "yes": 1}).fit(frame, labels)
    for asked in (len(y), 500):
        with pytest.raises(ParameterError, match="leaves no training rows"):
            Regressor(early_stopping=True, validation_fraction=asked).fit(frame, y)


@pytest.mark.parametrize("asked", [7, 13, 24])
def test_a_number_of_validation_rows_is_that_number(asked):
    from pellucid.ensemble.boosting.validation import split

    rng = np.random.default_rng(0)
    rows = prepared_rows(rng.normal(size=(25, 2)), rng.normal(size=25))
    assert split(rows, asked, np.arange(2))[1].total == asked


def test_weights_far_below_one():
    X, target, rng = table(22, n=200)
    weights = rng.random(200) + 0.5
    small = weights * 2.0**-40
    ours = [Regressor(max_iter=10).fit(X, target, w).predict(X) for w in (weights, small)]
    assert np.array_equal(*ours)
    theirs_ = theirs.HistGradientBoostingRegressor(max_iter=10).fit(X, target, small).predict(X)
    assert np.ptp(theirs_) == 0
    assert np.ptp(ours[0]) > 1


@pytest.mark.parametrize("max_leaf_nodes", [12, None])
def test_histograms_that_are_not_kept_change_nothing(monkeypatch, max_leaf_nodes):
    """Without room for them both children are counted: the sums are integers, so equal."""
    from pellucid.tree import histogram_grower

    X, target, _ = table(23, n=400)
    y = np.digitize(target, [0.5, 2])
    settings = {"max_iter": 5, "min_samples_leaf": 4, "max_leaf_nodes": max_leaf_nodes}
    kept = Classifier(**settings).fit(as_frame(X), y)
    monkeypatch.setattr(histogram_grower, "POOL", 1)
    counted = Classifier(**settings).fit(as_frame(X), y)
    assert np.array_equal(kept.trees_.value, counted.trees_.value)
    assert np.array_equal(kept.trees_.threshold, counted.trees_.threshold)


def test_missing_rows_are_predicted_as_alone():
    """Groups of eight rows walk together unless one has a missing value."""
    X, target, _ = table(24, n=203, levels=False)
    model = Regressor(max_iter=8, min_samples_leaf=4).fit(X, target)
    together = model.predict(X)
    alone = np.array([model.predict(X[i : i + 1])[0] for i in range(203)])
    assert np.array_equal(together, alone)


def test_the_absolute_loss_is_the_mean_distance():
    X, target, _ = table(3)
    model = Regressor(loss="absolute_error", max_iter=4, min_samples_leaf=5).fit(
        as_frame(X), target
    )
    missed = np.abs(target - model.predict(as_frame(X))).mean()
    assert np.isclose(model.history_["objective"][-1], missed, rtol=1e-9)


def test_scores_of_a_warm_start_are_all_told():
    X, y, _ = table(16)
    settings = {"early_stopping": True, "random_state": 0, "min_samples_leaf": 5}
    whole = Regressor(max_iter=9, **settings).fit(as_frame(X), y)
    model = Regressor(max_iter=5, warm_start=True, **settings).fit(as_frame(X), y)
    model.set_params(max_iter=9).fit(as_frame(X), y)
    for name in ("train_score_", "validation_score_"):
        np.testing.assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-9)
    for name, column in whole.history_.items():
        np.testing.assert_allclose(model.history_[name], column, rtol=1e-9)


@pytest.mark.parametrize("settings", [
    {"max_iter": 15, "early_stopping": True}, {"n_estimators": 15, "n_iter_no_change": 9}
])  # fmt: skip
def test_a_warm_start_holds_the_same_rows_back(settings, tmp_path):
    """Rows that earlier rounds learned from would judge the later ones too kindly."""
    Model = Regressor if "max_iter" in settings else GradientBoostingRegressor
    name = "max_iter" if "max_iter" in settings else "n_estimators"
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    model = Model(**settings, warm_start=True, validation_fraction=0.5).fit(X, y)
    model.save(tmp_path / "m.pellucid")
    for one in (pellucid.load(tmp_path / "m.pellucid"), model):
        last = one.history_["validation_loss"][-1]
        one.set_params(**{name: one.n_iter_ + 1}).fit(X, y)
        assert abs(one.history_["validation_loss"][-1] / last - 1) < 0.1  # one round more
    whole = Model(**{name: 3}, warm_start=True).fit(X, y)
    with pytest.raises(ParameterError, match="did not see"):
        whole.set_params(**settings).fit(X, y)


def test_validation_rows_have_offsets_of_their_own():
    rng = np.random.default_rng(3)
    X, shift = rng.normal(size=(400, 2)), 2 * rng.normal(size=400)
    y = rng.poisson(np.exp(X[:, 0] + shift)).astype(float)
    model = Regressor("poisson", max_iter=20, early_stopping=True)
    held = {"X_val": X[300:], "y_val": y[300:]}
    model.fit(X[:300], y[:300], offset=shift[:300], offset_val=shift[300:], **held)
    mu, seen = model.predict(X[300:], offset=shift[300:]), y[300:]
    loss = np.mean(mu - seen + xlogy(seen, seen / mu))  # half the deviance
    np.testing.assert_allclose(model.history_["validation_loss"][-1], loss, rtol=1e-9)
    for given in ({"offset": shift[:300]}, {"offset_val": shift[300:]}):
        with pytest.raises(ParameterError, match="offset and offset_val"):
            model.fit(X[:300], y[:300], **held, **given)


@pytest.mark.parametrize("constant", [1.0, 0.0, -3.5])
@pytest.mark.parametrize("Model", [Classifier, Regressor])
def test_a_column_of_one_value_or_missing_is_split_at_missing(rng, Model, constant):
    """No threshold divides its values; only present against missing does."""
    absent = rng.random(300) < 0.4
    X = np.column_stack([np.where(absent, np.nan, constant), rng.normal(size=300)])
    model = Model(max_iter=40, learning_rate=0.5, min_samples_leaf=5).fit(X, absent.astype(float))
    assert model.score(X, absent.astype(float)) > 0.999


def test_of_equal_splits_the_first_column_and_the_lowest_threshold_win():
    x = np.repeat([0.0, 1.0, 2.0, 3.0], 50)
    y = np.where(
        x == 1.0, 1.0, np.where(x == 2.0, -1.0, 0.0)
    )  # thresholds .5 and 2.5 gain the same
    model = Regressor(max_iter=1, max_leaf_nodes=2, min_samples_leaf=1).fit(
        np.column_stack([x, x]), y
    )
    assert set(model.predict([[0.0, 3.0], [3.0, 0.0]]).round(12)) != {
        model.predict([[0.0, 0.0]])[0]
    }
    first, second = model.predict([[0.0, 3.0]])[0], model.predict([[3.0, 0.0]])[0]
    assert first == model.predict([[0.0, 0.0]])[0] and second == model.predict([[3.0, 3.0]])[0]


def test_infinite_cells_are_named():
    X, target, _ = table(21)
    X[3, 1] = np.inf
    with pytest.raises(DataError, match=r"infinity.*row 3"):
        Regressor(max_iter=2).fit(X, target)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("rare", [19, 20])
def test_a_set_of_levels_holds_as_many_rows_as_a_leaf_needs(sign, rare):
    table = pd.DataFrame({"c": ["a"] * rare + ["b"] * 60})
    y = sign * np.repeat([-1.0, 1.0], [rare, 60])
    model = Regressor(max_iter=1, min_samples_leaf=20).fit(table, y)
    assert len(np.unique(model.predict(table))) == (2 if rare == 20 else 1)


def test_means_of_two_levels_are_exact():
    """Their gradients are whole multiples of the unit in which they are added."""
    table = pd.DataFrame({"c": ["a"] * 40 + ["b"] * 40})
    y = np.repeat([0.0, 4.0], 40)
    for target in (y, 4.0 - y):
        model = Regressor(max_iter=1, learning_rate=1.0, early_stopping=False).fit(table, target)
        np.testing.assert_array_equal(model.predict(table), target)
