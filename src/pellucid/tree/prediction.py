"""Applying grown trees to rows: leaves, values, paths, contributions.

Invariant: every row is handled separately, so results do not depend on blocks or threads.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import ParameterError
from pellucid.tree._apply import Walker
from pellucid.tree._forest import Packing
from pellucid.tree.nodes import Nodes

BLOCK = 2**13
DEEPEST = 2**12  # `shap` visits a tree recursively
SHAP_ROWS = 2**6
PACKED_NODES = 2**18  # nodes of trees that are packed at once: 4 MB
PARALLEL_NODES = 2**14  # nodes from which several threads pack trees
WIDE = 2**8  # columns of which trees look at few
FOREST_ROWS, FOREST_CELLS = 2**14, 2**18  # size of a block of rows that passes all packed trees


def walker(nodes: Nodes, X: np.ndarray | None = None) -> Walker:
    """The compiled view of the arrays of a tree, packed if that is worth it for the rows of X."""
    many = X is not None and 8 * len(X) > nodes.n_nodes
    by_rows = X is not None and X.strides[1] == X.itemsize
    depth = nodes.depth if many and not len(nodes.sets) else -1
    return Walker(
        nodes.feature, nodes.threshold, nodes.left, nodes.right, nodes.missing_left,
        nodes.set_start, nodes.sets, nodes.n_levels, nodes.value, many, depth, by_rows,
    )  # fmt: skip


def apply(nodes: Nodes, X: np.ndarray) -> np.ndarray:
    """Leaf of every row (int32)."""
    leaf = np.empty(len(X), dtype=np.int32)
    tree = walker(nodes, X)
    _by_blocks(lambda first, last: tree.apply(X, first, last, leaf), len(X))
    return leaf


def values(nodes: Nodes, X: np.ndarray) -> np.ndarray:
    """Value of the leaf of every row, (n, K)."""
    return nodes.value.take(apply(nodes, X), axis=0)


def codes(nodes: Nodes, X: np.ndarray) -> np.ndarray:
    """Most frequent class in the leaf of every row, the lowest class on ties."""
    return nodes.value.argmax(axis=1).take(apply(nodes, X))


def paths(nodes: Nodes, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(indices, indptr): nodes indptr[i]:indptr[i + 1] of indices lie on the path of row i."""
    lengths = nodes.depths()[apply(nodes, X)] + 1
    indptr = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    indices = np.empty(indptr[-1], dtype=np.int64)
    walker(nodes).paths(X, indptr, indices)
    return indices, indptr


def path(
    trees: list[Nodes], values: list[np.ndarray], weights: np.ndarray, X: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(base (K,), contributions (n, d, K)) of sum_t weights[t] values[t][leaf], along the paths."""
    base = np.zeros(values[0].shape[1])
    out = np.zeros((len(X), X.shape[1], len(base)))
    for tree, value, weight in zip(trees, values, weights.tolist()):
        base += weight * value[0]
        walk = walker(replace(tree, value=value)).contributions
        _by_blocks(lambda first, last, w=weight, walk=walk: walk(X, first, last, out, w), len(X))
    return base, out


def leaf_mean(tree: Nodes, value: np.ndarray) -> np.ndarray:
    """(K,): mean value of the leaves by their training weights."""
    leaf = tree.feature < 0
    return np.average(value[leaf], axis=0, weights=tree.weight[leaf])


def shap(
    trees: list[Nodes], values: list[np.ndarray], weights: np.ndarray, X: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(base (K,), contributions (n, d, K)): Shapley values of sum_t weights[t] values[t][leaf].

    Columns outside a coalition are averaged by the training weights of the nodes; the base is the
    mean of the leaves.
    """
    if max(tree.depth for tree in trees) > DEEPEST:
        raise ParameterError(
            f"explain(method='shap') needs trees of depth {DEEPEST} at most. Limit max_depth, or use "
            "method='path'."
        )
    base = np.zeros(values[0].shape[1])
    out = np.zeros((len(X), X.shape[1], len(base)))
    blocks = range(0, len(X), SHAP_ROWS)
    for tree, value, weight in zip(trees, values, weights):
        base += weight * leaf_mean(tree, value)
        columns = len(np.unique(tree.feature[tree.feature >= 0]))
        facts = (tree.weight, tree.depth, _rule((min(columns, tree.depth) + 1) // 2))
        walk = walker(replace(tree, value=value))

        def work(first: int, walk=walk, facts=facts, weight=weight) -> None:
            walk.shap(X, first, min(first + SHAP_ROWS, len(X)), *facts, out, float(weight))

        parallel.map(work, blocks)
    return base, out


@cache
def _rule(points: int) -> np.ndarray:
    """(2, points): points and weights of the Gauss-Legendre rule on [0, 1], at least one point; it is
    exact for polynomials of degree 2 points - 1."""
    x, w = np.polynomial.legendre.leggauss(max(points, 1))
    return np.stack(((1 + x) / 2, w / 2))


def sums(
    trees: list[Nodes], values: list[np.ndarray], X: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """(n, K): sum over the trees of values[tree][leaf of the row], added up in tree order."""
    out = np.zeros((len(X), values[0].shape[1]))
    missing = has_missing(X, [tree.feature for tree in trees])
    for first, last in _groups([tree.n_nodes for tree in trees]):
        packing = _packed(trees[first:last], values[first:last], missing, n_jobs)
        _walk_all(packing, X, out, False, n_jobs)
    return out


def each(trees: list[Nodes], X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """(n, trees): value of the leaf of each row in each regression tree."""
    out = np.empty((len(X), len(trees)))
    values, missing = [tree.value for tree in trees], has_missing(X, [t.feature for t in trees])
    packing = _packed(trees, values, missing, n_jobs)
    _walk_all(packing, X, out, True, n_jobs)
    return out


def has_missing(X: np.ndarray, features: list[np.ndarray]) -> bool:
    """Whether some cell is missing; of a wide table only the columns of splits are looked at."""
    if X.shape[1] > WIDE:
        seen = np.zeros(X.shape[1] + 2, dtype=bool)  # leaves mark cells behind the columns
        for feature in features:
            seen[feature] = True
        used = np.flatnonzero(seen[: X.shape[1]])
        X = X[:, used] if 8 * len(used) < X.shape[1] else X
    return bool(np.isnan(X).any())


def _packed(trees: list[Nodes], values: list[np.ndarray], missing: bool, n_jobs: Any) -> Packing:
    packing = Packing(trees, values, missing)
    large = sum(tree.n_nodes for tree in trees) >= PARALLEL_NODES
    parallel.map(packing.pack, range(len(trees)), n_jobs if large else 1)
    return packing


def _walk_all(packing: Packing, X: np.ndarray, out: np.ndarray, apart: bool, n_jobs: Any) -> None:
    step = max(64, min(FOREST_ROWS, FOREST_CELLS // X.shape[1] // 8 * 8))

    def work(start: int) -> None:
        packing.add(X, start, min(start + step, len(X)), out, apart)

    parallel.map(work, range(0, len(X), step), n_jobs)


def _groups(sizes: list[int]) -> list[tuple[int, int]]:
    """Groups of consecutive trees with about PACKED_NODES nodes each."""
    ends = np.cumsum(sizes) // PACKED_NODES
    starts = [0, *(1 + np.flatnonzero(np.diff(ends))).tolist()]
    return list(zip(starts, [*starts[1:], len(sizes)]))


def _by_blocks(work, n: int) -> None:
    blocks = [(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK)]
    if len(blocks) == 1:
        work(*blocks[0])
    else:
        parallel.map(lambda block: work(*block), blocks)
