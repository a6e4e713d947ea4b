"""Splitting rows with weights: a row of weight k stands for k samples, which are split one by one.

Equal rows are one row with a weight. If the row went as a whole to the training part or to the test
part, the test part would hold exactly the labels that training lacks at that point, and estimates would
be too pessimistic. So each part gets a share of the row's weight, perhaps 0.

Invariant: a split follows from the random stream and the canonical rows alone, and has the same
distribution as if the copies were separate rows.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np

from pellucid.data.canonical import EXACT

MOST = 10**9  # copies from which NumPy draws without replacement
EACH = 2**22  # copies that are shuffled one by one


def copies_of(weights: np.ndarray) -> np.ndarray | None:
    """Number of samples that each row stands for (int64); None if it is one each, also if weights are
    not counts."""
    if (weights == 1.0).all() or not (weights == np.floor(weights)).all():
        return None
    return weights.astype(np.int64) if weights.sum() < EXACT else None


def among(copies: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """How many copies of each row are among `count` of all, drawn without replacement."""
    total = int(copies.sum())
    if total < MOST:
        return rng.multivariate_hypergeometric(copies, count, method="marginals")
    return rng.binomial(copies, count / total)  # practically exact for such large numbers


def held_back(
    weights: np.ndarray,
    groups: Iterable[np.ndarray],
    how_many: Callable[[int], int],
    rng: np.random.Generator,
) -> np.ndarray:
    """The held-back weight of each row, for rows in groups: `how_many(m)` of the m samples of a group
    are held back. The rest, `weights` minus these, is for training."""
    copies, held = copies_of(weights), np.zeros(len(weights))
    for rows in groups:
        if copies is None:
            chosen = rng.permutation(rows)[: how_many(len(rows))]
            held[chosen] = weights[chosen]
        else:
            own = copies[rows]
            held[rows] = among(own, how_many(int(own.sum())), rng)
    return held


def classes_of(y: np.ndarray) -> Iterator[np.ndarray]:
    """The rows of each class code that occurs, as groups."""
    return (np.flatnonzero(y == k) for k in np.unique(y))


def consecutive_parts(copies: np.ndarray, sizes: np.ndarray) -> Iterator[np.ndarray]:
    """For each of consecutive parts with these numbers of copies, the copies of each row in it."""
    ends = np.concatenate([[0.0], np.cumsum(copies)])
    for low, high in pairwise(np.concatenate([[0], np.cumsum(sizes)])):
        yield np.clip(np.minimum(ends[1:], high) - np.maximum(ends[:-1], low), 0.0, None)


def dealt(
    weights: np.ndarray, keys: np.ndarray, parts: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """For each part the weights of the rows in it. Samples go to the parts in turn, ordered by their
    keys, and at random within a key; canonical rows of weight 1, which are all different, keep their
    order within a key."""
    n, copies = len(weights), copies_of(weights)
    if copies is None:
        part, alone = np.empty(n, dtype=np.int64), (weights == 1.0).all()
        order = np.argsort(keys, kind="stable") if alone else np.lexsort((rng.random(n), keys))
        part[order] = np.arange(n) % parts
        yield from (np.where(part == k, weights, 0.0) for k in range(parts))
        return
    total = int(copies.sum())
    if total <= max(EACH, 4 * n):
        rows = np.repeat(np.arange(n), copies)
        order = np.lexsort((rng.random(total), keys[rows]))
        place = (np.arange(total) % parts) * n + rows[order]
        counts = np.bincount(place, minlength=parts * n).reshape(parts, n)
    else:
        counts = rng.multinomial(copies, np.full(parts, 1.0 / parts)).T
    yield from counts.astype(np.float64)
