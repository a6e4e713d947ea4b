"""One step of expectation and maximisation, row by row and component by component."""

import math

import numpy as np


def joint(X, weights, means, covariances):
    """log w_k N(x_i; m_k, S_k) from the definition."""
    out = np.empty((len(X), len(weights)))
    for i, x in enumerate(X):
        for k, (w, m, S) in enumerate(zip(weights, means, covariances)):
            d = x - m
            squared = d @ np.linalg.inv(S) @ d
            size = len(x) * math.log(2 * math.pi) + math.log(np.linalg.det(S))
            out[i, k] = math.log(w) - 0.5 * (size + squared)
    return out


def moments(X, w, weights, means, covariances):
    """Log likelihood; per component the weighted mass, sum of d and sum of d d'."""
    K, p = means.shape
    mass, first, second, bound = np.zeros(K), np.zeros((K, p)), np.zeros((K, p, p)), 0.0
    for x, own, row in zip(X, w, joint(X, weights, means, covariances)):
        total = sum(math.exp(value - row.max()) for value in row)
        bound += own * (row.max() + math.log(total))
        for k in range(K):
            share = own * math.exp(row[k] - row.max()) / total
            d = x - means[k]
            mass[k] += share
            first[k] += share * d
            second[k] += share * np.outer(d, d)
    return bound, mass, first, second
