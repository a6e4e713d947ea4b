"""Stochastic gradient descent for linear models: epochs, steps, stopping, averaging.

Each binary problem, and each regression, has an `SGDState` of its own. With more than two classes
there is one problem per class, that class against all others.

Invariant: the order of the rows in an epoch depends on the seed and the problem alone, so the number
of threads does not change the result.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.row_view import RowView, blocks_of
from pellucid.linear_model._sgd import _loops
from pellucid.linear_model._sgd.sgd_state import MISTAKES, N_AVERAGED, SCALE, STEPS, SGDState
from pellucid.linear_model._sgd.watched_epochs import WatchedEpochs
from pellucid.numerics.simd import fastest
from pellucid.parallel import StopFlag
from pellucid.records import Recorder, Status, thinned

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
SHORT = 2**19  # cells whose epochs need no thread that can be interrupted: a direct call
BATCH = 32  # epochs of one call at most
CHUNK = 128  # rows in a run of neighbours, see `orders`
GOES_ON, DIVERGED, NO_MISTAKE, NO_IMPROVEMENT = range(4)  # what `_loops.epochs` says
Orders = tuple[np.ndarray, int, np.ndarray]


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


def orders(rng: np.random.Generator, n: int, epochs: int, shuffle: bool) -> Orders:
    """The order of the rows in each epoch, in the form of `_loops`: (starts, run length, first rows).

    Small tables have a permutation of all rows. Large tables have runs of neighbours in random order,
    which are faster to read. The neighbours are random, because rows are sorted by their hashes, and
    the runs begin at another row in each epoch.
    """
    if not shuffle:
        return np.zeros((epochs, 1), dtype=np.int64), n, np.zeros(epochs, dtype=np.int64)
    runs = n if n <= 64 * CHUNK else -(-n // CHUNK)
    starts = rng.permuted(np.tile(np.arange(runs), (epochs, 1)), axis=1)
    if runs == n:
        return starts, 1, np.zeros(epochs, dtype=np.int64)
    return starts * CHUNK, CHUNK, rng.integers(n, size=epochs)


def run_epochs(
    state: SGDState, X: Any, y: np.ndarray, w: np.ndarray, options: SGDOptions, seed: Any, name: Any,
    validation_score: Any = None, users: np.ndarray | None = None,
) -> SGDState:  # fmt: skip
    """Run epochs until nothing improves; `validation_score(state)` is judged instead of the loss.

    `users` are the numbers of the rows in the user's table, for those who watch. Epochs of small
    tables are run in batches; the order of the rows does not depend on who watches.
    """
    parts, flag = parts_of(X), StopFlag()
    recorder, watch = Recorder("epochs", options.epochs), None
    if recorder.watched and users is not None:
        by_mistakes, averaged = options.loss == "perceptron", options.average_from > 0
        watch = WatchedEpochs(recorder, y, users, by_mistakes, averaged)
        watch.begin(state)
    n, rule = len(y), np.array([np.inf, 0.0, options.eta0])
    rng, cells = parallel.stream(seed, "epochs", name), max(n * len(state.v), 1)
    batch = min(max(1, SHORT // cells), BATCH, options.epochs)
    one_by_one = recorder.reports or validation_score is not None
    epoch, code = 0, GOES_ON
    while epoch < options.epochs and code == GOES_ON:
        flag.check()
        starts, run, first = orders(rng, n, batch, options.shuffle)
        batch = min(batch, options.epochs - epoch)
        for at in range(0, batch, 1 if one_by_one else batch):
            many = slice(at, at + 1 if one_by_one else batch)
            order = (starts[many], run, first[many])
            if watch is not None:
                part = partial(_run_watched, options, float(rule[2]), parts, y, w)
                watch.epoch(state.copied(), (starts[at], run, int(first[at])), epoch + 1, part)
            judged = validation_score is None
            done, code, found = _run(options, rule, state, parts, y, w, order, judged)
            epoch += done
            state.history.extend(map(tuple, found.tolist()))
            recorder.report(iteration=epoch, objective=state.history[-1][0])
            if not judged and code == GOES_ON and options.tol is not None:
                code = _judged(options, rule, -validation_score(state))
            if code != GOES_ON:
                break
    state.status = _status(options, code, epoch)
    if code == DIVERGED:
        state.v[:] = np.nan_to_num(state.v, nan=0.0, posinf=TOO_LARGE, neginf=-TOO_LARGE)
    if watch is not None:
        watch.end(state, epoch)
    return state


def _judged(options: SGDOptions, rule: np.ndarray, value: float) -> int:
    """The rule of `_loops.epochs` for a value that is not the loss."""
    rule[1] = rule[1] + 1 if value > rule[0] - (options.tol or 0.0) else 0
    rule[0] = min(rule[0], value)
    if rule[1] < options.patience:
        return GOES_ON
    if options.schedule == "adaptive" and rule[2] > 1e-6:
        rule[2], rule[1] = rule[2] / 5, 0
        return GOES_ON
    return NO_IMPROVEMENT


def _status(options: SGDOptions, code: int, epoch: int) -> Status:
    if code == DIVERGED:
        return _diverged(epoch)
    if code == NO_MISTAKE:
        return Status("converged", f"Epoch {epoch} made no mistake.")
    if code == NO_IMPROVEMENT:
        return Status("converged", f"{options.patience} epochs brought no improvement.")
    if options.tol is None:
        return Status("ok", f"All {options.epochs} epochs were run.")
    still = f"The loss was still falling after {options.epochs} epochs."
    return Status("max_iter", still, "Increase max_iter.")


def _run(
    options: SGDOptions, rule: np.ndarray, state: SGDState, parts: tuple[np.ndarray, ...],
    y: np.ndarray, w: np.ndarray, order: Orders, judged: bool,
) -> tuple[int, int, np.ndarray]:  # fmt: skip
    """Epochs in these orders: how many were run, the rule that stopped them, and their history."""
    history = np.empty((len(order[0]), 3))
    tol = options.tol if judged and options.tol is not None else -1.0
    given = (
        *parts, y, w, *order, state.v, state.q, state.mean, state.scalars, LOSSES[options.loss],
        options.epsilon, options.alpha, options.l1_share, options.rate, SCHEDULES[options.schedule],
        options.power, options.t0, options.intercept, options.average_from, TOO_LARGE,
        options.stop_without_mistakes, tol, options.patience, rule, history,
    )  # fmt: skip
    short = len(y) * len(state.v) <= SHORT
    call = loops.epochs if short else partial(parallel.interruptible, loops.epochs)
    done, code = call(*given)
    return done, code, history[:done]


def _run_watched(
    options: SGDOptions, eta0: float, parts: tuple[np.ndarray, ...], y: np.ndarray, w: np.ndarray,
    state: SGDState, rows: np.ndarray, most_mistakes: int,
) -> float:  # fmt: skip
    """Some rows of an epoch, up to a number of mistakes: the loss of the last one."""
    given = (
        *parts, y, w, rows, state.v, state.q, state.mean, state.scalars, LOSSES[options.loss],
        options.epsilon, options.alpha, options.l1_share, options.rate, SCHEDULES[options.schedule],
        eta0, options.power, options.t0, options.intercept, options.average_from, most_mistakes,
    )  # fmt: skip
    short = len(rows) * len(state.v) <= SHORT
    call = loops.watched_rows if short else partial(parallel.interruptible, loops.watched_rows)
    return float(call(*given))


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


def learned_from(states: list[SGDState], averaged: bool) -> dict[str, Any]:
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
        "history_": _joint_history(states),
        "status_": worst.status,
    }


def _joint_history(states: list[SGDState]) -> dict[str, np.ndarray]:
    """One history of all problems: losses and mistakes are added up, epoch by epoch."""
    longest = max(len(one.history) for one in states)
    each = [np.array(one.history) for one in states if one.history]
    rows = [np.concatenate([part, np.tile(part[-1], (longest - len(part), 1))]) for part in each]
    total = sum(rows[1:], rows[0])
    return thinned(
        iteration=np.arange(1.0, longest + 1),
        objective=total[:, 0],
        mistakes=total[:, 1],
        learning_rate=rows[0][:, 2],
    )
