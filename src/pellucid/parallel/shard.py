"""Rows that several processes share: each runs the same fit on its own rows and exchanges sums.

Invariant: a process holds whole groups of 2**16 rows of the table, in ascending order, and every process
goes through the same exchanges in the same order. Sums over rows are folded along a tree of row numbers
(`Tree`), in one process as in many, so their bits do not depend on who holds which rows.
"""

import contextlib
from bisect import bisect_right
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
    """Some rows of a table of `total` rows, and how to reach the others.

    runs : (first, last + 1) of consecutive rows, ascending; no run begins where another ends. The rows
        of this process are those of all runs, one after the other.
    gather : called with a label and a value in every process at the same point of the fit, gives the
        values of all processes, in the order of the first rows that they hold.
    """

    runs: tuple[tuple[int, int], ...]
    total: int
    threads: int
    gather: Callable[[str, Any], list[Any]]

    @property
    def first(self) -> int:
        """The first row."""
        return self.runs[0][0]

    def holds(self, level: int, row: int) -> bool:
        """Whether all rows of the node of a level around `row` are here."""
        if level == len(LEVELS):
            return False
        begin = row >> LEVELS[level] << LEVELS[level]
        end = min(begin + 2 ** LEVELS[level], self.total)
        run = self.runs[max(bisect_right(self.runs, begin, key=lambda run: run[0]) - 1, 0)]
        return run[0] <= begin and end <= run[1]

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Numbers in the whole table of rows of this process, given by position."""
        starts = np.array([first for first, _ in self.runs])
        ends = np.cumsum([last - first for first, last in self.runs])
        run = np.searchsorted(ends, rows, side="right")
        return rows - np.append(0, ends)[run] + starts[run]


def unit_rows(total: int, parts: int) -> int:
    """Rows that one process holds together: a group, or in large tables a node of the second level.

    >>> unit_rows(200_000, 2), unit_rows(10**10, 100)
    (65536, 4194304)
    """
    return 2 ** LEVELS[1] if total >= 8 * parts * 2 ** LEVELS[1] else GROUP


def runs_of(units: list[int], unit: int, total: int) -> tuple[tuple[int, int], ...]:
    """(first, last + 1) of the rows of ascending units, neighbours together.

    >>> runs_of([0, 1, 3], 65536, 200_000)
    ((0, 131072), (196608, 200000))
    """
    runs: list[tuple[int, int]] = []
    for number in units:
        first, last = number * unit, min((number + 1) * unit, total)
        begin = runs.pop()[0] if runs and runs[-1][1] == first else first
        runs.append((begin, last))
    return tuple(runs)


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
    pieces = [piece for own in here.gather(label, tree.pieces) for piece in own]
    for row, level, part in sorted(pieces, key=lambda piece: piece[0]):
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
