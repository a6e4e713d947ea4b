"""Tables for comparing constructions with the library, and the comparison of two trees."""

import numpy as np

from pellucid.data import datasets


def built_in(name, rows=None):
    """(X, y) of a numeric built-in set; class codes are 0, 1, ...; `rows`: takes every
    row whose number is a multiple of it."""
    found = datasets.load(name)
    X = np.column_stack([np.asarray(found.table[c], dtype=float) for c in found.features])
    y = np.asarray(found.y)
    y = np.unique(y, return_inverse=True)[1] if found.task != "regression" else y.astype(float)
    return X[::rows], y[::rows]


def classes(seed, n=120, d=3, K=2):
    """Noisy classes on a curve; values without ties."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, K) / K), score)


def numbers(seed, n=120, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.3 * rng.normal(size=n)


def preorder(node):
    if node.column is None:
        return [node]
    return [node, *preorder(node.left), *preorder(node.right)]


def same_tree(made, nodes, tolerance=1e-12):
    """Node by node: the rows, the split, the impurity and the value."""
    found = preorder(made.root)
    assert [t.n for t in found] == nodes.n_samples.tolist()
    assert [-1 if t.column is None else t.column for t in found] == nodes.feature.tolist()
    thresholds = [t.split if t.column is not None and np.ndim(t.split) == 0 else 0.0 for t in found]
    np.testing.assert_allclose(thresholds, nodes.threshold, rtol=1e-15)
    np.testing.assert_allclose([t.Q for t in found], nodes.impurity, rtol=1e-9, atol=tolerance)
    values = np.array([t.c for t in found]).reshape(len(found), -1)
    np.testing.assert_allclose(values, nodes.value, rtol=1e-12, atol=tolerance)
