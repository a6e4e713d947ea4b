"""The lasso: least squares with an absolute-value penalty, which sets coefficients to exactly 0.

    objective   J(b, w) = 1/(2n) sum_i (y_i - b - w.x_i)^2 + alpha sum_j |w_j|

|w_j| has no derivative at 0, so no step of a gradient method on J lands on 0. Both algorithms solve
the one-dimensional problem min_w 1/2 (w - z)^2 + t |w| exactly instead. Its solution is the soft
threshold S(z, t) = sign(z) max(|z| - t, 0): z moved towards 0 by t, and 0 if |z| <= t.

Lasso, coordinate descent:
1. Centre X and y, so that the intercept leaves the problem; start at w = 0.
2. For each column j: add its part back to the residuals, r + x_j w_j. With all other coefficients
   fixed, J is a parabola in w_j plus alpha |w_j|, and its minimum is
       w_j = S(x_j.(r + x_j w_j) / n, alpha) / (x_j.x_j / n).
3. Repeat step 2 until no coefficient changes by more than tol.
4. The intercept follows from the means.

LassoProximal, proximal gradient descent:
1. As above.
2. Take a gradient step on the squared error alone: z = w + step * Xc'r / n. The step is 1 / L,
   where L, the largest eigenvalue of Xc'Xc / n, bounds the curvature.
3. Soften: w = S(z, step * alpha). Repeat steps 2 and 3 until no coefficient changes by more than tol.
4. As above.
"""

import numpy as np


def soft_threshold(z, t):
    return np.sign(z) * np.maximum(np.abs(z) - t, 0)


class Lasso:
    """Lasso by coordinate descent."""

    def __init__(self, alpha=1.0, tol=1e-12, max_epochs=10_000):
        self.alpha, self.tol, self.max_epochs = alpha, tol, max_epochs

    def fit(self, X, y):
        n, d = X.shape
        x_mean, y_mean = X.mean(axis=0), y.mean()
        Xc, r, w = X - x_mean, y - y_mean, np.zeros(d)  # step 1
        self.trace = []
        for epoch in range(self.max_epochs):
            before = w.copy()
            for j in range(d):  # step 2
                x = Xc[:, j]
                r = r + x * w[j]
                w[j] = soft_threshold(x @ r / n, self.alpha) / (x @ x / n)
                r = r - x * w[j]
            J = r @ r / (2 * n) + self.alpha * np.abs(w).sum()
            self.trace.append({"epoch": epoch, "objective": J, "w": w.copy()})
            if np.abs(w - before).max() <= self.tol:  # step 3
                break
        self.w, self.b = w, y_mean - x_mean @ w  # step 4
        return self

    def predict(self, X):
        return self.b + X @ self.w


class LassoProximal(Lasso):
    """Lasso by proximal gradient descent."""

    def fit(self, X, y):
        n, d = X.shape
        x_mean, y_mean = X.mean(axis=0), y.mean()
        Xc, yc, w = X - x_mean, y - y_mean, np.zeros(d)  # step 1
        step = 1 / np.linalg.eigvalsh(Xc.T @ Xc / n).max()
        self.trace = []
        for k in range(self.max_epochs):
            r = yc - Xc @ w
            J = r @ r / (2 * n) + self.alpha * np.abs(w).sum()
            self.trace.append({"step": k, "objective": J, "w": w})
            before = w
            z = w + step * Xc.T @ r / n  # step 2
            w = soft_threshold(z, step * self.alpha)  # step 3
            if np.abs(w - before).max() <= self.tol:
                break
        self.w, self.b = w, y_mean - x_mean @ w  # step 4
        return self
