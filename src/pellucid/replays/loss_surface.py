"""The objective of a linear model over two of its coefficients: the ground that a descent walks on.

All other coefficients have their final values. The objectives are those in the docstrings of the
classes, divided by the number of rows; a class that is not listed has no surface.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.draw.label_text import clean
from pellucid.numerics import column_scaling
from pellucid.replays.panels import axis, chart, letters, shortened, span
from pellucid.replays.recording import Recording

BANDS = 22  # bands of equal loss
WORK = 2e7  # rows times cells that are evaluated
FINEST, COARSEST = 150, 24  # cells along each side that are evaluated
SMOOTH = 100  # cells along each side that are drawn at least


def _saturated(t: np.ndarray) -> np.ndarray:
    """t log(t) - t, so that the deviance of a perfect prediction is 0."""
    return np.where(t > 0, t * np.log(np.where(t > 0, t, 1.0)), 0.0) - t


def _log1p_exp(z: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, z)


# Mean loss by name, of scores z and targets t (-1 or 1 for classes).
LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "log_loss": lambda z, t: _log1p_exp(-t * z),
    "hinge": lambda z, t: np.maximum(0.0, 1.0 - t * z),
    "squared_hinge": lambda z, t: np.maximum(0.0, 1.0 - t * z) ** 2,
    "perceptron": lambda z, t: np.maximum(0.0, -t * z),
    "squared_error": lambda z, t: (t - z) ** 2 / 2,
    "poisson": lambda z, t: np.exp(np.minimum(z, 700.0)) - t * z + _saturated(t),
}


@dataclass(frozen=True)
class Objective:
    """Mean loss of the rows plus l1 |b|_1 + l2 |b|^2 / 2; `label` names it."""

    loss: str
    l1: float
    l2: float
    label: str


def objective_of(model: Any, n: int) -> Objective | None:
    """The objective of a fitted model with n rows, if it is known."""
    name, get = type(model).__name__, model.get_params(deep=False).get
    if get("class_weight") or get("firth"):
        return None
    if name == "LogisticRegression":
        weight = 0.0 if np.isinf(get("C")) else 1 / (get("C") * n)
        ratio = get("l1_ratio") or 0.0
        return Objective("log_loss", ratio * weight, (1 - ratio) * weight, "mean log loss")
    if name in ("LinearRegression", "Ridge") and np.ndim(get("alpha", 0.0)) == 0:
        return Objective("squared_error", 0.0, get("alpha", 0.0) / n, "mean squared error / 2")
    if name in ("Lasso", "ElasticNet"):
        ratio = get("l1_ratio", 1.0)
        l1, l2 = get("alpha") * ratio, get("alpha") * (1 - ratio)
        return Objective("squared_error", l1, l2, "mean squared error / 2")
    if name == "Perceptron":
        return Objective("perceptron", 0.0, 0.0, "mean perceptron loss")
    if name in ("SGDClassifier", "SGDRegressor") and get("loss") in LOSSES:
        ratio = {"l1": 1.0, "l2": 0.0, None: 0.0}.get(get("penalty"), get("l1_ratio"))
        weight = get("alpha") if get("penalty") else 0.0
        label = f"mean {get('loss').replace('_', ' ')}"
        return Objective(get("loss"), ratio * weight, (1 - ratio) * weight, label)
    if name == "PoissonRegressor":
        return Objective("poisson", 0.0, get("alpha"), "mean deviance / 2")
    return None


@dataclass(frozen=True, eq=False)
class Slice:
    """The objective as a function of two parameters, and the path of the fit on them."""

    objective: Objective
    names: tuple[str, ...]
    path: np.ndarray  # (steps, 2)
    rest: np.ndarray  # scores without the two, (n,) or (n, K)
    columns: np.ndarray  # what the two parameters are multiplied by, (n, 2)
    targets: np.ndarray  # -1 or 1, numbers, or class codes of a softmax
    output: int | None  # the class whose coefficients vary, of a softmax
    penalty: float  # of the other coefficients
    units: np.ndarray  # what the two are multiplied by in the penalty; 0 for an intercept

    def values(self, pairs: np.ndarray) -> np.ndarray:
        """The objective at each row of (m, 2) parameters."""
        scores = self.columns @ pairs.T  # (n, m)
        if self.output is None:
            loss = LOSSES[self.objective.loss](
                scores + self.rest[:, None], self.targets[:, None]
            ).mean(axis=0)
        else:
            k = self.output
            others = np.logaddexp.reduce(np.delete(self.rest, k, axis=1), axis=1)
            own = scores + self.rest[:, k, None]
            hit = np.take_along_axis(self.rest, self.targets[:, None], axis=1)
            chosen = np.where(self.targets[:, None] == k, own, hit)
            loss = (np.logaddexp(own, others[:, None]) - chosen).mean(axis=0)
        free = pairs * self.units
        o = self.objective
        return loss + self.penalty + (o.l1 * np.abs(free) + o.l2 * free**2 / 2).sum(axis=1)


def find_slice(recording: Recording) -> Slice | None:
    """The two chosen coefficients, or the two that matter most; with one column, the intercept and
    its coefficient."""
    objective = objective_of(recording.final, recording.rows.n_rows)
    single = recording.is_classifier or recording.is_regressor
    if objective is None or not single or not recording.has("coef_", "intercept_"):
        return None
    X = recording.final._encoded(recording.rows)
    coefs = np.array([np.atleast_2d(c) for c in recording.states("coef_")])  # steps, K, d
    starts = np.array([np.atleast_1d(b) for b in recording.states("intercept_")])  # steps, K
    if not isinstance(X, np.ndarray) or starts.shape[1] != coefs.shape[1]:
        return None
    output = int(np.abs(coefs[-1]).max(axis=1).argmax())
    softmax = coefs.shape[1] > 1 and recording.fit.source == "LogisticRegression"
    if not softmax:  # each class against all others
        coefs, starts = coefs[:, [output]], starts[:, [output]]
    return _slice(recording, objective, X.astype(float), coefs, starts, output)


def _slice(
    recording: Recording, objective: Objective, X: np.ndarray, coefs: np.ndarray,
    starts: np.ndarray, output: int,
) -> Slice:  # fmt: skip
    several = recording.is_classifier and len(recording.classes) > 2
    softmax = coefs.shape[1] > 1
    k = output if softmax else 0
    terms = [clean(term, 30) for term in recording.final.terms_]
    units = _penalty_units(recording, X)
    if X.shape[1] == 1:
        path = np.column_stack([starts[:, k], coefs[:, k, 0]])
        columns = np.column_stack([np.ones(len(X)), X[:, 0]])
        names: tuple[str, ...] = ("intercept", f"coefficient of {terms[0]}")
        pair: tuple[int, ...] = (0,)
        own = np.array([0.0, units[0]])
    else:
        pair = _pair(recording, X, coefs[-1, k])
        path, columns, own = coefs[:, k, pair], X[:, pair], units[list(pair)]
        names = tuple(f"coefficient of {terms[j]}" for j in pair)
    if several:
        names = tuple(f"{name} for {recording.classes[output]}" for name in names)
    rest = X @ coefs[-1].T + starts[-1]
    rest[:, k] -= columns @ path[-1]
    fixed = coefs[-1] * units
    fixed[k, list(pair)] = 0.0
    penalty = objective.l1 * np.abs(fixed).sum() + objective.l2 * (fixed**2).sum() / 2
    return Slice(
        objective, names, path, rest if softmax else rest[:, 0], columns,
        _targets(recording, output if several else 1, softmax), output if softmax else None,
        float(penalty), own,
    )  # fmt: skip


def _penalty_units(recording: Recording, X: np.ndarray) -> np.ndarray:
    """What coefficients are multiplied by before they are penalised."""
    if not recording.final.get_params(deep=False).get("standardize"):
        return np.ones(X.shape[1])
    return column_scaling.units(X, np.ones(len(X)), recording.final.schema_)[1]


def _targets(recording: Recording, positive: int, softmax: bool) -> np.ndarray:
    """Class codes of a softmax, -1 or 1 for one class against the others, or numbers."""
    if not recording.is_classifier:
        return recording.y.astype(float)
    return recording.codes if softmax else np.where(recording.codes == positive, 1.0, -1.0)


def _pair(recording: Recording, X: np.ndarray, coef: np.ndarray) -> tuple[int, ...]:
    """Positions of the chosen columns, else of the two largest contributions |coef| * deviation."""
    owner = recording.final.schema_.owner
    chosen = [int(np.flatnonzero(np.asarray(owner) == j)[0]) for j in recording.columns]
    order = np.argsort(-np.abs(coef) * X.std(axis=0), kind="stable")
    found = chosen + [int(j) for j in order if j not in chosen]
    return tuple(found[:2])


def descent(recording: Recording) -> dict[str, Any] | None:
    """The path of two parameters over bands of equal loss."""
    section = find_slice(recording)
    if section is None:
        return None
    limits = [_around(section.path[:, k]) for k in (0, 1)]
    values, n = _surface(section, limits)
    low, high = values.min(), np.quantile(values, 0.97)
    share = np.sqrt((values - low) / (high - low or 1.0))
    bands = np.clip((share * BANDS).astype(int), 0, BANDS - 1)
    grid = {
        "m": "grid", "nx": n, "ny": n, "box": [shortened(v, 8) for v in (*limits[0], *limits[1])],
        "classes": 0, "levels": BANDS, "s": [letters(bands)], "colour": 5,
    }  # fmt: skip
    trail = {
        "m": "trail", "x": shortened(section.path[:, 0], 7), "y": shortened(section.path[:, 1], 7),
        "colour": 1,
    }  # fmt: skip
    penalty = " with the penalty" if section.objective.l1 or section.objective.l2 else ""
    rest = (
        ""
        if len(recording.final.terms_) == 1
        else " All other coefficients have their final values."
    )
    note = (
        f"Bands of equal {section.objective.label}{penalty}, from {low:.4g} (deep colour) to "
        f"{high:.4g} and above.{rest}"
    )
    return chart(
        "Path over the loss", axis(section.names[0], limits[0]), axis(section.names[1], limits[1]),
        [grid, trail], note=note,
    )  # fmt: skip


def _surface(section: Slice, limits: list[list[float]]) -> tuple[np.ndarray, int]:
    """The objective at the centres of n x n cells, from the top row down, and n. With many rows it is
    evaluated on fewer cells and interpolated, because it is smooth."""
    n = int(np.clip((WORK / len(section.columns)) ** 0.5, COARSEST, FINEST))
    x, y = (_cells(limit, n) for limit in limits)
    pairs = np.column_stack([np.tile(x, n), np.repeat(y, n)])
    values = np.concatenate([section.values(part) for part in np.array_split(pairs, n)])
    if n < SMOOTH:
        from scipy.interpolate import RectBivariateSpline

        spline = RectBivariateSpline(y, x, values.reshape(n, n))
        values, n = spline(_cells(limits[1], SMOOTH), _cells(limits[0], SMOOTH)), SMOOTH
    return values.reshape(n, n)[::-1].ravel(), n


def _cells(limits: list[float], n: int) -> np.ndarray:
    low, high = limits
    return low + (np.arange(n) + 0.5) * (high - low) / n


def _around(path: np.ndarray) -> list[float]:
    """The range of a path, and as much beyond its end as it came from."""
    low, high = span(path, 0.12)
    reach = 0.35 * (high - low)
    return [min(low, float(path[-1]) - reach), max(high, float(path[-1]) + reach)]
