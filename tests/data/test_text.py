"""Text columns: scikit-learn's vectorizers are the oracle; weights are repetition."""

import numpy as np
import pandas as pd
import pytest

from pellucid.data import InputSpec, Table, Text, prepare
from pellucid.data.encode import encode
from pellucid.data.intake import raw_table
from pellucid.errors import DataError, ParameterError

WORDS = ["spam", "ham", "Eggs", "bacon", "tea", "milk", "the"]
RNG = np.random.default_rng(0)
CELLS = [" ".join(RNG.choice(WORDS, size=RNG.integers(1, 9))) for _ in range(60)] + [None, "é!"]


def problem(text, weights=None, cells=CELLS, **spec):
    frame = pd.DataFrame({"note": pd.Series(cells, dtype=object), "x": np.arange(len(cells)) * 1.0})
    table = Table(kinds={"note": "text"}, text=text)
    return prepare(frame, None, weights, None, table, InputSpec("M", takes_text=True, **spec))[0]


@pytest.mark.parametrize("mode", ["count", "binary", "tfidf"])
def test_equal_to_scikit_learn(mode):
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    options = {"min_df": 5, "max_df": 0.9, "stop_words": ["the"]}
    theirs = {"count": CountVectorizer(**options), "binary": CountVectorizer(binary=True, **options),
              "tfidf": TfidfVectorizer(**options)}[mode]  # fmt: skip
    expected = theirs.fit_transform([c or "" for c in CELLS]).toarray()
    found = problem(Text(mode, **options))
    words = tuple(f"note:{w}" for w in theirs.get_feature_names_out())
    assert found.schema.terms == (*words, "note missing", "x")
    assert np.allclose(found.X.toarray()[:, :-2], expected, rtol=1e-14, atol=0)
    assert np.array_equal(found.X.toarray()[:, -2], [cell is None for cell in CELLS])
    assert np.array_equal(found.X.toarray()[:, -1], np.arange(len(CELLS)))
    dense = problem(Text(mode, **options), takes_sparse=False)
    assert np.array_equal(dense.X, found.X.toarray())


def test_vocabulary_counts_weights_as_copies():
    weights = RNG.integers(0, 4, len(CELLS))
    copies = [c for c, w in zip(CELLS, weights, strict=True) for _ in range(w)]
    options = Text("tfidf", min_df=0.3, max_words=4)
    a, b = problem(options, weights).schema, problem(options, cells=copies).schema
    assert a.levels[0] == b.levels[0] and len(a.levels[0]) == 4
    assert np.allclose(a.shares, b.shares, rtol=1e-14)


def test_unknown_words_do_not_count():
    schema = problem(None).schema
    new = pd.DataFrame({"note": ["unheard of", "tea tea"], "x": [0.0, 1.0]})
    X = encode(schema, schema.align(raw_table(new), "M"), True, "M").toarray()
    assert X[0].sum() == 0
    assert X[1, schema.terms.index("note:tea")] == 2


def test_errors():
    with pytest.raises(DataError, match="'note' has no words left"):
        problem(Text(min_df=1000))
    with pytest.raises(ParameterError, match="'mode' parameter of Text"):
        problem(Text("words"))
    with pytest.raises(ParameterError, match="regular expression"):
        problem(Text(pattern="("))
    with pytest.raises(ParameterError, match="'english', a collection of words or None"):
        problem(Text(stop_words="german"))
    for wrong in ({"max_df": 1.5}, {"min_df": 2.0}, {"max_df": float("nan")}, {"min_df": -1}):
        with pytest.raises(ParameterError, match="a float from 0 to 1"):
            problem(Text(**wrong))
    assert Table().set_params(text__min_df=3).get_params()["text__min_df"] == 3
