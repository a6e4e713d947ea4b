"""Ridge regression: least squares with a penalty on large coefficients.

    objective   J(b, w) = sum_i (y_i - b - w.x_i)^2 + alpha |w|^2

The intercept b is not penalised: shifting y must shift the predictions and nothing else. For any w
the best intercept is b = mean(y) - w.mean(x), so b leaves the problem when X and y are centred:

    J(w) = |yc - Xc w|^2 + alpha |w|^2
    gradient zero:  (Xc'Xc + alpha I) w = Xc'yc

1. Centre the columns of X and y.
2. Solve (Xc'Xc + alpha I) w = Xc'yc. For alpha > 0 the solution is unique, even with more columns
   than rows.
3. The intercept follows from the means.
"""

import numpy as np


class Ridge:
    """Ridge regression from the penalised normal equations."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y):
        x_mean, y_mean = X.mean(axis=0), y.mean()
        Xc, yc = X - x_mean, y - y_mean  # step 1
        penalty = self.alpha * np.eye(X.shape[1])
        self.w = np.linalg.solve(Xc.T @ Xc + penalty, Xc.T @ yc)  # step 2
        self.b = y_mean - x_mean @ self.w  # step 3
        return self

    def predict(self, X):
        return self.b + X @ self.w
