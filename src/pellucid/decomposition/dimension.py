"""How many principal axes to keep: by a share of the variance, or by Minka's evidence.

Invariant: both use only the variances, in descending order.
"""

from math import lgamma

import numpy as np

# Variances below this count as zero in the evidence, as in scikit-learn.
TINY = 1e-15


def axes_for_share(ratio: np.ndarray, share: float) -> int:
    """The smallest number of axes whose variance exceeds `share` of the total."""
    return min(int(np.searchsorted(np.cumsum(ratio), share, side="right")) + 1, len(ratio))


def axes_by_evidence(variance: np.ndarray, n: float) -> int:
    """The number of axes with the largest evidence (Minka 2000), between 1 and p - 1."""
    evidence = [-np.inf] + [_evidence(variance, k, n) for k in range(1, len(variance))]
    return int(np.argmax(evidence))


def _evidence(variance: np.ndarray, k: int, n: float) -> float:
    """Laplace approximation of log p(data | k axes), up to a constant."""
    p = len(variance)
    if variance[k - 1] < TINY:
        return -np.inf
    dims = p - np.arange(k)
    volume = -k * np.log(2.0) + sum(lgamma(d / 2.0) - np.log(np.pi) * d / 2.0 for d in dims)
    noise = max(TINY, float(variance[k:].sum()) / (p - k))
    fit = -n / 2.0 * (np.log(variance[:k]).sum() + (p - k) * np.log(noise))
    flat = np.where(np.arange(p) < k, variance, noise)
    i, j = np.triu_indices(k, 1, p)
    spacing = (variance[i] - variance[j]) * (1.0 / flat[j] - 1.0 / flat[i])
    curvature = np.log(np.maximum(spacing, np.finfo(float).tiny)).sum() + len(i) * np.log(n)
    m = p * k - k * (k + 1) / 2.0
    return volume + fit + np.log(2 * np.pi) * (m + k) / 2 - curvature / 2 - k * np.log(n) / 2
