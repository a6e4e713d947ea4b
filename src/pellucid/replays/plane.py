"""The plane on which a replay shows rows and predictions: two columns, or two directions.

A plane places rows (`points`) and turns its own coordinates back into rows (`table`), with everything
else at a typical value. Invariant: `points` of the rows of `table(z)` are z.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.data.intake import RawTable
from pellucid.draw.label_text import clean
from pellucid.replays.panels import axis, span
from pellucid.replays.recording import NUMERIC, Recording

DRAWN = 600  # rows that are drawn
CELLS = 44  # cells of the grid along each side


@dataclass(frozen=True, eq=False)
class Plane:
    """Two directions through the table.

    labels : names of the two axes
    about : what the axes are
    rest : where everything else stands in the rows of `table`
    left_out : which rows are not drawn
    points : coordinates of the drawn rows
    drawn : positions of these rows in the table
    table : turns coordinates into rows that a model can predict
    limits : ranges of the two axes
    columns : positions of the two columns, empty if the axes are directions
    """

    labels: tuple[str, str]
    about: str
    rest: str
    left_out: str
    points: np.ndarray
    drawn: np.ndarray
    table: Callable[[np.ndarray], RawTable]
    limits: tuple[list[float], ...]
    columns: tuple[int, ...] = ()

    @property
    def axes(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return axis(self.labels[0], self.limits[0]), axis(self.labels[1], self.limits[1])

    def note(self, *before: str, regions: bool = False) -> str:
        """What stands below a chart on this plane."""
        parts = (*before, self.about, self.rest if regions else "", self.left_out)
        return " ".join(part for part in parts if part)

    def grid(self) -> tuple[RawTable, np.ndarray]:
        """Rows at the centres of the cells, from the top row of the picture down, and their
        coordinates."""
        x, y = (low + (np.arange(CELLS) + 0.5) * (high - low) / CELLS for low, high in self.limits)
        z = np.column_stack([np.tile(x, CELLS), np.repeat(y[::-1], CELLS)])
        return self.table(z), z


def find_plane(recording: Recording) -> Plane | None:
    """The plane of the chosen columns, or the one that shows most; None with fewer than two
    numeric columns."""
    columns = recording.rows.as_columns()
    numeric = recording.numeric
    if len(recording.columns) == 2:
        return _of_columns(recording, recording.columns)
    if len(numeric) < 2 or recording.columns:
        return None
    if len(numeric) == 2:
        return _of_columns(recording, tuple(numeric))
    importance = getattr(recording.final, "feature_importances_", None)
    if importance is not None and len(importance) == len(columns):
        best = sorted(numeric, key=lambda j: -importance[j])[:2]
        return _of_columns(recording, tuple(best))
    matrix = np.column_stack([columns[j].values for j in numeric])
    if len(numeric) == len(columns) and np.isfinite(matrix).all():
        return _of_directions(recording, matrix)
    return _of_columns(recording, _most_different(recording, matrix, numeric))


def _known(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]


# Columns ----------------------------------------------------------------------------------------


def _of_columns(recording: Recording, pair: tuple[int, ...]) -> Plane:
    rows = recording.rows
    columns = rows.as_columns()
    points = np.column_stack([columns[j].values for j in pair])
    names = [axis_name(rows, j) for j in pair]
    others = len(columns) - 2
    middle = [typical(column) for column in columns]

    def table(z: np.ndarray) -> RawTable:
        made = [
            replace(c, values=z[:, pair.index(j)] if j in pair else np.repeat(middle[j], len(z)))
            for j, c in enumerate(columns)
        ]
        if rows.dense is not None:
            return RawTable(len(z), rows.names, dense=np.column_stack([c.values for c in made]))
        return RawTable(len(z), rows.names, columns=made)

    rest = ""
    if others:
        many = (
            "The other column has its" if others == 1 else f"The other {others} columns have their"
        )
        rest = f"{many} median or most frequent value in the regions."
    return _finished(names, "", rest, points, table, pair)


def axis_name(rows: RawTable, j: int) -> str:
    """The name of a column; dates are drawn as numbers."""
    dates = rows.columns is not None and rows.columns[j].kind == "datetime"
    return clean(rows.name(j), 40) + (" (days since 1970)" if dates else "")


def typical(column: Any) -> np.ndarray:
    """The median or the most frequent level of a column, as an array of one value."""
    values = column.values
    if column.kind in NUMERIC:
        known = _known(values)
        return np.array([np.median(known) if known.size else 0.0])
    if column.kind == "categorical":
        counts = np.bincount(values[values >= 0], minlength=1)
        return np.array([counts.argmax()], dtype=values.dtype)
    return values[:1]


def _most_different(
    recording: Recording, matrix: np.ndarray, numeric: list[int]
) -> tuple[int, ...]:
    """The two columns whose values differ most between classes, or follow y most closely."""
    strength = []
    for values in matrix.T:
        ok = np.isfinite(values)
        spread = values[ok].std() or 1.0
        if recording.codes is not None:
            codes = recording.codes[ok]
            means = np.array([values[ok][codes == k].mean() for k in np.unique(codes)])
            strength.append(means.std() / spread)
        elif recording.y is not None and recording.y.ndim == 1:
            strength.append(abs(np.corrcoef(values[ok], recording.y[ok].astype(float))[0, 1]))
        else:
            strength.append(0.0)
    best = np.argsort(-np.nan_to_num(np.array(strength)), kind="stable")[:2]
    return tuple(numeric[k] for k in best)


# Directions -------------------------------------------------------------------------------------


def _of_directions(recording: Recording, matrix: np.ndarray) -> Plane:
    """The first two linear discriminants where there are classes, else principal directions."""
    centre = matrix.mean(axis=0)
    spread = matrix.std(axis=0)
    spread[spread == 0] = 1.0
    z = (matrix - centre) / spread
    about = f"The axes are the first two {{}} of all {matrix.shape[1]} columns."
    if recording.codes is not None and 1 < len(recording.classes) < len(matrix) / 3:
        directions, lift = discriminants(z, recording.codes)
        labels, about = ("discriminant 1", "discriminant 2"), about.format("linear discriminants")
        if len(recording.classes) == 2:
            labels = ("discriminant", "direction 2")
            about = (
                f"The first axis is the linear discriminant of all {matrix.shape[1]} columns, the "
                "second the direction of largest remaining variance."
            )
    else:
        directions = lift = principal(z)
        labels = ("principal direction 1", "principal direction 2")
        about = about.format("principal directions")
    names = recording.rows.names

    def table(coordinates: np.ndarray) -> RawTable:
        dense = centre + (coordinates @ lift.T) * spread
        return RawTable(len(dense), names, dense=dense)

    rest = "The regions are those of the plane through the mean of the rows."
    return _finished(labels, about, rest, z @ directions, table)


def principal(z: np.ndarray) -> np.ndarray:
    """The two principal directions of centred columns, as the columns of a (d, 2) matrix."""
    directions = np.linalg.svd(z, full_matrices=False)[2][:2].T
    return directions * np.where(directions[np.abs(directions).argmax(axis=0), [0, 1]] < 0, -1, 1)


def discriminants(z: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions W (d, 2) that separate the classes best, and the lift L with W'L = I that keeps the
    rest at the mean. With two classes, the second one is the direction of largest variance that is
    uncorrelated with the first within the classes."""
    means = np.array([z[codes == k].mean(axis=0) for k in np.unique(codes)])
    counts = np.array([np.sum(codes == k) for k in np.unique(codes)])
    inside = z - means[np.searchsorted(np.unique(codes), codes)]
    within = inside.T @ inside / len(z) + 1e-6 * np.eye(z.shape[1])
    values, vectors = np.linalg.eigh(within)
    root, inverse = (vectors * np.sqrt(values)) @ vectors.T, (vectors / np.sqrt(values)) @ vectors.T
    white = (means * np.sqrt(counts)[:, None]) @ inverse
    axes = np.linalg.svd(white, full_matrices=False)[2][: min(2, len(means) - 1)]
    if len(axes) < 2:
        for direction in np.linalg.svd(z, full_matrices=False)[2]:
            other = root @ direction
            other = other - axes[0] * (axes[0] @ other)
            if np.linalg.norm(other) > 1e-3:
                break
        axes = np.vstack([axes, other / np.linalg.norm(other)])
    return inverse @ axes.T, root @ axes.T


def _finished(
    labels: Any, about: str, rest: str, points: np.ndarray, table: Callable, columns: Any = ()
) -> Plane:
    usable = np.flatnonzero(np.isfinite(points).all(axis=1))
    limits = tuple(span(points[usable, k], 0.06) for k in (0, 1))
    notes = []
    missing = len(points) - len(usable)
    if missing:
        notes.append(f"{missing} rows with a missing value in these columns are not drawn.")
    if len(usable) > DRAWN:
        notes.append(f"{DRAWN} of {len(usable)} rows are drawn.")
        usable = usable[np.linspace(0, len(usable) - 1, DRAWN).astype(int)]
    return Plane(
        tuple(labels),
        about,
        rest,
        " ".join(notes),
        points[usable],
        usable,
        table,
        limits,
        tuple(columns),
    )
