"""Baselines: the best prediction that does not look at X.

    labels      minimise the number of errors:        predict the most frequent class
                minimise the log loss:                predict the shares of the classes
    numbers     minimise sum_i (y_i - c)^2 over c:    c = mean(y), where the derivative is zero

A model that is not better than its baseline has learned nothing from X.

1. Labels: count the classes. The shares are the probabilities; the largest one is predicted for every
   row, and the first class of equals.
2. Numbers: predict the mean for every row.
"""

import numpy as np


class MajorityVote:
    """The most frequent class, and the shares of the classes as probabilities."""

    def fit(self, X, y):
        self.classes, counts = np.unique(y, return_counts=True)  # step 1
        self.shares = counts / len(y)
        return self

    def predict_proba(self, X):
        return np.tile(self.shares, (len(X), 1))

    def predict(self, X):
        return np.repeat(self.classes[self.shares.argmax()], len(X))


class Mean:
    """The mean of the target."""

    def fit(self, X, y):
        self.mean = y.mean()  # step 2
        return self

    def predict(self, X):
        return np.full(len(X), self.mean)
