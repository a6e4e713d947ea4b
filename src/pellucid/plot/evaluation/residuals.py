"""Errors of a regression: observed against fitted, and the four residual pictures of R's `plot.lm`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pellucid.base import Estimator
from pellucid.draw.number import number
from pellucid.errors import DataError
from pellucid.model_selection.metrics import METRICS
from pellucid.plot.display import Display
from pellucid.plot.evaluation.lowess import lowess
from pellucid.plot.given_predictions import fitted_folds, numbers, table
from pellucid.plot.picture import Axis, Line, Mark, Panel, Picture, Points, Rule

COOK = (0.5, 1.0)
QUARTILE = 0.6744897501960817  # of the standard normal distribution
FARTHEST = 3  # rows with a number beside their point


def _out_of_fold(model: Any, X: Any, y: np.ndarray, cv: Any) -> tuple[np.ndarray, np.ndarray]:
    truth, fitted = [], []
    for fold, part, values, _ in fitted_folds(model, X, y, cv):
        truth.append(values)
        fitted.append(np.asarray(fold.predict(part), dtype=float))
    return np.concatenate(truth), np.concatenate(fitted)


class PredictionErrorDisplay(Display):
    """Observed against fitted values; a perfect model has all points on the diagonal.

    Examples
    --------
    >>> display = PredictionErrorDisplay.from_predictions([1.0, 2.0, 3.0], [1.1, 1.9, 3.2])
    >>> display.frame()["observed"]
    [1.0, 2.0, 3.0]
    """

    def __init__(self, y_true: Any, y_pred: Any) -> None:
        self.observed, self.fitted = numbers(y_true, y_pred)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """From the predictions of a fitted regressor."""
        X, y = table(X, y)
        return cls(y, model.predict(X))

    @classmethod
    def from_predictions(cls, y_true: Any, y_pred: Any) -> Self:
        """From observed and predicted values."""
        return cls(y_true, y_pred)

    @classmethod
    def from_cv(cls, model: Any, X: Any, y: Any, *, cv: Any = 5) -> Self:
        """From predictions of rows that the model was not trained on, over the folds of `cv`."""
        X, y = table(X, y)
        return cls(*_out_of_fold(model, X, y, cv))

    def columns(self) -> dict[str, Any]:
        return {"fitted": self.fitted, "observed": self.observed}

    def picture(self) -> Picture:
        w = np.ones(len(self.observed))
        r2, rmse = (METRICS[name].compute(self.observed, self.fitted, w) for name in ("r2", "rmse"))
        ends = [
            min(self.fitted.min(), self.observed.min()),
            max(self.fitted.max(), self.observed.max()),
        ]
        marks = (
            Points(self.fitted, self.observed),
            Line(ends, ends, "observed = fitted", reference=True),
        )
        note = f"R2 {number(r2, 3)}, root mean squared error {number(rmse, 3)}."
        panel = Panel(marks, Axis("fitted"), Axis("observed"), note=note, height=300)
        return Picture((panel,), "Observed against fitted values", "Observed against fitted")


class ResidualsDisplay(Display):
    """Residuals against fitted values, normal quantiles, scale and location, and leverage.

    Parameters
    ----------
    y_true, y_pred : observed and fitted values.
    leverage : the leverage of each row, which standardises the residuals; None leaves out the fourth
        picture and divides all residuals by their standard deviation.
    n_parameters : number of coefficients, which the residual variance allows for.
    rows : the number of each row, written beside points far away; 0, 1, 2, ... by default.

    Notes
    -----
    With leverage h and n_parameters p, a standardised residual is r / (s sqrt(1 - h)), where
    s^2 = sum r^2 / (n - p), and Cook's distance is its square times h / (1 - h) / p.

    Examples
    --------
    >>> from pellucid.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.5, 1.5, 3.0]
    >>> display = ResidualsDisplay.from_estimator(LinearRegression().fit(X, y), X, y)
    >>> [round(value, 2) for value in display.frame()["leverage"]]
    [0.7, 0.3, 0.3, 0.7]
    """

    def __init__(
        self, y_true: Any, y_pred: Any, leverage: Any = None, n_parameters: int = 1,
        rows: Any = None,
    ) -> None:  # fmt: skip
        self.only_first = False  # to draw residuals against fitted values alone
        observed, self.fitted = numbers(y_true, y_pred)
        self.rows = np.arange(len(observed)) if rows is None else np.asarray(rows)
        if len(observed) < 3:
            raise DataError(f"Residuals need at least 3 rows. Got {len(observed)}.")
        self.residuals, self.n_parameters = observed - self.fitted, n_parameters
        self.leverage = None if leverage is None else np.asarray(leverage, dtype=float)
        n, free = len(observed), len(observed) - n_parameters
        if self.leverage is None:
            scale = np.full(n, self.residuals.std(ddof=1))
        else:
            variance = np.square(self.residuals).sum() / free if free > 0 else np.nan
            scale = np.sqrt(variance * np.maximum(1 - self.leverage, 0.0))
        known = scale > 0
        self.standardized = np.divide(self.residuals, scale, out=np.full(n, np.nan), where=known)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """From the predictions of a fitted regressor on its training rows.

        The leverage is computed for models whose predictions are those of least squares, or of a
        ridge penalty `alpha`, on these rows.
        """
        X, y = table(X, y)
        observed, fitted = numbers(y, model.predict(X))
        return cls(observed, fitted, *leverage_of(model, X, observed, fitted))

    @classmethod
    def from_predictions(cls, y_true: Any, y_pred: Any, *, leverage: Any = None) -> Self:
        """From observed and fitted values; the sum of the leverages is the number of parameters."""
        given = None if leverage is None else np.asarray(leverage, dtype=float)
        return cls(y_true, y_pred, given, 1 if given is None else round(float(given.sum())))

    @classmethod
    def from_cv(cls, model: Any, X: Any, y: Any, *, cv: Any = 5) -> Self:
        """From predictions of rows that the model was not trained on, over the folds of `cv`."""
        X, y = table(X, y)
        return cls(*_out_of_fold(model, X, y, cv))

    @property
    def quantiles(self) -> np.ndarray:
        """The normal quantile that belongs to the rank of each standardised residual, as R's."""
        known = np.isfinite(self.standardized)
        n = int(known.sum())
        a = 3 / 8 if n <= 10 else 1 / 2
        from scipy.special import ndtri

        places = ndtri((np.arange(1, n + 1) - a) / (n + 1 - 2 * a))
        found = np.full(len(self.standardized), np.nan)
        rows = np.flatnonzero(known)
        found[rows[np.argsort(self.standardized[known], kind="stable")]] = places
        return found

    @property
    def cooks_distance(self) -> np.ndarray | None:
        """How far the coefficients move if the row is left out; None without leverage."""
        if self.leverage is None:
            return None
        rest = 1 - self.leverage
        ratio = np.divide(self.leverage, rest, out=np.full(len(rest), np.nan), where=rest > 0)
        return self.standardized**2 * ratio / self.n_parameters

    def columns(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "row": self.rows,
            "fitted": self.fitted,
            "residual": self.residuals,
            "standardised residual": self.standardized,
            "normal quantile": self.quantiles,
            "root of |standardised residual|": np.sqrt(np.abs(self.standardized)),
        }
        cook = self.cooks_distance
        if self.leverage is not None and cook is not None:
            found |= {"leverage": self.leverage, "Cook's distance": cook}
        return found

    def picture(self) -> Picture:
        makers = [self._against_fitted, self._normal, self._scale]
        if self.leverage is not None:
            makers.append(self._by_leverage)
        panels = tuple(make() for make in (makers[:1] if self.only_first else makers))
        return Picture(panels, "Four pictures of residuals", "Residuals")

    def _cloud(self, x: np.ndarray, y: np.ndarray, size: np.ndarray) -> list[Mark]:
        """Points; the rows with the largest `size` have their number beside them."""
        kept = np.isfinite(x) & np.isfinite(y)
        rows = np.flatnonzero(kept)
        far = rows[np.argsort(-size[rows], kind="stable")[:FARTHEST]]
        rest = np.setdiff1d(rows, far)
        return [
            Points(x[rest], y[rest]),
            Points(x[far], y[far], texts=list(map(str, self.rows[far]))),
        ]

    def _trend(self, x: np.ndarray, y: np.ndarray) -> Mark:
        kept = np.isfinite(x) & np.isfinite(y)
        return Line(*lowess(x[kept], y[kept]), "trend (lowess)", 1, points=False)

    def _against_fitted(self) -> Panel:
        cloud = self._cloud(self.fitted, self.residuals, np.abs(self.residuals))
        marks = (*cloud, Rule(y=0.0), self._trend(self.fitted, self.residuals))
        return Panel(marks, Axis("fitted"), Axis("residual"), title="Residuals against fitted")

    def _normal(self) -> Panel:
        x, y = self.quantiles, self.standardized
        known = np.isfinite(y)
        low, high = np.quantile(y[known], [0.25, 0.75]) if known.any() else (0.0, 0.0)
        slope = (high - low) / (2 * QUARTILE)
        middle = (low + high) / 2
        ends = np.array([np.nanmin(x), np.nanmax(x)]) if known.any() else np.array([-1.0, 1.0])
        line = Line(ends, middle + slope * ends, "through the quartiles", reference=True)
        size = np.where(known, np.abs(y), -1.0)
        return Panel(
            (*self._cloud(x, y, size), line),
            Axis("normal quantile"),
            Axis("standardised residual"),
            title="Normal Q-Q",
        )

    def _scale(self) -> Panel:
        roots = np.sqrt(np.abs(self.standardized))
        size = np.where(np.isfinite(roots), roots, -1.0)
        marks = (*self._cloud(self.fitted, roots, size), self._trend(self.fitted, roots))
        label = "root of |standardised residual|"
        return Panel(marks, Axis("fitted"), Axis(label, zero=True), title="Scale-location")

    def _by_leverage(self) -> Panel:
        h, r, cook = self.leverage, self.standardized, self.cooks_distance
        assert h is not None
        assert cook is not None
        marks = self._cloud(h, r, np.where(np.isfinite(cook), cook, -1.0))
        known = np.isfinite(r)
        reach = 1.08 * float(np.abs(r[known]).max()) if known.any() else 1.0
        right = min(float(h.max()) * 1.08, 0.999)
        marks.append(Rule(y=0.0))
        for distance in COOK:
            x = np.linspace(right / 100, right, 100)
            y = np.sqrt(distance * self.n_parameters * (1 - x) / x)
            inside = y <= reach
            both = np.concatenate([x[inside], [np.nan], x[inside]])
            ends = np.concatenate([y[inside], [np.nan], -y[inside]])
            if inside.any():
                name = f"Cook's distance {distance:g}"
                marks.append(Line(both, ends, name, reference=True))
        row = int(np.nanargmax(cook)) if np.isfinite(cook).any() else 0
        note = f"Largest Cook's distance: {number(cook[row], 2)} (row {self.rows[row]})."
        return Panel(
            tuple(marks), Axis("leverage", 0.0, right), Axis("standardised residual", -reach, reach),
            title="Residuals against leverage", note=note,
        )  # fmt: skip


