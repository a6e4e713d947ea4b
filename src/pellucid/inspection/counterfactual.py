"""Counterfactuals: the smallest changes of a row that change the prediction.

Invariant: every returned row was predicted again and reaches the target; every changed cell is one
that occurs in the training rows; and no part of its changes reaches the target alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pellucid.data.intake import is_frame
from pellucid.draw.label_text import clean
from pellucid.draw.number import number
from pellucid.errors import DataError, ParameterError, shown
from pellucid.inspection.cells import Cells
from pellucid.inspection.goal import Goal, goal_of
from pellucid.model_selection.rows import taken
from pellucid.parameters import Integer
from pellucid.records.frames import frame

VALUES = 32  # of a column that are tried at first
NEARER = 64  # values of a column that are tried between the old and the new one
STATES = 20_000  # rows that are predicted per number of changed columns
ALIKE = 3  # states of the same columns that are extended

# The changes of a row: (column, row of X from which its cell is taken), in the order of the columns.
State = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Counterfactual:
    """A changed row that has another prediction.

    Attributes
    ----------
    row : position among the explained rows.
    changes : column -> (old cell, new cell).
    before, prediction : the predictions of the row and of the changed row.
    distance : sum over the changed columns of |difference| / standard deviation; 1 for a level.
    table : the changed row as a table of one row, in the container of X.
    """

    row: int
    changes: dict[str, tuple[Any, Any]]
    before: Any
    prediction: Any
    distance: float
    table: Any

    def __str__(self) -> str:
        changes = ", ".join(
            f"{clean(name, 60)} from {_shown(old)} to {_shown(new)}"
            for name, (old, new) in self.changes.items()
        )
        return (
            f"Row {self.row}: changing {changes} changes the prediction from {_shown(self.before)} to "
            f"{_shown(self.prediction)} (distance {number(self.distance, 3)})."
        )


@dataclass(frozen=True)
class Counterfactuals:
    """The result of `counterfactuals`: a sequence of `Counterfactual`.

    Attributes
    ----------
    found : the counterfactuals of all rows; of each row, the fewest columns and the nearest first.
    before : the prediction of each row.
    reached : per row whether it reaches the target without a change.
    max_columns : the largest number of columns that may be changed.
    """

    found: tuple[Counterfactual, ...]
    before: tuple[Any, ...]
    reached: tuple[bool, ...]
    max_columns: int

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Counterfactual]:
        return iter(self.found)

    def __getitem__(self, i: int) -> Counterfactual:
        return self.found[i]

    def frame(self, backend: str | None = None) -> Any:
        """One line per changed column.

        Parameters
        ----------
        backend : None for a dict of lists, "pandas", "polars" or "arrow".
        """
        lines = []
        numbers: dict[int, int] = {}
        for one in self.found:
            numbers[one.row] = k = numbers.get(one.row, -1) + 1
            for name, (old, new) in one.changes.items():
                lines.append((one.row, k, name, old, new, one.before, one.prediction, one.distance))
        heads = ("row", "number", "column", "from", "to", "before", "prediction", "distance")
        columns: dict[str, list[Any]] = {
            head: [line[i] for line in lines] for i, head in enumerate(heads)
        }
        if backend is not None:  # cells of different columns have different types
            texts = {k: [_shown(v) for v in columns[k]] for k in ("from", "to")}
            columns |= texts
        return frame(columns, backend)

    def __str__(self) -> str:
        lines = [str(one) for one in self.found]
        without = sorted(set(range(len(self.before))) - {one.row for one in self.found})
        lines += [self._without(i) for i in without]
        return "\n".join(lines)

    def _without(self, i: int) -> str:
        before = f"Row {i}: the prediction {_shown(self.before[i])}"
        if self.reached[i]:
            return f"{before} reaches the target without a change."
        return (
            f"{before} stays in all changes that were tried, of at most {self.max_columns} columns to "
            "values of X."
        )


def _shown(value: Any) -> str:
    return "missing" if value is None else clean(number(value), 60)


def counterfactuals(
    estimator: Any,
    rows: Any,
    X: Any,
    *,
    target: Any = None,
    n: int = 3,
    max_columns: int = 3,
    fixed: Iterable[Any] = (),
) -> Counterfactuals:
    """What would change the answer: the fewest columns, and the nearest values, that change it.

    1. Try every value of every column alone.
    2. While there are fewer than n changes, add one more column to the changes that came nearest to
       the target, or to all if these are few.
    3. Move each new value as near to the old one as the target allows, and undo unneeded changes.

    New values are cells of X, so no column leaves its range. The search is deterministic. It tries
    all pairs of values for few columns, and the most promising ones for many.

    Parameters
    ----------
    estimator : a fitted estimator with `predict`
    rows : the rows to change, as a table with the columns of X, or the position of a row of X
    X : the training rows, whose cells are the possible values
    target : for a classifier the wanted class, None for any other class. For a regression a number
        that the prediction must cross, or (low, high) that it must reach; None for an open end
    n : number of counterfactuals of each row, each of other columns
    max_columns : largest number of columns that are changed together
    fixed : columns that must not change

    Examples
    --------
    >>> from pellucid.tree import DecisionTreeClassifier
    >>> X = [[1.0, 5.0], [2.0, 6.0], [8.0, 5.0], [9.0, 6.0]]
    >>> model = DecisionTreeClassifier().fit(X, ["low", "low", "high", "high"])
    >>> found = counterfactuals(model, [[2.0, 5.0]], X)
    >>> found[0].changes, found[0].prediction
    ({'x0': (2, 8)}, 'high')
    """
    for name, value in (("n", n), ("max_columns", max_columns)):
        if not Integer(1).accepts(value):
            raise ParameterError(f"{name} must be an int >= 1. Got {shown(value)} instead.")
    known = Cells(X)
    cells = _stacked(known, rows)
    free = sorted(set(range(len(known.names))) - set(known.positions(fixed)))
    found, goals = [], []
    for position in range(known.n, cells.n):
        goal = goal_of(estimator, cells.composed(np.array([position]), {}), target)
        search = _Search(known, cells, position, free, goal)
        goals.append(goal)
        found += search.run(n, max_columns)
    before, reached = [g.before for g in goals], [g.reached_before for g in goals]
    return Counterfactuals(tuple(found), tuple(before), tuple(reached), max_columns)


def _stacked(known: Cells, rows: Any) -> Cells:
    """The cells of X with the explained rows below; spreads and levels are those of X."""
    if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool):
        if not -known.n <= rows < known.n:
            raise ParameterError(f"X has {known.n} rows, but no row {rows}.")
        rows = taken(known.X, np.array([int(rows) % known.n]))
    if is_frame(known.X):
        if not is_frame(rows):
            raise DataError(
                "rows must be a table with the columns of X, such as X.iloc[[0]], or a position."
            )
        from pellucid.data.dataframes import stacked

        whole = stacked(known.X, rows)
    else:
        rows = np.asarray(rows, dtype=object if known.X.dtype == object else None)
        rows = rows.reshape(1, -1) if rows.ndim == 1 else rows
        if rows.ndim != 2 or rows.shape[1] != len(known.names):
            raise DataError(
                f"rows has shape {rows.shape}, but X has {len(known.names)} columns. Give a table of "
                "rows."
            )
        whole = np.concatenate([known.X, rows])
    cells = Cells(whole)
    cells.spreads = known.spreads
    return cells


class _Search:
    """The search for changes of one row."""

    def __init__(
        self, known: Cells, cells: Cells, position: int, free: list[int], goal: Goal
    ) -> None:
        self.cells, self.position, self.goal = cells, position, goal
        self.row = position - known.n
        self._distances: dict[tuple[int, int], float] = {}
        self.observed = {j: self._other(j, known.observed(j)) for j in free}
        self.values = {j: _spaced(known, j, rows) for j, rows in self.observed.items()}

    def _other(self, j: int, rows: np.ndarray) -> np.ndarray:
        """Rows whose cell differs from that of the explained row."""
        return rows[self.cells.distance(j, self.position, rows) > 0]

    def run(self, n: int, max_columns: int) -> list[Counterfactual]:
        if self.goal.reached_before:
            return []
        singles: list[State] = [((j, int(r)),) for j, rows in self.values.items() for r in rows]
        solved: dict[frozenset[int], State] = {}
        states, kept = singles, singles
        for size in range(1, max_columns + 1):
            hits = self._hits(states)
            for state in (s for s, hit in zip(states, hits) if hit):
                self._keep(solved, state)
            missed = [s for s, hit in zip(states, hits) if not hit]
            kept = missed if size == 1 else kept
            if len(solved) >= n or size == max_columns or not missed:
                break
            states = self._extended(missed, kept, set(solved))
        return self._best(list(solved.values()), n)

    def _keep(self, solved: dict[frozenset[int], State], state: State) -> None:
        """The nearest state of each set of columns."""
        columns = frozenset(j for j, _ in state)
        if columns not in solved or self._rank(state) < self._rank(solved[columns]):
            solved[columns] = state

    def _rank(self, state: State) -> tuple[int, float, State]:
        return len(state), self._distance(state), state

    def _distance(self, state: State) -> float:
        return sum(self._cell_distance(change) for change in state)

    def _cell_distance(self, change: tuple[int, int]) -> float:
        if change not in self._distances:
            j, r = change
            self._distances[change] = float(self.cells.distance(j, self.position, r))
        return self._distances[change]

    def _table(self, states: list[State]) -> Any:
        base = np.full(len(states), self.position)
        columns: dict[int, np.ndarray] = {}
        for i, state in enumerate(states):
            for j, r in state:
                columns.setdefault(j, base.copy())[i] = r
        return self.cells.composed(base, columns)

    def _hits(self, states: list[State]) -> list[bool]:
        """Whether each state reaches the target."""
        hits: list[bool] = self.goal.hits(self._table(states)).tolist() if states else []
        return hits

    def _extended(
        self, missed: list[State], singles: list[State], solved: set[frozenset[int]]
    ) -> list[State]:
        """The most promising states with one more column; supersets of solutions are left out."""
        most = max(1, STATES // max(len(singles), 1))
        if len(missed) > most:
            progress = dict(zip(missed, self.goal.progress(self._table(missed)).tolist()))
            missed = sorted(missed, key=lambda state: (-progress[state], self._rank(state)))
            missed = _varied(missed, most)
        found: dict[State, None] = {}
        for state in missed:
            columns = {j for j, _ in state}
            for single in singles:
                new = frozenset(columns | {single[0][0]})
                if len(new) > len(columns) and not any(part <= new for part in solved):
                    found[tuple(sorted((*state, *single)))] = None
        return list(found)

    def _best(self, states: list[State], n: int) -> list[Counterfactual]:
        """Step 3 for the nearest states, then the n nearest of different columns."""
        final: dict[frozenset[int], State] = {}
        for state in sorted(states, key=self._rank)[: 3 * n]:
            self._keep(final, self._reduced(self._nearer(state)))
        chosen = sorted(final.values(), key=self._rank)[:n]
        return [self._record(state) for state in chosen]

    def _nearer(self, state: State) -> State:
        """Each number moved towards the old one as far as the target allows."""
        for k, (j, r) in enumerate(state):
            rows = self.observed[j]
            codes = self.cells.codes[j]
            old, new = codes[self.position], codes[r]
            if not self.cells.is_number(j) or np.isnan(old):
                continue
            between = rows[(codes[rows] - old) * (codes[rows] - new) < 0]
            steps = np.linspace(0, len(between) - 1, min(NEARER, len(between)))
            tried = [
                (*state[:k], (j, int(b)), *state[k + 1 :])
                for b in between[np.rint(steps).astype(int)]
            ]
            hits = self._hits(tried)
            state = min(
                (s for s, hit in zip(tried, hits) if hit), key=self._distance, default=state
            )
        return state

    def _reduced(self, state: State) -> State:
        """The fewest of these changes that reach the target."""
        parts = [part for k in range(1, len(state)) for part in combinations(state, k)]
        hits = self._hits(parts)
        return min((s for s, hit in zip(parts, hits) if hit), key=self._rank, default=state)

    def _record(self, state: State) -> Counterfactual:
        cells, table = self.cells, self._table([state])
        changes = {
            cells.names[j]: (cells.cell(j, self.position), cells.cell(j, r)) for j, r in state
        }
        after = self.goal.value(table)
        return Counterfactual(
            self.row, changes, self.goal.before, after, self._distance(state), table
        )


def _spaced(known: Cells, j: int, rows: np.ndarray) -> np.ndarray:
    """At most `VALUES` of the distinct cells: quantiles of numbers with both ends, frequent levels."""
    if len(rows) <= VALUES:
        return rows
    codes = known.codes[j]
    if known.is_number(j):
        ordered = np.sort(codes[~np.isnan(codes)])
        places = np.linspace(0, len(ordered) - 1, VALUES).round().astype(int)
        return rows[np.isin(codes[rows], ordered[places])]
    counts = np.array([(codes == codes[r]).sum() for r in rows])
    return rows[np.sort(np.argsort(-counts, kind="stable")[:VALUES])]


def _varied(ranked: list[State], most: int) -> list[State]:
    """The first `most`, with at most `ALIKE` of the same columns while others are left."""
    seen: dict[frozenset[int], int] = {}
    first: list[State] = []
    later: list[State] = []
    for state in ranked:
        columns = frozenset(j for j, _ in state)
        seen[columns] = seen.get(columns, 0) + 1
        (first if seen[columns] <= ALIKE else later).append(state)
    return (first + later)[:most]
