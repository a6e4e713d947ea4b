"""Text columns: words as one multinomial, as flags or as numbers, beside columns of other kinds."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.data import Table, Text
from pellucid.discriminant_analysis import (
    FisherDiscriminant,
    GaussianBayesClassifier,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from pellucid.ensemble import BaggingClassifier
from pellucid.errors import DataError, ModelFileError, ParameterError
from pellucid.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MixedNB, MultinomialNB
from pellucid.neighbors import KNeighborsClassifier

SAY = ["free prize, call now", "are you home", "call for a free free ticket", "home at six now"] * 6
SPAM = np.array(["spam", "ham", "spam", "ham"] * 6)
NEW = pd.DataFrame({"say": ["a free call", "call home now", "six tickets", "nothing known"]})


def messages():
    return pd.DataFrame({"say": SAY})


def kinds(**options):
    return Table(kinds={"say": "text"}, text=Text(**options))


@pytest.mark.parametrize("mode", ["count", "binary", "tfidf"])
def test_words_are_those_of_the_models_for_counts(mode):
    X, table = messages(), kinds(mode=mode)
    for told, Model in (("multinomial words", MultinomialNB), ("bernoulli words", BernoulliNB)):
        mixed = MixedNB(table=table, distributions={"say": told}).fit(X, SPAM)
        plain = Model(table=table).fit(X, SPAM)
        for new in (X, NEW):
            np.testing.assert_allclose(
                mixed.predict_joint_log_proba(new), plain.predict_joint_log_proba(new), rtol=1e-12
            )
        assert mixed.distributions_ == (told,)
    assert MixedNB(table=table).fit(X, SPAM).distributions_ == ("multinomial words",)


def test_chances_of_words_by_hand():
    """Rows "a b b" and "a" are +, "b c" is -; alpha 1."""
    X, y = pd.DataFrame({"t": ["aa bb bb", "aa", "bb cc"]}), ["+", "+", "-"]
    table = Table(kinds={"t": "text"})
    words = MixedNB(table=table).fit(X, y)
    assert words.schema_.levels == (("aa", "bb", "cc"),)
    assert np.allclose(
        np.exp(words.level_log_prob_[0]), [[3 / 7, 3 / 7, 1 / 7], [1 / 5, 2 / 5, 2 / 5]]
    )
    flags = MixedNB(table=table, distributions={"t": "bernoulli"}).fit(X, y)
    assert np.allclose(
        np.exp(flags.level_log_prob_[0]), [[3 / 4, 1 / 2, 1 / 4], [1 / 3, 2 / 3, 2 / 3]]
    )
    joint = flags.predict_joint_log_proba(pd.DataFrame({"t": ["cc cc dd"]}))
    assert np.allclose(np.exp(joint), [[2 / 3 / 4 / 2 / 4, 1 / 3 * 2 / 3 / 3 * 2 / 3]])


def table_of_all_kinds(n=120):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, n)
    pools = np.array([["sun", "sea", "sky"], ["rain", "sea", "mud"], ["snow", "sky", "mud"]])
    say = [" ".join(rng.choice(pools[k], 4)) for k in y]
    X = pd.DataFrame({
        "say": say, "size": rng.normal(y), "colour": rng.choice(["red", "blue"], n), "flag": y % 2,
    })  # fmt: skip
    X.loc[::7, "size"] = np.nan
    X.loc[::11, "say"] = None
    return X, y


def test_a_text_beside_other_columns_is_the_sum_of_its_parts():
    X, y = table_of_all_kinds()
    mixed = MixedNB(table=kinds()).fit(X, y)
    assert mixed.distributions_ == ("multinomial words", "normal", "categorical", "bernoulli")
    words = MixedNB(table=kinds()).fit(X[["say"]], y)
    rest = MixedNB().fit(X.drop(columns="say"), y)
    prior = np.log(np.bincount(y) / len(y))
    expected = words.predict_joint_log_proba(X[["say"]]) - prior
    expected += rest.predict_joint_log_proba(X.drop(columns="say"))
    np.testing.assert_allclose(mixed.predict_joint_log_proba(X), expected, rtol=1e-12)
    np.testing.assert_array_equal(
        mixed.predict_proba(X), mixed.predict_proba(X[["flag", "say", "colour", "size"]])
    )


@pytest.mark.parametrize("told", ["multinomial words", "bernoulli words"])
def test_missing_texts_say_nothing(told):
    X, y = messages(), SPAM
    holes = pd.concat([X, pd.DataFrame({"say": [None, None]})], ignore_index=True)
    model = MixedNB(table=kinds(), distributions={"say": told}, priors=[0.3, 0.7])
    full = model.fit(X, y).predict_proba(NEW)
    some = model.fit(holes, [*y, "spam", "spam"])
    np.testing.assert_allclose(some.predict_proba(NEW), full, rtol=1e-13)
    found = some.predict_proba(pd.DataFrame({"say": [None, "free"]}))
    np.testing.assert_allclose(found[0], [0.3, 0.7], rtol=1e-14)


@pytest.mark.parametrize("told", ["multinomial words", "bernoulli words"])
def test_batches_and_copies_equal_one_fit(told):
    X, y = table_of_all_kinds()
    model = MixedNB(table=kinds(), distributions={"say": told})
    expected = model.fit(X, y).predict_proba(X)
    parts = MixedNB(table=kinds(), distributions={"say": told})
    for begin in range(0, len(y), 40):  # every word occurs in the first batch
        rows = slice(begin, begin + 40)
        parts.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(parts.predict_proba(X), expected, rtol=1e-11)
    weights = np.arange(len(y)) % 4
    weighted = model.fit(X, y, sample_weight=weights).predict_proba(X)
    again = np.repeat(np.arange(len(y)), weights)
    copies = model.fit(X.iloc[again], y[again]).predict_proba(X)
    np.testing.assert_allclose(weighted, copies, rtol=1e-11)


@pytest.mark.parametrize("told", ["multinomial words", "bernoulli words"])
def test_explanations_by_column_and_by_word(told):
    X, y = table_of_all_kinds()
    model = MixedNB(table=kinds(), distributions={"say": told}).fit(X, y)
    whole, words = model.explain(X), model.explain_words(X[:3])
    assert whole.columns == tuple(X.columns) and whole.is_additive(1e-10)
    assert words.is_additive(1e-10) and words.columns[4].startswith("say:")
    kept = words.contributions[:, 0] + words.contributions[:, 4:].sum(axis=1)
    np.testing.assert_allclose(kept, whole.contributions[:3, 0], rtol=1e-10)
    if told == "multinomial words":  # absent words say nothing
        np.testing.assert_allclose(words.contributions[:, 0], 0.0, atol=1e-12)
    two = MixedNB(table=kinds()).fit(messages(), SPAM)
    shown = two.explain_words(NEW[:1])
    slope = np.diff(two.level_log_prob_[0], axis=0)[0]
    for word in ("call", "free"):
        at = two.schema_.levels[0].index(word)
        assert shown.contributions[0, shown.columns.index(f"say:{word}"), 0] == pytest.approx(
            slope[at]
        )


def test_saved_and_damaged_files(tmp_path):
    X, y = table_of_all_kinds()
    model = MixedNB(table=kinds()).fit(X, y)
    model.save(tmp_path / "m.pellucid")
    np.testing.assert_array_equal(
        pellucid.load(tmp_path / "m.pellucid").predict_proba(X), model.predict_proba(X)
    )
    model.distributions_ = ("normal", *model.distributions_[1:])
    model.save(tmp_path / "bad.pellucid")
    with pytest.raises(ModelFileError, match="do not match its columns"):
        pellucid.load(tmp_path / "bad.pellucid")


def test_no_pseudo_counts():
    """A word that a class never has rules it out, and the answer stays a probability."""
    model = MixedNB(table=kinds(), alpha=0).fit(messages(), SPAM)
    found = model.predict_proba(pd.DataFrame({"say": ["prize", "prize home", "", None]}))
    assert np.isfinite(found).all() and found[0].tolist() == [0, 1]
    np.testing.assert_allclose(found[2:], 0.5, rtol=1e-14)


def test_wrong_distributions_and_ensembles_are_named():
    X = messages().assign(size=1.5)
    with pytest.raises(ParameterError, match=r"'say' contains text, .* 'normal'.*bernoulli words"):
        MixedNB(table=kinds(), distributions={"say": "normal"}).fit(X, SPAM)
    with pytest.raises(ParameterError, match=r"'size' contains numbers, .* 'bernoulli words'"):
        MixedNB(table=kinds(), distributions={"size": "bernoulli words"}).fit(X, SPAM)
    with pytest.raises(DataError, match="'say' holds free text, which BaggingClassifier"):
        BaggingClassifier(MixedNB(table=kinds())).fit(X, SPAM)


def test_words_stay_sparse():
    """2000 texts of 5000 words would be 80 MB as a dense table."""
    rng = np.random.default_rng(2)
    say = [" ".join(f"w{k}" for k in rng.integers(0, 5000, 8)) for _ in range(2000)]
    X, y = pd.DataFrame({"say": say, "size": rng.normal(size=2000)}), rng.integers(0, 2, 2000)
    tracemalloc.start()
    try:
        MixedNB(table=kinds()).fit(X, y).predict_proba(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 25e6


def test_words_and_numbers_tell_more_than_either():
    X, y = table_of_all_kinds(600)
    known, new = slice(0, 300), slice(300, None)
    both = MixedNB(table=kinds()).fit(X[known], y[known]).score(X[new], y[new])
    words = (
        MultinomialNB(table=kinds()).fit(X[["say"]][known], y[known]).score(X[["say"]][new], y[new])
    )
    size = GaussianNB().fit(X[["size"]][known], y[known]).score(X[["size"]][new], y[new])
    assert both > max(words, size)


NORMAL = [
    FisherDiscriminant,
    GaussianBayesClassifier,
    GaussianNB,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
]


def counted(X, mode="count"):
    """The table as scikit-learn's vectorizers make it, a flag for missing texts, and the sizes."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    make = TfidfVectorizer() if mode == "tfidf" else CountVectorizer(binary=mode == "binary")
    words = make.fit_transform(X["say"].fillna("")).toarray()
    return np.column_stack([words, X["say"].isna(), X["size"]]).astype(float)


