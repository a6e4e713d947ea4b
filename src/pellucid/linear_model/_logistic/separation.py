"""Separation: do the columns tell classes apart so well that no finite coefficients are best?

A direction D (one row per class) along which no row's own class falls behind another class, and
some row's own class gains, is a way down the likelihood that never ends. With a_ik = score of the
class of row i minus score of class k, both of D:

    separated  <=>  there is D with a_ik >= 0 for all i, k and a_ik > 0 for one of them.

1. Columns that do it alone: the ranges of the classes do not overlap, or touch.
2. Otherwise the shortest D (sum of absolute values, in units of the columns' spread) with all
   a_ik >= 1 (complete separation), or with all a_ik >= 0 and mean 1 (quasi-complete): linear
   programs; the columns of D are the guilty ones. Few rows matter: they are found by solving for
   some and adding those that the answer violates.

Invariant: the answer depends on the table alone, not on where a solver was when it asked.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model._logistic.objective import Likelihood
from pellucid.records import Status

SURE = 1e-11  # probabilities beyond which a row asks whether its class can be had for certain
VIOLATED = 1e-9  # of the largest a_ik: below minus this a row counts against D
USED = 1e-9  # of the largest coefficient: at or below it a column of D is not named
LEAD = 2.2  # log-odds of .9: a row beyond it may be one that is separated
SMALL_LOSS = 1e-6  # mean loss at which all rows right is a reason to ask
ROUNDS = 60
PROGRAM_CELLS = 2**23  # of the linear program; larger tables are not asked which columns it is
PIVOTS = 50_000
NAMED = 5


@dataclass(frozen=True)
class Separation:
    """Complete: every row's class can be had for certain. `columns` suffice for what there is."""

    complete: bool
    columns: np.ndarray
    alone: bool


def suspicious(likelihood: Likelihood) -> bool:
    """Whether some probability at the last point is nearly 0 or 1: cheap, asked every step."""
    least, most = likelihood.last["ends"]
    return least < SURE or most > 1 - SURE


def doubtful(likelihood: Likelihood, x: np.ndarray) -> bool:
    """Whether some row at x is nearly sure of a class, as rows that are separated are."""

    def sure(rows: slice) -> bool:
        Z = likelihood.scores(likelihood.block(rows), x)
        lead = Z.max(axis=1, initial=0.0) - Z.min(axis=1, initial=0.0)  # class 0 has the score 0
        return float(lead.max(initial=0.0)) > LEAD

    return any(parallel.map(sure, likelihood.X.blocks))


def find_separation(likelihood: Likelihood, x: np.ndarray) -> Separation | None:
    """What separates the classes, or None; x is where the solver stands."""
    alone, strictly = _alone(likelihood)
    if strictly.any():
        return Separation(True, np.flatnonzero(strictly), True)
    some = _shortest_direction(likelihood, x, False, np.ones(likelihood.X.p, dtype=bool))
    if some is None and alone.any() and not likelihood.separated(x):
        return Separation(False, np.flatnonzero(alone), True)
    if some is None:
        return Separation(True, _largest(likelihood, x), False) if likelihood.separated(x) else None
    for allowed in (_named(some), np.ones(likelihood.X.p, dtype=bool)):
        every = _shortest_direction(likelihood, x, True, allowed)
        if every is not None:
            return Separation(True, np.flatnonzero(_named(every)), False)
    if alone.any():
        return Separation(False, np.flatnonzero(alone), True)
    return Separation(False, np.flatnonzero(_named(some)), False)


def _named(direction: np.ndarray) -> np.ndarray:
    size = np.abs(direction[:, :-1]).max(axis=0)
    return size > USED * size.max(initial=0.0)


def separated_status(found: Separation, terms: tuple[str, ...]) -> Status:
    """The message that names the guilty columns."""
    names = [repr(terms[j]) if terms else f"number {j}" for j in found.columns]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    named = ", ".join(names[:NAMED]) + more
    words = "Each of the columns" if found.alone else "Together, the columns"
    which = f"The column {named}" if len(names) == 1 else f"{words} {named}"
    verb = "separates" if len(names) == 1 or found.alone else "separate"
    extent = (
        "the classes perfectly (complete separation), so"
        if found.complete
        else "some rows from the other classes perfectly (quasi-complete separation), so"
    )
    return Status(
        "separated",
        f"{which} {verb} {extent} without a penalty coefficients grow without limit; those returned "
        "are large and arbitrary, though their predictions hold.",
        "Use a penalty (a finite C), or firth=True.",
    )


