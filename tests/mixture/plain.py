"""One step of expectation and maximisation, row by row and component by component."""

import math

import numpy as np

from pellucid.plain import GaussianMixtureEM


def joint(X, weights, means, covariances):
    """log w_k N(x_i; m_k, S_k) of the plain construction."""
    made = GaussianMixtureEM(len(weights))
    made.pi, made.mu, made.Sigma = weights, means, covariances
    return made.log_joint(X)


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
