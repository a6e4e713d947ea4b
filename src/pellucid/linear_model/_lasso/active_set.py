"""The lasso by active sets: exact along a whole path, from products of columns alone.

Invariant: a point is accepted by its duality gap over all columns; where rounding or dependent columns
prevent that, the caller continues with coordinate descent.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.linear_model._lasso import _active_set
from pellucid.linear_model._lasso.gram_products import AllProducts
from pellucid.numerics.design_matrix import Design
from pellucid.numerics.simd import fastest
from pellucid.parallel import StopFlag

loops: Any = fastest(_active_set)

# Share of a column's square that must be left for a difference of products to be trusted.
LEFT = 1e-3
STEP = 0.25  # of log l1, from the largest penalty to the one wanted
ROUGH = 1e-6  # duality gap at the penalties between
LEAST = 1e-12  # share of the largest penalty below which the path is not followed


@dataclass(frozen=True)
class Quadratic:
    """b'Qb/2 - c'b with Q = G - T'T - dd' of centred columns, and the target's square yy.

    `total` times the mean objective; the means are those of columns and target.
    """

    G: np.ndarray
    T: np.ndarray
    d: np.ndarray
    c: np.ndarray
    yy: float
    total: float
    mean: np.ndarray
    mean_y: float

    def subtracted_rows(self) -> np.ndarray:
        """(p, m): R with T'T + dd' = RR'."""
        R = np.empty((len(self.d), len(self.T) + 1))
        R[:, :-1], R[:, -1] = self.T.T, self.d
        return R


def from_products(products: AllProducts, k: int, l2: np.ndarray | None = None) -> Quadratic:
    """Target k, from products that exist already; l2 counts as one more row for each column."""
    total, none, G = products.total, np.empty((0, len(products.drift))), products.G
    if l2 is not None and l2.any():
        G = G + np.diag(total * l2)
    c, yy = products.q[:, k] * total, float(products.yy[k]) * total
    mean_y = float(products.mean_y[k])
    return Quadratic(G, none, products.drift, c, yy, total, products.mean, mean_y)


def is_accurate(rest: np.ndarray, squares: np.ndarray) -> bool:
    """Whether enough is left of the columns' squares for the difference to be accurate."""
    return bool(np.all(rest >= LEFT * squares))


def without_rows(design: Design, gram: np.ndarray, part: Design) -> Quadratic | None:
    """All rows, whose products are `gram`, without those of `part`; None if little would be left.

    Neither the products nor the rows of the rest are formed: the rows T and one more for the centre
    are subtracted implicitly.
    """
    c, p = int(design.constant), design.X.p
    T, y, root = part.columns(), part.Y[:, 0] - part.start, np.sqrt(part.weights)
    y = y * root
    total = float(design.weights.sum() - part.weights.sum())
    drift = np.zeros(p + 1)
    if c:
        drift[:p], drift[p] = gram[0, 1:-1] - root @ T, gram[0, -1] - root @ y
        drift /= np.sqrt(total)
    squares = np.append(np.einsum("ij,ij->j", T, T), y @ y)
    own = np.diagonal(gram)[c:]
    rest = own - squares - drift**2
    noise = design.noise(total) ** 2
    if not (rest[:p] > noise).all() or not is_accurate(rest, own):
        return None
    d = drift[:p].copy()
    mean, mean_y = design.shift + d / np.sqrt(total), design.start + drift[p] / np.sqrt(total)
    correlation = gram[c : c + p, -1] - y @ T - drift[p] * d
    G = gram[c : c + p, c : c + p]
    return Quadratic(G, T, d, correlation, float(rest[p]), total, mean, float(mean_y[0]))


@dataclass(frozen=True)
class Points:
    """coef (m, p), gap (m,) and rounds (m,) of a path; the first `made` points are exact.

    `off` (m, r) is coef times the subtracted rows: their fit.
    """

    coef: np.ndarray
    off: np.ndarray
    gap: np.ndarray
    rounds: np.ndarray
    made: int


def start(task: Quadratic, positive: bool) -> _active_set.Walk:
    """The start of a path: no column is active."""
    return loops.Walk(task.G, task.c, task.yy, positive)


def path(
    task: Quadratic,
    walk: _active_set.Walk,
    R: np.ndarray,
    l1: np.ndarray,
    wanted: np.ndarray,
    rounds: int,
) -> Points:
    """Solutions at falling penalties l1 (of the mean objective), to gaps of `wanted` times yy.

    The walk continues from its last point; all points together take at most `rounds` rounds. R is
    subtracted from the products.
    """
    m, p, flag = len(l1), len(task.c), StopFlag()
    coef, off = np.zeros((m, p)), np.zeros((m, R.shape[1]))
    gap, taken = np.zeros(m), np.zeros(m, dtype=np.intp)
    made = walk.go(R, task.total * l1, wanted * task.yy, rounds, coef, off, gap, taken, flag.array)
    flag.check()
    return Points(coef, off, gap / task.total, taken, made)


def solve(
    task: Quadratic, l1: float, positive: bool, wanted: float, rounds: int
) -> tuple[np.ndarray, Points]:
    """Falling penalties that end with l1, and the points there; see `last_point`."""
    correlation = task.c if positive else np.abs(task.c)
    top = float(correlation.max(initial=0.0)) / task.total
    steps = 1
    if LEAST * top < l1 < top:
        steps += int(np.ceil(np.log(top / l1) / STEP))
    penalties, limits = np.full(steps, l1), np.full(steps, ROUGH)
    if steps > 1:
        penalties[:-1] = top * (l1 / top) ** (np.arange(steps - 1) / (steps - 1))
    limits[-1] = wanted
    found = path(task, start(task, positive), task.subtracted_rows(), penalties, limits, rounds)
    return penalties, found


def last_point(found: Points) -> tuple[np.ndarray, int]:
    """Coefficients at the last penalty that was reached, and the number of rounds."""
    return found.coef[min(found.made, len(found.coef) - 1)], int(found.rounds.sum())
