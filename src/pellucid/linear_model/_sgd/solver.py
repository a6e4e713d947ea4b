"""Stochastic gradient descent for linear models: epochs, steps, stopping, averaging.

Each binary problem, and each regression, has an `SGDState` of its own. With more than two classes
there is one problem per class, that class against all others.

Invariant: the order of the rows depends on (seed, problem, epoch) alone, so the number of threads
does not change the result.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.row_view import RowView, blocks_of
from pellucid.linear_model._sgd import _loops
from pellucid.linear_model._sgd.sgd_state import (
    LAST_STEP,
    MISTAKES,
    N_AVERAGED,
    SCALE,
    STEPS,
    SGDState,
)
from pellucid.linear_model._sgd.watched_epochs import Order, WatchedEpochs
from pellucid.numerics.simd import fastest
from pellucid.parallel import StopFlag
from pellucid.records import Recorder, Status, unwatched

loops = fastest(_loops)

LOSSES = {
    "hinge": 0, "log_loss": 1, "modified_huber": 2, "squared_hinge": 3, "perceptron": 4,
    "squared_error": 5, "huber": 6, "epsilon_insensitive": 7, "squared_epsilon_insensitive": 8,
}  # fmt: skip
# Losses of regression as functions of |y - z|; `_loops` has them row by row.
REGRESSION_LOSSES = {
    "squared_error": lambda d, eps: d**2 / 2,
    "huber": lambda d, eps: np.where(d <= eps, d**2 / 2, eps * (d - eps / 2)),
    "epsilon_insensitive": lambda d, eps: np.maximum(d - eps, 0.0),
    "squared_epsilon_insensitive": lambda d, eps: np.maximum(d - eps, 0.0) ** 2,
}
SCHEDULES = {
    "constant": 0, "optimal": 1, "invscaling": 2, "adaptive": 3, "decreasing": 4, "pa1": 5, "pa2": 6,
}  # fmt: skip
TOO_LARGE = 1e20  # a coefficient beyond this size means divergence
SHORT = 4096  # rows that take less time than handing them to a thread that can be interrupted
CHUNK = 128  # rows in a run of neighbours, see `shuffled`


@dataclass(frozen=True)
class SGDOptions:
    """Options of the user, in the form that the solver needs."""

    loss: str
    alpha: float
    l1_share: float  # share of alpha for the L1 penalty; alpha = 0 means no penalty
    schedule: str
    eta0: float
    power: float
    epsilon: float
    intercept: bool
    epochs: int
    tol: float | None
    patience: int
    shuffle: bool
    rate: float = 0.0  # alpha in the "optimal" step size, with or without a penalty
    average_from: float = 0.0  # first step whose coefficients are averaged; 0 means no average
    stop_without_mistakes: bool = False  # stop after an epoch without mistakes

    @property
    def t0(self) -> float:
        """Offset of the "optimal" schedule (Bottou), which limits the size of the first steps."""
        if self.schedule != "optimal":
            return 0.0
        return 1.0 / (np.sqrt(1.0 / np.sqrt(self.rate)) * self.rate)


def new_state(p: int, coef: np.ndarray | None = None, intercept: float = 0.0) -> SGDState:
    """Coefficients of zero, or given ones to start from."""
    v = np.zeros(p) if coef is None else np.array(coef, dtype=float)
    scalars = np.array([intercept, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    return SGDState(v, np.zeros(p), np.zeros(p + 1), scalars)


def last_states(model: Any) -> list[SGDState]:
    """The states, one per problem, from which `partial_fit` of a fitted model continues."""
    kept = (model.standard_coef_, model.pulled_, model.averaged_, model.walk_)
    rows = zip(*(np.atleast_2d(part).copy() for part in kept))
    return [SGDState(v, q, mean, scalars) for v, q, mean, scalars in rows]


def addressable(problem: Problem) -> Problem:
    """The problem in a form that `parts_of` accepts: the rows of a CSR table are copied in order."""
    X = problem.X
    dense = not isinstance(X, RowView) or isinstance(X.table, np.ndarray)
    return problem if dense else problem.gathered()


def parts_of(X: Any) -> tuple[np.ndarray, ...]:
    """A dense X, or the three arrays of a CSR one, and the positions of the rows in the table."""
    none, nowhere = np.empty(0), np.empty(0, np.int32)
    if isinstance(X, RowView):
        return X.table, none, nowhere, nowhere, X.places
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X), none, nowhere, nowhere, nowhere
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return np.empty((0, X.shape[1])), X.data, indices, indptr, nowhere


def shuffled(rng: np.random.Generator, n: int) -> tuple[np.ndarray, int, int]:
    """A random order of the rows in the form of `_loops`: (starts, run length, first row).

    Small tables have a permutation of all rows. Large tables have runs of neighbours in random order,
    which are faster to read. The neighbours are random, because rows are sorted by their hashes, and
    the runs begin at another row in each epoch.
    """
    if n <= 64 * CHUNK:
        return rng.permutation(n).astype(np.int64), 1, 0
    starts = rng.permutation(-(-n // CHUNK)).astype(np.int64) * CHUNK
    return starts, CHUNK, int(rng.integers(n))


def run_epochs(
    state: SGDState, X: Any, y: np.ndarray, w: np.ndarray, options: SGDOptions, seed: Any, name: Any,
    validation_score: Any = None, users: np.ndarray | None = None,
) -> SGDState:  # fmt: skip
    """Run epochs until nothing improves; `validation_score(state)` is judged instead of the loss.

    `users` are the numbers of the rows in the user's table, for those who watch.
    """
    parts, flag = parts_of(X), StopFlag()
    recorder, watch = Recorder("epochs", options.epochs), None
    if recorder.watched and users is not None:
        by_mistakes, averaged = options.loss == "perceptron", options.average_from > 0
        watch = WatchedEpochs(recorder, y, users, by_mistakes, averaged)
        watch.begin(state)
    n, eta0, best, waited = len(y), options.eta0, np.inf, 0
    state.status = Status("ok", f"All {options.epochs} epochs were run.")
    for epoch in range(1, options.epochs + 1):
        flag.check()
        order = (np.zeros(1, dtype=np.int64), n, 0)
        if options.shuffle:
            order = shuffled(parallel.stream(seed, "epoch", name, epoch), n)
        if watch is not None:
            run = partial(_run_watched, options, eta0, parts, y, w)
            watch.epoch(state.copied(), order, epoch, run)
        loss = _run(options, eta0, parts, y, w, state, order)
        recorder.report(iteration=epoch, objective=loss)
        state.history.append((loss, state.scalars[MISTAKES], state.scalars[LAST_STEP]))
        if not np.isfinite(loss) or not np.abs(state.v).max(initial=0.0) < TOO_LARGE:
            state.status = _diverged(epoch)
            state.v[:] = np.nan_to_num(state.v, nan=0.0, posinf=TOO_LARGE, neginf=-TOO_LARGE)
            break
        if options.stop_without_mistakes and state.scalars[MISTAKES] == 0:
            state.status = Status("converged", f"Epoch {epoch} made no mistake.")
            break
        if options.tol is None:
            continue
        value = -validation_score(state) if validation_score is not None else loss
        waited = waited + 1 if value > best - options.tol else 0
        best = min(best, value)
        if waited < options.patience:
            continue
        if options.schedule == "adaptive" and eta0 > 1e-6:
            eta0, waited = eta0 / 5, 0
            continue
        state.status = Status("converged", f"{options.patience} epochs brought no improvement.")
        break
    else:
        if options.tol is not None:
            state.status = Status(
                "max_iter",
                f"The loss was still falling after {options.epochs} epochs.",
                "Increase max_iter.",
            )
    if watch is not None:
        watch.end(state, epoch)
    return state


def _given(
    options: SGDOptions, eta0: float, parts: tuple[np.ndarray, ...], y: np.ndarray, w: np.ndarray,
    state: SGDState, order: Order,
) -> tuple[Any, ...]:  # fmt: skip
    """The arguments of `_loops.epoch`."""
    return (
        *parts, y, w, *order, state.v, state.q, state.mean, state.scalars, LOSSES[options.loss],
        options.epsilon, options.alpha, options.l1_share, options.rate, SCHEDULES[options.schedule],
        eta0, options.power, options.t0, options.intercept, options.average_from,
    )  # fmt: skip


def _run(*given: Any) -> float:
    """One epoch: the mean loss."""
    return parallel.interruptible(loops.epoch, *_given(*given))


def _run_watched(
    options: SGDOptions, eta0: float, parts: tuple[np.ndarray, ...], y: np.ndarray, w: np.ndarray,
    state: SGDState, order: Order, most_mistakes: int,
) -> float:  # fmt: skip
    """Some rows of an epoch, up to a number of mistakes: the loss of the last row."""
    given = (*_given(options, eta0, parts, y, w, state, order), True, most_mistakes)
    short = len(order[0]) <= SHORT
    return loops.epoch(*given) if short else parallel.interruptible(loops.epoch, *given)


def mean_loss(options: SGDOptions, X: Any, y: np.ndarray, w: np.ndarray, state: SGDState) -> float:
    """Weighted mean loss of a regression, summed block by block."""
    total = 0.0
    for rows in blocks_of(X):
        distance = np.abs(y[rows] - X[rows] @ state.coef - state.intercept)
        with np.errstate(over="ignore"):
            total += float(w[rows] @ REGRESSION_LOSSES[options.loss](distance, options.epsilon))
    return total / float(w.sum())


def _diverged(epoch: int) -> Status:
    return Status(
        "diverged",
        f"The coefficients diverged in epoch {epoch}.",
        "Standardise the columns (standardize=True), or lower eta0.",
    )


def learned_from(states: list[SGDState], averaged: bool, source: str) -> dict[str, Any]:
    """Learned attributes, one row per problem, and the arrays from which `partial_fit` continues.

    The status is that of a problem that failed, else of one with mistakes in its last epoch, else of
    the one that took longest.
    """
    averaged = averaged and states[0].scalars[N_AVERAGED] > 0
    coef, mean = np.stack([one.coef for one in states]), np.stack([one.mean for one in states])
    last = np.array([one.intercept for one in states])
    worst = max(
        states, key=lambda one: (not one.status.ok, one.scalars[MISTAKES] > 0, len(one.history))
    )
    for one in states:
        one.scalars[SCALE] = 1.0  # `standard_coef_` has it already
    return {
        "coef_": np.ascontiguousarray(mean[:, :-1]) if averaged else coef.copy(),
        "intercept_": mean[:, -1].copy() if averaged else last,
        "n_iter_": max(len(one.history) for one in states),
        "t_": float(states[0].scalars[STEPS]),
        "standard_coef_": coef,
        "pulled_": np.stack([one.q for one in states]),
        "averaged_": mean,
        "walk_": np.stack([one.scalars for one in states]),
        "history_": _joint_history(states, source),
        "status_": worst.status,
    }


def _joint_history(states: list[SGDState], source: str) -> dict[str, np.ndarray]:
    """One history of all problems: losses and mistakes are added up, epoch by epoch."""
    longest = max(len(one.history) for one in states)
    with unwatched():  # each epoch has been reported already
        recorder = Recorder(source, longest)
    for epoch in range(longest):
        rows = [one.history[min(epoch, len(one.history) - 1)] for one in states if one.history]
        recorder.add(
            iteration=epoch + 1,
            objective=float(sum(row[0] for row in rows)),
            mistakes=float(sum(row[1] for row in rows)),
            learning_rate=float(rows[0][2]),
        )
    return recorder.history()
