"""Feed-forward network: layers of linear functions and activations, trained by gradient descent.

    A_0 = X,   Z_l = A_{l-1} W_l + b_l,   A_l = f(Z_l);   the outputs follow from Z_L (see `LOSSES`)

The objective J is the mean over n rows of the loss, a sum over outputs. Its derivative in Z_L, times n:

    squared         (y - z)^2 / 2                            z - y
    log             -y log p - (1 - y) log(1 - p)            p - y    with p = 1 / (1 + exp(-z))
    cross_entropy   -sum_k y_k log p_k                       p - y    with p = softmax(z)

Log loss by the chain rule: d/dp = -y/p + (1 - y)/(1 - p) and dp/dz = p (1 - p); the product is p - y.

Backpropagation applies the chain rule from the last layer to the first. With D_l = dJ/dZ_l:

1. Forward: compute and keep all Z_l and A_l.
2. D_L = (derivative of the loss in Z_L) / n.
3. dJ/dW_l = A_{l-1}' D_l, because dZ_l[i, k] / dW_l[j, k] = A_{l-1}[i, j]; dJ/db_l = column sums of D_l.
4. dJ/dA_{l-1} = D_l W_l', because unit j reaches the loss through every unit k of the next layer; then
   D_{l-1} = dJ/dA_{l-1} * f'(Z_{l-1}). For ReLU f' is 1 where z > 0 and 0 elsewhere (not max(z, 0)).
5. Step: W_l -= rate * dJ/dW_l, b_l -= rate * dJ/db_l.

`gradient_by_loops` writes the sums out; `gradient_by_matrices` writes them as products. Both are equal.
"""

from itertools import pairwise

import numpy as np

ACTIVATIONS = {  # f(z), and f'(z)
    "identity": (lambda z: z, lambda z: np.ones_like(z)),
    "relu": (lambda z: np.maximum(z, 0.0), lambda z: np.where(z > 0, 1.0, 0.0)),
    "logistic": (lambda z: 1 / (1 + np.exp(-z)), lambda z: np.exp(-z) / (1 + np.exp(-z)) ** 2),
    "tanh": (lambda z: np.tanh(z), lambda z: 1 - np.tanh(z) ** 2),
}


def softmax(z):
    odds = np.exp(z - z.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


LOSSES = {  # the link, and the loss of every row
    "squared": (lambda z: z, lambda y, z: ((y - z) ** 2).sum(axis=1) / 2),
    "log": (lambda z: 1 / (1 + np.exp(-z)), lambda y, z: (np.logaddexp(0, z) - y * z).sum(axis=1)),
    "cross_entropy": (softmax, lambda y, z: -(y * np.log(softmax(z))).sum(axis=1)),
}


class FeedForward:
    """units: inputs, hidden layers and outputs, for example (13, 8, 1), which has 121 parameters."""

    def __init__(self, units, activation="relu", loss="squared", rate=0.1, steps=100, seed=0):
        self.f, self.df = ACTIVATIONS[activation]
        self.link, self.loss = LOSSES[loss]
        self.rate, self.steps = rate, steps
        rng = np.random.default_rng(seed)
        bounds = [np.sqrt(6 / (a + b)) for a, b in pairwise(units)]  # keeps the scale of the layers
        self.W = [rng.uniform(-c, c, shape) for c, shape in zip(bounds, pairwise(units))]
        self.b = [rng.uniform(-c, c, size) for c, size in zip(bounds, units[1:])]

    def forward(self, X):
        """All Z_l and A_l; A_0 = X."""
        Z, A = [], [X]  # step 1
        for W, b in zip(self.W, self.b):
            Z.append(A[-1] @ W + b)
            A.append(self.f(Z[-1]))
        return Z, A

    def gradient_by_matrices(self, X, Y):
        Z, A = self.forward(X)
        dW, db = [None] * len(self.W), [None] * len(self.W)
        D = (self.link(Z[-1]) - Y) / len(X)  # step 2
        for l in reversed(range(len(self.W))):
            dW[l], db[l] = A[l].T @ D, D.sum(axis=0)  # step 3
            if l > 0:
                D = (D @ self.W[l].T) * self.df(Z[l - 1])  # step 4
        return dW, db

    def gradient_by_loops(self, X, Y):
        Z, A = self.forward(X)
        dW, db = [np.zeros_like(W) for W in self.W], [np.zeros_like(b) for b in self.b]
        D = (self.link(Z[-1]) - Y) / len(X)  # step 2
        for l in reversed(range(len(self.W))):
            before = np.zeros_like(A[l])  # dJ/dA of the layer before
            for i in range(len(X)):  # rows
                for k in range(len(self.b[l])):  # units of this layer
                    db[l][k] += D[i, k]  # step 3
                    for j in range(A[l].shape[1]):  # units of the layer before
                        dW[l][j, k] += A[l][i, j] * D[i, k]  # step 3
                        before[i, j] += self.W[l][j, k] * D[i, k]  # step 4: the sum over k
            if l > 0:
                D = before * self.df(Z[l - 1])  # step 4
        return dW, db

    def fit(self, X, Y):
        self.trace = []
        for t in range(self.steps):
            dW, db = self.gradient_by_matrices(X, Y)
            self.trace.append({"step": t, "loss": self.loss(Y, self.forward(X)[0][-1]).mean()})
            self.W = [W - self.rate * d for W, d in zip(self.W, dW)]  # step 5
            self.b = [b - self.rate * d for b, d in zip(self.b, db)]
        return self

    def predict(self, X):
        """The outputs: numbers, or probabilities."""
        return self.link(self.forward(X)[0][-1])
