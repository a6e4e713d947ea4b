"""Regions, surfaces, curves and galleries show what the model predicts."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pellucid import plot
from pellucid.cluster import KMeans
from pellucid.data.datasets import load
from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
from pellucid.draw.style import PALETTE
from pellucid.errors import DataError, DataTypeError, NotFittedError, ParameterError
from pellucid.linear_model import BayesianRidge, LinearRegression, LogisticRegression, Perceptron
from pellucid.naive_bayes import GaussianNB
from pellucid.neighbors import KNeighborsClassifier
from pellucid.svm import SVC, OneClassSVM
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor

IRIS, MOONS, TIPS, PENGUINS = (load(name) for name in ("iris", "moons", "tips", "penguins"))


def _cells(display, n):
    """The marks of the grid: codes, and certainty if there is one."""
    mark = display.picture().panels[0].marks[0]
    return np.array(mark.codes, dtype=int), np.array(mark.certainty)


@pytest.mark.parametrize(
    "make", [LogisticRegression, KNeighborsClassifier, SVC, DecisionTreeClassifier, Perceptron]
)
def test_regions_are_the_predictions_on_the_grid(make):
    model = make().fit(MOONS.X, MOONS.y)
    display = plot.regions(model, MOONS.X, MOONS.y, resolution=17)
    frame = display.frame("pandas")
    x, y = MOONS.features
    assert model.predict(frame[[x, y]].to_numpy()).tolist() == frame["predicted"].tolist()
    codes, certainty = _cells(display, 17)
    assert [model.classes_[k] for k in codes.ravel()] == frame["predicted"].tolist()
    if hasattr(model, "predict_proba") and not isinstance(model, SVC):
        proba = model.predict_proba(frame[[x, y]].to_numpy())
        np.testing.assert_array_equal(frame["probability"], proba.max(axis=1))
        np.testing.assert_array_equal(certainty.ravel(), proba.max(axis=1))
    else:
        assert "probability" not in frame
    panel = display.picture().panels[0]
    for axis, name, turned in ((panel.x, x, False), (panel.y, y, True)):
        step = (axis.high - axis.low) / 17
        centres = np.tile(axis.low + step * (np.arange(17) + 0.5), (17, 1))
        expected = centres.T if turned else centres
        np.testing.assert_allclose(frame[name].to_numpy().reshape(17, 17), expected)


def test_the_plane_of_discriminants():
    model = LinearDiscriminantAnalysis().fit(IRIS.X, IRIS.y)
    display = plot.regions(model, IRIS.X, IRIS.y, resolution=9)
    frame = display.frame()
    from pellucid.plot.models.plane import plane, source

    codes = np.searchsorted(model.classes_, IRIS.y)
    where = plane(source(IRIS.X, "test"), None, codes)
    table = where.table(*(np.array(frame[name]) for name in where.labels))
    assert model.predict(table).tolist() == frame["predicted"]
    shown = [m for m in display.picture().panels[0].marks if type(m).__name__ == "Points"]
    assert [len(m.x) for m in shown] == [50, 50, 50]
    first = np.column_stack([shown[0].x, shown[0].y])
    np.testing.assert_array_equal(first, where.points[codes == 0])


def test_mixed_tables_and_other_packages():
    frame = PENGUINS.table.to_pandas().dropna()
    columns = ["bill_length_mm", "body_mass_g", "island", "sex"]
    encode = make_column_transformer(
        (OneHotEncoder(), ["island", "sex"]), remainder=StandardScaler()
    )
    model = make_pipeline(encode, TheirLogistic()).fit(frame[columns], frame["species"])
    display = plot.regions(model, frame[columns], frame["species"], resolution=8)
    grid = display.frame("pandas")
    made = pd.DataFrame({
        "bill_length_mm": grid["bill_length_mm"], "body_mass_g": grid["body_mass_g"],
        "island": frame["island"].mode()[0], "sex": frame["sex"].mode()[0],
    })  # fmt: skip
    assert model.predict(made).tolist() == grid["predicted"].tolist()


def test_clusterers_and_outliers():
    points = IRIS.X.select(IRIS.features[:2])
    display = plot.regions(KMeans(4, random_state=0).fit(points), points)
    assert set(display.frame()["predicted"]) == {0, 1, 2, 3}
    display = plot.regions(OneClassSVM().fit(points), points, resolution=20)
    assert set(display.frame()["predicted"]) == {-1, 1}


def test_surfaces():
    model = GaussianNB().fit(IRIS.X, IRIS.y)
    pair = IRIS.features[:2]
    display = plot.surface(model, IRIS.X, IRIS.y, of="versicolor", columns=pair, resolution=6)
    frame = display.frame("pandas")
    median = np.array([sorted(IRIS.X.column(n).to_pylist())[74] for n in IRIS.features])
    table = np.tile(median, (36, 1))
    table[:, :2] = frame[pair]
    np.testing.assert_allclose(frame["probability of versicolor"], model.predict_proba(table)[:, 1])
    heat = display.picture().panels[0].marks[0]
    np.testing.assert_array_equal(np.ravel(heat.values), frame["probability of versicolor"])
    assert heat.index == 1, "the colour of the rows of this class"
    assert 'class="pl-c1"' in display.svg().partition(">0 to 1<")[0]
    ax = display.plot().ax_
    (key,) = [k for k in ax.get_legend().legend_handles if k.get_label() == "0 to 1"]
    assert to_hex(key.get_facecolor()) == PALETTE[1]
    np.testing.assert_allclose(ax.images[0].cmap(1.0)[:3], to_rgb(PALETTE[1]))
    reg = LinearRegression().fit(TIPS.X, TIPS.y)
    shown = plot.surface(reg, TIPS.X, TIPS.y, columns=["total_bill", "size"], resolution=5)
    assert len(shown.frame()["prediction"]) == 25
    with pytest.raises(ParameterError, match="must be one of the classes"):
        plot.surface(model, IRIS.X, of="rose")
    with pytest.raises(
        ParameterError, match="names a class, but LinearRegression predicts numbers"
    ):
        plot.surface(reg, TIPS.X, of=1, columns=["total_bill", "size"])
    with pytest.raises(ParameterError, match=r"SVC has none. Use plot.regions"):
        plot.surface(SVC().fit(MOONS.X, MOONS.y), MOONS.X)


def test_fitted_lines():
    X = TIPS.X.select(["total_bill"])
    model = LinearRegression().fit(X, TIPS.y)
    frame = plot.fit(model, X, TIPS.y, resolution=7).frame("pandas")
    rows = frame[["total_bill"]].to_numpy()
    np.testing.assert_allclose(frame["prediction"], model.predict(rows))
    ends = model.predict_interval(rows, 0.95, kind="mean")
    np.testing.assert_allclose(frame[["low", "high"]], ends)
    import statsmodels.api as sm

    theirs = sm.OLS(TIPS.y, sm.add_constant(X.to_pandas())).fit()
    low_high = theirs.get_prediction(sm.add_constant(rows)).conf_int()
    np.testing.assert_allclose(frame[["low", "high"]], low_high, rtol=1e-8)
    assert "low" in plot.fit(BayesianRidge().fit(X, TIPS.y), X, TIPS.y).frame()
    tree = DecisionTreeRegressor(max_depth=2).fit(TIPS.X, TIPS.y)
    curve = plot.fit(tree, TIPS.X, TIPS.y, column="total_bill").frame()
    assert len(set(curve["prediction"])) <= 4
    assert "low" not in curve


def test_probability_curves():
    X = IRIS.X.select(IRIS.features[2:3])
    model = LogisticRegression().fit(X, IRIS.y)
    frame = plot.fit(model, X, IRIS.y, resolution=5).frame()
    rows = np.array(frame[IRIS.features[2]])[:, None]
    for k, name in enumerate(model.classes_):
        np.testing.assert_allclose(frame[f"probability of {name}"], model.predict_proba(rows)[:, k])
    one = plot.fit(LogisticRegression().fit(MOONS.X, MOONS.y), MOONS.X, MOONS.y, column=0)
    assert list(one.frame()) == [MOONS.features[0], "probability of upper"]
    votes = plot.fit(Perceptron().fit(X, IRIS.y), X, IRIS.y).frame()
    assert {v for n in model.classes_ for v in votes[f"predicted {n}"]} == {0.0, 1.0}


def test_galleries_fit_what_is_not_fitted():
    fitted, fresh = GaussianNB().fit(MOONS.X, MOONS.y), DecisionTreeClassifier(random_state=0)
    display = plot.gallery([fitted, fresh, GaussianNB()], MOONS.X, MOONS.y, resolution=6)
    frame = display.frame("pandas")
    assert list(dict.fromkeys(frame["model"])) == [
        "GaussianNB",
        "DecisionTreeClassifier",
        "GaussianNB (2)",
    ]
    assert not fresh.__sklearn_is_fitted__()
    own = frame[frame["model"] == "DecisionTreeClassifier"]
    tree = DecisionTreeClassifier(random_state=0).fit(MOONS.X, MOONS.y)
    assert tree.predict(own[MOONS.features].to_numpy()).tolist() == own["predicted"].tolist()
    panels = display.picture().panels
    assert panels[1].note == f"Accuracy on these rows: {tree.score(MOONS.X, MOONS.y):.3f}."
    assert panels[0].note == f"Accuracy on these rows: {fitted.score(MOONS.X, MOONS.y):.3f}."
    named = plot.gallery({"mine": fitted}, MOONS.X, MOONS.y, resolution=4)
    assert named.picture().panels[0].title == "mine"


def test_clear_errors():
    with pytest.raises(
        NotFittedError, match=r"SVC is not fitted yet. Call fit before plot.regions"
    ):
        plot.regions(SVC(), MOONS.X, MOONS.y)
    with pytest.raises(NotFittedError, match="This LogisticRegression is not fitted"):
        plot.regions(TheirLogistic(), MOONS.X)
    with pytest.raises(
        DataTypeError, match=r"needs a fitted model with predict. Got the class SVC"
    ):
        plot.regions(SVC, MOONS.X)
    reg = LinearRegression().fit(TIPS.X, TIPS.y)
    with pytest.raises(ParameterError, match=r"predicts numbers. Use plot.surface"):
        plot.regions(reg, TIPS.X, TIPS.y)
    with pytest.raises(ParameterError, match=r"the table has 2 columns of numbers. Choose one"):
        plot.fit(reg, TIPS.X, TIPS.y)
    with pytest.raises(DataError, match=r"X has 400 rows, but y has 3"):
        plot.regions(SVC().fit(MOONS.X, MOONS.y), MOONS.X, [1, 2, 3])
    with pytest.raises(ParameterError, match=r"integer from 2 to 1000. Got 1 instead"):
        plot.regions(SVC().fit(MOONS.X, MOONS.y), MOONS.X, resolution=1)
    with pytest.raises(ParameterError, match="needs y"):
        plot.gallery([SVC()], MOONS.X, None)
    with pytest.raises(ParameterError, match="'LinearRegression' predicts numbers"):
        plot.gallery([LinearRegression()], [[0.0, 1], [1, 0]], [0.5, 1])
    many = GaussianNB().fit(np.arange(80.0).reshape(40, 2), np.arange(40))
    with pytest.raises(DataError, match="at most 31 classes, but the model has 40"):
        plot.regions(many, np.arange(80.0).reshape(40, 2))
    two = LinearRegression().fit([[0.0, 1], [1, 0], [2, 2]], [[0.0, 1], [1, 0], [2, 2]])
    with pytest.raises(ParameterError, match=r"one target. This one predicts 2"):
        plot.surface(two, [[0.0, 1], [1, 0], [2, 2]])


def test_more_classes_than_colours_have_a_pattern_of_their_own():
    X = np.array([[float(k), float(half)] for half in (0, 1) for k in range(20)])
    y = np.tile([f"{k}: a long name of a class" for k in range(20)], 2)
    display = plot.regions(KNeighborsClassifier(1).fit(X, y), X, y, resolution=40)
    markup = display.svg()
    looks = set()
    for k, name in enumerate(display.picture().panels[0].marks[0].classes):
        own = re.findall(
            rf'<g class="pl-c{k % 8}"[^>]*><path d="([^"]+)" fill="url\(#(\S+)\)"', markup
        )
        looks.add((k % 8, f"pl-hatch-{k // 8}" if k >= 8 else None))
        if k >= 8:
            assert f"pl-hatch-{k // 8}" in [pattern for _, pattern in own], name
            assert f'id="pl-hatch-{k // 8}"' in markup
        else:
            assert not any(pattern == "pl-hatch-0" for _, pattern in own)
    assert len(looks) == 20
    few = plot.regions(KNeighborsClassifier(1).fit(X[:8], y[:8]), X[:8], y[:8], resolution=9)
    assert "url(#pl-hatch" not in few.svg()
    keys = [text.get_text() for text in display.plot().ax_.get_legend().get_texts()]
    assert len(keys) == len(set(keys)) == 20, "cut names stay apart"
