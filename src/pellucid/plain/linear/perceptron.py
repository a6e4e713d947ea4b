"""The perceptron: a separating plane from mistakes. The labels y are -1 and +1.

    model       predict the sign of z = b + w.x
    objective   sum_i max(0, -y_i z_i): a misclassified row costs its distance from the plane, times
                |w|. (The hinge loss of the support vector machine is max(0, 1 - y_i z_i).)

1. Start at b = 0, w = 0.
2. Visit the rows in order. If y_i z_i <= 0, the row is a mistake: move the plane towards it,
       w <- w + y_i x_i,   b <- b + y_i.
3. Stop after an epoch without a mistake. If a plane with margin g separates the classes and no row
   is longer than R, there are at most (R / g)^2 mistakes; otherwise the moves never end.
"""

import numpy as np


class Perceptron:
    """Rosenblatt's perceptron for two classes."""

    def __init__(self, max_epochs=1000):
        self.max_epochs = max_epochs

    def fit(self, X, y):
        b, w = 0.0, np.zeros(X.shape[1])  # step 1
        self.trace = []
        for epoch in range(self.max_epochs):
            mistakes = 0
            for x_i, y_i in zip(X, y):  # step 2
                if y_i * (b + w @ x_i) <= 0:
                    w = w + y_i * x_i
                    b = b + y_i
                    mistakes += 1
            self.trace.append({"epoch": epoch, "mistakes": mistakes, "b": b, "w": w})
            if mistakes == 0:  # step 3
                break
        self.b, self.w, self.converged = b, w, mistakes == 0
        return self

    def predict(self, X):
        return np.where(self.b + X @ self.w > 0, 1, -1)
