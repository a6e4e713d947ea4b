"""Why a network says what it says: integrated gradients, by secants.

The gradient is averaged along the straight way from a baseline to the row. On a piece of the way a
unit's slope is that of the secant, (a(z1) - a(z0)) / (z1 - z0); so the contributions of the columns
add up to the change of the output exactly, whatever the number of pieces. For one hidden layer one
piece already is the integral, because z moves in a straight line; for more layers the error falls
with the square of the number of pieces.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.neural_network.layers import ACTIVATIONS
from pellucid.neural_network.network import Network

PIECES = 64
# Below this change, relative to their size, two values have no secant but rounding.
FLAT = 1e-9


def contributions(network: Network, X: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """(n, inputs, outputs): what each column adds to each score, from the baseline's score on."""
    pieces = 1 if len(network.layers) <= 2 else PIECES
    out = np.empty((X.shape[0], X.shape[1], network.units[-1]))

    def one(rows: slice) -> None:
        way = X[rows] - baseline
        slopes: Any = 0.0
        old = _values(network, np.broadcast_to(baseline, way.shape))
        for piece in range(1, pieces + 1):
            # The last point is the row itself: beside a far baseline the sum would lose its digits.
            at = X[rows] if piece == pieces else baseline + (piece / pieces) * way
            new = _values(network, at)
            slopes = slopes + _secant_slopes(network, old, new)
            old = new
        out[rows] = way[:, :, None] * (slopes / pieces)

    parallel.map(one, parallel.row_blocks(X.shape[0], max(network.units) * network.units[-1]))
    return out


def _values(network: Network, X: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Scores and values of every hidden layer."""
    found, A = [], X
    for layer, W, b in zip(network.layers[:-1], network.coefs, network.intercepts):
        Z = A @ W + b
        A = Z.copy()
        ACTIVATIONS[layer.activation].apply(A, np.zeros(len(b)))
        found.append((Z, A))
    return found


def _secant_slopes(network: Network, old: list, new: list) -> np.ndarray:
    """Change of the scores by change of the inputs, (rows, inputs, outputs)."""
    last = network.coefs[-1]
    if not old:
        return last[None]
    S = np.broadcast_to(last, (len(old[-1][0]), *last.shape))
    for i in range(len(old) - 1, -1, -1):
        (z0, a0), (z1, a1) = old[i], new[i]
        D = np.ones_like(a1)
        ACTIVATIONS[network.layers[i].activation].slope((a0 + a1) / 2, D)
        step = z1 - z0
        clear = np.abs(step) > FLAT * (np.abs(z0) + np.abs(z1))
        D = np.divide(a1 - a0, step, out=D, where=clear)
        S = network.coefs[i] @ (D[:, :, None] * S)
    return S


def column_means(problem: Problem) -> np.ndarray:
    """Weighted means; shares before the sum, so that it cannot overflow."""
    X, share = problem.X, problem.weights / problem.weights.max()
    share /= 2 * share.sum()

    def part(block: slice) -> np.ndarray:
        return X[block].T @ share[block]

    # Small blocks: the rows of each are gathered.
    half = parallel.reduce(part, np.add, parallel.row_blocks(problem.n, 16 * X.shape[1]))
    top = np.finfo(float).max / 2
    return 2 * np.clip(half, -top, top)
