"""What `pellucid.compile` refuses, and that a row's way is the short one."""

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.cluster import KMeans
from pellucid.errors import NotFittedError, ParameterError, PellucidError
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


def test_a_row_of_a_frame_is_read_by_name():
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = LinearRegression().fit(frame, Y)
    one = pellucid.compile(model)
    assert one.predict(frame.iloc[1][["b", "a"]]) == pytest.approx(model.predict(frame[1:2])[0])


def test_another_fit_leaves_the_compiled_model_as_it_was():
    model = DecisionTreeClassifier().fit(X, ["no" if y else "yes" for y in Y])
    one = pellucid.compile(model)
    model.fit(X[:, :1], [f"class {y}" for y in Y])
    assert one.predict(X[0]) == "yes"


@pytest.mark.parametrize(
    "row",
    [
        {1.0, 2.0}, b"ab", 3.0, None, {"x0": 1.0, "x1": 2.0}, [[1.0], [2.0]], X[:1], [1.0],
        [10**400, 1.0], [np.longdouble("1e4000"), 1.0], np.ma.masked_array([1.0, 2.0], [0, 1]),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_row_is_refused(row):
    one = pellucid.compile(DecisionTreeClassifier().fit(X, Y))
    with pytest.raises(PellucidError):
        one.predict(row)
