"""Cells, ellipses, silhouettes, margins, components and scatters against independent computations."""

import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import cKDTree
from sklearn.cluster import KMeans as TheirKMeans
from sklearn.decomposition import PCA as TheirPCA
from sklearn.metrics import silhouette_samples
from sklearn.mixture import GaussianMixture as TheirMixture
from sklearn.svm import SVC as TheirSVC

from pellucid import plot
from pellucid.cluster import KMeans
from pellucid.data.datasets import load
from pellucid.decomposition import PCA
from pellucid.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from pellucid.draw.label_text import width
from pellucid.errors import DataError, NotFittedError, ParameterError
from pellucid.manifold import TSNE
from pellucid.mixture import GaussianMixture
from pellucid.naive_bayes import GaussianNB
from pellucid.neighbors import KNeighborsClassifier, KNeighborsRegressor
from pellucid.plot.models.model_marks import Rings, Shapes
from pellucid.plot.picture import Points, Segments, Text
from pellucid.svm import SVC, LinearSVC
from tests.plot.reading import parsed, texts

IRIS, MOONS, TIPS = load("iris"), load("moons"), load("tips")
MATRIX = np.column_stack([IRIS.X.column(n).to_numpy() for n in IRIS.features])
PLANE = np.column_stack([MOONS.X.column(n).to_numpy() for n in MOONS.features])


def _marks(display, kind):
    return [m for panel in display.picture().panels for m in panel.marks if isinstance(m, kind)]


def _corners(mark):
    points = np.column_stack([mark.x, mark.y])
    parts = np.split(points, np.flatnonzero(np.isnan(points[:, 0])))
    return [part[~np.isnan(part[:, 0])] for part in parts]


def _inside(point, polygon):
    edges = np.roll(polygon, -1, axis=0) - polygon
    side = edges[:, 0] * (point[1] - polygon[:, 1]) - edges[:, 1] * (point[0] - polygon[:, 0])
    return (side > -1e-9).all()


@pytest.mark.parametrize("standardize", [False, True])
def test_cells_of_one_neighbour_have_the_class_of_the_model(standardize):
    X = PLANE * [1.0, 50.0]
    model = KNeighborsClassifier(1, standardize=standardize).fit(X, MOONS.y)
    display = plot.cells(model, X, MOONS.y)
    shapes = _marks(display, Shapes)
    rng = np.random.default_rng(0)
    low, high = X.min(axis=0), X.max(axis=0)
    probes = rng.uniform(low, high, size=(200, 2))
    for probe, label in zip(probes, model.predict(probes)):
        found = {
            model.classes_[s.index] for s in shapes if any(_inside(probe, c) for c in _corners(s))
        }
        assert label in found
    frame = display.frame()
    assert len(frame["row"]) == len(np.unique(X, axis=0))
    panel = display.picture().panels[0]
    area = (panel.x.high - panel.x.low) * (panel.y.high - panel.y.low)
    assert sum(frame["area"]) == pytest.approx(area)
    assert frame["class"] == MOONS.y[frame["row"]].tolist()


def test_cells_of_centres():
    X = MATRIX[:, 2:]
    model = KMeans(4, random_state=0).fit(X)
    display = plot.cells(model, X)
    frame = display.frame("pandas")
    np.testing.assert_array_equal(frame[["x0", "x1"]], model.cluster_centers_)
    assert frame["rows"].tolist() == np.bincount(model.labels_).tolist()
    probes = np.random.default_rng(1).uniform(X.min(axis=0), X.max(axis=0), size=(200, 2))
    nearest = cKDTree(model.cluster_centers_).query(probes)[1]
    cells = {s.index: _corners(s)[0] for s in _marks(display, Shapes)}
    assert all(_inside(probe, cells[k]) for probe, k in zip(probes, nearest))
    theirs = plot.cells(TheirKMeans(3, n_init=1, random_state=0).fit(X), X)
    assert len(theirs.frame()["cluster"]) == 3


