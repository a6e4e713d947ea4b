"""Separation: can the columns tell classes apart so well that no finite coefficients are optimal?

Let D be a direction (one row of coefficients per class) and a_ik the score of row i's own class minus
the score of class k, both of D. If no a_ik is negative and one is positive, the likelihood grows
without end along D:

    separated  <=>  there is D with a_ik >= 0 for all i, k and a_ik > 0 for one of them.

1. Find single columns that separate: the ranges of the classes do not overlap, or only touch.
2. Otherwise find the shortest D (sum of absolute values, in units of the columns' ranges) with all
   a_ik >= 1 (complete separation), or with all a_ik >= 0 and mean 1 (quasi-complete separation). Both
   are linear programs. The columns of D are the ones to report. Few rows matter, so a program is
   solved for some of them and those that its solution violates are added.

Invariant: the result depends on the table alone, not on the point at which a solver checks it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model._logistic.objective import Likelihood
from pellucid.numerics.row_blocks import as_dense
from pellucid.parallel.shard import shard
from pellucid.records import Status

CERTAIN = 1e-11  # a probability this close to 0 or 1 is a reason to check for separation
VIOLATED = 1e-9  # a_ik below minus this share of the largest one violates D
USED = 1e-9  # a column of D counts if it is above this share of the largest coefficient
LARGE_MARGIN = 2.2  # log-odds of 0.9: a row beyond it may be separated
SMALL_LOSS = 1e-6  # mean loss below which a correct classification of all rows is a reason to check
ROUNDS = 60
PROGRAM_CELLS = 2**23  # largest linear program; larger tables are not searched for the columns
PIVOTS = 50_000
NAMED = 5  # columns listed in a message


@dataclass(frozen=True)
class Separation:
    """A separation that was found, and columns that suffice for it."""

    complete: bool  # whether all rows can be classified with certainty
    columns: np.ndarray
    alone: bool  # whether each of the columns separates by itself


def _nearly_certain(likelihood: Likelihood) -> bool:
    """Whether some probability at the last point is nearly 0 or 1: a cheap check for every step."""
    least, most = likelihood.last["ends"]
    return least < CERTAIN or most > 1 - CERTAIN


def _has_large_margin(likelihood: Likelihood, x: np.ndarray) -> bool:
    """Whether some row at x has a large margin, as separated rows do."""

    def large(rows: slice) -> bool:
        Z = likelihood.scores(likelihood.block(rows), x)
        margin = Z.max(axis=1, initial=0.0) - Z.min(axis=1, initial=0.0)  # class 0 has the score 0
        return float(margin.max(initial=0.0)) > LARGE_MARGIN

    return parallel.any_row(any(parallel.map(large, likelihood.X.blocks)))


def find_separation(likelihood: Likelihood, x: np.ndarray) -> Separation | None:
    """What separates the classes, or None; x is the current point of the solver."""
    alone, strictly = _single_columns(likelihood)
    if strictly.any():
        return Separation(True, np.flatnonzero(strictly), True)
    some = _shortest_direction(likelihood, x, False, np.ones(likelihood.X.p, dtype=bool))
    if some is None and alone.any() and not likelihood.separated(x):
        return Separation(False, np.flatnonzero(alone), True)
    if some is None:
        return (
            Separation(True, _most_important(likelihood, x), False)
            if likelihood.separated(x)
            else None
        )
    for allowed in (_used_columns(some), np.ones(likelihood.X.p, dtype=bool)):
        every = _shortest_direction(likelihood, x, True, allowed)
        if every is not None:
            return Separation(True, np.flatnonzero(_used_columns(every)), False)
    if alone.any():
        return Separation(False, np.flatnonzero(alone), True)
    return Separation(False, np.flatnonzero(_used_columns(some)), False)


def _used_columns(direction: np.ndarray) -> np.ndarray:
    size = np.abs(direction[:, :-1]).max(axis=0)
    return size > USED * size.max(initial=0.0)


def separated_status(found: Separation, terms: tuple[str, ...]) -> Status:
    """The status that names the separating columns."""
    names = [repr(terms[j]) if terms else f"number {j}" for j in found.columns]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    named = ", ".join(names[:NAMED]) + more
    several = "Each of the columns" if found.alone else "Together, the columns"
    which = f"The column {named}" if len(names) == 1 else f"{several} {named}"
    verb = "separates" if len(names) == 1 or found.alone else "separate"
    extent = (
        "the classes perfectly (complete separation)"
        if found.complete
        else "some rows from the other classes perfectly (quasi-complete separation)"
    )
    return Status(
        "separated",
        f"{which} {verb} {extent}, so the optimal coefficients are infinite. Those returned are large "
        "and arbitrary, but their predictions are valid.",
        "Use a penalty (a finite C), or firth=True.",
    )


# Single columns -----------------------------------------------------------------------------------


def _single_columns(likelihood: Likelihood) -> tuple[np.ndarray, np.ndarray]:
    """Masks of the columns that separate some classes by themselves, and that do so strictly."""
    low, high = _ranges(likelihood)
    if not likelihood.intercept:  # the threshold is 0
        sided = ((low >= 0) | (high <= 0)).all(axis=0)
        above, below = (high > 0).sum(axis=0), (low < 0).sum(axis=0)
        one_sided = np.maximum(above, below) == likelihood.n_classes
        touching = sided & (above + below > 0) & ~one_sided
        return touching, touching & ((low > 0) | (high < 0)).all(axis=0) & (len(low) == 2)
    order = np.argsort(low + high, axis=0, kind="stable")
    low, high = (np.take_along_axis(side, order, axis=0) for side in (low, high))
    below = np.maximum.accumulate(high, axis=0)[:-1]
    above = np.minimum.accumulate(low[::-1], axis=0)[::-1][1:]
    varies = low.min(axis=0) < high.max(axis=0)
    touching = (below <= above) & varies
    # If no two classes overlap, coefficients that grow from class to class separate all of them.
    return touching.any(axis=0), (below < above).all(axis=0) & varies


def _ranges(likelihood: Likelihood) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value by class and column, (classes, p)."""
    K, p = likelihood.n_classes, likelihood.X.p

    def partial(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        block, y = likelihood.X.dense(rows), likelihood.y[rows]
        low, high = np.full((K, p), np.inf), np.full((K, p), -np.inf)
        for k in np.unique(y):
            own = block[y == k]
            low[k], high[k] = own.min(axis=0), own.max(axis=0)
        return low, high

    def combine(a: tuple, b: tuple) -> tuple:
        return np.minimum(a[0], b[0]), np.maximum(a[1], b[1])

    return parallel.reduce(partial, combine, likelihood.X.blocks)


# The linear program -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pairs:
    """The margins a_ik as linear functions of D in units of the columns' ranges."""

    likelihood: Likelihood
    centre: np.ndarray
    spread: np.ndarray

    def gains(self, D: np.ndarray) -> np.ndarray:
        """a_ik, (n, K), NaN where k is the row's own class; D in the units of the likelihood."""
        F = self.likelihood

        def partial(rows: slice) -> np.ndarray:
            Z = F.scores(F.block(rows), D.ravel())
            Z = np.column_stack([np.zeros(len(Z)), Z])
            own = (np.arange(len(Z)), F.y[rows])
            gain = Z[own][:, None] - Z
            gain[own] = np.nan
            return gain

        return np.concatenate(parallel.map(partial, F.X.blocks))

    def rows(self, pairs: np.ndarray) -> np.ndarray:
        """Rows of the program for flat positions of `gains`, (len, q (p + 1))."""
        F, K = self.likelihood, self.likelihood.n_classes
        i, k = np.divmod(pairs, K)
        inner: Any = F.block(i)
        inner = as_dense(inner)
        table = np.column_stack([(inner - self.centre) / self.spread, np.ones(len(i))])
        table[:, -1] = float(F.intercept)
        out = np.zeros((len(i), F.q, F.X.p + 1))
        for sign, cls in ((1.0, F.y[i]), (-1.0, k)):
            there = np.flatnonzero(cls > 0)
            out[there, cls[there] - 1] += sign * table[there]
        return out.reshape(len(i), -1)

    def mean(self) -> np.ndarray:
        """The mean of all a_ik as a vector, (q (p + 1),)."""
        F, K = self.likelihood, self.likelihood.n_classes
        shares = np.full((F.X.n, F.q), -1.0)
        there = np.flatnonzero(F.y > 0)
        shares[there, F.y[there] - 1] = K - 1.0

        def partial(rows: slice) -> np.ndarray:
            block = F.block(rows)
            S = shares[rows]
            return np.column_stack([np.asarray(block.T @ S).T, S.sum(axis=0)])

        total = parallel.reduce(partial, np.ndarray.__iadd__, F.X.blocks)
        total[:, :-1] = (total[:, :-1] - total[:, -1:] * self.centre) / self.spread
        total[:, -1] *= float(F.intercept)
        return total.ravel() / (F.X.n * (K - 1))

    def outward(self, d: np.ndarray) -> np.ndarray:
        """D in the units of the likelihood, (q, p + 1)."""
        D = d.reshape(self.likelihood.q, -1).copy()
        D[:, :-1] /= self.spread
        D[:, -1] -= D[:, :-1] @ self.centre
        return D


def _pairs_of(likelihood: Likelihood) -> _Pairs:
    low, high = _ranges(likelihood)
    low, high = low.min(axis=0), high.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    if likelihood.shift is not None:
        low, high = low - likelihood.shift, high - likelihood.shift
    centre = (low + high) / 2 if likelihood.intercept else np.zeros_like(low)
    return _Pairs(likelihood, centre, spread)


def _shortest_direction(
    likelihood: Likelihood, x: np.ndarray, complete: bool, allowed: np.ndarray
) -> np.ndarray | None:
    """D (q, p + 1) with the least sum of absolute values, in the allowed columns and their units.

    None if there is none, if the linear program would be too large, or if processes share the rows.
    """
    pairs, size = _pairs_of(likelihood), likelihood.size
    room = PROGRAM_CELLS // size
    if room < 4 * likelihood.n_classes or shard() is not None:
        return None
    mean = None if complete else pairs.mean()
    gain = pairs.gains(x).ravel()
    used = np.argsort(gain, kind="stable")[: min(4 * size + 50, room)]
    used = np.sort(used[np.isfinite(gain[used])])
    for _ in range(ROUNDS):
        d = _program(pairs.rows(used), mean, allowed)
        if d is None:
            return None
        D = pairs.outward(d)
        gain = pairs.gains(D).ravel()
        limit = float(complete) - VIOLATED * np.nanmax(np.abs(gain))
        violated = np.flatnonzero(gain < limit)
        if not len(violated):
            return d.reshape(D.shape)
        worst = violated[np.argsort(gain[violated], kind="stable")][: 2 * size + 50]
        fresh = np.setdiff1d(worst, used)
        if not len(fresh) or len(used) + len(fresh) > room:
            return None
        used = np.union1d(used, fresh)
    return None


def _program(A: np.ndarray, mean: np.ndarray | None, allowed: np.ndarray) -> np.ndarray | None:
    """Minimise |d|_1 without intercepts subject to A d >= 0, mean . d = 1 (or A d >= 1); None if no
    d satisfies this."""
    from scipy.optimize import linprog

    q = A.shape[1] // (len(allowed) + 1)
    cost = np.tile(np.append(np.ones(len(allowed)), 0.0), 2 * q)
    limit = np.tile(np.append(np.where(allowed, np.inf, 0.0), np.inf), 2 * q)
    if mean is None:
        largest, more = np.ones(len(A)), {}
    else:
        largest = np.abs(A).max(axis=1)
        A, largest = A[largest > 0], largest[largest > 0]
        more = {"A_eq": np.concatenate([mean, -mean])[None, :], "b_eq": [1.0]}
    A = A / largest[:, None]
    found = linprog(
        cost, A_ub=np.hstack([-A, A]), b_ub=np.full(len(A), -float(mean is None)),
        bounds=np.column_stack([np.zeros(len(limit)), limit]), method="highs", **more,
        options={"maxiter": PIVOTS, "primal_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    m = A.shape[1]
    return None if found.status != 0 else found.x[:m] - found.x[m:]


class SeparationCheck:
    """Checks for separation while a solver without penalty runs, and after it.

    The search is expensive, so it runs once per fit, and only if there is a sign of separation.
    """

    def __init__(self, likelihood: Likelihood, terms: tuple[str, ...]) -> None:
        self.likelihood, self.terms = likelihood, terms
        self.small = SMALL_LOSS * float(parallel.sum_rows(likelihood.weights))
        self.found: Separation | None = None
        self.searched, self.previous = False, np.inf

    def _search(self, x: np.ndarray) -> Status | None:
        """The status of a separated table, else None."""
        if not self.searched:
            self.found, self.searched = find_separation(self.likelihood, x), True
        return None if self.found is None else separated_status(self.found, self.terms)

    def during(self, x: np.ndarray, value: float) -> Status | None:
        """A status that ends the solver if the classes are separated and little is left to gain."""
        gain, self.previous = self.previous - value, value
        low = value <= self.small and self.likelihood.separated(x)
        if not self.searched and (low or _nearly_certain(self.likelihood)):
            self._search(x)
        if self.found is None or not (low if self.found.complete else gain <= self.small):
            return None
        return self._search(x)

    def after(self, x: np.ndarray, ok: bool, exact: bool) -> Status | None:
        """The status of a separated table when the solver has ended at x.

        After an `exact` optimum only single columns are a sign of separation. After an approximate one
        large margins are a sign too, and after a failure the table is always searched.
        """
        suspected = not ok or (not exact and _has_large_margin(self.likelihood, x))
        if self.found is None and not suspected and not _single_columns(self.likelihood)[0].any():
            return None
        return self._search(x)


def _most_important(likelihood: Likelihood, x: np.ndarray) -> np.ndarray:
    """The columns that matter most to the scores at x, for tables too large for the program."""
    low, high = _ranges(likelihood)
    B, _ = likelihood.unpack(x)
    share = np.abs(B).max(axis=0) * (high.max(axis=0) - low.min(axis=0))
    return np.argsort(-share, kind="stable")[:NAMED]
