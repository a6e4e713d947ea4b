"""Logistic regression with an L1 or elastic-net penalty: proximal Newton on a working set.

    F(B) = sum_i w_i loss(y_i, B x_i) + sum_j [ l1_j |b_j|_1 + l2_j |b_j|^2 / 2 ]

Two classes have one row of coefficients, more have one row each (scikit-learn's symmetric form).

1. Value and slope of the smooth part, summed over fixed blocks.
2. Working set: coefficients that are not 0, and those whose slope exceeds the penalty.
3. Curvature of the working set; coordinate descent on the quadratic model plus the penalty.
4. Back along the step until the objective falls enough.
5. Stop when no coefficient can lower F by more than rounding.

Invariant: the answer is in the user's units, zeros are exact.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model import _loops, _prox
from pellucid.linear_model.logistic_solvers import Prepared, Setting, prepare
from pellucid.numerics.optimise import converged, out_of_iterations
from pellucid.numerics.tables import Rows
from pellucid.parallel import StopFlag
from pellucid.records import Recorder, Solution, Status

WORKING_SET = 1500  # coefficients whose curvature is formed at once
SAMPLE = 8  # every so many rows give the start on large tables
SAMPLED_ROWS = 4096
ACCURACY = 1e-10  # of the slope at 0 that may remain
HALVINGS = 30
SWEEP_WORK = 3e8  # multiplications that one inner problem may take


@dataclass(frozen=True)
class Task:
    """The objective in computing units; rows: coefficients (q) by columns (p) and the intercept."""

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

    def block(self, rows: slice) -> Any:
        return self.X.X[rows] if self.shift is None else self.X.dense(rows) - self.shift

    def penalty(self, B: np.ndarray) -> float:
        b = np.abs(B[:, :-1])
        return float((self.l1 * b).sum() + 0.5 * (self.l2 * b * b).sum())

    def evaluate(self, B: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Loss, its slope (q, p + 1), and the chances of the classes (n, q)."""
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

    def curvature(self, P: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Second derivatives of the loss by the chosen coefficients (flat positions)."""
        width = self.X.p + 1
        cls, col = np.divmod(chosen, width)
        columns = np.unique(col[col < self.X.p])

        def partial(rows: slice) -> np.ndarray:
            block = self.block(rows)
            block = block[:, columns]
            table = np.ones((block.shape[0], len(columns) + 1))
            table[:, :-1] = block if isinstance(block, np.ndarray) else block.toarray()
            chance, w = P[rows], self.w[rows]
            out = np.empty((self.q, self.q, table.shape[1], table.shape[1]))
            for k in range(self.q):
                for l in range(k + 1):
                    c = w * chance[:, k] * ((1 - chance[:, k]) if k == l else -chance[:, l])
                    A = table * np.sqrt(np.abs(c))[:, None]
                    out[k, l] = A.T @ A if k == l else -(A.T @ A)
                    out[l, k] = out[k, l]
            return out

        H = parallel.reduce(partial, np.ndarray.__iadd__, self.X.blocks)
        place = np.where(col == self.X.p, len(columns), np.searchsorted(columns, col))
        return np.ascontiguousarray(H[cls[:, None], cls[None, :], place[:, None], place[None, :]])


def solve_sparse(
    X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, setting: Setting, l1_ratio: float
) -> Solution:
    """Coefficients as scikit-learn has them: x (1, p + 1), or (classes, p + 1)."""
    prepared = prepare(X, y, w, n_classes, setting)
    inner = prepared.likelihood
    with np.errstate(over="ignore"):
        l1 = np.minimum(np.ldexp(setting.alpha * l1_ratio, prepared.units), 1e250)
    task = Task(
        inner.X, y, w, n_classes, l1, inner.alpha * (1 - l1_ratio), setting.intercept, inner.shift
    )
    B = np.zeros((task.q, task.X.p + 1))
    if setting.x0 is not None:
        B = _inward(prepared, setting.x0)
    elif (small := _sampled(task)) is not None:
        B, *_ = _newton(small, B, 8, Recorder("start", 8), prepared, 1e-3)
    recorder = Recorder("coordinate descent", setting.max_iter)
    B, status, done = _newton(task, B, setting.max_iter, recorder, prepared, ACCURACY)
    return Solution(_outward(prepared, B), status, recorder.history(), done)


def _sampled(task: Task) -> Task | None:
    if task.X.n < SAMPLE * SAMPLED_ROWS:
        return None
    X = task.X.X[::SAMPLE]
    return Task(
        Rows(X if task.X.sparse else np.ascontiguousarray(X)), np.ascontiguousarray(task.y[::SAMPLE]),
        task.w[::SAMPLE] * SAMPLE, task.n_classes, task.l1, task.l2, task.intercept, task.shift,
    )  # fmt: skip


def _inward(prepared: Prepared, x0: np.ndarray) -> np.ndarray:
    B = x0.copy()
    B[:, :-1] = np.ldexp(B[:, :-1], -prepared.units)
    if prepared.likelihood.shift is not None:
        B[:, -1] += B[:, :-1] @ prepared.likelihood.shift
    return B


def _outward(prepared: Prepared, B: np.ndarray) -> np.ndarray:
    B = B.copy()
    if prepared.likelihood.shift is not None:
        B[:, -1] -= B[:, :-1] @ prepared.likelihood.shift
    B[:, :-1] = np.ldexp(B[:, :-1], prepared.units)
    return B


def _violation(task: Task, B: np.ndarray, G: np.ndarray) -> np.ndarray:
    """How far the slope of each coefficient is from what the penalty allows."""
    out = np.abs(G)
    b, g = B[:, :-1], G[:, :-1]
    out[:, :-1] = np.where(
        b != 0, np.abs(g + task.l1 * np.sign(b)), np.maximum(np.abs(g) - task.l1, 0.0)
    )
    return out


def _chosen(B: np.ndarray, violation: np.ndarray) -> np.ndarray:
    """Flat positions of the working set: all that are not 0, then the worst."""
    active = B != 0
    active[:, -1] = True
    worst = np.argsort(-violation, axis=None, kind="stable")
    room = max(WORKING_SET - int(active.sum()), 64)
    more = worst[(violation.ravel()[worst] > 0) & ~active.ravel()[worst]][:room]
    return np.sort(np.concatenate([np.flatnonzero(active), more]))


def _newton(
    task: Task,
    B: np.ndarray,
    max_iter: int,
    recorder: Recorder,
    prepared: Prepared,
    accuracy: float,
) -> tuple[np.ndarray, Status, int]:
    flag = StopFlag()
    loss, G, P = task.evaluate(B)
    value = loss + task.penalty(B)
    G[:, :-1] += task.l2 * B[:, :-1]
    spread = np.append(np.maximum(prepared.spread, 1e-300), 1.0)
    scale = max(float(np.max(np.abs(G) / spread)), 1e-300) if not B.any() else 0.0
    if scale == 0.0:
        scale = max(float(np.max(np.abs(task.evaluate(np.zeros_like(B))[1]) / spread)), 1e-300)
    _note(recorder, 0, value, task, B, G)
    inner_tol = 1e-4
    for k in range(1, max_iter + 1):
        flag.check()
        violation = _violation(task, B, G)
        if float(np.max(violation / spread)) <= accuracy * scale:
            return B, converged(k - 1), k - 1
        chosen = _chosen(B, violation / spread)
        step = _direction(task, B, G, P, chosen, inner_tol)
        trial = _search(task, B, value, G, step)
        if trial is None:
            if inner_tol <= 1e-20:  # rounding rules the steps
                return B, converged(k), k
            inner_tol = 1e-24
            continue
        B, fallen, value, G, P = trial
        inner_tol = max(min(inner_tol * 0.1, fallen), 1e-24)
        _note(recorder, k, value, task, B, G)
    worst = float(np.max(_violation(task, B, G)))
    return B, out_of_iterations(max_iter, f"the largest slope is {worst:.2g}"), max_iter


def _direction(
    task: Task, B: np.ndarray, G: np.ndarray, P: np.ndarray, chosen: np.ndarray, tol: float
) -> np.ndarray:
    """The step to the minimum of the quadratic model plus the penalty."""
    H = task.curvature(P, chosen)
    width = task.X.p + 1
    column = chosen % width
    free = column == task.X.p
    l2, l1 = (np.append(v, 0.0)[column] for v in (task.l2, task.l1))
    H[np.diag_indices(len(H))] += l2
    if not task.intercept:
        H[free] = H[:, free] = 0.0
    # Coordinate descent creeps along the nearly flat sum of all classes: a little ridge helps.
    H[np.diag_indices(len(H))] *= 1 + 1e-10
    d, Hd = np.zeros(len(chosen)), np.zeros(len(chosen))
    g, b = G.ravel()[chosen], B.ravel()[chosen]
    sweeps = int(np.clip(SWEEP_WORK / len(d) ** 2, 100, 20_000))
    reach = float(np.max(g * g / np.maximum(np.diagonal(H), 1e-300), initial=0.0))
    parallel.interruptible(_prox.quadratic_lasso, H, g, l1, b, d, Hd, tol * reach, sweeps)
    step = np.zeros(B.size)
    step[chosen] = d
    return step.reshape(B.shape)


def _search(
    task: Task, B: np.ndarray, value: float, G: np.ndarray, step: np.ndarray
) -> tuple[np.ndarray, float, float, np.ndarray, np.ndarray] | None:
    """The first of step, step / 2, ... that lowers the objective enough; None if none does."""
    l1 = np.append(task.l1, 0.0)
    promise = float((G * step).sum() + (l1 * (np.abs(B + step) - np.abs(B))).sum())
    if not promise < 0:
        return None
    t = 1.0
    for _ in range(HALVINGS):
        new = B + t * step
        loss, slope, P = task.evaluate(new)
        found = loss + task.penalty(new)
        if found <= value + 1e-4 * t * promise or (
            t == 1.0 and -promise <= 1e-13 * abs(value) and found <= value + 1e-14 * abs(value)
        ):
            slope[:, :-1] += task.l2 * new[:, :-1]
            return new, abs(promise) / max(abs(value), 1e-300), found, slope, P
        t *= 0.5
    return None


def _note(
    recorder: Recorder, k: int, value: float, task: Task, B: np.ndarray, G: np.ndarray
) -> None:
    recorder.add(
        iteration=k,
        objective=value,
        gradient_norm=float(np.linalg.norm(_violation(task, B, G))),
        parameter_norm=float(np.linalg.norm(B)),
        nonzero=float(np.count_nonzero(B[:, :-1])),
        state=lambda: {"x": B},
    )
