"""What `pellucid.compile` refuses, and that a row's way is the short one."""

import numpy as np
import pytest

import pellucid
from pellucid.cluster import KMeans
from pellucid.errors import NotFittedError, ParameterError
from pellucid.linear_model import LinearRegression, RidgeClassifier
from pellucid.tree import DecisionTreeClassifier

X, Y = np.arange(12.0).reshape(6, 2), [0, 0, 1, 1, 0, 1]


def test_only_fitted_classifiers_and_regressors_are_compiled():
    with pytest.raises(ParameterError, match="not KMeans"):
        pellucid.compile(KMeans(2).fit(X))
    with pytest.raises(NotFittedError):
        pellucid.compile(LinearRegression())


def test_a_model_without_probabilities_says_so():
    with pytest.raises(ParameterError, match="RidgeClassifier has no predict_proba"):
        pellucid.compile(RidgeClassifier().fit(X, Y)).predict_proba(X[0])


def test_several_targets_give_an_array():
    model = LinearRegression().fit(X, np.column_stack([Y, Y[::-1]]))
    np.testing.assert_allclose(pellucid.compile(model).predict(X[1]), model.predict(X[1:2])[0])


def test_plain_rows_never_become_tables(monkeypatch: pytest.MonkeyPatch):
    model = DecisionTreeClassifier().fit(X, ["no" if y else "yes" for y in Y])
    one = pellucid.compile(model)
    monkeypatch.setattr(DecisionTreeClassifier, "_encoded", None)
    assert [one.predict(row) for row in X] == model.classes_[model._codes(X)].tolist()
    assert one.predict([None, 3]) in ("no", "yes")
