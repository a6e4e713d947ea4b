"""Pruning by rows that a tree has not seen: a validation set, or the folds of a cross-validation.

`losses` are those of every node on given rows if it were a leaf. They give the best pruning of a tree
for a validation set (`reduced_error`), and the loss of every tree of the cost-complexity path without
growing or applying any of them (`path_losses`).

Invariant: the unit of a numeric target changes no pruning; extreme ones are scaled by a power of two.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.weighted_sampling import dealt
from pellucid.tree import prediction
from pellucid.tree.criteria import CLASS_CRITERIA, POWERS
from pellucid.tree.nodes import Nodes
from pellucid.tree.pruning import collapse, parents, weakest_links
from pellucid.tree.stopping import limits_of
from pellucid.tree.tree_spec import TreeSpec

FOLDS = 10
TIE = 1e-12  # relative difference of losses that counts as none
EXTREME = 200  # binary exponent up to which fourth powers of a target do not overflow


def exponent_of(criterion: str, *numbers: np.ndarray) -> int:
    """Exponent of the power of two by which a target is divided, 0 unless it is extreme."""
    if criterion in CLASS_CRITERIA:
        return 0
    exponent = math.frexp(max(float(np.abs(x).max(initial=0.0)) for x in numbers))[1]
    return exponent if abs(exponent) > EXTREME else 0


def losses(
    nodes: Nodes,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    criterion: str,
    exponent: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of w * loss and w * loss^2 over the rows that pass each node, as if it were a leaf.

    The loss is 1 for a wrong class (y int codes, -1 for an unknown label), the difference from the
    median for absolute errors, otherwise the squared difference from the mean (the mean of these for
    several targets); numbers are divided by 2**exponent.
    """
    indices, indptr = prediction.paths(nodes, X)
    rows = np.repeat(np.arange(len(X)), np.diff(indptr))
    if criterion in CLASS_CRITERIA:
        loss = (nodes.value.argmax(axis=1)[indices] != y[rows]).astype(np.float64)
    else:
        value, y = np.ldexp(nodes.value, -exponent), np.ldexp(y, -exponent).reshape(len(y), -1)
        loss = np.abs(value[indices] - y[rows])
        loss = (loss if criterion == "absolute_error" else loss**2).mean(axis=1)
    first = np.bincount(indices, weights[rows] * loss, minlength=nodes.n_nodes)
    return first, np.bincount(indices, weights[rows] * loss * loss, minlength=nodes.n_nodes)


def reduced_error(nodes: Nodes, as_leaf: np.ndarray) -> list[int]:
    """The nodes that become leaves so that the loss is lowest; on ties the smaller tree.

    From the leaves up: a node becomes a leaf if its loss is no larger than the best of its branch.
    """
    best = as_leaf.copy()
    cut: list[int] = []
    for i in np.flatnonzero(nodes.feature >= 0)[::-1].tolist():
        below = best[nodes.left[i]] + best[nodes.right[i]]
        if as_leaf[i] <= below * (1.0 + TIE):
            cut.append(i)
        else:
            best[i] = below
    return cut


def path_losses(
    nodes: Nodes, alphas: np.ndarray, as_leaf: np.ndarray, squares: np.ndarray
) -> np.ndarray:
    """(2, alphas): sums of loss and of its square of the tree pruned at each alpha, ascending.

    1. Sum the leaves of every branch. 2. Prune the weakest links in their order; add the difference
    to all ancestors.
    """
    parent = parents(nodes)
    branch = np.stack((as_leaf, squares))
    for i in np.flatnonzero(nodes.feature >= 0)[::-1]:
        branch[:, i] = branch[:, nodes.left[i]] + branch[:, nodes.right[i]]
    leaf = np.stack((as_leaf, squares))
    links = weakest_links(nodes)
    out = np.empty((2, len(alphas)))
    k = 0
    for j, alpha in enumerate(alphas):
        while k < len(links) and links[k][0] <= alpha:
            node = links[k][1]
            change = leaf[:, node] - branch[:, node]
            while node >= 0:
                branch[:, node] += change
                node = parent[node]
            k += 1
        out[:, j] = branch[:, 0]
    return out


