"""t-SNE: points in the plane whose neighbors are those of the rows.

Affinities of the rows: p_{j|i} = exp(-beta_i |x_i - x_j|^2), divided by their sum over j != i, with
beta_i such that the perplexity exp(-sum_j p_{j|i} log p_{j|i}) is the wanted number of neighbors;
p_ij = (p_{j|i} + p_{i|j}) / (2 n).

Affinities of the points: u_ij = 1 / (1 + |y_i - y_j|^2), Student's t with one degree of freedom, whose
heavy tails leave room for rows that are moderately far; q_ij = u_ij / sum_{k != l} u_kl.

Objective: minimise KL(P || Q) = sum_ij p_ij log(p_ij / q_ij) over the points y. Its gradient is

    dKL/dy_i = 4 sum_j (p_ij - q_ij) u_ij (y_i - y_j):    p attracts, q repels

1. P: bisect for every beta_i.
2. Start: the first principal components, with a standard deviation of 1e-4 in the first.
3. Gradient step with momentum. The step of a coordinate grows (gain + 0.2) while it keeps its
   direction, and shrinks (gain * 0.8) when it turns.
4. For the first 250 steps P is multiplied by 12 ("early exaggeration") and the momentum is 0.5, so
   that groups find each other. Then gains and momentum start again, with momentum 0.8.
"""

import numpy as np


def squared_distances(X):
    return ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)


class ExactTSNE:
    """Points of two dimensions; the trace keeps KL(P || Q) before every step."""

    def __init__(self, perplexity=30.0, steps=1000, rate=None, start=None):
        self.perplexity, self.steps, self.rate, self.start = perplexity, steps, rate, start

    def affinities(self, X):
        """The matrix P."""
        n, D = len(X), squared_distances(X)
        P = np.zeros((n, n))
        for i in range(n):
            others = np.arange(n) != i  # step 1
            d = D[i, others] - D[i, others].min()  # the same p, and no underflow
            low, high, beta = 0.0, np.inf, 1.0 / max(d.mean(), 1e-300)
            for _ in range(200):
                p = np.exp(-beta * d)
                p /= p.sum()
                entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
                if entropy > np.log(self.perplexity):  # too many neighbors: narrower
                    low = beta
                else:
                    high = beta
                beta = 2 * beta if high == np.inf else (low + high) / 2
            P[i, others] = p
        return (P + P.T) / (2 * n)

    def principal_components(self, X):
        """The start."""
        X = X - X.mean(axis=0)  # step 2
        axes = np.linalg.svd(X, full_matrices=False)[2][:2]
        signs = np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])
        scores = X @ (axes * signs[:, None]).T
        return scores / scores[:, 0].std() * 1e-4

    def divergence_and_gradient(self, P, Y, exaggeration=1.0):
        U = 1 / (1 + squared_distances(Y))
        np.fill_diagonal(U, 0.0)
        Q = U / U.sum()
        some = P > 0
        KL = (P[some] * np.log(P[some] / Q[some])).sum()
        force = (exaggeration * P - Q) * U
        return KL, 4 * (force.sum(axis=1)[:, None] * Y - force @ Y)

    def move(self, t, P, Y, step, gain, rate):
        """Step number t: the points, the step and the gains after it, and KL before it."""
        early = t <= 250
        if t in (1, 251):
            step, gain = np.zeros_like(Y), np.ones_like(Y)
        KL, gradient = self.divergence_and_gradient(P, Y, 12.0 if early else 1.0)
        gain = np.maximum(np.where(step * gradient < 0, gain + 0.2, gain * 0.8), 0.01)  # step 3
        step = (0.5 if early else 0.8) * step - rate * gain * gradient  # step 4
        return Y + step, step, gain, KL

    def fit(self, X):
        self.P, self.trace = self.affinities(X), []
        self.Y = self.principal_components(X) if self.start is None else self.start
        rate = max(len(X) / 12 / 4, 50.0) if self.rate is None else self.rate
        step = gain = None
        for t in range(1, self.steps + 1):
            self.Y, step, gain, KL = self.move(t, self.P, self.Y, step, gain, rate)
            self.trace.append({"step": t, "KL": KL})
        self.divergence = self.divergence_and_gradient(self.P, self.Y)[0]
        return self
