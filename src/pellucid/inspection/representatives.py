"""Prototypes: rows of a table that represent all others, chosen as k-medoids."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data.opening import opened
from pellucid.data.targets import as_vector, check_lengths
from pellucid.errors import ParameterError, shown
from pellucid.inspection.cells import Cells
from pellucid.model_selection.rows import taken
from pellucid.parameters import Integer
from pellucid.records.frames import frame, unused

MOST_DISTANCES = 2**22  # stored between rows and candidates; more rows have fewer candidates
FEWEST_CANDIDATES = 256


@dataclass(frozen=True)
class RepresentativeRows:
    """The result of `prototypes`.

    Attributes
    ----------
    rows : positions of the prototypes in X; those that represent most rows first, then by position.
    assignment : (n,), the number 0, 1, ... of the prototype that represents each row.
    distances : (n,), the distance of each row to its prototype.
    criticisms : positions of rows that no prototype represents well, the worst first.
    objective : the sum of `distances`.
    prototypes, critics : these rows of X, in its container.
    labels : the class of each prototype, if y was given.
    """

    rows: np.ndarray
    assignment: np.ndarray
    distances: np.ndarray
    criticisms: np.ndarray
    objective: float
    prototypes: Any
    critics: Any
    labels: tuple[Any, ...] | None
    cells: dict[str, list[Any]]

    @property
    def counts(self) -> np.ndarray:
        """How many rows each prototype represents."""
        return np.bincount(self.assignment, minlength=len(self.rows))

    def frame(self, backend: str | None = None) -> Any:
        """One line per prototype and criticism, with its cells.

        Parameters
        ----------
        backend : None for a dict of lists, "pandas", "polars" or "arrow".
        """
        taken_names = set(self.cells)
        kind, row, count, distance = (
            unused(name, taken_names) for name in ("kind", "row", "represents", "distance")
        )
        both = np.concatenate([self.rows, self.criticisms])
        columns: dict[str, list[Any]] = {
            kind: ["prototype"] * len(self.rows) + ["criticism"] * len(self.criticisms),
            row: both.tolist(),
            count: self.counts.tolist() + [0] * len(self.criticisms),
            distance: self.distances[both].tolist(),
        }
        return frame(columns | self.cells, backend)


def prototypes(
    X: Any, n: int, y: Any = None, *, n_criticisms: int = 0, random_state: Any = 0
) -> RepresentativeRows:
    """The n rows that represent a table best, and rows that they do not represent (k-medoids).

    Minimises the sum over all rows of the distance to the nearest prototype. The distance of two
    rows is the sum over the columns of |difference| / standard deviation, and of 1 for each level
    that differs or cell that only one of them has.

    1. Build: add the row that lowers the sum most, until there are n.
    2. Swap: exchange the prototype and the row that lower the sum most, until no exchange does.

    The result is a local minimum: no exchange of one prototype is better.

    Parameters
    ----------
    X : the table; any numbers, dates, categories and texts
    n : number of prototypes
    y : classes of the rows, or the name of their column. Prototypes are then chosen within each
        class: one of each, and the others in proportion to the rows of the classes
    n_criticisms : number of rows to return that are far from all prototypes and from each other
    random_state : seed of the rows that may become prototypes in tables of more than 2,048 rows

    Examples
    --------
    >>> found = prototypes([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]], 2)
    >>> found.prototypes.tolist(), found.counts.tolist()
    ([[1.0], [10.0]], [3, 3])
    """
    X, y = opened(X, y)
    cells = Cells(X)
    for name, value, low, high in (
        ("n", n, 1, cells.n),
        ("n_criticisms", n_criticisms, 0, cells.n - n if Integer(1).accepts(n) else 0),
    ):
        if not Integer(low).accepts(value) or value > high:
            raise ParameterError(
                f"{name} must be an int from {low} to {high}. Got {shown(value)} instead."
            )
    labels = None if y is None else as_vector(y)
    seed = parallel.seed_sequence(random_state)
    chosen: list[int] = []
    distances, nearest = np.zeros(cells.n), np.zeros(cells.n, dtype=np.intp)
    for part, (rows, k) in enumerate(_classes(cells.n, n, labels)):
        medoids, D = _medoids(cells, rows, k, parallel.stream(seed, "prototypes", part))
        distances[rows], nearest[rows] = D.min(axis=1), len(chosen) + D.argmin(axis=1)
        chosen += medoids.tolist()
    order = np.lexsort((np.array(chosen), -np.bincount(nearest, minlength=n)))
    rows = np.array(chosen, dtype=np.intp)[order]
    critics = _criticisms(cells, rows, distances, n_criticisms)
    both = [*rows.tolist(), *critics.tolist()]
    return RepresentativeRows(
        rows, np.argsort(order)[nearest], distances, critics, float(distances.sum()),
        taken(cells.X, rows), taken(cells.X, critics),
        None if labels is None else tuple(labels[rows].tolist()),
        {name: [cells.cell(j, i) for i in both] for j, name in enumerate(cells.names)},
    )  # fmt: skip


def _classes(n: int, k: int, labels: np.ndarray | None) -> list[tuple[np.ndarray, int]]:
    """Rows of each class, and how many prototypes it has (largest remainders, at least one)."""
    if labels is None:
        return [(np.arange(n), k)]
    check_lengths(n, len(labels))
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) > k:
        raise ParameterError(
            f"y has {len(classes)} classes, but n is {k}. Give n >= {len(classes)}."
        )
    sizes = np.bincount(codes)
    counts = np.ones(len(classes), dtype=int)
    for _ in range(k - len(classes)):  # the class with most rows per prototype has the next one
        counts[np.argmax(np.where(counts < sizes, sizes / counts, -1.0))] += 1
    return [(np.flatnonzero(codes == c), int(count)) for c, count in enumerate(counts)]


def distances(cells: Cells, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(rows, others): sums of the distances of their cells over the columns."""
    from scipy.spatial.distance import cdist

    whole = [
        j for j, codes in enumerate(cells.codes) if cells.is_number(j) and np.isfinite(codes).all()
    ]
    D = np.zeros((len(rows), len(others)))
    if whole:
        Z = np.column_stack([cells.codes[j] / cells.spreads[j] for j in whole])
        D = cdist(Z[rows], Z[others], "cityblock")
    for j in set(range(len(cells.names))) - set(whole):
        D += cells.distance(j, rows[:, None], others[None, :])
    return D


