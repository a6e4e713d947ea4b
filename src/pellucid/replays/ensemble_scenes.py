"""Scenes of ensembles: rounds with the weights of rows, staged predictions and errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.replays import prediction_maps
from pellucid.replays.panels import curves, letters, series
from pellucid.replays.plane import find_plane
from pellucid.replays.recording import Recording
from pellucid.replays.supervised import predictions

Panel = dict[str, Any]
LARGEST = 75  # the size of the heaviest row, in steps of 0.16 pixels


def ensemble(recording: Recording) -> list[Panel]:
    """Predictions so far, sizes of row weights, errors, and the other numbers of the rounds."""
    return [*_predictions(recording), *_errors(recording), *_numbers(recording)]


boosted = ensemble


def sizes(recording: Recording) -> list[np.ndarray] | None:
    """Weight of every training row at each step, or the size of its gradient; None without them."""
    found = []
    for step in recording.steps:
        weights = step.event.get("row_weights", step.event.get("gradients"))
        if weights is None:
            found.append(found[-1] if found else None)
            continue
        weights = np.abs(np.asarray(weights, dtype=float))
        found.append(weights.sum(axis=1) if weights.ndim > 1 else weights)
    first = next((weights for weights in found if weights is not None), None)
    if first is None or len(first) != recording.rows.n_rows:
        return None
    return [np.full(len(first), first.mean()) if w is None else w for w in found]


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
    if not lines:
        return []
    label = "share of wrong labels" if recording.is_classifier else "root mean squared error"
    return [
        curves("Error by round", recording.iterations, lines, label, x_label="round", log=False)
    ]


def _numbers(recording: Recording) -> list[Panel]:
    """Curves of the numbers that rounds report."""
    titles = {
        "objective": "Objective",
        "out_of_bag": "Out-of-bag score",
        "weighted_error": "Weighted error of the round",
        "estimator_weight": "Weight of the round",
    }
    found = []
    for name, title in titles.items():
        values = recording.numbers(name)
        if np.isfinite(values).sum() > 1:
            label = name.replace("_", " ")
            found.append(
                curves(title, recording.iterations, {label: values}, label, x_label="round")
            )
    return found
