"""Cost-complexity pruning: cut the weakest link, then the next weakest.

With R the cost of a tree's leaves, a branch at node t is worth keeping while
alpha(t) = (R(t) - R(branch)) / (leaves - 1) is above alpha. R(t) - R(branch) is the sum of the decreases
of the splits of the branch, which has one split less than leaves. So alpha(t) is the mean decrease of
its splits, and no difference of large numbers is computed.
"""

import heapq
from dataclasses import fields

import numpy as np

from pellucid.tree._apply import preorder
from pellucid.tree.nodes import LEAF, Nodes


def weakest_links(nodes: Nodes, unit: float | None = None) -> list[tuple[float, int, float]]:
    """(alpha, node, decrease of the impurity) in the order of pruning; ties prune the lower node.
    `unit`: impurity of the root in the unit of the alphas; None: that of the tree.

    1. Sum the decreases and count the splits of each branch, children before parents.
    2. Prune the branch with the lowest mean; subtract it from the sums of its ancestors.
    """
    saved, splits, parent = _branches(nodes)
    unit = float(nodes.impurity[0]) if unit is None else unit
    alive = nodes.feature >= 0
    heap = [(saved[i] / splits[i], i) for i in np.flatnonzero(alive).tolist()]
    heapq.heapify(heap)
    links: list[tuple[float, int, float]] = []
    reached = 0.0
    while heap:
        alpha, node = heapq.heappop(heap)
        if not alive[node] or alpha != saved[node] / splits[node]:  # outdated entry
            continue
        reached = max(reached, alpha)  # in spite of rounding the path never decreases
        links.append((reached * unit, node, saved[node] * unit))
        _remove(nodes, node, alive)
        up = parent[node]
        while up >= 0:
            saved[up] = max(saved[up] - saved[node], 0.0)
            splits[up] -= splits[node]
            heapq.heappush(heap, (saved[up] / splits[up], up))
            up = parent[up]
    return links


def _branches(nodes: Nodes) -> tuple[list[float], list[int], list[int]]:
    m = nodes.n_nodes
    saved, splits, parent = nodes.decrease.tolist(), (nodes.feature >= 0).tolist(), [-1] * m
    splits = [int(inner) for inner in splits]
    left, right = nodes.left.tolist(), nodes.right.tolist()
    for i in range(m - 1, -1, -1):
        if left[i] >= 0:
            for child in (left[i], right[i]):
                parent[child] = i
                saved[i] += saved[child]
                splits[i] += splits[child]
    return saved, splits, parent


def parents(nodes: Nodes) -> list[int]:
    """Parent of every node, -1 for the root."""
    parent = np.full(nodes.n_nodes, -1)
    inner = np.flatnonzero(nodes.feature >= 0)
    parent[nodes.left[inner]] = parent[nodes.right[inner]] = inner
    return parent.tolist()


def _remove(nodes: Nodes, node: int, alive: np.ndarray) -> None:
    waiting = [node]
    while waiting:
        i = waiting.pop()
        if alive[i]:
            alive[i] = False
            waiting += [nodes.left[i], nodes.right[i]]


class PruningPath(dict):
    """A dict whose entries are also attributes."""

    def __getattr__(self, name: str) -> np.ndarray:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"A pruning path has no {name!r}.") from None


def pruning_path(nodes: Nodes) -> tuple[np.ndarray, np.ndarray]:
    """(alphas, impurity of the leaves): the first entry is the whole tree at alpha 0."""
    leaves = nodes.feature < 0
    whole = float((nodes.impurity * nodes.weight)[leaves].sum() / nodes.weight[0])
    links = weakest_links(nodes)
    alphas = np.array([0.0, *(alpha for alpha, _, _ in links)])
    return alphas, np.cumsum([whole, *(saved for _, _, saved in links)])


def path_leaves(nodes: Nodes, links: list[tuple[float, int, float]]) -> list[int]:
    """Number of leaves of the whole tree and after each pruning step."""
    _, splits, parent = _branches(nodes)
    left = [splits[0]]
    for _, node, _ in links:
        gone, up = splits[node], node
        while up >= 0:
            splits[up] -= gone
            up = parent[up]
        left.append(splits[0])
    return [count + 1 for count in left]


def prune(nodes: Nodes, alpha: float) -> Nodes:
    """The smallest tree that is optimal for the penalty `alpha` for each leaf."""
    cut = [node for own, node, _ in weakest_links(nodes) if own <= alpha]
    return collapse(nodes, cut)


def collapse(nodes: Nodes, cut: list[int]) -> Nodes:
    """The tree in which the nodes `cut` are leaves."""
    if not cut:
        return nodes
    left, right, feature = nodes.left.copy(), nodes.right.copy(), nodes.feature.copy()
    left[cut] = right[cut] = -1
    feature[cut] = LEAF
    order = preorder(left, right)
    number = np.full(nodes.n_nodes + 1, -1, dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    parts = {f.name: getattr(nodes, f.name) for f in fields(nodes)}
    kept = {name: part[order] for name, part in parts.items() if name not in ("sets", "n_levels")}
    leaf = feature[order] < 0
    kept |= {"feature": feature[order], "left": number[left[order]], "right": number[right[order]]}
    kept["threshold"][leaf] = kept["decrease"][leaf] = 0.0
    kept["missing_left"][leaf] = 0
    kept["set_start"][leaf] = -1
    return Nodes(**kept, sets=nodes.sets, n_levels=nodes.n_levels)
