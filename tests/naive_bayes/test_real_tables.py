"""Naive Bayes on text and on mixed columns: news, short messages, and a census with gaps."""

import functools
import re

import numpy as np
import pytest

from pellucid.data import Table, Text
from pellucid.linear_model import LogisticRegression
from pellucid.naive_bayes import BernoulliNB, GaussianNB, MixedNB, MultinomialNB
from tests.oracles import shared


@functools.cache
def news():
    """Texts of the training part, and their four groups."""
    table = shared.frame("newsgroups4_clean.csv.gz", keep_default_na=False)
    table = table[table["subset"] == "train"]
    return table[["text"]], table["category"].to_numpy()


def halves(seed):
    from sklearn.model_selection import train_test_split

    return train_test_split(np.arange(len(news()[1])), test_size=0.5, random_state=seed)


def presence():
    """Which of the 1000 most frequent words occur."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    stop = sorted(ENGLISH_STOP_WORDS | set("stm12"))
    text = Text("binary", stop_words=stop, min_df=2, max_df=0.8, max_words=1000, pattern=r"\w+")
    return Table(kinds={"text": "text"}, text=text)


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB"])
def test_words_of_news_as_in_scikit_learn(name):
    """The same words through its vectorizer and its model give the same probabilities."""
    import sklearn.naive_bayes as theirs
    from sklearn.feature_extraction.text import CountVectorizer

    ours = {"BernoulliNB": BernoulliNB, "MultinomialNB": MultinomialNB}[name]
    X, y = news()
    known, new = (part[:400] for part in halves(0))
    model = ours(table=presence()).fit(X.iloc[known], y[known])
    words = [term.removeprefix("text:") for term in model.terms_]
    count = CountVectorizer(binary=True, vocabulary=words, token_pattern=r"\w+")
    A, B = (count.transform(X.iloc[rows]["text"]) for rows in (known, new))
    peer = getattr(theirs, name)().fit(A, y[known])
    joint = model.predict_joint_log_proba(X.iloc[new])
    np.testing.assert_allclose(joint, peer.predict_joint_log_proba(B), rtol=1e-11)
    np.testing.assert_array_equal(model.predict(X.iloc[new]), peer.predict(B))
    np.testing.assert_array_equal(ours().fit(A, y[known]).predict(B), peer.predict(B))


@pytest.mark.slow
def test_words_of_news_tell_the_group():
    """Word presence in a multinomial: six random halves have .824 right in the mean; Bernoulli less."""
    X, y = news()
    scores = []
    for seed in range(6):
        known, new = halves(seed)
        model = MultinomialNB(table=presence()).fit(X.iloc[known], y[known])
        scores.append(model.score(X.iloc[new], y[new]))
    assert np.mean(scores) >= 0.815
    flags = BernoulliNB(table=presence()).fit(X.iloc[known], y[known]).score(X.iloc[new], y[new])
    assert 0.68 < flags < 0.75


def test_messages_as_text_beat_messages_as_normal_numbers():
    """Every second message held back: .978 right, where normal word counts have .697 right."""
    table = shared.frame("sms_spam.csv", keep_default_na=False)
    X, y = table[["text"]], table["label"].to_numpy()
    options = Table(text=Text(max_words=500))
    model = MultinomialNB(table=options).fit(X[::2], y[::2])
    assert model.schema_.kinds == ("text",)
    right = model.score(X[1::2], y[1::2])

    words = {term.removeprefix("text:"): k for k, term in enumerate(model.terms_)}

    def counts(part):
        out = np.zeros((len(part), len(words)))
        for i, message in enumerate(part["text"]):
            for word in re.findall(r"\w\w+", message.lower()):
                if word in words:
                    out[i, words[word]] += 1
        return out

    gaussian = GaussianNB().fit(counts(X[::2]), y[::2]).score(counts(X[1::2]), y[1::2])
    assert right > 0.975
    assert right > gaussian + 0.25


def test_a_text_beside_other_columns_just_works():
    table = shared.frame("sms_spam.csv", keep_default_na=False)[:1500]
    X, y = table[["text"]].copy(), table["label"].to_numpy()
    X["digits"] = X["text"].str.count("[0-9]")
    X["shouts"] = np.where(X["text"].str.isupper(), "yes", "no")
    model = LogisticRegression(table=Table(text=Text(max_words=300))).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.97
    why = model.explain(X[:5])
    assert why.columns == ("text", "digits", "shouts") and why.is_additive(1e-10)
    mixed = MixedNB(table=Table(text=Text(max_words=300))).fit(X[::2], y[::2])
    assert mixed.distributions_ == ("multinomial words", "normal", "categorical")
    assert mixed.score(X[1::2], y[1::2]) > 0.97


def test_mixed_columns_of_a_census_beat_normal_ones():
    """Income of 16281 adults from 32561 others, 6465 cells missing: .830 right, log loss .693.

    With every column normal (levels as flags) .796 right, log loss .972.
    """
    table = shared.frame("adult.csv.gz")
    known, y = (table["subset"] == "train").to_numpy(), table["income"].to_numpy()
    X = table.drop(columns=["subset", "income"])
    assert X.isna().sum().sum() == 6465
    right, loss = {}, {}
    for Model in (MixedNB, GaussianNB):
        model = Model().fit(X[known], y[known])
        P = model.predict_proba(X[~known])
        right[Model] = np.mean(model.classes_[P.argmax(axis=1)] == y[~known])
        own = P[np.arange(len(P)), np.searchsorted(model.classes_, y[~known])]
        loss[Model] = -np.mean(np.log(np.maximum(own, 1e-15)))
    assert right[MixedNB] == pytest.approx(0.830, abs=5e-4)
    assert right[MixedNB] > right[GaussianNB] + 0.03
    assert loss[MixedNB] < loss[GaussianNB] - 0.25
