"""Generalised linear models with canonical links, by Newton's method.

    model       the mean of y_i is mu_i = h(z_i),  z_i = b + w.x_i = a_i.theta,  A = [1, X]
    families    normal    h(z) = z                  variance 1
                poisson   h(z) = exp(z)             variance mu
                binomial  h(z) = 1 / (1 + exp(-z))  variance mu (1 - mu)

In all three, the log-likelihood of one row is y z - c(z) plus terms without theta (times the noise
precision for the normal family), and c'(z) = h(z), c''(z) = variance. So one derivation serves all:

    gradient    g = A'(y - mu)
    curvature   H = A' diag(variance) A      (minus the second derivative)

1. Start at the constant model: h(b) = mean(y), w = 0.
2. Compute mu, g and H.
3. Replace the log-likelihood by its parabola at theta and go to its top: theta <- theta + H^-1 g.
   For the normal family this is exact, and one step is enough.
4. Repeat steps 2 and 3 until the step is small.
5. The deviance is twice the log-likelihood that is missing to the model with mu_i = y_i:
       normal    sum (y - mu)^2
       poisson   2 sum y log(y / mu) - (y - mu)
       binomial  2 sum y log(y / mu) + (1 - y) log((1 - y) / (1 - mu))      with 0 log 0 = 0
"""

import numpy as np


def y_log_ratio(y, mu):
    return y * np.log(np.where(y > 0, y, mu) / mu)


# The start h^-1(mean), the mean h, the variance and the deviance of each family.
FAMILIES: dict = {
    "normal": (
        lambda m: m,
        lambda z: z,
        lambda mu: np.ones_like(mu),
        lambda y, mu: np.sum((y - mu) ** 2),  # step 5
    ),
    "poisson": (
        np.log,
        np.exp,
        lambda mu: mu,
        lambda y, mu: 2 * np.sum(y_log_ratio(y, mu) - (y - mu)),
    ),
    "binomial": (
        lambda m: np.log(m / (1 - m)),
        lambda z: 1 / (1 + np.exp(-z)),
        lambda mu: mu * (1 - mu),
        lambda y, mu: 2 * np.sum(y_log_ratio(y, mu) + y_log_ratio(1 - y, 1 - mu)),
    ),
}


class GeneralizedLinearModel:
    """A generalised linear model of one of the families, without a penalty."""

    def __init__(self, family="poisson", tol=1e-10, max_steps=100):
        self.family, self.tol, self.max_steps = family, tol, max_steps

    def fit(self, X, y):
        link, h, variance, deviance = FAMILIES[self.family]
        A = np.column_stack([np.ones(len(X)), X])
        theta = np.zeros(A.shape[1])
        theta[0] = link(y.mean())  # step 1
        self.trace = []
        for k in range(self.max_steps):  # step 4
            mu = h(A @ theta)  # step 2
            g = A.T @ (y - mu)
            H = A.T @ (variance(mu)[:, None] * A)
            self.trace.append({"step": k, "deviance": deviance(y, mu), "theta": theta})
            change = np.linalg.solve(H, g)  # step 3
            theta = theta + change
            if np.abs(change).max() <= self.tol:
                break
        self.b, self.w = theta[0], theta[1:]
        self.deviance = deviance(y, self.predict(X))
        return self

    def predict(self, X):
        return FAMILIES[self.family][1](self.b + X @ self.w)