def cross_validated(spec: TreeSpec, problem: Problem, nodes: Nodes) -> tuple[Nodes, dict[str, Any]]:
    """The tree pruned at the alpha of the 1-SE rule, and the learned attributes that show why.

    1. The candidates lie between the alphas of the path of the whole tree (geometric means); the last
       one, which leaves only the root, does so in every fold.
    2. Samples, sorted by the target (several targets: by their first principal component), are
       assigned to the folds in turn; a tree grown on the other folds gives the loss of each candidate.
    3. The largest candidate whose loss is within one standard error of the lowest is chosen.
    """
    exponent = exponent_of(spec.criterion, problem.y)
    power = POWERS.get(spec.criterion, 0) * exponent
    if exponent:
        problem = replace(problem, y=np.ldexp(problem.y, -exponent))
    root = _grow(spec, problem, power, max_depth=0)
    links = weakest_links(nodes, float(root.impurity[0]))
    alphas = np.unique([0.0, *(alpha for alpha, _, _ in links)])
    tried = np.append(np.sqrt(alphas[:-1]) * np.sqrt(alphas[1:]), alphas[-1])
    sums = np.zeros((2, len(tried)))
    stream = parallel.stream(parallel.seed_sequence(0), "folds")  # the same folds for every model
    for held in dealt(problem.weights, _order_of(problem), FOLDS, stream):
        sums += _fold_losses(spec, problem, power, held, np.append(tried[:-1], np.inf))
    total = float(problem.weights.sum())
    count = total if problem.counts else float(np.count_nonzero(problem.weights))
    mean = sums[0] / total
    error = np.sqrt(np.maximum(sums[1] / total - mean**2, 0.0) / count)
    best = int(mean.argmin())
    chosen = int(np.flatnonzero(mean <= mean[best] + error[best])[-1])
    cut = [node for alpha, node, _ in links if alpha <= tried[chosen]]
    with np.errstate(over="ignore", under="ignore"):
        tried = np.ldexp(tried, power)
        mean, error = (np.ldexp(x, _loss_power(spec.criterion) * exponent) for x in (mean, error))
    table = {"alpha": tried, "loss": mean, "error": error}
    return collapse(nodes, cut), {"ccp_alpha_": float(tried[chosen]), "cv_path_": table}


def _order_of(problem: Problem) -> np.ndarray:
    """One number for each row, by which samples are sorted."""
    if problem.y.ndim == 1:
        return problem.y
    size = float(np.abs(problem.y).max())
    y = problem.y / size if size > 0 else problem.y
    centred = y - np.average(y, axis=0, weights=problem.weights)
    axis = np.linalg.eigh((centred * problem.weights[:, None]).T @ centred)[1][:, -1]
    axis = axis * np.sign(axis[np.abs(axis).argmax()])
    return (centred * axis).sum(axis=1)


def _loss_power(criterion: str) -> int:
    """If a target is multiplied by c, its loss is multiplied by this power of c."""
    return 1 if criterion == "absolute_error" else 2


def _grow(spec: TreeSpec, problem: Problem, power: int, **limits: Any) -> Nodes:
    """The tree for a target whose impurities were divided by 2**power."""
    from pellucid.tree.fit_tree import grow_tree

    own = limits_of(spec, problem)
    with np.errstate(over="ignore", under="ignore"):
        scaled = {
            name: float(np.ldexp(getattr(own, name), -power))
            for name in ("min_impurity_decrease", "max_split_loss")
        }
    return grow_tree(spec, problem, limits=replace(own, **(scaled | limits)))


def _fold_losses(
    spec: TreeSpec, problem: Problem, power: int, held: np.ndarray, tried: np.ndarray
) -> np.ndarray:
    left = problem.weights - held
    rows, rest = np.flatnonzero(held), np.flatnonzero(left)
    if not len(rows) or not len(rest):
        return np.zeros((2, len(tried)))
    if spec.criterion == "poisson" and not problem.y[rest].any():
        # All targets outside of this fold are 0: no tree can grow, and every prediction is 0.
        w, loss = held[rows], (problem.y[rows].reshape(len(rows), -1) ** 2).mean(axis=1)
        return np.outer((w @ loss, w @ loss**2), np.ones(len(tried)))
    tree = _grow(spec, problem.take(rest, left[rest]), power)
    X = np.asfortranarray(problem.X[rows])
    found = losses(tree, X, problem.y[rows], held[rows], spec.criterion)
    return path_losses(tree, tried, *found)
