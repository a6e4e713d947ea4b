"""Trees, importances, networks and losses against the arrays of the models and plain formulas."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.neural_network import MLPClassifier as TheirNetwork

import pellucid
from pellucid import plot
from pellucid.data.datasets import load
from pellucid.data.intake import raw_table
from pellucid.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from pellucid.errors import DataError, DataTypeError, NotFittedError, ParameterError
from pellucid.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    Ridge,
)
from pellucid.neural_network import MLPClassifier, MLPRegressor
from pellucid.plot.models.parameter_grid import loss_function
from pellucid.plot.picture import Bars, Segments, Text
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_svg

IRIS, TIPS, PENGUINS = load("iris"), load("tips"), load("penguins")
MATRIX = np.column_stack([IRIS.X.column(n).to_numpy() for n in IRIS.features])
SVG = "{http://www.w3.org/2000/svg}"


def _texts(svg):
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter(f"{SVG}text")]


def test_a_tree_has_counts_impurity_and_path():
    model = DecisionTreeClassifier(max_depth=3).fit(PENGUINS.X, PENGUINS.y)
    row = PENGUINS.X.slice(5, 1)
    display = plot.tree(model, row=row)
    frame = display.frame("pandas")
    nodes = model.tree_
    assert frame["node"].tolist() == list(range(nodes.n_nodes))
    np.testing.assert_allclose(frame["impurity"], nodes.impurity)
    assert frame["rows"].tolist() == nodes.n_samples.tolist()
    counts = frame[[f"rows of {c}" for c in model.classes_]].to_numpy()
    leaves = model.apply(PENGUINS.X)
    for node in frame["node"][frame["yes"].isna()]:
        own = PENGUINS.y[leaves == node]
        np.testing.assert_allclose(counts[node], [(own == c).sum() for c in model.classes_])
    share = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(frame["impurity"], 1 - np.square(share).sum(axis=1), atol=1e-12)
    path = model.decision_path(row).indices
    np.testing.assert_array_equal(np.flatnonzero(frame["on the path"]), path)
    texts = _texts(display.svg())
    assert "gini 0.636; 152 / 68 / 124" in texts
    assert {"yes", "no", "Adelie", "344"} <= set(texts)


@pytest.mark.parametrize("max_depth", [0, 1, 4])
def test_the_same_nodes_in_svg_and_matplotlib(max_depth):
    model = DecisionTreeClassifier().fit(PENGUINS.X, PENGUINS.y)
    display = plot.tree(model, max_depth=max_depth, row=PENGUINS.X.slice(0, 1))
    boxes = list(ET.fromstring(display.svg()).iter(f"{SVG}rect"))
    frame = display.frame()
    assert len(boxes) == len(frame["node"])
    drawn = [
        text for m in display.picture().panels[0].marks if isinstance(m, Text) for text in m.texts
    ]
    assert all(text in drawn for text in frame["text"])
    bold = sum(box.get("stroke-width") == "2.5" for box in boxes)
    assert bold == sum(frame["on the path"])


def test_a_tree_is_a_real_svg_file(tmp_path):
    model = DecisionTreeRegressor(max_depth=2).fit(TIPS.X, TIPS.y)
    path = plot.tree(model).save(tmp_path / "tree.svg")
    assert path.read_text().startswith("<svg")
    root = ET.fromstring(path.read_bytes())
    assert root.tag == f"{SVG}svg"
    assert "details" not in {node.tag.split("}")[-1] for node in root.iter()}
    assert ET.fromstring(export_svg(model)).tag == f"{SVG}svg"
    assert any(text.startswith("squared error") for text in _texts(export_svg(model)))
    plot.tree(model).save(tmp_path / "tree.png")
    assert "pl-wide" in plot.tree(model)._repr_html_()


def test_trees_of_ensembles_and_exported_nodes():
    forest = RandomForestClassifier(4, random_state=0).fit(PENGUINS.X, PENGUINS.y)
    frame = plot.tree(forest, tree=2, max_depth=1).frame()
    assert "rows of Gentoo" in frame
    assert frame["rows"][0] == forest.estimators_[2].tree_.n_samples[0]
    nodes = plot.tree(forest.estimators_[2].tree_, max_depth=1)
    assert nodes.frame()["rows"] == frame["rows"]
    assert nodes.frame()["impurity"] == frame["impurity"]
    assert "rows of class 0" in nodes.frame()
    bagged = BaggingRegressor(n_estimators=2, random_state=0).fit(TIPS.X, TIPS.y)
    assert "prediction" in plot.tree(bagged, tree=1).frame()
    ada = AdaBoostClassifier(n_estimators=3).fit(MATRIX, IRIS.y)
    assert "rows of setosa" in plot.tree(ada).frame()
    with pytest.raises(ParameterError, match=r"integer from 0 to 3. Got 4"):
        plot.tree(forest, tree=4)
    with pytest.raises(ParameterError, match="not its nodes, for a row"):
        plot.tree(forest.estimators_[0].tree_, row=PENGUINS.X.slice(0, 1))
    with pytest.raises(NotFittedError):
        plot.tree(DecisionTreeClassifier())
    with pytest.raises(ParameterError, match="needs a fitted DecisionTreeClassifier"):
        plot.tree(LinearRegression().fit(MATRIX, MATRIX[:, 0]))
    with pytest.raises(DataError, match="one row"):
        plot.tree(DecisionTreeClassifier().fit(MATRIX, IRIS.y), row=MATRIX[:2])


@pytest.mark.parametrize("make", [RandomForestClassifier, TheirForest])
def test_importances(make):
    model = make(10, random_state=0).fit(MATRIX, IRIS.y)
    display = plot.importances(model, most=3)
    frame = display.frame()
    order = np.argsort(-model.feature_importances_)
    assert frame["column"] == [f"x{j}" for j in order]
    np.testing.assert_allclose(frame["importance"], model.feature_importances_[order])
    each = np.array([tree.feature_importances_ for tree in model.estimators_])
    np.testing.assert_allclose(frame["low"], np.quantile(each, 0.1, axis=0)[order])
    bars = next(m for m in display.picture().panels[0].marks if isinstance(m, Bars))
    np.testing.assert_allclose(bars.end, np.sort(model.feature_importances_)[::-1][:3])
    assert "3 largest of 4" in display.picture().panels[0].note


def test_importances_of_other_models():
    tree = plot.importances(DecisionTreeClassifier().fit(PENGUINS.X, PENGUINS.y)).frame()
    assert set(tree["column"]) == set(PENGUINS.features)
    assert "low" not in tree
    plot.importances(GradientBoostingClassifier(n_estimators=5).fit(MATRIX, IRIS.y)).svg()
    with pytest.raises(ParameterError, match="feature_importances_"):
        plot.importances(LogisticRegression().fit(MATRIX, IRIS.y))
    with pytest.raises(ParameterError, match="'most' parameter"):
        plot.importances(DecisionTreeClassifier().fit(MATRIX, IRIS.y), most=0)


@pytest.mark.parametrize("make", [MLPClassifier, TheirNetwork])
def test_networks(make):
    model = make((5, 3), solver="lbfgs", random_state=0, max_iter=2000).fit(MATRIX, IRIS.y)
    display = plot.network(model)
    frame = display.frame()
    assert len(frame["weight"]) == 4 * 5 + 5 * 3 + 3 * 3
    for k, i, j, weight in zip(*frame.values()):
        assert weight == model.coefs_[k][i, j]
    positive, negative = (m for m in display.picture().panels[0].marks if isinstance(m, Segments))
    values = np.array(frame["weight"])
    largest = np.abs(values).max()
    widths = 5 * values[values > 0] / largest
    np.testing.assert_allclose(positive.widths, widths[widths > 0.05])
    assert len(negative.x1) == (5 * values / largest < -0.05).sum()
    texts = _texts(display.svg())
    assert {"setosa", "versicolor", "virginica", "hidden 1 (5)", "outputs (3)"} <= set(texts)


def test_large_and_wrong_networks():
    model = MLPRegressor(hidden_layer_sizes=(40,), solver="lbfgs", random_state=0, tol=1.0)
    model.fit(MATRIX[:, :4], MATRIX[:, 0])
    display = plot.network(model, most=6)
    assert len(display.frame()["weight"]) == 4 * 6 + 6
    assert set(display.frame()["to"][: 4 * 6]) == {0, 1, 2, 37, 38, 39}
    assert "layer 1: 6 of 40 units" in display.picture().panels[0].note
    assert "output" in _texts(display.svg())
    with pytest.raises(ParameterError, match="neural network with coefs_"):
        plot.network(LogisticRegression().fit(MATRIX, IRIS.y))
    with pytest.raises(ParameterError, match="'most' parameter"):
        plot.network(model, most=1)


def _data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    return X, 2 * X[:, 0] + 1 + rng.normal(size=60)


@pytest.mark.parametrize(
    ("model", "factor"),
    [(LinearRegression(solver="gd"), 30), (Ridge(alpha=3.0, solver="gd"), 30), (Lasso(alpha=0.1), 0.5),
     (LogisticRegression(solver="gd"), 60), (LogisticRegression(solver="gd", C=0.1), 60)],
)  # fmt: skip
def test_the_loss_of_a_path_is_the_objective_of_the_fit(model, factor):
    X, t = _data()
    y = t > 1 if isinstance(model, LogisticRegression) else t
    with pellucid.watching() as watch:
        model.fit(X, y)
    frame = plot.descent(watch, X, y, resolution=4).frame()
    loss = next(name for name in frame if name.startswith("mean"))
    objective = np.array(watch.frame()["objective"]) / factor
    known = np.isfinite(objective)  # Lasso computes it now and then
    assert known.sum() >= 2
    np.testing.assert_allclose(np.array(frame[loss])[known], objective[known], rtol=1e-9)
    assert frame["iteration"] == watch.frame()["iteration"]
    states = [step.state for step in watch.steps]
    np.testing.assert_array_equal(
        frame["coefficient of x0"], [np.ravel(s["coef_"])[0] for s in states]
    )
    np.testing.assert_array_equal(
        frame["intercept"], [np.ravel(s["intercept_"])[0] for s in states]
    )


def test_the_contour_is_a_plain_formula():
    X, t = _data()
    model = LinearRegression().fit(X, t)
    frame = plot.loss_surface(model, X, t, resolution=5).frame()
    for a, b, loss in zip(*frame.values()):
        assert loss == pytest.approx(np.mean((t - a * X[:, 0] - b) ** 2))
    assert model.predict(X)[0] == pytest.approx(model.coef_[0] * X[0, 0] + model.intercept_)
    many = LogisticRegression().fit(MATRIX, IRIS.y)
    pair = (("x1", "virginica"), ("intercept", "setosa"))
    found = plot.loss_surface(many, MATRIX, IRIS.y, parameters=pair, resolution=3).frame()
    names = list(found)
    assert names == ["coefficient of x1 (virginica)", "intercept 0", "mean log loss"]
    codes = np.searchsorted(many.classes_, IRIS.y)
    for a, b, loss in zip(*found.values()):
        W, c = many.coef_.copy(), many.intercept_.copy()
        W[2, 1], c[0] = a, b
        scores = MATRIX @ W.T + c
        lse = np.log(np.exp(scores).sum(axis=1))
        expected = np.mean(lse - scores[np.arange(150), codes]) + np.square(W).sum() / 2 / 150
        assert loss == pytest.approx(expected)


def test_losses_of_other_models():
    X, t = _data()
    y = t > 1
    model = Perceptron().fit(X, y)
    loss, name = loss_function(model, X, y)
    signed = np.where(y, 1, -1) * model.decision_function(X)
    assert loss(model) == pytest.approx(np.maximum(0, -signed).mean())
    assert name == "mean perceptron loss"
    counts = np.random.default_rng(1).poisson(3, 60).astype(float)
    poisson = PoissonRegressor(alpha=0.1).fit(X, counts)
    loss, _ = loss_function(poisson, X, counts)
    mean = poisson.predict(X)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.where(counts > 0, counts * np.log(counts / mean), 0.0) - counts + mean
    plain = unit.mean() + 0.05 * poisson.coef_[0] ** 2
    assert loss(poisson) == pytest.approx(plain)
    from pellucid.plot.models.parameter_grid import address, changed

    for which in (0, "intercept"):  # the fit is the minimum
        place = address(poisson, which, "test")
        value = np.ravel(getattr(poisson, place[0]))[0]
        for step in (-1e-3, 1e-3):
            assert loss(changed(poisson, [place], [value + step])) > loss(poisson)


def test_parameters_of_a_network():
    options = {"solver": "lbfgs", "activation": "tanh", "random_state": 0, "max_iter": 3000}
    model = MLPClassifier((3,), **options).fit(MATRIX, IRIS.y)
    before = [layer.copy() for layer in model.coefs_]
    pair = (("coefs_", 0, 2, 1), ("intercepts_", 1, 0))
    frame = plot.loss_surface(model, MATRIX, IRIS.y, parameters=pair, resolution=4).frame()
    assert list(frame)[:2] == ["coefs_[0][2][1]", "intercepts_[1][0]"]
    codes = np.searchsorted(model.classes_, IRIS.y)
    for a, b, loss in zip(*frame.values()):
        (W, V), (c, d) = [w.copy() for w in model.coefs_], [w.copy() for w in model.intercepts_]
        W[2, 1], d[0] = a, b
        scores = np.tanh(MATRIX @ W + c) @ V + d
        lse = np.logaddexp.reduce(scores, axis=1)
        assert loss == pytest.approx(np.mean(lse - scores[np.arange(150), codes]))
    assert all((a == b).all() for a, b in zip(before, model.coefs_))


@pytest.mark.filterwarnings("ignore::pellucid.errors.ConvergenceWarning")
def test_the_path_of_a_network():
    model = MLPClassifier((3,), random_state=0, max_iter=20, standardize=True)
    with pellucid.watching() as watch:
        model.fit(MATRIX, IRIS.y)
    pair = (("coefs_", 0, 2, 1), ("intercepts_", 1, 0))
    frame = plot.descent(watch, MATRIX, IRIS.y, parameters=pair, resolution=4).frame()
    assert frame["coefs_[0][2][1]"] == [step.state["coefs_"][0][2, 1] for step in watch.steps]
    codes = np.searchsorted(model.classes_, IRIS.y)
    for k in (0, 7, -1):
        proba = watch.model(k).predict_proba(MATRIX)[np.arange(150), codes]
        assert frame["mean log loss"][k] == pytest.approx(-np.log(proba).mean())


def test_own_losses_and_wrong_ones():
    X, t = _data()
    model = LinearRegression().fit(X, t)
    frame = plot.loss_surface(model, X, t, loss=lambda m: float(m.coef_[0]), resolution=3).frame()
    assert frame["loss"] == frame["coefficient of x0"]
    with pytest.raises(ParameterError, match="needs y"):
        plot.loss_surface(model, X, None)
    with pytest.raises(
        ParameterError, match=r"no parameter 'x9'. Its terms are 'x0' and 'intercept'"
    ):
        plot.loss_surface(model, X, t, parameters=("x9", "intercept"))
    with pytest.raises(ParameterError, match="two different parameters"):
        plot.loss_surface(model, X, t, parameters=("x0", "x0"))
    with pytest.raises(ParameterError, match="DecisionTreeClassifier has no coef_"):
        plot.loss_surface(DecisionTreeClassifier().fit(X, t > 0), X, t > 0)
    with pytest.raises(ParameterError, match="no parameter"):
        plot.loss_surface(model, X, t, parameters=(("coef_", 7), "intercept"))
    with pytest.raises(DataTypeError, match="needs the watch of a fit"):
        plot.descent(model, X, t)
    with pellucid.watching() as watch:
        pass
    with pytest.raises(DataError, match="no finished fit"):
        plot.descent(watch, X, t)
    with pytest.raises(DataError, match="class that the model does not know"):
        plot.loss_surface(LogisticRegression().fit(X, t > 0), X, t)


def test_the_table_of_a_surface_is_read_once(monkeypatch):
    """A wide table of text takes far longer to read than to predict."""
    X, t = _data()
    model = LinearRegression().fit(X, t)
    read = []
    monkeypatch.setattr(
        "pellucid.base.raw_table",
        lambda X, owner: read.append(X) if isinstance(X, np.ndarray) else raw_table(X, owner),
    )
    plot.loss_surface(model, X, t, resolution=5)
    assert read == []
