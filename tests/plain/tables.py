"""Tables for comparing constructions with the library: two made ones and built-in sets."""

import numpy as np

from pellucid.data import datasets


def built_in(name, rows=None):
    """(X, y) of a numeric built-in set; class codes are 0, 1, ...; `rows`: every so-and-so many."""
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
