"""Cost-complexity pruning: the subtree of a grown CART that is worth its leaves.

Objective, for a penalty alpha on each leaf, over all trees that collapse some nodes of the grown one:

    R(T) + alpha * number of leaves,    R(T) = sum over the leaves of (W_leaf / W_root) Q_leaf

A branch at node t, with `leaves` leaves, pays for itself while alpha is below

    g(t) = (R(t) - R(branch)) / (leaves - 1),    R(t) = (W_t / W_root) Q_t

1. Find the weakest link: the inner node with the smallest g(t); the first one, from the root
   down and left before right, wins a tie.
2. Make it a leaf. For alpha = g(t) the smaller tree is exactly as good as the larger one.
3. Repeat until only the root is left. The values of g never decrease, so every optimal subtree
   is met on the way: the tree for alpha is the one after all links with g <= alpha are cut.
"""

import numpy as np


class CostComplexityPruning:
    """Prunes a fitted `CART` in place. The trace holds alpha, R(T) and the number of leaves."""

    def __init__(self, alpha=np.inf):
        self.alpha = alpha

    def leaves(self, node):
        if node.column is None:
            return [node]
        return self.leaves(node.left) + self.leaves(node.right)

    def inner_nodes(self, node):
        if node.column is None:
            return []
        return [node, *self.inner_nodes(node.left), *self.inner_nodes(node.right)]

    def R(self, nodes):
        return sum(node.W / self.tree.root.W * node.Q for node in nodes)

    def g(self, node):
        branch = self.leaves(node)
        return (self.R([node]) - self.R(branch)) / (len(branch) - 1)

    def record(self, alpha):
        leaves = self.leaves(self.tree.root)
        self.trace.append({"alpha": alpha, "R": self.R(leaves), "leaves": len(leaves)})

    def fit(self, tree):
        self.tree, self.trace, alpha = tree, [], 0.0
        self.record(alpha)
        while inner := self.inner_nodes(tree.root):
            weakest = min(inner, key=self.g)  # step 1
            alpha = max(alpha, self.g(weakest))  # rounding must not let alpha decrease
            if alpha > self.alpha:  # step 3
                break
            weakest.column = weakest.split = weakest.left = weakest.right = None  # step 2
            self.record(alpha)
        return self
