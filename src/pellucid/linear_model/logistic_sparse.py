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

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model import _loops, _prox
from pellucid.linear_model.logistic_solvers import Prepared, Setting, prepare
from pellucid.numerics.optimise import converged, out_of_iterations
from pellucid.numerics.tables import Rows
from pellucid.parallel import StopFlag
from pellucid.records import Recorder, Solution, Status

WORKING_SET = 1500  # coefficients whose curvature is formed at once, beyond those that are not 0
FIRST_SET = 256  # so many at first; the set may double at every step
SAMPLE = 8  # every so many rows give the start on large tables
SAMPLED_ROWS = 4096
ACCURACY = 1e-10  # of the slope at 0 that may remain
HALVINGS = 30
FARTHEST = 10.0  # that a score may move in one step, beyond doubling the largest
PATH_RATIO, STAGE_STEPS = 10.0, 4  # of penalties on the way to a weak one; steps at each
SWEEPS, JUMPS = 25, 60  # of an inner problem: sweeps between two jumps, jumps at most


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

    @functools.cached_property
    def largest_curvature(self) -> np.ndarray:
        """sum_i w_i x_ij^2 / 4 of the columns and the intercept: no curvature is larger."""

        def partial(rows: slice) -> np.ndarray:
            block = self.block(rows)
            squares = block * block if isinstance(block, np.ndarray) else block.multiply(block)
            return np.asarray(squares.T @ self.w[rows]).ravel()

        squares = parallel.reduce(partial, np.ndarray.__iadd__, self.X.blocks)
        return np.append(squares, self.w.sum()) / 4

    def farthest(self, step: np.ndarray) -> float:
        """The largest score, or change of one."""

        def partial(rows: slice) -> float:
            return float(np.abs(self.block(rows) @ step[:, :-1].T + step[:, -1]).max())

        return max(parallel.map(partial, self.X.blocks))

    def curvature(self, P: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Second derivatives of the loss by the chosen coefficients (flat positions)."""
        width = self.X.p + 1
        cls, col = np.divmod(chosen, width)
        columns = np.unique(col[col < self.X.p])

        def partial(rows: slice) -> np.ndarray:
            table = _with_ones(self.block(rows)[:, columns])
            chance, w = P[rows], self.w[rows]
            m = len(columns) + 1
            out = np.empty((self.q, self.q, m, m))
            for k in range(self.q):
                for l in range(k + 1):
                    c = w * chance[:, k] * ((1 - chance[:, k]) if k == l else -chance[:, l])
                    out[k, l] = _gram(table, np.sqrt(np.abs(c)))
                    out[k, l] *= 1.0 if k == l else -1.0
                    out[l, k] = out[k, l]
            return out

        if self.X.sparse and self.shift is None:  # few products: one visit is cheapest
            H = partial(slice(None))
        else:
            H = parallel.reduce(partial, np.ndarray.__iadd__, self.X.blocks)
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
    elif task.X.p > FIRST_SET:
        B = _approach(task, B, prepared)
    recorder = Recorder("coordinate descent", setting.max_iter)
    B, status, done = _newton(task, B, setting.max_iter, recorder, prepared, ACCURACY)
    return Solution(_outward(prepared, B), status, recorder.history(), done)


def _approach(task: Task, B: np.ndarray, prepared: Prepared) -> np.ndarray:
    """Rough solutions of tenfold weaker and weaker penalties: the working set stays small."""
    _, G, _ = task.evaluate(B)
    with np.errstate(divide="ignore", invalid="ignore"):
        start = float(np.nanmax(np.abs(G[:, :-1]) / task.l1, initial=0.0, where=task.l1 > 0))
    factor = start / PATH_RATIO
    while np.isfinite(factor) and factor > PATH_RATIO:
        stage = replace(task, l1=task.l1 * factor, l2=task.l2 * factor)
        B, *_ = _newton(stage, B, STAGE_STEPS, Recorder("start", STAGE_STEPS), prepared, 1e-3)
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
    room = int(np.clip(active.sum(), FIRST_SET, WORKING_SET))
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
    inner_tol, damping = 1e-3, 0.0
    for k in range(1, max_iter + 1):
        flag.check()
        violation = _violation(task, B, G)
        if float(np.max(violation / spread)) <= accuracy * scale:
            return B, converged(k - 1), k - 1
        chosen = _chosen(B, violation / spread)
        step = _direction(task, B, G, P, chosen, inner_tol, min(2 * k, JUMPS), damping)
        trial = _search(task, B, value, G, step)
        if trial is None:
            if inner_tol <= 1e-20:  # rounding rules the steps
                return B, converged(k), k
            inner_tol = 1e-24
            continue
        new, fallen, value, G, P = trial
        # Shortened steps: some rows are so sure that the parabola knows no bounds for them.
        short = float(np.abs(new - B).max()) < 0.7 * float(np.abs(step).max())
        damping = max(10 * damping, 1e-6) if short else damping / 10 * (damping > 1e-9)
        B = new
        inner_tol = max(min(inner_tol * 0.1, fallen), 1e-24)
        _note(recorder, k, value, task, B, G)
    worst = float(np.max(_violation(task, B, G)))
    return B, out_of_iterations(max_iter, f"the largest slope is {worst:.2g}"), max_iter


def _direction(
    task: Task, B: np.ndarray, G: np.ndarray, P: np.ndarray, chosen: np.ndarray, tol: float,
    jumps: int, damping: float,
) -> np.ndarray:  # fmt: skip
    """The step to the minimum of the quadratic model plus the penalty.

    `damping` is the share of the largest curvature there can be that is added to the model's.
    """
    H = task.curvature(P, chosen)
    width = task.X.p + 1
    column = chosen % width
    free = column == task.X.p
    l2, l1 = (np.append(v, 0.0)[column] for v in (task.l2, task.l1))
    H[np.diag_indices(len(H))] += l2 + damping * task.largest_curvature[column]
    if not task.intercept:
        H[free] = H[:, free] = 0.0
    # Coordinate descent creeps along the nearly flat sum of all classes: a little ridge helps.
    H[np.diag_indices(len(H))] *= 1 + 1e-10
    d, Hd = np.zeros(len(chosen)), np.zeros(len(chosen))
    g, b = G.ravel()[chosen], B.ravel()[chosen]
    reach = float(np.max(g * g / np.maximum(np.diagonal(H), 1e-300), initial=0.0))
    for _ in range(jumps):
        made = parallel.interruptible(
            _prox.quadratic_lasso, H, g, l1, b, d, Hd, tol * reach, SWEEPS
        )
        if made < SWEEPS or not _jump(H, g, l1, b, d):
            break
        Hd = H @ d
    step = np.zeros(B.size)
    step[chosen] = d
    return step.reshape(B.shape)


def _jump(H: np.ndarray, g: np.ndarray, l1: np.ndarray, b: np.ndarray, d: np.ndarray) -> bool:
    """Move d to the minimum over the coefficients that are not 0, signs kept.

    Sweeps creep where columns are nearly dependent; this solves for all of them at once. If signs
    would change, those coefficients become 0, or, where that is not lower, the first of them does:
    up to there the quadratic model with its penalty falls all the way.
    """
    from scipy.linalg import lapack

    used = np.flatnonzero((b + d != 0) | (l1 == 0))
    now = (b + d)[used]
    slope = g[used] + (H @ d)[used] + l1[used] * np.sign(now)
    scale = 1 / np.sqrt(np.maximum(np.diagonal(H)[used], 1e-300))
    part = H[np.ix_(used, used)] * scale * scale[:, None]
    _, move, failed = lapack.dposv(part, -slope * scale, lower=0)
    if failed or not np.isfinite(move).all():
        return False
    move = move * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = np.where((l1[used] > 0) & (now * move < 0), -now / move, np.inf)
    first = int(np.argmin(meets))
    if meets[first] >= 1.0:
        d[used] += move
        return True
    near, far = d.copy(), d.copy()
    near[used] += meets[first] * move
    near[used[first]] = -b[used[first]]
    far[used] = np.where(meets < 1.0, -b[used], d[used] + move)

    def model(v: np.ndarray) -> float:
        return float(g @ v + 0.5 * v @ (H @ v) + l1 @ np.abs(b + v))

    d[:] = far if model(far) < model(near) else near
    return True


def _search(
    task: Task, B: np.ndarray, value: float, G: np.ndarray, step: np.ndarray
) -> tuple[np.ndarray, float, float, np.ndarray, np.ndarray] | None:
    """The first of step, step / 2, ... that lowers the objective enough; None if none does."""
    l1 = np.append(task.l1, 0.0)
    promise = float((G * step).sum() + (l1 * (np.abs(B + step) - np.abs(B))).sum())
    if not promise < 0:
        return None
    # A row may be so sure that its curvature is nothing; the parabola then leads far too far.
    t = min(1.0, (FARTHEST + task.farthest(B)) / max(task.farthest(step), 1e-300))
    promise *= t
    step, t = t * step, 1.0
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
