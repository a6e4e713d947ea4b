"""Cells of the nearest point, cut at the edges of a rectangle.

Invariant: the cells of the points cover the rectangle without overlap; every point of a cell is at
least as near to its own point as to any other one, in units of `scale`.
"""

from __future__ import annotations

import numpy as np

from pellucid.errors import DataError


def nearest_cells(
    points: np.ndarray,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    scale: tuple[float, float] = (1.0, 1.0),
) -> list[np.ndarray]:
    """The polygon (corners, 2) of each point, counter-clockwise; empty if it misses the rectangle.

    Points must differ. Distances divide each axis by its entry of `scale`.
    """
    from scipy.spatial import Voronoi

    factor = np.asarray(scale, dtype=float)
    low = np.array([x_range[0], y_range[0]]) / factor
    high = np.array([x_range[1], y_range[1]]) / factor
    placed = np.asarray(points, dtype=float) / factor
    if len(np.unique(placed, axis=0)) < len(placed):
        raise DataError("Voronoi cells need points that are all different.")
    middle, unit = (low + high) / 2, float(max(high - low))
    far = 1e3 * max(unit, float(np.abs(placed - middle).max(initial=0.0)))
    corners = middle + far * np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    found = Voronoi(np.vstack([placed, corners]))
    cells = []
    for k in range(len(placed)):
        corners_of = found.vertices[found.regions[found.point_region[k]]]
        cells.append(_clipped(_ordered(corners_of, placed[k]), low, high) * factor)
    return cells


def _ordered(corners: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The corners of a convex polygon, counter-clockwise around a point inside."""
    angles = np.arctan2(corners[:, 1] - inside[1], corners[:, 0] - inside[0])
    return corners[np.argsort(angles)]


def _clipped(polygon: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A convex polygon cut by the four sides of a rectangle (Sutherland and Hodgman)."""
    for axis in (0, 1):
        for bound, sign in ((low[axis], 1.0), (high[axis], -1.0)):
            polygon = _cut(polygon, axis, bound, sign)
    return polygon


def _cut(polygon: np.ndarray, axis: int, bound: float, sign: float) -> np.ndarray:
    kept: list[np.ndarray] = []
    depths = sign * (polygon[:, axis] - bound)
    for k in range(len(polygon)):
        a, b = depths[k - 1], depths[k]
        if (a >= 0) != (b >= 0):
            kept.append(polygon[k - 1] + (polygon[k] - polygon[k - 1]) * a / (a - b))
        if b >= 0:
            kept.append(polygon[k])
    return np.array(kept).reshape(-1, 2)
