"""Counterfactuals: they flip, stay in range, are minimal, and as near as brute force finds."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.svm import LinearSVC as SklearnSVC

from pellucid.ensemble import GradientBoostingClassifier, RandomForestClassifier
from pellucid.errors import DataError, ParameterError
from pellucid.inspection import counterfactuals
from pellucid.linear_model import LinearRegression, LogisticRegression
from pellucid.neighbors import KNeighborsClassifier
from pellucid.tree import DecisionTreeClassifier
from tests.inspection.tables import CONTAINERS, mixed


def check(model, found, rows, X, reaches):
    """Each changed row flips, stays in range, and no part of its changes is enough; `X` is pandas."""
    for one in found:
        original = rows.iloc[[one.row]].reset_index(drop=True)
        changed = original.copy()
        for name, (_, new) in one.changes.items():
            new = pd.Timestamp(new) if name == "day" else new
            assert (X[name] == new).any()
            changed[name] = X[name][X[name] == new].iloc[:1].set_axis([0])
        assert model.predict(one.table).tolist() == [one.prediction]
        assert model.predict(changed).tolist() == [one.prediction]
        assert reaches(one.before, one.prediction)
        for size in range(len(one.changes)):
            for part in combinations(one.changes, size):
                partly = original.copy()
                for name in part:
                    partly[name] = changed[name]
                assert not reaches(one.before, model.predict(partly)[0])


def other(before, after):
    return before != after


MODELS = [
    GradientBoostingClassifier(n_estimators=15, random_state=0),
    RandomForestClassifier(n_estimators=15, random_state=0),
    LogisticRegression(),
    KNeighborsClassifier(5),
    SklearnForest(15, random_state=0),
    SklearnSVC(),
]


@pytest.mark.parametrize(
    "model", MODELS, ids=lambda m: type(m).__module__.split(".")[0] + type(m).__name__
)
def test_they_flip_stay_in_range_and_are_minimal(model):
    X, y = load_iris(return_X_y=True, as_frame=True)
    label = np.array(["setosa", "versicolor", "virginica"])[y]
    model.fit(X, label)
    rows = X.iloc[::15]
    found = counterfactuals(model, rows, X)
    assert {one.row for one in found} == set(range(len(rows)))
    check(model, found, rows, X, other)
    wanted = counterfactuals(model, rows, X, target="virginica", n=2)
    assert {one.prediction for one in wanted} == {"virginica"}
    check(model, wanted, rows, X, lambda _, after: after == "virginica")
    for i in range(len(rows)):
        own = [(len(one.changes), one.distance) for one in found if one.row == i]
        assert own == sorted(own)
        assert len(own) <= 3
        assert len({frozenset(one.changes) for one in found if one.row == i}) == len(own)


def test_the_fewest_columns_and_nearest_values_of_all():
    """Against every combination of every observed value."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (60, 4)).astype(float)
    y = ((X[:, 0] > 2) ^ (X[:, 1] > 2)).astype(int) + 2 * ((X[:, 2] > 3) & (X[:, 3] > 3))
    model = DecisionTreeClassifier().fit(X, y)
    spread = X.std(axis=0)
    sizes = set()
    for i in range(0, 60, 6):
        for target in range(4):
            before = model.predict(X[[i]])[0]
            if before == target:
                continue
            best = None
            for size in (1, 2, 3):
                for columns in combinations(range(4), size):
                    for values in product(*(np.unique(X[:, j]) for j in columns)):
                        changed = X[i].copy()
                        changed[list(columns)] = values
                        if (changed[list(columns)] == X[i, list(columns)]).any():
                            continue
                        if model.predict([changed])[0] == target:
                            distance = (np.abs(changed - X[i]) / spread).sum()
                            best = min(best or (size, distance), (size, distance))
                if best:
                    break
            found = counterfactuals(model, X[[i]], X, target=target, n=1)
            if best is None:
                assert len(found) == 0
            else:
                assert (len(found[0].changes), found[0].distance) == pytest.approx(best)
                sizes.add(best[0])
    assert {1, 2} <= sizes


@pytest.mark.parametrize("container", CONTAINERS)
def test_levels_dates_and_missing_cells_in_any_container(container):
    frame, y = mixed(120)
    label = np.where(y > np.median(y), "more", "less")
    convert = CONTAINERS[container]
    model = RandomForestClassifier(n_estimators=20, random_state=0).fit(frame, label)
    rows = frame.iloc[[0, 5, 7, 11]]
    table, given = convert(frame), convert(rows.reset_index(drop=True))
    found = counterfactuals(model, given, table, fixed=["size"])
    assert all("size" not in one.changes for one in found)
    assert any("place" in one.changes for one in found)
    for one in found:
        assert model.predict(one.table)[0] == one.prediction != one.before
        assert type(one.table) is type(table)
    if container == "pandas":
        check(model, found, rows, frame, other)
    lines = found.frame()
    assert len(lines["row"]) == sum(len(one.changes) for one in found)
    assert lines["from"][0] == found[0].changes[lines["column"][0]][0]
    assert found.frame("polars").shape == (len(lines["row"]), 8)
    assert str(found).count("changes the prediction") == len(found)


