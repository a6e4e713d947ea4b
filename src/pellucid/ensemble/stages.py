"""Ensembles after each of their base estimators: staged predictions, and steps for `watching`.

A class that uses the functions as methods writes `_staged(encoded rows)`, which gives what `_proba` or
`_predict` would return after each base estimator. Invariant: the last stage is the prediction.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from pellucid import default_scores
from pellucid.data.opening import opened
from pellucid.ensemble.out_of_bag import OutOfBag
from pellucid.records import Recorder

ROW_NUMBERS = 2**23  # numbers of rows that the events of a watched fit keep


def staged_predict_proba(self: Any, X: Any) -> Iterator[np.ndarray]:
    """`predict_proba` after each base estimator."""
    for found in self._staged(self._encoded(X)):
        yield self._finite(found)


def staged_labels(self: Any, X: Any) -> Iterator[np.ndarray]:
    """`predict` after each base estimator."""
    for found in self.staged_predict_proba(X):
        yield self.classes_[found.argmax(axis=1)]


def staged_numbers(self: Any, X: Any) -> Iterator[np.ndarray]:
    """`predict` after each base estimator."""
    for found in self._staged(self._encoded(X)):
        found = self._finite(found)
        yield found[:, 0] if found.shape[1] == 1 else found


def staged_score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
    """`score` after each base estimator."""
    X, y, sample_weight = opened(X, y, sample_weight)
    score = default_scores.accuracy_of if "classes_" in vars(self) else default_scores.r2_of
    for predicted in self.staged_predict(X):
        yield score(type(self).__name__, predicted, y, sample_weight)


def running_means(predictions: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """The mean of the first k predictions, for k = 1, 2, ..., added up in their order."""
    total: Any = None
    for k, found in enumerate(predictions, 1):
        total = found.copy() if total is None else total + found
        yield total / k


class Progress:
    """Counts the base estimators that are fitted, from any thread, for `watching(progress=...)`."""

    def __init__(self, source: str, done: int, total: int) -> None:
        self._recorder, self._done, self._lock = Recorder(source, total), done, threading.Lock()

    def __call__(self, count: int = 1) -> None:
        with self._lock:
            self._done += count
            self._recorder.add(iteration=self._done)


def sampled_rows(n: int, rounds: int) -> np.ndarray | None:
    """Rows whose numbers are kept for each of the rounds: an even sample if all take too much memory;
    None for all."""
    most = max(ROW_NUMBERS // max(rounds, 1), 2)
    return None if n <= most else np.unique(np.linspace(0, n - 1, most).round().astype(np.int64))


def record(
    source: str,
    first: int,
    states: Callable[[int], dict[str, Any]],
    events: Callable[[int], dict[str, Any]],
    count: int,
    out_of_bag: OutOfBag | None,
) -> None:
    """Record the ensemble after each base estimator from number `first` on, of `count`.

    `states(k)` and `events(k)` belong to the ensemble of k base estimators.
    """
    recorder = Recorder(source, count)
    errors = None if out_of_bag is None else out_of_bag.errors()
    regression = out_of_bag is not None and out_of_bag.problem.classes is None
    words = partial(_sentence, " of the variance" if regression else "")
    for k in range(first + 1, count + 1):
        numbers = {} if errors is None else {"oob_error": next(errors)}
        recorder.step(k, partial(states, k), partial(events, k), words, **numbers)


def _sentence(unit: str, event: Mapping[str, Any], numbers: dict[str, float]) -> str:
    from pellucid.draw import number

    error = numbers.get("oob_error", np.nan)
    text = f"{event['name']} {event['round']}"
    if "leaves" in event:
        text += f" with {event['leaves']} {'leaf' if event['leaves'] == 1 else 'leaves'}"
    text += " joins the ensemble"
    if np.isnan(error):
        return f"{text}."
    return f"{text}; the out-of-bag error is {number(error, 4)}{unit}."


def without_estimates(model: Any, whole: bool) -> Any:
    """The model of a step: out-of-bag estimates belong to the whole ensemble alone."""
    for name in [name for name in vars(model) if name.startswith("oob_") and name.endswith("_")]:
        if not whole:
            del vars(model)[name]
    return model