def leverage_of(
    model: Any, X: Any, y: np.ndarray, fitted: np.ndarray
) -> tuple[np.ndarray | None, int]:
    """The diagonal of the matrix that turns y into fitted values, and the number of coefficients.

    Least squares, and ridge with the model's `alpha`, with and without an intercept, are tried. One of
    them is right if its matrix gives the model's own fitted values; otherwise the answer is None.
    """
    Z: Any = model._encoded(X) if isinstance(model, Estimator) else _design(X)
    Z = Z.toarray() if hasattr(Z, "toarray") else Z
    if Z is None or len(Z) != len(y) or not np.isfinite(Z).all():  # trees keep missing cells as NaN
        return None, 1
    alpha = getattr(model, "alpha", None)
    alphas = [0.0, *([float(alpha)] if isinstance(alpha, (int, float)) and alpha > 0 else [])]
    size = float(np.abs(y).max()) or 1.0
    for intercept in (True, False):
        mean = Z.mean(axis=0) if intercept else np.zeros(Z.shape[1])
        U, d, _ = np.linalg.svd(Z - mean, full_matrices=False)
        kept = d > max(Z.shape) * np.finfo(float).eps * max(
            d.max(initial=0.0), np.abs(mean).max(initial=0.0)
        )
        U, d = U[:, kept], d[kept]
        for penalty in alphas:
            shrunk = d**2 / (d**2 + penalty)
            hat = U * shrunk @ (U.T @ (y - intercept * y.mean())) + intercept * y.mean()
            if np.abs(hat - fitted).max() <= 1e-6 * size:
                lever = (U**2 * shrunk).sum(axis=1) + intercept / len(y)
                return lever, int(kept.sum()) + intercept
    return None, 1


