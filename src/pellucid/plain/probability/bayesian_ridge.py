"""Bayesian linear regression whose variances are learned from the data, by maximal evidence.

    likelihood  y_i ~ Normal(b + w.x_i, sigma2),  b: flat
    prior       w_j ~ Normal(0, tau)
    evidence    p(y | sigma2, tau) = integral of likelihood times prior over w, for centred X and y

Given the variances, the posterior of w is normal, with mean m (a ridge estimate) and covariance S.
Setting the derivatives of the log evidence to zero gives

    tau = |m|^2 / gamma,   sigma2 = |y - b - Xm|^2 / (n - gamma),   gamma = d - trace(S) / tau

gamma counts the coefficients that the data determine: each direction contributes between 0 (prior
only) and 1 (data only). The right sides depend on the variances, so the equations are iterated.

1. Centre X and y, so that the intercept leaves the problem. Start at sigma2 = var(y), tau = 1.
2. Posterior of w: S = (Xc'Xc / sigma2 + I / tau)^-1, m = S Xc'yc / sigma2.
3. Compute gamma, then the new tau and sigma2.
4. Repeat steps 2 and 3 until the variances change by less than tol, relatively.
5. The intercept follows from the means. The prediction at x has the variance sigma2 (noise)
   + sigma2 / n (uncertainty of the level) + (x - mean)'S(x - mean) (uncertainty of w).
"""

import numpy as np


class BayesianRidge:
    """Ridge regression that chooses its own penalty, sigma2 / tau."""

    def __init__(self, tol=1e-12, max_steps=10_000):
        self.tol, self.max_steps = tol, max_steps

    def fit(self, X, y):
        n, d = X.shape
        self.x_mean, y_mean = X.mean(axis=0), y.mean()
        Xc, yc = X - self.x_mean, y - y_mean  # step 1
        sigma2, tau = y.var(), 1.0
        self.trace = []
        for k in range(self.max_steps):
            S = np.linalg.inv(Xc.T @ Xc / sigma2 + np.eye(d) / tau)  # step 2
            m = S @ Xc.T @ yc / sigma2
            gamma = d - np.trace(S) / tau  # step 3
            self.trace.append({"step": k, "sigma2": sigma2, "tau": tau, "gamma": gamma})
            before = np.array([sigma2, tau])
            tau = m @ m / gamma
            sigma2 = np.sum((yc - Xc @ m) ** 2) / (n - gamma)
            if np.all(np.abs([sigma2, tau] - before) <= self.tol * before):  # step 4
                break
        self.sigma2, self.tau, self.S, self.w = sigma2, tau, S, m
        self.b, self.n = y_mean - self.x_mean @ m, n  # step 5
        return self

    def predict(self, X):
        return self.b + X @ self.w

    def predict_std(self, X):
        D = X - self.x_mean
        return np.sqrt(self.sigma2 + self.sigma2 / self.n + np.sum(D @ self.S * D, axis=1))
