"""The data of a race: drawn by scikit-learn's makers from a fixed seed, n rows to learn from.

Beside the n rows stand some more of the same distribution, never seen in fit, for answers that
must be judged on unseen rows (the error of a tree). Equal arguments give equal bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sample:
    """Rows to learn from and rows to judge by; `y` is None for unsupervised work."""

    X: np.ndarray
    y: np.ndarray | None
    X_test: np.ndarray
    y_test: np.ndarray | None


@dataclass(frozen=True)
class Source:
    """A recipe for samples: `n` is the full size, `draw(rows)` gives X and y."""

    n: int
    shape: str
    draw: Callable[[int], tuple[np.ndarray, np.ndarray]]
    supervised: bool = True
    quick: int = 400

    def sample(self, n: int) -> Sample:
        """n rows, plus a fifth of that (at least 200) to judge by."""
        X, y = self.draw(n + max(200, n // 5))
        known, held = (y[:n], y[n:]) if self.supervised else (None, None)
        if not isinstance(X, np.ndarray):  # sparse, or a data frame
            return Sample(X[:n], known, X[n:], held)
        return Sample(np.ascontiguousarray(X[:n]), known, np.ascontiguousarray(X[n:]), held)


def classification(n: int, d: int, classes: int = 2, supervised: bool = True) -> Source:
    """Clusters on the corners of a cube: half of the columns carry the classes."""

    def draw(rows: int) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.datasets import make_classification

        X, y = make_classification(
            n_samples=rows,
            n_features=d,
            n_informative=d // 2,
            n_redundant=0,
            n_classes=classes,
            random_state=0,
        )
        return X, y

    return Source(
        n, _shape(n, d, classes if classes > 2 and supervised else None), draw, supervised
    )


def regression(
    n: int, d: int, supervised: bool = True, informative: int = 10, targets: int = 1
) -> Source:
    """A linear model of some of the columns, with normal noise of 10, or one for each target."""

    def draw(rows: int) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.datasets import make_regression

        made: Any = make_regression(
            n_samples=rows,
            n_features=d,
            n_informative=informative,
            n_targets=targets,
            noise=10,
            random_state=0,
        )
        return made[0], made[1]

    shape = _shape(n, d, None) + (f", {targets} targets" if targets > 1 else "")
    return Source(n, shape, draw, supervised)


def counts(n: int, d: int) -> Source:
    """Poisson counts whose log mean is linear in standard normal columns."""

    def draw(rows: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, d))
        return X, rng.poisson(np.exp(X @ rng.normal(scale=0.1, size=d) + 0.5)).astype(float)

    return Source(n, _shape(n, d, None), draw)


def words(n: int, d: int, classes: int = 2, sparse: bool = True) -> Source:
    """Counts of words, one cell in a hundred not 0; every class has its own favourites. CSR."""

    def draw(rows: int) -> tuple[Any, np.ndarray]:
        from scipy.sparse import csr_array

        rng = np.random.default_rng(0)
        y = rng.integers(0, classes, rows)
        each = d // 100
        liked = rng.integers(0, d, (classes, d // 10))  # a tenth of the words
        own = liked[y[:, None], rng.integers(0, d // 10, (rows, each))]
        any_word = rng.integers(0, d, (rows, each))
        columns = np.where(rng.random((rows, each)) < 0.2, own, any_word).ravel()
        entries = (np.ones(rows * each), (np.repeat(np.arange(rows), each), columns))
        X = csr_array(entries, shape=(rows, d))  # equal cells are added up
        return (X if sparse else X.toarray()), y

    kind = "CSR" if sparse else "dense"
    return Source(n, f"{_shape(n, d, classes if classes > 2 else None)} {kind}", draw)


def _shape(n: int, d: int, classes: int | None) -> str:
    rows = f"{n // 1000}k" if n % 1000 == 0 else str(n)
    return f"{rows} x {d}" + (f" x {classes}" if classes else "")
