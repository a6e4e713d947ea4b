"""Cells of nearest rows or centres, ellipses of covariances, and silhouettes of clusters."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pellucid.base import Estimator
from pellucid.data.targets import as_vector
from pellucid.draw.label_text import distinct
from pellucid.draw.points import evenly
from pellucid.errors import DataError, ParameterError
from pellucid.plot.display import as_function
from pellucid.plot.models.answers import check_fitted, classes_of, codes_of, rows_of
from pellucid.plot.models.base import ModelDisplay
from pellucid.plot.models.geometry import ellipse, silhouettes
from pellucid.plot.models.model_marks import Outline, Rings, Shapes, joined, xy
from pellucid.plot.models.plane import Plane, Source, plane, source
from pellucid.plot.models.region_displays import class_points
from pellucid.plot.models.voronoi import nearest_cells
from pellucid.plot.picture import Area, Axis, Mark, Panel, Picture, Rule, Text

MOST_CELLS = 1000
MOST_BARS = 1500  # rows that are drawn in a silhouette


class CellsDisplay(ModelDisplay):
    """Cells of the nearest training row (one neighbour), or of the nearest centre of k-means.

    `frame()` has one row for each cell: its row or centre, the class, and the area of the cell inside
    the picture.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.cluster import KMeans
    >>> X = [[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]]
    >>> display = plot.cells(KMeans(2, init=[[0, 0], [9, 9]]).fit(X), X)
    >>> display.frame()["x0"]
    [1.0, 10.0]
    """

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any = None, *, title: str | None = None) -> Self:
        """Cells of a fitted model of two columns.

        Parameters
        ----------
        model : a fitted KMeans, or a fitted classifier with n_neighbors=1 and Euclidean distances.
        X : the training table, of two columns of numbers.
        y : the classes of the rows, or the name of their column in X; k-means needs none.
        title : the title; None is the name of the model's class.
        """
        owner = "plot.cells"
        check_fitted(model, owner)
        X, target = rows_of(X, y)
        where = _two_columns(source(X, owner))
        centres = getattr(model, "cluster_centers_", None)
        if centres is not None:
            made = _centre_cells(model, np.asarray(centres, dtype=float), where, X)
        else:
            made = _neighbour_cells(model, where, target)
        marks, columns, limits = made
        x, y_axis = (Axis(name, *ends, grid=False) for name, ends in zip(where.labels, limits))
        panel = Panel(tuple(marks), x, y_axis, title=title or type(model).__name__,
                      width=460, height=320)  # fmt: skip
        return cls(Picture((panel,), kind="Cells of nearest points"), columns)


def _two_columns(table: Source) -> Plane:
    if len(table.columns) != 2 or len(table.numeric) != 2:
        raise DataError(
            f"{table.owner} needs a table of two columns of numbers, but this one has "
            f"{len(table.columns)} columns. Fit the model to two columns, or use plot.regions."
        )
    return plane(table)


Made = tuple[list[Mark], dict[str, list[Any]], tuple[tuple[float, float], tuple[float, float]]]


def _cell_marks(cells: list[np.ndarray], codes: np.ndarray) -> list[Mark]:
    """Pale areas in the colours of the classes, and the borders between them."""
    shapes: list[Mark] = [
        Shapes(*xy(joined([cell for cell, own in zip(cells, codes) if own == k])), index=int(k))
        for k in np.unique(codes)
    ]
    rings = [np.vstack([cell, cell[:1]]) for cell in cells if len(cell)]
    return [*shapes, Outline(*xy(joined(rings)), width=0.8, opacity=0.6)]


def _area(cell: np.ndarray) -> float:
    x, y = cell.T if len(cell) else (np.zeros(0), np.zeros(0))
    return float(abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2)


def _centre_cells(model: Any, centres: np.ndarray, where: Plane, X: Any) -> Made:
    codes = np.asarray(model.predict(X)).astype(int)
    limits = where.limits(centres)
    cells = nearest_cells(centres, *limits)
    numbers = np.arange(len(centres))
    names = [f"cluster {k}" for k in numbers]
    marks = _cell_marks(cells, numbers) + list(class_points(where.points, codes, names))
    marks.append(Rings(*xy(centres), name="centre", radius=6.0, filled=True))
    columns = {
        "cluster": numbers.tolist(), where.labels[0]: centres[:, 0].tolist(),
        where.labels[1]: centres[:, 1].tolist(), "area": [_area(cell) for cell in cells],
        "rows": np.bincount(codes, minlength=len(centres)).tolist(),
    }  # fmt: skip
    return marks, columns, limits


def _neighbour_cells(model: Any, where: Plane, target: np.ndarray | None) -> Made:
    name = type(model).__name__
    if getattr(model, "n_neighbors", None) != 1:
        raise ParameterError(
            f"plot.cells needs KMeans or a classifier with n_neighbors=1. Got {name}"
            + (f"(n_neighbors={model.n_neighbors})" if hasattr(model, "n_neighbors") else "")
            + ". Use plot.regions."
        )
    metric = getattr(model, "effective_metric_", "euclidean")
    if metric != "euclidean":
        raise ParameterError(
            f"plot.cells needs Euclidean distances, but {name} uses {metric!r}. Use plot.regions."
        )
    if target is None:
        raise ParameterError("plot.cells needs y: cells have the colour of the class of their row.")
    factor = getattr(model, "space_", {}).get("scale")
    scale = (1.0, 1.0) if factor is None else tuple(1.0 / np.asarray(factor, dtype=float))
    classes = classes_of(model, "plot.cells")
    if classes is None:
        raise ParameterError(f"plot.cells needs classes, but {name} predicts numbers.")
    codes = codes_of(target, classes)
    points, first = np.unique(where.points, axis=0, return_index=True)
    keep = np.sort(first[np.isfinite(points).all(axis=1)])
    if len(keep) > MOST_CELLS:
        raise DataError(f"plot.cells draws at most {MOST_CELLS} cells, but X has {len(keep)} rows.")
    limits = where.limits()
    cells = nearest_cells(where.points[keep], *limits, scale)
    shown = codes_of(model.predict(where.table(*xy(where.points[keep]))), classes)
    marks = _cell_marks(cells, shown) + list(class_points(where.points, codes, distinct(classes)))
    columns = {
        "row": keep.tolist(), where.labels[0]: where.points[keep, 0].tolist(),
        where.labels[1]: where.points[keep, 1].tolist(), "class": [classes[k] for k in shown],
        "area": [_area(cell) for cell in cells],
    }  # fmt: skip
    return marks, columns, limits


class EllipsesDisplay(ModelDisplay):
    """Ellipses of the components of a mixture, or of the classes of a Gaussian classifier.

    The inner ellipse is at Mahalanobis distance 1 of the mean, the outer at 2. `frame()` has one row
    for each component: weight, mean, semi-axes of the inner ellipse, and the angle in degrees between
    the longer one and the x axis.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.mixture import GaussianMixture
    >>> X = [[0.0, 0.1], [0.2, 0.0], [0.1, 0.4], [5.0, 5.1], [5.2, 5.0], [5.1, 5.4]]
    >>> display = plot.ellipses(GaussianMixture(2, random_state=0).fit(X), X)
    >>> sorted(round(w, 3) for w in display.frame()["weight"])
    [0.5, 0.5]
    """

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, columns: Any = None, title: str | None = None
    ) -> Self:
        """Ellipses of a fitted model.

        Parameters
        ----------
        model : a fitted GaussianMixture, discriminant analysis or Gaussian naive Bayes.
        X : the table whose rows are shown, with the columns of the model.
        y : the classes of the rows; None colours them by `model.predict`.
        columns : as in `regions`; the ellipses are those of the distribution of the two columns alone.
        title : the title; None is the name of the model's class.
        """
        owner = "plot.ellipses"
        check_fitted(model, owner)
        X, target = rows_of(X, y)
        weights, means, covariances = gaussians(model)
        classes = tuple(getattr(model, "classes_", range(len(means))))
        components = [f"component {k}" for k in range(len(means))]
        names = distinct(classes) if hasattr(model, "classes_") else components
        table = source(X, owner)
        if len(table.columns) != means.shape[1] or len(table.numeric) != means.shape[1]:
            raise DataError(
                f"{owner} needs columns of numbers without missing values, one for each of the "
                f"{means.shape[1]} dimensions of the model. Fit the model to such columns."
            )
        labels = np.asarray(model.predict(X)) if target is None else target
        codes = codes_of(labels, tuple(np.asarray(classes).tolist()))
        where = plane(table, columns, codes if hasattr(model, "classes_") else None)
        found = [ellipse(*_on_plane(where, m, c)) for m, c in zip(means, covariances)]
        marks: list[Mark] = list(class_points(where.points, codes, names, outline=False))
        for k, one in enumerate(found):
            marks += [Area(*xy(one.outline(d)), index=k, opacity=0.1) for d in (2.0, 1.0)]
        centres = np.array([one.mean for one in found])
        marks.append(Rings(*xy(centres), name="mean", radius=4.5, filled=True))
        panel = Panel(
            tuple(marks), x=Axis(where.labels[0]), y=Axis(where.labels[1]), width=460, height=320,
            title=title or type(model).__name__,
            note=f"Ellipses: 1 and 2 standard deviations. {where.note}".strip(),
        )  # fmt: skip
        data = {
            "component": list(classes), "weight": weights.tolist(),
            f"mean of {where.labels[0]}": centres[:, 0].tolist(),
            f"mean of {where.labels[1]}": centres[:, 1].tolist(),
            "major": [one.major for one in found], "minor": [one.minor for one in found],
            "angle": [one.angle for one in found],
        }  # fmt: skip
        return cls(Picture((panel,), kind="Ellipses of Gaussian components"), data)


def _on_plane(where: Plane, mean: np.ndarray, covariance: np.ndarray) -> tuple[Any, Any]:
    """The mean and covariance of the two coordinates of a plane."""
    if where.basis is None:
        pair = list(where.columns)
        return mean[pair], covariance[np.ix_(pair, pair)]
    assert where.centre is not None and where.scale is not None
    A = where.basis / where.scale[:, None]
    return (mean - where.centre) @ A, A.T @ covariance @ A


def gaussians(model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (K,), means (K, p) and covariances (K, p, p) of a mixture or a Gaussian classifier."""
    means = np.asarray(getattr(model, "means_", getattr(model, "theta_", ())), dtype=float)
    found = None
    for name in ("covariances_", "covariance_", "var_"):
        if found is None and hasattr(model, name):
            found = getattr(model, name)
    if found is None and hasattr(model, "rotations_"):
        found = [(R * s) @ R.T for R, s in zip(model.rotations_, model.scalings_)]
    if means.ndim != 2 or found is None:
        raise ParameterError(
            "plot.ellipses needs a model with means and covariances, such as GaussianMixture, "
            "GaussianNB or a discriminant analysis with store_covariance=True. Got "
            f"{type(model).__name__}."
        )
    K, p = means.shape
    shape = getattr(model, "covariance_type", "") or _shape_of(found, K, p)
    weights = getattr(model, "weights_", getattr(model, "priors_", None))
    if weights is None:
        weights = getattr(model, "class_prior_", np.full(K, 1.0 / K))
    return (
        np.asarray(weights, dtype=float),
        means,
        _full(np.asarray(found, dtype=float), shape, K, p),
    )


