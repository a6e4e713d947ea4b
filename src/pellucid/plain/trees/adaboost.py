"""AdaBoost for classification (SAMME): a weighted vote of trees, each grown where the others fail.

Objective: the exponential loss of the vote, lowered by one tree after the other,

    sum_i exp(-s_{y_i}(x_i) (K - 1) / K),    s_k(x) = sum_t a_t v_k(f_t(x)),

where v_k is 1 for the class that a tree votes for and -1 / (K - 1) for the others. Tree t multiplies the
loss of a right row by exp(-a_t (K - 1) / K) and that of a wrong row by exp(a_t / K). If w_i is the loss
of row i as a share of the total, the total is multiplied by

    (1 - e_t) exp(-a_t (K - 1) / K) + e_t exp(a_t / K),    e_t = sum of w_i over the wrong rows

The derivative in a_t is 0 at the a_t of step 3.

1. All rows have the weight w_i = 1 / n.
2. Fit a tree with these weights, and compute e_t.
3. a_t = log((1 - e_t) / e_t) + log(K - 1). It is positive if the tree is better than guessing,
   e_t < 1 - 1/K. A tree that is not better ends the rounds and is dropped, unless it is the first.
   A perfect tree (e_t = 0) ends them too, with a weight that outvotes all others.
4. Multiply the weights of the wrong rows by exp(a_t), and divide all by their sum. Repeat from 2.
5. Predict the class with the largest score; probabilities are softmax(mean score / (K - 1)).
"""

import numpy as np

from pellucid.plain.trees.decision_tree import CART


class AdaBoostSAMME:
    """T trees of at most max_depth; the default is a stump, a tree of one split."""

    def __init__(self, T=50, max_depth=1, **settings):
        self.T, self.settings = T, settings | {"max_depth": max_depth}

    def fit(self, X, y):
        self.classes = np.unique(y)
        K, n = len(self.classes), len(y)
        w = np.full(n, 1 / n)  # step 1
        self.trees, self.trace = [], []
        self.a: list[float] = []
        for t in range(self.T):
            tree = CART(**self.settings).fit(X, y, w)  # step 2
            wrong = tree.predict(X) != y
            e = w[wrong].sum()
            useless = e >= 1 - 1 / K - 1e-12
            if useless and t > 0:
                break
            last = useless or e == 0
            a = 1 + 2 * sum(self.a) if last else np.log((1 - e) / e) + np.log(K - 1)  # step 3
            self.trees.append(tree)
            self.a.append(a)
            self.trace.append({"round": t + 1, "error": e, "weight": a, "w": w})
            if last:
                break
            w = w * np.exp(a * wrong)  # step 4
            w = w / w.sum()
        return self

    def scores(self, X):
        """Weighted means of the votes v, (n, K)."""
        K = len(self.classes)
        total = np.zeros((len(X), K))
        for a, tree in zip(self.a, self.trees):
            v = np.where(tree.predict(X)[:, None] == self.classes, 1.0, -1 / (K - 1))
            total = total + a * v
        return total / sum(self.a)

    def predict_proba(self, X):
        odds = np.exp(self.scores(X) / (len(self.classes) - 1))  # step 5
        return odds / odds.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes[self.scores(X).argmax(axis=1)]
