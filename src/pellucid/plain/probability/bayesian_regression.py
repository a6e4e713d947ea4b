"""Bayesian linear regression with known variances: the posterior in closed form.

    likelihood  y_i ~ Normal(b + w.x_i, sigma2)
    prior       w_j ~ Normal(0, tau),  b: flat
    -2 log posterior(b, w) = |y - b - Xw|^2 / sigma2 + |w|^2 / tau + constant

This is a quadratic function of theta = [b, w], so the posterior is normal. Completing the square
gives its mean and covariance. Multiplied by sigma2 it is the ridge objective with
alpha = sigma2 / tau: the posterior mean is the ridge estimate.

1. The precision (inverse covariance) adds up: data A'A / sigma2, prior diag(0, 1, ..., 1) / tau,
   with A = [1, X].
2. covariance = precision^-1.
3. mean = covariance A'y / sigma2.
4. The prediction at x is normal: mean a.theta, a = [1, x]; variance sigma2 (noise) plus
   a' covariance a (uncertainty of theta).
"""

import numpy as np


class BayesianRegression:
    """The normal posterior of the coefficients, and predictions with standard deviations."""

    def __init__(self, sigma2=1.0, tau=1.0):
        self.sigma2, self.tau = sigma2, tau

    def fit(self, X, y):
        A = np.column_stack([np.ones(len(X)), X])
        prior = np.diag(np.append(0, np.ones(X.shape[1]))) / self.tau
        precision = A.T @ A / self.sigma2 + prior  # step 1
        self.covariance = np.linalg.inv(precision)  # step 2
        self.theta = self.covariance @ A.T @ y / self.sigma2  # step 3
        self.b, self.w = self.theta[0], self.theta[1:]
        return self

    def predict(self, X):
        return self.b + X @ self.w

    def predict_std(self, X):
        A = np.column_stack([np.ones(len(X)), X])  # step 4
        return np.sqrt(self.sigma2 + np.sum(A @ self.covariance * A, axis=1))
