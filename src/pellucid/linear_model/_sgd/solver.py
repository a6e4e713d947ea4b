"""Stochastic gradient descent for linear models: epochs, steps, stopping, averaging.

Each binary (or regression) problem is a `Walker`: coefficients that walk over the rows. Several
classes are one walker each, class against the others.

Invariant: the order of rows depends on (seed, walker, epoch) alone; so threads change nothing.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.row_view import RowView, blocks_of
from pellucid.linear_model._sgd import _loops
from pellucid.numerics.simd import fastest
from pellucid.parallel import StopFlag
from pellucid.records import Recorder, Status

loops = fastest(_loops)

LOSSES = {
    "hinge": 0, "log_loss": 1, "modified_huber": 2, "squared_hinge": 3, "perceptron": 4,
    "squared_error": 5, "huber": 6, "epsilon_insensitive": 7, "squared_epsilon_insensitive": 8,
}  # fmt: skip
# Of a distance |y - z|, as `_sgd` has them for each row.
NUMBER_LOSSES = {
    "squared_error": lambda d, eps: d**2 / 2,
    "huber": lambda d, eps: np.where(d <= eps, d**2 / 2, eps * (d - eps / 2)),
    "epsilon_insensitive": lambda d, eps: np.maximum(d - eps, 0.0),
    "squared_epsilon_insensitive": lambda d, eps: np.maximum(d - eps, 0.0) ** 2,
}
SCHEDULES = {
    "constant": 0, "optimal": 1, "invscaling": 2, "adaptive": 3, "decreasing": 4, "pa1": 5, "pa2": 6,
}  # fmt: skip
TOO_LARGE = 1e20
CHUNK = 128  # rows of a run


@dataclass(frozen=True)
class Plan:
    """What the user asked for."""

    loss: str
    alpha: float
    l1_share: float  # of alpha; alpha 0: no penalty
    schedule: str
    eta0: float
    power: float
    epsilon: float
    intercept: bool
    epochs: int
    tol: float | None
    patience: int
    shuffle: bool
    rate: float = 0.0  # alpha of the "optimal" schedule, whether there is a penalty or not
    average_from: float = 0.0
    until_right: bool = False  # stop after a pass without mistakes

    @property
    def t0(self) -> float:
        """Start of the "optimal" schedule (Bottou): the first steps are of the size of the weights."""
        if self.schedule != "optimal":
            return 0.0
        return 1.0 / (np.sqrt(1.0 / np.sqrt(self.rate)) * self.rate)


@dataclass
class Walker:
    """The state of one problem; see `_sgd` for the layout."""

    v: np.ndarray
    q: np.ndarray
    mean: np.ndarray
    state: np.ndarray
    history: list[tuple[float, ...]] = field(default_factory=list)
    status: Status = field(default_factory=lambda: Status("ok", "No pass was made."))

    @property
    def coef(self) -> np.ndarray:
        return self.v * self.state[1]

    @property
    def intercept(self) -> float:
        return float(self.state[0])


def new_walker(p: int, coef: np.ndarray | None = None, intercept: float = 0.0) -> Walker:
    """Coefficients at 0, or at a given start."""
    v = np.zeros(p) if coef is None else np.array(coef, dtype=float)
    state = np.array([intercept, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    return Walker(v, np.zeros(p), np.zeros(p + 1), state)


def addressable(problem: Problem) -> Problem:
    """The problem as `parts_of` takes it: the rows of a CSR table are copied into their order."""
    X = problem.X
    dense = not isinstance(X, RowView) or isinstance(X.table, np.ndarray)
    return problem if dense else problem.gathered()


def parts_of(X: Any) -> tuple[np.ndarray, ...]:
    """Dense X, or the parts of a CSR one, and the places of rows in a table."""
    none, nowhere = np.empty(0), np.empty(0, np.int32)
    if isinstance(X, RowView):
        return X.table, none, nowhere, nowhere, X.places
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X), none, nowhere, nowhere, nowhere
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return np.empty((0, X.shape[1])), X.data, indices, indptr, nowhere


def shuffled(rng: np.random.Generator, n: int) -> tuple[np.ndarray, int, int]:
    """A random order of the rows, as `_sgd` has it; of many rows, runs of neighbours in random order.

    They are neighbours in the random order of their hashes, and runs begin elsewhere in each pass:
    what is known of them is read one after the other.
    """
    if n <= 64 * CHUNK:
        return rng.permutation(n).astype(np.int64), 1, 0
    starts = rng.permutation(-(-n // CHUNK)).astype(np.int64) * CHUNK
    return starts, CHUNK, int(rng.integers(n))


def walk(
    walker: Walker, X: Any, y: np.ndarray, w: np.ndarray, plan: Plan, seed: Any, name: Any,
    check: Any = None,
) -> Walker:  # fmt: skip
    """Passes over the rows until nothing improves; `check(walker)` is a score on rows held back."""
    parts, flag = parts_of(X), StopFlag()
    n, eta0, best, waited = len(y), plan.eta0, np.inf, 0
    walker.status = Status("ok", f"All {plan.epochs} passes were made, as asked.")
    for epoch in range(1, plan.epochs + 1):
        flag.check()
        order = (np.zeros(1, dtype=np.int64), n, 0)
        if plan.shuffle:
            order = shuffled(parallel.stream(seed, "epoch", name, epoch), n)
        loss = parallel.interruptible(
            loops.epoch, *parts, y, w, *order, walker.v, walker.q, walker.mean, walker.state,
            LOSSES[plan.loss], plan.epsilon, plan.alpha, plan.l1_share, plan.rate,
            SCHEDULES[plan.schedule], eta0, plan.power, plan.t0, plan.intercept, plan.average_from,
        )  # fmt: skip
        walker.history.append((loss, walker.state[6], walker.state[7]))
        if not np.isfinite(loss) or not np.abs(walker.v).max(initial=0.0) < TOO_LARGE:
            walker.status = _diverged(epoch)
            walker.v[:] = np.nan_to_num(walker.v, nan=0.0, posinf=TOO_LARGE, neginf=-TOO_LARGE)
            break
        if plan.until_right and walker.state[6] == 0:
            walker.status = Status("converged", f"Pass {epoch} made no mistake.")
            break
        if plan.tol is None:
            continue
        value = -check(walker) if check is not None else loss
        waited = waited + 1 if value > best - plan.tol else 0
        best = min(best, value)
        if waited < plan.patience:
            continue
        if plan.schedule == "adaptive" and eta0 > 1e-6:
            eta0, waited = eta0 / 5, 0
            continue
        walker.status = Status("converged", f"{plan.patience} passes brought no improvement.")
        break
    else:
        if plan.tol is not None:
            walker.status = Status(
                "max_iter", f"The loss still fell after {plan.epochs} passes.", "Increase max_iter."
            )
    return walker


def mean_loss(plan: Plan, X: Any, y: np.ndarray, w: np.ndarray, walker: Walker) -> float:
    """Of numbers, where a walker stands; block by block."""
    total = 0.0
    for rows in blocks_of(X):
        distance = np.abs(y[rows] - X[rows] @ walker.coef - walker.intercept)
        with np.errstate(over="ignore"):
            total += float(w[rows] @ NUMBER_LOSSES[plan.loss](distance, plan.epsilon))
    return total / float(w.sum())


def _diverged(epoch: int) -> Status:
    return Status(
        "diverged",
        f"The coefficients grew beyond all bounds in pass {epoch}.",
        "Standardise the columns, or lower eta0.",
    )


def together(walkers: list[Walker], source: str) -> dict[str, np.ndarray]:
    """One history of all walkers: losses and mistakes added up, pass by pass."""
    recorder = Recorder(source, max(len(k.history) for k in walkers))
    longest = max(len(k.history) for k in walkers)
    for epoch in range(longest):
        rows = [k.history[min(epoch, len(k.history) - 1)] for k in walkers if k.history]
        recorder.add(
            iteration=epoch + 1,
            objective=float(sum(row[0] for row in rows)),
            mistakes=float(sum(row[1] for row in rows)),
            learning_rate=float(rows[0][2]),
        )
    return recorder.history()
