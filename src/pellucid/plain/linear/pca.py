"""Principal component analysis: the directions in which the rows vary most.

    first direction   maximise the variance of the projections, v'Sv, over |v| = 1,
                      S = Xc'Xc / (n - 1)
    Lagrange          2Sv - 2 lambda v = 0:  S v = lambda v

So v is an eigenvector of the covariance matrix S, and the variance along it is its eigenvalue:
v'Sv = lambda. The next directions maximise the same quantity at right angles to the earlier ones,
and are the next eigenvectors.

1. Centre the columns and compute S.
2. Find the eigenvalues and eigenvectors of S; sort them by decreasing eigenvalue.
3. The sign of an eigenvector is arbitrary: make its largest entry positive.
4. The coordinates of a row are its centred values projected on the directions.
5. Coordinates times directions, plus the mean, give the row back, or its best approximation.
"""

import numpy as np


class PCA:
    """Principal components from the eigenvectors of the covariance matrix."""

    def __init__(self, n_components):
        self.n_components = n_components

    def fit(self, X, y=None):
        self.mean = X.mean(axis=0)
        Xc = X - self.mean  # step 1
        S = Xc.T @ Xc / (len(X) - 1)
        values, vectors = np.linalg.eigh(S)  # step 2
        order = np.argsort(-values)[: self.n_components]
        self.variances, V = values[order], vectors[:, order]
        self.shares = self.variances / values.sum()
        largest = np.abs(V).argmax(axis=0)  # step 3
        self.V = V * np.sign(V[largest, np.arange(V.shape[1])])
        return self

    def transform(self, X):
        return (X - self.mean) @ self.V  # step 4

    def inverse_transform(self, Z):
        return Z @ self.V.T + self.mean  # step 5
