"""A missing cell is skipped by every model: in the sums of training, and in the product.

Two oracles. Where columns are independent of each other, the log-likelihood of a row is the sum over
its cells that are there, each by a model that saw its column alone, where that is filled. In the
multinomial models a missing cell is a count of 0, so scikit-learn's answer for 0 is right.
"""

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid import Table
from pellucid.ensemble import BaggingClassifier
from pellucid.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)

# Of 60 levels some come in new rows only: they are skipped as well.
pytestmark = pytest.mark.filterwarnings("ignore::pellucid.errors.UnseenLevelWarning")
WORDS = np.array(["sun", "sea", "sky", "mud", "fog", "ice"])
LEVELS = {"few": 3, "many": 60}  # more than 50 levels make the matrix sparse
COUNTS = ["few", "many", "many say"]
APART = {
    BernoulliNB: {},
    PoissonNB: {},
    GaussianNB: {"var_smoothing": 0.0},  # the floor is one for all columns
    MixedNB: {},
}
# A normal distribution of levels and words that a class never has would be no distribution.
CASES = [(Model, what) for Model in APART for what in COUNTS[: 1 if Model is GaussianNB else 3]]
COUNTING = [BernoulliNB, ComplementNB, MultinomialNB, PoissonNB]


def table(what, n=240, gaps=0.25, seed=0):
    """Counts, flags, a category of few or many levels and a text; each cell is missing by chance."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    k = np.searchsorted(["a", "b", "c"], y)
    out = {
        "size": rng.poisson(2.0 + k).astype(float),
        "flag": (rng.random(n) < 0.2 + 0.2 * k) * 1.0,
    }
    if what.split()[0] in LEVELS:
        L = LEVELS[what.split()[0]]
        out["level"] = [
            f"v{v:02d}" for v in (rng.integers(0, L, n) + k * (rng.random(n) < 0.3)) % L
        ]
    if "say" in what:
        out["say"] = [" ".join(rng.choice(WORDS[c : c + 4], 1 + 2 * c)) for c in k]
    frame = pd.DataFrame(out).astype({name: object for name in out if name in ("level", "say")})
    return frame.mask(rng.random(frame.shape) < gaps), y


def kinds(frame):
    return Table(kinds={"say": "text"}) if "say" in frame else None


def column_by_column(Model, frame, y, new):
    """Sum over the cells that are there of what a model of their column alone says."""
    total = np.zeros((len(new), 3))
    for name in frame:
        there, asked = frame[name].notna(), new[name].notna()
        alone = Model(table=kinds(frame[[name]]), **APART[Model])
        alone.fit(frame.loc[there, [name]], y[there])
        joint = alone.predict_joint_log_proba(new.loc[asked, [name]])
        total[asked] += joint - np.log(np.unique(y[there], return_counts=True)[1] / there.sum())
    return total


@pytest.mark.parametrize(("Model", "what"), CASES)
def test_columns_that_are_there_add_up(Model, what):
    frame, y = table(what)
    new = table(what, 60, gaps=0.4, seed=1)[0]
    prior = np.unique(y, return_counts=True)[1] / len(y)
    expected = column_by_column(Model, frame, y, new) + np.log(prior)
    model = Model(table=kinds(frame), **APART[Model]).fit(frame, y)
    np.testing.assert_allclose(model.predict_joint_log_proba(new), expected, rtol=1e-10)
    nothing = new.iloc[:1].copy()
    nothing.iloc[0] = None
    np.testing.assert_allclose(model.predict_proba(nothing)[0], prior, rtol=1e-13)


@pytest.mark.parametrize(("Model", "what"), CASES)
def test_cells_missing_only_at_prediction(Model, what):
    """Nothing was missing in training, so no term of the model says "missing"."""
    frame, y = table(what, gaps=0.0)
    new = table(what, 60, gaps=0.4, seed=1)[0]
    model = Model(table=kinds(frame), **APART[Model]).fit(frame, y)
    prior = np.unique(y, return_counts=True)[1] / len(y)
    expected = column_by_column(Model, frame, y, new) + np.log(prior)
    np.testing.assert_allclose(model.predict_joint_log_proba(new), expected, rtol=1e-10)


@pytest.mark.parametrize("Model", COUNTING)
def test_numbers_missing_only_at_prediction(Model):
    """A plain array: the model has seen neither a gap nor a category."""
    rng = np.random.default_rng(0)
    X, y = rng.poisson(2.0, (60, 3)).astype(float), np.arange(60) % 3
    X[y == 1, 1] += 2
    model = Model().fit(X, y)
    part = model._column_likelihoods(X)
    new = X.copy()
    new[::2, 1] = np.nan
    part[::2, 1] = 0.0
    found = model.predict_joint_log_proba(new)
    np.testing.assert_allclose(found, part.sum(axis=1) + np.log(model._prior), rtol=1e-12)
    np.testing.assert_allclose(
        np.log(model.predict_proba(new)), model.predict_log_proba(new), rtol=1e-10
    )


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB"])
@pytest.mark.parametrize("what", COUNTS)
def test_a_missing_cell_is_a_count_of_nothing(name, what):
    import sklearn.naive_bayes
    from sklearn.feature_extraction.text import CountVectorizer

    def counts(frame):
        parts = [frame[["size", "flag"]].fillna(0).to_numpy()]
        if "level" in frame:
            parts += [(frame[["level"]].to_numpy() == level) * 1.0 for level in levels]
        if "say" in frame:
            parts.append(words.transform(frame["say"].fillna("")).toarray())
        return np.column_stack(parts)

    frame, y = table(what)
    new = table(what, 60, gaps=0.4, seed=1)[0]
    levels = sorted(set(frame.get("level", pd.Series(dtype=object)).dropna()))
    words = CountVectorizer().fit(frame["say"].fillna("")) if "say" in frame else None
    theirs = getattr(sklearn.naive_bayes, name)().fit(counts(frame), y)
    ours = getattr(pellucid.naive_bayes, name)(table=kinds(frame)).fit(frame, y)
    np.testing.assert_allclose(
        ours.predict_proba(new), theirs.predict_proba(counts(new)), rtol=1e-10
    )
    heard = np.array([not term.endswith(" missing") for term in ours.terms_])
    np.testing.assert_allclose(
        ours.feature_log_prob_[:, heard], theirs.feature_log_prob_, rtol=1e-12
    )


@pytest.mark.parametrize("what", ["few", "many say"])
@pytest.mark.parametrize("Model", [*COUNTING, GaussianNB])
def test_explained_saved_and_in_batches(Model, what, tmp_path):
    frame, y = table(what)
    model = Model(table=kinds(frame)).fit(frame, y)
    told = model.explain(frame)
    assert told.is_additive(1e-10)
    silent = frame.isna().to_numpy()
    assert np.abs(told.contributions[silent]).max() == 0 < np.abs(told.contributions).max()
    model.save(tmp_path / "m.pellucid")
    np.testing.assert_array_equal(
        pellucid.load(tmp_path / "m.pellucid").predict_proba(frame), model.predict_proba(frame)
    )
    parts = Model(table=kinds(frame))
    full = frame.notna().all(axis=1)  # the first batch knows of no gap
    for rows in (np.flatnonzero(full), *np.array_split(np.flatnonzero(~full), 3)):
        parts.partial_fit(frame.iloc[rows], y[rows], classes=["a", "b", "c"])
    np.testing.assert_allclose(parts.predict_proba(frame), model.predict_proba(frame), rtol=1e-8)


@pytest.mark.parametrize("Model", [BernoulliNB, GaussianNB, MultinomialNB, PoissonNB])
def test_in_an_ensemble_too(Model):
    """An ensemble encodes the table for its learners: they find the gaps in the flags."""
    frame, y = table("few say")
    learner = Model(table=kinds(frame))
    bag = BaggingClassifier(learner, n_estimators=1, bootstrap=False).fit(frame, y)
    alone = Model(table=kinds(frame)).fit(frame, y)
    np.testing.assert_allclose(bag.predict_proba(frame), alone.predict_proba(frame), rtol=1e-9)


@pytest.mark.parametrize(
    "Model", [BernoulliNB, PoissonNB, MultinomialNB, GaussianNB, CategoricalNB]
)
def test_a_column_that_was_never_filled_says_nothing(Model):
    X = np.column_stack([np.arange(40) % 3, np.full(40, np.nan)]).astype(float)
    y = np.repeat([0, 1], [5, 35])
    model, without = Model().fit(X, y), Model().fit(X[:, :1], y)
    for cell in (np.nan, 0.0, 2.0):
        new = X.copy()
        new[:, 1] = cell
        np.testing.assert_allclose(
            model.predict_joint_log_proba(new), without.predict_joint_log_proba(X[:, :1]), rtol=1e-9
        )


def test_texts_cost_no_dense_table():
    """1000 texts of 5000 words, half of them missing: 40 MB dense, 20 if a gap were one."""
    import tracemalloc

    rng = np.random.default_rng(2)
    say = [" ".join(f"w{k}" for k in rng.integers(0, 5000, 8)) for _ in range(1000)]
    frame = pd.DataFrame({"say": np.where(rng.random(1000) < 0.5, None, say)})
    y = np.arange(1000) % 2
    tracemalloc.start()
    try:
        model = BernoulliNB(table=kinds(frame)).fit(frame, y)
        assert (model.predict_proba(frame) >= 0).all() and model.explain(frame).is_additive(1e-9)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10e6
