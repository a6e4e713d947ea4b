"""Targets of every type: labels come back as they were given, numbers as float64."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import r2_score

from pellucid.errors import PellucidError
from tests.contract.classes import applies_to, classifier, make, one_target, regressor
from tests.contract.compare import answers, assert_same_bits, example, fitted, learned
from tests.contract.data import numbers

WORDS = np.array(["ant", "bee", "cat"])

# Each puts codes 0, 1, 2 into another form whose sorted order is the same.
LABELS = {
    "words": lambda code: WORDS[code],
    "object words": lambda code: WORDS[code].astype(object),
    "list of words": lambda code: WORDS[code].tolist(),
    "uint8": lambda code: code.astype(np.uint8),
    "uint64": lambda code: code.astype(np.uint64) + np.uint64(2**63),
    "int8": lambda code: code.astype(np.int8) - 1,
    "big integers": lambda code: code.astype(np.int64) + 2**53,
    "whole floats": lambda code: code.astype(np.float64) - 1,
    "float32": lambda code: code.astype(np.float32),
    "object integers": lambda code: code.astype(object),
    "bytes": lambda code: WORDS[code].astype("S"),
    "pandas": lambda code: pd.Series(WORDS[code], index=np.arange(len(code))[::-1]),
    "pandas string": lambda code: pd.Series(WORDS[code], dtype="string"),
    "pandas Int64": lambda code: pd.Series(code, dtype="Int64"),
    "pandas category": lambda code: pd.Series(pd.Categorical(WORDS[code], [*WORDS, "unused"])),
    "pandas arrow": lambda code: pd.Series(WORDS[code], dtype=pd.ArrowDtype(pa.string())),
    "polars": lambda code: pl.Series(WORDS[code].tolist()),
    "polars Categorical": lambda code: pl.Series(WORDS[code].tolist(), dtype=pl.Categorical),
    "polars Enum": lambda code: pl.Series(WORDS[code].tolist(), dtype=pl.Enum(WORDS.tolist())),
    "arrow": lambda code: pa.array(WORDS[code].tolist()),
    "arrow chunks": lambda code: pa.chunked_array([WORDS[code][:9], WORDS[code][9:]]),
    "arrow dictionary": lambda code: pa.array(WORDS[code].tolist()).dictionary_encode(),
}
BINARY = {
    "bool": lambda code: code.astype(bool),
    "object bool": lambda code: code.astype(bool).astype(object),
    "pandas boolean": lambda code: pd.Series(code.astype(bool), dtype="boolean"),
    "polars boolean": lambda code: pl.Series(code.astype(bool)),
    "minus and plus one": lambda code: 2 * code - 1,
}
NUMBERS = {
    "float32": lambda y: y.astype(np.float32),
    "list": lambda y: y.tolist(),
    "object": lambda y: y.astype(object),
    "pandas": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    "pandas Float64": lambda y: pd.Series(y, dtype="Float64"),
    "pandas arrow": lambda y: pd.Series(y, dtype=pd.ArrowDtype(pa.float64())),
    "polars": lambda y: pl.Series(y),
    "arrow": lambda y: pa.array(y),
    "reversed view": lambda y: y[::-1].copy()[::-1],
}
WHOLE = {
    "int8": lambda y: y.astype(np.int8),
    "uint16": lambda y: y.astype(np.uint16),
    "int64": lambda y: y.astype(np.int64),
    "pandas Int64": lambda y: pd.Series(y.astype(int), dtype="Int64"),
    "polars": lambda y: pl.Series(y.astype(int)),
}


def assert_labels_come_back(Model, forms, form: str, n_classes: int):
    sample = numbers(Model, n_classes=n_classes)
    y = forms[form](sample.y)
    model = fitted(Model, sample.with_y(y))
    expected = pd.unique(pd.Series(list(pa.array(y).to_pylist() if is_arrow(y) else y)))
    assert sorted(expected) == list(model.classes_)
    known = example(Model, "binary" if n_classes == 2 else "numbers")
    base, a, b = known.model, dict(known.said), answers(model, sample.X)
    coded = np.searchsorted(model.classes_, b.pop("predict"))
    assert np.array_equal(coded, np.searchsorted(base.classes_, a.pop("predict")))
    assert_same_bits(a, b)
    assert model.score(sample.X, y) == base.score(sample.X, sample.y)


def is_arrow(y) -> bool:
    return isinstance(y, pa.Array | pa.ChunkedArray)


@applies_to(classifier)
@pytest.mark.parametrize("form", LABELS)
def test_labels_of_every_type(Model, form):
    assert_labels_come_back(Model, LABELS, form, n_classes=3)


@applies_to(classifier)
@pytest.mark.parametrize("form", BINARY)
def test_binary_labels_of_every_type(Model, form):
    assert_labels_come_back(Model, BINARY, form, n_classes=2)


@applies_to(classifier)
def test_labels_keep_their_type(Model):
    sample = numbers(Model, n_classes=2)
    for dtype in (np.int8, np.uint16, np.float64, bool, "U3", object):
        y = WORDS[sample.y].astype(dtype) if dtype in ("U3", object) else sample.y.astype(dtype)
        model = fitted(Model, sample.with_y(y))
        assert model.classes_.dtype == np.dtype(dtype)
        assert model.predict(sample.X).dtype == np.dtype(dtype)


@applies_to(classifier)
@pytest.mark.parametrize(
    ("y", "word"),
    [
        (np.linspace(0.5, 9.5, 60), "continuous"),
        (np.array([0.0, 1.0, np.nan] * 20), "missing|NaN"),
        (np.array(["a", "b", None] * 20, dtype=object), "missing|NaN"),
        (pd.Series([0, 1, None] * 20, dtype="Int64"), "missing|NaN"),
        (pd.Series(["a", "b", None] * 20, dtype="string"), "missing|NaN"),
        (pl.Series(["a", "b", None] * 20), "missing|NaN"),
        (pa.array(["a", "b", None] * 20), "missing|NaN"),
        (np.array([0.0, 1.0, np.inf] * 20), "inf"),
        (np.array([0, 1, 1j] * 20), "[Cc]omplex"),
        (np.array(["a", 1, 2.5] * 20, dtype=object), "type"),
        (np.array([{}, [], ()] * 20, dtype=object), "label|type"),
        (np.zeros((60, 2, 2)), "dimension|shape|1d|1-D|y should be"),
    ],
    ids=[
        "continuous",
        "missing float",
        "missing object",
        "missing Int64",
        "missing string",
        "missing polars",
        "missing arrow",
        "infinite",
        "complex",
        "words and numbers",
        "containers",
        "three dimensions",
    ],
)
def test_bad_labels_are_refused(Model, y, word):
    refuse(Model, y, word)


def refuse(Model, y, word):
    model = make(Model)
    with pytest.raises(PellucidError, match=word):
        model.fit(numbers(Model).X, y)
    assert not learned(model)


@applies_to(regressor, one_target)
@pytest.mark.parametrize("form", NUMBERS)
def test_targets_of_every_type(Model, form):
    assert_same_fit(Model, NUMBERS[form], numbers(Model))


@applies_to(regressor, one_target)
@pytest.mark.parametrize("form", WHOLE)
def test_whole_targets_of_every_type(Model, form):
    sample = numbers(Model)
    assert_same_fit(Model, WHOLE[form], sample.with_y(np.abs(np.round(sample.y)) + 1))


def assert_same_fit(Model, form, sample):
    base, model = fitted(Model, sample), fitted(Model, sample.with_y(form(sample.y)))
    assert_same_bits(answers(base, sample.X), answers(model, sample.X))
    assert model.predict(sample.X).dtype == np.float64
    assert model.score(sample.X, form(sample.y)) == base.score(sample.X, sample.y)


@applies_to(regressor, one_target)
def test_score_is_the_coefficient_of_determination(Model):
    sample = numbers(Model)
    model = fitted(Model, sample)
    truth = sample.y[::-1].copy()
    guess = model.predict(sample.X)
    assert model.score(sample.X, truth) == pytest.approx(r2_score(truth, guess), abs=1e-12)
    expected = r2_score(truth, guess, sample_weight=sample.weights)
    found = model.score(sample.X, truth, sample_weight=sample.weights)
    assert found == pytest.approx(expected, abs=1e-12)


@applies_to(regressor)
@pytest.mark.parametrize(
    ("y", "word"),
    [
        ([1.0, np.nan] * 30, "missing|NaN"),
        ([1.0, np.inf] * 30, "inf"),
        (np.array([1.0, 1j] * 30), "[Cc]omplex"),
        (np.array(["1.5", "x"] * 30, dtype=object), "number"),
        (pd.Series([1.0, None] * 30, dtype="Float64"), "missing|NaN"),
        (pl.Series([1.0, None] * 30), "missing|NaN"),
        (pa.array([1.0, None] * 30), "missing|NaN"),
        (np.array([{}, 1.0] * 30, dtype=object), "number"),
        (np.zeros((60, 2, 2)), "dimension|shape|1d|1-D|y should be"),
    ],
    ids=[
        "missing",
        "infinite",
        "complex",
        "words",
        "missing Float64",
        "missing polars",
        "missing arrow",
        "containers",
        "three dimensions",
    ],
)
def test_bad_targets_are_refused(Model, y, word):
    refuse(Model, y, word)
