"""The support vectors that speak for and against a prediction."""

from itertools import combinations
from typing import Any

import numpy as np

from pellucid.records import Prototypes


def speakers(model: Any, X: Any, shown: int) -> Prototypes:
    """The support vectors with the largest terms; all other terms are summed up in `others`.

    For two classes a vote is coefficient x kernel, on the scale of the decision function. For more, it
    is the sum of these terms over the pairs of a class, and `others` holds what the counting of pairs
    adds.
    """
    K = len(model.classes_)
    coefficients = model._pair_coefficients()
    terms = np.stack(
        [model._sums(X, np.diag(column)) for column in coefficients.T], axis=2
    )  # (n, support vectors, pairs)
    if K == 2:
        votes = terms
        said, base = model._scores(X)[:, None], model.intercept_
    else:
        votes = np.zeros((*terms.shape[:2], K))
        for number, (i, j) in enumerate(combinations(range(K), 2)):
            votes[:, :, i] += terms[:, :, number]
            votes[:, :, j] -= terms[:, :, number]
        said, base = model._scores(X), np.zeros(K)
    k = min(shown, votes.shape[1])
    order = np.argsort(-np.abs(votes).max(axis=2), axis=1, kind="stable")[:, :k]
    spoken = np.take_along_axis(votes, order[:, :, None], axis=1)
    return Prototypes(
        rows=model.support_[order].astype(np.int64), distances=_distances(model, X, order),
        votes=spoken, prediction=said, classes=tuple(model.classes_.tolist()), scale="votes",
        method="the support vectors with the largest terms", base=base,
        others=said - base - spoken.sum(axis=1),
    )  # fmt: skip


def _distances(model: Any, X: Any, order: np.ndarray) -> np.ndarray:
    """Euclidean distances in encoded columns; NaN for given kernels, which know none."""
    if model._pairwise:
        return np.full(order.shape, np.nan)
    dense = [T if isinstance(T, np.ndarray) else T.toarray() for T in (X, model._vectors())]
    return np.sqrt(((dense[0][:, None] - model.centre_ - dense[1][order]) ** 2).sum(axis=2))
