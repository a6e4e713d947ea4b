"""Naive Bayes on examples whose answers are known: by hand, from R's e1071, from scikit-learn."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.naive_bayes as theirs
from scipy.sparse import csc_array, csr_matrix
from sklearn.datasets import load_iris, load_wine

import pellucid
from pellucid.errors import DataError, ParameterError, UnseenLevelWarning
from pellucid.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)
from pellucid.naive_bayes.class_counts import level_probabilities

PEOPLE = np.array([
    [6, 180, 12], [5.92, 190, 11], [5.58, 170, 12], [5.92, 165, 10],
    [5, 100, 6], [5.5, 150, 8], [5.42, 130, 7], [5.75, 150, 9],
])  # fmt: skip
SEX = np.array(["male"] * 4 + ["female"] * 4)
WINE = load_wine(return_X_y=True)
COUNTS = np.round(np.abs(WINE[0])).astype(int) % 7


def test_height_weight_foot():
    model = GaussianNB(var_smoothing=0).fit(PEOPLE, SEX)
    assert np.allclose(model.theta_[1], [5.855, 176.25, 11.25], rtol=1e-14)
    assert np.allclose(model.var_[1], [0.026275, 92.1875, 0.6875], rtol=1e-12)
    assert np.allclose(model.var_[0], [0.07291875, 418.75, 1.25], rtol=1e-12)
    joint = np.exp(model.predict_joint_log_proba([[6, 130, 8]]))[0]
    assert joint == pytest.approx([4.505531524e-04, 6.957833386e-11], rel=1e-8)
    assert model.predict_proba([[6, 130, 8]])[0, 0] == pytest.approx(0.9999998455713, rel=1e-12)
    odds = np.diff(model.predict_log_proba(PEOPLE), axis=1)[:, 0]
    expected = [13.80118, 10.99391, 9.46612, 5.15542, -60.56798, -11.73895, -26.66540, -4.03915]
    assert odds == pytest.approx(expected, abs=1e-5)
    assert model.score(PEOPLE, SEX) == 1


def test_height_weight_foot_with_divisor_n_less_one():
    """Rows moved away from their class means until variances have divisor n - 1."""
    female = (SEX == "female")[:, None]
    means = np.where(female, PEOPLE[4:].mean(axis=0), PEOPLE[:4].mean(axis=0))
    wide = means + (PEOPLE - means) * np.sqrt(4 / 3)
    model = GaussianNB(var_smoothing=0).fit(wide, SEX)
    assert model.var_[1] == pytest.approx([0.0350333333, 122.9166667, 0.9166666667], rel=1e-9)
    assert model.var_[0] == pytest.approx([0.097225, 558.3333333, 1.666666667], rel=1e-9)
    joint = np.exp(model.predict_joint_log_proba([[6, 130, 8]]))[0]
    assert joint == pytest.approx([5.377909184e-04, 6.197071844e-09], rel=1e-8)
    assert model.predict_proba([[6, 130, 8]])[0, 0] == pytest.approx(0.9999884769337, rel=1e-12)
    odds = -np.diff(model.predict_log_proba([[6, 130, 8]]))[0, 0]
    assert odds == pytest.approx(11.37114824, rel=1e-9)


def test_a_class_never_seen_has_no_chance():
    """Without pseudo-counts; a word never seen in a class excludes it, unless smoothed."""
    X, y = [[1, 0], [1, 1], [0, 1]], ["a", "a", "b"]
    model = BernoulliNB(alpha=0).partial_fit(X, y, classes=["a", "b", "c"])
    assert np.exp(model.class_log_prior_)[2] == 0
    P = model.predict_proba([[1, 0], [0, 0]])
    assert P[:, 2].tolist() == [0, 0] and P[0].tolist() == [1, 0, 0]
    smooth = BernoulliNB().partial_fit(X, y, classes=["a", "b", "c"]).predict_proba([[1, 0]])[0]
    assert smooth[1] > 0.01


def test_wine_gaussian():
    X, y = WINE
    model = GaussianNB(var_smoothing=0).fit(X, y)
    assert np.flatnonzero(model.predict(X) != y).tolist() == [25, 83]
    assert model.predict_proba(X[[25]])[0] == pytest.approx(
        [0.0255204514, 0.9744795486, 0], abs=1e-9
    )
    assert model.predict_proba(X[[83]])[0] == pytest.approx(
        [0, 0.0345964318, 0.9654035682], abs=1e-9
    )
    columns = GaussianNB(var_smoothing=0).fit(X[:, 2:4], y)
    assert columns.score(X[:, 2:4], y) == pytest.approx(0.6573034, abs=1e-7)


def test_iris_as_r_has_it():
    """e1071 divides by n - 1: a pseudo-sample with that variance gives its posteriors."""
    X, y = load_iris(return_X_y=True)
    means = np.stack([X[y == k].mean(axis=0) for k in range(3)])
    wide = (X - means[y]) * np.sqrt(50 / 49) + means[y]
    model = GaussianNB(var_smoothing=0).fit(wide, y)
    found = model.predict_proba(X[[70, 83, 119]])
    expected = [
        [1.0533412959604425e-127, 0.16093605248213383, 0.8390639475178662],
        [1.0873015705614535e-132, 0.61343547669886, 0.38656452330113994],
        [2.082509614971109e-123, 0.9561626084231563, 0.043837391576843764],
    ]
    assert np.allclose(found, expected, rtol=1e-10)


def test_bernoulli_by_hand():
    X, y = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 1, 1]]), [0, 0, 1, 1]
    smooth = BernoulliNB().fit(X, y)
    assert np.exp(smooth.feature_log_prob_) == pytest.approx(
        np.array([[0.75, 0.5, 0.5], [0.25, 0.5, 0.75]]), rel=1e-14
    )
    assert np.exp(smooth.predict_joint_log_proba([[1, 0, 0]]))[0] == pytest.approx(
        [0.09375, 0.015625]
    )
    assert smooth.predict_proba([[1, 0, 0]])[0] == pytest.approx([6 / 7, 1 / 7], rel=1e-14)
    exact = BernoulliNB(alpha=0).fit(X, y)
    assert exact.predict_proba([[1, 0, 0]])[0] == pytest.approx([1, 0], abs=1e-300)


def test_binomial_column_by_hand():
    model = MixedNB(distributions={0: "binomial"}, alpha=0)
    model.fit([[1], [2], [3], [2], [0], [0], [1], [0]], [0, 0, 0, 0, 1, 1, 1, 1])
    assert model.theta_[0, 0] == pytest.approx(2 / 3, rel=1e-14)


def test_poisson_by_hand():
    model = PoissonNB(alpha=0).fit([[1], [3], [5], [7]], [0, 0, 1, 1])
    assert model.rate_[:, 0].tolist() == [2, 6]
    odds = np.diff(model.predict_log_proba([[4]]), axis=1)[0, 0]
    assert odds == pytest.approx(4 * np.log(6 / 2) - 4, rel=1e-13)


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB"])
@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_counts_equal_scikit_learns(name, alpha):
    X, y = COUNTS, WINE[1]
    ours = {c.__name__: c for c in (BernoulliNB, MultinomialNB, ComplementNB, CategoricalNB)}[name]
    weights = np.arange(len(y)) % 3 + 0.5
    a = ours(alpha=alpha).fit(X, y, sample_weight=weights)
    b = getattr(theirs, name)(alpha=alpha).fit(X, y, sample_weight=weights)
    assert np.allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X), rtol=1e-12)
    assert np.allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-10, atol=1e-12)


def test_pseudo_counts_of_each_column():
    X, y = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 1, 1.0]]), [0, 0, 1, 1]
    alpha = np.array([0.5, 1.0, 2.0])
    chance = (np.array([[2, 1, 1], [0, 1, 2]]) + alpha) / (2 + 2 * alpha)
    for table in (X, csr_matrix(X)):
        model = BernoulliNB(alpha=alpha).fit(table, y)
        np.testing.assert_allclose(np.exp(model.feature_log_prob_), chance, rtol=1e-14)
        joint = np.prod(np.where(X[:, None] == 1, chance, 1 - chance), axis=2) / 2
        np.testing.assert_allclose(np.exp(model.predict_joint_log_proba(table)), joint, rtol=1e-13)
    with pytest.raises(ParameterError, match=r"`n_features` = 3 numbers.*\(2,\)"):
        BernoulliNB(alpha=[1, 2.0]).fit(X, y)


@pytest.mark.parametrize("name", ["BernoulliNB", "ComplementNB", "MultinomialNB"])
def test_no_pseudo_counts(name):
    """scikit-learn's least alpha has almost the same answer; its answer for 0 itself is NaN."""
    X, y = np.array([[1, 0, 2], [0, 0, 1], [2, 0, 0], [1, 0, 0.0]]), [0, 0, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b = getattr(theirs, name)(alpha=0, force_alpha=False).fit(X, y)
    a = getattr(pellucid.naive_bayes, name)(alpha=0).fit(X, y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, csr_matrix, csc_array])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("BernoulliNB", {"binarize": 2.0, "fit_prior": False}),
        ("BernoulliNB", {"class_prior": [0.5, 0.3, 0.2]}),
        ("ComplementNB", {"alpha": np.linspace(0.1, 2, 13), "norm": True}),
        ("MultinomialNB", {"alpha": np.linspace(0.1, 2, 13), "class_prior": [0.5, 0.3, 0.2]}),
        ("MultinomialNB", {"fit_prior": False}),
    ],
)
def test_options_equal_scikit_learns(name, options, form):
    X, y, weights = COUNTS, WINE[1], np.arange(len(WINE[1])) % 3 + 0.5
    a = getattr(pellucid.naive_bayes, name)(**options).fit(form(X), y, sample_weight=weights)
    b = getattr(theirs, name)(**options).fit(X, y, sample_weight=weights)
    for attribute in ("feature_log_prob_", "class_log_prior_", "feature_count_", "class_count_"):
        np.testing.assert_allclose(getattr(a, attribute), getattr(b, attribute), rtol=1e-12)
    np.testing.assert_allclose(a.predict_proba(form(X)), b.predict_proba(X), rtol=1e-9)


