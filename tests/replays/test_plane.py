"""Planes: coordinates and rows belong together, and the directions are those of the textbooks."""

import numpy as np
import pytest

import pellucid
from pellucid.data.datasets import load
from pellucid.data.intake import raw_table
from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
from pellucid.linear_model import LogisticRegression
from pellucid.replays.plane import discriminants, find_plane, principal
from pellucid.replays.recording import Recording
from pellucid.tree import DecisionTreeClassifier

IRIS, PENGUINS = load("iris"), load("penguins")
X = np.column_stack([IRIS.X.column(name).to_numpy() for name in IRIS.features])
Z = (X - X.mean(axis=0)) / X.std(axis=0)
CODES = np.unique(IRIS.y, return_inverse=True)[1]


def recording(model, X, y, columns=()):
    with pellucid.watching() as watch:
        model.fit(X, y)
    return Recording(watch.fits[0], watch.steps, raw_table(X), y, columns, None)


def test_two_columns_with_the_others_at_typical_values():
    made = recording(LogisticRegression(), PENGUINS.X, PENGUINS.y, (1, 4))
    plane = find_plane(made)
    table, z = plane.grid()
    columns = table.as_columns()
    assert np.array_equal(columns[1].values, z[:, 0]) and np.array_equal(columns[4].values, z[:, 1])
    depth = PENGUINS.X.column("bill_depth_mm").to_numpy()
    assert (columns[2].values == np.nanmedian(depth)).all()
    island = PENGUINS.X.column("island").to_pylist()
    assert set(columns[0].cells()) == {max(set(island), key=island.count)}
    assert plane.labels == ("bill_length_mm", "body_mass_g")
    assert plane.note(regions=True) == (
        "The other 5 columns have their median or most frequent value in the regions. "
        "2 rows with a missing value in these columns are not drawn."
    )


def test_the_most_important_columns_of_a_tree():
    made = recording(DecisionTreeClassifier(max_depth=3), X, IRIS.y)
    order = np.argsort(-made.final.feature_importances_)
    assert find_plane(made).columns == tuple(order[:2])


@pytest.mark.parametrize("classes", [3, 2])
def test_directions_and_their_lift_belong_together(classes):
    keep = np.isin(CODES, range(classes))
    directions, lift = discriminants(Z[keep], CODES[keep])
    assert np.allclose(directions.T @ lift, np.eye(2), atol=1e-8)
    made = recording(LogisticRegression(), X[keep], IRIS.y[keep])
    plane = find_plane(made)
    table, z = plane.grid()
    spread = X[keep].std(axis=0)
    own, _ = discriminants((X[keep] - X[keep].mean(axis=0)) / spread, CODES[keep])
    assert np.allclose((table.dense - X[keep].mean(axis=0)) / spread @ own, z, atol=1e-8)
    assert np.allclose((X[keep] - X[keep].mean(axis=0)) / spread @ own, plane.points)


def test_discriminants_separate_like_lda():
    directions, _ = discriminants(Z, CODES)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(Z, CODES).transform(Z)
    ours = Z @ directions
    for k in (0, 1):
        assert abs(np.corrcoef(ours[:, k], theirs[:, k])[0, 1]) > 0.9999


def test_principal_directions_have_the_largest_variance():
    directions = principal(Z)
    values = np.linalg.eigvalsh(Z.T @ Z / len(Z))[::-1]
    assert np.allclose((Z @ directions).var(axis=0), values[:2])
    assert np.allclose(directions.T @ directions, np.eye(2))


def test_many_rows_are_thinned():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    plane = find_plane(recording(LogisticRegression(), X, np.arange(2000) % 2))
    assert len(plane.points) == 600 and plane.note() == "600 of 2000 rows are drawn."
    assert np.array_equal(plane.points, X[plane.drawn])
