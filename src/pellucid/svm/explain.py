"""Who speaks for a prediction: columns of linear kernels, else support vectors for and against.

Invariant: `base`, the votes that are listed and `others` add up to the prediction.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from pellucid.records import Prototypes
from pellucid.svm import multiclass
from pellucid.svm.kernel_base import scaled

SHOWN = 10
ENTRIES = 2**22  # votes in memory at a time
STEADY = 1e-6  # contributions that cancel more than this are shared by size
METHOD = "the support vectors with the largest terms"


def linear_parts(model: Any, X: Any, said: np.ndarray, scale: str) -> dict[str, Any]:
    """Exact contributions of the columns, for machines with a linear kernel."""
    base, contributions = _lines(model, X)
    return {
        "base": base,
        "contributions": contributions,
        "prediction": said.reshape(len(said), -1),
        "scale": scale,
        "method": "weight times distance from the training mean",
    }


def _lines(model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores of each machine at the training mean (of sparse rows: at 0), and what the columns of each
    row add to them, (n, columns, machines).
    """
    X = X if isinstance(X, np.ndarray) else X.toarray()
    mean = scaled(model.centre_, 1.0 / model.scale_)
    coef = np.atleast_2d(model.coef_)
    return coef @ mean + model.intercept_, (X - mean)[:, :, None] * coef.T


def pair_parts(model: Any, X: Any) -> dict[str, Any]:
    """Exact contributions of the columns to the decision function of pairs of classes.

    The scores s of the pairs are straight; the decision function adds functions h of them, or of their
    sums: steps (a vote) and a confidence. Each h moves by h(s) - h(s0) on the straight way from the
    training mean, and a column has the share of it that it has of s - s0: integrated gradients.
    """
    base, parts = _lines(model, X)
    K, scores = len(model.classes_), model._machines(X)
    pairs = list(combinations(range(K), 2))
    if model.decision_function_shape == "ovo":
        named = tuple(f"{model.classes_[i]} over {model.classes_[j]}" for i, j in pairs)
        found = {"base": base, "contributions": parts, "prediction": scores, "classes": named}
        return found | {"scale": "votes", "method": "weight times distance from the training mean"}
    share, turned = _shares(parts), (scores >= 0) * 1.0 - (base >= 0)
    votes, sums = np.zeros((*parts.shape[:2], K)), np.zeros((*parts.shape[:2], K))
    total, start = np.zeros((len(scores), K)), np.zeros(K)
    for number, (i, j) in enumerate(pairs):
        for k, sign in ((i, 1.0), (j, -1.0)):
            votes[:, :, k] += sign * share[:, :, number] * turned[:, None, number]
            sums[:, :, k] += sign * parts[:, :, number]
            total[:, k] += sign * scores[:, number]
            start[k] += sign * base[number]
    moved = multiclass.confidence(total) - multiclass.confidence(start)
    return {
        "base": multiclass.by_class(base[None], K)[0],
        "contributions": votes + _shares(sums) * moved[:, None],
        "prediction": model._scores(X),
        "scale": "votes",
        "method": "integrated gradients of votes and confidence, from the training mean",
    }


def _shares(parts: np.ndarray) -> np.ndarray:
    """Parts of the columns divided by their sum; by their sizes where next to nothing is left of it."""
    whole, sizes = parts.sum(axis=1, keepdims=True), np.abs(parts)
    size = np.maximum(sizes.sum(axis=1, keepdims=True), 1e-300)
    steady = np.abs(whole) > STEADY * size
    return np.where(steady, parts / np.where(steady, whole, 1.0), sizes / size)


def one_speaks(model: Any, X: Any, said: np.ndarray, scale: str) -> Prototypes:
    """Terms coefficient x kernel of a single machine, on the scale of its answer."""

    def votes(X: Any) -> np.ndarray:
        return (model._values(X) * model.dual_coef_[0])[:, :, None]

    return _listed(model, X, votes, said[:, None], model.intercept_, None, scale)


def speakers(model: Any, X: Any) -> Prototypes:
    """The support vectors of a classifier with the largest terms, for and against each class.

    For machines that score a class a vote is coefficient x kernel, on the scale of the decision
    function. For pairs of several classes it is the sum of these terms over the pairs of a class, and
    `others` holds what the counting of pairs adds.
    """
    K = len(model.classes_)
    single = K == 2 or model._by_rest()

    def votes(X: Any) -> np.ndarray:
        terms = model._values(X)[:, :, None] * model._coefficients()  # (n, vectors, machines)
        if single:
            return terms
        out = np.zeros((*terms.shape[:2], K))
        for number, (i, j) in enumerate(combinations(range(K), 2)):
            out[:, :, i] += terms[:, :, number]
            out[:, :, j] -= terms[:, :, number]
        return out

    said, base = model._scores(X), model.intercept_ if single else np.zeros(K)
    classes = tuple(model.classes_.tolist())
    return _listed(model, X, votes, said.reshape(X.shape[0], -1), base, classes, "votes")


def _listed(
    model: Any, X: Any, votes: Callable[[Any], np.ndarray], said: np.ndarray, base: np.ndarray,
    classes: Any, scale: str,
) -> Prototypes:  # fmt: skip
    """The largest votes one by one, all others as a sum; some rows at a time, whose votes are many."""
    n, machines = X.shape[0], len(model.classes_) ** 2 if classes else 1
    size = max(1, ENTRIES // max(1, len(model.support_) * machines))
    parts = [_largest(model, X[i : i + size], votes) for i in range(0, max(n, 1), size)]
    order, distances, spoken = (np.concatenate(column) for column in zip(*parts))
    return Prototypes(
        rows=model.support_[order].astype(np.int64), distances=distances, votes=spoken,
        prediction=said, classes=classes, scale=scale, method=METHOD, base=base,
        others=said - base - spoken.sum(axis=1),
    )  # fmt: skip


def _largest(model: Any, X: Any, votes: Callable[[Any], np.ndarray]) -> tuple[np.ndarray, ...]:
    """The support vectors with the largest votes of each row, their distances and votes."""
    said = votes(X)
    k = min(SHOWN, said.shape[1])
    order = np.argsort(-np.abs(said).max(axis=2), axis=1, kind="stable")[:, :k]
    return order, _distances(model, X, order), np.take_along_axis(said, order[:, :, None], axis=1)


def _distances(model: Any, X: Any, order: np.ndarray) -> np.ndarray:
    """Euclidean distances as the kernel sees the rows; NaN for given kernels, which know none."""
    if model._pairwise:
        return np.full(order.shape, np.nan)
    X = scaled(X, model.scale_)
    dense = [T if isinstance(T, np.ndarray) else T.toarray() for T in (X, model._vectors())]
    return np.sqrt(((dense[0][:, None] - model.centre_ - dense[1][order]) ** 2).sum(axis=2))
