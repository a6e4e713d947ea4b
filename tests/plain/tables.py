"""The tables on which the constructions are compared with the library: two made, one real."""

import numpy as np

from pellucid.data import datasets


def numbers(name, features=None):
    """A built-in set as a table of numbers with standardised columns, and its target."""
    data = datasets.load(name)
    X = np.column_stack([data.table.column(c).to_numpy() for c in features or data.features])
    return standardised(X.astype(float)), data.y


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def correlated(n, d, seed):
    """Columns of several sizes that depend on each other."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)


def made_regression(n, d, seed):
    X = correlated(n, d, seed)
    rng = np.random.default_rng(seed + 1)
    return X, X @ rng.integers(-2, 3, d) + 5 + rng.normal(size=n)


def made_classes(n, d, K, seed):
    """K overlapping classes, 0 to K - 1."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    return 0.4 * rng.normal(size=(K, d))[y] + rng.normal(size=(n, d)) * rng.uniform(0.5, 2, d), y


def regression_tables():
    return {
        "small": made_regression(20, 3, 0),
        "wider": made_regression(120, 12, 1),
        "diabetes": numbers("diabetes"),
    }


def binary_tables():
    X, y = numbers("breast_cancer")
    return {
        "small": made_classes(40, 2, 2, 2),
        "wider": made_classes(200, 6, 2, 3),
        "breast_cancer": (X, (y == "malignant").astype(int)),
    }


def class_tables():
    return {
        "small": made_classes(60, 2, 3, 4),
        "wider": made_classes(240, 5, 4, 5),
        "wine": numbers("wine"),
    }
