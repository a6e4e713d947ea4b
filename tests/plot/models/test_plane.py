"""Planes, contours, cells and ellipses against independent computations."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.spatial import cKDTree
from sklearn.decomposition import PCA as TheirPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as TheirLDA
from sklearn.metrics import silhouette_samples

from pellucid.errors import DataError, DataTypeError, ParameterError
from pellucid.plot.models.contours import contour_lines
from pellucid.plot.models.geometry import View, ellipse, silhouettes
from pellucid.plot.models.plane import completed, discriminant_directions, plane, source
from pellucid.plot.models.voronoi import nearest_cells

FRAME = pd.DataFrame(
    {
        "a": [3.0, 1.0, 2.0, 4.0],
        "colour": ["red", "blue", "blue", None],
        "b": [10, 30, 20, 40],
        "when": pd.to_datetime(["2024-01-01", "2024-01-03", "2024-01-02", "2024-01-09"]),
    }
)


def _angle(first, second):
    """The largest principal angle between two subspaces."""
    s = np.linalg.svd(np.linalg.qr(first)[0].T @ np.linalg.qr(second)[0])[1]
    return float(np.arccos(np.clip(s.min(), -1, 1)))


@pytest.mark.parametrize("make", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"])
def test_other_columns_are_at_their_median_or_mode(make):
    table = source(make(FRAME), "test")
    made = table.rows(3, {0: np.array([7.0, 8.0, 9.0])})
    assert type(made) is type(make(FRAME))
    assert list(made.columns) == list(FRAME.columns)
    assert list(made["a"]) == [7.0, 8.0, 9.0]
    assert set(made["colour"]) == {"blue"}
    assert set(made["b"]) == {20}
    assert {str(v)[:10] for v in made["when"]} == {"2024-01-02"}


def test_arrays_stay_arrays():
    X = np.array([[1.0, np.nan, 3.0], [5.0, 2.0, 4.0], [2.0, 9.0, 8.0]])
    made = source(X, "test").rows(2, {2: np.array([0.0, 1.0])})
    np.testing.assert_array_equal(made, [[2, 2, 0], [2, 2, 1]])
    mixed = source([["u", 1.0], ["v", 2.0], ["v", 5.0]], "test").rows(1, {})
    assert mixed.tolist() == [["v", 2.0]]


def test_frames_with_numbers_as_names():
    made = source(pd.DataFrame({0: [1.0, 2.0], 5: [3.0, 4.0]}), "test").rows(2, {1: np.ones(2)})
    assert list(made.columns) == [0, 5]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_discriminant_directions_are_those_of_lda(k):
    rng = np.random.default_rng(k)
    codes = np.repeat(np.arange(k), 40)
    Z = (
        rng.normal(size=(len(codes), 5)) @ rng.normal(size=(5, 5))
        + rng.normal(size=(k, 5))[codes] * 3
    )
    found = discriminant_directions(Z, codes)
    theirs = TheirLDA(solver="eigen").fit(Z, codes).scalings_[:, : min(2, k - 1)]
    assert _angle(found, theirs) < 1e-6
    both = completed(found, Z)
    np.testing.assert_allclose(both.T @ both, np.eye(2), atol=1e-12)


def test_principal_directions_without_classes():
    X = np.random.default_rng(0).normal(size=(50, 4)) * [1, 2, 3, 4]
    found = plane(source(X, "test"))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert _angle(found.basis, TheirPCA(2).fit(Z).components_.T) < 1e-6
    assert found.labels == ("principal direction 1", "principal direction 2")
    back = found.table(*found.points[:5].T)
    projected = Z[:5] @ found.basis @ found.basis.T * X.std(axis=0) + X.mean(axis=0)
    np.testing.assert_allclose(back, projected, atol=1e-9)


def test_two_columns_of_a_wide_table():
    found = plane(source(FRAME, "test"), ["b", "a"])
    np.testing.assert_array_equal(found.points, FRAME[["b", "a"]])
    assert "median or most frequent" in found.note
    dated = plane(source(FRAME, "test"), ["when", "a"])
    assert dated.dates == {"x_dates": True, "y_dates": False}


def test_wrong_tables():
    from scipy.sparse import csr_array

    with pytest.raises(DataTypeError, match="dense table"):
        source(csr_array(np.eye(3)), "plot.regions")
    with pytest.raises(DataError, match="column 'colour' holds categories"):
        plane(source(FRAME, "plot.regions"), ["colour", "a"])
    with pytest.raises(ParameterError, match=r"no column 'z'. Its columns are 'a'"):
        plane(source(FRAME, "plot.regions"), ["z", "a"])
    with pytest.raises(ParameterError, match="must name two columns"):
        plane(source(FRAME, "plot.regions"), ["a"])
    with pytest.raises(ParameterError, match="'a' twice"):
        plane(source(FRAME, "plot.regions"), ["a", "a"])
    with pytest.raises(DataError, match=r"only 'x0'. Use plot.fit for one column"):
        plane(source([[1.0], [2.0]], "plot.regions"))
    with pytest.raises(DataError, match="the table has none"):
        plane(source([["a"], ["b"]], "plot.regions"))


def test_contours_of_a_plane_and_a_circle():
    x, y = np.linspace(-2, 2, 41), np.linspace(-3, 3, 61)
    tilted = 2 * x[None, :] + y[:, None]
    for line in contour_lines(x, y, tilted, 0.3):
        np.testing.assert_allclose(2 * line[:, 0] + line[:, 1], 0.3, atol=1e-12)
    ring = contour_lines(x, y, x[None, :] ** 2 + y[:, None] ** 2, 1.0)
    assert len(ring) == 1
    np.testing.assert_array_equal(ring[0][0], ring[0][-1])
    np.testing.assert_allclose(np.hypot(*ring[0].T), 1.0, atol=2e-3)
    assert contour_lines(x, y, tilted, 99.0) == []


def test_contours_equal_matplotlib():
    import contourpy

    rng = np.random.default_rng(0)
    x, y = np.arange(12.0), np.arange(9.0)
    z = rng.normal(size=(9, 12))
    theirs = contourpy.contour_generator(x, y, z).lines(0.2)
    ours = contour_lines(x, y, z, 0.2)
    # Saddles may be joined in two ways; the crossings of the edges are the same.
    assert {tuple(p) for line in ours for p in line.round(9)} == {
        tuple(p) for line in theirs for p in line.round(9)
    }


def test_contours_break_at_missing_values():
    x = np.arange(5.0)
    z = np.add.outer(x, x)
    z[2, 2] = np.nan
    lines = contour_lines(x, x, z, 3.5)
    assert np.isfinite(np.vstack(lines)).all()


def _inside(point, polygon):
    edges = np.roll(polygon, -1, axis=0) - polygon
    side = edges[:, 0] * (point[1] - polygon[:, 1]) - edges[:, 1] * (point[0] - polygon[:, 0])
    return (side > -1e-9).all()


@pytest.mark.parametrize("scale", [(1.0, 1.0), (0.1, 30.0)])
def test_cells_are_those_of_brute_force(scale):
    rng = np.random.default_rng(1)
    points = rng.normal(size=(40, 2)) * scale
    ranges = [(-2.0 * s, 2.0 * s) for s in scale]
    cells = nearest_cells(points, *ranges, scale)
    probes = rng.uniform(-2, 2, size=(400, 2)) * scale
    nearest = cKDTree(points / scale).query(probes / scale)[1]
    assert all(_inside(probe, cells[k]) for probe, k in zip(probes, nearest))
    fans = [(c[0], *pair) for c in cells if len(c) for pair in itertools.pairwise(c[1:])]
    area = sum(abs(np.linalg.det(np.stack([a - o, b - o]))) / 2 for o, a, b in fans)
    assert area == pytest.approx(16 * scale[0] * scale[1])


def test_a_single_cell_is_the_rectangle():
    (cell,) = nearest_cells(np.zeros((1, 2)), (-1, 1), (-2, 2))
    assert {tuple(corner) for corner in cell.round(6)} == {(-1, -2), (1, -2), (1, 2), (-1, 2)}
    with pytest.raises(DataError, match="differ"):
        nearest_cells(np.zeros((2, 2)), (-1, 1), (-1, 1))


def test_ellipses_by_eigen_decomposition():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(2, 2))
    S, mean = A @ A.T, np.array([3.0, -1.0])
    found = ellipse(mean, S)
    np.testing.assert_allclose([found.minor**2, found.major**2], np.linalg.eigvalsh(S))
    turn = np.deg2rad(found.angle)
    direction = np.array([np.cos(turn), np.sin(turn)])
    np.testing.assert_allclose(S @ direction, found.major**2 * direction, atol=1e-12)
    outline = found.outline(2.0) - mean
    distances = np.einsum("ni,ij,nj->n", outline, np.linalg.inv(S), outline)
    np.testing.assert_allclose(distances, 4.0)


def test_silhouettes_equal_scikit_learn():
    rng = np.random.default_rng(3)
    X, codes = rng.normal(size=(150, 3)) + 1e3, rng.integers(0, 4, 150)
    codes[codes == 3] = 2
    codes[0] = 3  # a cluster of one row
    np.testing.assert_allclose(silhouettes(X, codes), silhouette_samples(X, codes), atol=1e-8)


def test_the_view_keeps_lengths_and_depths():
    view = View(-60, 30)
    rng = np.random.default_rng(4)
    points = rng.uniform(size=(20, 3))
    flat, depth = view(points)
    centred = points - 0.5
    np.testing.assert_allclose(
        np.square(flat).sum(axis=1) + depth**2, np.square(centred).sum(axis=1)
    )
    above, _ = view(np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 1.0]]))
    assert above[1, 1] > above[0, 1]
    np.testing.assert_allclose(above[:, 0], 0, atol=1e-12)