def test_complement_norm_equals_scikit_learns():
    X, y = COUNTS, WINE[1]
    a, b = ComplementNB(norm=True).fit(X, y), theirs.ComplementNB(norm=True).fit(X, y)
    assert np.allclose(a.feature_log_prob_, b.feature_log_prob_, rtol=1e-12)


@pytest.mark.parametrize("Model", [BernoulliNB, MultinomialNB, ComplementNB, PoissonNB])
def test_sparse_tables_stay_sparse(Model, monkeypatch):
    X, y = COUNTS, WINE[1]
    dense = Model().fit(X, y).predict_proba(X)
    table = csr_matrix(X)

    def refuse(*args, **kwargs):
        raise AssertionError("the table was made dense")

    monkeypatch.setattr(csr_matrix, "toarray", refuse)
    found = Model().fit(table, y).predict_proba(table)
    assert np.allclose(found, dense, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    "Model",
    [GaussianNB, BernoulliNB, MultinomialNB, ComplementNB, CategoricalNB, PoissonNB, MixedNB],
)
def test_batches_equal_one_fit(Model):
    X, y = COUNTS.astype(float), WINE[1]
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    whole, parts = Model().fit(X, y), Model()
    for begin in range(0, len(y), 50):
        parts.partial_fit(X[begin : begin + 50], y[begin : begin + 50], classes=[0, 1, 2])
    assert np.allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-13)


