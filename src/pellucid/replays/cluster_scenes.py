"""Scenes of models without a target: clusters, mixtures and embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.replays.panels import (
    MOST_CODES,
    axis,
    bars,
    chart,
    curves,
    letters,
    placed,
    series,
    shortened,
    span,
)
from pellucid.replays.prediction_maps import MOVES, MOVING, class_legend, points
from pellucid.replays.recording import Recording
from pellucid.replays.row_plane import DRAWN, RowPlane, find_plane

Panel = dict[str, Any]
BARS = 30  # clusters that have a bar each


def kmeans(recording: Recording) -> list[Panel]:
    """Rows in the colour of their nearest centre, and the centres with their paths."""
    centres = np.array(recording.states("cluster_centers_"))
    labels = [model.predict(recording.rows) for model in recording.models]
    rows, plane = recording.final._encoded(recording.rows), find_plane(recording)
    panels = []
    if plane is not None and centres.shape[1] <= MOST_CODES and isinstance(rows, np.ndarray):
        where = placer(plane, rows)
        if where is not None:
            drawn = [found[plane.drawn] for found in labels]
            panels.append(_clusters(plane, drawn, [where(c) for c in centres]))
    panels += _objective(recording, "sum of squared distances")
    if centres.shape[1] <= BARS:
        sizes = [np.bincount(found, minlength=centres.shape[1]) for found in labels]
        names = [f"cluster {k}" for k in range(centres.shape[1])]
        panels.append(bars("Rows by cluster", names, sizes, "rows", c=list(range(len(names)))))
    return panels


def placer(plane: RowPlane, rows: np.ndarray) -> Any:
    """Coordinates of encoded rows on the plane; both are affine in the rows, so they are solved for.
    None where the encoded rows do not determine the place."""
    design = np.column_stack([np.ones(len(plane.drawn)), rows[plane.drawn]])
    found, *_ = np.linalg.lstsq(design, plane.points, rcond=None)
    if not np.allclose(
        design @ found, plane.points, atol=1e-6 * np.ptp(plane.points, axis=0).max()
    ):
        return None
    return lambda centres: np.column_stack([np.ones(len(centres)), centres]) @ found


def _clusters(plane: RowPlane, labels: list[np.ndarray], places: list[np.ndarray]) -> Panel:
    dots = {
        "m": "points", "x": placed(plane.points[:, 0], plane.limits[0]),
        "y": placed(plane.points[:, 1], plane.limits[1]),
        "s": {"c": {"s": series(map(letters, labels))}},
    }  # fmt: skip
    k = len(places[0])
    trails = [
        {"m": "trail", "x": placed([p[j, 0] for p in places], plane.limits[0]),
         "y": placed([p[j, 1] for p in places], plane.limits[1]), "colour": j}
        for j in range(k)
    ]  # fmt: skip
    x, y = plane.axes
    centres = _centres(plane, places)
    legend = [[f"cluster {j}", j, "point"] for j in range(k)]
    note = plane.note("Large marks are the centres.")
    return chart("Clusters", x, y, [dots, *trails, centres], legend=legend, note=note)


def _centres(plane: RowPlane, places: list[np.ndarray]) -> dict[str, Any]:
    return {
        "m": "points", "x": [0] * len(places[0]), "c": list(range(len(places[0]))), "size": 7,
        "centre": True,
        "s": {
            "x": {"s": series(placed(p[:, 0], plane.limits[0]) for p in places)},
            "y": {"s": series(placed(p[:, 1], plane.limits[1]) for p in places)},
        },
    }  # fmt: skip


def mixture(recording: Recording) -> list[Panel]:
    """Components as ellipses of one and two standard deviations, and their weights."""
    plane = find_plane(recording)
    rows = recording.final._encoded(recording.rows)
    panels = []
    where = placer(plane, rows) if plane is not None and isinstance(rows, np.ndarray) else None
    k = len(recording.steps[0].state["means_"])
    if plane is not None and where is not None and k <= MOST_CODES:
        zero = where(np.zeros((1, rows.shape[1])))
        turn = where(np.eye(rows.shape[1])) - zero  # (d, 2)
        kind = recording.final.covariance_type
        ellipses = [ellipses_of(kind, step.state, where, turn) for step in recording.steps]
        labels = [model.predict(recording.rows.take(plane.drawn)) for model in recording.models]
        dots = points(recording, plane, s={"c": {"s": series(map(letters, labels))}})
        dots.pop("c", None)
        marks = [dots, {"m": "ellipses", "s": series(shortened(e) for e in ellipses)}]
        x, y = plane.axes
        legend = [[f"component {j}", j, "point"] for j in range(k)]
        note = plane.note("Ellipses are one and two standard deviations.")
        panels.append(chart("Components", x, y, marks, legend=legend, note=note))
    panels += _objective(recording, "objective")
    if recording.has("weights_") and k <= BARS:
        names = [f"component {j}" for j in range(k)]
        weights = recording.states("weights_")
        panels.append(bars("Weights", names, weights, "weight", c=list(range(k))))
    return panels


def ellipses_of(kind: str, state: dict[str, Any], where: Any, turn: np.ndarray) -> np.ndarray:
    """Centre and Cholesky factor (a; b, d) of every component on the plane."""
    means = where(np.asarray(state["means_"]))
    found = []
    for k, mean in enumerate(means):
        factor = np.linalg.cholesky(turn.T @ covariance(kind, state, k) @ turn + 1e-12 * np.eye(2))
        found.append([*mean, factor[0, 0], factor[1, 0], factor[1, 1]])
    return np.array(found)


def covariance(kind: str, state: dict[str, Any], k: int) -> np.ndarray:
    """The covariance matrix of component k."""
    stored = np.asarray(state["covariances_"])
    if kind == "tied":
        return stored
    if kind == "full":
        return stored[k]
    return np.diag(np.broadcast_to(stored[k], np.shape(state["means_"])[1]))


def embedding(recording: Recording) -> list[Panel]:
    """The points of an embedding as they move."""
    steps = [np.asarray(e) for e in recording.states("embedding_")]
    chosen = np.arange(len(steps[0]))
    most = max(60, min(DRAWN, MOVES // len(steps)))
    if len(chosen) > most:
        chosen = np.linspace(0, len(chosen) - 1, most).astype(int)
    limits = [span(steps[-1][:, k], 0.06) for k in (0, 1)]
    dots: dict[str, Any] = {
        "m": "points", "x": [0] * len(chosen),
        "s": {
            "x": {"s": series(placed(p[chosen, 0], limits[0], MOVING) for p in steps)},
            "y": {"s": series(placed(p[chosen, 1], limits[1], MOVING) for p in steps)},
        },
    }  # fmt: skip
    if recording.codes is not None:
        dots["c"] = [int(k) for k in recording.codes[chosen]]
    note = (
        f"{len(chosen)} of {len(steps[0])} rows are drawn." if len(chosen) < len(steps[0]) else ""
    )
    found = chart(
        "Embedding", axis("dimension 1", limits[0]), axis("dimension 2", limits[1]), [dots],
        legend=class_legend(recording), note=note,
    )  # fmt: skip
    return [found, *_objective(recording, "objective")]


def _objective(recording: Recording, label: str) -> list[Panel]:
    values = recording.numbers("objective")
    history = getattr(recording.final, "history_", None)
    if np.isfinite(values).sum() < 2 and history is not None:  # it was not computed at every step
        values[:] = np.nan
        place = np.searchsorted(recording.iterations, history["iteration"])
        values[place.clip(max=len(values) - 1)] = history["objective"]
    if np.isfinite(values).sum() < 2:
        return []
    return [curves("Objective", recording.iterations, {"objective": values}, label)]
