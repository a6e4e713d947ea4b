"""One step of a watched fit: made from what a solver hands over, when it is kept.

Invariant: a step shares no array with the fit that it was recorded from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

State = Mapping[str, Any]
Facts = tuple[dict[str, Any], dict[str, Any]]  # state and event
Convert = Callable[[State], State]
Lazy = State | Callable[[], State] | None
Words = str | Callable[[State, dict[str, float]], str] | None


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a watched fit.

    `fit` is its position in `watch.fits` and `source` the class; `state` has the learned attributes
    after the step by their own names, on the original scale; `numbers` has the objective and other
    measurements; `event` has the facts of what happened; `sentence` says it in words (`words` is the
    text, or what makes it when it is read). `facts` are state and event, or what makes both when one
    of them is read; `held` are the bytes that this keeps in memory.
    """

    fit: int
    source: str
    iteration: int
    numbers: dict[str, float]
    facts: Facts | Callable[[], Facts] = field(repr=False)
    words: Words = field(repr=False)
    held: int = field(default=0, repr=False)

    @cached_property
    def _read(self) -> Facts:
        return self.facts() if callable(self.facts) else self.facts

    @property
    def state(self) -> dict[str, Any]:
        """The learned attributes after the step."""
        return self._read[0]

    @property
    def event(self) -> dict[str, Any]:
        """The facts of what happened."""
        return self._read[1]

    @property
    def n_bytes(self) -> int:
        """Bytes of state and event, about, or of what makes them when they are read."""
        return self.held if callable(self.facts) else size_of(self.facts)

    @cached_property
    def sentence(self) -> str:
        """What happened, with its numbers."""
        if isinstance(self.words, str):
            return self.words
        numbers = {"iteration": self.iteration, **self.numbers}
        return (self.words or _sentence)(self.event, numbers)


@dataclass(frozen=True)
class Entry:
    """One step before its state and its event are computed; `converts` apply from left to right.

    derived: state and event are functions of what never changes again, so they can wait to be read;
    `held` are the bytes of what they keep.
    """

    iteration: int
    numbers: dict[str, float]
    state: Lazy
    event: Lazy
    words: Words
    converts: tuple[Convert, ...]
    derived: bool = False
    held: int = 0

    def computed(self, fit: int, source: str) -> Step:
        facts = self.facts if self.derived else self.facts()
        return Step(fit, source, self.iteration, self.numbers, facts, self.words, self.held)

    def facts(self) -> Facts:
        state: State = (self.state() if callable(self.state) else self.state) or {}
        for convert in self.converts:
            state = convert(state)
        event = dict((self.event() if callable(self.event) else self.event) or {})
        return {name: copied(value) for name, value in state.items()}, event


def entry_of(step: Step) -> Entry:
    return Entry(step.iteration, step.numbers, step.state, step.event, step.words, ())


def copied(value: Any) -> Any:
    """A copy that later iterations do not change; objects other than arrays are never changed."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list):
        return [entry if type(entry) is float else copied(entry) for entry in value]
    return np.float64(value) if type(value) is float else value  # as in a fitted model


def size_of(value: Any) -> int:
    """Bytes of a state, about; objects shared by the states of an ensemble count as one pointer."""
    kind = type(value)  # exact types: abstract ones take longer than the copy
    if kind is np.ndarray:
        return int(value.nbytes)
    if kind is dict:
        return sum(map(size_of, value.values()))
    if kind is list or kind is tuple:
        return sum(map(size_of, value))
    return 64


def same(a: Any, b: Any) -> bool:
    """Equal to the bit."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return bool(np.array_equal(a, b)) if a.dtype == object else a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(np.isscalar(a) and np.isscalar(b) and (a == b or (a != a and b != b)))


# What sentences call some numbers.
_WORDS = {"nonzero": "nonzero coefficients", "gap": "duality gap"}


def _sentence(event: State, numbers: dict[str, float]) -> str:
    """ "Iteration 3: objective 12.1, gradient norm 0.2." """
    from pellucid.draw import number

    parts = [
        f"{_WORDS.get(name, name.replace('_', ' '))} {number(value, 4)}"
        for name, value in numbers.items()
        if name != "iteration" and value == value
    ]
    head = f"Iteration {int(numbers['iteration'])}"
    return f"{head}: {', '.join(parts)}." if parts else f"{head}."
