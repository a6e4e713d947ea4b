"""The frame of a picture of three dimensions: a cube with its axes, names and ends."""

from __future__ import annotations

import itertools

import numpy as np

from pellucid.draw.number import number
from pellucid.plot.models.geometry import View
from pellucid.plot.models.model_marks import ends_of, xy
from pellucid.plot.picture import Axis, Mark, Segments, Text

LEFT, RIGHT = -1.2, 1.4  # of the picture, where the cube is about from -0.7 to 0.7
EM = 13.5  # em of a bold name per unit


def unit_cube(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and highest finite value of each of the three columns; never equal."""
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    return low, np.where(high > low, high, low + 1.0)


def placed(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Points in the unit cube."""
    return (points - low) / (high - low)


def plain_axes() -> tuple[Axis, Axis]:
    """Axes without numbers that leave room for the texts around the cube."""
    return Axis(low=LEFT, high=RIGHT, ticks=False, grid=False), Axis(
        low=-1.0, high=1.05, ticks=False, grid=False
    )


def cube_marks(view: View, names: list[str], low: np.ndarray, high: np.ndarray) -> list[Mark]:
    """The three faces behind the data, and names and ends of the axes at the outer edges."""
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    flat, depth = view(corners)
    nearest = corners[depth.argmax()]
    edges = [
        (a, b)
        for a, b in itertools.combinations(range(8), 2)
        if (corners[a] != corners[b]).sum() == 1
        and not (corners[a] == nearest).all()
        and not (corners[b] == nearest).all()
    ]
    lines = np.array([[*flat[a], *flat[b]] for a, b in edges])
    marks: list[Mark] = [Segments(*ends_of(lines), widths=[0.8] * len(lines), index=None)]
    for axis in range(3):
        marks += _axis_texts(view, axis, names[axis], (low[axis], high[axis]))
    return marks


def _axis_texts(view: View, axis: int, name: str, ends: tuple[float, float]) -> list[Mark]:
    """The name at the middle and the ends at the corners of the outermost edge of an axis."""
    others = [k for k in range(3) if k != axis]
    best: tuple[float, np.ndarray] | None = None
    for fixed in itertools.product((0.0, 1.0), repeat=2):
        edge = np.zeros((3, 3))
        edge[:, axis] = (0.0, 0.5, 1.0)
        edge[:, others] = fixed
        flat, _ = view(edge)
        # The vertical axis stands on the left, the others below.
        reach = -flat[1, 0] if axis == 2 else -flat[1, 1]
        if best is None or reach > best[0]:
            best = (float(reach), flat)
    assert best is not None
    flat = best[1]
    along = flat[2] - flat[0]
    out = np.array([along[1], -along[0]]) / max(float(np.hypot(*along)), 1e-9)
    out = out if out @ flat[1] >= 0 else -out
    written = [number(end, 3) for end in ends]
    if axis == 2:
        corners, _ = view(np.array(list(itertools.product((0.0, 1.0), repeat=3))))
        top = [corners[:, 0].min() - 0.12], [corners[:, 1].max() + 0.1]
        beside = Text(flat[[0, 2], 0] - 0.03, flat[[0, 2], 1], written, anchor="end", size=11)
        return [Text(*top, [name], anchor="start", bold=True, em=24.0), beside]
    ends_at = np.array([flat[0] + 0.05 * along, flat[2] - 0.05 * along]) + 0.06 * out
    place = flat[1] + 0.08 * out
    anchor = "start" if out[0] > 0.2 else "end" if out[0] < -0.2 else "middle"
    room = {"start": RIGHT - place[0], "end": place[0] - LEFT}.get(anchor, 1.0)
    return [
        Text([place[0]], [place[1]], [name], anchor=anchor, bold=True, em=EM * float(room)),
        Text(*xy(ends_at), written, anchor=anchor, size=11),
    ]
