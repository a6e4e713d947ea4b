"""Logistic regression by gradient descent and by Newton's method. The labels y are 0 and 1.

    model           p_i = P(y_i = 1 | x_i) = 1 / (1 + exp(-z_i)),  z_i = b + w.x_i
    log-likelihood  l(b, w) = sum_i y_i log p_i + (1 - y_i) log(1 - p_i)
    objective       J(b, w) = -l(b, w) + |w|^2 / (2C)

With A = [1, X] and theta = [b, w], the chain rule and dp/dz = p (1 - p) give

    gradient        g = -A'(y - p) + [0, w] / C
    curvature       H = A' diag(p (1 - p)) A + diag(0, 1, ..., 1) / C

C = inf removes the penalty. If a plane separates the classes, J then has no minimum.

LogisticDescent:
1. Start at theta = 0, where every p is 1/2.
2. Compute the probabilities p.
3. Step against the gradient of the mean objective: theta <- theta - step * g / n.
   Repeat steps 2 and 3.

LogisticNewton replaces step 3:
4. Minimise the parabola that has the same gradient and curvature as J: theta <- theta - H^-1 g.
   Repeat steps 2 and 4 until the step is small.
"""

import numpy as np


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


class LogisticDescent:
    """Logistic regression by gradient descent.

    `eps` keeps the logarithms of the trace finite; the fit does not use it.
    """

    def __init__(self, C=np.inf, step=0.1, n_steps=1000, eps=1e-6):
        self.C, self.step, self.n_steps, self.eps = C, step, n_steps, eps

    def fit(self, X, y):
        A = np.column_stack([np.ones(len(X)), X])
        theta = np.zeros(A.shape[1])  # step 1
        self.trace = []
        for k in range(self.n_steps):
            p = sigmoid(A @ theta)  # step 2
            mean_l = np.mean(y * np.log(p + self.eps) + (1 - y) * np.log(1 - p + self.eps))
            self.trace.append({"step": k, "log_likelihood": mean_l, "theta": theta})
            g = -A.T @ (y - p) + np.append(0, theta[1:]) / self.C
            theta = theta - self.step * g / len(y)  # step 3
        self.b, self.w = theta[0], theta[1:]
        return self

    def predict_proba(self, X):
        p = sigmoid(self.b + X @ self.w)
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (self.b + X @ self.w > 0).astype(int)


class LogisticNewton(LogisticDescent):
    """Logistic regression by Newton's method."""

    def __init__(self, C=1.0, tol=1e-10, max_steps=100):
        self.C, self.tol, self.max_steps = C, tol, max_steps

    def fit(self, X, y):
        A = np.column_stack([np.ones(len(X)), X])
        penalised = np.append(0, np.ones(X.shape[1]))
        theta = np.zeros(A.shape[1])  # step 1
        self.trace = []
        for k in range(self.max_steps):
            p = sigmoid(A @ theta)  # step 2
            g = -A.T @ (y - p) + penalised * theta / self.C
            H = A.T @ ((p * (1 - p))[:, None] * A) + np.diag(penalised) / self.C
            change = np.linalg.solve(H, g)
            self.trace.append({"step": k, "gradient": np.abs(g).max(), "theta": theta})
            theta = theta - change  # step 4
            if np.abs(change).max() <= self.tol:
                break
        self.b, self.w = theta[0], theta[1:]
        return self
