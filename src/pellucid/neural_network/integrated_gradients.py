"""Explanations of a network by integrated gradients, computed with secants.

The gradient is averaged along the straight line from a baseline to the row. On a segment of the line
the derivative of a unit is replaced by the slope of the secant, (a(z1) - a(z0)) / (z1 - z0), so that
the contributions of the columns add up exactly to the change of the output, for any number of
segments. With one hidden layer, one segment gives the exact integral, because z moves on a straight
line; with more layers the error decreases with the square of the number of segments.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.neural_network.layers import ACTIVATIONS
from pellucid.neural_network.network import Network

SEGMENTS = 64
# If the relative change of z is smaller, rounding errors dominate the secant.
SMALLEST_CHANGE = 1e-9


def contributions(network: Network, X: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """Contribution of each column to each score minus that of the baseline, (n, inputs, outputs)."""
    segments = 1 if len(network.layers) <= 2 else SEGMENTS
    out = np.empty((X.shape[0], X.shape[1], network.units[-1]))

    def one(rows: slice) -> None:
        difference = X[rows] - baseline
        gradient: Any = 0.0
        old = _values(network, np.broadcast_to(baseline, difference.shape))
        for segment in range(1, segments + 1):
            # The last point is the row itself: with a far baseline the sum would lose digits.
            at = X[rows] if segment == segments else baseline + (segment / segments) * difference
            new = _values(network, at)
            gradient = gradient + _secant_gradient(network, old, new)
            old = new
        out[rows] = difference[:, :, None] * (gradient / segments)

    parallel.map(one, parallel.row_blocks(X.shape[0], max(network.units) * network.units[-1]))
    return out


def _values(network: Network, X: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Values of every hidden layer, before and after its activation."""
    found, A = [], X
    for layer, W, b in zip(network.layers[:-1], network.coefs, network.intercepts):
        Z = A @ W + b
        A = Z.copy()
        ACTIVATIONS[layer.activation].apply(A, np.zeros(len(b)))
        found.append((Z, A))
    return found


def _secant_gradient(network: Network, old: list, new: list) -> np.ndarray:
    """Change of the scores per change of the inputs along a segment, (rows, inputs, outputs)."""
    last = network.coefs[-1]
    if not old:
        return last[None]
    S = np.broadcast_to(last, (len(old[-1][0]), *last.shape))
    for i in range(len(old) - 1, -1, -1):
        (z0, a0), (z1, a1) = old[i], new[i]
        D = np.ones_like(a1)
        ACTIVATIONS[network.layers[i].activation].times_derivative((a0 + a1) / 2, D)
        step = z1 - z0
        distinct = np.abs(step) > SMALLEST_CHANGE * (np.abs(z0) + np.abs(z1))
        D = np.divide(a1 - a0, step, out=D, where=distinct)
        S = network.coefs[i] @ (D[:, :, None] * S)
    return S


def column_means(problem: Problem) -> np.ndarray:
    """Weighted means; weights are normalised before the sum, so that it cannot overflow."""
    X, share = problem.X, problem.weights / problem.weights.max()
    share /= 2 * share.sum()

    def part(block: slice) -> np.ndarray:
        return X[block].T @ share[block]

    # Small blocks, because the rows of each are copied.
    half = parallel.reduce(part, np.add, parallel.row_blocks(problem.n, 16 * X.shape[1]))
    top = np.finfo(float).max / 2
    return 2 * np.clip(half, -top, top)
