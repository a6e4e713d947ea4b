"""The data of displays of importance, dependence and contributions, against independent numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import Ridge as SklearnRidge

from pellucid import plot
from pellucid.ensemble import GradientBoostingClassifier, RandomForestRegressor
from pellucid.errors import ParameterError
from pellucid.linear_model import LinearRegression, LogisticRegression
from pellucid.neighbors import KNeighborsClassifier
from tests.inspection.tables import mixed
from tests.plot.reading import parsed, texts


@pytest.fixture(scope="module")
def forest():
    frame, y = mixed(100)
    return RandomForestRegressor(n_estimators=15, random_state=0).fit(frame, y), frame, y


def test_importance_with_intervals_and_groups():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = SklearnRidge().fit(X, y)
    display = plot.permutation_importance(model, X, y, n_repeats=6, random_state=0, level=0.9)
    other = permutation_importance(model, X, y, n_repeats=6, random_state=0)
    frame = display.frame("pandas").set_index("column")
    assert frame["importance"].is_monotonic_decreasing
    for j, name in enumerate(X):
        row = frame.loc[name]
        assert row["importance"] == pytest.approx(other.importances_mean[j])
        assert row["std"] == pytest.approx(other.importances_std[j])
        own = other.importances[j]
        interval = stats.t.interval(0.9, 5, own.mean(), stats.sem(own))
        assert (row["low"], row["high"]) == pytest.approx(interval)
    grouped = plot.permutation_importance(model, X, y, groups={"blood": ["s1", "s2"]}).frame()
    assert set(grouped["column"]) == {*X.columns, "blood"} - {"s1", "s2"}


def test_dependence_of_numbers_is_that_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = SklearnRidge().fit(X, y)
    frame = plot.partial_dependence(model, X, ["bmi", ("bmi", "s5")], grid_resolution=8).frame()
    for columns in (["bmi"], ["bmi", "s5"]):
        other = partial_dependence(model, X, columns, grid_resolution=8)
        second = columns[1] if len(columns) == 2 else None
        rows = [i for i, name in enumerate(frame["column 2"]) if name == second]
        drawn = [frame["prediction"][i] for i in rows]
        assert drawn == pytest.approx(other["average"].ravel().tolist())
        assert {frame["value"][i] for i in rows} == set(other["grid_values"][0])


def test_dependence_of_levels_and_rows(forest):
    model, X, _ = forest
    display = plot.partial_dependence(model, X, ["place", "size"], kind="both", grid_resolution=6)
    frame = display.frame("pandas")
    for level in ("north", "south", "west"):
        chosen = frame[(frame["column"] == "place") & (frame["value"] == level)]
        predicted = model.predict(X.assign(place=level))
        assert chosen["prediction"].iloc[0] == pytest.approx(predicted.mean())
    lines = frame[(frame["column"] == "size") & frame["row"].notna()]
    assert lines["row"].nunique() == 50
    row = int(lines["row"].iloc[0])
    values = [float(v) for v in display.found[1].grid_values[0]]
    changed = pd.concat([X.iloc[[row]]] * 6).assign(size=values)
    assert [float(text) for text in lines[lines["row"] == row]["value"]] == values
    own = lines[lines["row"] == row]["prediction"]
    assert own.tolist() == pytest.approx(model.predict(changed).tolist())
    low, high = np.quantile(model.predict(X.assign(place="south")), [0.1, 0.9])
    (mark,) = display.picture().panels[0].marks
    assert (mark.low[1], mark.high[1]) == pytest.approx((low, high))
    assert {"north", "south", "west", "size"} <= set(texts(parsed(display)))


def test_dependence_of_classes_has_a_line_each():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = GradientBoostingClassifier(n_estimators=5).fit(X, np.array(["a", "b", "c"])[y])
    frame = plot.partial_dependence(model, X, [2], grid_resolution=5).frame("pandas")
    sums = frame.groupby("value")["prediction"].sum()
    assert sums.tolist() == pytest.approx([1.0] * 5)
    assert set(frame["class"]) == {"a", "b", "c"}


def test_without_names_the_columns_that_matter_most_are_drawn():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = LogisticRegression(C=0.001).fit(X, y)
    found = plot.partial_dependence(model, X, grid_resolution=3).found
    assert len(found) == 9
    every = {name: partial_dependence(model, X, [name], grid_resolution=3) for name in X}
    reach = {name: np.ptp(one["average"]) for name, one in every.items()}
    best = sorted(reach, key=reach.get)[-9:]
    assert {one.features[0] for one in found} == set(best)


def test_waterfall_leads_from_the_baseline_to_the_prediction(forest):
    model, X, _ = forest
    frame = plot.waterfall(model, X, 4).frame()
    assert frame["start"][0] == pytest.approx(model.explain(X).base[0])
    assert frame["end"][-1] == pytest.approx(model.predict(X.iloc[[4]])[0])
    assert frame["start"][1:] == frame["end"][:-1]
    sizes = np.abs(frame["contribution"])
    assert (np.diff(sizes) <= 0).all()
    explained = model.explain(X).frame()
    for name, amount in zip(frame["column"], frame["contribution"]):
        column, _, value = name.partition(" = ")
        assert amount == pytest.approx(explained[column][4])
        assert value in (str(X[column].iloc[4]), str(X[column].iloc[4]).removesuffix(" 00:00:00"))


def test_waterfall_of_many_columns_adds_up_the_small_ones():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = LogisticRegression(C=0.01).fit(X, y)
    display = plot.waterfall(model, X, 7)
    panel = display.picture().panels[0]
    assert panel.y.names == (*display.frame()["column"][:11], "19 other columns")
    bars = [mark for mark in panel.marks if hasattr(mark, "start")]
    ends = dict(pair for bar in bars for pair in zip(bar.at, bar.end))
    assert ends[11] == pytest.approx(model.decision_function(X.iloc[[7]])[0])
    assert "log-odds of 1" in panel.x.label


def test_waterfall_of_a_chosen_class():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = GradientBoostingClassifier(n_estimators=5).fit(X, np.array(["a", "b", "c"])[y])
    explanation = model.explain(X)
    for label, k in (("a", 0), ("c", 2)):
        frame = plot.waterfall(model, X, 0, pos_label=label).frame()
        assert frame["end"][-1] == pytest.approx(explanation.prediction[0, k])
    assert plot.waterfall(model, X, 149).frame()["end"][-1] == pytest.approx(
        explanation.prediction[149].max()
    )


def test_beeswarm_shows_contributions_and_ranks(forest):
    model, X, _ = forest
    frame = plot.beeswarm(model, X).frame("pandas")
    explained = model.explain(X).frame()
    sizes = []
    for name in frame["column"].unique():
        own = frame[frame["column"] == name]
        assert own["contribution"].tolist() == pytest.approx(explained[name])
        sizes.append(own["contribution"].abs().mean())
    assert sizes == sorted(sizes, reverse=True)
    rank = frame[frame["column"] == "count"]["value rank"].to_numpy()
    expected = (stats.rankdata(X["count"]) - 1) / (len(X) - 1)
    np.testing.assert_allclose(rank, expected)
    size = frame[frame["column"] == "size"]["value rank"].to_numpy()
    assert np.flatnonzero(np.isnan(size)).tolist() == [5]
    grade = frame[frame["column"] == "grade"]["value rank"]
    assert grade.groupby(X["grade"].to_numpy()).mean().to_dict().keys() == {"low", "mid", "high"}
    means = [grade[(X["grade"] == level).to_numpy()].mean() for level in ("low", "mid", "high")]
    assert means == sorted(means)


def test_beeswarm_keeps_every_point_in_its_band(forest):
    model, X, _ = forest
    panel = plot.beeswarm(model, X).picture().panels[0]
    points = panel.marks[1]
    bands = np.repeat(np.arange(X.shape[1]), len(X))
    assert (np.abs(np.array(points.y) - bands) <= 0.4 + 1e-12).all()


def test_contributions_along_a_column(forest):
    model, X, _ = forest
    explained = model.explain(X).frame()
    frame = plot.dependence(model, X, "size", colour="count").frame("pandas")
    np.testing.assert_array_equal(frame["size"], X["size"])
    np.testing.assert_allclose(frame["contribution"], explained["size"])
    np.testing.assert_array_equal(frame["colour: count"], X["count"])
    levels = plot.dependence(model, X, "place")
    assert levels.picture().panels[0].x.names == ("north", "south", "west")
    assert levels.frame()["place"][7] is None
    places = np.array(levels.picture().panels[0].marks[1].x)
    assert np.isnan(places[7])
    assert (np.rint(places[X["place"] == "south"]) == 1).all()


def test_a_linear_model_has_straight_lines():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = LinearRegression().fit(X, y)
    frame = plot.dependence(model, X, "bmi").frame()
    slope, _ = np.polyfit(frame["bmi"], frame["contribution"], 1)
    assert slope == pytest.approx(model.coef_[list(X).index("bmi")])


def test_errors_name_what_is_wrong(forest):
    model, X, y = forest
    with pytest.raises(ParameterError, match="X has 100 rows, but no row 100"):
        plot.waterfall(model, X, 100)
    with pytest.raises(ParameterError, match=r"no column 'plac'\. Did you mean 'place'"):
        plot.dependence(model, X, "plac")
    with pytest.raises(ParameterError, match="'place' has levels"):
        plot.dependence(model, X, "size", colour="place")
    numbers = X[["count"]].to_numpy(dtype=float)
    with pytest.raises(ParameterError, match="has no `explain`"):
        plot.beeswarm(SklearnRidge().fit(numbers, y), numbers)
    with pytest.raises(ParameterError, match="explains its predictions by training rows"):
        plot.beeswarm(KNeighborsClassifier().fit(numbers, y > 20), numbers)
    many = pd.DataFrame({"name": pd.Categorical([f"n{i % 30}" for i in range(100)])})
    kept = RandomForestRegressor(n_estimators=2).fit(many, y)
    with pytest.raises(ParameterError, match="has 30 levels, but a picture shows at most 24"):
        plot.partial_dependence(kept, many, "name").svg()
