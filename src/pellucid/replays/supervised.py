"""Panels that every model with a target has: its predictions, its objective and its errors by step."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.replays import prediction_maps
from pellucid.replays.panels import curves
from pellucid.replays.recording import Recording
from pellucid.replays.row_plane import find_plane

Panel = dict[str, Any]
MARGIN = "The dashed lines are the margin: the scores -1 and 1."


def supervised(recording: Recording) -> list[Panel]:
    """Predictions, objective and errors of any model with a target."""
    return [*predictions(recording), *progress(recording)]


def predictions(recording: Recording, **more: Any) -> list[Panel]:
    """Decision regions, a surface, a curve, or observed against predicted values."""
    if not recording.rebuilds:
        return []
    numeric = sorted(recording.numeric, key=lambda j: j not in recording.columns)
    single = len(recording.rows.as_columns()) == 1 or len(recording.columns) == 1
    if recording.is_classifier:
        if single and numeric and hasattr(recording.final, "predict_proba"):
            return [prediction_maps.curve(recording, numeric[0])]
        plane = find_plane(recording)
        return [] if plane is None else [prediction_maps.regions(recording, plane, **more)]
    if not recording.is_regressor:
        return []
    if single and numeric:
        return [prediction_maps.curve(recording, numeric[0])]
    if len(recording.columns) == 2 or (len(numeric) == 2 == recording.rows.n_columns):
        plane = find_plane(recording)
        assert plane is not None
        return [prediction_maps.surface(recording, plane)]
    return [prediction_maps.observed_against_predicted(recording)]


def progress(recording: Recording) -> list[Panel]:
    """The objective and the errors by iteration, where they vary."""
    found = []
    objective = recording.numbers("objective")
    known = int(np.isfinite(objective).sum())
    if known > 2 or known == len(objective) > 1:
        found.append(
            curves(
                "Objective",
                recording.iterations,
                {"objective": objective},
                recording.objective,
                x_label=recording.unit,
            )
        )
    if recording.errors:
        label = "share of wrong labels" if recording.is_classifier else "root mean squared error"
        found.append(
            curves(
                "Error",
                recording.iterations,
                recording.errors,
                label,
                x_label=recording.unit,
                log=False,
            )
        )
    return found
