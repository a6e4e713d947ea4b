"""`partial_fit` over batches equals one `fit` of all rows, whatever a batch shows for the first time."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from pellucid import Table
from pellucid.data.text import Text
from pellucid.errors import DataError
from pellucid.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)

COUNTING = [BernoulliNB, ComplementNB, MultinomialNB, PoissonNB]
ALL = [*COUNTING, CategoricalNB, GaussianNB, MixedNB]
WORDS = np.array(["free", "call", "home", "now", "late", "win", "tea", "sun", "rain", "dog"])


def column(kind, n, rng):
    """n cells whose first part shows less than the rest: no gap, one level, few words, nothing."""
    late = np.arange(n) >= rng.integers(0, n)
    if kind == "count":
        cells = rng.poisson(2.0, n).astype(float)
        return np.where(late & (rng.random(n) < 0.3), np.nan, cells)
    if kind == "flag":
        return np.where(late, rng.integers(0, 4, n), rng.integers(0, 2, n)).astype(float)
    if kind == "empty at first":
        return np.where(late, rng.integers(0, 3, n).astype(float), np.nan)
    if kind == "always empty":
        return np.full(n, np.nan)
    if kind == "text":
        many = [" ".join(rng.choice(WORDS[: 10 if new else 3], 3)) for new in late]
        return np.where(late & (rng.random(n) < 0.2), None, np.array(many, dtype=object))
    levels = np.where(late, rng.choice(["b", "a", "c", "d"], n), "b").astype(object)
    if kind == "level empty at first":
        return np.where(late, levels, None)
    cells = np.where(late & (rng.random(n) < 0.2), None, levels)
    if kind == "ordered":
        return pd.Categorical(cells, categories=["d", "never", "b", "a", "c"], ordered=True)
    return cells


KINDS = [
    "count",
    "flag",
    "empty at first",
    "always empty",
    "level",
    "level empty at first",
    "ordered",
]


def random_case(Model, seed):
    rng = np.random.default_rng(seed)
    kinds = list(rng.choice(KINDS, rng.integers(1, 5)))
    if rng.random() < 0.4:
        kinds.append("text")
    n = int(rng.integers(6, 40))
    frame = pd.DataFrame({f"{kind} {j}": column(kind, n, rng) for j, kind in enumerate(kinds)})
    told = {name: "text" for name in frame if name.startswith("text")}
    given = {name: "poisson" for name in frame if name.startswith("empty") and seed % 3 == 0}
    more = {"distributions": given} if Model is MixedNB and given else {}
    model = Model(table=Table(kinds=told) if told else None, **more)
    weights = rng.integers(0, 3, n).astype(float) if seed % 2 else np.ones(n)
    weights[0] = 1.0
    cuts = np.sort(rng.choice(np.arange(1, n), min(n - 1, rng.integers(1, 4)), replace=False))
    return frame, np.arange(n) % 3, weights, model, np.split(np.arange(n), cuts)


def same(found, expected, name):
    if isinstance(expected, dict | list | tuple):
        assert len(found) == len(expected), name
        pairs = zip(found, expected) if not isinstance(expected, dict) else (
            (found[k], expected[k]) for k in expected)  # fmt: skip
        for a, b in pairs:
            same(a, b, name)
    elif isinstance(expected, np.ndarray | float) and np.asarray(expected).dtype.kind == "f":
        assert np.shape(found) == np.shape(expected), name
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=name)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=name)


@pytest.mark.parametrize("Model", ALL)
def test_all_that_is_learned_equals_one_fit(Model):
    """Missing cells, levels and words in later batches, weights, columns that begin empty."""
    for seed in range(12):
        frame, y, w, parts, batches = random_case(Model, seed)
        if any(len(np.unique(y[w > 0])) < 3 or not w[rows].any() for rows in batches):
            w = np.ones(len(y))
        whole = type(parts)(**parts.get_params(deep=False)).fit(frame, y, sample_weight=w)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for rows in batches:
                parts.partial_fit(frame.iloc[rows], y[rows], [0, 1, 2], sample_weight=w[rows])
        learned = {k: v for k, v in vars(whole).items() if k.endswith("_") and k != "schema_"}
        assert learned.keys() == {k for k in vars(parts) if k.endswith("_")} - {"schema_"}
        for name, value in learned.items():
            same(getattr(parts, name), value, f"{name}, seed {seed}")
        same(vars(parts.schema_) | {"_cache": 0}, vars(whole.schema_) | {"_cache": 0}, str(seed))
        rows = frame[w > 0]
        same(parts.predict_proba(rows), whole.predict_proba(rows), f"proba, seed {seed}")


@pytest.mark.parametrize("Model", [GaussianNB, MixedNB])
@pytest.mark.parametrize("sizes", [(1.0, 1e200), (1e200, 1.0), (1e-200, 1.0), (1e-250, 1e250)])
def test_units_of_later_batches(Model, sizes):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(30, 2)) * np.array([size, 1.0]) for size in sizes]
    y = np.arange(60) % 2
    model = Model()
    for X, labels in zip(parts, (y[:30], y[30:])):
        model.partial_fit(X, labels, classes=[0, 1])
    whole = Model().fit(np.vstack(parts), y)
    for name in ("theta_", "var_"):
        np.testing.assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-9)
    found, expected = (m.predict_proba(np.vstack(parts)) for m in (model, whole))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("Model", COUNTING)
def test_missing_numbers_beside_many_levels_are_skipped_without_a_dense_table(Model, monkeypatch):
    """More than 50 levels make the matrix sparse: a gap beside them is still a gap."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({
        "size": np.where(rng.random(200) < 0.3, np.nan, rng.poisson(3.0, 200)),
        "level": np.array([f"v{k}" for k in range(60)])[rng.integers(0, 60, 200)],
    })  # fmt: skip
    y = np.arange(200) % 2
    sparse = Model().fit(frame, y)
    monkeypatch.setattr("pellucid.data.encode.SPARSE_COLUMNS", 100)
    dense = Model().fit(frame, y)
    assert isinstance(dense._encoded(frame), np.ndarray)
    expected = dense.predict_proba(frame)
    monkeypatch.undo()

    def refuse(*args, **kwargs):
        raise AssertionError("the table was made dense")

    monkeypatch.setattr(csr_array, "toarray", refuse)
    np.testing.assert_allclose(sparse.present_, dense.present_)
    np.testing.assert_allclose(sparse.predict_proba(frame), expected, rtol=1e-11)
    fitted = Model().fit(frame, y).predict_proba(frame)
    np.testing.assert_allclose(fitted, expected, rtol=1e-11)


