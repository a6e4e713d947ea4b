"""The steps of stochastic gradient descent, for those who watch.

An epoch is one compiled call. When somebody watches, its rows are run once more in pieces on a copy of
the coefficients, which gives the coefficients after each row, or of a perceptron after each mistake.

Invariant: what the fit computes does not change. The states within an epoch agree with it up to
rounding, and every epoch begins at the coefficients of the fit.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.data.row_view import RowView
from pellucid.linear_model._sgd.sgd_state import LAST_STEP, MISTAKES, STEPS, SGDState
from pellucid.records import Recorder

Order = tuple[np.ndarray, int, int]
Run = Callable[[SGDState, Any, np.ndarray, np.ndarray, Order], float]


class WatchedEpochs:
    """Records one problem: rows X, targets y (-1 or 1, or numbers) and weights w.

    `run` runs an epoch over some rows; `by_mistakes` counts steps by mistakes instead of rows; `users`
    are the numbers of the rows in the user's table.
    """

    def __init__(
        self, recorder: Recorder, X: Any, y: np.ndarray, w: np.ndarray, users: np.ndarray,
        by_mistakes: bool, averaged: bool,
    ) -> None:  # fmt: skip
        self.recorder, self.X, self.y, self.w, self.users = recorder, X, y, w, users
        self.by_mistakes, self.averaged = by_mistakes, averaged
        self.ahead = 0  # rows, or mistakes, up to the next step that is recorded
        self.mistakes = 0

    def begin(self, state: SGDState) -> None:
        """The coefficients before the first step."""
        self.recorder.step(self._number(state), self._state(state), {"epoch": 0}, "The start.")
        self.ahead = self.recorder.skip()

    def epoch(self, state: SGDState, order: Order, number: int, run: Run) -> None:
        """Record the steps of one epoch; `state` is a copy of the coefficients before it."""
        rows = _rows(order, len(self.y))
        at, length = 0, 1
        while at < len(rows):
            length = min(length if self.by_mistakes else self.ahead, len(rows) - at)
            part = rows[at : at + length]
            trial = state.copied()
            loss = run(trial, _taken(self.X, part), self.y[part], self.w[part], _in_order(part))
            made = int(trial.scalars[MISTAKES])
            passed = made if self.by_mistakes else length
            if passed > self.ahead or (made == self.ahead and self.by_mistakes and length > 1):
                length //= 2  # the mistake to record must be the last row of the part
                continue
            state, at, self.ahead = trial, at + length, self.ahead - passed
            self.mistakes += made
            if self.ahead == 0:
                self._record(state, number, int(part[-1]), loss)
                self.ahead, length = self.recorder.skip(), 1
            else:
                length *= 2

    def end(self, state: SGDState, number: int) -> None:
        """The coefficients after the last epoch."""
        said = f"Epoch {number} was the last one."
        self.recorder.step(self._number(state), self._state(state), {"epoch": number}, said)

    def _number(self, state: SGDState) -> int:
        return self.mistakes if self.by_mistakes else int(state.scalars[STEPS]) - 1

    def _state(self, state: SGDState) -> dict[str, Any]:
        coef, intercept = state.result(self.averaged)
        return {"coef": coef, "intercept": intercept}

    def _record(self, state: SGDState, epoch: int, row: int, loss: float) -> None:
        k, rate, user = self._number(state), float(state.scalars[LAST_STEP]), int(self.users[row])
        said = f"Step {k} (epoch {epoch}): row {user}, loss {loss:.4g}, step size {rate:.3g}."
        if self.by_mistakes:
            said = f"Update {k} (epoch {epoch}): row {user} was misclassified."
        event = {"epoch": epoch, "row": user, "target": float(self.y[row])}
        self.recorder.step(k, self._state(state), event, said, loss=loss, learning_rate=rate)


def _rows(order: Order, n: int) -> np.ndarray:
    """The rows of an order of `_loops`: runs of neighbours, all of them moved on by the first row."""
    starts, run, first = order
    rows = (starts[:, None] + np.arange(run)).ravel()
    return (rows[rows < n] + first) % n


def _in_order(part: np.ndarray) -> Order:
    return np.zeros(1, dtype=np.int64), len(part), 0


def _taken(X: Any, rows: np.ndarray) -> Any:
    return X.table[X.places[rows]] if isinstance(X, RowView) else X[rows]
