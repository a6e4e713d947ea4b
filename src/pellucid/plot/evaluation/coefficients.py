"""Coefficients of linear models: along a penalty, with intervals, and as a posterior."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from pellucid.draw.number import beside_marks, number
from pellucid.errors import ParameterError
from pellucid.model_selection.copies import fresh
from pellucid.plot.display import Display, as_function
from pellucid.plot.given_predictions import column_names, table
from pellucid.plot.picture import Axis, Band, Intervals, Line, Panel, Picture, Rule

PENALTIES = ("alpha", "C", "prior_variance")
MOST_NAMES = 12  # lines with an entry in the legend
MOST_ROWS = 40
MOST_PANELS = 6
REACH = 1.959963984540054  # standard deviations of a 95 % interval


def _terms(model: Any, X: Any = None) -> list[str]:
    """Names of the coefficients; of several rows of them, with the class in front."""
    coef = np.asarray(model.coef_)
    names = list(getattr(model, "terms_", None) or column_names(X, model))
    if len(names) != coef.shape[-1]:
        names = [f"x{j}" for j in range(coef.shape[-1])]
    if coef.ndim == 1 or coef.shape[0] == 1:
        return names
    rows = getattr(model, "classes_", range(coef.shape[0]))
    rows = rows if len(rows) == coef.shape[0] else range(coef.shape[0])
    return [f"{row}: {name}" for row in rows for name in names]


class CoefficientPathDisplay(Display):
    """Coefficients against the strength of a penalty, or of a prior.

    Parameters
    ----------
    values : values of the parameter, increasing.
    coefficients : shape (len(values), n_coefficients).
    names : names of the coefficients.
    parameter : name of the parameter.
    chosen : value marked by a dotted line.
    label : of the axis of the coefficients.

    Examples
    --------
    >>> from pellucid.linear_model import Ridge
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]
    >>> display = CoefficientPathDisplay.from_estimator(Ridge(), X, y, values=[2.0, 6.0])
    >>> [round(value, 2) for value in display.frame()["coefficient"]]
    [0.5, 0.25]
    """

    def __init__(
        self, values: Any, coefficients: Any, names: Sequence[str], parameter: str,
        chosen: float | None = None, label: str = "coefficient",
    ) -> None:  # fmt: skip
        self.chosen, self.label = chosen, label
        self.values, self.parameter = np.asarray(values, dtype=float), parameter
        self.coefficients, self.names = np.asarray(coefficients, dtype=float), list(names)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, parameter: str | None = None, values: Any = None
    ) -> Self:
        """Fit a clone for every value of the parameter.

        Parameters
        ----------
        parameter : name of the penalty or prior; by default `alpha`, `C` or `prior_variance`.
        values : its values; by default 30 from 0.001 to 1000, and for a lasso from the smallest
            penalty that makes all coefficients 0, down to a thousandth of it.
        """
        X, y = table(X, y)
        known = model.get_params(deep=False)
        name = parameter or next((key for key in PENALTIES if key in known), None)
        if name is None or name not in known:
            raise ParameterError(
                f"{type(model).__name__} has no parameter {parameter or 'alpha or C'!r}. Name its "
                "penalty with `parameter`."
            )
        grid = np.sort(_grid(model, X, y) if values is None else np.asarray(values, dtype=float))
        if not len(grid) or not np.isfinite(grid).all():
            raise ParameterError("values must be finite numbers, at least one.")
        fits = [fresh(model, {name: float(value)}).fit(X, y) for value in grid]
        paths = [np.ravel(fitted.coef_) for fitted in fits]
        return cls(grid, paths, _terms(fits[0], X), name)

    def columns(self) -> dict[str, Any]:
        n, k = self.coefficients.shape
        return {
            "term": np.repeat(self.names, n).tolist(),
            self.parameter: np.tile(self.values, k),
            "coefficient": self.coefficients.T.ravel(),
        }

    def picture(self) -> Picture:
        size = np.abs(self.coefficients).max(axis=0)
        named = set(np.argsort(-size, kind="stable")[:MOST_NAMES].tolist())
        lines = tuple(
            Line(self.values, column, self.names[j] if j in named else "", j, points=False)
            for j, column in enumerate(self.coefficients.T)
        )
        rest = len(self.names) - len(named)
        note = f"The legend names the {MOST_NAMES} largest of {len(self.names)}." if rest else ""
        low, high = self.values.min(), self.values.max()
        axis = Axis(self.parameter, log=bool(low > 0 and high > 20 * low), grid=False)
        mark = () if self.chosen is None else (Rule(x=self.chosen, name="chosen"),)
        marks = (*lines, Rule(y=0.0), *mark)
        panel = Panel(marks, axis, Axis(self.label), note=note, height=300)
        title = f"Coefficients by {self.parameter}"
        return Picture((panel,), title, title)


def _grid(model: Any, X: Any, y: np.ndarray) -> np.ndarray:
    plain = getattr(X, "dtype", None) is not None and np.asarray(X).dtype.kind in "biuf"
    if not plain or type(model).__name__ not in ("Lasso", "ElasticNet"):
        return np.geomspace(1e-3, 1e3, 30)
    Z, ratio = np.asarray(X, dtype=float), getattr(model, "l1_ratio", 1.0) or 1.0
    if getattr(model, "standardize", False):
        Z = Z / np.where(Z.std(axis=0) > 0, Z.std(axis=0), 1.0)
    largest = np.abs((Z - Z.mean(axis=0)).T @ (y - y.mean())).max() / len(y) / ratio
    return largest * np.geomspace(1e-3, 1.0, 30)


class CoefficientsDisplay(Display):
    """Coefficients with their intervals.

    Parameters
    ----------
    names, estimate : name and value of each coefficient.
    low, high : ends of the intervals; NaN without one.
    note : what the intervals are.
    title : title of the picture.
    label : of the axis.

    Examples
    --------
    >>> from pellucid.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.5, 1.5, 3.0]
    >>> frame = CoefficientsDisplay.from_estimator(LinearRegression().fit(X, y)).frame()
    >>> frame["term"], round(frame["estimate"][0], 2)
    (['x0'], 0.9)
    """

    def __init__(
        self, names: Sequence[str], estimate: Any, low: Any, high: Any, note: str,
        title: str = "Coefficients", label: str = "coefficient",
    ) -> None:  # fmt: skip
        self.names, self.note, self.title, self.label = list(names), note, title, label
        self.estimate, self.low, self.high = (np.asarray(v, float) for v in (estimate, low, high))

    @classmethod
    def from_estimator(cls, model: Any, *, level: float = 0.95, intercept: bool = False) -> Self:
        """From the `summary` of a fitted linear model, or from its `coef_` if it has no intervals.

        Parameters
        ----------
        level : level of the intervals.
        intercept : whether to show the intercept.
        """
        if not hasattr(model, "coef_"):
            raise ParameterError(f"{type(model).__name__} has no coefficients, or is not fitted.")
        found = _summary(model, level)
        if found is not None and "low" in found:
            value = found["coef" if "coef" in found else "mean"]
            kept = [
                i for i, term in enumerate(found["term"])
                if intercept or not str(term).endswith("intercept")
            ]  # fmt: skip
            ends = ([column[i] for i in kept] for column in (value, found["low"], found["high"]))
            estimate, low, high = ends
            names = [str(found["term"][i]) for i in kept]
            return cls(names, estimate, low, high, f"Lines: {number(100 * level)} % intervals.")
        coef = np.ravel(model.coef_)
        nothing = np.full(len(coef), np.nan)
        note = "This model has no standard errors: see CoefficientsDisplay.from_bootstrap."
        return cls(_terms(model), coef, nothing, nothing, note)

    @classmethod
    def from_bootstrap(cls, found: Any) -> Self:
        """From the result of `pellucid.inspection.bootstrap(model, X, y, "coef_")`."""
        level = f"{number(100 * found.level)} % percentile intervals of the bootstrap"
        estimate, low, high = (np.ravel(part) for part in (found.estimate, found.low, found.high))
        return cls(found.names, estimate, low, high, f"Lines: {level}.")

    def columns(self) -> dict[str, Any]:
        return {"term": self.names, "estimate": self.estimate, "low": self.low, "high": self.high}

    def picture(self) -> Picture:
        order = np.arange(len(self.names))
        note = self.note
        if len(order) > MOST_ROWS:
            order = np.sort(np.argsort(-np.abs(self.estimate), kind="stable")[:MOST_ROWS])
            note += f" Shown: the {MOST_ROWS} largest of {len(self.names)}."
        at = np.arange(len(order))
        marks = (
            Rule(x=0.0),
            Intervals(at, self.estimate[order], self.low[order], self.high[order]),
        )
        panel = Panel(
            marks, Axis(self.label), Axis("", names=tuple(self.names[i] for i in order)),
            note=note, height=max(60, 24 * len(order)),
            right_texts=tuple(beside_marks(self.estimate[order].tolist())),
        )  # fmt: skip
        return Picture((panel,), f"{self.title} with intervals", self.title)


def _summary(model: Any, level: float) -> dict[str, Any] | None:
    """The columns of the model's summary, if it has one."""
    summary = getattr(model, "summary", None)
    if summary is None or "level" not in inspect.signature(summary).parameters:
        return None
    return dict(summary(level=level).frame())


