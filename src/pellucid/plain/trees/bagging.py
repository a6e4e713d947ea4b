"""Bagging: the mean of trees that are grown on bootstrap samples.

One tree has a low bias and a high variance sigma^2. The mean of B trees, whose predictions have the
pairwise correlation rho, keeps the bias and has the variance

    rho sigma^2 + (1 - rho) sigma^2 / B

1. Draw n of the n rows with replacement. About 1/e = 37% of the rows are not drawn: these are out
   of the bag.
2. Grow a tree on the drawn rows.
3. Repeat B times. The prediction is the mean of the trees' predictions (class shares or numbers).
4. Out-of-bag estimate: predict each row by the trees that did not see it, as if it were new.
"""

import numpy as np

from pellucid.plain.trees.decision_tree import CART


class BaggedTrees:
    """samples: the drawn rows of every tree, if they are to be given. settings: those of `CART`."""

    def __init__(self, B=100, seed=0, samples=None, **settings):
        self.B, self.rng, self.settings = B, np.random.default_rng(seed), settings
        self.samples = samples

    def new_tree(self):
        return CART(**self.settings)

    def fit(self, X, y):
        n = len(y)
        if self.samples is None:
            self.samples = [self.rng.integers(0, n, n) for _ in range(self.B)]  # step 1
        self.trees, self.trace, self.classes = [], [], np.unique(y)
        for rows in self.samples:
            self.trees.append(self.new_tree().fit(X[rows], y[rows]))  # step 2
            outside = np.setdiff1d(np.arange(n), rows)
            self.trace.append({"tree": len(self.trees), "out of bag": len(outside)})
        self.oob_predictions = self.out_of_bag(X)
        return self

    def values(self, tree, X):
        """Predictions of one tree; a class that its sample lacks has the share 0."""
        c = tree.predict_proba(X)
        if c.ndim == 1:
            return c
        shares = np.zeros((len(X), len(self.classes)))
        shares[:, np.searchsorted(self.classes, tree.classes)] = c
        return shares

    def predict_proba(self, X):
        return np.mean([self.values(tree, X) for tree in self.trees], axis=0)  # step 3

    def predict(self, X):
        c = self.predict_proba(X)
        return c if c.ndim == 1 else self.classes[c.argmax(axis=1)]

    def out_of_bag(self, X):
        """Mean over the trees that did not see a row; NaN if all have seen it."""
        total = np.zeros_like(self.values(self.trees[0], X))
        count = np.zeros(len(X))
        for rows, tree in zip(self.samples, self.trees):
            outside = np.setdiff1d(np.arange(len(X)), rows)  # step 4
            if len(outside) == 0:
                continue
            total[outside] += self.values(tree, X[outside])
            count[outside] += 1
        return (total.T / np.where(count > 0, count, np.nan)).T
