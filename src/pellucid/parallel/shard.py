"""Rows that several processes share: each runs the same fit on its own rows and exchanges sums.

Invariant: a process holds consecutive rows of the table, in whole groups of 2**16, and every process
goes through the same exchanges in the same order. Sums over rows are folded along a tree of row numbers
(`Tree`), in one process as in many, so their bits do not depend on who holds which rows.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

Value = TypeVar("Value")

# A node of the tree covers 2**16 rows (the largest block), 2**22 or 2**28; its parent has 64 of them.
LEVELS = (16, 22, 28)
GROUP = 2 ** LEVELS[0]  # rows that stay together
SUM = "sum of integers"  # values under this label may be added up on their way
_NOTHING: Any = object()


@dataclass(frozen=True)
class Shard:
    """The rows `first` to `last - 1` of a table of `total` rows, and how to reach the others.

    gather : called with a label and a value in every process at the same point of the fit, gives the
        values of all processes in the order of their rows.
    """

    first: int
    last: int
    total: int
    threads: int
    gather: Callable[[str, Any], list[Any]]

    def holds(self, level: int, row: int) -> bool:
        """Whether all rows of the node of a level around `row` are here."""
        if level == len(LEVELS):
            return False
        begin = row >> LEVELS[level] << LEVELS[level]
        end = min(begin + 2 ** LEVELS[level], self.total)
        return self.first <= begin and end <= self.last


def even_ends(total: int, parts: int) -> list[int]:
    """Ends of parts of `total` rows, at most `parts` of them, in whole groups.

    >>> even_ends(200_000, 2), even_ends(70_000, 8)
    ([0, 131072, 200000], [0, 65536, 70000])
    """
    parts = min(parts, -(-total // GROUP))
    unit = 2 ** LEVELS[1] if total >= 8 * parts * 2 ** LEVELS[1] else GROUP
    units = -(-total // unit)
    return [min(round(k * units / parts) * unit, total) for k in range(parts + 1)]


_here: ContextVar[Shard | None] = ContextVar("_here", default=None)


def shard() -> Shard | None:
    """The rows of this process, if other processes hold the rest of the table."""
    return _here.get()


@contextlib.contextmanager
def within(here: Shard | None) -> Iterator[None]:
    """Sums over rows inside are those of all processes; of this one alone for None."""
    token = _here.set(here)
    try:
        yield
    finally:
        _here.reset(token)


class Tree:
    """Folds parts in the order of their rows: blocks to groups, groups to larger ones, to the total.

    In a shard, nodes of which it holds all rows are folded; what belongs to others stays in `pieces`,
    (row, level of the parent, part), from which `add` in any process completes the same tree.
    """

    def __init__(self, combine: Callable[[Any, Any], Any], here: Shard | None = None) -> None:
        self.combine, self.here = combine, here
        self.open: list[Any] = [_NOTHING] * (len(LEVELS) + 1)
        self.row = 0
        self.pieces: list[tuple[int, int, Any]] = []

    def add(self, row: int, part: Any, level: int = 0) -> None:
        """The next part, whose first row is `row`: of a block, or of a node below `level`."""
        for k, shift in enumerate(LEVELS):
            if row >> shift != self.row >> shift:
                self._close(k)
        self.row = row
        self._put(level, part, row)

    def total(self) -> Any:
        """The fold of all parts; without what is in `pieces`."""
        for k in range(len(LEVELS)):
            self._close(k)
        return self.open[-1]

    def _close(self, level: int) -> None:
        part, self.open[level] = self.open[level], _NOTHING
        if part is not _NOTHING:
            self._put(level + 1, part, self.row >> LEVELS[level] << LEVELS[level])

    def _put(self, level: int, part: Any, row: int) -> None:
        if self.here is not None and not self.here.holds(level, row):
            self.pieces.append((row, level, part))
        elif self.open[level] is _NOTHING:
            self.open[level] = part
        else:
            self.open[level] = self.combine(self.open[level], part)


def fold_all(label: str, tree: Tree, combine: Callable[[Any, Any], Any], here: Shard) -> Any:
    """The total of all processes, of which `tree` has folded the rows of this one."""
    tree.total()
    whole = Tree(combine)
    for pieces in here.gather(label, tree.pieces):
        for row, level, part in pieces:
            whole.add(row, part, level)
    return whole.total()


def total_rows(n: int) -> int:
    """Rows of the whole table, of which `n` are in this process."""
    here = _here.get()
    return n if here is None else here.total


def everywhere(value: Value, combine: Callable[[Value, Value], Value]) -> Value:
    """A fact about the rows of this process as one of all rows; exact for max, min, or, and, union."""
    here = _here.get()
    if here is None:
        return value
    total, *others = here.gather("fact", value)
    for other in others:
        total = combine(total, other)
    return total


def added(values: np.ndarray) -> np.ndarray:
    """The sum of arrays of integers of all processes, which has no order."""
    here = _here.get()
    if here is None:
        return values
    total, *others = here.gather(SUM, values)
    for other in others:
        total = total + other
    return total


def any_row(found: Any) -> bool:
    """Whether something holds in any process."""
    return everywhere(bool(found), lambda a, b: a or b)


def all_rows(found: Any) -> bool:
    """Whether something holds in every process."""
    return everywhere(bool(found), lambda a, b: a and b)


def largest(value: Any) -> Any:
    """The largest value, or array of values, of all processes."""
    return value if _here.get() is None else everywhere(value, np.maximum)


def of_first_rows(make: Callable[[], Value]) -> Value:
    """What `make` finds in the process that holds the first rows of the table."""
    here = _here.get()
    if here is None:
        return make()
    with within(None):
        value = make() if here.first == 0 else None
    return here.gather("first rows", value)[0]