class PosteriorDisplay(Display):
    """The posterior density of each coefficient of a Bayesian linear model.

    Parameters
    ----------
    names : names of the coefficients.
    mean, sd : mean and standard deviation of their normal posteriors.

    Examples
    --------
    >>> from pellucid.linear_model import BayesianRidge
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9]
    >>> frame = PosteriorDisplay.from_estimator(BayesianRidge().fit(X, y)).frame()
    >>> sorted(set(frame["term"]))
    ['x0']
    """

    def __init__(self, names: Sequence[str], mean: Any, sd: Any) -> None:
        self.names = list(names)
        self.mean, self.sd = np.asarray(mean, dtype=float), np.asarray(sd, dtype=float)
        if not np.all(self.sd > 0):
            raise ParameterError("The standard deviations of a posterior must be positive.")

    @classmethod
    def from_estimator(cls, model: Any, *, terms: Sequence[str] | None = None) -> Self:
        """From `coef_` and its covariance, `sigma_` or `covariance_`, of a fitted model.

        `terms` chooses coefficients; by default the six whose mean is farthest from 0 in standard
        deviations.
        """
        sigma: Any = getattr(model, "sigma_", getattr(model, "covariance_", None))
        if np.ndim(sigma) != 2 or not hasattr(model, "coef_"):
            raise ParameterError(
                f"{type(model).__name__} has no posterior of coefficients. Use BayesianRidge or "
                "BayesianRegression, and fit it first."
            )
        mean = np.ravel(model.coef_)
        sd = np.sqrt(np.diagonal(sigma)[: len(mean)])
        names = _terms(model)
        if terms is None:
            chosen = np.sort(np.argsort(-np.abs(mean) / sd, kind="stable")[:MOST_PANELS]).tolist()
        else:
            unknown = [term for term in terms if term not in names]
            if unknown:
                raise ParameterError(
                    f"Unknown term {unknown[0]!r}. Terms: {', '.join(names[:10])}."
                )
            chosen = [names.index(term) for term in terms]
        return cls([names[j] for j in chosen], mean[chosen], sd[chosen])

    def _curves(self) -> list[tuple[np.ndarray, np.ndarray]]:
        found = []
        for mean, sd in zip(self.mean, self.sd):
            z = np.linspace(-4, 4, 81)
            found.append((mean + sd * z, np.exp(-(z**2) / 2) / (sd * np.sqrt(2 * np.pi))))
        return found

    def columns(self) -> dict[str, Any]:
        curves = self._curves()
        return {
            "term": np.repeat(self.names, [len(x) for x, _ in curves]).tolist(),
            "coefficient": np.concatenate([x for x, _ in curves]),
            "density": np.concatenate([density for _, density in curves]),
        }

    def picture(self) -> Picture:
        panels = []
        for name, mean, sd, (x, density) in zip(self.names, self.mean, self.sd, self._curves()):
            z = np.linspace(-REACH, REACH, 49)
            inside = np.exp(-(z**2) / 2) / (sd * np.sqrt(2 * np.pi))
            shade = Band(mean + sd * z, np.zeros(len(z)), inside)
            zero = [Rule(x=0.0)] if x[0] <= 0 <= x[-1] else []
            marks = (shade, Line(x, density, points=False), *zero)
            note = f"Shaded: 95 %. Mean {number(mean, 3)}, standard deviation {number(sd, 3)}."
            panel = Panel(
                marks, Axis("coefficient", grid=False), Axis("density", zero=True), title=name,
                note=note, width=300, height=140,
            )  # fmt: skip
            panels.append(panel)
        title = "Posterior of the coefficients"
        return Picture(tuple(panels), title, title, columns=3)


coefficient_path = as_function("coefficient_path", CoefficientPathDisplay.from_estimator)
coefficients = as_function("coefficients", CoefficientsDisplay.from_estimator)
posterior = as_function("posterior", PosteriorDisplay.from_estimator)
