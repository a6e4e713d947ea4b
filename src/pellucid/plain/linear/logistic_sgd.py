"""Logistic regression by stochastic gradient descent. The labels y are 0 and 1.

    model       p_i = P(y_i = 1 | x_i) = 1 / (1 + exp(-z_i)),  z_i = b + w.x_i
    objective   J(b, w) = -1/n sum_i [y_i log p_i + (1 - y_i) log(1 - p_i)] + |w|^2 / (2Cn)

The gradient over a random batch of rows equals the gradient of J on average, and costs a fraction of
it. Its noise does not vanish at the minimum, so the steps must become smaller, but not too fast:

    eta_k = (tau0 + k)^-kappa,  1/2 < kappa <= 1:  sum eta_k = inf,  sum eta_k^2 < inf

The first condition lets theta reach any point, the second one lets the noise die out.

1. Start at theta = 0.
2. Shuffle the rows and cut them into batches; one pass over all batches is an epoch.
3. For each batch B, estimate the gradient from its rows:
       g = -1/|B| sum_(i in B) (y_i - p_i) a_i + [0, w] / (Cn),   a_i = [1, x_i].
4. Step against it: theta <- theta - eta_k g. Repeat from step 2.
"""

import numpy as np


class LogisticSGD:
    """Logistic regression by mini-batches with decreasing steps."""

    def __init__(self, C=1.0, tau0=10.0, kappa=1.0, batch_size=200, n_epochs=100, rng=None):
        self.C, self.tau0, self.kappa = C, tau0, kappa
        self.batch_size, self.n_epochs = batch_size, n_epochs
        self.rng = rng or np.random.default_rng(0)

    def fit(self, X, y):
        n = len(y)
        A = np.column_stack([np.ones(n), X])
        theta, k = np.zeros(A.shape[1]), 0  # step 1
        self.trace = []
        for epoch in range(self.n_epochs):
            order = self.rng.permutation(n)  # step 2
            for start in range(0, n, self.batch_size):
                B = order[start : start + self.batch_size]
                p = 1 / (1 + np.exp(-A[B] @ theta))  # step 3
                g = -A[B].T @ (y[B] - p) / len(B) + np.append(0, theta[1:]) / (self.C * n)
                theta = theta - (self.tau0 + k) ** -self.kappa * g  # step 4
                k += 1
            self.trace.append({"epoch": epoch, "theta": theta})
        self.b, self.w = theta[0], theta[1:]
        return self

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-self.b - X @ self.w))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (self.b + X @ self.w > 0).astype(int)
