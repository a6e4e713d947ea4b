"""Explanations: contributions of columns for linear kernels, else the most influential support vectors.

Invariant: the base, the listed contributions and `others` add up to the prediction.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pellucid.records import Prototypes
from pellucid.svm import multiclass

SHOWN = 10  # support vectors listed for each row
ENTRIES = 2**22  # terms in memory at a time
STEADY = 1e-6  # sums below this share of their parts are divided by size instead
LINEAR = "weight times distance from the training mean"


def linear_parts(
    base: np.ndarray, contributions: np.ndarray, prediction: np.ndarray, scale: str
) -> dict[str, Any]:
    """Exact contributions of the columns, for a linear kernel."""
    return {
        "base": base,
        "contributions": contributions,
        "prediction": prediction.reshape(len(prediction), -1),
        "scale": scale,
        "method": LINEAR,
    }


def vote_parts(
    base: np.ndarray, parts: np.ndarray, scores: np.ndarray, prediction: np.ndarray
) -> dict[str, Any]:
    """Exact contributions of the columns to the votes of pairs of classes, for a linear kernel.

    `base` and `scores` are the scores s of the pairs at the training mean and at each row, `parts` the
    contributions of the columns to them. The decision function adds functions h of s, or of sums of s:
    steps (a vote) and a confidence. On the line from the training mean to the row, h changes by
    h(s) - h(s0), and a column has the same share of it as of s - s0: these are integrated gradients.
    """
    K = prediction.shape[1]
    share, change = _shares(parts), (scores >= 0) * 1.0 - (base >= 0)
    votes, sums = np.zeros((*parts.shape[:2], K)), np.zeros((*parts.shape[:2], K))
    total, start = np.zeros((len(scores), K)), np.zeros(K)
    for number, (i, j) in enumerate(combinations(range(K), 2)):
        for k, sign in ((i, 1.0), (j, -1.0)):
            votes[:, :, k] += sign * share[:, :, number] * change[:, None, number]
            sums[:, :, k] += sign * parts[:, :, number]
            total[:, k] += sign * scores[:, number]
            start[k] += sign * base[number]
    moved = multiclass.confidence(total) - multiclass.confidence(start)
    return {
        "base": multiclass.votes(base[None], K)[0],
        "contributions": votes + _shares(sums) * moved[:, None],
        "prediction": prediction,
        "scale": "votes",
        "method": "integrated gradients of votes and confidence, from the training mean",
    }


def _shares(parts: np.ndarray) -> np.ndarray:
    """Parts of the columns divided by their sum; divided by size where the sum nearly vanishes."""
    whole, sizes = parts.sum(axis=1, keepdims=True), np.abs(parts)
    size = np.maximum(sizes.sum(axis=1, keepdims=True), 1e-300)
    steady = np.abs(whole) > STEADY * size
    return np.where(steady, parts / np.where(steady, whole, 1.0), sizes / size)


@dataclass(frozen=True)
class SupportVectors:
    """The support vectors of a model as an explanation needs them.

    rows : their row numbers in the training table.
    terms : function of encoded rows, returns coefficient x kernel, (n, vectors, outputs).
    distances : function of encoded rows and chosen vectors (n, k), returns their distances.
    """

    rows: np.ndarray
    terms: Callable[[Any], np.ndarray]
    distances: Callable[[Any, np.ndarray], np.ndarray]


def largest_terms(
    vectors: SupportVectors, X: Any, prediction: np.ndarray, base: np.ndarray, classes: Any, scale: str
) -> Prototypes:  # fmt: skip
    """The support vectors with the largest terms one by one, all others as a sum.

    Some rows at a time, because the terms of all rows may not fit into memory.
    """
    n, outputs = X.shape[0], len(classes) ** 2 if classes else 1
    size = max(1, ENTRIES // max(1, len(vectors.rows) * outputs))
    parts = [_largest(vectors, X[i : i + size]) for i in range(0, max(n, 1), size)]
    order, distances, terms = (np.concatenate(column) for column in zip(*parts))
    return Prototypes(
        rows=vectors.rows[order].astype(np.int64), distances=distances, votes=terms,
        prediction=prediction, classes=classes, scale=scale,
        method="the support vectors with the largest terms", base=base,
        others=prediction - base - terms.sum(axis=1),
    )  # fmt: skip


def _largest(vectors: SupportVectors, X: Any) -> tuple[np.ndarray, ...]:
    """The support vectors with the largest terms of each row, their distances and terms."""
    terms = vectors.terms(X)
    k = min(SHOWN, terms.shape[1])
    order = np.argsort(-np.abs(terms).max(axis=2), axis=1, kind="stable")[:, :k]
    return order, vectors.distances(X, order), np.take_along_axis(terms, order[:, :, None], axis=1)
