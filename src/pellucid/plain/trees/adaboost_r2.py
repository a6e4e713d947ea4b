"""AdaBoost.R2 for regression: the weighted median of trees, each grown where the others fail.

    f(x) = the smallest prediction f_t(x) at which the a_s of all f_s(x) <= f_t(x) reach half their sum

1. All rows have the weight w_i = 1 / n.
2. Fit a tree with these weights. Loss of a row: L_i = e_i, e_i^2 or 1 - exp(-e_i), where
   e_i = |y_i - f_t(x_i)| / max_j |y_j - f_t(x_j)| lies between 0 and 1.
3. Mean loss m_t = sum_i w_i L_i. With b_t = m_t / (1 - m_t), the weight of the tree is
   a_t = log(1 / b_t). A tree with m_t >= 1/2 ends the rounds and is dropped, unless it is the first.
   A perfect tree (m_t = 0) ends them too, with a weight that outvotes all others.
4. Multiply the weight of each row by b_t^(1 - L_i): rows with small losses lose weight. Divide all
   by their sum. Repeat from 2.
5. Predict the weighted median.
"""

import numpy as np

from pellucid.plain.trees.decision_tree import CART


class AdaBoostR2:
    """T trees of at most max_depth."""

    losses = {
        "linear": lambda e: e,
        "square": lambda e: e**2,
        "exponential": lambda e: 1 - np.exp(-e),
    }

    def __init__(self, T=50, max_depth=3, loss="linear", **settings):
        self.T, self.loss = T, self.losses[loss]
        self.settings = settings | {"criterion": "squared_error", "max_depth": max_depth}

    def fit(self, X, y):
        w = np.full(len(y), 1 / len(y))  # step 1
        self.trees, self.trace = [], []
        self.a: list[float] = []
        for t in range(self.T):
            tree = CART(**self.settings).fit(X, y, w)  # step 2
            error = np.abs(y - tree.predict(X))
            perfect = error.max() <= 1e-15 * np.abs(y).max()
            L = np.zeros(len(y)) if perfect else self.loss(error / error.max())
            m = (w * L).sum()
            useless = m >= 0.5 - 1e-12
            if useless and t > 0:
                break
            last = useless or perfect
            a = 1 + 2 * sum(self.a) if last else np.log((1 - m) / m)  # step 3
            self.trees.append(tree)
            self.a.append(a)
            self.trace.append({"round": t + 1, "mean loss": m, "weight": a, "w": w})
            if last:
                break
            w = w * np.exp(-a * (1 - L))  # step 4
            w = w / w.sum()
        return self

    def predict(self, X):
        F = np.array([tree.predict(X) for tree in self.trees])  # step 5
        order = F.argsort(axis=0, kind="stable")
        reached = np.array(self.a)[order].cumsum(axis=0)
        median = (reached >= reached[-1] / 2).argmax(axis=0)
        columns = np.arange(len(X))
        return F[order[median, columns], columns]
