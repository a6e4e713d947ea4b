"""Locally weighted straight lines (lowess, Cleveland 1979), for the trend in a cloud of points."""

from __future__ import annotations

import numpy as np

MOST = 400  # points; of more, an even share along x is smoothed


def lowess(
    x: np.ndarray, y: np.ndarray, share: float = 2 / 3, steps: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Sorted x and the smoothed y there.

    1. At each x, a straight line is fitted to the nearest `share` of the points, with weights
       (1 - (distance / largest distance)^3)^3.
    2. The points are weighted by (1 - (residual / (6 median |residual|))^2)^2, and 1 is repeated,
       `steps` times.
    """
    order = np.argsort(x, kind="stable")
    if len(order) > MOST:
        order = order[np.linspace(0, len(order) - 1, MOST).round().astype(int)]
    x, y = x[order], y[order]
    n = len(x)
    if n < 3 or x[0] == x[-1]:
        return x, np.full(n, y.mean()) if n else y
    distance = np.abs(x[:, None] - x)
    near = np.sort(distance, axis=1)[:, max(2, min(n, int(share * n + 1e-10))) - 1]
    near = np.where(near > 0, near, 1.0)
    inside = np.where(distance < near[:, None] * 0.999, distance, near[:, None]) / near[:, None]
    base = (1 - inside**3) ** 3
    base[distance <= near[:, None] * 0.001] = 1.0
    robust = np.ones(n)
    for _ in range(steps + 1):
        smooth = _lines(x, y, base * robust)
        residual = np.abs(y - smooth)
        scale = 6 * np.median(residual)
        if scale <= 1e-12 * max(np.abs(y).max(), 1e-300):
            break
        robust = np.maximum(1 - (residual / scale) ** 2, 0.0) ** 2
    return x, smooth


def _lines(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The value at each x of the weighted straight line around it."""
    total = weights.sum(axis=1)
    total = np.where(total > 0, total, 1.0)
    mean_x, mean_y = weights @ x / total, weights @ y / total
    offset = x - mean_x[:, None]
    spread = (weights * offset**2).sum(axis=1)
    slope = (weights * offset * (y - mean_y[:, None])).sum(axis=1)
    flat = spread <= total * (1e-3 * (x[-1] - x[0])) ** 2
    return mean_y + np.where(flat, 0.0, slope / np.where(flat, 1.0, spread)) * (x - mean_x)
