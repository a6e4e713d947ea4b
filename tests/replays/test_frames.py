"""The numbers of the frames are those of the fit: states, predictions, errors, by other means."""

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.cluster import KMeans
from pellucid.data.datasets import load
from pellucid.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from pellucid.linear_model import (
    BayesianRegression,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
)
from pellucid.manifold import TSNE
from pellucid.mixture import GaussianMixture
from pellucid.neighbors import KNeighborsClassifier
from pellucid.neural_network import MLPClassifier, MLPRegressor
from pellucid.svm import SVC, LinearSVC
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.replays.pages import centres, codes, filled, mark, panel

# Fits are short here, so they stop before they converge.
pytestmark = pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")

IRIS = load("iris")
X4 = np.column_stack([IRIS.X.column(name).to_numpy() for name in IRIS.features])
Y = IRIS.y
X2, TWO = X4[:, [0, 1]], Y != "virginica"


def watched(model, X, y=None):
    with pellucid.watching() as watch:
        model.fit(X) if y is None else model.fit(X, y)
    return watch


def some(n):
    return sorted({0, 1, n // 2, n - 1})


# Predictions ------------------------------------------------------------------------------------

CLASSIFIERS = [
    LogisticRegression(solver="gd", max_iter=50, tol=0),
    Perceptron(shuffle=False, max_iter=5),
    SGDClassifier(random_state=0, max_iter=3),
    MLPClassifier(hidden_layer_sizes=(4,), max_iter=20, random_state=0),
    KNeighborsClassifier(5),
    DecisionTreeClassifier(max_depth=3),
    AdaBoostClassifier(n_estimators=8),
    GradientBoostingClassifier(n_estimators=8),
    RandomForestClassifier(n_estimators=8, random_state=0),
    BaggingClassifier(n_estimators=4, random_state=0),
    SVC(),
    LinearSVC(),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("binary", [True, False], ids=["two", "three"])
def test_regions_are_predictions_on_the_grid(model, binary):
    X, y = (X2[TWO], Y[TWO]) if binary else (X2, Y)
    watch = watched(model, X, y)
    frames = pellucid.replay(watch, X, y).frames
    (shown,) = [p for p in frames["panels"] if p.get("marks", [{}])[0].get("classes")]
    grid, dots = mark(shown, "grid"), mark(shown, "points")
    cells, rows = filled(grid["s"]), centres(shown, grid)
    wrong = filled(dots["s"]["bad"]["s"])
    assert len(cells) == len(watch.steps)
    assert np.allclose(dots["x"], X[:, 0]) and np.allclose(dots["y"], X[:, 1])
    names = sorted(set(y))
    assert [names[k] for k in dots["c"]] == list(y)
    for i in some(len(cells)):
        at = watch.model(i)
        predicted = [names[k] for k in codes(cells[i]) // grid["levels"]]
        assert list(at.predict(rows)) == predicted
        assert np.array_equal(codes(wrong[i]) == 1, at.predict(X) != y)
        if hasattr(at, "predict_proba"):
            top = np.sort(at.predict_proba(rows), axis=1)
            lead, level = top[:, -1] - top[:, -2], codes(cells[i]) % grid["levels"]
            agree = (
                top[:, -1]
                == at.predict_proba(rows)[range(len(rows)), codes(cells[i]) // grid["levels"]]
            )
            low, high = (level / grid["levels"]) ** 4, ((level + 1) / grid["levels"]) ** 4
            assert np.all((low - 1e-9 <= lead)[agree] & (lead <= high + 1e-9)[agree])


def test_margin_levels_are_halves_of_scores():
    X, y = X2[TWO], Y[TWO]
    watch = watched(SVC(), X, y)
    shown = panel(pellucid.replay(watch, X, y).frames, "Classes and support vectors")
    grid = mark(shown, "grid")
    cells = codes(filled(grid["s"])[-1])
    scores = np.abs(watch.model(-1).decision_function(centres(shown, grid)))
    lead = (cells % grid["levels"] / grid["levels"]) ** 4
    outside = lead >= grid["margin"]
    clear = np.abs(scores - 1) > 0.05
    assert np.array_equal(outside[clear], scores[clear] > 1)
    on = filled(mark(shown, "points")["s"]["on"]["s"])
    for i in some(len(on)):
        assert on[i] == sorted(set(watch.steps[i].state["support_"].tolist()))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_errors_and_sentences_of_both_sets(model):
    half = np.arange(len(Y)) % 2 == 0
    watch = watched(model, X4[half], Y[half])
    frames = pellucid.replay(watch, X4[half], Y[half], test=(X4[~half], Y[~half])).frames
    for name, rows in (("training", half), ("test", ~half)):
        shown = frames["numbers"][f"share of wrong labels, {name} rows"]
        for i in some(len(shown)):
            wrong = np.mean(watch.model(i).predict(X4[rows]) != Y[rows])
            assert shown[i] == pytest.approx(wrong, rel=1e-6)
    for i, step in enumerate(watch.steps):
        assert frames["sentences"][i].startswith(step.sentence)
        if "train_score" not in step.numbers:
            count = round(frames["numbers"]["share of wrong labels, training rows"][i] * half.sum())
            assert f"{count} of {half.sum()} training rows" in frames["sentences"][i]


def test_the_curve_of_one_column_is_the_prediction():
    x, y = X4[:, [2]], X4[:, 3]
    for model in (LinearRegression(solver="gd", max_iter=30, tol=0), DecisionTreeRegressor(max_depth=2),
                  MLPRegressor(hidden_layer_sizes=(3,), max_iter=10, random_state=0)):  # fmt: skip
        watch = watched(model, x, y)
        frames = pellucid.replay(watch, x, y).frames
        shown = panel(frames, "The fitted curve")
        line = mark(shown, "line")
        at = np.array(line["x"])
        if isinstance(model, DecisionTreeRegressor):  # both sides of every threshold
            at[1:-1:2] -= 1e-4
            at[2:-1:2] += 1e-4
        for i in some(len(watch.steps)):
            expected = watch.model(i).predict(at[:, None])
            reach = np.ptp(shown["y"]["range"])
            assert np.allclose(filled(line["s"])[i], expected, atol=reach / 700)


def test_the_surface_of_two_columns_is_the_prediction():
    X, y = X4[:, [2, 0]], X4[:, 3]
    watch = watched(Ridge(solver="gd", max_iter=20, tol=0), X, y)
    shown = panel(pellucid.replay(watch, X, y).frames, "Predicted surface")
    grid = mark(shown, "grid")
    middle, reach = y.mean(), np.abs(y - y.mean()).max()
    for i in some(len(watch.steps)):
        expected = np.clip((watch.model(i).predict(centres(shown, grid)) - middle) / reach, -1, 1)
        found = 2 * codes(filled(grid["s"])[i]) / (grid["levels"] - 1) - 1
        assert np.allclose(found, expected, atol=1 / (grid["levels"] - 1) + 1e-9)
    assert np.allclose(mark(shown, "points")["v"], (y - middle) / reach, atol=2e-3)


def test_observed_against_predicted():
    X, y = X4[:, :3], X4[:, 3]
    watch = watched(Lasso(alpha=0.01), X, y)
    dots = mark(panel(pellucid.replay(watch, X, y).frames, "Observed against predicted"), "points")
    assert np.allclose(dots["y"], y)
    for i in some(len(watch.steps)):
        assert np.allclose(filled(dots["s"]["x"]["s"])[i], watch.model(i).predict(X), atol=0.01)


# Linear models ----------------------------------------------------------------------------------


def surface_value(shown, x, y):
    """Band of the loss at a place."""
    grid = mark(shown, "grid")
    x0, x1, y0, y1 = grid["box"]
    column = int((x - x0) / (x1 - x0) * grid["nx"])
    row = int((y1 - y) / (y1 - y0) * grid["ny"])
    return codes(grid["s"][0])[row * grid["nx"] + column]


def log_loss(a, b, x, t):
    return np.mean(np.logaddexp(0, -t * (a + b * x)))


def test_the_path_and_the_loss_of_logistic_descent():
    x, t = X2[TWO][:, 0], np.where(Y[TWO] == "versicolor", 1.0, -1.0)
    model = LogisticRegression(solver="gd", C=np.inf, max_iter=200, tol=0)
    watch = watched(model, x[:, None], Y[TWO])
    shown = panel(pellucid.replay(watch, x[:, None], Y[TWO]).frames, "Path over the loss")
    trail, grid = mark(shown, "trail"), mark(shown, "grid")
    assert shown["x"]["label"] == "intercept"
    for i in some(len(watch.steps)):
        state = watch.steps[i].state
        assert trail["x"][i] == pytest.approx(state["intercept_"][0], rel=1e-6, abs=1e-12)
        assert trail["y"][i] == pytest.approx(state["coef_"][0, 0], rel=1e-6, abs=1e-12)
    places = centres(shown, grid)
    values = np.array([log_loss(a, b, x, t) for a, b in places])
    heights = codes(grid["s"][0])
    order = np.argsort(values)
    assert (np.diff(heights[order]) >= 0).all(), "bands follow the loss"
    low, high = values.min(), np.quantile(values, 0.97)
    assert np.array_equal(
        heights, np.clip((np.sqrt((values - low) / (high - low)) * 176).astype(int), 0, 175)
    )
    assert (grid["bands"], grid["levels"]) == (22, 176), "eight levels for each band"


@pytest.mark.parametrize(
    ("model", "X", "y", "factor"),
    [
        (LogisticRegression(solver="gd", max_iter=200), X4[TWO], Y[TWO], 1 / 100),
        (LogisticRegression(solver="cd", l1_ratio=0.5, C=0.3), X4[TWO], Y[TWO], 1 / 100),
        (LogisticRegression(), X4, Y, 1 / 150),
        (LogisticRegression(standardize=True, C=0.1), X4, Y, 1 / 150),
        (Ridge(solver="gd", alpha=3.0, standardize=True), X4[:, :3], X4[:, 3], 2 / 150),
        (LinearRegression(solver="gd"), X4[:, :3], X4[:, 3], 2 / 150),
        (Ridge(solver="gd", alpha=3.0), X4[:, :3], X4[:, 3], 2 / 150),
        (Lasso(alpha=0.05), X4[:, :3], X4[:, 3], 2.0),
        (PoissonRegressor(alpha=0.1), X4[:, :2], np.round(X4[:, 2]), 1 / 150),
    ],
)  # fmt: skip
def test_the_surface_at_the_end_is_the_objective(model, X, y, factor):
    from pellucid.plot.models.plane import source
    from pellucid.replays.loss_surface import find_slice
    from pellucid.replays.recording import Recording

    watch = watched(model, X, y)
    recording = Recording(watch.fits[0], watch.steps, source(X, "test"), y, (), None)
    found = find_slice(recording)
    end = found.path[-1]
    here = found.values(end[None])[0]
    assert here == pytest.approx(watch.steps[-1].numbers["objective"] * factor, rel=1e-8)
    from pellucid.plot.models.parameter_grid import loss_function

    through_predictions = loss_function(watch.model(-1), X, y)[0](watch.model(-1))
    assert through_predictions == pytest.approx(here, rel=1e-8)
    state = watch.steps[-1].state
    assert all(np.isclose(np.ravel(state["coef_"]), value).any() for value in end)


@pytest.mark.parametrize(
    "model", [Perceptron(max_iter=5), SGDClassifier(loss="log_loss", random_state=0)]
)
def test_one_class_against_the_others(model):
    from pellucid.plot.models.parameter_grid import LOSSES
    from pellucid.plot.models.plane import source
    from pellucid.replays.loss_surface import find_slice
    from pellucid.replays.recording import Recording

    watch = watched(model, X4, Y)
    found = find_slice(Recording(watch.fits[0], watch.steps, source(X4, "test"), Y, (), None))
    last = watch.model(-1)
    name = found.names[0].split(" for ")[1]
    k, sign = sorted(set(Y)).index(name), np.where(np.isin(Y, name), 1.0, -1.0)
    loss = LOSSES[found.objective.loss](last.decision_function(X4)[:, k], sign).mean()
    penalty = found.objective.l2 * (last.coef_[k] ** 2).sum() / 2
    assert found.values(found.path[-1:])[0] == pytest.approx(loss + penalty, rel=1e-9)


def test_coefficients_are_the_states():
    X, y = X4[:, :3], X4[:, 3]
    watch = watched(LassoCV(), X, y)
    shown = panel(pellucid.replay(watch, X, y).frames, "Coefficients as the penalty falls")
    trails = [m for m in shown["marks"] if m["m"] == "trail"]
    names = [entry[0] for entry in shown["legend"]]
    assert names == ["x0", "x1", "x2"] and shown["x"]["log"]
    assert shown["note"] == "Without the intercept."
    assert shown["x"]["range"][0] > shown["x"]["range"][1]
    for i, step in enumerate(watch.steps):
        expected = list(step.state["coef_"])
        assert [t["y"][i] for t in trails] == pytest.approx(expected, rel=1e-4, abs=1e-12)
        assert trails[0]["x"][i] == pytest.approx(step.numbers["alpha"], rel=1e-4)


def test_an_intercept_that_dwarfs_the_coefficients_is_not_drawn():
    X = np.linspace(-1, 1, 20)[:, None]
    model = LinearRegression(solver="gd", max_iter=30, tol=0)
    near, far = (pellucid.replay(model, X, X[:, 0] + start).frames for start in (2.0, 200.0))
    assert [entry[0] for entry in panel(near, "Coefficients")["legend"]] == ["x0", "intercept"]
    assert [entry[0] for entry in panel(far, "Coefficients")["legend"]] == ["x0"]
    assert panel(far, "Coefficients")["note"] == "Without the intercept."


def test_the_curve_of_a_tree_has_vertical_steps():
    X = np.array([[0.0], [1.0], [2.0], [4.0]])
    frames = pellucid.replay(DecisionTreeRegressor(), X, [1.0, 1.0, 5.0, 9.0]).frames
    line = mark(panel(frames, "The fitted curve"), "line")
    assert line["x"][1:-1] == [0.5, 0.5, 1.5, 1.5, 3, 3]
    assert line["s"][0] == pytest.approx([4] * 8, abs=0.02)
    assert filled(line["s"])[-1][1:-1] == pytest.approx([1, 1, 1, 5, 5, 9], abs=0.02)


def test_the_target_and_the_objective_have_their_names():
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "size": [1.0, 2.0, 2.0, 4.0]})
    model = LinearRegression(solver="gd", max_iter=5, tol=0)
    for y in (table["size"], "size"):
        rows = table[["x"]] if not isinstance(y, str) else table
        shown = panel(pellucid.replay(model, rows, y).frames, "The fitted curve")
        assert shown["y"]["label"] == "size"
    shown = panel(pellucid.replay(SVC(), X2[TWO], Y[TWO]).frames, "Objective")
    assert shown["y"]["label"] == "dual objective"


def test_the_out_of_bag_error_of_a_regression_has_its_unit():
    watch = watched(RandomForestRegressor(8, random_state=0), X4[:, :3], X4[:, 3])
    frames = pellucid.replay(watch, X4[:, :3], X4[:, 3]).frames
    shown = panel(frames, "Out-of-bag error")
    assert shown["y"]["label"] == "unexplained share of the variance"
    errors = [step.numbers["oob_error"] for step in watch.steps]
    assert mark(shown, "trail")["y"] == pytest.approx(errors, rel=1e-4)
    assert "of the variance. The root mean squared error" in frames["sentences"][-1]


def test_chosen_columns_choose_the_coefficients():
    frames = pellucid.replay(
        LogisticRegression(solver="gd", max_iter=20), IRIS.X, Y,
        columns=["sepal width (cm)", "petal width (cm)"],
    ).frames  # fmt: skip
    shown = panel(frames, "Path over the loss")
    assert "sepal width" in shown["x"]["label"] and "petal width" in shown["y"]["label"]
    regions = panel(frames, "Predicted classes")
    assert regions["x"]["label"] == "sepal width (cm)"


def test_the_row_of_a_perceptron_update():
    X, y = X2[TWO], Y[TWO]
    watch = watched(Perceptron(shuffle=False, max_iter=5), X, y)
    dots = mark(panel(pellucid.replay(watch, X, y).frames, "Predicted classes"), "points")
    for step, on in zip(watch.steps, filled(dots["s"]["on"]["s"])):
        assert on == ([step.event["row"]] if step.event.get("row") is not None else [])
    assert any(filled(dots["s"]["on"]["s"]))


def test_posterior_ellipses():
    x, y = X4[:, [2]], X4[:, 3]
    watch = watched(BayesianRegression(), x, y)
    shown = panel(pellucid.replay(watch, x, y).frames, "Posterior of two coefficients")
    labels = [shown["x"]["label"], shown["y"]["label"]]
    order = [1 if label == "intercept" else 0 for label in labels]
    for i in some(len(watch.steps)):
        state = watch.steps[i].state
        ((cx, cy, a, b, d),) = filled(mark(shown, "ellipses")["s"])[i]
        mean = np.array([state["coef_"][0], state["intercept_"]])[order]
        assert [cx, cy] == pytest.approx(list(mean), rel=1e-3, abs=1e-8)
        factor = np.array([[a, 0], [b, d]])
        covariance = state["covariance_"][np.ix_(order, order)]
        assert np.allclose(factor @ factor.T, covariance, rtol=1e-3, atol=1e-12)


# Trees and ensembles ----------------------------------------------------------------------------


def test_the_tree_grows_as_recorded():
    penguins = load("penguins")
    watch = watched(DecisionTreeClassifier(max_depth=3), penguins.X, penguins.y)
    model = watch.model(-1)
    frames = pellucid.replay(watch, penguins.X, penguins.y).frames
    shown, rows = panel(frames, "The tree"), filled(panel(frames, "Rows of this node")["s"])
    parts = [codes(text) for text in filled(shown["s"])]
    for i, step in enumerate(watch.steps):
        nodes = step.state["tree_"]
        assert (parts[i] > 0).sum() == len(nodes.feature)
        assert (parts[i] == 2).sum() == (nodes.feature >= 0).sum()
    final = model.tree_
    for k, node in enumerate(shown["nodes"]):
        assert node["rows"] == f"n = {final.n_samples[k]}"
        assert node["says"] == model.classes_[final.value[k].argmax()]
        assert sum(node["share"]) == pytest.approx(1, abs=2e-3)
        if final.feature[k] >= 0:
            assert node["test"][0] == penguins.X.column_names[final.feature[k]]
    for i, step in enumerate(watch.steps[1:], 1):
        assert [row[1] for row in rows[i]] == [
            step.event["samples_left"],
            step.event["samples_right"],
        ]
        assert sum(rows[i][0][2:]) == rows[i][0][1]


def test_candidates_are_those_of_the_node():
    watch = watched(DecisionTreeClassifier(max_depth=2), X4, Y)
    table = filled(
        panel(pellucid.replay(watch, X4, Y).frames, "Candidate splits of this node")["s"]
    )
    assert table[0] == []
    for i, step in enumerate(watch.steps[1:], 1):
        expected = [(one["name"], one["gain"]) for one in step.event["candidates"]]
        assert [row[0] for row in table[i]] == [name for name, _ in expected]
        assert [row[2] for row in table[i]] == pytest.approx([g for _, g in expected], rel=1e-3)
    impurity = 1 - 3 * (1 / 3) ** 2  # Gini of three equal classes
    best = X4[:, 2] <= 2.45  # setosa
    after = sum(
        m.mean() * (1 - sum(np.mean(Y[m] == k) ** 2 for k in set(Y))) for m in (best, ~best)
    )
    assert max(row[2] for row in table[1]) == pytest.approx(impurity - after, rel=1e-3)


def test_pruning_is_shown():
    watch = watched(DecisionTreeClassifier(ccp_alpha=0.02), X4, Y)
    shown = panel(pellucid.replay(watch, X4, Y).frames, "The tree")
    sizes = [(codes(text) > 0).sum() for text in filled(shown["s"])]
    assert sizes == [len(s.state["tree_"].feature) for s in watch.steps]
    assert max(sizes) > sizes[-1], "branches disappear again"


def test_areas_of_rows_are_their_weights():
    watch = watched(AdaBoostClassifier(n_estimators=10), X2, Y)
    dots = mark(panel(pellucid.replay(watch, X2, Y).frames, "Predicted classes"), "points")
    largest = max(step.event["row_weights"].max() for step in watch.steps)
    for i in some(len(watch.steps)):
        weights = np.empty(len(Y))
        weights[watch.steps[i].event["rows"]] = watch.steps[i].event["row_weights"]
        found = codes(filled(dots["s"]["r"]["s"])[i])
        assert np.allclose(found, 75 * np.sqrt(weights / largest), atol=0.51)


def test_out_of_bag_errors():
    watch = watched(RandomForestClassifier(n_estimators=12, oob_score=True, random_state=0), X2, Y)
    shown = panel(pellucid.replay(watch, X2, Y).frames, "Error by round")
    names = [entry[0] for entry in shown["legend"]]
    assert names == ["training rows", "out-of-bag rows"]
    assert shown["marks"][1]["y"] == pytest.approx(
        [s.numbers["oob_error"] for s in watch.steps], rel=1e-4
    )


# Without a target -------------------------------------------------------------------------------


def test_clusters():
    watch = watched(KMeans(3, random_state=0, init="random"), X2)
    frames = pellucid.replay(watch, X2).frames
    shown, sizes = panel(frames, "Clusters"), panel(frames, "Rows by cluster")
    dots = mark(shown, "points")
    centre = shown["marks"][-1]
    for i, step in enumerate(watch.steps):
        centers = step.state["cluster_centers_"]
        nearest = ((X2[:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
        assert np.array_equal(codes(filled(dots["s"]["c"]["s"])[i]), nearest)
        assert filled(mark(sizes, "bars")["s"])[i] == np.bincount(nearest, minlength=3).tolist()
        assert np.allclose(filled(centre["s"]["x"]["s"])[i], centers[:, 0], atol=1e-3)
        assert np.allclose(filled(centre["s"]["y"]["s"])[i], centers[:, 1], atol=1e-3)


def covariance(kind, stored, k):
    if kind == "tied":
        return stored
    return {
        "full": stored[k],
        "diag": np.diag(np.atleast_1d(stored[k])),
        "spherical": stored[k] * np.eye(2),
    }[kind]


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_components(kind):
    watch = watched(GaussianMixture(2, covariance_type=kind, random_state=0), X2)
    frames = pellucid.replay(watch, X2).frames
    shown = panel(frames, "Components")
    for i in some(len(watch.steps)):
        state = watch.steps[i].state
        labels = codes(filled(mark(shown, "points")["s"]["c"]["s"])[i])
        assert np.array_equal(labels, watch.model(i).predict(X2))
        for k, (cx, cy, a, b, d) in enumerate(filled(mark(shown, "ellipses")["s"])[i]):
            assert [cx, cy] == pytest.approx(list(state["means_"][k]), rel=1e-4)
            stored = np.asarray(state["covariances_"])
            expected = covariance(kind, stored, k)
            factor = np.array([[a, 0], [b, d]])
            assert np.allclose(factor @ factor.T, expected, rtol=1e-3, atol=1e-9)
        bars = filled(mark(panel(frames, "Weights"), "bars")["s"])[i]
        assert bars == pytest.approx(list(state["weights_"]), rel=1e-4)


def test_points_of_an_embedding():
    watch = watched(TSNE(random_state=0, max_iter=250), X4[::3])
    frames = pellucid.replay(watch, X4[::3], Y[::3]).frames
    dots = mark(panel(frames, "Embedding"), "points")
    for i in some(len(watch.steps)):
        points = watch.steps[i].state["embedding_"]
        reach = np.ptp(watch.steps[-1].state["embedding_"], axis=0).max()
        assert np.allclose(filled(dots["s"]["x"]["s"])[i], points[:, 0], atol=reach / 500)
        assert np.allclose(filled(dots["s"]["y"]["s"])[i], points[:, 1], atol=reach / 500)


def test_weights_of_layers():
    model = MLPClassifier(hidden_layer_sizes=(4, 3), max_iter=10, random_state=0)
    watch = watched(model, X4, Y)
    shown = panel(pellucid.replay(watch, X4, Y).frames, "Weights by layer")
    assert [(layer["rows"], layer["cols"]) for layer in shown["layers"]] == [(4, 4), (4, 3), (3, 3)]
    for k, layer in enumerate(shown["layers"]):
        for i in some(len(watch.steps)):
            found = (codes(filled(layer["s"])[i]) - 40) / 40 * shown["largest"]
            weights = np.ravel(watch.steps[i].state["coefs_"][k])
            assert np.allclose(found, weights, atol=shown["largest"] / 79)


def test_a_sentence_says_that_errors_are_those_of_a_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))
    found = pellucid.replay(LogisticRegression(solver="newton"), X, X[:, 0] > 0.3)
    assert " of 2000 sampled training rows are misclassified." in found.frames["sentences"][0]
    found = pellucid.replay(Ridge(solver="gd", max_iter=2), X, X[:, 0])
    assert "error on 2000 sampled training rows is " in found.frames["sentences"][0]
