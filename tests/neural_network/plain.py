"""Gradients of a network with one hidden layer of rectifiers, in two forms, and steps of optimisers.

The loop form goes over rows, outputs and units one by one; the matrix form writes the same sums as
products. W1 is (units, inputs), W2 (outputs, units); losses are summed over rows.
"""

import numpy as np


def forward(X, W1, c1, W2, c2):
    H = X @ W1.T + c1
    return H, np.maximum(H, 0.0) @ W2.T + c2


def output_slope(Z, Y, loss):
    """Derivative of the summed loss in the scores: (y - z)**2, or the log loss of a sigmoid."""
    return 2 * (Z - Y) if loss == "squared" else 1 / (1 + np.exp(-Z)) - Y


def loss_of(Z, Y, loss):
    if loss == "squared":
        return float(((Y - Z) ** 2).sum())
    P = 1 / (1 + np.exp(-Z))
    return float(-(Y * np.log(P) + (1 - Y) * np.log(1 - P)).sum())


def gradients_by_loops(X, Y, W1, c1, W2, c2, loss):
    H, Z = forward(X, W1, c1, W2, c2)
    slope = output_slope(Z, Y, loss)
    parts = [np.zeros_like(part) for part in (W1, c1, W2, c2)]
    for n in range(len(X)):
        for k in range(len(W2)):
            parts[3][k] += slope[n, k]
            for j in range(len(W1)):
                parts[2][k, j] += slope[n, k] * max(H[n, j], 0.0)
                if H[n, j] <= 0:
                    continue
                parts[1][j] += slope[n, k] * W2[k, j]
                for d in range(X.shape[1]):
                    parts[0][j, d] += slope[n, k] * W2[k, j] * X[n, d]
    return parts


def gradients_by_matrices(X, Y, W1, c1, W2, c2, loss):
    H, Z = forward(X, W1, c1, W2, c2)
    slope = output_slope(Z, Y, loss)
    hidden = (slope @ W2) * (H > 0)
    return [hidden.T @ X, hidden.sum(axis=0), slope.T @ np.maximum(H, 0.0), slope.sum(axis=0)]


def adam(x, slopes, rate, beta1, beta2, epsilon):
    """Parameters after each slope, from the textbook."""
    m, v = np.zeros_like(x), np.zeros_like(x)
    for t, g in enumerate(slopes, 1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        x = x - rate * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
    return x


def momentum(x, slopes, rate, keep, nesterov):
    v = np.zeros_like(x)
    for g in slopes:
        v = keep * v - rate * g
        x = x + (keep * v - rate * g if nesterov else v)
    return x
