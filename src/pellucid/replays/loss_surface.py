"""The objective of a linear model over two of its coefficients, with the path of a fit.

All other coefficients have their final values. A class whose objective `plot` does not know has no
surface.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.draw.label_text import clean
from pellucid.plot.models.parameter_grid import Objective, Slice, objective_of, penalty_units
from pellucid.replays.panels import axis, chart, letters, shortened, span
from pellucid.replays.recording import Recording

BANDS = 22  # bands of equal loss
WORK = 2e7  # rows times cells that are evaluated
FINEST, COARSEST = 150, 24  # cells along each side that are evaluated
SMOOTH = 100  # cells along each side that are drawn at least


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
    units = penalty_units(recording.final, X)
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
    penalty = objective.penalty(fixed).sum()
    return Slice(
        objective, names, path, rest if softmax else rest[:, 0], columns,
        _targets(recording, output if several else 1, softmax), output if softmax else None,
        float(penalty), own,
    )  # fmt: skip


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