def _design(X: Any) -> np.ndarray | None:
    """Numeric columns as they are, others as one column per level; None if that is not possible."""
    if hasattr(X, "toarray"):
        return np.asarray(X.toarray(), dtype=float)
    names = getattr(X, "column_names", None)
    if names is None:
        names = getattr(X, "columns", None)
    columns = np.asarray(X).T if names is None else [np.asarray(X[name]) for name in names]
    parts = []
    for column in columns:
        values = np.asarray(column)
        if values.dtype.kind in "biuf":
            parts.append(values[:, None].astype(float))
            continue
        try:
            parts.append(values[:, None].astype(float))
        except (TypeError, ValueError):
            texts = values.astype(str)
            parts.append((texts[:, None] == np.unique(texts)).astype(float))
    Z = np.hstack(parts) if parts else np.empty((0, 0))
    return Z if Z.size and np.isfinite(Z).all() else None


def observed_fitted(model: Any, X: Any, y: Any, *, cv: Any = None) -> PredictionErrorDisplay:
    """Observed against fitted values of a regressor, or of its clones on the folds of `cv`."""
    if cv is not None:
        return PredictionErrorDisplay.from_cv(model, X, y, cv=cv)
    return PredictionErrorDisplay.from_estimator(model, X, y)


def residuals(model: Any, X: Any, y: Any, *, cv: Any = None) -> ResidualsDisplay:
    """The four residual pictures of a fitted regressor; with `cv`, three of rows not trained on."""
    if cv is not None:
        return ResidualsDisplay.from_cv(model, X, y, cv=cv)
    return ResidualsDisplay.from_estimator(model, X, y)
