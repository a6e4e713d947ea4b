"""Plain gradient descent, for teaching: full gradients, or mini-batches with a decreasing step size.

Both minimise the mean objective on the original columns and record every iteration (or epoch).

Invariant: x is (1, p + 1) for two classes and (n_classes, p + 1) for more.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model._logistic import _loops
from pellucid.linear_model._logistic.preparation import Setting, prepare_columns
from pellucid.linear_model._logistic.separation import SeparationCheck
from pellucid.linear_model._logistic.solver import Fitted
from pellucid.numerics import optimise
from pellucid.numerics.row_blocks import as_dense
from pellucid.parallel import StopFlag
from pellucid.records import Recorder, Solution, Status, converting_x

HELD = 200.0  # tau0 + k from which default steps of mini-batches decrease
POWERS = 30  # products with the table that find its largest eigenvalue
COMPILED_CELLS = 2**17  # table size up to which gradient descent runs in one compiled loop


@dataclass(frozen=True)
class Descent:
    """Full gradients with a constant step size; None takes one that cannot overshoot."""

    step: float | None


@dataclass(frozen=True)
class Batches:
    """Mini-batches of `size` rows with the step sizes eta0 (tau0 + k)**-kappa.

    Without eta0 the first steps have the size that cannot overshoot, until tau0 + k is `HELD`.
    """

    eta0: float | None
    tau0: float
    kappa: float
    size: int
    random_state: Any = None

    def steps(self, X: Any, w: np.ndarray, strength: float, K: int, intercept: bool) -> Any:
        """The step size as a function of the step number."""
        if self.eta0 is not None:
            return optimise.schedule(self.tau0, self.kappa, self.eta0)
        most = _step_for(_largest_eigenvalue(X, w, intercept), strength, K)
        return optimise.schedule(self.tau0, self.kappa, most * HELD**self.kappa, most)


def solve_by_descent(
    X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, setting: Setting,
    method: Descent | Batches,
) -> Fitted:  # fmt: skip
    """Descend; without a penalty, also name the columns that separate the classes."""
    found = (
        _full_gradients(X, y, w, n_classes, setting, method.step)
        if isinstance(method, Descent)
        else _mini_batches(X, y, w, n_classes, setting, method)
    )
    fitted = Fitted(found.x, found.status, found.history, found.n_iter)
    if setting.alpha != 0 or found.status.code == "diverged":
        return fitted
    prepared = prepare_columns(X, y, w, n_classes, setting)
    x = prepared.from_user(found.x[1:] - found.x[0] if n_classes > 2 else found.x)
    check = SeparationCheck(prepared.likelihood, setting.terms)
    separated = check.after(x, found.status.ok, exact=False)
    if separated is None or check.found is None:
        return fitted
    message = f"{found.status.message} {separated.message}"
    status = Status(found.status.code, message, separated.suggestion)
    return replace(fitted, status=status, separating=tuple(check.found.columns.tolist()))


def _full_gradients(
    X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, setting: Setting, step: float | None
) -> Solution:
    """Gradient descent with a constant step size on all rows."""
    pivot, rows = n_classes == 2, 1 if n_classes == 2 else n_classes
    A = as_dense(X)
    A = np.column_stack([A, np.full(len(A), float(setting.intercept))])
    x0 = np.zeros((rows, A.shape[1])) if setting.x0 is None else setting.x0.copy()
    total = float(w.sum())
    strength = setting.alpha / total
    mask = np.append(np.ones(X.shape[1]), 0.0)
    safe = _safe_step(A, w, strength, n_classes)
    step = step or safe
    if A.size <= COMPILED_CELLS:
        done = _compiled_descent(A, y, w, pivot, x0, step, strength, mask, setting)
        return _with_steps(done, x0.shape, step, safe)

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
        B = x.reshape(rows, -1)
        Z = A @ B.T
        R = np.empty_like(Z)
        loss = _loops.class_losses(Z, y, w, pivot, R) / total
        G = R.T @ A / total + strength * mask * B
        return total * (loss + 0.5 * strength * float(np.sum(mask * B**2))), total * G.ravel()

    with converting_x(lambda x: x.reshape(rows, -1)):
        found = optimise.gradient_descent(
            evaluate, x0.ravel(), step=step / total, tol=setting.tol, max_iter=setting.max_iter
        )
    return _with_steps(found, x0.shape, step, safe)


def _with_steps(found: Solution, shape: tuple[int, ...], step: float, safe: float) -> Solution:
    rates = {"learning_rate": np.full(len(found.history["iteration"]), step)}
    values, status = found.history["objective"], found.status
    later = values[len(values) // 2 :]
    if not status.ok and step > safe and (np.diff(later) > 1e-9 * np.abs(later[1:])).any():
        status = Status(
            "diverged",
            f"step={step:.3g} is too large: the objective still rose in the second half of "
            f"{found.n_iter} iterations.",
            f"Use a smaller step (at most {safe:.3g} cannot overshoot), or leave step=None.",
        )
    return replace(found, x=found.x.reshape(shape), status=status, history=found.history | rates)


def _safe_step(A: np.ndarray, w: np.ndarray, strength: float, n_classes: int) -> float:
    """1 / (largest possible curvature of the mean objective): such a step cannot overshoot."""
    gram = A.T @ (A * w[:, None]) / w.sum()
    return _step_for(float(np.linalg.eigvalsh(gram)[-1]), strength, n_classes)


def _step_for(largest: float, strength: float, n_classes: int) -> float:
    return 1.0 / max(largest * (0.25 if n_classes == 2 else 0.5) + strength, 1e-300)


def _largest_eigenvalue(X: Any, w: np.ndarray, intercept: bool) -> float:
    """About the largest eigenvalue of the mean products of the columns, by power iteration."""
    v, size = np.ones(X.shape[1] + 1), 0.0
    for _ in range(POWERS):
        v[-1] *= intercept
        size = float(np.linalg.norm(v))
        if not size > 0:
            break
        scores = w * (np.asarray(X @ (v[:-1] / size)).ravel() + v[-1] / size)
        v = np.append(np.asarray(X.T @ scores).ravel(), scores.sum()) / w.sum()
    return size


def _compiled_descent(
    A: np.ndarray, y: np.ndarray, w: np.ndarray, pivot: bool, x0: np.ndarray, step: float,
    strength: float, mask: np.ndarray, setting: Setting,
) -> Solution:  # fmt: skip
    recorder, flag = Recorder("gd", setting.max_iter), StopFlag()
    B, G = np.ascontiguousarray(x0), np.zeros((len(x0) + 1, A.shape[1]))
    G[-1] = mask
    z = np.empty(len(x0))
    every = max(1, setting.max_iter // 5000)
    chunk = every * max(1, 2**20 // (A.size * every + 1))
    done, change, ahead = 0, np.inf, 0

    def measure(B: np.ndarray) -> np.ndarray:
        """The row of notes of a point."""
        notes = np.empty((1, 4))
        _loops.descend(A, y, w, pivot, B.copy(), 0.0, strength, -1.0, 0, 1, 1, notes, G, z)
        return notes[0]

    while done < setting.max_iter and change > setting.tol and np.all(np.isfinite(B)):
        flag.check()
        steps = min(chunk, setting.max_iter - done)
        due = recorder.watched and ahead == 0  # one iteration, whose start is recorded
        if recorder.watched:
            steps, before = min(steps, max(ahead, 1)), B.copy()
        notes = np.empty((steps // every + 1, 4))
        made, noted, change = _loops.descend(
            A, y, w, pivot, B, step, strength, setting.tol, done, steps, every, notes, G, z
        )
        if due:
            ahead = _watched_step(recorder, done, before, notes[0] if noted else measure(before))
        done, ahead = done + made, ahead - made
        _add_rows(recorder, notes[:noted])
    # The state after the last step closes the history.
    last = measure(B)
    last[0] = done
    _add_rows(recorder, last[None])
    if recorder.watched:
        _watched_step(recorder, done, B, last)
    if not np.all(np.isfinite(B)):
        status = optimise.diverged(done)
    elif change <= setting.tol:
        gain, start = change**2 / (2 * step) * float(w.sum()), recorder.history()["objective"][0]
        status = optimise.settled(done, change, setting.tol, gain, start)
    else:
        status = optimise.out_of_iterations(done, f"the last change was {change:.2g}")
    return Solution(B, status, recorder.history(), done)


NAMES = ("iteration", "objective", "gradient_norm", "parameter_norm")


def _add_rows(recorder: Recorder, notes: np.ndarray) -> None:
    if len(notes):
        recorder.extend(**dict(zip(NAMES, notes.T)))


def _watched_step(recorder: Recorder, done: int, B: np.ndarray, notes: np.ndarray) -> int:
    """Record a point; the number of iterations from it to the next one to record."""
    recorder.step(done, {"x": B}, None, None, **dict(zip(NAMES[1:], notes[1:])))
    return recorder.skip()


def _risen(epoch: int) -> Status:
    return Status(
        "diverged",
        f"The objective after epoch {epoch} is above its start, because the steps are too large.",
        "Use standardize=True, a smaller eta0, or another solver.",
    )


@dataclass(frozen=True)
class _Objective:
    """The loss of some of the rows, with its gradient, and the penalty."""

    X: Any
    y: np.ndarray
    pivot: bool
    intercept: bool
    alpha: float

    def loss(self, B: np.ndarray, part: Any, weights: np.ndarray) -> tuple[float, np.ndarray]:
        block = self.X[part]
        Z = np.ascontiguousarray(block @ B[:, :-1].T + B[:, -1])
        R = np.empty_like(Z)
        loss = _loops.class_losses(Z, self.y[part], weights[part], self.pivot, R)
        G = np.empty_like(B)
        G[:, :-1] = R.T @ block if isinstance(block, np.ndarray) else (block.T @ R).T
        G[:, -1] = R.sum(axis=0) if self.intercept else 0.0
        return loss, G

    def penalty(self, B: np.ndarray) -> float:
        return 0.5 * self.alpha * float((_penalised(B) * B**2).sum())


def _penalised(B: np.ndarray) -> np.ndarray:
    """1 for each coefficient and 0 for the intercept."""
    return np.append(np.ones(B.shape[1] - 1), 0.0)


def _mini_batches(
    X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, setting: Setting, batches: Batches
) -> Solution:
    """Steps along the gradient of the mean objective of a batch.

    Every epoch visits the rows in a new order and adds one row to the history, with the objective of
    all rows after it. Stops when an epoch lowers the mean objective by less than tol.
    """
    seed, n = parallel.seed_sequence(batches.random_state), len(y)
    rows = 1 if n_classes == 2 else n_classes
    total = float(w.sum())
    strength, share = setting.alpha / total, w * (n / total)
    eta = batches.steps(X, w, strength, n_classes, setting.intercept)
    F = _Objective(X, y, n_classes == 2, setting.intercept, setting.alpha)
    B = np.zeros((rows, X.shape[1] + 1)) if setting.x0 is None else setting.x0.copy()
    mask, recorder, flag = _penalised(B), Recorder("sgd", setting.max_iter), StopFlag()

    def watched(epoch: int, **numbers: float | None) -> None:
        if recorder.watched:
            norm = float(np.linalg.norm(B))
            recorder.step(k, {"x": B}, {"epoch": epoch}, None, parameter_norm=norm, **numbers)

    k, value = 0, _note(F, w, B, recorder, 0, eta(0))
    watched(0, objective=value)
    start = previous = value / total
    for epoch in range(1, setting.max_iter + 1):
        flag.check()
        order = parallel.stream(seed, "pass", epoch).permutation(n)
        for begin in range(0, n, batches.size):
            part = order[begin : begin + batches.size]
            loss, G = F.loss(B, part, share)
            here = total * loss / len(part) + F.penalty(B) if recorder.watched else None
            step = eta(k)
            B -= step * (G / len(part) + strength * mask * B)
            k += 1
            if begin + batches.size < n:
                watched(epoch, batch_objective=here, learning_rate=step)
        value = _note(F, w, B, recorder, epoch, step)
        watched(epoch, objective=value, batch_objective=here, learning_rate=step)
        value /= total
        if not np.isfinite(value):
            return Solution(np.nan_to_num(B), optimise.diverged(epoch), recorder.history(), epoch)
        if setting.tol > 0 and value > previous - setting.tol:
            ended = _risen if value > start + setting.tol else optimise.converged
            return Solution(B, ended(epoch), recorder.history(), epoch)
        previous = value
    status = Status("ok", f"All {setting.max_iter} epochs were run.")
    if setting.tol > 0:
        status = optimise.out_of_iterations(
            setting.max_iter, f"the mean objective is {previous:.3g}"
        )
    return Solution(B, status, recorder.history(), setting.max_iter)


def _note(
    F: _Objective, w: np.ndarray, B: np.ndarray, recorder: Recorder, epoch: int, step: float
) -> float:
    """A row of history: the objective of all rows and its gradient."""
    loss, G = F.loss(B, slice(None), w)
    value = loss + F.penalty(B)
    G += F.alpha * _penalised(B) * B
    recorder.add(
        iteration=epoch, objective=value, gradient_norm=float(np.linalg.norm(G)),
        parameter_norm=float(np.linalg.norm(B)), learning_rate=step,
    )  # fmt: skip
    return value