def test_wrong_cells():
    with pytest.raises(ParameterError, match=r"Got KNeighborsClassifier\(n_neighbors=5\)"):
        plot.cells(KNeighborsClassifier().fit(PLANE, MOONS.y), PLANE, MOONS.y)
    with pytest.raises(ParameterError, match="Euclidean distances"):
        plot.cells(KNeighborsClassifier(1, metric="manhattan").fit(PLANE, MOONS.y), PLANE, MOONS.y)
    with pytest.raises(DataError, match="two columns of numbers, but this one has 4"):
        plot.cells(KNeighborsClassifier(1).fit(MATRIX, IRIS.y), MATRIX, IRIS.y)
    with pytest.raises(ParameterError, match="needs y"):
        plot.cells(KNeighborsClassifier(1).fit(PLANE, MOONS.y), PLANE)
    with pytest.raises(ParameterError, match="predicts numbers"):
        plot.cells(KNeighborsRegressor(1).fit(PLANE, PLANE[:, 0]), PLANE, PLANE[:, 0])
    with pytest.raises(ParameterError, match="needs KMeans"):
        plot.cells(GaussianNB().fit(PLANE, MOONS.y), PLANE, MOONS.y)
    many = np.random.default_rng(0).normal(size=(1200, 2))
    with pytest.raises(DataError, match="at most 1000 cells, but X has 1200 rows"):
        plot.cells(KNeighborsClassifier(1).fit(many, many[:, 0] > 0), many, many[:, 0] > 0)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("theirs", [False, True])
def test_ellipses_are_eigen_decompositions(kind, theirs):
    make = TheirMixture if theirs else GaussianMixture
    model = make(3, covariance_type=kind, random_state=0).fit(MATRIX)
    frame = plot.ellipses(model, MATRIX, columns=[0, 2]).frame()
    S = np.asarray(model.covariances_)
    for k in range(3):
        if kind == "tied":
            full = S
        else:
            full = S[k] if kind == "full" else np.eye(4) * S[k]
        expected = np.sqrt(np.linalg.eigvalsh(full[np.ix_([0, 2], [0, 2])]))
        np.testing.assert_allclose([frame["minor"][k], frame["major"][k]], expected)
    np.testing.assert_allclose(frame["weight"], model.weights_)
    np.testing.assert_allclose(frame["mean of x2"], model.means_[:, 2])


def test_ellipses_on_directions_are_those_of_projected_draws():
    model = GaussianMixture(1).fit(MATRIX)
    frame = plot.ellipses(model, MATRIX).frame()
    Z = (MATRIX - MATRIX.mean(axis=0)) / MATRIX.std(axis=0)
    scores = TheirPCA(2).fit_transform(Z)
    spread = np.sqrt(np.linalg.eigvalsh(np.cov(scores.T, bias=True)))
    np.testing.assert_allclose([frame["minor"][0], frame["major"][0]], spread, rtol=1e-4)


def test_ellipses_of_classifiers():
    X = MATRIX[:, :2]
    own = [X[c == IRIS.y] for c in np.unique(IRIS.y)]
    found = plot.ellipses(QuadraticDiscriminantAnalysis().fit(X, IRIS.y), X, IRIS.y).frame()
    for k, rows in enumerate(own):
        expected = np.sqrt(np.linalg.eigvalsh(np.cov(rows.T, bias=True)))
        np.testing.assert_allclose([found["minor"][k], found["major"][k]], expected, rtol=1e-6)
    naive = plot.ellipses(GaussianNB().fit(X, IRIS.y), X, IRIS.y).frame()
    np.testing.assert_allclose(naive["major"], [rows.std(axis=0).max() for rows in own], rtol=1e-6)
    linear = LinearDiscriminantAnalysis(store_covariance=True).fit(X, IRIS.y)
    shared = plot.ellipses(linear, X, IRIS.y).frame()
    assert len(set(np.round(shared["major"], 12))) == 1
    with pytest.raises(ParameterError, match=r"with store_covariance=True. Got LinearDiscr"):
        plot.ellipses(LinearDiscriminantAnalysis().fit(X, IRIS.y), X)
    with pytest.raises(ParameterError, match="needs a model with means and covariances"):
        plot.ellipses(SVC().fit(X, IRIS.y), X)
    with pytest.raises(DataError, match="one for each of the 2 dimensions"):
        plot.ellipses(GaussianNB().fit(X, IRIS.y), np.column_stack([X, X]), IRIS.y)


