"""Scenes of ensembles: rounds with the weights of rows, staged predictions and errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.replays import prediction_maps
from pellucid.replays.panels import curves, letters, series
from pellucid.replays.recording import Recording
from pellucid.replays.row_plane import find_plane
from pellucid.replays.supervised import predictions

Panel = dict[str, Any]
LARGEST = 75  # the size of the heaviest row, in steps of 0.16 pixels


def ensemble(recording: Recording) -> list[Panel]:
    """Predictions so far, sizes of row weights, errors, and the other numbers of the rounds."""
    return [*_predictions(recording), *_errors(recording), *_numbers(recording)]


def sizes(recording: Recording) -> list[np.ndarray] | None:
    """Weight of every training row at each step, or the size of its gradient; None without them."""
    found: list[np.ndarray | None] = []
    for step in recording.steps:
        values = step.event.get("row_weights", step.event.get("gradients"))
        if values is None:
            found.append(None)
            continue
        values = np.abs(np.asarray(values, dtype=float))
        every = np.zeros(recording.rows.n_rows)
        every[step.event["rows"]] = values.sum(axis=1) if values.ndim > 1 else values
        found.append(every)
    first = next((values for values in found if values is not None), None)
    if first is None:
        return None
    return [np.full(len(first), first.mean()) if one is None else one for one in found]


def _predictions(recording: Recording) -> list[Panel]:
    plane = find_plane(recording)
    if plane is None or not recording.is_classifier:
        return predictions(recording)
    weights = sizes(recording)
    if weights is None:
        return [prediction_maps.regions(recording, plane)]
    top = max(float(w.max()) for w in weights) or 1.0
    radius = [letters(np.rint(LARGEST * np.sqrt(w[plane.drawn] / top))) for w in weights]
    kind = "gradient" if "gradients" in recording.steps[-1].event else "weight"
    note = f"The area of a row is proportional to its {kind} in this round."
    shown = {"r": {"s": series(radius)}}
    return [prediction_maps.regions(recording, plane, shown=shown, note=note)]


def _errors(recording: Recording) -> list[Panel]:
    lines = dict(recording.errors)
    out_of_bag = recording.numbers("oob_error")
    if np.isfinite(out_of_bag).any() and recording.is_classifier:
        lines["out-of-bag rows"] = out_of_bag
    if not lines:
        return []
    label = "share of wrong labels" if recording.is_classifier else "root mean squared error"
    found = [
        curves("Error by round", recording.iterations, lines, label, x_label="round", log=False)
    ]
    if np.isfinite(out_of_bag).sum() > 1 and not recording.is_classifier:
        line = {"out-of-bag rows": out_of_bag}
        unit = "unexplained share of the variance"
        found.append(
            curves("Out-of-bag error", recording.iterations, line, unit, x_label="round", log=False)
        )
    return found


def _numbers(recording: Recording) -> list[Panel]:
    """Curves of the numbers that rounds report."""
    titles = {
        "objective": "Training loss",
        "error": "Weighted error of each round",
        "weight": "Weight of each round",
    }
    found = []
    if recording.has("estimator_weights_"):
        titles.pop("objective")
    for name, title in titles.items():
        values = recording.numbers(name)
        if np.isfinite(values).sum() > 1:
            line = {name: values}
            label = "mean loss" if name == "objective" else name
            found.append(curves(title, recording.iterations, line, label, x_label="round"))
    return found
