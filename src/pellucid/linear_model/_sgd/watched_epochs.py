"""The steps of stochastic gradient descent, for those who watch.

An epoch is one compiled call. When somebody watches, its rows are run once more in pieces on a copy of
the coefficients, which gives the coefficients after the rows (of a perceptron: mistakes) that are kept.

Invariant: what the fit computes does not change. The states within an epoch agree with it up to
rounding, and every epoch begins at the coefficients of the fit.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pellucid.linear_model._sgd.sgd_state import LAST_STEP, MISTAKES, STEPS, SGDState
from pellucid.records import Recorder

Order = tuple[np.ndarray, int, int]
Run = Callable[[SGDState, np.ndarray, int], float]  # rows, most mistakes -> loss of the last row


class WatchedEpochs:
    """Records one problem with targets y (-1 or 1, or numbers).

    `by_mistakes` counts steps by mistakes instead of rows; `users` are the numbers of the rows in the
    user's table.
    """

    def __init__(
        self,
        recorder: Recorder,
        y: np.ndarray,
        users: np.ndarray,
        by_mistakes: bool,
        averaged: bool,
    ) -> None:
        self.recorder, self.y, self.users = recorder, y, users
        self.by_mistakes, self.averaged = by_mistakes, averaged
        self.ahead = 0  # rows, or mistakes, up to the next step that is recorded
        self.mistakes = 0

    def begin(self, state: SGDState) -> None:
        """The coefficients before the first step."""
        self.recorder.step(self._number(state), self._state(state), {"epoch": 0}, "The start.")
        self.ahead = self.recorder.skip()

    def epoch(self, state: SGDState, order: Order, number: int, run: Run) -> None:
        """Record the steps of one epoch; `state` is a copy of the coefficients before it,
        which changes."""
        rows = _rows(order, len(self.y))
        at = 0
        while at < len(rows):
            part = rows[at:] if self.by_mistakes else rows[at : at + self.ahead]
            before = state.scalars[STEPS]
            loss = run(state, part, self.ahead if self.by_mistakes else 0)
            done, made = int(state.scalars[STEPS] - before), int(state.scalars[MISTAKES])
            at, self.mistakes = at + done, self.mistakes + made
            self.ahead -= made if self.by_mistakes else done
            if self.ahead == 0:
                self._record(state, number, int(part[done - 1]), loss)
                self.ahead = self.recorder.skip()

    def end(self, state: SGDState, number: int) -> None:
        """The coefficients after the last epoch."""
        sentence = f"Epoch {number} was the last one."
        self.recorder.step(self._number(state), self._state(state), {"epoch": number}, sentence)

    def _number(self, state: SGDState) -> int:
        return self.mistakes if self.by_mistakes else int(state.scalars[STEPS]) - 1

    def _state(self, state: SGDState) -> dict[str, Any]:
        coef, intercept = state.result(self.averaged)
        return {"coef": coef, "intercept": intercept}

    def _record(self, state: SGDState, epoch: int, row: int, loss: float) -> None:
        k, rate, user = self._number(state), float(state.scalars[LAST_STEP]), int(self.users[row])
        sentence = _update if self.by_mistakes else _step
        event = {"epoch": epoch, "row": user, "target": float(self.y[row])}
        self.recorder.step(k, self._state(state), event, sentence, loss=loss, learning_rate=rate)


def _rows(order: Order, n: int) -> np.ndarray:
    """The rows of an order of `_loops`: runs of neighbours, all of them moved on by the first row."""
    starts, run, first = order
    rows = (starts[:, None] + np.arange(run)).ravel()
    return (rows[rows < n] + first) % n


def _step(event: Mapping[str, Any], numbers: dict[str, float]) -> str:
    k, loss, rate = (numbers[name] for name in ("iteration", "loss", "learning_rate"))
    where = f"(epoch {event['epoch']}): row {event['row']}"
    return f"Step {k:.0f} {where}, loss {loss:.4g}, step size {rate:.3g}."


def _update(event: Mapping[str, Any], numbers: dict[str, float]) -> str:
    where = f"(epoch {event['epoch']}): row {event['row']}"
    return f"Update {numbers['iteration']:.0f} {where} was misclassified."
