"""Panels of predictions: decision regions, a surface, a curve, and observed against predicted values.

Each shows the model of every step on the same axes, beside the training rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.data.intake import raw_table
from pellucid.replays.panels import (
    MOST_CODES,
    axis,
    chart,
    letters,
    placed,
    series,
    shortened,
    span,
)
from pellucid.replays.recording import Recording
from pellucid.replays.row_plane import DRAWN, RowPlane, axis_name

LEVELS = 16  # steps of the lead of a class that decision regions distinguish
MARGIN_LEVELS = 80  # finer, because the margin is drawn inside the classes
SURFACE = 41  # steps of a predicted number
MOVING = 800  # parts of an axis that moving points distinguish
MOVES = 40_000  # points times steps of moving points
CURVE = 90  # points of a curve


def points(recording: Recording, plane: RowPlane, **more: Any) -> dict[str, Any]:
    """The drawn rows: by class, by target (as a share of the colour scale), or all alike."""
    found: dict[str, Any] = {
        "m": "points",
        "x": placed(plane.points[:, 0], plane.limits[0]),
        "y": placed(plane.points[:, 1], plane.limits[1]),
    }
    if recording.codes is not None and len(recording.classes) <= MOST_CODES:
        found["c"] = [int(k) for k in recording.codes[plane.drawn]]
    return {**found, **more}


def class_legend(recording: Recording) -> list[Any]:
    return [[name, k, "point"] for k, name in enumerate(recording.classes)]


def regions(
    recording: Recording,
    plane: RowPlane,
    *,
    title: str = "Predicted classes",
    shown: dict[str, Any] | None = None,
    legend: list[Any] | None = None,
    margin: bool = False,
    note: str = "",
) -> dict[str, Any]:
    """Decision regions of every step; colours are stronger where the class is further before the next.
    `shown` has the series of the points, and `margin` draws the lines of the scores -1 and 1."""
    table = plane.grid()
    most = MARGIN_LEVELS if margin else LEVELS
    levels = min(most, MOST_CODES // len(recording.classes))
    cells = [class_cells(recording, model, table, levels, margin) for model in recording.models]
    n = int(len(table.as_columns()[0].values) ** 0.5)
    grid = {
        "m": "grid", "nx": n, "ny": n, "box": [shortened(v, 8) for v in _box(plane)],
        "classes": len(recording.classes), "levels": levels, "s": series(map(letters, cells)),
        **_hard(recording),
    }  # fmt: skip
    if margin:
        grid["margin"] = 0.5  # half of the score 1, as in `lead`
    rows, codes = recording.rows.take(plane.drawn), recording.codes[plane.drawn]
    wrong = [
        letters(recording.codes_of(model.predict(rows)) != codes) for model in recording.models
    ]
    shown = {"bad": {"s": series(wrong)}, **(shown or {})}
    x, y = plane.axes
    return chart(
        title, x, y, [grid, points(recording, plane, s=shown)],
        legend=[*class_legend(recording), ["misclassified", "bad", "cross"], *(legend or [])],
        note=plane.note(note),
    )  # fmt: skip


def class_cells(
    recording: Recording, model: Any, table: Any, levels: int, margin: bool = False
) -> np.ndarray:
    """Predicted class and lead of each row: class * levels + level; a lead is (level / levels)**2."""
    codes = recording.codes_of(model.predict(table))
    share = np.clip(lead(model, table, codes, margin), 0.0, 1.0)
    return codes * levels + np.minimum((np.sqrt(share) * levels).astype(int), levels - 1)


def lead(model: Any, table: Any, codes: np.ndarray, margin: bool = False) -> np.ndarray:
    """How far the predicted class is before the next one: a difference of probabilities, or of scores
    on their own scale; with `margin`, half the size of the score. 1 for a model without either."""
    if margin:
        return np.abs(model.decision_function(table)) / 2
    if hasattr(model, "predict_proba"):
        return _before_next(model.predict_proba(table), codes)
    if not hasattr(model, "decision_function"):
        return np.ones(len(codes))
    scores = np.asarray(model.decision_function(table))
    ahead = np.abs(scores) if scores.ndim == 1 else _before_next(scores, codes)
    return np.tanh(ahead / (np.median(np.abs(ahead)) or 1.0))


def _before_next(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    if values.shape[1] <= codes.max():  # scores of pairs of classes
        return np.ones(len(codes))
    own = np.take_along_axis(values, codes[:, None], axis=1)[:, 0]
    others = values.copy()
    np.put_along_axis(others, codes[:, None], -np.inf, axis=1)
    return own - others.max(axis=1)


def _hard(recording: Recording) -> dict[str, bool]:
    """Trees have sharp edges; the predictions of other models change gradually."""
    return {"hard": True} if hasattr(recording.final, "feature_importances_") else {}


def _box(plane: RowPlane) -> list[float]:
    return [*plane.limits[0], *plane.limits[1]]


def surface(recording: Recording, plane: RowPlane) -> dict[str, Any]:
    """The predicted number over the plane; rows have the colour of their observed number."""
    table = plane.grid()
    y = recording.y.astype(float)
    middle, reach = float(y.mean()), float(np.abs(y - y.mean()).max()) or 1.0

    def shares(values: np.ndarray) -> np.ndarray:
        return np.clip((values - middle) / reach, -1, 1)

    cells = [
        np.rint((shares(model.predict(table).ravel()) + 1) / 2 * (SURFACE - 1))
        for model in recording.models
    ]
    n = int(len(cells[0]) ** 0.5)
    grid = {
        "m": "grid", "nx": n, "ny": n, "box": [shortened(v, 8) for v in _box(plane)],
        "classes": 0, "levels": SURFACE, "diverging": True, "bare": True,
        "s": series(map(letters, cells)), **_hard(recording),
    }  # fmt: skip
    dots = points(recording, plane, v=shortened(shares(y[plane.drawn]), 3))
    dots.pop("c", None)
    low, high = (f"{v:.4g}" for v in (middle - reach, middle + reach))
    note = f"Colours of the surface and of the rows run from {low} to {high}."
    ax, ay = plane.axes
    legend = [["below the mean of y", 1, "swatch"], ["above the mean of y", 0, "swatch"]]
    return chart("Predicted surface", ax, ay, [grid, dots], note=plane.note(note), legend=legend)


def curve(recording: Recording, column: int) -> dict[str, Any]:
    """Prediction along one column, the others at typical values: a line, or a probability."""
    source, drawn = recording.table, _spread(recording.rows.n_rows)
    values = source.values(column)
    limits = span(values)
    at = np.linspace(limits[0], limits[1], CURVE)
    table = raw_table(source.rows(CURVE, {column: at}))
    if recording.is_regressor:
        lines = [model.predict(table).ravel() for model in recording.models]
        observed, label = recording.y.astype(float), recording.target
    else:
        last = recording.classes[-1]
        lines = [model.predict_proba(table)[:, -1] for model in recording.models]
        observed = (recording.codes == len(recording.classes) - 1).astype(float)
        label = f"probability of {last}"
    seen = span(observed, 0.08)
    wide = span(np.clip(np.concatenate(lines), seen[0] - np.ptp(seen), seen[1] + np.ptp(seen)))
    y_limits = [min(seen[0], wide[0]), max(seen[1], wide[1])]
    marks: list[dict[str, Any]] = [
        {"m": "points", "x": placed(values[drawn], limits),
         "y": placed(observed[drawn], y_limits), "colour": 1, "round": True},
        {"m": "line", "x": placed(at, limits), "colour": 0,
         "s": series(placed(line, y_limits, MOVING) for line in lines)},
    ]  # fmt: skip
    name = axis_name(source.names[column], source.columns[column].kind == "datetime")
    return chart("The fitted curve", axis(name, limits), axis(label, y_limits), marks)


def observed_against_predicted(recording: Recording) -> dict[str, Any]:
    """Observed numbers against the predictions of every step; a perfect model is on the line."""
    drawn = _spread(recording.rows.n_rows, max(60, MOVES // len(recording.steps)))
    rows, y = recording.rows.take(drawn), recording.y.astype(float)[drawn]
    predicted = [model.predict(rows).ravel() for model in recording.models]
    limits = span(y, 0.06)
    far = span(np.concatenate([predicted[0], predicted[-1]]), 0.06)
    reach = [min(limits[0], far[0]), max(limits[1], far[1])]
    marks = [
        {"m": "line", "x": reach, "y": reach, "colour": "muted", "dash": [4, 3], "width": 1.2},
        {"m": "points", "x": placed(y, reach), "y": placed(y, reach), "round": True,
         "s": {"x": {"s": series(placed(np.clip(p, -1e12, 1e12), reach, MOVING) for p in predicted)}}},
    ]  # fmt: skip
    note = f"{len(drawn)} of {recording.rows.n_rows} rows are drawn."
    return chart(
        "Observed against predicted", axis("predicted", reach), axis("observed", reach), marks,
        note=note if len(drawn) < recording.rows.n_rows else "",
    )  # fmt: skip


def _spread(n: int, limit: int = DRAWN) -> np.ndarray:
    """At most `limit` rows, and `DRAWN`, evenly spaced."""
    limit = min(limit, DRAWN)
    return np.arange(n) if n <= limit else np.linspace(0, n - 1, limit).astype(int)