def test_smoothing_follows_weights():
    """The largest variance counts weights too: scikit-learn's does not."""
    X, y = np.array([[0.0], [1.0], [5.0], [9.0]]), [0, 0, 1, 1]
    weights = [1, 2, 1, 3]
    model = GaussianNB(var_smoothing=0.5).fit(X, y, sample_weight=weights)
    repeated = np.repeat(X, weights, axis=0)
    assert model.epsilon_ == pytest.approx(0.5 * repeated.var(), rel=1e-14)


def test_missing_cells_are_skipped():
    X, y = WINE[0].copy(), WINE[1]
    X[::5, 3] = np.nan
    model = GaussianNB(var_smoothing=0).fit(X, y)
    for k in range(3):
        seen = X[(y == k) & ~np.isnan(X[:, 3]), 3]
        assert model.theta_[k, 3] == pytest.approx(seen.mean(), rel=1e-13)
        assert model.var_[k, 3] == pytest.approx(seen.var(), rel=1e-12)
    row = X[[0]].copy()
    rest = [j for j in range(13) if j != 3]
    other = GaussianNB(var_smoothing=0).fit(X[:, rest], y)
    assert np.isnan(row[0, 3])
    indicator = model.terms_.index("x3 missing")
    assert np.ptp(model.theta_[:, indicator]) == 0
    assert np.allclose(model.predict_proba(row), other.predict_proba(row[:, rest]), rtol=1e-9)