def _shape_of(found: Any, K: int, p: int) -> str:
    size = np.shape(found)
    return "full" if size == (K, p, p) else "tied" if size == (p, p) else "diag"


def _full(found: np.ndarray, shape: str, K: int, p: int) -> np.ndarray:
    if shape == "full":
        return found
    if shape == "tied":
        return np.broadcast_to(found, (K, p, p))
    if shape == "spherical":
        return found[:, None, None] * np.eye(p)
    return found[:, :, None] * np.eye(p)


class SilhouetteDisplay(ModelDisplay):
    """How much nearer each row is to its own cluster than to the next one, from -1 to 1.

    `frame()` has one row for each row of the table: its cluster and its silhouette. Rows are drawn by
    cluster, the largest silhouette on top.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.cluster import KMeans
    >>> X = [[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]]
    >>> display = plot.silhouette(KMeans(2, random_state=0).fit(X), X)
    >>> round(sum(display.frame()["silhouette"]) / 6, 3)
    0.713
    """

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, title: str | None = None) -> Self:
        """Silhouettes of the clusters of a fitted model.

        Parameters
        ----------
        model : a fitted clusterer; `SilhouetteDisplay.from_labels` takes labels instead.
        X : a table of numbers without missing values.
        title : the title; None is the name of the model's class.
        """
        check_fitted(model, "plot.silhouette")
        X, _ = rows_of(X)
        labels = model.predict(X)
        if isinstance(model, Estimator):
            encoded = model._encoded(X)  # with categories and missing values as the model sees them
            X = encoded if isinstance(encoded, np.ndarray) else X
        return cls.from_labels(X, labels, title=title or type(model).__name__)

    @classmethod
    def from_labels(cls, X: Any, labels: Any, *, title: str | None = None) -> Self:
        """Silhouettes of any labels, one for each row of X."""
        owner = "plot.silhouette"
        X, found = rows_of(X, as_vector(labels, "labels"))
        assert found is not None
        table = source(X, owner)
        for j in range(len(table.columns)):
            table.position(j)
        rows = table.matrix()
        if not np.isfinite(rows).all():
            raise DataError(f"{owner} needs a table without missing values.")
        groups, codes = np.unique(found, return_inverse=True)
        if not 2 <= len(groups) < len(rows):
            raise DataError(
                f"{owner} needs from 2 clusters to one less than the number of rows. Got {len(groups)}."
            )
        values = silhouettes(rows, codes)
        panel = _silhouette_panel(values, codes, groups.tolist(), title or "Silhouettes")
        columns = {"row": list(range(len(rows))), "cluster": found.tolist(), "silhouette": values}
        return cls(Picture((panel,), kind="Silhouettes"), columns)


