"""The lasso by active sets: exact along a whole path, from products of columns alone.

Invariant: a point counts as finished by its duality gap over all columns; where rounding or
dependent columns forbid that, the caller goes on by coordinate descent.
"""

from dataclasses import dataclass

import numpy as np

from pellucid.linear_model import _active_set
from pellucid.linear_model.products import AllProducts
from pellucid.numerics.lanes import fastest
from pellucid.numerics.least_squares import Design
from pellucid.parallel import StopFlag

Walk = fastest(_active_set).Walk

# Share of a column's square that must be left for a difference of products to be trusted.
LEFT = 1e-3
STEP = 0.25  # of log l1, on the way to a single penalty
ROUGH = 1e-6  # gap on that way
LEAST = 1e-12  # share of the largest penalty below which there is no way worth going


@dataclass(frozen=True)
class Quadratic:
    """b'Qb/2 - c'b with Q = G - RR' of centred columns, and the target's square yy.

    `total` times the mean objective; the means are those of columns and target.
    """

    G: np.ndarray
    R: np.ndarray
    c: np.ndarray
    yy: float
    total: float
    mean: np.ndarray
    mean_y: float


def of_products(products: AllProducts, k: int) -> Quadratic:
    """Target k, by products that stand there already."""
    total, R = products.total, products.drift[:, None]
    c, yy = products.q[:, k] * total, float(products.yy[k]) * total
    return Quadratic(products.G, R, c, yy, total, products.mean, float(products.mean_y[k]))


def enough(rest: np.ndarray, squares: np.ndarray) -> bool:
    """Whether so much is left of the columns' squares that the difference has its digits."""
    return bool(np.all(rest >= LEFT * squares))


def without(design: Design, gram: np.ndarray, part: Design) -> Quadratic | None:
    """All rows, whose products are `gram`, without those of `part`; None if little would be left.

    Neither the rest's products nor its rows are made: what is taken off stays a few columns R, and
    centring takes off one more.
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
    if not (rest[:p] > noise).all() or not enough(rest, own):
        return None
    d = drift[:p].copy()
    mean, mean_y = design.shift + d / np.sqrt(total), design.start + drift[p] / np.sqrt(total)
    pull = gram[c : c + p, -1] - y @ T - drift[p] * d
    R = np.empty((p, len(T) + 1))
    R[:, :-1], R[:, -1] = T.T, d
    G = gram[c : c + p, c : c + p]
    return Quadratic(G, R, pull, float(rest[p]), total, mean, float(mean_y[0]))


class Path:
    """Solutions at falling penalties l1 (of the mean objective), to gaps of `wanted` times yy.

    coef (m, p), gap (m,) and rounds (m,), of which the first `made` are exact.
    """

    def __init__(self, task: Quadratic, l1: np.ndarray, positive: bool, wanted: np.ndarray) -> None:
        m, p = len(l1), len(task.c)
        self.task, self.l1, self.wanted, self.made = task, l1, wanted, 0
        self.coef, self.gap = np.zeros((m, p)), np.zeros(m)
        self.rounds = np.zeros(m, dtype=np.intp)
        self.walk = Walk(task.G, task.R, task.c, task.yy, positive)

    def go_on(self, end: int, rounds: int) -> None:
        """The next points, unless one was out of reach; together they may take so many rounds."""
        part, flag, task = slice(self.made, end), StopFlag(), self.task
        self.made += self.walk.go(
            task.total * self.l1[part], self.wanted[part] * task.yy, rounds, self.coef[part],
            self.gap[part], self.rounds[part], flag.array,
        )  # fmt: skip
        flag.check()
        self.gap[part] /= task.total


def solve(
    task: Quadratic, l1: float, positive: bool, wanted: float, rounds: int
) -> tuple[np.ndarray, int]:
    """Coefficients at one penalty and the rounds they took, by way of larger penalties."""
    pull = task.c if positive else np.abs(task.c)
    top = float(pull.max(initial=0.0)) / task.total
    steps = 1
    if LEAST * top < l1 < top:
        steps += int(np.ceil(np.log(top / l1) / STEP))
    way = np.append(np.geomspace(top, l1, steps)[:-1], l1) if steps > 1 else np.array([l1])
    found = Path(task, way, positive, np.append(np.full(steps - 1, ROUGH), wanted))
    found.go_on(steps, rounds)
    return found.coef[min(found.made, steps - 1)], int(found.rounds.sum())