def test_silhouettes():
    model = KMeans(3, random_state=0).fit(MATRIX)
    frame = plot.silhouette(model, MATRIX).frame()
    np.testing.assert_allclose(frame["silhouette"], silhouette_samples(MATRIX, model.labels_))
    shapes = _marks(plot.silhouette(model, MATRIX), Shapes)
    for k, mark in enumerate(shapes):
        own = np.sort(np.array(frame["silhouette"])[model.labels_ == k])[::-1]
        np.testing.assert_allclose(mark.x[1:-1:2], own)
    named = plot.SilhouetteDisplay.from_labels(MATRIX, IRIS.y).frame()
    np.testing.assert_allclose(named["silhouette"], silhouette_samples(MATRIX, IRIS.y))
    with pytest.raises(DataError, match="from 2 clusters"):
        plot.SilhouetteDisplay.from_labels(MATRIX, np.zeros(150))
    with pytest.raises(DataError, match="column 'x0' holds categories"):
        plot.SilhouetteDisplay.from_labels([["a", 1.0], ["b", 2.0], ["c", 3.0]], [0, 1, 1])
    with pytest.raises(DataError, match="without missing values"):
        plot.SilhouetteDisplay.from_labels([[np.nan], [1.0], [2.0]], [0, 1, 1])


@pytest.mark.parametrize("make", [SVC, TheirSVC])
def test_support_vectors_and_margin(make):
    model = make(kernel="linear").fit(PLANE, MOONS.y)
    display = plot.margin(model, PLANE, MOONS.y, resolution=60)
    frame = display.frame("pandas")
    np.testing.assert_array_equal(np.flatnonzero(frame["support vector"]), np.sort(model.support_))
    np.testing.assert_allclose(frame["decision value"], model.decision_function(PLANE))
    lines = [m for m in display.picture().panels[0].marks if type(m).__name__ == "Outline"]
    assert [m.name for m in lines] == ["boundary", "margin", "margin"]
    for mark, level in zip(lines, (0, -1, 1)):
        places = np.column_stack([mark.x, mark.y])
        places = places[~np.isnan(places[:, 0])]
        np.testing.assert_allclose(model.decision_function(places), level, atol=1e-9)
    rings = _marks(display, Rings)[0]
    np.testing.assert_array_equal(
        np.column_stack([rings.x, rings.y]), PLANE[frame["support vector"]]
    )


def test_support_vectors_of_a_linear_model():
    model = LinearSVC().fit(PLANE, MOONS.y)
    frame = plot.margin(model, PLANE, MOONS.y, resolution=5).frame()
    signed = model.decision_function(PLANE) * np.where(MOONS.y == model.classes_[1], 1, -1)
    np.testing.assert_array_equal(frame["support vector"], signed <= 1 + 1e-6)
    three = plot.margin(SVC().fit(MATRIX, IRIS.y), MATRIX, IRIS.y, resolution=5)
    assert "decision value of setosa" in three.frame()
    with pytest.raises(ParameterError, match="needs a classifier with decision_function"):
        plot.margin(KNeighborsClassifier().fit(PLANE, MOONS.y), PLANE, MOONS.y)
    with pytest.raises(DataError, match="needs the training rows"):
        plot.margin(SVC().fit(PLANE, MOONS.y), PLANE[:3], MOONS.y[:3])


def test_silhouettes_of_a_mixed_table_have_the_distances_of_the_model():
    X = TIPS.X.select(["total_bill", "day", "smoker"])
    model = KMeans(3, random_state=0).fit(X)
    levels = [np.array(X.column(name).to_pylist()) for name in ("day", "smoker")]
    dummies = [column == level for column in levels for level in np.unique(column)]
    rows = np.column_stack([X.column("total_bill").to_numpy(), *dummies]).astype(float)
    frame = plot.silhouette(model, X).frame()
    np.testing.assert_allclose(frame["silhouette"], silhouette_samples(rows, model.labels_))
    with pytest.raises(DataError, match="needs columns of numbers without missing values"):
        plot.ellipses(GaussianMixture(2, random_state=0).fit(X), X)


