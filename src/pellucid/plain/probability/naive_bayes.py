"""Naive Bayes: Bayes' rule with columns that are independent within each class.

    model       P(y = k) = pi_k,   P(x | k) = product_j P(x_j | k)
    Bayes' rule P(k | x) = pi_k P(x | k) / sum_l pi_l P(x | l)

The kinds differ in P(x_j | k). Counts N are raised by a pseudo-count alpha, the posterior mean under a
symmetric Dirichlet prior, so that a value which a class never had is unlikely and not impossible.

    Gaussian     Normal(mean_kj, var_kj)
    Bernoulli    q_kj^x_j (1 - q_kj)^(1 - x_j),  q_kj = (N_kj + alpha) / (n_k + 2 alpha)
                 N_kj: rows of class k with x_j = 1;  n_k: rows of class k
    multinomial  q_kj^x_j,  q_kj = (N_kj + alpha) / (N_k + alpha d)
                 N_kj: sum of column j over class k;  N_k: sum over all d columns
    categorical  q_kj[x_j],  q_kj[v] = (N_kj[v] + alpha) / (n_k + alpha L_j)
                 N_kj[v]: rows of class k with x_j = v;  column j has the levels 0, ..., L_j - 1

1. pi_k is the share of class k among the rows.
2. Estimate the parameters of P(x_j | k) from the rows of class k.
3. Add up the logarithms: score_k = log pi_k + sum_j log P(x_j | k).
4. Bayes' rule: exponentiate and divide by the sum, after subtracting the largest score.
"""

import numpy as np


class NaiveBayes:
    """What all kinds share: priors and Bayes' rule."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y):
        self.classes = np.unique(y)
        self.pi = np.array([np.mean(y == k) for k in self.classes])  # step 1
        self.estimate(X, [X[y == k] for k in self.classes])
        return self

    def estimate(self, X, by_class):
        """Step 2, which each kind does in its own way."""
        raise NotImplementedError

    def log_likelihood(self, X):
        """log P(x | k) of each row and class, as each kind defines it."""
        raise NotImplementedError

    def predict_proba(self, X):
        S = np.log(self.pi) + self.log_likelihood(X)  # step 3
        E = np.exp(S - S.max(axis=1, keepdims=True))  # step 4
        return E / E.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes[self.predict_proba(X).argmax(axis=1)]


class GaussianNB(NaiveBayes):
    """Normal columns. A tiny share of the largest variance keeps constant columns from dividing by 0."""

    def estimate(self, X, by_class):
        floor = 1e-9 * X.var(axis=0).max()
        self.mean = np.array([rows.mean(axis=0) for rows in by_class])  # step 2
        self.var = np.array([rows.var(axis=0) for rows in by_class]) + floor

    def log_likelihood(self, X):
        squares = (X[:, None, :] - self.mean) ** 2 / self.var
        return -0.5 * np.sum(squares + np.log(2 * np.pi * self.var), axis=2)


class BernoulliNB(NaiveBayes):
    """Columns of 0 and 1."""

    def estimate(self, X, by_class):
        N = np.array([rows.sum(axis=0) for rows in by_class])
        n = np.array([[len(rows)] for rows in by_class])
        self.q = (N + self.alpha) / (n + 2 * self.alpha)  # step 2

    def log_likelihood(self, X):
        return X @ np.log(self.q).T + (1 - X) @ np.log(1 - self.q).T


class MultinomialNB(NaiveBayes):
    """Columns of counts, such as words of a text."""

    def estimate(self, X, by_class):
        N = np.array([rows.sum(axis=0) for rows in by_class])
        total = N.sum(axis=1, keepdims=True)
        self.q = (N + self.alpha) / (total + self.alpha * X.shape[1])  # step 2

    def log_likelihood(self, X):
        return X @ np.log(self.q).T


class CategoricalNB(NaiveBayes):
    """Columns of levels 0, 1, 2, ..."""

    def estimate(self, X, by_class):
        self.q = []  # one table (classes, levels) per column
        for j in range(X.shape[1]):
            L = X[:, j].max() + 1
            N = np.array([np.bincount(rows[:, j], minlength=L) for rows in by_class])
            n = N.sum(axis=1, keepdims=True)
            self.q.append((N + self.alpha) / (n + self.alpha * L))  # step 2

    def log_likelihood(self, X):
        return sum(np.log(q[:, X[:, j]]).T for j, q in enumerate(self.q))
