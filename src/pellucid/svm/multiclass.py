"""How several classes are divided: pair by pair, or each class against all others.

Invariant: a machine is a pair (first, second) of class codes, second -1 for "all others"; positive
scores speak for the first. Coefficients of pairs are packed as in LIBSVM: (classes - 1, support
vectors), where a vector of class i keeps what it says against class j in row j - 1 (j > i) or j.
"""

from itertools import combinations

import numpy as np

from pellucid.records import Solution

REST = -1


def machines(K: int, multi_class: str) -> list[tuple[int, int]]:
    """The machines for K classes; two classes need one of them, either way.

    >>> machines(3, "ovo"), machines(3, "ovr")
    ([(0, 1), (0, 2), (1, 2)], [(0, -1), (1, -1), (2, -1)])
    """
    if multi_class == "ovr" and K > 2:
        return [(k, REST) for k in range(K)]
    return list(combinations(range(K), 2))


def rows_of(y: np.ndarray, machine: tuple[int, int]) -> np.ndarray:
    """The rows that a machine learns from."""
    first, second = machine
    return np.arange(len(y)) if second == REST else np.flatnonzero((y == first) | (y == second))


def gathered(y: np.ndarray, parts: list[tuple[int, int]], found: list[Solution], K: int) -> tuple:
    """Support rows class by class, packed coefficients, offsets per machine, counts per class."""
    rest = parts[0][1] == REST
    dual, offsets = np.zeros((K if rest else K - 1, len(y))), np.zeros(len(parts))
    for number, ((i, j), solution) in enumerate(zip(parts, found)):
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
    """(support vectors, machines): what each support vector says in each machine."""
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


def by_class(scores: np.ndarray, K: int) -> np.ndarray:
    """Votes of the pairs per class, moved by less than a third of a vote by their confidence."""
    votes, sums = np.zeros((len(scores), K)), np.zeros((len(scores), K))
    for number, (i, j) in enumerate(combinations(range(K), 2)):
        score = scores[:, number]
        sums[:, i] += score
        sums[:, j] -= score
        votes[:, i] += score >= 0
        votes[:, j] += score < 0
    return votes + confidence(sums)


def confidence(sums: np.ndarray) -> np.ndarray:
    """Sums of scores squeezed between -1/3 and 1/3, in their order."""
    with np.errstate(over="ignore", invalid="ignore"):
        return sums / (3.0 * (np.abs(sums) + 1.0))