def test_names_of_a_biplot_never_cover_each_other():
    """Columns on small scales have arrows of no length, so their names had one place."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 9)) * [1000, 300, 1, 1, 1, 1, 1, 1, 1]
    X = pd.DataFrame(X, columns=[f"a long name of column {j}" for j in range(9)])
    display = plot.biplot(PCA().fit(X), X)
    names = _marks(display, Text)[0]
    panel = display.picture().panels[0]
    assert {"a long name of column 0", "a long name of column 1"} <= set(names.texts)
    assert f"{9 - len(names.texts)} without a name for lack of room." in panel.note
    x = (np.array(names.x) - panel.x.low) / (panel.x.high - panel.x.low) * 430
    y = (np.array(names.y) - panel.y.low) / (panel.y.high - panel.y.low) * 340
    for i, j in itertools.combinations(range(len(x)), 2):
        assert abs(x[i] - x[j]) > 130 or abs(y[i] - y[j]) > 14
    with pytest.raises(ParameterError, match=r"needs a PCA with two components. This one has 1"):
        plot.biplot(PCA().fit(X.iloc[:, :1]), X.iloc[:, :1])


def test_biplot_and_scree():
    model, theirs = PCA().fit(MATRIX), TheirPCA().fit(MATRIX)
    display = plot.biplot(model, MATRIX, IRIS.y)
    frame = display.frame("pandas")
    scores = frame[frame["kind"] == "row"][["component 1", "component 2"]].to_numpy()
    np.testing.assert_allclose(np.abs(scores), np.abs(theirs.transform(MATRIX)[:, :2]), atol=1e-9)
    loadings = frame[frame["kind"] == "column"][["component 1", "component 2"]].to_numpy()
    expected = theirs.components_[:2].T * np.sqrt(theirs.explained_variance_[:2])
    np.testing.assert_allclose(np.abs(loadings), np.abs(expected), atol=1e-9)
    # A loading is the covariance of a column with the standardized score.
    standard = scores / scores.std(axis=0, ddof=1)
    np.testing.assert_allclose(
        loadings, (MATRIX - MATRIX.mean(axis=0)).T @ standard / 149, atol=1e-9
    )
    arrows = _marks(display, Segments)[0]
    ends = np.column_stack([arrows.x2, arrows.y2])
    order = np.argsort(-np.square(loadings).sum(axis=1))
    ratios = ends / loadings[order]
    np.testing.assert_allclose(ratios, ratios[0, 0])
    shares = plot.scree(model).frame()
    np.testing.assert_allclose(shares["share"], theirs.explained_variance_ratio_)
    np.testing.assert_allclose(shares["cumulative"], np.cumsum(theirs.explained_variance_ratio_))
    with pytest.raises(ParameterError, match="two different numbers from 1 to 4"):
        plot.biplot(model, MATRIX, components=(1, 5))
    with pytest.raises(ParameterError, match=r"needs a fitted PCA. Got KMeans"):
        plot.scree(KMeans(2).fit(MATRIX))
    with pytest.raises(NotFittedError):
        plot.scree(PCA())


def test_embeddings():
    model = TSNE(random_state=0, max_iter=500).fit(MATRIX[::3])
    frame = plot.embedding(model, y=IRIS.y[::3]).frame("pandas")
    np.testing.assert_array_equal(frame[["dimension 1", "dimension 2"]], model.embedding_)
    assert frame["y"].tolist() == IRIS.y[::3].tolist()
    by_name = plot.embedding(PCA(2).fit(IRIS.X), IRIS.table, "species")
    np.testing.assert_allclose(
        by_name.frame()["dimension 1"], PCA(2).fit(MATRIX).transform(MATRIX)[:, 0]
    )
    many = plot.EmbeddingDisplay.from_points(MATRIX[:, :2], np.arange(150) % 30)
    assert len(_marks(many, Points)) == 30
    numbers = plot.EmbeddingDisplay.from_points(MATRIX[:, :2], MATRIX[:, 2])
    np.testing.assert_array_equal(_marks(numbers, Points)[0].values, MATRIX[:, 2])
    with pytest.raises(ParameterError, match="needs X for PCA"):
        plot.embedding(PCA(2).fit(MATRIX))
    with pytest.raises(DataError, match=r"needs two dimensions. Got shape \(150, 1\)"):
        plot.embedding(PCA(1).fit(MATRIX), MATRIX)
    with pytest.raises(ParameterError, match="embedding_ or transform"):
        plot.embedding(SVC().fit(MATRIX, IRIS.y), MATRIX)


def test_scatters():
    display = plot.scatter(IRIS.table, "species", columns=[0, 3])
    np.testing.assert_array_equal(
        np.column_stack([display.frame()[IRIS.features[j]] for j in (0, 3)]), MATRIX[:, [0, 3]]
    )
    assert [m.name for m in _marks(display, Points)] == ["setosa", "versicolor", "virginica"]
    pairs = plot.pairs(IRIS.X, IRIS.y)
    panels = pairs.picture().panels
    points = panels[1].marks[0]
    np.testing.assert_array_equal(np.column_stack([points.x, points.y]), MATRIX[:50][:, [1, 0]])
    steps = panels[5].marks[1]
    counts, edges = np.histogram(MATRIX[50:100, 1], np.histogram_bin_edges(MATRIX[:, 1], 16))
    np.testing.assert_allclose(steps.edges, edges)
    np.testing.assert_array_equal(steps.heights, counts)
    assert [key.shape for key in pairs._keys] == ["marked line"] * 3
    numbers = plot.pairs(IRIS.X.select([0, 1]), pd.Series(MATRIX[:, 3], name="width"))
    assert texts(parsed(numbers)).count("width: 0.1 to 2.5") == 1
    assert not [text for text in texts(parsed(numbers)) if text == "0.1 to 2.5"]
    wide = np.random.default_rng(0).normal(size=(9, 8))
    several = plot.pairs(wide)
    assert list(several.frame()) == [f"x{j}" for j in range(6)]
    assert several.picture().title == "The first 6 of 8 columns of numbers"
    assert len(plot.pairs(wide, columns=range(8)).picture().panels) == 64
    with pytest.raises(DataError, match="at least two"):
        plot.pairs(np.ones((3, 1)))
    with pytest.raises(ParameterError, match="at most 12 different columns"):
        plot.pairs(MATRIX, columns=[0, 0])


def test_three_columns():
    display = plot.scatter3d(IRIS.X, IRIS.y, columns=[0, 1, 2], azimuth=0, elevation=0)
    np.testing.assert_array_equal(display.frame()[IRIS.features[1]], MATRIX[:, 1])
    # Seen along the first column: the second to the right, the third upwards.
    shown = _marks(display, Points)[0]
    rows = MATRIX[:50]
    low, high = MATRIX.min(axis=0), MATRIX.max(axis=0)
    for values, j in ((shown.x, 1), (shown.y, 2)):
        expected = (rows[:, j] - low[j]) / (high[j] - low[j]) - 0.5
        np.testing.assert_allclose(np.sort(values), np.sort(expected), atol=1e-12)
    directions = plot.scatter3d(MATRIX).frame()
    Z = (MATRIX - MATRIX.mean(axis=0)) / MATRIX.std(axis=0)
    expected = TheirPCA(3).fit_transform(Z)
    for k, own in enumerate(expected.T, 1):
        np.testing.assert_allclose(np.abs(directions[f"principal direction {k}"]), np.abs(own))
    assert list(plot.scatter3d(IRIS.X, IRIS.y).frame())[:3] == [
        "discriminant direction 1", "discriminant direction 2", "principal direction 1",
    ]  # fmt: skip
    with pytest.raises(DataError, match=r"needs three columns of numbers. Got 2"):
        plot.scatter3d(MATRIX[:, :2])


def test_names_of_three_axes_stay_inside_and_their_ends_apart():
    names = [f"a very long name of column {j}" for j in "abc"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=names)
    root = ET.fromstring(plot.scatter3d(X).svg())
    right, spans = float(root.get("viewBox").split()[2]), []
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        shown = text.text or text[0].tail  # a cut name has its title first
        wide = width(shown) * float(text.get("font-size", 12)) * 1.05
        start = {"end": wide, "middle": wide / 2}.get(text.get("text-anchor"), 0.0)
        left = float(text.get("x")) - start
        assert left > 0 and left + wide < right, shown
        spans.append((left, left + wide, float(text.get("y"))))
    assert len(spans) >= 9
    for a, b in itertools.combinations(spans, 2):
        assert abs(a[2] - b[2]) > 8 or a[0] > b[1] or b[0] > a[1]
