"""Probabilities from scores: softmax(slope * scores + biases), fitted to held-out scores.

For two classes this is Platt's sigmoid. Invariant: the slope is never negative, so the probability
of a class never falls when its score rises; where scores carry no information, the slope is 0 and the
probabilities are the shares of the classes.
"""

import numpy as np

from pellucid.numerics.objectives.losses import softmax

STEPS = 100


def as_columns(scores: np.ndarray) -> np.ndarray:
    """Scores (n,) of the second of two classes as two columns."""
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores


def smoothed(y: np.ndarray, weights: np.ndarray, K: int) -> np.ndarray:
    """Target probabilities (n, K): Platt's (n_k + 1) / (n_k + 2) for the own class.

    The other classes share the rest equally. One row a class, as in (n_k + 1) / (n_k + K), would make
    the probabilities of many small classes much too low.
    """
    counts = np.bincount(y, weights, K)
    rest = 1.0 / (counts + 2.0) / max(1, K - 1)
    table = np.broadcast_to(rest[:, None], (K, K)).copy()
    table[np.diag_indices(K)] = (counts + 1.0) / (counts + 2.0)
    return table[y]


def fit(scores: np.ndarray, y: np.ndarray, weights: np.ndarray, K: int) -> np.ndarray:
    """(slope, biases of the K classes), the first bias 0, by Newton's method on the log loss.

    >>> found = fit(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1]), np.ones(4), 2)
    >>> bool(found[0] > 0 and abs(found[2]) < 1e-9)
    True
    """
    S, T = as_columns(scores), smoothed(y, weights, K)
    size = float(np.abs(S).max(initial=0.0))
    unit = size if np.isfinite(size) and size > 0 else 1.0
    found = _newton(S / unit, T, weights / weights.sum())
    if found is None or found[0] <= 0:
        shares = weights @ T
        found = np.concatenate([[0.0], np.log(shares / shares[0])])
    found[0] /= unit
    return found


def probabilities(scores: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    """(n, K), rows sum to 1."""
    with np.errstate(over="ignore"):
        Z = np.clip(fitted[0] * as_columns(scores), -1e300, 1e300)
    return softmax(Z + fitted[1:])


def _newton(S: np.ndarray, T: np.ndarray, w: np.ndarray) -> np.ndarray | None:
    """The unconstrained minimum; None if rounding leaves no descent far from it."""
    K = S.shape[1]
    x = np.zeros(K + 1)
    value, gradient, H = _log_loss(S, T, w, x)
    for _ in range(STEPS):
        H[1:, 1:] += 1e-12
        H[np.diag_indices(K + 1)] += 1e-14
        step = np.zeros(K + 1)
        free = np.r_[0, 2 : K + 1]
        step[free] = -np.linalg.solve(H[np.ix_(free, free)], gradient[free])
        t, slope = 1.0, float(gradient @ step)
        while t > 1e-10:
            new = _log_loss(S, T, w, x + t * step)
            if new[0] <= value + 1e-4 * t * slope:
                break
            t *= 0.5
        else:
            break
        x = x + t * step
        value, gradient, H = new
        if abs(slope) < 1e-15:
            break
    return x if np.abs(gradient).max() < 1e-4 else None


def _log_loss(
    S: np.ndarray, T: np.ndarray, w: np.ndarray, x: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Mean log loss of softmax(x[0] S + x[1:]), its gradient and Hessian."""
    Z = x[0] * S + x[1:]
    P = softmax(Z)
    top = Z.max(axis=1)
    log_sum = top + np.log(np.exp(Z - top[:, None]).sum(axis=1))
    value = float(w @ (log_sum - (T * Z).sum(axis=1)))
    D, mean = P - T, (P * S).sum(axis=1)
    gradient = np.concatenate([[float(w @ (D * S).sum(axis=1))], w @ D])
    K = S.shape[1]
    H = np.empty((K + 1, K + 1))
    H[0, 0] = float(w @ ((P * S * S).sum(axis=1) - mean**2))
    H[0, 1:] = H[1:, 0] = w @ (P * (S - mean[:, None]))
    H[1:, 1:] = np.diag(w @ P) - (P * w[:, None]).T @ P
    return value, gradient, H