@pytest.mark.filterwarnings("ignore::pellucid.errors.ConvergenceWarning")  # words of one class only
@pytest.mark.parametrize("Model", NORMAL)
@pytest.mark.parametrize("mode", ["count", "binary", "tfidf"])
def test_words_as_numbers(Model, mode):
    X, y = table_of_all_kinds()
    X = X[["say", "size"]].assign(size=X["size"].fillna(0.0))
    if Model is GaussianNB:  # the others have a flag of missing texts, which it skips
        X["say"] = X["say"].fillna("")
    numbers = np.delete(counted(X, mode), -2, axis=1) if Model is GaussianNB else counted(X, mode)
    model, plain = Model(table=kinds(mode=mode)).fit(X, y), Model().fit(numbers, y)
    ask = "decision_function" if Model is FisherDiscriminant else "predict_proba"
    np.testing.assert_allclose(
        getattr(model, ask)(X), getattr(plain, ask)(numbers), rtol=1e-10, atol=1e-300
    )
    why = model.explain(X)
    assert why.columns == ("say", "size") and why.is_additive(1e-9)
    assert model.score(X, y) > 0.8


def test_words_as_normal_numbers_are_scikit_learns():
    import sklearn.naive_bayes

    X, y = table_of_all_kinds()
    X = X[["say", "size"]].fillna({"say": "", "size": 0.0})
    numbers = np.delete(counted(X), -2, axis=1)
    theirs = sklearn.naive_bayes.GaussianNB().fit(numbers, y)
    ours = GaussianNB(table=kinds()).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(numbers), rtol=1e-8)


