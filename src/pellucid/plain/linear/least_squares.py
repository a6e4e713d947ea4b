"""Ordinary least squares: fit a linear function with the smallest sum of squared errors.

    model       y = b + w.x + noise
    objective   J(b, w) = sum_i (y_i - b - w.x_i)^2
    gradient    dJ/dtheta = -2 A'(y - A theta),   A = [1, X],  theta = [b, w]

The gradient is zero where the normal equations A'A theta = A'y hold.

LeastSquares solves them:
1. Put a column of ones in front of X.
2. Solve A'A theta = A'y.
3. The first entry of theta is the intercept, the others are the coefficients.

LeastSquaresDescent walks down the mean of J instead, J / n:
1. Start at theta = 0.
2. Compute the residuals r = y - A theta and the gradient g = -2 A'r / n.
3. Step against the gradient: theta <- theta - step * g.
4. Repeat steps 2 and 3.
"""

import numpy as np


class LeastSquares:
    """Linear regression from the normal equations."""

    def fit(self, X, y):
        A = np.column_stack([np.ones(len(X)), X])  # step 1
        theta = np.linalg.solve(A.T @ A, A.T @ y)  # step 2
        self.b, self.w = theta[0], theta[1:]  # step 3
        return self

    def predict(self, X):
        return self.b + X @ self.w


class LeastSquaresDescent:
    """Linear regression by gradient descent, with the mean squared error of each step."""

    def __init__(self, step=0.1, n_steps=1000):
        self.step, self.n_steps = step, n_steps

    def fit(self, X, y):
        A = np.column_stack([np.ones(len(X)), X])
        theta = np.zeros(A.shape[1])  # step 1
        self.trace = []
        for k in range(self.n_steps):  # step 4
            r = y - A @ theta  # step 2
            g = -2 * A.T @ r / len(y)
            self.trace.append({"step": k, "loss": np.mean(r**2), "theta": theta})
            theta = theta - self.step * g  # step 3
        self.b, self.w = theta[0], theta[1:]
        return self

    def predict(self, X):
        return self.b + X @ self.w
