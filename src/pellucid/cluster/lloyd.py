"""Lloyd's iterations: label the rows, move every centre to the mean of its rows, repeat.

Invariant: after every iteration the sums of each cluster are exact to about 30 digits, in whatever
order rows joined and left it; therefore centres do not depend on threads or blocks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.cluster import _groups, _layouts, _loops, _sums
from pellucid.cluster.row_distances import RowTable, pack
from pellucid.parallel.shard import shard
from pellucid.records import Recorder, Solution, Status

# Distances between all pairs of centres are computed only if they cost less than this share of a
# pass over the rows.
PAIRS_SHARE = 1 / 20


@dataclass
class State:
    """The state of the iterations: centres, labels, bounds on distances, sums of the clusters."""

    C: np.ndarray  # (k, d) centres
    labels: np.ndarray  # int32, -1 before the first pass
    upper: np.ndarray  # upper bounds on the distance of each row to its own centre
    lower: np.ndarray  # lower bounds for other centres (`_loops.Pass`); by panel (n, P) for "elkan"
    shift: np.ndarray  # (k,) distance that each centre moved in the last iteration
    way: np.ndarray  # (k,) sum of these distances over all iterations
    # (k,) `way` plus, per iteration, the largest distance that another centre moved.
    travel: np.ndarray
    high: np.ndarray  # (k, d + 1) weighted sums of the rows, and of the weights
    low: np.ndarray  # the rounding errors of `high`

    @classmethod
    def start(cls, table: RowTable, C: np.ndarray, by_panel: bool) -> "State":
        n, (k, d) = table.n, C.shape
        labels = np.full(n, -1, dtype=np.int32)
        upper, lower = np.full(n, np.inf), np.full((n, -(-k // 4)) if by_panel else n, -np.inf)
        (shift, way, travel), (high, low) = np.zeros((3, k)), np.zeros((2, k, d + 1))
        return cls(C, labels, upper, lower, shift, way, travel, high, low)


class Lloyd:
    """One run of k-means from given centres.

    1. Give every row the label of its nearest centre. A row is skipped if the bounds on its
       distances, updated by how far the centres moved, show that its label cannot change: one lower
       bound for all other centres (Hamerly 2010), or with `by_panel` one for every four centres
       (after Elkan 2003).
    2. Update the sums of the clusters with the rows whose labels changed.
    3. Fill empty clusters with the rows farthest from their centres.
    4. Move the centres to the means.
    5. Stop if no label changed, or if the centres moved by at most `tol` (sum of squares).
    """

    def __init__(
        self,
        table: RowTable,
        weights: np.ndarray,
        max_iter: int,
        tol: float,
        by_panel: bool = False,
        hashes: np.ndarray | None = None,
    ) -> None:
        self.table, self.weights, self.by_panel, self.hashes = table, weights, by_panel, hashes
        self.max_iter, self.tol = max_iter, tol
        self.stop = parallel.StopFlag()

    def solve(self, C: np.ndarray) -> Solution:
        """Iterate from C; the solution is (centres, labels, inertia)."""
        state = State.start(self.table, C, self.by_panel)
        recorder = Recorder("k-means", self.max_iter)
        base, converged = (0.0, 0.0), False
        recorder.step(0, lambda: self._shown(state), {"kind": "start"}, _sentence)
        for iteration in range(1, self.max_iter + 1):
            moved = self.assign(state)  # 1, 2
            taken = _sums.explained(state.C, state.high, state.low)
            if iteration == 1:
                base = (self.inertia(state) + taken[0], taken[1])
            objective = (base[0] - taken[0]) + (base[1] - taken[1])
            self.move(state)  # 3, 4
            squared = float((state.shift**2).sum())
            recorder.add(
                iteration=iteration, objective=max(objective, 0.0), moved=moved, shift=squared,
                state=lambda: self._shown(state), sentence=_sentence,
                event=partial(self._event, state, moved),
            )  # fmt: skip
            if moved == 0 or squared <= self.tol:  # 5
                converged = True
                break
        if moved:
            self.assign(state)  # so that the labels belong to the final centres
        x = (state.C, state.labels, self.inertia(state))
        status = Status("converged", "The labels or the centers no longer change.")
        if not converged:
            status = Status(
                "max_iter",
                f"max_iter={self.max_iter} was not enough: the centers still move.",
                "Increase max_iter or tol.",
            )
        return Solution(x, status, recorder.history(), iteration)

    def _shown(self, state: State) -> dict[str, Any]:
        """What those who watch see; `KMeans` converts it to learned attributes."""
        inertia = self.inertia(state) if state.labels[0] >= 0 else np.nan
        return {"C": state.C, "labels": state.labels, "inertia": inertia}

    def _event(self, state: State, moved: int) -> dict[str, Any]:
        """What happened: how many rows changed their cluster, and the weight of each cluster."""
        sizes = np.bincount(state.labels, self.weights, minlength=len(state.C))
        return {"kind": "moved", "moved": moved, "sizes": sizes}

    def assign(self, state: State) -> int:
        """Label all rows and update the sums; returns the number of rows whose labels changed."""
        k, d = state.C.shape
        centres, half, drift = _layouts.Centres(state.C), np.zeros(k), np.empty(-(-k // 4))
        _sums.reach(state.shift, state.way, state.travel, drift)
        if 1 < k <= PAIRS_SHARE * self.table.n:
            _sums.half_distances(state.C, pack(state.C), half)
        margin = (d + 8) * np.finfo(float).eps
        near = half * (1.0 - 4.0 * margin) - state.way * (1.0 + 4.0 * margin)

        def one_block(block: slice) -> tuple[int, np.ndarray]:
            sums = np.zeros((2, k, d + 1))
            one = (_groups.GroupPass if self.by_panel else _loops.Pass)(
                self.table.loop_rows(block), self.weights[block], centres, state.way,
                state.travel, near, state.labels[block], state.upper[block],
                None if self.by_panel else state.lower[block], *sums,
            )  # fmt: skip
            if isinstance(one, _groups.GroupPass):
                one.bind(state.lower[block], state.shift, drift, half)
                one.run_groups(self.stop.array)
            else:
                self.table.run(one, block, state.C, self.stop)
            return one.moved, sums

        parts = self.table.each(one_block)
        self.stop.check()
        return sum(self._merge(state, found) for found in _of_all(parts))

    def _merge(self, state: State, found: tuple[int, np.ndarray]) -> int:
        moved, (high, low) = found
        if moved:
            _sums.merge(state.high, state.low, high, low)
        return moved

    def move(self, state: State) -> None:
        """Move the centres to the means of their rows; stores how far each moved, rounded up."""
        C, sums = np.empty_like(state.C), (state.high, state.low)
        if _sums.means(*sums, state.C, C, state.shift):
            empty = np.flatnonzero(~(state.high[:, -1] + state.low[:, -1] > 0.0))
            _sums.means(*self.refill(state, empty), state.C, C, state.shift)
        state.C = C

    def refill(self, state: State, empty: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums in which the rows farthest from their centres are moved to the empty clusters.

        The farthest row comes first; ties go in row order. Labels do not change until the next pass.
        Rows that lie on their centre are not moved.
        """
        high, low = state.high.copy(), state.low.copy()
        squared = self.table.own_distances(state.C, state.labels)
        farthest = np.argsort(-squared, kind="stable")[: empty.size]
        own = [self._moving(state, i, squared[i]) for i in farthest[squared[farthest] > 0.0]]
        # Of several processes: the farthest of all, ties in the order of hashes.
        every = parallel.everywhere(own, lambda a, b: sorted(a + b, key=lambda row: row[:2]))
        for j, (_, _, old, row) in zip(empty, every):
            _sums.merge(
                high[old : old + 1], low[old : old + 1], -row[None], np.zeros((1, len(row)))
            )
            high[j], low[j] = row, 0.0
        return high, low

    def _moving(self, state: State, i: int, squared: float) -> tuple[float, int, int, np.ndarray]:
        """What `refill` needs of a row: its order among others, its label, and its weighted cells."""
        row = self.table.rows(slice(i, i + 1))
        row = np.append(row.toarray() if self.table.sparse else row, 1.0) * self.weights[i]
        place = i if self.hashes is None else self.hashes[i]
        return -float(squared), int(place), int(state.labels[i]), row

    def inertia(self, state: State) -> float:
        """Weighted sum of squared distances of the rows to the centres of their labels."""
        own = float(self.table.own_distances(state.C, state.labels) @ self.weights)
        return parallel.everywhere(own, add)


def _of_all(parts: list[tuple[int, np.ndarray]]) -> list[tuple[int, np.ndarray]]:
    """What the blocks add to the clusters: of this process, or one sum for each that shares rows."""
    if shard() is None:
        return parts
    (high, low), moved = np.zeros((2, *parts[0][1].shape[1:])), 0
    for more, sums in parts:
        moved += more
        _sums.merge(high, low, *sums)
    return parallel.everywhere([(moved, np.stack([high, low]))], add)


def _sentence(event: Mapping[str, Any], numbers: dict[str, float]) -> str:
    from pellucid.draw import number

    if event["kind"] == "start":
        return "The starting centers."
    head, inertia = f"Iteration {int(numbers['iteration'])}", number(numbers["objective"], 5)
    if event["moved"] == 0:
        return f"{head}: no row changes its cluster, so the centers stay; the inertia is {inertia}."
    one = event["moved"] == 1
    changed = "1 row changes its" if one else f"{event['moved']} different rows change their"
    return (
        f"{head}: {changed} cluster, and every center moves to the mean of its rows; the inertia "
        f"before the move is {inertia}."
    )