def _medoids(
    cells: Cells, rows: np.ndarray, k: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of k medoids of some rows, and the distances of the rows to them."""
    most = max(4 * k, FEWEST_CANDIDATES, MOST_DISTANCES // len(rows))
    few = len(rows) > most
    candidates = np.sort(rng.choice(rows, most, replace=False)) if few else rows
    D = distances(cells, rows, candidates)
    chosen = _swapped(D, _built(D, k))
    return candidates[chosen], D[:, chosen]


def _built(D: np.ndarray, k: int) -> list[int]:
    """Step 1: candidates that lower the sum of the smallest distances most, one after the other."""
    chosen: list[int] = []
    nearest = np.full(len(D), np.inf)
    for _ in range(k):
        sums = np.minimum(D, nearest[:, None]).sum(axis=0)
        sums[chosen] = np.inf
        chosen.append(int(sums.argmin()))
        nearest = np.minimum(nearest, D[:, chosen[-1]])
    return chosen


def _swapped(D: np.ndarray, chosen: list[int]) -> list[int]:
    """Step 2: the best exchange of a medoid and a candidate, until none lowers the sum.

    Without medoid m, a row of its cluster goes to the new candidate or to its second medoid; other
    rows go to the candidate if it is nearer.
    """
    tolerance = 1e-12 * max(float(np.abs(D).max()), 1e-300) * len(D)
    while True:
        own = D[:, chosen]
        order = np.argsort(own, axis=1, kind="stable")
        at = np.arange(len(D))
        first = own[at, order[:, 0]]
        second = own[at, order[:, 1]] if len(chosen) > 1 else np.full(len(D), np.inf)
        kept = np.minimum(D, first[:, None])
        member = (order[:, 0][None, :] == np.arange(len(chosen))[:, None]).astype(float)
        sums = (kept.sum(axis=0)) + member @ (np.minimum(D, second[:, None]) - kept)
        sums[:, chosen] = np.inf
        m, new = np.unravel_index(int(sums.argmin()), sums.shape)
        if not sums[m, new] < first.sum() - tolerance:
            return chosen
        chosen = [*chosen[:m], int(new), *chosen[m + 1 :]]


def _criticisms(cells: Cells, rows: np.ndarray, nearest: np.ndarray, k: int) -> np.ndarray:
    """Rows that are farthest from all prototypes and from the criticisms before them."""
    nearest, found, everything = nearest.copy(), [], np.arange(cells.n)
    nearest[rows] = -1.0
    for _ in range(k):
        found.append(int(nearest.argmax()))
        own = distances(cells, everything, np.array([found[-1]]))[:, 0]
        nearest = np.minimum(nearest, own)
        nearest[found[-1]] = -1.0
    return np.array(found, dtype=np.intp)
