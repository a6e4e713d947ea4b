"""Proximal Newton on a working set: a smooth loss plus an L1 penalty.

    F(B) = loss(B) + sum_j [ l1_j |b_j| + l2_j |b_j|^2 / 2 ],     B (q, p + 1), the intercept last

1. Value and gradient of the smooth part, summed over fixed blocks.
2. Working set: coefficients that are not 0, and those whose gradient exceeds the penalty.
3. Curvature of the working set; coordinate descent on the quadratic model plus the penalty.
4. Back along the step until the objective falls enough.
5. Stop when no coefficient can lower F by more than rounding.

Invariant: zeros are exact.
"""

import numpy as np

from pellucid import parallel
from pellucid.linear_model._lasso import quadratic_models
from pellucid.linear_model.scaled_columns import ShiftedRows
from pellucid.numerics.optimise import converged, out_of_iterations
from pellucid.parallel import StopFlag
from pellucid.records import Recorder, Status

WORKING_SET = 1500  # coefficients whose curvature is formed at once, beyond those that are not 0
FIRST_SET = 256  # size of the first set; it may double at every step
SMALL_SET = 200  # coefficients whose inner problem is solved to the last digit
HALVINGS = 30
FARTHEST = 10.0  # that a score may move in one step, beyond doubling the largest
JUMPS = 60  # of an inner problem, at most, with sweeps between them
JUMPS_IN_A_ROW = 20  # without sweeps between them
# Coordinate descent is slow along the nearly flat sum of all classes: a small ridge helps.
FLAT = 1e-10


