"""The loss over two parameters of a model: contours with the path of a fit, and a surface."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pellucid.base import Estimator
from pellucid.data.intake import raw_table
from pellucid.errors import DataError, DataTypeError, ParameterError
from pellucid.plot.display import as_function
from pellucid.plot.models.answers import check_fitted, rows_of
from pellucid.plot.models.base import ModelDisplay
from pellucid.plot.models.geometry import View
from pellucid.plot.models.model_marks import Outline, Rings, Shapes, joined, xy
from pellucid.plot.models.parameter_grid import (
    address,
    changed,
    default_parameters,
    label_of,
    loss_function,
    loss_grid,
    value_at,
)
from pellucid.plot.models.projection import cube_marks, placed, plain_axes, unit_cube
from pellucid.plot.models.region_displays import check_resolution, level_line
from pellucid.plot.picture import Axis, Heat, Mark, Panel, Picture, Points

N_LEVELS = 9
MOST_STEPS = 400


class _Surface:
    """The loss on a grid around the fitted values of two parameters, and around the path to them."""

    def __init__(
        self, model: Any, X: Any, y: Any, parameters: Any, loss: Any, resolution: int, path: Any,
        owner: str,
    ) -> None:  # fmt: skip
        check_fitted(model, owner)
        X, target = rows_of(X, y)
        if target is None:
            raise ParameterError(f"{owner} needs y: the loss compares predictions with it.")
        pair = default_parameters(model, owner) if parameters is None else tuple(parameters)
        if len(pair) != 2 or pair[0] == pair[1]:
            raise ParameterError(f"{owner} needs two different parameters.")
        self.addresses = [address(model, which, owner) for which in pair]
        self.labels = [label_of(model, found) for found in self.addresses]
        if isinstance(model, Estimator):
            X = raw_table(X, owner)  # read once; every point of the grid predicts it
        own, self.what = loss_function(model, X, target)
        self.loss = own if loss is None else loss
        self.what = self.what if loss is None else "loss"
        self.model = model
        self.fitted = self.values_of(lambda name: getattr(model, name))
        self.path = np.array([self.values_of(step.state.__getitem__) for step in path])
        self.limits = [
            _around(self.fitted[k], self.path[:, k] if len(self.path) else np.zeros(0))
            for k in (0, 1)
        ]
        n = check_resolution(resolution, owner)
        self.x, self.y = (np.linspace(*ends, n) for ends in self.limits)
        self.z = loss_grid(model, self.loss, self.addresses, self.x, self.y)
        if not np.isfinite(self.z).any():
            raise DataError(f"{owner}: the loss is not finite anywhere near the fitted parameters.")

    def values_of(self, get: Any) -> tuple[float, float]:
        a, b = (float(value_at(get(name), where)) for name, where in self.addresses)
        return a, b

    @property
    def others(self) -> str:
        """A note on the parameters that do not vary; empty if the model has two."""
        total = sum(np.size(getattr(self.model, name, 0)) for name in ("coef_", "intercept_"))
        return "" if total == 2 else "Other parameters: at their fitted values."


def _around(value: float, path: np.ndarray) -> tuple[float, float]:
    low, high = min([value, *path]), max([value, *path])
    room = 0.3 * (high - low) if high > low else max(abs(value), 1.0)
    return low - room, high + room


class DescentDisplay(ModelDisplay):
    """The path of a watched fit on the contours of the loss of two parameters.

    `frame()` has one row for each step: iteration, the two parameters, and the loss of the model of
    that step.

    Examples
    --------
    >>> import pellucid
    >>> from pellucid import plot
    >>> from pellucid.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 4.0, 8.0]
    >>> with pellucid.watching() as watch:
    ...     model = LinearRegression(solver="gd").fit(X, y)
    >>> display = plot.descent(watch, X, y, resolution=10)
    >>> list(display.frame())
    ['iteration', 'coefficient of x0', 'intercept', 'mean squared error']
    """

    @classmethod
    def from_watch(
        cls,
        watch: Any,
        X: Any,
        y: Any,
        *,
        parameters: Any = None,
        loss: Any = None,
        resolution: int = 50,
        title: str | None = None,
    ) -> Self:
        """The path of the last fit of `watch`.

        Parameters
        ----------
        watch : what `pellucid.watching()` recorded; its last fit is shown.
        X, y : the training table and target.
        parameters : two parameters: the name or position of a term, "intercept", (term, class) for
            several classes, or an attribute with a place in it, such as ("coefs_", 0, 2, 1). None takes
            the first two coefficients, or the coefficient and the intercept of one term.
        loss : a function of a fitted model. None is the mean log loss, hinge loss or squared error, with
            the penalty of LogisticRegression, Ridge, Lasso, ElasticNet and PoissonRegressor divided by
            the number of rows.
        resolution : number of points of the grid along each axis.
        title : the title.
        """
        owner = "plot.descent"
        fit = _last_fit(watch, owner)
        steps = [fit.steps[i] for i in _evenly(len(fit.steps))]
        found = _Surface(fit.estimator, X, y, parameters, loss, resolution, steps, owner)
        losses = [_loss_of(found, step.state) for step in steps]
        marks: list[Mark] = [Heat(found.z, texts=()), *_contours(found)]
        marks.append(Outline(*xy(found.path), name="path of the fit", index=1, width=2.0))
        if len(steps) <= 60:
            marks.append(Points(*xy(found.path), index=1, sizes=[2.4] * len(steps)))
        marks.append(Rings(*xy(found.path[:1]), name="start", radius=5.0))
        marks.append(Rings(*xy(found.path[-1:]), name="end", radius=5.0, filled=True))
        x, y_axis = (Axis(n, *ends, grid=False) for n, ends in zip(found.labels, found.limits))
        note = f"Contours: {found.what}. {found.others}".strip()
        panel = Panel(tuple(marks), x, y_axis, title=title or f"{fit.source}: path of the fit",
                      note=note, width=480, height=340)  # fmt: skip
        data = {
            "iteration": [step.iteration for step in steps],
            found.labels[0]: found.path[:, 0],
            found.labels[1]: found.path[:, 1],
            found.what: losses,
        }
        return cls(Picture((panel,), kind="Path of a fit on its loss"), data)


def _last_fit(watch: Any, owner: str) -> Any:
    fits = [fit for fit in getattr(watch, "fits", ()) if fit.steps and fit.estimator is not None]
    if not hasattr(watch, "fits"):
        raise DataTypeError(
            f"{owner} needs the watch of a fit: `with pellucid.watching() as watch: model.fit(X, y)`. "
            f"Got {type(watch).__name__}."
        )
    if not fits:
        raise DataError(f"{owner}: the watch has no finished fit with recorded steps.")
    return fits[-1]


def _evenly(n: int) -> list[int]:
    if n <= MOST_STEPS:
        return list(range(n))
    return sorted({round(i * (n - 1) / (MOST_STEPS - 1)) for i in range(MOST_STEPS)})


def _loss_of(found: _Surface, state: dict[str, Any]) -> float:
    """The loss of the model of one step, with all parameters of that step."""
    names = [name for name in state if hasattr(found.model, name)]
    other = changed(found.model, [], ())
    for name in names:
        setattr(other, name, state[name])
    return float(found.loss(other))


def _contours(found: _Surface) -> list[Mark]:
    low, high = float(np.nanmin(found.z)), float(np.nanmax(found.z))
    levels = low + (high - low) * (np.arange(1, N_LEVELS + 1) / (N_LEVELS + 1)) ** 2
    return [level_line(found.x, found.y, found.z, float(level)) for level in levels]


class LossSurfaceDisplay(ModelDisplay):
    """The loss over two parameters of a fitted model, as a surface in a parallel projection.

    `frame()` has one row for each point of the grid: the two parameters and the loss.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 4.0, 8.0]
    >>> display = plot.loss_surface(LinearRegression().fit(X, y), X, y, resolution=5)
    >>> list(display.frame())
    ['coefficient of x0', 'intercept', 'mean squared error']
    """

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        parameters: Any = None,
        loss: Any = None,
        resolution: int = 24,
        azimuth: float = -60.0,
        elevation: float = 35.0,
        title: str | None = None,
    ) -> Self:
        """The loss around the fitted parameters.

        Parameters
        ----------
        model : a fitted model.
        X, y : the training table and target.
        parameters, loss, resolution, title : as in `descent`.
        azimuth, elevation : direction of the view in degrees.
        """
        owner = "plot.loss_surface"
        found = _Surface(model, X, y, parameters, loss, resolution, [], owner)
        grid = np.stack([*np.meshgrid(found.x, found.y), found.z], axis=-1)
        low, high = unit_cube(grid.reshape(-1, 3))
        view = View(azimuth, elevation)
        marks = cube_marks(view, [*found.labels, found.what], low, high)
        marks += _mesh(view, placed(grid, low, high))
        lowest = np.array([[*found.fitted, found.loss(model)]])
        marks.append(
            Rings(*xy(view(placed(lowest, low, high))[0]), name="fitted", radius=5.0, filled=True)
        )
        panel = Panel(
            tuple(marks), *plain_axes(), title=title or f"{type(model).__name__}: {found.what}",
            note=found.others, width=480, height=400, equal=True,
        )  # fmt: skip
        flat = grid.reshape(-1, 3).T
        data = dict(zip([*found.labels, found.what], flat))
        return cls(Picture((panel,), kind="Surface of the loss"), data)


def _mesh(view: View, grid: np.ndarray) -> list[Mark]:
    """Faces from back to front, in bands of height with a stronger colour, and the lines of the grid."""
    corners = np.stack([grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]], axis=2)
    faces = corners.reshape(-1, 4, 3)
    faces = faces[np.isfinite(faces).all(axis=(1, 2))]
    heights = faces[:, :, 2].mean(axis=1)
    marks: list[Mark] = []
    for k in range(6):
        own = faces[(heights >= k / 6) & ((heights < (k + 1) / 6) | (k == 5))]
        if len(own):
            flat = view(own.reshape(-1, 3))[0].reshape(-1, 4, 2)
            marks.append(Shapes(*xy(joined(list(flat))), index=0, opacity=0.12 + 0.1 * k))
    lines = [view(row)[0] for row in [*grid, *np.swapaxes(grid, 0, 1)]]
    return [*marks, Outline(*xy(joined(lines)), width=0.6, opacity=0.6)]


descent = as_function("descent", DescentDisplay.from_watch)
loss_surface = as_function("loss_surface", LossSurfaceDisplay.from_estimator)
