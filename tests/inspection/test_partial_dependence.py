"""Partial dependence against scikit-learn's brute force, and against plain loops for categories."""

import numpy as np
import pandas as pd
import pytest
from sklearn import inspection as theirs
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier as SklearnForest

from pellucid.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from pellucid.errors import ParameterError
from pellucid.inspection import individual_conditional_expectation, partial_dependence
from pellucid.linear_model import LogisticRegression
from pellucid.tree import DecisionTreeRegressor
from tests.inspection.tables import CONTAINERS, mixed


def compared(model, X, features, **options):
    ours = partial_dependence(model, X, features, kind="both", **options)
    other = theirs.partial_dependence(
        model, X, features, kind="both", method="brute", **({"grid_resolution": 50} | options)
    )
    for mine, grid in zip(ours.grid_values, other["grid_values"], strict=True):
        np.testing.assert_allclose(mine, grid, rtol=1e-12)
    np.testing.assert_allclose(ours["average"], other["average"], rtol=1e-9)
    np.testing.assert_allclose(ours["individual"], other["individual"], rtol=1e-9)
    return ours


@pytest.mark.parametrize("features", [[2], [1], ["bmi", "s5"], ["sex", "bp"]])
def test_regression_equals_scikit_learn(features):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    found = compared(model, X, features, grid_resolution=12, percentiles=(0.1, 0.83))
    assert found.classes is None
    assert len(found.average) == 1


def test_weights_change_the_average_only():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = DecisionTreeRegressor(max_depth=4).fit(X, y)
    weights = np.linspace(0, 3, len(y))
    found = partial_dependence(model, X, "bmi", sample_weight=weights)
    other = theirs.partial_dependence(
        model, X, ["bmi"], sample_weight=weights, method="brute", grid_resolution=50
    )
    np.testing.assert_allclose(found.average, other["average"], rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_give_probabilities_of_classes(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes] + 0, np.array(["a", "b", "c"])[y[y < n_classes]]
    rng = np.random.default_rng(0)
    X = X + rng.normal(0, 0.4, X.shape)
    for model in (GradientBoostingClassifier(n_estimators=10), SklearnForest(10, random_state=0)):
        found = compared(model.fit(X, y), X, [2], grid_resolution=9)
        assert found.classes == (("b",) if n_classes == 2 else ("a", "b", "c"))
    frame = found.frame("pandas")
    assert list(frame.columns) == ["(class)", "(row)", "x2", "(prediction)"]
    assert len(frame) == len(found.classes) * len(X) * 9
    one = frame[(frame["(class)"] == "b") & (frame["(row)"] == 7)]["(prediction)"]
    k = found.classes.index("b")
    assert one.tolist() == found.individual[k, 7].tolist()


@pytest.mark.parametrize("container", CONTAINERS)
def test_levels_dates_and_pairs_equal_a_plain_loop(container):
    frame, y = mixed()
    model = GradientBoostingRegressor(n_estimators=15, random_state=0).fit(frame, y)
    table = CONTAINERS[container](frame)
    orders = {
        "place": ["north", "south", "west"],
        "grade": ["low", "mid", "high"],
        "count": [0, 1, 2, 3, 4],
    }
    if container != "pandas":  # their categories carry no order, or only the levels' own
        orders.pop("grade")
    for name, levels in orders.items():
        found = partial_dependence(model, table, name)
        assert found.grid_values[0].tolist() == levels
        assert found.categorical == (name != "count",)
        for level, value in zip(levels, found.average[0]):
            changed = frame.assign(**{name: level})
            if name == "grade":
                changed["grade"] = pd.Categorical(changed["grade"], levels, ordered=True)
            assert value == pytest.approx(model.predict(changed).mean(), rel=1e-12)
    pair = partial_dependence(model, table, ["place", "size"], grid_resolution=4)
    assert pair.average.shape == (1, 3, 4)
    for a, place in enumerate(pair.grid_values[0]):
        for b, size in enumerate(pair.grid_values[1]):
            changed = frame.assign(place=place, size=size)
            assert pair.average[0, a, b] == pytest.approx(model.predict(changed).mean(), rel=1e-12)
    table = pair.frame()
    assert table["place"][:5] == ["north"] * 4 + ["south"]
    assert table["(prediction)"] == pair.average.ravel().tolist()
    days = partial_dependence(model, CONTAINERS[container](frame), "day", grid_resolution=5)
    for value, average in zip(days.grid_values[0], days.average[0]):
        assert average == pytest.approx(
            model.predict(frame.assign(day=pd.Timestamp(value))).mean(), rel=1e-12
        )


def test_individual_lines_are_those_of_partial_dependence():
    frame, y = mixed()
    model = DecisionTreeRegressor(max_depth=4).fit(frame, y)
    lines = individual_conditional_expectation(model, frame, "size", grid_resolution=7)
    both = partial_dependence(model, frame, "size", grid_resolution=7, kind="both")
    assert lines.average is None
    assert (lines.individual == both.individual).all()
    np.testing.assert_allclose(both.individual.mean(axis=1), both.average)
    only = partial_dependence(model, frame, "size", grid_resolution=7)
    assert only.individual is None


def test_numbers_can_be_levels_and_integers_stay_whole():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, (300, 2))
    model = LogisticRegression().fit(X, X[:, 0] > 100)
    smooth = partial_dependence(model, X, 0, grid_resolution=10)
    assert len(smooth.grid_values[0]) == 10
    levels = partial_dependence(model, X, 0, grid_resolution=10, categorical_features=[0])
    assert levels.grid_values[0].tolist() == np.unique(X[:, 0]).tolist()
    assert levels.categorical == (True,)


def test_many_rows_are_predicted_in_blocks(monkeypatch):
    from pellucid.inspection import dependence

    X, y = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=5).fit(X, y)
    whole = partial_dependence(model, X, [2, 3], grid_resolution=6, kind="both")
    monkeypatch.setattr(dependence, "ROWS_AT_ONCE", 1000)
    blocks = partial_dependence(model, X, [2, 3], grid_resolution=6, kind="both")
    assert (whole.average == blocks.average).all()
    assert (whole.individual == blocks.individual).all()


def test_errors_name_what_is_wrong():
    frame, y = mixed()
    model = DecisionTreeRegressor(max_depth=4).fit(frame, y)
    with pytest.raises(ParameterError, match=r"no column 'sizes'\. Did you mean 'size'"):
        partial_dependence(model, frame, "sizes")
    for wrong in ([], ["size", "day", "count"], ["size", "size"]):
        with pytest.raises(ParameterError, match="features must be one column or two"):
            partial_dependence(model, frame, wrong)
    with pytest.raises(ParameterError, match="kind"):
        partial_dependence(model, frame, "size", kind="all")
    with pytest.raises(ParameterError, match="percentiles"):
        partial_dependence(model, frame, "size", percentiles=(0.9, 0.1))
    with pytest.raises(ParameterError, match="further apart"):
        partial_dependence(model, frame, "size", grid_resolution=5, percentiles=(0.5, 0.5000001))