class SparseTask(ShiftedRows):
    """A loss with its penalties; `seen` is what `evaluate` left for `curvature`."""

    l1: np.ndarray
    l2: np.ndarray

    @property
    def largest_curvature(self) -> np.ndarray:
        """Upper bounds, or guesses, of the curvature of each column and of the intercept."""
        raise NotImplementedError

    @property
    def columns(self) -> quadratic_models.Columns | None:
        """The table by columns; None if the quadratic model is to be made from products."""
        return None

    def penalty(self, B: np.ndarray) -> float:
        raise NotImplementedError

    def evaluate(self, B: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The loss, its gradient (q, p + 1) without the penalty, and what is `seen`."""
        raise NotImplementedError

    def curvature(self, seen: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Second derivatives of the loss by the chosen coefficients (flat positions)."""
        raise NotImplementedError

    def row_curvature(self, seen: np.ndarray) -> quadratic_models.RowCurvature:
        """Curvature of each row's loss by its scores."""
        raise NotImplementedError

    def farthest(self, step: np.ndarray) -> float:
        """The largest absolute score for these coefficients (or change of a score for a step)."""

        def partial(rows: slice) -> float:
            return float(np.abs(self.block(rows) @ step[:, :-1].T + step[:, -1]).max())

        return max(parallel.map(partial, self.X.blocks))


def _violation(task: SparseTask, B: np.ndarray, G: np.ndarray) -> np.ndarray:
    """How far the gradient of each coefficient exceeds the penalty."""
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


def proximal_newton(
    task: SparseTask,
    B: np.ndarray,
    max_iter: int,
    recorder: Recorder,
    spread: np.ndarray,
    accuracy: float,
    scale: float | None = None,
) -> tuple[np.ndarray, Status, int]:
    """Start at B; stop when gradients, in units of `spread` (p + 1,), are small relative to `scale`.

    `scale` is the largest gradient at B, if None.
    """
    flag = StopFlag()
    loss, G, P = task.evaluate(B)
    value = loss + task.penalty(B)
    G[:, :-1] += task.l2 * B[:, :-1]
    scale = max(float(np.max(np.abs(G) / spread)), 1e-300) if scale is None else scale
    _note(recorder, 0, value, task, B, G, None)
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
        new, fallen, value, G, P, reach = trial
        # Shortened steps: the quadratic model is poor where rows are nearly certain.
        short = float(np.abs(new - B).max()) < 0.7 * float(np.abs(step).max())
        damping = max(10 * damping, 1e-6) if short else damping / 10 * (damping > 1e-9)
        B = new
        inner_tol = max(min(inner_tol, 0.01 * fallen), 1e-24)
        _note(recorder, k, value, task, B, G, reach)
    worst = float(np.max(_violation(task, B, G)))
    return B, out_of_iterations(max_iter, f"the largest gradient is {worst:.2g}"), max_iter


def _direction(
    task: SparseTask, B: np.ndarray, G: np.ndarray, P: np.ndarray, chosen: np.ndarray, tol: float,
    jumps: int, damping: float,
) -> np.ndarray:  # fmt: skip
    """The step to the minimum of the quadratic model plus the penalty.

    `damping` is the share of the largest curvature there can be that is added to the model's.
    """
    model = _model(task, B, G, P, chosen, damping)
    reach = model.reach
    if len(chosen) <= SMALL_SET:  # a pass over the rows costs more than full precision
        tol, jumps = 1e-24, JUMPS
    for _ in range(jumps):
        if model.sweep(tol * reach, model.sweeps) < model.sweeps or not _jump(model):
            break
    step = np.zeros(B.size)
    step[chosen] = model.d
    return step.reshape(B.shape)


def _model(
    task: SparseTask, B: np.ndarray, G: np.ndarray, P: np.ndarray, chosen: np.ndarray,
    damping: float,
) -> quadratic_models.QuadraticModel:  # fmt: skip
    """The model from products of columns, or from rows where that is less work."""
    width = task.X.p + 1
    cls, column = np.divmod(chosen, width)
    free = column == task.X.p
    l2, l1 = (np.append(v, 0.0)[column] for v in (task.l2, task.l1))
    ridge = l2 + damping * task.largest_curvature[column] if damping > 0 else l2
    entries = quadratic_models.Entries(G.ravel()[chosen], l1, B.ravel()[chosen])
    columns = task.columns if quadratic_models.CELL * len(chosen) < task.X.n * task.X.p else None
    if columns is not None and quadratic_models.CELL * columns.size(column) < len(chosen) ** 2:
        rows = task.row_curvature(P)
        curvature = rows.diagonal(columns)[cls, column]
        ridge = ridge + FLAT * (curvature + ridge)
        curves = curvature + ridge
        if not task.intercept:
            curves[free] = 0.0  # never visited
        return quadratic_models.ByRows(entries, columns, rows, column, cls, ridge, curves)
    H = task.curvature(P, chosen)
    H[np.diag_indices(len(H))] += ridge
    if not task.intercept:
        H[free] = H[:, free] = 0.0
        H[free, free] = 1.0  # its gradient is 0, so it does not move, and H can be factored
    H[np.diag_indices(len(H))] *= 1 + FLAT
    return quadratic_models.ByProducts(entries, H)


def _jump(model: quadratic_models.QuadraticModel) -> bool:
    """Jump until no sign changes; whether there was a jump.

    A sweep after each would bring back the coefficient that has just become 0: alone it gains a little,
    where only all coefficients together can move far (the levels of a column, weakly penalised).
    """
    for k in range(JUMPS_IN_A_ROW):
        whole = _jump_once(model)
        if whole is None:
            return k > 0
        if whole:
            break
    return True


def _jump_once(model: quadratic_models.QuadraticModel) -> bool | None:
    """Move to the minimum over the coefficients that are not 0, signs kept; whether it was reached.

    Sweeps are slow where columns are nearly dependent; this solves for all of them at once. If signs
    would change, those coefficients become 0 or, if that is not lower, only the first of them: until
    there the quadratic model with its penalty decreases. None if there is no solution.
    """
    from scipy.linalg import lapack

    b, l1, d = model.entries.b, model.entries.l1, model.d
    used = np.flatnonzero((b + d != 0) | (l1 == 0))
    now = (b + d)[used]
    gradient = model.gradient()[used] + l1[used] * np.sign(now)
    H = model.curvature(used)
    scale = 1 / np.sqrt(np.maximum(np.diagonal(H), 1e-300))
    _, move, failed = lapack.dposv(H * scale * scale[:, None], -gradient * scale, lower=0)
    if failed or not np.isfinite(move).all():
        return None
    move = move * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = np.where((l1[used] > 0) & (now * move < 0), -now / move, np.inf)
    first = int(np.argmin(meets))
    near, far = d.copy(), d.copy()
    if meets[first] >= 1.0:
        far[used] += move
        model.move(far)
        return True
    near[used] += meets[first] * move
    near[used[first]] = -b[used[first]]
    far[used] = np.where(meets < 1.0, -b[used], d[used] + move)
    model.move(far if model.value(far) < model.value(near) else near)
    return False


def _search(
    task: SparseTask, B: np.ndarray, value: float, G: np.ndarray, step: np.ndarray
) -> tuple[np.ndarray, float, float, np.ndarray, np.ndarray, float] | None:
    """The first of step, step / 2, ... that lowers the objective enough; None if none does.

    The last entry is the share of the step that was taken.
    """
    l1 = np.append(task.l1, 0.0)
    promise = float((G * step).sum() + (l1 * (np.abs(B + step) - np.abs(B))).sum())
    if not promise < 0:
        return None
    # Where rows are nearly certain their curvature vanishes, and the model leads much too far.
    far, most = task.farthest(step), 1.0
    if far > FARTHEST:
        most = min(1.0, (FARTHEST + task.farthest(B)) / far)
        promise, step = most * promise, most * step
    t = 1.0
    for _ in range(HALVINGS):
        new = B + t * step
        loss, gradient, P = task.evaluate(new)
        found = loss + task.penalty(new)
        if found <= value + 1e-4 * t * promise or (
            t == 1.0 and -promise <= 1e-13 * abs(value) and found <= value + 1e-14 * abs(value)
        ):
            gradient[:, :-1] += task.l2 * new[:, :-1]
            return new, abs(promise) / max(abs(value), 1e-300), found, gradient, P, most * t
        t *= 0.5
    return None


def _note(
    recorder: Recorder, k: int, value: float, task: SparseTask, B: np.ndarray, G: np.ndarray,
    reach: float | None,
) -> None:  # fmt: skip
    recorder.add(
        iteration=k,
        objective=value,
        gradient_norm=float(np.linalg.norm(_violation(task, B, G))),
        parameter_norm=float(np.linalg.norm(B)),
        learning_rate=reach,
        nonzero=float(np.count_nonzero(B[:, :-1])),
        state=lambda: {"x": B},
    )