# Columns alone ------------------------------------------------------------------------------------


def _alone(likelihood: Likelihood) -> tuple[np.ndarray, np.ndarray]:
    """Columns whose values alone separate some classes from the others; and those strictly."""
    low, high = _ranges(likelihood)
    if not likelihood.intercept:  # the cut is at 0
        sided = ((low >= 0) | (high <= 0)).all(axis=0)
        above, below = (high > 0).sum(axis=0), (low < 0).sum(axis=0)
        lopsided = np.maximum(above, below) == likelihood.n_classes
        touching = sided & (above + below > 0) & ~lopsided
        return touching, touching & ((low > 0) | (high < 0)).all(axis=0) & (len(low) == 2)
    order = np.argsort(low + high, axis=0, kind="stable")
    low, high = (np.take_along_axis(side, order, axis=0) for side in (low, high))
    below = np.maximum.accumulate(high, axis=0)[:-1]
    above = np.minimum.accumulate(low[::-1], axis=0)[::-1][1:]
    varies = low.min(axis=0) < high.max(axis=0)
    touching = (below <= above) & varies
    # Classes all apart along a line: slopes that grow from class to class separate them all.
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
    """The vectors a_ik as functions of D in units of the columns' spread."""

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
        inner = inner if isinstance(inner, np.ndarray) else inner.toarray()
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
    """D (q, p + 1) of the least sum of absolute values in the allowed columns, per their spread.

    None if there is none, or no room to look for it.
    """
    pairs, size = _pairs_of(likelihood), likelihood.size
    room = PROGRAM_CELLS // size
    if room < 4 * likelihood.n_classes:
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
        against = np.flatnonzero(gain < limit)
        if not len(against):
            return d.reshape(D.shape)
        worst = against[np.argsort(gain[against], kind="stable")][: 2 * size + 50]
        fresh = np.setdiff1d(worst, used)
        if not len(fresh) or len(used) + len(fresh) > room:
            return None
        used = np.union1d(used, fresh)
    return None


def _program(A: np.ndarray, mean: np.ndarray | None, allowed: np.ndarray) -> np.ndarray | None:
    """min |d|_1 over the slopes with A d >= 0, mean . d = 1 (or A d >= 1); None if no d can be."""
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


class Sentry:
    """Asks of a solver without penalty, once it seems so, whether the classes are separated."""

    def __init__(self, likelihood: Likelihood, terms: tuple[str, ...]) -> None:
        self.likelihood, self.terms = likelihood, terms
        self.small = SMALL_LOSS * float(likelihood.weights.sum())
        self.found: Separation | None = None
        self.asked, self.previous = False, np.inf

    def ask(self, x: np.ndarray) -> Status | None:
        """The status of a separated table; the table is asked once, for it does not change."""
        if not self.asked:
            self.found, self.asked = find_separation(self.likelihood, x), True
        return None if self.found is None else separated_status(self.found, self.terms)

    def ended(self, x: np.ndarray, ok: bool, exact: bool) -> Status | None:
        """At a solver's end. One that found an exact optimum is doubted only for a column that does
        it alone; one that was content with less, also if it is nearly sure of some rows.
        """
        doubted = not ok or (not exact and doubtful(self.likelihood, x))
        if self.found is None and not doubted and not _alone(self.likelihood)[0].any():
            return None
        return self.ask(x)

    def __call__(self, x: np.ndarray, value: float) -> Status | None:
        """End a climb that has no top once what is left to gain is small."""
        gain, self.previous = self.previous - value, value
        low = value <= self.small and self.likelihood.separated(x)
        if not self.asked and (low or suspicious(self.likelihood)):
            self.ask(x)
        if self.found is None or not (low if self.found.complete else gain <= self.small):
            return None
        return self.ask(x)


def _largest(likelihood: Likelihood, x: np.ndarray) -> np.ndarray:
    """Columns by their share in the scores at x, for tables too large for the program."""
    low, high = _ranges(likelihood)
    B, _ = likelihood.unpack(x)
    share = np.abs(B).max(axis=0) * (high.max(axis=0) - low.min(axis=0))
    return np.argsort(-share, kind="stable")[:NAMED]
