"""Differences from scikit-learn that concern one class alone; docs/differences.md points here."""

import numpy as np
import pytest

import pellucid
from pellucid.cluster import KMeans
from pellucid.dummy import DummyClassifier, DummyRegressor
from pellucid.errors import DataError, DataTypeError


def test_dummy_constant_may_be_any_label():
    y = np.array([0.0, 2.0, 2.0])
    model = DummyClassifier(strategy="constant", constant=2.0).fit(np.zeros((3, 1)), y)
    assert model.predict(np.zeros((2, 1))).tolist() == [2.0, 2.0]
    with pytest.raises(DataError, match="present in the training data"):
        DummyClassifier(strategy="constant", constant=-0.5).fit(np.zeros((3, 1)), y)


def test_dummy_classifier_has_one_dense_target():
    model = DummyClassifier().fit(np.zeros((3, 1)), [0, 1, 1])
    assert not hasattr(model, "sparse_output_")
    with pytest.raises(DataError, match="1d array"):
        DummyClassifier().fit(np.zeros((3, 1)), np.zeros((3, 2)))


def test_fits_are_watched_from_outside():
    rows = []
    with pellucid.watching(state=False, progress=rows.append):
        model = KMeans(n_clusters=2, n_init=1, random_state=0).fit(np.arange(12.0).reshape(6, 2))
    assert not hasattr(model, "set_callbacks")
    assert {"source", "iteration", "objective"} <= set(rows[0])


def test_dummies_need_a_table():
    for Model in (DummyClassifier, DummyRegressor):
        with pytest.raises(DataTypeError, match="not a table"):
            Model().fit(None, [0, 1, 1])
