"""Partial dependence: the predictions when one column, or two, have the same value in all rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from pellucid.data.opening import opened
from pellucid.data.targets import weights_or_ones
from pellucid.errors import DataError, ParameterError, shown
from pellucid.inspection.cells import Cells, responses
from pellucid.parameters import Integer
from pellucid.records.frames import frame, unused

KINDS = ("average", "individual", "both")
ROWS_AT_ONCE = 50_000  # of a call of predict


@dataclass(frozen=True)
class PartialDependence:
    """The result of `partial_dependence`.

    Attributes
    ----------
    features : names of the one or two columns.
    grid_values : per column the values at which the predictions were made.
    average : (K, grid) or (K, grid, grid), the mean prediction of all rows; K = 1 for regression and
        two classes. None for kind "individual".
    individual : (K, n, grid) or (K, n, grid, grid), the predictions of each row; None for kind
        "average".
    classes : the K classes whose probabilities (or scores) are predicted; None for numbers.
    categorical : per column whether its values are levels.
    """

    features: tuple[str, ...]
    grid_values: tuple[np.ndarray, ...]
    average: np.ndarray | None
    individual: np.ndarray | None
    classes: tuple[Any, ...] | None
    categorical: tuple[bool, ...]

    @property
    def mean(self) -> np.ndarray:
        """(K, grid) or (K, grid, grid): `average`, or the mean of the individual predictions."""
        if self.average is not None:
            return self.average
        assert self.individual is not None
        return self.individual.mean(axis=1)

    def frame(self, backend: str | None = None) -> Any:
        """One line per class and point of the grid, and per row if there are individual predictions.

        Parameters
        ----------
        backend : None for a dict of lists, "pandas", "polars" or "arrow".
        """
        values = self.average if self.individual is None else self.individual
        assert values is not None
        if self.individual is None:
            values = values[:, None]
        K, n = values.shape[:2]
        points = list(product(*(_plain(grid) for grid in self.grid_values)))
        taken = set(self.features)
        columns: dict[str, list[Any]] = {}
        if self.classes is not None or K > 1:
            labels = range(K) if self.classes is None else self.classes
            columns[unused("class", taken)] = [k for k in labels for _ in range(n * len(points))]
        if self.individual is not None:
            rows = [i for i in range(n) for _ in points]
            columns[unused("row", taken)] = rows * K
        for k, name in enumerate(self.features):
            columns[name] = [point[k] for point in points] * (K * n)
        columns[unused("prediction", taken)] = values.ravel().tolist()
        return frame(columns, backend)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


def partial_dependence(
    estimator: Any,
    X: Any,
    features: Any,
    *,
    grid_resolution: int = 50,
    percentiles: tuple[float, float] = (0.05, 0.95),
    kind: str = "average",
    sample_weight: Any = None,
    categorical_features: Any = None,
) -> PartialDependence:
    """Predictions when one column, or a pair of columns, is set to each value of a grid in all rows.

    The mean over the rows is the partial dependence; the line of each row is its individual
    conditional expectation (ICE). Numbers and grids equal those of scikit-learn with method="brute".

    Parameters
    ----------
    estimator : a fitted estimator with `predict`. Classifiers give the probability of each class (of
        two: of the second), or scores if they have no probabilities
    X : rows over which the predictions are averaged
    features : a column, by name or position, or a pair of them
    grid_resolution : number of values of a numeric column. A column with fewer distinct values, or
        with levels or dates, has those that occur
    percentiles : shares of rows below the lowest and highest value of the grid of a numeric column
    kind : "average", "individual" or "both"
    sample_weight : weights of the rows in the average
    categorical_features : numeric columns whose values are levels. Texts and categories always are

    Examples
    --------
    >>> from pellucid.linear_model import LinearRegression
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 1.0]], [2.0, 3.0, 8.0, 8.0]
    >>> found = partial_dependence(LinearRegression().fit(X, y), X, 0)
    >>> found.grid_values[0].tolist(), found.average[0].round(2).tolist()
    ([0.0, 1.0, 2.0, 3.0], [2.25, 4.25, 6.25, 8.25])
    """
    _check(grid_resolution, percentiles, kind)
    X, sample_weight = opened(X, sample_weight)
    cells = Cells(X)
    w = None if sample_weight is None else weights_or_ones(sample_weight, cells.n)
    chosen = cells.positions(_listed(features))
    if not 1 <= len(chosen) <= 2 or len(set(chosen)) < len(chosen):
        raise ParameterError(
            f"features must be one column or two different ones. Got {shown(features)} instead."
        )
    levels = set(cells.positions(_listed(categorical_features)))
    grids = [_grid(cells, j, j in levels, grid_resolution, percentiles) for j in chosen]
    average, individual = _predictions(estimator, cells, chosen, grids, w, kind)
    shape = tuple(len(grid) for grid in grids)
    K = len(average)
    classes = getattr(estimator, "classes_", None)
    return PartialDependence(
        tuple(cells.names[j] for j in chosen),
        tuple(_values(cells, j, grid) for j, grid in zip(chosen, grids)),
        None if kind == "individual" else average.reshape(K, *shape),
        None if individual is None else individual.reshape(K, cells.n, *shape),
        None if classes is None else tuple(np.asarray(classes).tolist()[-K:]),
        tuple(not cells.is_number(j) or j in levels for j in chosen),
    )


def individual_conditional_expectation(
    estimator: Any,
    X: Any,
    features: Any,
    *,
    grid_resolution: int = 50,
    percentiles: tuple[float, float] = (0.05, 0.95),
    categorical_features: Any = None,
) -> PartialDependence:
    """The predictions of each row when a column is set to each value of a grid (ICE).

    Equal to `partial_dependence` with kind="individual", which describes the parameters.

    Examples
    --------
    >>> from pellucid.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    >>> individual_conditional_expectation(model, [[0.0], [2.0]], 0).individual.shape
    (1, 2, 2)
    """
    return partial_dependence(
        estimator, X, features, grid_resolution=grid_resolution, percentiles=percentiles,
        kind="individual", categorical_features=categorical_features,
    )  # fmt: skip


def _check(grid_resolution: Any, percentiles: Any, kind: Any) -> None:
    if not Integer(2).accepts(grid_resolution):
        raise ParameterError(
            f"grid_resolution must be an int >= 2. Got {shown(grid_resolution)} instead."
        )
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {', '.join(KINDS)}. Got {shown(kind)} instead.")
    try:
        low, high = percentiles
        right = 0 <= low < high <= 1
    except (TypeError, ValueError):
        right = False
    if not right:
        raise ParameterError(
            f"percentiles must be two increasing shares in [0, 1]. Got {shown(percentiles)} instead."
        )


def _listed(columns: Any) -> list[Any]:
    if columns is None:
        return []
    several = isinstance(columns, (Sequence, np.ndarray)) and not isinstance(columns, str)
    return list(columns) if several else [columns]


def _grid(
    cells: Cells, j: int, are_levels: bool, resolution: int, percentiles: tuple[float, float]
) -> np.ndarray:
    """Positions of rows with the values of a column (integers), or numbers (floats)."""
    rows = cells.observed(j)
    if not len(rows):
        raise DataError(f"Column {cells.names[j]!r} has no values. Choose another one.")
    if are_levels or not cells.is_number(j) or len(rows) < resolution:
        return rows
    low, high = (_quantile(cells.codes[j], share) for share in percentiles)
    if cells.columns[j].kind == "datetime":
        inside = rows[(cells.codes[j][rows] >= low) & (cells.codes[j][rows] <= high)]
        steps = np.linspace(0, len(inside) - 1, min(resolution, len(inside)))
        return inside[np.rint(steps).astype(int)]
    if np.isclose(low, high):
        raise ParameterError(
            f"The percentiles of column {cells.names[j]!r} are equal. Choose percentiles that are "
            "further apart, or name the column in categorical_features."
        )
    return np.linspace(low, high, resolution)


def _quantile(values: np.ndarray, share: float) -> float:
    """The quantile that scikit-learn uses for its grids (plotting positions with 0.4)."""
    ordered = np.sort(values[~np.isnan(values)])
    n = len(ordered)
    place = n * share + 0.4 + share * 0.2
    k = int(np.clip(np.floor(place), 1, n - 1))
    part = float(np.clip(place - k, 0, 1))
    return float((1 - part) * ordered[k - 1] + part * ordered[k])


def _values(cells: Cells, j: int, grid: np.ndarray) -> np.ndarray:
    """The values of a grid, as users see them."""
    if grid.dtype.kind == "f":
        return grid
    if cells.columns[j].kind == "number":
        return cells.codes[j][grid]
    found = np.empty(len(grid), dtype=object)
    found[:] = [cells.cell(j, int(row)) for row in grid]
    return found


def _plain(values: np.ndarray) -> list[Any]:
    plain: list[Any] = values.tolist()
    return plain


def _predictions(
    estimator: Any, cells: Cells, chosen: list[int], grids: list[np.ndarray], w: Any, kind: str
) -> tuple[np.ndarray, np.ndarray | None]:
    """Means (K, points) and, if wanted, the predictions (K, n, points)."""
    mesh = [part.ravel() for part in np.meshgrid(*grids, indexing="ij")]
    n, points = cells.n, len(mesh[0])
    at_once = max(1, ROWS_AT_ONCE // n)
    means, lines = [], []
    for start in range(0, points, at_once):
        block = [part[start : start + at_once] for part in mesh]
        repeated = {j: np.repeat(part, n) for j, part in zip(chosen, block)}
        numbers = {j: part for j, part in repeated.items() if part.dtype.kind == "f"}
        taken = {j: part for j, part in repeated.items() if j not in numbers}
        base = np.tile(np.arange(n), len(block[0]))
        found = responses(estimator, cells.composed(base, taken, numbers))
        found = found.reshape(len(block[0]), n, -1)
        means.append(np.average(found, axis=1, weights=w))
        if kind != "average":
            lines.append(found)
    average = np.concatenate(means).T
    return average, np.concatenate(lines).transpose(2, 1, 0) if lines else None
