"""Generalised linear models without an interior optimum: means on a boundary, infinite coefficients.

Invariant: a direction in which only rows move whose means have reached a boundary has no finite
optimum. It is found from the table and from the other rows.
"""

from dataclasses import replace

import numpy as np

from pellucid import parallel
from pellucid.linear_model._glm.objective import GLMObjective
from pellucid.numerics.collinearity import Aliases, find_aliases
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.row_blocks import as_dense
from pellucid.records import Solution, Status

EDGE = 1e-6  # share of the rows' gradients that remains where there is no interior optimum
TINY = 1e-9  # share of the largest curvature that a row on the boundary keeps; distance of its mean
UNSEEN = 1e-7  # share of a direction's terms that is left of them by rounding alone
PART = 1e-6  # share of the largest entry of a direction (of unit columns) that counts as 0
PAIRS = 4096  # rows up to which their products with each other are made
SHORT = 15.0  # range of logarithms of means that reaches no boundary


def always_interior(loss: GLMLoss) -> bool:
    """Whether every linear predictor is a possible mean, so that no optimum lies on a boundary."""
    if loss.family.name == "binomial":
        return loss.link.domain == (0.0, 1.0)
    return loss.family.name == "normal" or loss.link.name == "log"


def polished(objective: GLMObjective, found: Solution, loss: GLMLoss) -> Solution:
    """Last Newton steps while the gradient falls; a gradient that remains means a boundary."""
    x = found.x
    _, g = objective.evaluate(x)
    fall = np.inf
    for _ in range(3):
        with np.errstate(all="ignore"):
            d = -objective.factor(x)(g)
            own = -float(d @ g)
        if not 0 < own < fall:
            break
        fall, trial = own, x + d
        trial_value, trial_g = objective.evaluate(trial)
        if not (np.isfinite(trial_value) and np.abs(trial_g).max() < np.abs(g).max()):
            break
        x, g = trial, trial_g
    if np.any(np.abs(g) > EDGE * _gradient_sizes(objective, x)):
        status = Status(
            "edge",
            f"The best means lie on the boundary of the {loss.family.name} family: the "
            f"{loss.link.name} link has no interior optimum.",
            "Use a link whose means are always possible, such as log or logit.",
        )
        return replace(found, x=x, status=status)
    return replace(found, x=x)


def _gradient_sizes(objective: GLMObjective, x: np.ndarray) -> np.ndarray:
    """Sums of the absolute gradients of the rows, which cancel at an optimum."""
    objective.evaluate(x)
    eta = objective.last["eta"]

    def partial(rows: slice) -> np.ndarray:
        with np.errstate(all="ignore"):
            gradient = objective.curve.visit(objective.y[rows], eta[rows])[1]
        weighted = objective.weights[rows] * np.abs(gradient)
        return np.append(abs(objective.block(rows)).T @ weighted, weighted.sum())

    total = parallel.reduce(partial, np.add, objective.X.blocks)
    return total + np.abs(np.append(objective.alpha * x[:-1], 0.0))


def unbounded_directions(objective: GLMObjective, x: np.ndarray, loss: GLMLoss) -> np.ndarray:
    """Directions (p + 1, m) along which the objective falls without limit; 0 where one has no part."""
    none = np.zeros((objective.X.p + 1, 0))
    objective.evaluate(x)
    far = _on_edge(objective, loss)
    if not parallel.any_row(far.any()):
        return none
    unseen = table_aliases(objective, ~far).null
    R = objective.table_triangle()
    size = np.linalg.norm(R, axis=0)
    _, effect, rotation = np.linalg.svd(R @ unseen, full_matrices=False)
    directions = unseen @ rotation.T
    scale = size @ np.abs(directions)
    directions = directions[:, effect > UNSEEN * scale]
    part = np.abs(directions) * size[:, None]
    return np.where(part > PART * part.max(axis=0, initial=0.0), directions, 0.0)


def _on_edge(objective: GLMObjective, loss: GLMLoss) -> np.ndarray:
    """Rows without information, because their y lies on or beyond the boundary of the link."""
    y, eta = objective.y, objective.last["eta"]
    low, high = loss.link.domain
    if loss.link.name == "log" and -sum(_ends(eta)) < SHORT:
        return np.zeros(len(y), dtype=bool)
    if loss.family.name == "binomial" and _separated(objective):
        return np.ones(len(y), dtype=bool)
    with np.errstate(all="ignore"):
        curvature = objective.curve.curvature(y, eta, expected=True)
        far = (curvature <= TINY * parallel.largest(curvature.max())) & ((y <= low) | (y >= high))
        if np.isfinite(high) and loss.family.name != "binomial":
            mu = loss.link.inverse(eta)
            far |= np.minimum(mu - low, high - mu) <= TINY * (high - low)
    return far


def saturated(objective: GLMObjective, loss: GLMLoss) -> Status | None:
    """The status if there are enough columns to fit every row alone, and one has no finite fit.

    The products of the rows with each other have the rank of the table.
    """
    low, high = loss.link.domain
    X, y, n = objective.X.X, objective.y, objective.X.n
    endless = loss.link.name == "log" or (low, high) == (0.0, 1.0)
    rows = np.flatnonzero((y <= low) | (y >= high))
    if not (endless and len(rows) and n <= min(objective.X.p, PAIRS)):
        return None
    products = X @ X.T
    products = as_dense(products)
    size = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    if not size.all() or not np.isfinite(products).all():
        return None
    values = np.linalg.eigvalsh(products / size / size[:, None])
    if values[0] <= n * 2.0**-52 * values[-1]:
        return None
    return Status(
        "separated",
        f"The best coefficients are not finite: {objective.X.p} columns fit each of the {n} rows "
        f"exactly, and {len(rows)} of them have y on the boundary of the {loss.link.name} link. The "
        "coefficients returned are large and arbitrary.",
        "Use a penalty (alpha > 0).",
    )


def _separated(objective: GLMObjective) -> bool:
    """Whether linear predictors are larger wherever y is 1 than wherever it is 0."""
    y, eta, ones = objective.y, objective.last["eta"], objective.y == 1.0
    plain = objective.intercept and objective.offset is None
    if not (plain and parallel.all_rows(np.all(ones | (y == 0.0)))):
        return False
    return _ends(eta[ones])[0] > -_ends(eta[~ones])[1]


def _ends(values: np.ndarray) -> tuple[float, float]:
    """The smallest value, and minus the largest one, of all processes that share the rows."""
    own = float(values.min(initial=np.inf)), -float(values.max(initial=-np.inf))
    return parallel.everywhere(own, lambda a, b: (min(a[0], b[0]), min(a[1], b[1])))


def table_aliases(objective: GLMObjective, counted: np.ndarray | None = None) -> Aliases:
    """Columns that are combinations of others in the counted rows (all by default)."""
    return find_aliases(objective.table_triangle(counted), objective.intercept)


def unbounded_status(directions: np.ndarray, terms: tuple[str, ...], loss: GLMLoss) -> Status:
    """The status of a fit with coefficients that grow without limit."""
    names = [*terms, "intercept"]
    moved = [names[j] for j in np.flatnonzero(directions.any(axis=1))]
    named = ", ".join(moved[:10]) + (", ..." if len(moved) > 10 else "")
    return Status(
        "separated",
        f"The best coefficients of {named} are not finite: rows with y on the boundary of the "
        f"{loss.link.name} link fit better and better as they grow. The coefficients returned are "
        "large and arbitrary, but their predictions are valid.",
        "Use a penalty (alpha > 0), or leave out these rows and columns.",
    )
