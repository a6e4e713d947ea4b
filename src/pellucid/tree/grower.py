"""Growing one exact tree from arrays, alone or in forests, bagging and AdaBoost.

Gradient boosting grows its trees from histograms instead (`histogram_grower`).

1. Rows of weight 0 leave the sorted lists; the target is brought to a safe scale.
2. The trunk: nodes with many rows are split one after the other, columns in parallel.
3. The branches: a node with few rows is a task, its whole subtree grows in one thread.
   With `max_leaf_nodes` the nodes are split in the order of what they save instead, one by one.
4. Trunk and branches become one `Nodes`.

Invariant: which nodes are trunk depends on their rows alone, so bits are equal for any threads.
"""

import heapq
import math
from dataclasses import dataclass

import numpy as np

from pellucid import parallel
from pellucid.tree._grower import Workspace
from pellucid.tree._node_buffer import NodeBuffer
from pellucid.tree._presort import keep_rows, survey
from pellucid.tree.criteria import CRITERIA, POWERS, number_of
from pellucid.tree.nodes import Nodes, Scale, assemble
from pellucid.tree.presort import Presorted
from pellucid.tree.stopping import Limits, Rules

BRANCH_ROWS = 2**14  # of a node that grows in one thread, at most
BRANCH_CELLS = 2**19  # of such a node: threads hold copies of them
SHARED = 4  # times as many rows: trees of a common table up to which they share its lists
CHUNK = 2**16  # cells that are worth a thread's attention
TASKS = 8  # of one node where rows are not sorted by column
LOG_TABLE = 2**22  # entropy of integer weights is looked up to this total weight


@dataclass(frozen=True, slots=True)
class GrowthConfig:
    """What a `Workspace` grows trees from: the table, the target, the order of the rows, the rules."""

    table: Presorted
    criterion: int  # as `criteria.number_of` numbers them
    rules: Rules
    stop: np.ndarray  # int32 (1,), of a `parallel.StopFlag`
    n_classes: int  # 0: numbers
    n_targets: int
    labels: np.ndarray | None  # int32 (n,), for classes
    target: np.ndarray | None  # float64 (n * n_targets,), for numbers, in growing units
    lists: np.ndarray  # int32 (d, m), sorted rows
    weights: np.ndarray | None = None  # float64 (n,), None: all 1
    packed: np.ndarray | None = None  # uint16 (n,), class + 4 * weight where both are small
    k_log_k: np.ndarray | None = None  # float64, for entropy of integer weights
    # int32 (n,), ranks of the rows by target, for absolute errors.
    target_places: np.ndarray | None = None
    places: np.ndarray | None = None  # int32 (n, d), where a value stands in the lists
    members: np.ndarray | None = None  # int32, rows of the tree; None: the lists are partitioned
    signs: np.ndarray | None = None  # int8 (d,), of monotone constraints
    spare: list | None = None  # scratch memory that trees hand on to each other


def grow(
    table: Presorted,
    y: np.ndarray,
    weights: np.ndarray | None,
    criterion: str,
    limits: Limits,
    n_classes: int = 0,
    key: int = 0,
    n_jobs: int | None = None,
    count_rows: bool = False,
    consume: bool = False,
) -> Nodes:
    """Grow a tree; y int32 codes below n_classes, or float64 (n,) or (n, targets); weights None or
    >= 0.

    `key` (uint64) drives the random choices that `limits` ask for. Samples are counted by weight if
    all weights are integers, unless `count_rows`: then every row counts once. With `consume` the
    table's order is used up, which saves a copy.
    """
    w, w_exponent, counts, all_rows, packable = _weights(weights, count_rows)  # 1
    total = float(table.n if w is None else (w if table.rows is None else w[table.rows]).sum())
    target, scale = scaled_target(y, w, n_classes, counts, w_exponent, criterion, table.rows)
    lists, places, members = _rows(table, None if all_rows else w, limits, consume, n_jobs)
    stop = parallel.StopFlag()
    work = Workspace(
        GrowthConfig(
            table=table,
            criterion=number_of(criterion, scale.n_targets),
            rules=limits.rules(
                counts, total, w_exponent, scale.power * scale.exponent, scale.n_targets
            ),
            stop=stop.array,
            n_classes=n_classes,
            n_targets=scale.n_targets,
            labels=np.ascontiguousarray(y, dtype=np.int32) if n_classes else None,
            target=target,
            lists=lists,
            weights=w,
            packed=_packed(y, w, n_classes) if packable else None,
            k_log_k=class_logs(criterion, counts, total),
            target_places=_places(target, table.rows) if criterion == "absolute_error" else None,
            places=places,
            members=members,
            signs=limits.sign_array(),
            spare=None if members is None else table.spare,
        )
    )
    parts, attach = _parts(work, table, limits, key, n_jobs, stop, members is None)  # 2, 3
    stop.check()
    return assemble(parts, attach, table.n_levels, scale, y, limits.signs is not None)  # 4


