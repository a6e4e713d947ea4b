"""Geometry of displays: ellipses of covariances, silhouettes of clusters, a view of three dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ellipse:
    """Points at Mahalanobis distance 1 of a mean: semi-axes, and the angle of the longer (degrees)."""

    mean: tuple[float, float]
    major: float
    minor: float
    angle: float

    def outline(self, distance: float = 1.0, n: int = 73) -> np.ndarray:
        """A closed line (n, 2) at a Mahalanobis distance."""
        t = np.linspace(0.0, 2 * np.pi, n)
        u = np.column_stack([self.major * np.cos(t), self.minor * np.sin(t)]) * distance
        turn = np.deg2rad(self.angle)
        c, s = np.cos(turn), np.sin(turn)
        return np.asarray(self.mean) + u @ np.array([[c, s], [-s, c]])


def ellipse(mean: np.ndarray, covariance: np.ndarray) -> Ellipse:
    """The ellipse of a covariance (2, 2)."""
    values, vectors = np.linalg.eigh(covariance)
    lengths = np.sqrt(np.maximum(values, 0.0))
    angle = float(np.rad2deg(np.arctan2(vectors[1, 1], vectors[0, 1]))) % 180.0
    return Ellipse((float(mean[0]), float(mean[1])), float(lengths[1]), float(lengths[0]), angle)


def silhouettes(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(b - a) / max(a, b) of each row: a is its mean distance to the other rows of its cluster, b the
    smallest mean distance to the rows of another cluster. 0 for a row alone in its cluster.
    """
    X = X - X.mean(axis=0)  # so that fewer digits cancel
    counts = np.bincount(codes)
    members = np.eye(len(counts))[codes]  # (rows, clusters)
    out = np.zeros(len(X))
    squares = (X * X).sum(axis=1)
    step = max(1, 2**22 // max(len(X), 1))
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        gram = squares[rows, None] + squares - 2 * X[rows] @ X.T
        sums = np.sqrt(np.maximum(gram, 0.0, out=gram)) @ members
        own = codes[rows]
        here = np.arange(len(own))
        a = sums[here, own] / np.maximum(counts[own] - 1, 1)
        means = sums / counts
        means[here, own] = np.inf
        b = means.min(axis=1)
        top = np.maximum(a, b)
        out[rows] = np.where((counts[own] > 1) & (top > 0), (b - a) / np.where(top > 0, top, 1), 0)
    return out


@dataclass(frozen=True)
class View:
    """A parallel projection of the unit cube; angles in degrees."""

    azimuth: float = -60.0
    elevation: float = 30.0

    def __call__(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places on the picture (n, 2), and depths (n,): larger is nearer to the reader."""
        a, e = np.deg2rad([self.azimuth, self.elevation])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        toward = np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
        up = np.cross(toward, right)
        centred = np.asarray(points, dtype=float) - 0.5
        return centred @ np.column_stack([right, up]), centred @ toward
