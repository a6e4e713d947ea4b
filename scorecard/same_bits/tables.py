"""Five tables with targets of every kind, and new rows to predict; no file is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow
import scipy.sparse

NEW = 40  # rows that no model has seen


@dataclass(frozen=True)
class Sample:
    """Rows to learn from and rows to predict; `target` picks one of several targets."""

    X: Any
    new: Any
    targets: dict[str, np.ndarray]
    weights: np.ndarray | None = None


def samples(counts: bool) -> dict[str, Sample]:
    """The small tables by name; with `counts` no number is negative."""
    return {
        "numbers": _numbers(counts),
        "mixed": _mixed(counts),
        "wide": _wide(counts),
        "sparse": _sparse(),
    }


def long_sample() -> Sample:
    """More rows than 16 bits can number, as float32, with ties; three classes."""
    rng = np.random.default_rng(5)
    X = np.round(rng.gamma(2.0, size=(70_000 + NEW, 4)), 2).astype(np.float32)
    return Sample(X[:-NEW], X[-NEW:], _targets(X[:-NEW].astype(float), rng, 3))


def _numbers(counts: bool) -> Sample:
    """300 rows of 8 columns, two of them nearly equal, one of few values; two classes; weights."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300 + NEW, 8)) * [1, 2, 0.5, 1, 10, 1, 1, 1] + [0, 1, 0, 0, 50, 0, 0, 0]
    X[:, 6] = X[:, 0] + 0.01 * X[:, 6]
    X[:, 7] = rng.integers(0, 4, len(X))
    if counts:
        X = np.floor(np.abs(X))
    weights = rng.integers(0, 4, 300).astype(float)
    return Sample(X[:-NEW], X[-NEW:], _targets(X[:300], rng, 2), weights)


def _mixed(counts: bool) -> Sample:
    """Numbers, flags, categories, text, dates and missing values; three classes with names."""
    rng = np.random.default_rng(2)
    n = 160 + NEW
    group = np.arange(n) % 3
    height = np.round(2 + group + np.abs(rng.normal(size=n)), 2)
    depth = np.round(np.abs(rng.normal(size=n)) * 5, 1) - (0 if counts else 2)
    colours = np.array(["amber", "blue", "green"])[(group + (rng.random(n) < 0.3)) % 3]
    towns = np.array([f"town {k:02d}" for k in range(9)])[rng.integers(0, 9, n)]
    days = np.datetime64("2021-03-01") + rng.integers(0, 400, n).astype("timedelta64[D]")
    table = pyarrow.table(
        {
            "height": pyarrow.array(height, mask=np.arange(n) % 7 == 0),
            "depth": depth,
            "count": rng.integers(0, 9, n),
            "flag": rng.random(n) < 0.5,
            "colour": pyarrow.array(colours, mask=np.arange(n) % 11 == 0),
            "town": pyarrow.array(towns, mask=np.arange(n) % 13 == 0),
            "day": pyarrow.array(days, mask=np.arange(n) % 17 == 0),
            "note": [" ".join(words) for words in rng.choice(["red", "old", "big"], (n, 2))],
        }
    )
    targets = _targets(np.column_stack([height, depth])[:-NEW], rng, 3)
    targets["classes"] = np.array(["no", "oui", "så"], dtype=object)[group[:-NEW]]
    return Sample(table.slice(0, n - NEW), table.slice(n - NEW), targets)


def _wide(counts: bool) -> Sample:
    """More columns than rows; four classes; two targets."""
    rng = np.random.default_rng(3)
    X = rng.poisson(2.0, size=(60 + NEW, 90)).astype(float)
    if not counts:
        X = X - 2 + 0.1 * rng.normal(size=X.shape)
    return Sample(X[:-NEW], X[-NEW:], _targets(X[:60], rng, 4, several=True))


def _sparse() -> Sample:
    """Counts, most of them 0, as a CSR matrix; three classes."""
    rng = np.random.default_rng(4)
    X = rng.poisson(0.3, size=(150 + NEW, 30)).astype(float)
    matrix = scipy.sparse.csr_matrix(X)
    return Sample(matrix[:-NEW], matrix[-NEW:], _targets(X[:150], rng, 3))


def _targets(X: np.ndarray, rng: Any, n_classes: int, several: bool = False) -> dict[str, Any]:
    """Targets of every kind that depend on the first columns, with noise."""
    line = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std() + 0.5 * X[:, 1] / X[:, 1].std()
    numbers = 3 * line + rng.normal(size=len(X))
    rank = np.argsort(np.argsort(line + rng.normal(size=len(X))))
    targets = {
        "numbers": numbers,
        "positive": np.exp(0.4 * line + 0.3 * rng.normal(size=len(X))),
        "counts": rng.poisson(np.exp(0.4 * line)).astype(float),
        "classes": rank * n_classes // len(X),
        "two": rank * 2 // len(X),
    }
    targets["shares"] = targets["two"].astype(float)
    if several:
        targets["several"] = np.column_stack([numbers, numbers[::-1] + targets["counts"]])
    return targets