def test_a_missing_number_weighs_in_no_other_row():
    """Flags of missing numbers have no pseudo-counts: classes of 3 and 300 rows would differ."""
    y = np.r_[0, 0, 0, np.ones(300, int)]
    a = np.r_[1, 0, 1, np.tile([0, 1], 150)].astype(float)
    b = np.r_[1, 0, 1, np.tile([0, 1, 1], 100)].astype(float)
    b[10] = np.nan
    X, rows = np.column_stack([a, b]), [[1.0, 1.0], [1.0, np.nan]]
    yes = {c: [np.nansum(X[y == c, j]) + 1 for j in (0, 1)] for c in (0, 1)}
    some = {c: [np.isfinite(X[y == c, j]).sum() + 2 for j in (0, 1)] for c in (0, 1)}
    flags = np.array([[yes[c][j] / some[c][j] for j in (0, 1)] for c in (0, 1)])
    both, first = flags.prod(axis=1), flags[:, 0]
    found = BernoulliNB(fit_prior=False).fit(X, y).predict_proba(rows)
    np.testing.assert_allclose(found, [both / both.sum(), first / first.sum()], rtol=1e-12)
    words = np.array([np.array(yes[c]) / sum(yes[c]) for c in (0, 1)])
    both, first = words.prod(axis=1), words[:, 0]
    found = MultinomialNB(fit_prior=False).fit(X, y).predict_proba(rows)
    np.testing.assert_allclose(found, [both / both.sum(), first / first.sum()], rtol=1e-12)
    filled = np.nan_to_num(X)
    for norm in (False, True):
        found = ComplementNB(norm=norm).fit(X, y).predict_proba(rows[:1])
        expected = ComplementNB(norm=norm).fit(filled, y).predict_proba(rows[:1])
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert MultinomialNB(alpha=[1.0, 2.0]).fit(X, y).feature_log_prob_.shape == (2, 3)


def test_mixed_equals_its_parts():
    """Normal columns as in GaussianNB, categories as in CategoricalNB, one prior for both."""
    X, y = WINE[0], WINE[1]
    words = np.array(["a", "b", "c", "d"], dtype=object)[COUNTS[:, 0] % 4]
    table = np.column_stack([X[:, :3].astype(object), words])
    mixed = MixedNB(var_smoothing=0).fit(table, y)
    normal = GaussianNB(var_smoothing=0).fit(X[:, :3], y).predict_joint_log_proba(X[:, :3])
    levels = CategoricalNB().fit(words[:, None], y)
    prior = np.log(np.bincount(y) / len(y))
    expected = normal + levels.predict_joint_log_proba(words[:, None]) - prior
    assert np.allclose(mixed.predict_joint_log_proba(table), expected, rtol=1e-12)
    assert mixed.distributions_ == ("normal", "normal", "normal", "categorical")


def test_multinomial_block_of_mixed():
    X, y = COUNTS[:, :4].astype(float), WINE[1]
    mixed = MixedNB(distributions=dict.fromkeys(range(4), "multinomial")).fit(X, y)
    plain = MultinomialNB().fit(X, y)
    assert np.allclose(
        mixed.predict_joint_log_proba(X), plain.predict_joint_log_proba(X), rtol=1e-12
    )


