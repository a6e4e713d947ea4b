"""Several classes as binary problems: one for each pair, or each class against all others.

Invariant: a binary problem is a pair (first, second) of class codes, where second is -1 for "all
others"; positive scores mean the first. The coefficients of pairs are packed as in LIBSVM, shape
(classes - 1, support vectors): a vector of class i has its coefficient against class j in row j - 1
(j > i) or j.
"""

from itertools import combinations

import numpy as np

from pellucid.parameters import shared
from pellucid.records import Solution, Status

REST = -1
CLASS_FACTORS = shared.CLASS_WEIGHT.replace(
    description="Factors for the weights of the rows by class. 'balanced' gives every class the same "
    "total weight."
)


def binary_problems(K: int, multi_class: str) -> list[tuple[int, int]]:
    """The binary problems of K classes; two classes always have one.

    >>> binary_problems(3, "ovo"), binary_problems(3, "ovr")
    ([(0, 1), (0, 2), (1, 2)], [(0, -1), (1, -1), (2, -1)])
    """
    if multi_class == "ovr" and K > 2:
        return [(k, REST) for k in range(K)]
    return list(combinations(range(K), 2))


def rows_of(y: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
    """The training rows of a binary problem."""
    first, second = pair
    return np.arange(len(y)) if second == REST else np.flatnonzero((y == first) | (y == second))


def unsolved(y: np.ndarray, pair: tuple[int, int]) -> Solution:
    """A binary problem before its first step."""
    rows = rows_of(y, pair)
    return Solution((rows, np.zeros(len(rows)), None, 0.0), Status("ok", "Not begun."), {}, 0)


def packed(y: np.ndarray, pairs: list[tuple[int, int]], found: list[Solution], K: int) -> tuple:
    """Support vectors class by class, packed coefficients, offsets per problem, counts per class."""
    rest = pairs[0][1] == REST
    dual, offsets = np.zeros((K if rest else K - 1, len(y))), np.zeros(len(pairs))
    for number, ((i, j), solution) in enumerate(zip(pairs, found)):
        rows, a, _, rho = solution.x
        first = y[rows] == i
        if rest:
            dual[i, rows] = np.where(first, a, -a)
        else:
            dual[j - 1, rows[first]] = a[first]
            dual[i, rows[~first]] = -a[~first]
        offsets[number] = -rho
    used = np.flatnonzero(dual.any(axis=0))
    rows = used[np.argsort(y[used], kind="stable")]
    counts = np.bincount(y[rows], minlength=K).astype(np.int32)
    return rows, np.ascontiguousarray(dual[:, rows]), offsets, counts


def unpacked(dual: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Coefficient of each support vector in each binary problem: (vectors, problems)."""
    K = len(counts)
    if len(dual) == K:
        return np.ascontiguousarray(dual.T)
    ends = np.concatenate([[0], np.cumsum(counts)])
    out = np.zeros((dual.shape[1], K * (K - 1) // 2))
    for number, (i, j) in enumerate(combinations(range(K), 2)):
        first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        out[first, number] = dual[j - 1, first]
        out[second, number] = dual[i, second]
    return out


def votes(scores: np.ndarray, K: int) -> np.ndarray:
    """Votes of the pairs for each class, plus a confidence of less than a third of a vote."""
    count, sums = np.zeros((len(scores), K)), np.zeros((len(scores), K))
    for number, (i, j) in enumerate(combinations(range(K), 2)):
        score = scores[:, number]
        sums[:, i] += score
        sums[:, j] -= score
        count[:, i] += score >= 0
        count[:, j] += score < 0
    return count + confidence(sums)


def confidence(sums: np.ndarray) -> np.ndarray:
    """Sums of scores mapped into (-1/3, 1/3), in the same order."""
    with np.errstate(over="ignore", invalid="ignore"):
        return sums / (3.0 * (np.abs(sums) + 1.0))


def class_terms(terms: np.ndarray, K: int) -> np.ndarray:
    """Terms (n, vectors, pairs) added up over the pairs of each class: (n, vectors, K)."""
    out = np.zeros((*terms.shape[:2], K))
    for number, (i, j) in enumerate(combinations(range(K), 2)):
        out[:, :, i] += terms[:, :, number]
        out[:, :, j] -= terms[:, :, number]
    return out
