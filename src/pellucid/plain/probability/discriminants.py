"""Linear and quadratic discriminant analysis: Bayes' rule with a normal density for each class.

    model       P(y = k) = pi_k,   x | y = k ~ Normal(mu_k, Sigma_k)
    Bayes' rule P(k | x) = pi_k N(x; mu_k, Sigma_k) / sum_l pi_l N(x; mu_l, Sigma_l)
    log density log N(x; mu, Sigma) = -1/2 [(x - mu)' Sigma^-1 (x - mu) + log det(2 pi Sigma)]

LDA assumes one covariance matrix for all classes: the terms x' Sigma^-1 x cancel in Bayes' rule, and
the boundaries between classes are planes. QDA gives each class its own: the boundaries are quadratic.

1. pi_k is the share of class k among the rows, mu_k the mean of its rows.
2. QDA: Sigma_k is the covariance matrix of the rows of class k, with divisor n_k (maximum
   likelihood).
3. LDA: Sigma is the mean over all rows of the squared deviations from their own class mean.
4. The joint score of class k is log pi_k + log N(x; mu_k, Sigma_k).
5. Bayes' rule: exponentiate and divide by the sum. The largest score is subtracted first, which
   cancels, so that exp does not underflow in all classes.
"""

import numpy as np


class QuadraticDiscriminantAnalysis:
    """A normal density with its own covariance matrix for each class."""

    def fit(self, X, y):
        self.classes = np.unique(y)
        self.pi = np.array([np.mean(y == k) for k in self.classes])  # step 1
        self.mu = np.array([X[y == k].mean(axis=0) for k in self.classes])
        self.Sigma = self.covariances(X, y)
        return self

    def covariances(self, X, y):
        return [np.cov(X[y == k].T, ddof=0) for k in self.classes]  # step 2

    def scores(self, X):
        columns = []
        for pi, mu, Sigma in zip(self.pi, self.mu, self.Sigma):  # step 4
            D = X - mu
            distance = np.sum(D @ np.linalg.inv(Sigma) * D, axis=1)
            log_det = np.linalg.slogdet(2 * np.pi * Sigma)[1]
            columns.append(np.log(pi) - (distance + log_det) / 2)
        return np.column_stack(columns)

    def predict_proba(self, X):
        S = self.scores(X)  # step 5
        E = np.exp(S - S.max(axis=1, keepdims=True))
        return E / E.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes[self.scores(X).argmax(axis=1)]


class LinearDiscriminantAnalysis(QuadraticDiscriminantAnalysis):
    """Normal densities with one covariance matrix for all classes."""

    def covariances(self, X, y):
        own_mean = self.mu[np.searchsorted(self.classes, y)]
        Sigma = (X - own_mean).T @ (X - own_mean) / len(X)  # step 3
        return [Sigma] * len(self.classes)
