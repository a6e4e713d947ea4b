"""Contributions to log-odds as contributions to the probability.

    p(t) = softmax(base + t sum_j c_j),  t from 0 to 1,  dp/dt = sum_j J(p) c_j,  J = diag(p) - p p'

Column j contributes the integral of J c_j, so the contributions add up to p(1) - p(0). For two classes
they are c_j (p(1) - p(0)) / sum_j c_j.
"""

import numpy as np

from pellucid.numerics.objectives.links import expit
from pellucid.numerics.objectives.losses import softmax

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2


def to_probability(base: np.ndarray, parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Base (K,) and contributions (n, d, K) on the scale of the probability; K = 1 for two classes."""
    if len(base) == 1:
        return _two_classes(base, parts)
    total = parts.sum(axis=1)
    out = np.zeros_like(parts)
    for node, weight in zip(NODES, WEIGHTS):
        p = softmax(base + node * total)[:, None, :]
        out += weight * p * (parts - (parts * p).sum(axis=2, keepdims=True))
    start = softmax(base[None, :])[0]
    # What the quadrature leaves over is divided in proportion.
    gap = softmax(base + total) - start - out.sum(axis=1)
    size = np.abs(out) + 1e-300
    return start, out + size / size.sum(axis=1, keepdims=True) * gap[:, None, :]


def _two_classes(base: np.ndarray, parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = parts.sum(axis=1)  # (n, 1)
    start, end = expit(base), expit(base + total)
    small = np.abs(total) < 1e-9
    slope = np.where(small, start * (1 - start), (end - start) / np.where(small, 1.0, total))
    return start, parts * slope[:, None, :]