def test_mixed_beats_gaussian_on_mixed_columns():
    """A level that one class never has must not decide the rows without it."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 2000)
    rare = np.where((y == 1) & (rng.random(2000) < 0.05), "rare", "usual").astype(object)
    table = np.column_stack([rng.normal(y * 1.5).astype(object), rare])
    first, second = slice(0, 1000), slice(1000, None)
    score = {
        Model: Model().fit(table[first], y[first]).score(table[second], y[second])
        for Model in (MixedNB, GaussianNB)
    }
    assert score[MixedNB] > 0.75
    assert score[MixedNB] > score[GaussianNB] + 0.1


@pytest.mark.parametrize("Model", [GaussianNB, MixedNB])
@pytest.mark.parametrize(
    ("priors", "word"),
    [([0.5, 0.6], "sum"), ([0.5, 0.25, 0.25], "match"), ([-0.5, 1.5], "negative")],
)
def test_bad_priors(Model, priors, word):
    with pytest.raises(ParameterError, match=word):
        Model(priors=priors).fit(PEOPLE, SEX)


@pytest.mark.parametrize("Model", [MultinomialNB, ComplementNB, CategoricalNB, PoissonNB])
def test_negative_counts_are_named(Model):
    X = np.abs(PEOPLE)
    X[3, 1] = -1
    with pytest.raises(DataError, match=r"(?s)Negative values.*row 3.*x1"):
        Model().fit(X, SEX)


def test_wrong_distributions_are_named():
    with pytest.raises(ParameterError, match="gamma"):
        MixedNB(distributions={0: "gamma"}).fit(PEOPLE, SEX)
    with pytest.raises(ParameterError, match="'x9'"):
        MixedNB(distributions={"x9": "normal"}).fit(PEOPLE, SEX)
    with pytest.raises(DataError, match=r"x0.*bernoulli"):
        MixedNB(distributions={0: "bernoulli"}).fit(PEOPLE, SEX)


def test_unseen_level_says_nothing():
    X, y = [["red", "x"], ["red", "y"], ["blue", "x"], ["green", "y"]], [1, 1, 0, 0]
    for Model in (CategoricalNB, MixedNB):
        model = Model().fit(X, y)
        with pytest.warns(UserWarning, match=r"mauve"):
            found = model.predict_proba([["mauve", "x"]])
        assert np.allclose(found, model.predict_proba([[None, "x"]]), rtol=1e-14)


def test_explanation_is_the_likelihood_ratio_of_a_column():
    model = GaussianNB(var_smoothing=0).fit(PEOPLE, SEX)
    why = model.explain(PEOPLE)
    density = -0.5 * ((PEOPLE[:, None] - model.theta_) ** 2 / model.var_ + np.log(model.var_))
    assert np.allclose(why.contributions[:, :, 0], density[:, 1] - density[:, 0], rtol=1e-10)
    assert why.base[0] == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("Model", [BernoulliNB, ComplementNB, MultinomialNB, PoissonNB])
@pytest.mark.parametrize("cell", ["d", None])
def test_category_not_known_from_training_says_nothing(Model, cell):
    """Class 0 has one level, class 1 two: all levels at once, or their shares, would tell of it."""
    table = pd.DataFrame({"c": ["a"] * 30 + ["b"] * 15 + ["c"] * 15})
    model = Model().fit(table, [0] * 30 + [1] * 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        found = model.predict_proba(pd.DataFrame({"c": [cell, "a"]}, dtype=object))
    np.testing.assert_allclose(found[0], [0.5, 0.5])
    assert found[1, 0] > 0.9


def test_levels_without_rows_are_equally_probable():
    found = level_probabilities(np.array([[0.0, 0.0, 0.0], [1.0, 3.0, 0.0]]), 0.0)
    np.testing.assert_allclose(found, [[1 / 3, 1 / 3, 1 / 3], [0.25, 0.75, 0.0]])


def test_smoothing_is_a_share_of_the_variance_of_the_column():
    X = np.array([[1.0], [5.0], [20.0], [90.0]]) * 100.0 + 0.5
    y = np.array([0, 0, 1, 1])
    model = MixedNB(var_smoothing=0.25).fit(X, y)
    own = np.array([X[:2].var(), X[2:].var()])
    np.testing.assert_allclose(model.var_[:, 0], own + 0.25 * X.var(), rtol=1e-12)