def test_words_as_categories_of_two_levels(tmp_path):
    """Present or absent: what BernoulliNB says of the same words, and a column of levels beside."""
    X, y = table_of_all_kinds()
    model = CategoricalNB(table=kinds(), alpha=0.5).fit(X[["say"]], y)
    flags = BernoulliNB(table=kinds(), alpha=0.5).fit(X[["say"]], y)
    np.testing.assert_allclose(
        model.predict_joint_log_proba(X[["say"]]),
        flags.predict_joint_log_proba(X[["say"]]),
        rtol=1e-12,
    )
    both = CategoricalNB(table=kinds()).fit(X[["say", "colour"]], y)
    mixed = MixedNB(table=kinds(), distributions={"say": "bernoulli"}).fit(X[["say", "colour"]], y)
    np.testing.assert_allclose(
        both.predict_proba(X[["colour", "say"]]),
        mixed.predict_proba(X[["say", "colour"]]),
        rtol=1e-12,
    )
    why = both.explain(X[["say", "colour"]])
    assert why.is_additive(1e-10) and not why.contributions[::11, 0].any()
    both.save(tmp_path / "m.pellucid")
    np.testing.assert_array_equal(
        pellucid.load(tmp_path / "m.pellucid").predict_proba(X[["say", "colour"]]),
        both.predict_proba(X[["say", "colour"]]),
    )


@pytest.mark.filterwarnings("ignore::pellucid.errors.ConvergenceWarning")
@pytest.mark.parametrize("Model", NORMAL)
def test_too_many_words_for_a_dense_table_are_named(Model, monkeypatch):
    X = messages()
    monkeypatch.setattr("pellucid.data.encode.DENSE", 24 * 5)
    with pytest.raises(
        DataError, match=rf"'say'.*{Model.__name__} needs.*max_words=5\)\), give fewer"
    ):
        Model(table=kinds()).fit(X, SPAM)
    Model(table=kinds(max_words=5)).fit(X, SPAM)  # what the message says is enough


@pytest.mark.filterwarnings("ignore::pellucid.errors.ConvergenceWarning")
@pytest.mark.parametrize("Model", [Model for Model in NORMAL if Model is not GaussianNB])
def test_too_many_words_for_covariances_are_named(Model, monkeypatch):
    X = messages().assign(size=np.arange(24.0))
    monkeypatch.setattr("pellucid.discriminant_analysis.class_covariances.PAIRS", 50)
    fits = 4 if Model in (GaussianBayesClassifier, QuadraticDiscriminantAnalysis) else 6
    with pytest.raises(
        DataError, match=rf"'say'.*covariance.*max_words={fits}\)\), or use a model"
    ):
        Model(table=kinds()).fit(X, SPAM)
    Model(table=kinds(max_words=fits)).fit(X, SPAM)


def test_models_without_words_name_those_that_have_them():
    with pytest.raises(
        DataError, match=r"'say' holds free text, which KNeigh.*MixedNB or Logistic"
    ):
        KNeighborsClassifier(table=kinds()).fit(messages(), SPAM)
    with pytest.raises(DataError, match=r"no words left: loosen .* or pattern of .*two letters"):
        MixedNB(table=kinds()).fit(pd.DataFrame({"say": ["a b", "c d"]}), [0, 1])
