"""Gradient boosting: f(x) = f_0 + rate * sum of trees, each a Newton step that lowers the loss.

Loss of a row, its derivative g and its second derivative h in f:

    squared    (y - f)^2 / 2                g = f - y       h = 1
    logistic   log(1 + exp(f)) - y f        g = p - y       h = p (1 - p)      p = 1 / (1 + exp(-f))
    softmax    log sum_k exp(f_k) - f_y     g_k = p_k - 1[y = k]   h_k = p_k (1 - p_k)

A tree adds v to the f of all rows of a leaf. To second order the loss changes by
sum_i g_i v + h_i v^2 / 2 = sum_i h_i (z_i - v)^2 / 2 + constant, with z_i = -g_i / h_i. So the best next
tree is a regression tree for z with weights h, and the value of a leaf is -sum g / sum h.

1. Start from the best constant f_0: the mean; the log-odds; the logarithms of the class shares
   minus their mean.
2. Compute g and h of every row.
3. Grow a CART with squared error on z = -g / h with row weights h (one for each class if K > 2).
4. f += rate * tree. Repeat from 2.
"""

import numpy as np

from pellucid.plain.trees.decision_tree import CART


class GradientBoostedTrees:
    """loss: "squared" for regression, "logistic" for two or more classes."""

    def __init__(self, loss="squared", rounds=100, rate=0.1, max_depth=3, **settings):
        self.loss, self.rounds, self.rate = loss, rounds, rate
        self.settings = settings | {"criterion": "squared_error", "max_depth": max_depth}

    def fit(self, X, y):
        if self.loss == "squared":
            Y = y[:, None]
            self.f0 = Y.mean(axis=0)  # step 1
        else:
            self.classes = np.unique(y)
            Y = (y[:, None] == self.classes).astype(float)
            self.f0 = np.log(Y.mean(axis=0))
            self.f0 -= self.f0.mean()
            if len(self.classes) == 2:  # one f for the second class
                Y, self.f0 = Y[:, 1:], self.f0[1:] - self.f0[:1]
        F = np.tile(self.f0, (len(X), 1))
        self.trees, self.trace = [], []
        for t in range(self.rounds):
            P = self.mean(F)
            G = P - Y  # step 2
            H = np.ones_like(F) if self.loss == "squared" else P * (1 - P)
            self.trees.append(
                [CART(**self.settings).fit(X, -g / h, h) for g, h in zip(G.T, H.T)]  # step 3
            )
            F = F + self.rate * self.step(t, X)  # step 4
            self.trace.append({"round": t + 1, "squared gradient": (G**2).mean(), "f": F})
        return self

    def mean(self, F):
        """The mean of y for given f: f itself, or the probabilities."""
        if self.loss == "squared":
            return F
        if F.shape[1] == 1:
            return 1 / (1 + np.exp(-F))
        odds = np.exp(F - F.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def step(self, t, X):
        return np.array([tree.predict(X) for tree in self.trees[t]]).T

    def raw(self, X):
        return self.f0 + self.rate * sum(self.step(t, X) for t in range(len(self.trees)))

    def predict_proba(self, X):
        P = self.mean(self.raw(X))
        return np.hstack([1 - P, P]) if P.shape[1] == 1 else P

    def predict(self, X):
        if self.loss == "squared":
            return self.raw(X)[:, 0]
        return self.classes[self.predict_proba(X).argmax(axis=1)]
