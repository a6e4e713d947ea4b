"""Who speaks for a prediction: columns of linear kernels, else support vectors for and against.

Invariant: `base`, the votes that are listed and `others` add up to the prediction.
"""

from itertools import combinations
from typing import Any

import numpy as np

from pellucid.records import Prototypes

SHOWN = 10
METHOD = "the support vectors with the largest terms"


def linear_parts(model: Any, X: Any, said: np.ndarray, scale: str) -> dict[str, Any]:
    """Exact contributions of the columns, for a machine with a linear kernel."""
    X = X if isinstance(X, np.ndarray) else X.toarray()
    return {
        "base": model.intercept_,
        "contributions": X[:, :, None] * np.atleast_2d(model.coef_).T,
        "prediction": said.reshape(len(said), -1),
        "scale": scale,
        "method": "weights of the linear kernel",
    }


def one_speaks(model: Any, X: Any, said: np.ndarray, scale: str) -> Prototypes:
    """Terms coefficient x kernel of a single machine, on the scale of its answer."""
    votes = (model._values(X) * model.dual_coef_[0])[:, :, None]
    return _listed(model, X, votes, said[:, None], model.intercept_, None, scale)


def speakers(model: Any, X: Any) -> Prototypes:
    """The support vectors of a classifier with the largest terms, for and against each class.

    For machines that score a class a vote is coefficient x kernel, on the scale of the decision
    function. For pairs of several classes it is the sum of these terms over the pairs of a class, and
    `others` holds what the counting of pairs adds.
    """
    K = len(model.classes_)
    terms = model._values(X)[:, :, None] * model._coefficients()  # (n, support vectors, machines)
    if K == 2 or model._by_rest():
        votes, base = terms, model.intercept_
        said = model._scores(X).reshape(len(terms), -1)
    else:
        votes = np.zeros((*terms.shape[:2], K))
        for number, (i, j) in enumerate(combinations(range(K), 2)):
            votes[:, :, i] += terms[:, :, number]
            votes[:, :, j] -= terms[:, :, number]
        said, base = model._scores(X), np.zeros(K)
    classes = tuple(model.classes_.tolist())
    return _listed(model, X, votes, said, base, classes, "votes")


def _listed(
    model: Any, X: Any, votes: np.ndarray, said: np.ndarray, base: np.ndarray, classes: Any,
    scale: str,
) -> Prototypes:  # fmt: skip
    """The largest votes one by one, all others as a sum."""
    k = min(SHOWN, votes.shape[1])
    order = np.argsort(-np.abs(votes).max(axis=2), axis=1, kind="stable")[:, :k]
    spoken = np.take_along_axis(votes, order[:, :, None], axis=1)
    return Prototypes(
        rows=model.support_[order].astype(np.int64), distances=_distances(model, X, order),
        votes=spoken, prediction=said, classes=classes, scale=scale, method=METHOD, base=base,
        others=said - base - spoken.sum(axis=1),
    )  # fmt: skip


def _distances(model: Any, X: Any, order: np.ndarray) -> np.ndarray:
    """Euclidean distances as the kernel sees the rows; NaN for given kernels, which know none."""
    from pellucid.svm.machine import scaled

    if model._pairwise:
        return np.full(order.shape, np.nan)
    X = scaled(X, model.scale_)
    dense = [T if isinstance(T, np.ndarray) else T.toarray() for T in (X, model._vectors())]
    return np.sqrt(((dense[0][:, None] - model.centre_ - dense[1][order]) ** 2).sum(axis=2))
