"""The elastic net: least squares with both penalties, absolute values and squares.

    objective   J(b, w) = 1/(2n) sum_i (y_i - b - w.x_i)^2
                          + alpha (rho sum_j |w_j| + (1 - rho)/2 sum_j w_j^2)

rho = 1 is the lasso; rho = 0 is ridge regression with the penalty n alpha. The absolute values set
coefficients to 0, and the squares share the weight between columns that resemble each other.

In one coefficient, J is a parabola plus alpha rho |w_j|. The squares only make the parabola steeper,
by alpha (1 - rho), so the solution is a soft threshold, as in the lasso.

1. Centre X and y, so that the intercept leaves the problem; start at w = 0.
2. For each column j: add its part back to the residuals; z = x_j.(r + x_j w_j) / n.
3. w_j = sign(z) max(|z| - alpha rho, 0) / (x_j.x_j / n + alpha (1 - rho)).
4. Repeat steps 2 and 3 until no coefficient changes by more than tol.
5. The intercept follows from the means.
"""

import numpy as np


class ElasticNet:
    """Elastic net by coordinate descent."""

    def __init__(self, alpha=1.0, rho=0.5, tol=1e-12, max_epochs=10_000):
        self.alpha, self.rho, self.tol, self.max_epochs = alpha, rho, tol, max_epochs

    def fit(self, X, y):
        n, d = X.shape
        x_mean, y_mean = X.mean(axis=0), y.mean()
        Xc, r, w = X - x_mean, y - y_mean, np.zeros(d)  # step 1
        l1, l2 = self.alpha * self.rho, self.alpha * (1 - self.rho)
        self.trace = []
        for epoch in range(self.max_epochs):
            before = w.copy()
            for j in range(d):
                x = Xc[:, j]
                r = r + x * w[j]  # step 2
                z = x @ r / n
                w[j] = np.sign(z) * max(abs(z) - l1, 0) / (x @ x / n + l2)  # step 3
                r = r - x * w[j]
            J = r @ r / (2 * n) + l1 * np.abs(w).sum() + l2 / 2 * w @ w
            self.trace.append({"epoch": epoch, "objective": J, "w": w.copy()})
            if np.abs(w - before).max() <= self.tol:  # step 4
                break
        self.w, self.b = w, y_mean - x_mean @ w  # step 5
        return self

    def predict(self, X):
        return self.b + X @ self.w
