"""CART: a decision tree, grown greedily by the split that leaves the purest children.

A node with rows of weight W predicts one value c. Its impurity Q is the mean loss of that value:

    gini            Q = 1 - sum_k p_k^2            c = (p_1, ..., p_K), the class shares
    entropy         Q = -sum_k p_k log2 p_k        c = (p_1, ..., p_K)
    error           Q = 1 - max_k p_k              c = (p_1, ..., p_K)
    squared_error   Q = mean (y_i - c)^2           c = mean y_i

Objective of each split: minimise W_left Q_left + W_right Q_right.

1. A node stops if all its y are equal, at max_depth, or if it has too few rows.
2. List the candidate splits of every column. Numbers: x <= t, with t half-way between neighbouring
   values. Categories: every set S of levels that contains the first one, so that no split is
   listed twice; L levels give 2^(L-1) - 1 splits.
3. Take the candidate with the smallest cost. The first one wins a tie. The best split need not
   lower the cost: the first split of XOR does not, but the splits below it do.
4. Grow the two children in the same way.
5. To predict, follow the splits from the root to a leaf, and return the c of this leaf.
"""

from itertools import combinations, pairwise

import numpy as np


def value_and_impurity(criterion, y, w, K):
    """c and Q of rows with weights w; y holds class codes 0, ..., K - 1 or numbers."""
    if criterion == "squared_error":
        c = np.average(y, weights=w)
        return c, np.average((y - c) ** 2, weights=w)
    p = np.bincount(y, weights=w, minlength=K) / w.sum()
    if criterion == "gini":
        return p, 1 - (p**2).sum()
    if criterion == "error":
        return p, 1 - p.max()
    return p, -(p[p > 0] * np.log2(p[p > 0])).sum()


def goes_left(x, split):
    """Which values go left: those up to a threshold, or those in a set of levels."""
    return np.isin(x, split) if np.ndim(split) else x <= split


class Node:
    """n rows of weight W; a leaf until `column` and `split` (a threshold or a set of levels) are set."""

    def __init__(self, n, W, c, Q):
        self.n, self.W, self.c, self.Q = n, W, c, Q
        self.column = self.split = self.left = self.right = None


class CART:
    """criterion: a line of the table above. categorical: the columns that hold levels, not numbers."""

    def __init__(
        self, criterion="gini", max_depth=np.inf, min_samples_split=2, min_samples_leaf=1,
        categorical=(),
    ):  # fmt: skip
        self.criterion, self.max_depth, self.categorical = criterion, max_depth, categorical
        self.min_samples_split, self.min_samples_leaf = min_samples_split, min_samples_leaf

    def fit(self, X, y, w=None):
        w, self.K = np.ones(len(y)) if w is None else w, 0
        if self.criterion != "squared_error":
            self.classes, y = np.unique(y, return_inverse=True)
            self.K = len(self.classes)
        self.trace = []
        self.root = self.grow(X, y, w, depth=0)
        return self

    def columns(self, D):
        """The columns that a node searches: all of them. A random forest draws some."""
        return range(D)

    def candidates(self, x, categorical):
        """Thresholds between neighbouring values, or sets of levels that contain the first one."""
        values = np.unique(x)
        if not categorical:
            return [(a + b) / 2 for a, b in pairwise(values)]  # step 2
        first, others = values[:1], values[1:]
        sizes = range(len(others))
        return [np.append(first, s) for size in sizes for s in combinations(others, size)]

    def grow(self, X, y, w, depth):
        node = Node(len(y), w.sum(), *value_and_impurity(self.criterion, y, w, self.K))
        # step 1
        if len(np.unique(y)) == 1 or depth >= self.max_depth or len(y) < self.min_samples_split:
            return node
        # step 2 and # step 3: differences due to rounding are ties
        best = np.inf
        for j in self.columns(X.shape[1]):
            for split in self.candidates(X[:, j], j in self.categorical):
                left = goes_left(X[:, j], split)
                if min(left.sum(), (~left).sum()) < self.min_samples_leaf:
                    continue
                cost = sum(
                    w[side].sum() * value_and_impurity(self.criterion, y[side], w[side], self.K)[1]
                    for side in (left, ~left)
                )
                if cost < best - 1e-12 * node.W * node.Q:
                    best, node.column, node.split, best_left = cost, j, split, left
        if node.column is None:
            return node
        self.trace.append(
            {"depth": depth, "rows": node.n, "impurity": node.Q, "column": node.column,
             "split": node.split, "impurity after": best / node.W}
        )  # fmt: skip
        # step 4
        node.left = self.grow(X[best_left], y[best_left], w[best_left], depth + 1)
        node.right = self.grow(X[~best_left], y[~best_left], w[~best_left], depth + 1)
        return node

    def leaf(self, x):
        """The leaf of one row."""
        node = self.root
        while node.column is not None:  # step 5
            node = node.left if goes_left(x[node.column], node.split) else node.right
        return node

    def predict_proba(self, X):
        return np.array([self.leaf(x).c for x in X])

    def predict(self, X):
        c = self.predict_proba(X)
        return c if self.criterion == "squared_error" else self.classes[c.argmax(axis=1)]