TEXTS = pd.DataFrame({"say": [f"one two three four {k} five" for k in range(40)]})


def refused(parts, model, match):
    y = np.arange(40) % 2
    with pytest.raises(DataError, match=match):
        for rows in parts:
            model.partial_fit(TEXTS.iloc[rows], y[rows], classes=[0, 1])


def test_what_only_all_rows_can_tell_is_an_error_that_names_the_column():
    halves, pieces = [np.arange(40)], np.split(np.arange(40), 4)
    undeclared = r"'say' looks like free text.*Table\(kinds=\{'say': 'text'\}\)"
    refused(halves, MultinomialNB(), undeclared)
    refused(pieces, MixedNB(), undeclared)  # 10 rows are labels still, 20 are text
    kinds = {"say": "text"}
    tfidf = Table(kinds=kinds, text=Text(mode="tfidf"))
    refused(halves, MultinomialNB(table=tfidf), "words of column 'say': the weights of tf-idf")
    rare = Table(kinds=kinds, text=Text(min_df=2))
    refused(halves, BernoulliNB(table=rare), "which words min_df=2 and max_df=1.0 leave out")
    few = Table(kinds=kinds, text=Text(max_words=20))
    refused(pieces, MixedNB(table=few), "which 20 of its .* words are the most frequent")


def test_text_after_numbers_and_numbers_after_text_are_refused():
    first = pd.DataFrame({"a": ["x", "y"]})
    for Model in (CategoricalNB, MixedNB):
        model = Model().partial_fit(first, [0, 1], classes=[0, 1])
        before = model.predict_proba(first)
        with pytest.raises(DataError, match=r"column 'a' holds 3, but earlier batches held text"):
            model.partial_fit(pd.DataFrame({"a": [3.0, 4.0]}), [0, 1])
        assert (model.predict_proba(first) == before).all()
        model = Model().partial_fit(pd.DataFrame({"a": [3.0, 4.0]}), [0, 1], classes=[0, 1])
        with pytest.raises(DataError, match=r"column 'a' holds 'x' in row 0, but a number"):
            model.partial_fit(first, [0, 1])
