"""t-SNE from its definition: affinities by their perplexity, divergence pair by pair."""

import numpy as np


def perplexity(shares):
    shares = shares[shares > 0]
    return float(np.exp(-(shares * np.log(shares)).sum()))


def divergence(P, Y):
    """KL(P || Q), Q by Student's t with max(d - 1, 1) degrees of freedom."""
    n, d = Y.shape
    dof = max(d - 1, 1)
    U = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                U[i, j] = (1 + ((Y[i] - Y[j]) ** 2).sum() / dof) ** (-(dof + 1) / 2)
    Q = U / U.sum()
    return sum(
        P[i, j] * np.log(P[i, j] / Q[i, j]) for i in range(n) for j in range(n) if P[i, j] > 0
    )


def repulsion(Y):
    """Sum of u w (y_i - y_j) for every point, and Z."""
    n, d = Y.shape
    dof, out, Z = max(d - 1, 1), np.zeros((n, d)), 0.0
    for i in range(n):
        for j in range(n):
            if i != j:
                w = 1 / (1 + ((Y[i] - Y[j]) ** 2).sum() / dof)
                u = w ** ((dof + 1) / 2)
                out[i] += u * w * (Y[i] - Y[j])
                Z += u
    return out, Z
