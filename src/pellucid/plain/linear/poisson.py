"""Poisson regression, a generalised linear model, by Newton's method.

    model           y_i ~ Poisson(mu_i),  log mu_i = b + w.x_i = a_i.theta,  A = [1, X]
    log-likelihood  l(theta) = sum_i y_i log mu_i - mu_i - log(y_i!)
    gradient        g = A'(y - mu)
    curvature       H = A' diag(mu) A      (minus the second derivative)

The link (here log) joins the mean to the linear function, and the family (here Poisson) gives the
variance of y, which is mu. Other families and links change only mu, g and H.

1. Start at the constant model: b = log mean(y), w = 0.
2. Compute mu = exp(A theta), g and H.
3. Replace l by its parabola at theta and go to the top of it: theta <- theta + H^-1 g.
4. Repeat steps 2 and 3 until the step is small.
5. The deviance compares the fit with the model that predicts each y_i exactly:
       D = 2 sum_i y_i log(y_i / mu_i) - (y_i - mu_i),  where 0 log 0 = 0.
"""

import numpy as np


class PoissonRegression:
    """Poisson regression with the log link."""

    def __init__(self, tol=1e-10, max_steps=100):
        self.tol, self.max_steps = tol, max_steps

    def fit(self, X, y):
        A = np.column_stack([np.ones(len(X)), X])
        theta = np.zeros(A.shape[1])
        theta[0] = np.log(y.mean())  # step 1
        self.trace = []
        for k in range(self.max_steps):  # step 4
            mu = np.exp(A @ theta)  # step 2
            g = A.T @ (y - mu)
            H = A.T @ (mu[:, None] * A)
            self.trace.append({"step": k, "deviance": deviance(y, mu), "theta": theta})
            change = np.linalg.solve(H, g)  # step 3
            theta = theta + change
            if np.abs(change).max() <= self.tol:
                break
        self.b, self.w = theta[0], theta[1:]
        self.deviance = deviance(y, self.predict(X))
        return self

    def predict(self, X):
        return np.exp(self.b + X @ self.w)


def deviance(y, mu):
    ratio = np.where(y > 0, y / mu, 1.0)
    return 2 * np.sum(y * np.log(ratio) - (y - mu))  # step 5
