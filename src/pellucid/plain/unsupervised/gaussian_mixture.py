"""Gaussian mixture by expectation-maximisation (EM).

Model: a row comes from component k with probability pi_k, and then from N(mu_k, Sigma_k).

Objective: maximise the log-likelihood  sum_i log sum_k pi_k N(x_i; mu_k, Sigma_k).

This has no closed-form maximum. If the component of every row were known, it would have one: the shares,
means and covariances of the components. EM replaces the unknown components by their probabilities.
By Jensen's inequality no step lowers the log-likelihood.

1. Start: given means, equal weights, and the covariance of all rows for every component.
2. E step: r_ik = pi_k N(x_i; mu_k, Sigma_k) / sum_l pi_l N(x_i; mu_l, Sigma_l), the responsibility of
   component k for row i (Bayes' rule). Logarithms, because densities of many columns underflow.
3. M step, with n_k = sum_i r_ik: pi_k = n_k / n, mu_k = sum_i r_ik x_i / n_k and
   Sigma_k = sum_i r_ik (x_i - mu_k)(x_i - mu_k)' / n_k.
4. Repeat from 2 until the mean log-likelihood changes by less than tol.
"""

import numpy as np


class GaussianMixtureEM:
    """means: the K starting means; without them, K rows drawn at random."""

    def __init__(self, K, means=None, seed=0, tol=1e-3, max_iter=100):
        self.K, self.mu, self.tol, self.max_iter = K, means, tol, max_iter
        self.rng = np.random.default_rng(seed)

    def log_joint(self, X):
        """log pi_k N(x_i; mu_k, Sigma_k), (n, K)."""
        D, out = X.shape[1], []
        for pi, mu, Sigma in zip(self.pi, self.mu, self.Sigma):
            d = X - mu
            squared = (d * np.linalg.solve(Sigma, d.T).T).sum(axis=1)  # d' Sigma^-1 d
            log_det = np.linalg.slogdet(Sigma)[1]
            out.append(np.log(pi) - 0.5 * (D * np.log(2 * np.pi) + log_det + squared))
        return np.array(out).T

    def e_step(self, X):
        """Responsibilities, and the log-likelihood of every row."""
        L = self.log_joint(X)  # step 2
        log_likelihood = np.logaddexp.reduce(L, axis=1)
        return np.exp(L - log_likelihood[:, None]), log_likelihood

    def m_step(self, X, r):
        """Weighted shares, means and covariances."""
        n_k = r.sum(axis=0)  # step 3
        self.pi = n_k / len(X)
        self.mu = r.T @ X / n_k[:, None]
        self.Sigma = [((X - m).T * r[:, k]) @ (X - m) / n_k[k] for k, m in enumerate(self.mu)]

    def fit(self, X):
        if self.mu is None:
            self.mu = X[self.rng.choice(len(X), self.K, replace=False)]
        self.pi = np.full(self.K, 1 / self.K)  # step 1
        self.Sigma = [np.cov(X.T, bias=True).reshape(X.shape[1], -1)] * self.K
        self.trace, previous = [], -np.inf
        for t in range(self.max_iter):
            r, log_likelihood = self.e_step(X)
            self.trace.append({"step": t, "log-likelihood": log_likelihood.mean()})
            self.m_step(X, r)
            change = log_likelihood.mean() - previous
            if abs(change) < self.tol:  # step 4
                break
            previous = log_likelihood.mean()
        return self

    def predict_proba(self, X):
        return self.e_step(X)[0]

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)
