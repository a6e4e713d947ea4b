"""Random forest: bagging of trees that search only some columns, drawn anew at every node.

The variance of a mean of B trees is rho sigma^2 + (1 - rho) sigma^2 / B (see `BaggedTrees`). More trees
do not reduce its first term. Trees that may not all use the strongest column are less alike: rho falls,
at the price of a slightly higher bias of each tree.

1. Draw a bootstrap sample of the rows for every tree.
2. At every node draw m of the D columns without replacement, and take the best split of these.
   Usual choices: m = sqrt(D) for classification, m = D / 3 or D for regression.
3. The prediction is the mean of the trees' predictions.
4. Importance of a column: the sum of the decreases W Q - W_left Q_left - W_right Q_right of its
   splits, as a share of all decreases of the tree, averaged over the trees.
"""

import numpy as np

from pellucid.plain.trees.bagging import BaggedTrees
from pellucid.plain.trees.decision_tree import CART


class RandomTree(CART):
    """A `CART` that searches m columns at every node."""

    def __init__(self, m, rng, **settings):
        super().__init__(**settings)
        self.m, self.rng = m, rng

    def columns(self, D):
        return np.sort(self.rng.choice(D, self.m, replace=False))  # step 2


class RandomForest(BaggedTrees):
    """m: the number of columns of a node; otherwise as `BaggedTrees` (steps 1 and 3)."""

    def __init__(self, m, B=100, seed=0, samples=None, **settings):
        super().__init__(B, seed, samples, **settings)
        self.m = m

    def new_tree(self):
        return RandomTree(self.m, self.rng, **self.settings)

    def fit(self, X, y):
        super().fit(X, y)  # step 1 and # step 3: see `BaggedTrees`
        each = [self.importances_of(tree, X.shape[1]) for tree in self.trees]
        self.importances = np.sum(each, axis=0) / np.sum(each)
        return self

    def importances_of(self, tree, D):
        """Shares of the decreases of one tree."""
        decrease, nodes = np.zeros(D), [tree.root]
        while nodes:
            t = nodes.pop()
            if t.column is not None:
                # step 4
                decrease[t.column] += t.W * t.Q - t.left.W * t.left.Q - t.right.W * t.right.Q
                nodes += [t.left, t.right]
        return decrease / decrease.sum() if decrease.sum() > 0 else decrease
