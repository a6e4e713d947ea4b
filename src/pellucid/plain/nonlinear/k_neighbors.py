"""k nearest neighbors: the vote, or the mean, of the k training rows nearest to a new row.

    P(class c | x) = share of class c among the k nearest rows        f(x) = mean of their y

Nearest by the Euclidean distance. All rows that are as far as the k-th one share the places that the
nearer ones leave, so that the prediction does not depend on the order of the rows.

A KD-tree finds the k rows without visiting all of them:

1. Build: cut the rows at the median of the column with the largest spread, then cut both halves
   in the same way, until a cell has at most `leaf_size` rows.
2. Search: go down to the cell of x first, and keep the k nearest rows found so far.
3. On the way back, visit the other side of a cut only if it can hold a nearer row: the distance
   from x to the cut must not exceed the distance of the k-th row so far.
"""

import numpy as np


class KDTree:
    """Cells of rows; `visited` counts the distances that the last query computed."""

    def __init__(self, X, leaf_size=10):
        self.X, self.leaf_size = X, leaf_size
        self.root = self.build(np.arange(len(X)))

    def build(self, rows):
        spread = np.ptp(self.X[rows], axis=0)
        if len(rows) <= self.leaf_size or spread.max() == 0:
            return rows
        j = spread.argmax()  # step 1
        x = self.X[rows, j]
        cut = np.median(x)
        if cut == x.max():  # both halves must have rows
            cut = x[x < cut].max()
        return j, cut, self.build(rows[x <= cut]), self.build(rows[x > cut])

    def query(self, x, k):
        """Distances and numbers of the k nearest rows, the nearest first."""
        self.visited = 0
        found = self.search(self.root, x, k, [])
        return np.array([d for d, _ in found]), np.array([i for _, i in found])

    def search(self, cell, x, k, found):
        if isinstance(cell, np.ndarray):
            self.visited += len(cell)
            new = [(float(np.sqrt(((self.X[i] - x) ** 2).sum())), int(i)) for i in cell]
            return sorted(found + new)[:k]
        j, cut, low, high = cell
        near, far = (low, high) if x[j] <= cut else (high, low)
        found = self.search(near, x, k, found)  # step 2
        if len(found) < k or abs(x[j] - cut) <= found[-1][0]:  # step 3
            found = self.search(far, x, k, found)
        return found


class KNearestRegressor:
    """The mean of the k nearest rows."""

    def __init__(self, k=5):
        self.k = k

    def fit(self, X, y):
        self.order, self.y = np.argsort(y, kind="stable"), y  # equally near: by y, then by row
        self.tree = KDTree(X[self.order])
        return self

    def kneighbors(self, X):
        found = [self.tree.query(x, self.k) for x in X]
        return np.array([d for d, _ in found]), np.array([self.order[rows] for _, rows in found])

    def mean(self, x, values):
        """The mean of the k nearest values; all rows as far as the k-th one share its places."""
        many = self.k + 1
        distance, rows = self.tree.query(x, many)
        last = distance[self.k - 1]
        while distance[-1] == last and many < len(values):
            many *= 2
            distance, rows = self.tree.query(x, many)
        nearer, tied = values[rows[distance < last]], values[rows[distance == last]]
        return (nearer.sum() + (self.k - len(nearer)) * tied.mean()) / self.k

    def predict(self, X):
        return np.array([self.mean(x, self.y[self.order]) for x in X])


class KNearestClassifier(KNearestRegressor):
    """The vote of the k nearest rows; the first class wins a tie."""

    def predict_proba(self, X):
        self.classes, y = np.unique(self.y), self.y[self.order]
        return np.array([[self.mean(x, y == c) for c in self.classes] for x in X])

    def predict(self, X):
        p = self.predict_proba(X)
        return self.classes[p.argmax(axis=1)]
