"""Steps of optimisers, from the textbook. The gradients of a network are in `pellucid.plain`."""

import numpy as np


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