def _silhouette_panel(
    values: np.ndarray, codes: np.ndarray, groups: list[Any], title: str
) -> Panel:
    marks: list[Mark] = []
    mean, n = float(values.mean()), len(values)
    gap, top = 0.03 * n, 0.0
    labels: list[tuple[float, str, str]] = []
    for k, group in enumerate(groups):
        own = np.sort(values[codes == k])[::-1]
        drawn = np.array(evenly(own.tolist(), max(2, MOST_BARS * len(own) // n)))
        ends = np.linspace(top, top + len(own), len(drawn) + 1)
        y = np.repeat(ends, 2)[1:-1]
        x = np.repeat(drawn, 2)
        marks.append(Shapes([0.0, *x, 0.0], [-y[0], *-y, -y[-1]], index=k, opacity=0.8))
        labels.append((-(top + len(own) / 2), f"{group}", f"{own.mean():.2f}"))
        top += len(own) + gap
    marks.append(Rule(x=mean, name=f"mean of all rows {mean:.3f}"))
    low = min(0.0, float(values.min()))
    middles, names, means = zip(*labels)
    marks.append(Text([low - 0.02] * len(names), middles, names, anchor="end", em=9.0))
    marks.append(Text([0.995] * len(names), middles, means, anchor="end", bold=True))
    return Panel(
        tuple(marks), x=Axis("silhouette", low=low - 0.4 * (1 - low), high=1.0), title=title,
        y=Axis(ticks=False, grid=False), width=460, height=max(220, 26 * len(groups)),
        note="On the right: mean silhouette of the cluster.",
    )  # fmt: skip


cells = as_function("cells", CellsDisplay.from_estimator)
ellipses = as_function("ellipses", EllipsesDisplay.from_estimator)
silhouette = as_function("silhouette", SilhouetteDisplay.from_estimator)
