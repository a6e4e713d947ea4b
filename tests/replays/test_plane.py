"""The plane of a replay: that of `pellucid.plot`, the columns it chooses, and the rows it draws."""

import numpy as np

import pellucid
from pellucid.data.datasets import load
from pellucid.linear_model import LogisticRegression
from pellucid.plot.models.plane import plane, source
from pellucid.replays.recording import Recording
from pellucid.replays.row_plane import find_plane
from pellucid.tree import DecisionTreeClassifier

IRIS, PENGUINS = load("iris"), load("penguins")
X = np.column_stack([IRIS.X.column(name).to_numpy() for name in IRIS.features])
CODES = np.unique(IRIS.y, return_inverse=True)[1]


def recording(model, X, y, columns=()):
    with pellucid.watching() as watch:
        model.fit(X, y)
    return Recording(watch.fits[0], watch.steps, source(X, "test"), y, columns, None)


def centres(limits, n=44):
    low, high = limits
    return low + (np.arange(n) + 0.5) * (high - low) / n


def test_two_columns_with_the_others_at_typical_values():
    found = find_plane(recording(LogisticRegression(), PENGUINS.X, PENGUINS.y, (1, 4)))
    columns = found.grid().as_columns()
    assert np.array_equal(columns[1].values, np.tile(centres(found.limits[0]), 44))
    assert np.array_equal(columns[4].values, np.repeat(centres(found.limits[1])[::-1], 44))
    island = PENGUINS.X.column("island").to_pylist()
    assert set(columns[0].cells()) == {max(set(island), key=island.count)}
    assert [axis["label"] for axis in found.axes] == ["bill_length_mm", "body_mass_g"]
    assert found.note("Before.") == (
        "Before. Other columns: at their median or most frequent value (island Biscoe, "
        "bill_depth_mm 17.3, flipper_length_mm 197, sex male, ...). "
        "2 rows with a missing value in these columns are not drawn."
    )


def test_the_most_important_columns_of_a_tree():
    made = recording(DecisionTreeClassifier(max_depth=3), X, IRIS.y)
    order = np.argsort(-made.final.feature_importances_)
    assert find_plane(made).plane.columns == tuple(order[:2])


def test_other_models_have_the_plane_of_plot():
    found = find_plane(recording(LogisticRegression(), X, IRIS.y))
    expected = plane(source(X, "test"), None, CODES)
    assert np.array_equal(found.points, expected.points)
    assert found.plane.labels == ("discriminant direction 1", "discriminant direction 2")
    rows = found.grid().dense
    Z = (rows - X.mean(axis=0)) / X.std(axis=0)
    x = np.tile(centres(found.limits[0]), 44)
    assert np.allclose((Z @ expected.basis)[:, 0], x), "the rows of the grid lie in the plane"


def test_constant_columns_are_no_axes():
    table = np.column_stack([np.ones(150), X])
    found = find_plane(recording(LogisticRegression(), table, IRIS.y))
    assert 0 not in found.plane.columns


def test_one_numeric_column_makes_no_plane():
    assert find_plane(recording(LogisticRegression(), X[:, :1], IRIS.y)) is None
    assert find_plane(recording(LogisticRegression(), X, IRIS.y, (2,))) is None


def test_many_rows_are_thinned():
    table = np.random.default_rng(0).normal(size=(2000, 2))
    found = find_plane(recording(LogisticRegression(), table, np.arange(2000) % 2))
    assert len(found.points) == 600 and found.note() == "600 of 2000 rows are drawn."
    assert np.array_equal(found.points, table[found.drawn])
