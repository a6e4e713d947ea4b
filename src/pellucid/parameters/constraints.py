"""What values a parameter accepts: the check, its error text and its short form for help.

A constraint has `accepts(value)`, `str()` for messages ("a float in the range [0, inf)") and
`brief()` for signatures in docstrings ("float in [0, inf)").
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pellucid.errors import ParameterError, shown


class Constraint:
    """Base of all constraints. Plain classes: data classes take much longer to import."""

    def accepts(self, value: Any) -> bool:
        """Whether a parameter may have this value."""
        raise NotImplementedError

    def brief(self) -> str:
        """The type in help, such as "float in [0, inf)"."""
        raise NotImplementedError

    def __or__(self, other: "Constraint | None") -> "Either":
        return Either(self, other)

    def __ror__(self, other: None) -> "Either":
        return Either(other, self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, vars(self).values()))})"


class Real(Constraint):
    """A real number between `low` and `high`; `closed` in {"both", "left", "right", "neither"}."""

    def __init__(
        self, low: float | None = None, high: float | None = None, closed: str = "left"
    ) -> None:
        self.low, self.high, self.closed = low, high, closed

    def accepts(self, value: Any) -> bool:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
            return False
        if isinstance(value, np.complexfloating):
            return False
        try:
            return _inside(float(value), self)
        except OverflowError:  # an int beyond the largest float
            return False

    def __str__(self) -> str:
        return f"a float in the range {_interval(self)}"

    def brief(self) -> str:
        return "float" if self.low is self.high is None else f"float in {_interval(self)}"


class Integer(Constraint):
    """An integer between `low` and `high`, both included."""

    def __init__(self, low: int | None = None, high: int | None = None) -> None:
        self.low, self.high = low, high

    def accepts(self, value: Any) -> bool:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            return False
        low, high = self.low is None or value >= self.low, self.high is None or value <= self.high
        return bool(low and high)

    def _range(self) -> str:
        low = "-inf" if self.low is None else self.low
        high = "inf" if self.high is None else self.high
        return f"[{low}, {high}{')' if self.high is None else ']'}"

    def __str__(self) -> str:
        return f"an int in the range {self._range()}"

    def brief(self) -> str:
        return "int" if self.low is self.high is None else f"int in {self._range()}"


class Choice(Constraint):
    """One of a few words (or None, or numbers), equal in type and value."""

    def __init__(self, *options: Any) -> None:
        self.options = options

    def accepts(self, value: Any) -> bool:
        value = value.item() if isinstance(value, np.generic) else value
        return any(type(value) is type(option) and value == option for option in self.options)

    def __str__(self) -> str:
        words = ", ".join(map(repr, self.options))
        return words if len(self.options) == 1 else f"one of {{{words}}}"

    def brief(self) -> str:
        return str(self).removeprefix("one of ")


class Predicate(Constraint):
    """Any value that a function accepts; `words` describe it, `short` in help if they are long."""

    def __init__(self, predicate: Callable[[Any], bool], words: str, short: str = "") -> None:
        self.predicate, self.words, self.short = predicate, words, short

    def accepts(self, value: Any) -> bool:
        return bool(self.predicate(value))

    def __str__(self) -> str:
        return self.words

    def brief(self) -> str:
        return self.short or self.words.removeprefix("a ").removeprefix("an ")


class Either(Constraint):
    """Any of several constraints, written `None | Integer(1)`."""

    def __init__(self, *parts: Constraint | None) -> None:
        own = [getattr(part, "parts", (part or Nothing,)) for part in parts]
        self.parts: tuple[Constraint, ...] = sum(own, ())

    def accepts(self, value: Any) -> bool:
        return any(part.accepts(value) for part in self.parts)

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))

    def brief(self) -> str:
        *most, last = sorted((part.brief() for part in self.parts), key=lambda one: one == "None")
        return f"{', '.join(most)} or {last}"


class Ignored(Constraint):
    """A parameter that is accepted for compatibility and has no effect, and the reason why."""

    def __init__(self, reason: str, check: Constraint) -> None:
        self.reason, self.check = reason, check

    def accepts(self, value: Any) -> bool:
        return self.check.accepts(value)

    def __str__(self) -> str:
        return str(self.check)

    def brief(self) -> str:
        return self.check.brief()


def _inside(value: float, interval: Real) -> bool:
    if np.isnan(value):
        return False
    low = -np.inf if interval.low is None else interval.low
    high = np.inf if interval.high is None else interval.high
    above = value >= low if interval.closed in ("both", "left") else value > low
    below = value <= high if interval.closed in ("both", "right") else value < high
    # An open end without a bound does not include infinity itself.
    ends = ("both", "right") if value > 0 else ("both",)
    return above and below and (bool(np.isfinite(value)) or interval.closed in ends)


def _interval(interval: Real) -> str:
    left = "[" if interval.closed in ("both", "left") and interval.low is not None else "("
    right = "]" if interval.closed in ("both", "right") else ")"
    low = "-inf" if interval.low is None else interval.low
    high = "inf" if interval.high is None else interval.high
    return f"{left}{low}, {high}{right}"


def _is_random_state(value: Any) -> bool:
    kinds = (np.random.RandomState, np.random.Generator, np.random.SeedSequence)
    return value is None or isinstance(value, kinds) or Integer(0, 2**32 - 1).accepts(value)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | list | tuple) or hasattr(value, "__array__")


Boolean = Predicate(lambda v: isinstance(v, bool | np.bool_), "a bool")
Nothing = Choice(None)
RandomState = Predicate(
    _is_random_state,
    "None, an int in [0, 2**32), or a numpy.random generator",
    "int in [0, 2**32), numpy.random generator or None",
)
Function = Predicate(callable, "a callable")
Array = Predicate(_is_array, "an array-like")
Jobs = None | Predicate(lambda v: Integer().accepts(v) and v != 0, "an int other than 0")
EstimatorInstance = Predicate(
    lambda v: hasattr(v, "fit") and hasattr(v, "get_params") and not isinstance(v, type),
    "an estimator (an instance, not a class)",
)
TableOptions = Predicate(
    lambda v: v is None or (hasattr(v, "check") and hasattr(v, "kinds")),
    "None or a pellucid.Table",
    "pellucid.Table or None",
)
Verbose = Boolean | Integer(0)
ClassWeight = (
    Predicate(lambda v: isinstance(v, dict), "a dict {label: weight}") | Choice("balanced") | None
)


def check(owner: str, values: dict[str, Any], table: Mapping[str, Constraint]) -> None:
    """Raise a `ParameterError` for the first value that its constraint does not accept."""
    for name, constraint in table.items():
        if name in values and not constraint.accepts(value := values[name]):
            raise ParameterError(
                f"The {name!r} parameter of {owner} must be {constraint}. Got {shown(value)} instead."
            )


_PLAIN = frozenset({str, int, float, bool, type(None)})
_MOST = 256  # combinations of values that are remembered for a class


def check_again(
    owner: str, values: dict[str, Any], table: Mapping[str, Constraint], accepted: set[Any]
) -> None:
    """`check`, unless the same plain values are among those `accepted` before."""
    given = [values.get(name) for name in table]
    kinds = tuple(map(type, given))
    key = (kinds, *given) if _PLAIN.issuperset(kinds) else None
    if key is not None and key in accepted:
        return
    check(owner, values, table)
    if key is not None and len(table.keys() & values.keys()) == len(given):
        if len(accepted) >= _MOST:
            accepted.clear()
        accepted.add(key)


def number_list(owner: str, name: str, values: Any, each: Real) -> np.ndarray:
    """A parameter that is a number or lists some, as a vector; `each` must accept all of them."""
    try:
        found = np.asarray(values, dtype=float).ravel()
    except (TypeError, ValueError):
        found = np.empty(0)
    if not len(found) or not all(map(each.accepts, found.tolist())):
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be numbers, each {each}. Got {shown(values)} "
            "instead."
        )
    return found