def _parts(
    work: Workspace, table: Presorted, limits: Limits, key: int, n_jobs: int | None,
    stop: parallel.StopFlag, lists: bool,
) -> tuple[list[NodeBuffer], list[int]]:  # fmt: skip
    """Trunk and branches, and the nodes of the trunk at which the branches grow."""
    trunk = work.root(key)
    most = branch_rows(table.d)
    start, end, stopped = trunk.segment(0)[:3]
    if limits.max_leaf_nodes is None and end - start <= most:
        if not stopped:
            work.subtree(trunk)
        return [trunk], []
    splitter = Splitter(work, table.d, limits.max_features, n_jobs, lists)
    if limits.max_leaf_nodes is not None:
        return [trunk], _best_first(splitter, trunk, limits.max_leaf_nodes, stop)
    attach = _trunk(splitter, trunk, most, stop)  # 2
    branches = [work.branch(trunk, node) for node in attach]
    parallel.map(work.subtree, branches, n_jobs=n_jobs)  # 3
    return [trunk, *branches], attach


class Splitter:
    """Splits nodes of a workspace one at a time, all threads on one node.

    Invariant: the best split of a column depends on the node's rows alone, and columns are compared
    in their order; the chunks of columns that threads take change nothing.
    """

    def __init__(self, work, d: int, max_features: int, n_jobs: int | None, lists: bool) -> None:
        self.work, self.d, self.n_jobs, self.lists = work, d, n_jobs, lists
        self.drawn = max_features < d
        self.splits = np.zeros((d, work.split_bytes()), dtype=np.uint8)

    def _chunks(self, rows: int) -> list[tuple[int, int]]:
        # Members are gathered once per chunk: few chunks, but enough to share out.
        least = 1 if self.lists else -(-self.d // TASKS)
        step = max(least, min(self.d, CHUNK // max(rows, 1)))
        return [(f, min(f + step, self.d)) for f in range(0, self.d, step)]

    def search(self, buffer, node: int, rows: int) -> bool:
        """Find the best split of a node; False if it stays a leaf."""
        if self.drawn:
            self.work.search_drawn(buffer, node, self.splits)
        else:
            known = np.full(1, np.inf)
            parallel.map(
                lambda c: self.work.search(buffer, node, c[0], c[1], self.splits, known),
                self._chunks(rows),
                n_jobs=self.n_jobs,
            )
        return self.work.choose(buffer, node, self.splits)

    def split(self, buffer, node: int, rows: int) -> tuple[int, int]:
        """Make the two children of a node whose split was found."""
        if not self.work.split(buffer, node) and self.lists:
            parallel.map(
                lambda c: self.work.partition(buffer, node, c[0], c[1]),
                self._chunks(rows),
                n_jobs=self.n_jobs,
            )
        return buffer.segment(node)[4:6]


def branch_rows(d: int) -> int:
    """Most rows of a node of d columns that grows in one thread."""
    return min(BRANCH_ROWS, max(BRANCH_CELLS // d, 2**11))


def _weights(
    weights: np.ndarray | None, count_rows: bool
) -> tuple[np.ndarray | None, int, bool, bool, bool]:
    """(weights / 2**exponent, or None if all are 1; exponent; do samples count by weight; have all
    rows some; are they integers below 256).

    Integers stay as they are, because their sums are exact; others are brought near 1, so that
    products of sums neither overflow nor vanish.
    """
    if weights is None:
        return None, 0, True, True, True
    w = np.ascontiguousarray(weights, dtype=np.float64)
    ones, all_rows, integers, most = survey(w)
    if ones:
        return None, 0, True, True, True
    if integers and float(w.sum()) < 2**53:
        return w, 0, not count_rows, all_rows, most < 256
    exponent = math.frexp(most)[1]
    return np.ldexp(w, -exponent), exponent, False, all_rows, False


def searches_few_columns(limits: Limits, d: int) -> bool:
    """Whether nodes search so few of the columns that partitioning every list is not worth it."""
    return 5 * limits.max_features <= d or limits.drawn_splits


def _rows(
    table: Presorted, w: np.ndarray | None, limits: Limits, consume: bool, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """(lists, places, members), see `_row_order`; places and members are None if the lists are
    to be partitioned with the nodes. `w` is None if all rows have weight. Which way is taken changes
    no split."""
    if table.binned is not None:
        return table.order, None, table.members(w)
    if searches_few_columns(limits, table.d) or (limits.max_depth == 1 and w is None):
        table = table.placed(n_jobs)
        return table.order, table.places, table.members(w)
    small = table.order.shape[1] <= SHARED * branch_rows(table.d)
    if small and not consume and limits.max_leaf_nodes is None:
        return table.order, None, table.members(w)
    if w is None:
        return table.order if consume else table.order.copy(), None, None
    wanted = (w > 0).astype(np.uint8)
    lists = np.empty((table.d, int(wanted.sum())), dtype=np.int32)
    keep_rows(table.order, wanted, lists)
    return lists, None, None


def _places(target: np.ndarray | None, rows: np.ndarray | None) -> np.ndarray:
    """Place of every row in the order of the target, of equal ones in their order."""
    assert target is not None
    places = np.empty(len(target), dtype=np.int32)
    order = np.argsort(target if rows is None else target[rows], kind="stable")
    places[order if rows is None else rows[order]] = np.arange(len(order), dtype=np.int32)
    return places


def scaled_target(
    y: np.ndarray, w: np.ndarray | None, n_classes: int, counts: bool, w_exponent: int,
    criterion: str, rows: np.ndarray | None = None,
) -> tuple[np.ndarray | None, Scale]:  # fmt: skip
    """A numerical target is scaled by a power of two, so its squares stay finite, and centred for
    them; medians must be values of the target, and deviances need its origin. Sums go over `rows`."""
    if n_classes:
        return None, Scale(True, counts, w_exponent)
    y = np.asarray(y, dtype=np.float64)
    used = y if w is None else y[w > 0]
    if y.ndim == 2:
        return _scaled_targets(y, used, w, counts, w_exponent, criterion, rows)
    half = float(np.abs(used).max()) / 2
    exponent = math.frexp(half)[1] if half > 0 else 0
    small = np.ldexp(y, -exponent)
    if criterion != "squared_error":
        return small, Scale(False, counts, w_exponent, 0.0, exponent, POWERS[criterion])
    if rows is None:
        shift = float(np.average(small, weights=w))
    else:
        shift = float(np.average(small[rows], weights=None if w is None else w[rows]))
    centred = small - shift
    return centred, Scale(False, counts, w_exponent, float(np.ldexp(shift, exponent)), exponent)


def _scaled_targets(
    y: np.ndarray, used: np.ndarray, w: np.ndarray | None, counts: bool, w_exponent: int,
    criterion: str, rows: np.ndarray | None,
) -> tuple[np.ndarray, Scale]:  # fmt: skip
    """The same for several targets (n, q), flat: all have one unit; for squared errors each is
    centred."""
    half = float(np.abs(used).max()) / 2
    exponent = math.frexp(half)[1] if half > 0 else 0
    small = np.ldexp(y, -exponent)
    some, own = (small, w) if rows is None else (small[rows], None if w is None else w[rows])
    shift = np.average(some, axis=0, weights=own) * (criterion == "squared_error")
    units = (w_exponent, np.ldexp(shift, exponent), exponent, POWERS[criterion], y.shape[1])
    return (small - shift).ravel(), Scale(False, counts, *units)


def _packed(y: np.ndarray, w: np.ndarray | None, n_classes: int) -> np.ndarray | None:
    """class + 4 * weight of every row: four classes and integer weights below 256 fit 16 bits."""
    if not 0 < n_classes <= 4:
        return None
    weight = np.uint16(1) if w is None else w.astype(np.uint16)
    return y.astype(np.uint16) + np.uint16(4) * weight


def class_logs(criterion: str, counts: bool, total: float) -> np.ndarray | None:
    """k log2 k for k = 0, 1, ..., total."""
    if CRITERIA[criterion] != CRITERIA["entropy"] or not counts or total > LOG_TABLE:
        return None
    k = np.arange(int(total) + 1, dtype=np.float64)
    return k * np.log2(np.maximum(k, 1.0))


def _trunk(splitter: Splitter, trunk, most: int, stop: parallel.StopFlag) -> list[int]:
    """Split the nodes with many rows; the nodes at which branches grow."""
    waiting, attach = [0], []
    while waiting:
        stop.check()
        node = waiting.pop()
        start, end, stopped = trunk.segment(node)[:3]
        if stopped:
            continue
        if end - start <= most:
            attach.append(node)
        elif splitter.search(trunk, node, end - start):
            waiting += splitter.split(trunk, node, end - start)
    return attach


def _best_first(splitter: Splitter, trunk, max_leaves: int, stop: parallel.StopFlag) -> list[int]:
    """Split the node that saves most until there are `max_leaves` leaves; ties to the older."""
    waiting: list[tuple[float, int]] = []

    def consider(node: int) -> None:
        start, end, stopped = trunk.segment(node)[:3]
        if not stopped and splitter.search(trunk, node, end - start):
            heapq.heappush(waiting, (-trunk.segment(node)[3], node))

    consider(0)
    leaves = 1
    while waiting and leaves < max_leaves:
        stop.check()
        node = heapq.heappop(waiting)[1]
        start, end = trunk.segment(node)[:2]
        for child in splitter.split(trunk, node, end - start):
            consider(child)
        leaves += 1
    for _, node in waiting:
        trunk.close(node)
    return []
