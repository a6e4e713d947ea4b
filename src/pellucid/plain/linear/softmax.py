"""Softmax regression: logistic regression for K classes.

    model       p_ik = exp(z_ik) / sum_l exp(z_il),  z_i = b + W'x_i       (W has a column per class)
    objective   J(b, W) = -sum_i log p_(i, y_i) + |W|^2 / (2C)

Adding one number to all z_i of a row changes no p_ik, so without a penalty W is not unique. With the
indicator matrix Y (Y_ik = 1 if row i is of class k), the derivative is the error of the
probabilities, as with two classes: dJ/dz_ik = p_ik - Y_ik.

1. Write the labels as the indicator matrix Y; put a column of ones in front of X; start at 0.
2. Compute Z = A Theta and the probabilities P. Subtracting the largest z of each row changes no
   probability and keeps exp from overflowing.
3. Step against the gradient of the mean objective: Theta <- Theta - step * G / n with
       G = A'(P - Y) + [0; W] / C.
4. Repeat steps 2 and 3.
"""

import numpy as np


def softmax(Z):
    E = np.exp(Z - Z.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True)


class SoftmaxRegression:
    """Softmax regression by gradient descent."""

    def __init__(self, C=1.0, step=0.1, n_steps=1000):
        self.C, self.step, self.n_steps = C, step, n_steps

    def fit(self, X, y):
        self.classes = np.unique(y)
        Y = (y[:, None] == self.classes).astype(float)  # step 1
        A = np.column_stack([np.ones(len(X)), X])
        Theta = np.zeros((A.shape[1], len(self.classes)))
        penalised = np.append(0, np.ones(X.shape[1]))[:, None]
        self.trace = []
        for k in range(self.n_steps):  # step 4
            P = softmax(A @ Theta)  # step 2
            G = A.T @ (P - Y) + penalised * Theta / self.C
            log_loss = -np.mean(np.log((P * Y).sum(axis=1)))
            self.trace.append({"step": k, "log_loss": log_loss, "gradient": np.abs(G).max()})
            Theta = Theta - self.step * G / len(y)  # step 3
        self.b, self.W = Theta[0], Theta[1:]
        return self

    def predict_proba(self, X):
        return softmax(self.b + X @ self.W)

    def predict(self, X):
        return self.classes[self.predict_proba(X).argmax(axis=1)]
