"""k-means: k centers such that the rows are close to the nearest one.

Objective (the inertia): minimise sum_i |x_i - c_{label_i}|^2 over the centers c and the labels.

With fixed centers the best label of a row is its nearest center. With fixed labels the best center is
the mean of its rows, because the derivative 2 sum_i (c - x_i) is 0 there. Lloyd's algorithm alternates:

1. Start (k-means++): a random row; then rows drawn with a probability proportional to their
   squared distance from the nearest center so far, until there are k.
2. Label every row with its nearest center.
3. Move every center to the mean of its rows. A center without rows moves to the row that is
   farthest from its own center, which leaves its old cluster.
4. Repeat from 2 until no label changes. The inertia never rises, and there are finitely many
   labelings, so this ends: at a local minimum, which depends on the start.
"""

import numpy as np


class LloydKMeans:
    """centers: the start, if it is to be given."""

    def __init__(self, k, centers=None, seed=0, max_iter=300):
        self.k, self.centers, self.max_iter = k, centers, max_iter
        self.rng = np.random.default_rng(seed)

    def plus_plus(self, X):
        """Starting centers, far from each other."""
        C = X[[self.rng.integers(len(X))]]  # step 1
        while len(C) < self.k:
            nearest = self.squared_distances(X, C).min(axis=1)
            C = np.vstack([C, X[self.rng.choice(len(X), p=nearest / nearest.sum())]])
        return C

    def squared_distances(self, X, C):
        return ((X[:, None, :] - C[None, :, :]) ** 2).sum(axis=2)

    def fit(self, X):
        C = self.plus_plus(X) if self.centers is None else np.array(self.centers, dtype=float)
        self.labels, self.trace = np.full(len(X), -1), []
        for _ in range(self.max_iter):
            D = self.squared_distances(X, C)
            labels = D.argmin(axis=1)  # step 2
            moved = (labels != self.labels).sum()
            self.labels = labels
            self.trace.append({"centers": C, "moved": moved, "inertia": D.min(axis=1).sum()})
            if moved == 0:  # step 4
                break
            members, farthest = labels.copy(), list(np.argsort(-D.min(axis=1), kind="stable"))
            for empty in np.setdiff1d(np.arange(self.k), labels):
                members[farthest.pop(0)] = empty
            C = np.array([X[members == j].mean(axis=0) for j in range(self.k)])  # step 3
        self.centers, self.inertia = C, self.trace[-1]["inertia"]
        return self

    def predict(self, X):
        return self.squared_distances(X, self.centers).argmin(axis=1)
