"""The plane on which a replay shows rows and predictions: that of `pellucid.plot`, with the rows that
are drawn and a grid of cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pellucid.data.intake import RawTable, raw_table
from pellucid.draw.label_text import clean
from pellucid.plot.models.plane import Plane, plane
from pellucid.replays.panels import axis
from pellucid.replays.recording import Recording

DRAWN = 600  # rows that are drawn
CELLS = 44  # cells of the grid along each side


@dataclass(frozen=True, eq=False)
class RowPlane:
    """A plane and the positions of the rows that are drawn on it."""

    plane: Plane
    drawn: np.ndarray
    left_out: str  # which rows are not drawn

    @property
    def points(self) -> np.ndarray:
        """Coordinates of the drawn rows."""
        return self.plane.points[self.drawn]

    @cached_property
    def limits(self) -> list[list[float]]:
        """Ranges of the two axes."""
        return [list(limits) for limits in self.plane.limits()]

    @property
    def axes(self) -> list[dict[str, Any]]:
        dates = [self.plane.dates.get(f"{name}_dates", False) for name in "xy"]
        return [
            axis(axis_name(label, date), limits)
            for label, date, limits in zip(self.plane.labels, dates, self.limits)
        ]

    def note(self, *before: str) -> str:
        """What stands below a chart on this plane."""
        return " ".join(part for part in (*before, self.plane.note, self.left_out) if part)

    def grid(self) -> RawTable:
        """Rows at the centres of the cells, from the top row of the picture down."""
        x, y = (low + (np.arange(CELLS) + 0.5) * (high - low) / CELLS for low, high in self.limits)
        return raw_table(self.plane.table(np.tile(x, CELLS), np.repeat(y[::-1], CELLS)))


def axis_name(name: str, dates: bool) -> str:
    """The name of a column; dates are drawn as numbers."""
    return clean(name, 40) + (" (days since 1970)" if dates else "")


def find_plane(recording: Recording) -> RowPlane | None:
    """The plane of the chosen columns; else of the most important ones, where the model has
    importances; else that of `pellucid.plot`. None with fewer than two numeric columns."""
    if len(recording.columns) == 1 or len(recording.numeric) < 2:
        return None
    columns: Any = recording.columns or _important(recording)
    if not columns and recording.numeric != recording.table.numeric:
        columns = recording.numeric[:2]  # others are constant, or levels for the model
    found = plane(recording.table, columns or None, recording.codes)
    usable = np.flatnonzero(np.isfinite(found.points).all(axis=1))
    notes = []
    if len(usable) < len(found.points):
        missing = len(found.points) - len(usable)
        notes.append(f"{missing} rows with a missing value in these columns are not drawn.")
    if len(usable) > DRAWN:
        notes.append(f"{DRAWN} of {len(usable)} rows are drawn.")
        usable = usable[np.linspace(0, len(usable) - 1, DRAWN).astype(int)]
    return RowPlane(found, usable, " ".join(notes))


def _important(recording: Recording) -> list[int]:
    """The two numeric columns with the largest importances of the model, if it has any."""
    importance = getattr(recording.final, "feature_importances_", None)
    if importance is None or len(importance) != recording.rows.n_columns:
        return []
    return sorted(recording.numeric, key=lambda j: -importance[j])[:2]
