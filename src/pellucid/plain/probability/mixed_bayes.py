"""Naive Bayes with a distribution of its own for each column.

    model       P(y = k) = pi_k,   P(x | k) = product_j P_j(x_j | k)

Within a class the columns are independent, so each column adds the logarithm of its own
distribution, and the kinds mix freely:

    normal       mean_k, var_k: mean and variance (divisor n_k) of the column in class k
    poisson      rate_k^x exp(-rate_k) / x!,  rate_k = (N_k + alpha r) / (n_k + alpha)
                 N_k: sum of the column in class k;  r: its mean over all classes
    binomial     q_k^x (1 - q_k)^(m - x),  q_k = (N_k + alpha) / (m n_k + 2 alpha)
                 x successes in m trials;  m: the largest x of the column
    bernoulli    binomial with m = 1: x is 0 or 1
    categorical  q_k[x],  q_k[v] = (N_k[v] + alpha) / (n_k + alpha L) with L levels 0, ..., L - 1

1. pi_k is the share of class k among the rows.
2. For each column and class, estimate the parameters of the column's distribution.
3. Add up: score_k = log pi_k + sum_j log P_j(x_j | k). Factors that are the same
   in all classes (x!, m choose x) are left out.
4. Bayes' rule: exponentiate and divide by the sum, after subtracting the largest score.
"""

import numpy as np


class MixedNB:
    """Naive Bayes; `kinds` has the distribution of each column."""

    def __init__(self, kinds, alpha=1.0):
        self.kinds, self.alpha = kinds, alpha

    def fit(self, X, y):
        self.classes = np.unique(y)
        self.pi = np.array([np.mean(y == k) for k in self.classes])  # step 1
        a, self.columns = self.alpha, []
        for j, kind in enumerate(self.kinds):  # step 2
            parts = [X[y == k, j] for k in self.classes]
            n, N = np.array([len(x) for x in parts]), np.array([x.sum() for x in parts])
            if kind == "normal":
                floor = 1e-9 * X[:, j].var()
                found = np.array([(x.mean(), x.var() + floor) for x in parts])
            elif kind == "poisson":
                found = (N + a * X[:, j].mean()) / (n + a)
            elif kind in ("binomial", "bernoulli"):
                m = X[:, j].max() if kind == "binomial" else 1
                found = np.array([0 * n + m, (N + a) / (m * n + 2 * a)])
            else:
                L = int(X[:, j].max()) + 1
                counts = np.array([np.bincount(x.astype(int), minlength=L) for x in parts])
                found = (counts + a) / (n[:, None] + a * L)
            self.columns.append(found)
        return self

    def scores(self, X):
        S = np.tile(np.log(self.pi), (len(X), 1))  # step 3
        for x, kind, found in zip(X.T[:, :, None], self.kinds, self.columns):
            if kind == "normal":
                mean, var = found.T
                S = S - 0.5 * ((x - mean) ** 2 / var + np.log(2 * np.pi * var))
            elif kind == "poisson":
                S = S + x * np.log(found) - found
            elif kind in ("binomial", "bernoulli"):
                m, q = found
                S = S + x * np.log(q) + (m - x) * np.log(1 - q)
            else:
                S = S + np.log(found[:, x[:, 0].astype(int)]).T
        return S

    def predict_proba(self, X):
        S = self.scores(X)
        E = np.exp(S - S.max(axis=1, keepdims=True))  # step 4
        return E / E.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes[self.scores(X).argmax(axis=1)]
