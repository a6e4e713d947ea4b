"""Logistic regression with an L1 or elastic-net penalty: proximal Newton on a working set.

    F(B) = sum_i w_i loss(y_i, B x_i) + sum_j [ l1_j |b_j|_1 + l2_j |b_j|^2 / 2 ]

Two classes have one row of coefficients; more have one row each (scikit-learn's symmetric form).

Invariant: coefficients are returned on the original scale, and zeros are exact.
"""

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model._lasso.proximal_newton import FIRST_SET, SparseTask, proximal_newton
from pellucid.linear_model._lasso.quadratic_models import MOST_CELLS, Columns, RowCurvature
from pellucid.linear_model._logistic import _loops
from pellucid.linear_model._logistic.preparation import Setting, prepare_columns
from pellucid.linear_model._logistic.solver import Fitted
from pellucid.numerics.row_blocks import Rows, scaled_penalty
from pellucid.records import Recorder, Status, converting_x, unwatched

SAMPLE = 8  # large tables start from the solution of every 8th row
SAMPLED_ROWS = 4096
ACCURACY = 1e-10  # share of the gradient at 0 that may remain
PATH_RATIO, STAGE_STEPS = 10.0, 4  # ratio of the penalties on the way to a weak one; steps at each


@dataclass(frozen=True)
class Task(SparseTask):
    """The objective for scaled columns, as a function of coefficients (q, p + 1), intercept last."""

    X: Rows
    y: np.ndarray
    w: np.ndarray
    n_classes: int
    l1: np.ndarray
    l2: np.ndarray
    intercept: bool
    shift: np.ndarray | None

    @property
    def q(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    def penalty(self, B: np.ndarray) -> float:
        b = np.abs(B[:, :-1])
        return float((self.l1 * b).sum() + 0.5 * (self.l2 * b * b).sum())

    def evaluate(self, B: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The probabilities of the classes (n, q) are what is `seen`."""
        P = np.empty((self.X.n, self.q))

        def partial(rows: slice) -> tuple[float, np.ndarray]:
            block = self.block(rows)
            P[rows] = block @ B[:, :-1].T + B[:, -1]
            R = np.empty_like(P[rows])
            loss = _loops.class_losses(P[rows], self.y[rows], self.w[rows], self.q == 1, R)
            G = np.empty_like(B)
            G[:, :-1] = R.T @ block if isinstance(block, np.ndarray) else (block.T @ R).T
            G[:, -1] = R.sum(axis=0) if self.intercept else 0.0
            return loss, G

        loss, G = parallel.reduce(partial, lambda a, b: (a[0] + b[0], a[1] + b[1]), self.X.blocks)
        return loss, G, P

    @functools.cached_property
    def largest_curvature(self) -> np.ndarray:
        """Upper bounds of the curvature, sum_i w_i x_ij^2 / 4, of the columns and the intercept."""

        def partial(rows: slice) -> np.ndarray:
            block = self.block(rows)
            squares = block * block if isinstance(block, np.ndarray) else block.multiply(block)
            return np.asarray(squares.T @ self.w[rows]).ravel()

        squares = parallel.reduce(partial, np.ndarray.__iadd__, self.X.blocks)
        return np.append(squares, self.w.sum()) / 4

    @functools.cached_property
    def columns(self) -> Columns | None:
        """The table by columns; None if it is dense and too large for a second copy."""
        if not self.X.sparse and self.X.n * self.X.p > MOST_CELLS:
            return None
        return Columns.of(self.block(slice(None)))

    def row_curvature(self, P: np.ndarray) -> RowCurvature:
        return RowCurvature(self.w[:, None] * P, P)

    def curvature(self, P: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        width = self.X.p + 1
        cls, col = np.divmod(chosen, width)
        columns = np.unique(col[col < self.X.p])

        def partial(rows: slice) -> np.ndarray:
            table = _with_ones(self.block(rows)[:, columns])
            p, w = P[rows], self.w[rows]
            m = len(columns) + 1
            out = np.empty((self.q, self.q, m, m))
            for k in range(self.q):
                for l in range(k + 1):
                    c = w * p[:, k] * ((1 - p[:, k]) if k == l else -p[:, l])
                    out[k, l] = _gram(table, np.sqrt(np.abs(c)))
                    out[k, l] *= 1.0 if k == l else -1.0
                    out[l, k] = out[k, l]
            return out

        if self.X.sparse and self.shift is None:  # few products: one block is fastest
            H = partial(slice(None))
        else:
            # Each thread makes three copies of a block, so blocks are small enough for the cache.
            blocks = parallel.row_blocks(self.X.n, 4 * self.X.p)
            H = parallel.reduce(partial, np.ndarray.__iadd__, blocks)
        place = np.where(col == self.X.p, len(columns), np.searchsorted(columns, col))
        return np.ascontiguousarray(H[cls[:, None], cls[None, :], place[:, None], place[None, :]])


def _with_ones(block: Any) -> Any:
    """The block with a column of ones; sparse stays sparse."""
    n = block.shape[0]
    if isinstance(block, np.ndarray):
        return np.column_stack([block, np.ones(n)])
    from scipy.sparse import csr_array, hstack

    return hstack([csr_array(block), csr_array(np.ones((n, 1)))], format="csr")


def _gram(table: Any, root: np.ndarray) -> np.ndarray:
    """A' A, where A is the table with row i multiplied by root_i."""
    if isinstance(table, np.ndarray):
        A = table * root[:, None]
        return A.T @ A
    A = table.copy()
    A.data = A.data * np.repeat(root, np.diff(A.indptr))
    return (A.T @ A).toarray()


def solve_l1(
    X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, setting: Setting, l1_ratio: float
) -> Fitted:
    """Coefficients as scikit-learn has them: x (1, p + 1), or (classes, p + 1)."""
    prepared = prepare_columns(X, y, w, n_classes, setting)
    inner = prepared.likelihood
    l1 = scaled_penalty(setting.alpha * l1_ratio, prepared.units)
    task = Task(
        inner.X, y, w, n_classes, l1, inner.alpha * (1 - l1_ratio), setting.intercept, inner.shift
    )
    spread = np.append(np.maximum(prepared.spread, 1e-300), 1.0)
    B0 = None if setting.x0 is None else prepared.scaled(setting.x0)
    same = equal_columns(task)
    if same is not None:
        B0 = None if B0 is None else same.inward(B0)
        task, spread = same.task, np.append(spread[same.first], 1.0)

    def back(B: np.ndarray) -> np.ndarray:
        return prepared.original(B if same is None else same.outward(B))

    with converting_x(back):
        B, status, history, done = _from_start(task, B0, setting.max_iter, spread)
    return Fitted(back(B), status, history, done)


def _from_start(
    task: Task, B0: np.ndarray | None, max_iter: int, spread: np.ndarray
) -> tuple[np.ndarray, Status, dict[str, np.ndarray], int]:
    """The optimum, starting from B0 or from a rough solution."""
    B = np.zeros((task.q, task.X.p + 1)) if B0 is None else B0
    with unwatched():
        if B0 is None and (small := _sampled(task)) is not None:
            B, *_ = _solved(small, B, 8, Recorder("start", 8), spread, 1e-3)
        elif B0 is None and task.X.p > FIRST_SET:
            B = _approach(task, B, spread)
    recorder = Recorder("coordinate descent", max_iter)
    B, status, done = _solved(task, B, max_iter, recorder, spread, ACCURACY)
    return B, status, recorder.history(), done


@dataclass(frozen=True)
class EqualColumns:
    """A task in which each set of equal columns is one column: levels or words of the same rows.

    Only the sum t of their coefficients matters to the loss. An L1 penalty is the same however t is
    divided among them, so the first column gets all of it. An L2 penalty is smallest if all get the
    same share.
    """

    task: Task
    first: np.ndarray  # position of each remaining column in the whole table
    group: np.ndarray  # (p,): the remaining column that each column equals
    shared: np.ndarray  # (p,): the share of each column in the coefficient of its group

    def inward(self, B: np.ndarray) -> np.ndarray:
        """Sums of the coefficients of equal columns."""
        width = len(self.first)
        sums = [np.bincount(self.group, row, width) for row in B[:, :-1]]
        return np.column_stack([sums, B[:, -1]])

    def outward(self, B: np.ndarray) -> np.ndarray:
        """Coefficients of all columns."""
        return np.column_stack([B[:, self.group] * self.shared, B[:, -1]])


def equal_columns(task: Task) -> EqualColumns | None:
    """The task with each set of equal columns made one; None if there are none.

    Dense tables are not searched, because equal columns of numbers are rare.
    """
    if not task.X.sparse or task.X.p < 2:
        return None
    X, p = task.X.X.tocsc(), task.X.p
    marks = np.random.default_rng(0).normal(size=(task.X.n, 2))
    key = np.column_stack([X.T @ marks, task.l1, task.l2])  # equal columns have equal bits here
    _, first, group = np.unique(key, axis=0, return_index=True, return_inverse=True)
    if len(first) == p:
        return None
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    first, group = first[order], place[group.ravel()]
    later = np.flatnonzero(first[group] != np.arange(p))
    if (X[:, later] != X[:, first[group[later]]]).nnz:
        return None  # different columns with equal marks
    count = np.bincount(group)
    even = task.l2 > 0
    shared = np.where(even, 1.0 / count[group], first[group] == np.arange(p))
    small = replace(
        task, X=Rows(task.X.X[:, first]), l1=task.l1[first], l2=task.l2[first] / count,
        shift=None if task.shift is None else task.shift[first],
    )  # fmt: skip
    return EqualColumns(small, first, group, shared)


def _approach(task: Task, B: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Rough solutions along penalties that get ten times weaker, to keep the working set small."""
    _, G, _ = task.evaluate(B)
    with np.errstate(divide="ignore", invalid="ignore"):
        start = float(np.nanmax(np.abs(G[:, :-1]) / task.l1, initial=0.0, where=task.l1 > 0))
    factor = start / PATH_RATIO
    while np.isfinite(factor) and factor > PATH_RATIO:
        stage = replace(task, l1=task.l1 * factor, l2=task.l2 * factor)
        B, *_ = _solved(stage, B, STAGE_STEPS, Recorder("start", STAGE_STEPS), spread, 1e-3)
        factor /= PATH_RATIO
    return B


def _sampled(task: Task) -> Task | None:
    if task.X.n < SAMPLE * SAMPLED_ROWS:
        return None
    X = task.X.X[::SAMPLE]
    return Task(
        Rows(X if task.X.sparse else np.ascontiguousarray(X)), np.ascontiguousarray(task.y[::SAMPLE]),
        task.w[::SAMPLE] * SAMPLE, task.n_classes, task.l1, task.l2, task.intercept, task.shift,
    )  # fmt: skip


def _solved(
    task: Task,
    B: np.ndarray,
    max_iter: int,
    recorder: Recorder,
    spread: np.ndarray,
    accuracy: float,
) -> tuple[np.ndarray, Status, int]:
    """Proximal Newton from B; gradients are measured relative to those at 0."""
    scale = None
    if B.any():
        gradient = task.evaluate(np.zeros_like(B))[1]
        scale = max(float(np.max(np.abs(gradient) / spread)), 1e-300)
    return proximal_newton(task, B, max_iter, recorder, spread, accuracy, scale)
