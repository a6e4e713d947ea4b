"""Pruning by rows that a tree has not seen: a validation set, or the folds of a cross validation.

`losses` says what every node would lose on given rows if it were a leaf. From these follow the best
pruning of a tree for a validation set (`reduced_error`), and the loss of every tree of the
cost-complexity path without growing or walking one of them again (`path_losses`).

Invariant: the unit of a numerical target changes no pruning; losses of extreme ones are taken in units
of a power of two.
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

FOLDS = 10
TIE = 1e-12  # of a loss: no difference
EXTREME = 200  # binary exponent of a target whose fourth powers are numbers still


def exponent_of(criterion: str, *numbers: np.ndarray) -> int:
    """Of the power of two in which a target's losses are to be taken, 0 unless it is extreme."""
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
    """Sums over the rows that pass each node of w * loss and w * loss^2, the node being a leaf.

    The loss is 1 for a wrong class (y int codes, -1 for a label that the tree does not know), the
    difference from the median for absolute errors, else the squared difference from the mean (of
    several targets the mean of these); of numbers divided by 2**exponent.
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
    """The nodes to make leaves so that the loss is lowest; on ties the smaller tree.

    From the leaves up: a node becomes a leaf if that loses no more than the best of its branch.
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

    1. Sum the leaves of every branch. 2. Cut the weakest links in their order; the difference goes
    up to the root.
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


def cross_validated(model: Any, problem: Problem, nodes: Nodes) -> tuple[Nodes, dict[str, Any]]:
    """The tree pruned at the alpha of the 1-SE rule, and the learned attributes that say why.

    1. The candidates lie between the alphas of the whole tree's path (geometric means); the last one,
       which leaves the root alone, does so in every fold.
    2. Samples in the order of the target (of several: along their first principal component) are
       dealt out to the folds; those of a fold are judged by a
       tree grown on the others, at every candidate.
    3. The largest candidate whose loss is within one standard error of the lowest is taken.
    """
    exponent = exponent_of(model.criterion, problem.y)
    power = POWERS.get(model.criterion, 0) * exponent
    if exponent:
        problem = replace(problem, y=np.ldexp(problem.y, -exponent))
    root = _grow(model, problem, power, max_depth=0)
    links = weakest_links(nodes, float(root.impurity[0]))
    alphas = np.unique([0.0, *(alpha for alpha, _, _ in links)])
    tried = np.append(np.sqrt(alphas[:-1]) * np.sqrt(alphas[1:]), alphas[-1])
    sums = np.zeros((2, len(tried)))
    stream = parallel.stream(parallel.seed_sequence(0), "folds")  # the same for every model
    for held in dealt(problem.weights, _order_of(problem), FOLDS, stream):
        sums += _fold_losses(model, problem, power, held, np.append(tried[:-1], np.inf))
    total = float(problem.weights.sum())
    count = total if problem.counts else float(np.count_nonzero(problem.weights))
    mean = sums[0] / total
    error = np.sqrt(np.maximum(sums[1] / total - mean**2, 0.0) / count)
    best = int(mean.argmin())
    chosen = int(np.flatnonzero(mean <= mean[best] + error[best])[-1])
    cut = [node for alpha, node, _ in links if alpha <= tried[chosen]]
    with np.errstate(over="ignore", under="ignore"):
        tried = np.ldexp(tried, power)
        mean, error = (np.ldexp(x, _loss_power(model.criterion) * exponent) for x in (mean, error))
    table = {"alpha": tried, "loss": mean, "error": error}
    return collapse(nodes, cut), {"ccp_alpha_": float(tried[chosen]), "cv_path_": table}


def _order_of(problem: Problem) -> np.ndarray:
    """One number for each row, by which samples are dealt out."""
    if problem.y.ndim == 1:
        return problem.y
    size = float(np.abs(problem.y).max())
    y = problem.y / size if size > 0 else problem.y
    centred = y - np.average(y, axis=0, weights=problem.weights)
    axis = np.linalg.eigh((centred * problem.weights[:, None]).T @ centred)[1][:, -1]
    axis = axis * np.sign(axis[np.abs(axis).argmax()])
    return (centred * axis).sum(axis=1)


def _loss_power(criterion: str) -> int:
    """The loss of a target times c is this power of c times as large."""
    return 1 if criterion == "absolute_error" else 2


def _grow(model: Any, problem: Problem, power: int, **limits: Any) -> Nodes:
    """The model's tree on a target whose impurities were divided by 2**power."""
    from pellucid.tree.fit_tree import grow_model

    own = limits_of(model, problem)
    with np.errstate(over="ignore", under="ignore"):
        scaled = {
            name: float(np.ldexp(getattr(own, name), -power))
            for name in ("min_impurity_decrease", "max_split_loss")
        }
    return grow_model(model, problem, limits=replace(own, **(scaled | limits)))


def _fold_losses(
    model: Any, problem: Problem, power: int, held: np.ndarray, tried: np.ndarray
) -> np.ndarray:
    left = problem.weights - held
    rows, rest = np.flatnonzero(held), np.flatnonzero(left)
    if not len(rows) or not len(rest):
        return np.zeros((2, len(tried)))
    if model.criterion == "poisson" and not problem.y[rest].any():
        # Nothing happened outside of this fold: no tree can grow there, and all of them say 0.
        w, loss = held[rows], (problem.y[rows].reshape(len(rows), -1) ** 2).mean(axis=1)
        return np.outer((w @ loss, w @ loss**2), np.ones(len(tried)))
    tree = _grow(model, problem.take(rest, left[rest]), power)
    X = np.asfortranarray(problem.X[rows])
    found = losses(tree, X, problem.y[rows], held[rows], model.criterion)
    return path_losses(tree, tried, *found)


def collapsed_by(nodes: Nodes, as_leaf: np.ndarray) -> Nodes:
    """The tree pruned so that the given losses are lowest."""
    return collapse(nodes, reduced_error(nodes, as_leaf))
