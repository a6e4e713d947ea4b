"""Support vector machine, solved by sequential minimal optimisation (SMO).

Primal: minimise 1/2 |w|^2 + C sum_i max(0, 1 - y_i (w'phi(x_i) + b)), y_i = -1 or 1. Its dual needs the
kernel K(x, x') = phi(x)'phi(x') only:

    maximise sum_i alpha_i - 1/2 sum_ij alpha_i alpha_j y_i y_j K_ij
    subject to 0 <= alpha_i <= C and sum_i y_i alpha_i = 0

Let G be the gradient of minus the dual and F_i = -y_i G_i. At the optimum there is a number b with
F_i <= b for all rows whose y_i alpha_i may still grow ("up"), and F_i >= b for all whose y_i alpha_i may
still fall ("down"). The constraint forbids to change one alpha alone, so SMO changes two:

1. Choose i with the largest F among "up" and j with the smallest F among "down".
2. Stop if F_i - F_j <= tol: no pair violates the conditions by more.
3. Move y_i alpha_i up and y_j alpha_j down by t. The dual along this line is a parabola with its
   maximum at t = (F_i - F_j) / (K_ii + K_jj - 2 K_ij); cut t so that both alphas stay in [0, C].
4. Update G. Repeat from 1.
5. b is the mean of F over the free support vectors, 0 < alpha_i < C, where F_i = b exactly. Rows with
   alpha_i = C lie inside the margin and must not be used. Without free ones: the middle of the bounds.

More than two classes: one machine for every pair of classes, then a vote.
"""

from itertools import combinations

import numpy as np

KERNELS = {
    "linear": lambda A, B, gamma, degree, coef0: A @ B.T,
    "poly": lambda A, B, gamma, degree, coef0: (gamma * A @ B.T + coef0) ** degree,
    "sigmoid": lambda A, B, gamma, degree, coef0: np.tanh(gamma * A @ B.T + coef0),
    "rbf": lambda A, B, gamma, degree, coef0: np.exp(
        -gamma * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
    ),
}


class SVM:
    """Two classes; the second one is y = 1."""

    def __init__(self, C=1.0, kernel="rbf", gamma=1.0, degree=3, coef0=0.0, tol=1e-3):
        self.C, self.tol = C, tol
        self.kernel = lambda A, B: KERNELS[kernel](A, B, gamma, degree, coef0)

    def fit(self, X, y):
        self.classes = np.unique(y)
        y, K, C = np.where(y == self.classes[1], 1.0, -1.0), self.kernel(X, X), self.C
        alpha, G, self.trace = np.zeros(len(y)), -np.ones(len(y)), []
        while True:
            F = -y * G
            up = ((y > 0) & (alpha < C)) | ((y < 0) & (alpha > 0))
            down = ((y > 0) & (alpha > 0)) | ((y < 0) & (alpha < C))
            i = np.where(up, F, -np.inf).argmax()  # step 1
            j = np.where(down, F, np.inf).argmin()
            dual = 0.5 * alpha @ (1 - G)  # because G_i = sum_j y_i y_j K_ij alpha_j - 1
            self.trace.append({"i": i, "j": j, "violation": F[i] - F[j], "dual": dual})
            if F[i] - F[j] <= self.tol:  # step 2
                break
            room_i = C - alpha[i] if y[i] > 0 else alpha[i]
            room_j = alpha[j] if y[j] > 0 else C - alpha[j]
            curvature = max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
            t = min((F[i] - F[j]) / curvature, room_i, room_j)  # step 3
            # A step to the bound must reach it exactly.
            alpha[i] = (C if y[i] > 0 else 0.0) if t == room_i else alpha[i] + y[i] * t
            alpha[j] = (0.0 if y[j] > 0 else C) if t == room_j else alpha[j] - y[j] * t
            G = G + t * y * (K[:, i] - K[:, j])  # step 4
        free = (alpha > 0) & (alpha < C)
        self.b = F[free].mean() if free.any() else (F[i] + F[j]) / 2  # step 5
        support = alpha > 0
        self.alpha, self.dual = alpha, dual
        self.vectors, self.coef = X[support], (alpha * y)[support]
        return self

    def decision_function(self, X):
        return self.kernel(X, self.vectors) @ self.coef + self.b

    def predict(self, X):
        return self.classes[(self.decision_function(X) > 0).astype(int)]


class OneVsOneSVM:
    """A vote of the machines of all pairs of classes; the first class wins a tie."""

    def __init__(self, **settings):
        self.settings = settings

    def fit(self, X, y):
        self.classes = np.unique(y)
        pairs = combinations(self.classes, 2)
        rows = [np.isin(y, pair) for pair in pairs]
        self.machines = [SVM(**self.settings).fit(X[r], y[r]) for r in rows]
        return self

    def predict(self, X):
        votes = np.array([machine.predict(X) for machine in self.machines])
        return self.classes[np.array([(votes == c).sum(axis=0) for c in self.classes]).argmax(0)]