def test_regression_crosses_a_threshold_or_reaches_a_range():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = LinearRegression().fit(X, y)
    rows = X.iloc[[0, 1, 2, 3]]
    before = model.predict(rows)
    crossed = counterfactuals(model, rows, X, target=150.0)
    check(model, crossed, rows, X, lambda a, b: (a < 150) != (b < 150))
    assert {one.row for one in crossed} == {0, 1, 2, 3}
    inside = counterfactuals(model, rows, X, target=(100, 120), n=2)
    check(model, inside, rows, X, lambda _, b: 100 <= b <= 120)
    above = counterfactuals(model, rows, X, target=(before.max(), None), n=1)
    assert all(one.prediction >= before.max() for one in above)
    assert "without a change" in str(above)
    assert above.reached.count(True) == 1
    # Of one column of a linear model, the nearest value that crosses is known.
    single = next(one for one in crossed if len(one.changes) == 1)
    ((name, (old, new)),) = single.changes.items()
    slope = model.coef_[list(X).index(name)]
    values = np.unique(X[name])
    reaches = (single.before + slope * (values - old) < 150) != (single.before < 150)
    nearest = np.abs(values[reaches] - old).min()
    assert abs(new - old) == pytest.approx(nearest, rel=0.05)


class Rule:
    """A classifier with nothing but `predict`."""

    classes_ = np.array([0, 1])

    def __init__(self, rule):
        self.rule = rule

    def predict(self, X):
        return self.rule(*np.asarray(X, dtype=float).T).astype(int)


LADDER = np.column_stack([np.arange(200.0), np.arange(200.0) % 10])


def test_values_between_those_tried_first_are_found():
    found = counterfactuals(Rule(lambda a, b: a >= 47), [[0.0, 0.0]], LADDER)
    assert [one.changes for one in found] == [{"x0": (0, 47)}]


def test_changes_that_become_unneeded_are_undone():
    """Moving `a` towards its old value enters a narrow range in which `b` need not change."""

    def rule(a, b):
        return ((a >= 98) & (a <= 100)) | ((a >= 98) & (b >= 5))

    found = counterfactuals(Rule(rule), [[0.0, 0.0]], LADDER)
    assert list(found[0].changes) == ["x0"]
    assert 98 <= found[0].changes["x0"][1] <= 100
    pair = counterfactuals(Rule(lambda a, b: (a >= 98) & (b >= 5)), [[0.0, 0.0]], LADDER)
    assert list(pair[0].changes) == ["x0", "x1"]


def test_no_change_is_possible():
    X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    model = DecisionTreeClassifier().fit(X, ["a", "a", "b", "b"])
    found = counterfactuals(model, 0, X, fixed=["x0"])
    assert len(found) == 0
    assert found.frame()["row"] == []
    assert str(found).startswith("Row 0: the prediction a stays in all changes that were tried")


def test_errors_name_what_is_wrong():
    frame, y = mixed()
    model = DecisionTreeClassifier().fit(frame, np.where(y > 20, "more", "less"))
    with pytest.raises(ParameterError, match=r"target must be one of 'less', 'more'\. Got 'most'"):
        counterfactuals(model, 0, frame, target="most")
    with pytest.raises(ParameterError, match="no column 'siz'"):
        counterfactuals(model, 0, frame, fixed=["siz"])
    with pytest.raises(ParameterError, match="no row 90"):
        counterfactuals(model, 90, frame)
    with pytest.raises(DataError, match=r"X\.iloc\[\[0\]\]"):
        counterfactuals(model, frame.iloc[0], frame)
    with pytest.raises(DataError, match="lack the column 'day'"):
        counterfactuals(model, frame[["size", "count", "place", "grade"]].iloc[[0]], frame)
    with pytest.raises(ParameterError, match="max_columns"):
        counterfactuals(model, 0, frame, max_columns=0)
    numbers = load_diabetes(return_X_y=True)
    line = LinearRegression().fit(*numbers)
    with pytest.raises(ParameterError, match="For a regression, target must be a number"):
        counterfactuals(line, 0, numbers[0])
    with pytest.raises(DataError, match="X has 10 columns"):
        counterfactuals(line, [[1.0]], numbers[0], target=3.0)
