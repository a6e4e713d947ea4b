"""Contour lines of a surface on a grid, by marching squares.

Invariant: along an edge of the grid the surface is linear, so that a line crosses an edge where the
interpolated value is the level; every line is a chain of such crossings, closed or from edge to edge.
"""

from __future__ import annotations

import numpy as np

# Pairs of edges that a line connects, by the corners above the level: bit 0 is the lower left corner,
# then counter-clockwise. Edges: 0 bottom, 1 right, 2 top, 3 left. Saddles are separated.
_CASES: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((3, 0),), 2: ((0, 1),), 3: ((3, 1),), 4: ((1, 2),), 5: ((3, 0), (1, 2)),
    6: ((0, 2),), 7: ((3, 2),), 8: ((2, 3),), 9: ((2, 0),), 10: ((0, 1), (2, 3)),
    11: ((2, 1),), 12: ((1, 3),), 13: ((1, 0),), 14: ((0, 3),),
}  # fmt: skip


def contour_lines(x: np.ndarray, y: np.ndarray, z: np.ndarray, level: float) -> list[np.ndarray]:
    """Lines (points, 2) on which the surface `z` (len(y), len(x)) has this level; NaN has no line."""
    above = z > level
    corners = (above[:-1, :-1], above[:-1, 1:], above[1:, 1:], above[1:, :-1])
    case = np.sum([part.astype(int) << bit for bit, part in enumerate(corners)], axis=0)
    broken = np.isnan(z[:-1, :-1] + z[:-1, 1:] + z[1:, 1:] + z[1:, :-1])
    neighbours: dict[tuple, list[tuple]] = {}
    for i, j in zip(*np.nonzero((case > 0) & (case < 15) & ~broken)):
        edges = (("h", i, j), ("v", i, j + 1), ("h", i + 1, j), ("v", i, j))
        for a, b in _CASES[int(case[i, j])]:
            neighbours.setdefault(edges[a], []).append(edges[b])
            neighbours.setdefault(edges[b], []).append(edges[a])
    return [
        np.array([_crossing(edge, x, y, z, level) for edge in chain])
        for chain in _chains(neighbours)
    ]


def _crossing(
    edge: tuple, x: np.ndarray, y: np.ndarray, z: np.ndarray, level: float
) -> tuple[float, float]:
    kind, i, j = edge
    a, b = float(z[i, j]), float(z[i, j + 1] if kind == "h" else z[i + 1, j])
    share = (level - a) / (b - a)
    if kind == "h":
        return float(x[j] + share * (x[j + 1] - x[j])), float(y[i])
    return float(x[j]), float(y[i] + share * (y[i + 1] - y[i]))


def _chains(neighbours: dict[tuple, list[tuple]]) -> list[list[tuple]]:
    """Open chains first, from their ends; what is left are rings."""
    left = {edge: list(others) for edge, others in neighbours.items()}
    ends = [edge for edge, others in neighbours.items() if len(others) == 1]
    chains = []
    for start in [*ends, *neighbours]:
        if not left[start]:
            continue
        chain = [start]
        while left[chain[-1]]:
            following = left[chain[-1]].pop()
            left[following].remove(chain[-1])
            chain.append(following)
        chains.append(chain)
    return chains
