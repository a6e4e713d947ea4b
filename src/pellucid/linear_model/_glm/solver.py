"""From a GLM problem to coefficients on the original scale, and to all that a model learns.

Invariant: however columns and weights are scaled inside (shift, powers of two), the objective is that
of the original columns: the mean of half the deviance plus alpha/2 |b|^2.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.linear_model._glm import boundary
from pellucid.linear_model._glm.objective import GLMObjective, make_curve
from pellucid.linear_model.base import check_size, column_means
from pellucid.linear_model.scaled_columns import ScaledColumns
from pellucid.numerics.moments import weighted_mean
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.objectives.penalties import Penalty
from pellucid.numerics.optimise import gradient_descent, lbfgs, newton
from pellucid.numerics.row_blocks import (
    FIRST,
    LARGEST_PENALTY,
    Rows,
    exponents,
    ordinary,
    scaled_penalty,
)
from pellucid.parallel.shard import shard
from pellucid.records import Solution, Status, converting, converting_x, unwatched

EXTREME = 100  # |log2| of a size beyond which it is scaled
FAR = 8.0  # offset in units of spread beyond which a column is centred
NEWTON_SIZE = 1000  # coefficients up to which curvature is made in full
ACCURACY = 2.0**-47
SAMPLE, SAMPLED_ROWS = 8, 2048  # every 8th row, if these are at least 2048, gives the start


@dataclass(frozen=True)
class Task(ScaledColumns):
    """The objective in well-scaled units, and the transformation back."""

    objective: GLMObjective
    spread: np.ndarray
    units: np.ndarray
    weights_lift: int

    @property
    def shift(self) -> np.ndarray | None:
        return self.objective.shift

    def directions(self, D: np.ndarray) -> np.ndarray:
        """Changes of x, the columns of D, on the original scale."""
        return np.array([self.original(one) for one in D.T]).reshape(-1, len(D)).T

    def root(self, root: np.ndarray) -> np.ndarray:
        """A root of the covariance of (b, b0 + shift . b) on the original scale."""
        units = np.append(self.units, 0)
        with np.errstate(over="ignore"):
            return np.ldexp(root, units[:, None]) * 2.0 ** (-self.weights_lift / 2)


def prepare(
    X: Any, y: np.ndarray, weights: np.ndarray, offset: np.ndarray | None, loss: GLMLoss,
    alpha: float, intercept: bool, largest: np.ndarray | None = None,
) -> Task:  # fmt: skip
    """Scale what is extreme by powers of two; centre columns far from 0.

    `largest` holds the largest |x| of each column, if it is known already.
    """
    lift = int(exponents(parallel.largest(weights.max())))
    lift = lift if abs(lift) > 64 else 0
    weights = np.ldexp(weights, -lift) if lift else weights
    table, units = Rows(X), np.zeros(X.shape[1], dtype=np.int64)
    if largest is None and not ordinary(table, EXTREME):
        largest = table.largest()
    if largest is not None and np.any(np.abs(exponents(largest)) > EXTREME):
        units = -exponents(largest).astype(np.int64)
        table = table.scaled(units)
    mean, spread = parallel.of_first_rows(lambda: _mean_and_spread(table.dense(slice(0, FIRST))))
    spread = np.where(spread > 0, spread, np.where(mean != 0, np.abs(mean), 1.0))
    far = intercept and bool(np.any(np.abs(mean) > FAR * spread))
    strength = scaled_penalty(alpha * float(parallel.sum_rows(weights)), 2 * units)
    y, weights = np.ascontiguousarray(y), np.ascontiguousarray(weights)
    offset = None if offset is None else np.ascontiguousarray(offset)
    objective = GLMObjective(
        table, y, weights, offset, make_curve(loss), strength, intercept, mean if far else None
    )
    return Task(objective, spread, units, lift)


def _mean_and_spread(first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return first.mean(axis=0), first.std(axis=0)


def _possible(mean: float, y: np.ndarray, loss: GLMLoss) -> float:
    """The mean of y, or the nearest mean that is possible for the link."""
    low, high = loss.link.domain
    top = min(high, float(parallel.largest(np.abs(y).max(initial=0.0))))
    if mean <= low:
        return low + 0.01 * (top - low)
    return mean if mean < high else high - 0.01 * (high - low)


def start(task: Task, loss: GLMLoss) -> np.ndarray:
    """The mean of y for every row; without an intercept 0, or a rough fit of the link of y."""
    objective = task.objective
    y, w, offset = objective.y, objective.weights, objective.offset
    x = np.zeros(objective.X.p + 1)
    mean = _possible(float(weighted_mean(y, w)), y, loss)
    if objective.intercept:
        if offset is not None and loss.link.name == "log":
            top = float(parallel.largest(offset.max()))
            x[-1] = np.log(mean) - top - np.log(float(weighted_mean(np.exp(offset - top), w)))
        else:
            middle = 0.0 if offset is None else float(weighted_mean(offset, w))
            x[-1] = float(loss.link.link(np.array(mean))) - middle
    if np.isfinite(objective.loss_of_constant(x[-1])):
        return x
    if shard() is not None:
        raise _no_start(loss)  # a rough fit needs all rows in one place
    rough = _rough_fit(task, loss.link.link((y + mean) / 2) - (0.0 if offset is None else offset))
    if np.isfinite(objective.evaluate(rough)[0]):
        return rough
    raise _no_start(loss)


def _no_start(loss: GLMLoss) -> DataError:
    return DataError(
        f"Found no start for the {loss.link.name} link at which every mean is possible for the "
        f"{loss.family.name} family. Use the log link, or an intercept."
    )


def _rough_fit(task: Task, eta: np.ndarray) -> np.ndarray:
    """Least squares of eta, by products with the table, which may be sparse."""
    from scipy.sparse.linalg import LinearOperator, lsqr

    objective = task.objective
    n, p, X = objective.X.n, objective.X.p, objective.X.X
    shift = np.zeros(p) if objective.shift is None else objective.shift
    scale = np.append(task.spread, 1.0)

    def fitted(z: np.ndarray) -> np.ndarray:
        x = z.ravel() / scale
        return np.asarray(X @ x[:-1]) + (x[-1] * objective.intercept - x[:-1] @ shift)

    def weighted_sums(r: np.ndarray) -> np.ndarray:
        r = r.ravel()
        own = np.asarray(X.T @ r) - r.sum() * shift
        return np.append(own, r.sum() * objective.intercept) / scale

    table = LinearOperator((n, p + 1), matvec=fitted, rmatvec=weighted_sums, dtype=float)
    return lsqr(table, eta, atol=1e-10, btol=1e-10, iter_lim=10 * (p + 1))[0] / scale


def solve(task: Task, loss: GLMLoss, solver: str, tol: float, max_iter: int, x0: Any) -> Solution:
    """x in the units of the task."""
    objective = task.objective
    x = None if x0 is None else task.scaled(x0)
    if x is None or not np.isfinite(objective.evaluate(x)[0]):
        x = start(task, loss)
    if solver == "lbfgs" or objective.X.p > NEWTON_SIZE:
        total = float(parallel.sum_rows(objective.weights))
        return lbfgs(objective.evaluate, x, tol=tol * total, max_iter=max_iter)
    if x0 is None:
        x = head_start(task, x)
    found = newton(
        objective.evaluate, objective.factor, x, max_iter=max_iter,
        scale=np.append(task.spread, 1.0), accuracy=ACCURACY,
    )  # fmt: skip
    return (
        found
        if boundary.always_interior(loss) or not found.status.ok
        else boundary.polished(objective, found, loss)
    )


def head_start(task: Task, x: np.ndarray) -> np.ndarray:
    """On large tables: a rough solution for every SAMPLE-th row, if it is lower."""
    whole = task.objective
    n, p = whole.X.n, whole.X.p
    if n < SAMPLE * max(SAMPLED_ROWS, 50 * p) or shard() is not None:
        return x
    rows = slice(None, None, SAMPLE)
    few = whole.X.X[rows]
    part = replace(
        whole, X=Rows(few if whole.X.sparse else np.ascontiguousarray(few)),
        y=np.ascontiguousarray(whole.y[rows]), weights=whole.weights[rows] * SAMPLE,
        offset=None if whole.offset is None else np.ascontiguousarray(whole.offset[rows]),
    )  # fmt: skip
    if not np.isfinite(part.evaluate(x)[0]):
        return x
    scale = np.append(task.spread, 1.0)
    with unwatched():
        found = newton(part.evaluate, part.factor, x, max_iter=10, scale=scale, accuracy=0.01)
    value = whole.evaluate(x)[0] if x[:-1].any() else whole.loss_of_constant(x[-1])
    return found.x if whole.evaluate(found.x)[0] < value else x


def descend(
    objective: GLMObjective, loss: GLMLoss, tol: float, max_iter: int, step: float | None, l1: float
) -> Solution:
    """Plain gradient descent on the mean objective, on the original scale. It starts from 0 or, if
    that gives impossible means, from the mean of y.

    With `l1` > 0, the strength of |b| in the mean objective, every step is followed by a proximal
    step.
    """
    total, p = float(parallel.sum_rows(objective.weights)), objective.X.p
    x, curves = np.zeros(p + 1), []
    with np.errstate(all="ignore"):
        middle = start(Task(objective, np.ones(p), np.zeros(p, dtype=np.int64), 0), loss)
        if np.isfinite(objective.evaluate(x)[0]) and np.isfinite(objective.curvature(x)).all():
            curves.append(objective.curvature(x))
        else:
            x = middle
    if step is None:  # the larger curvature of 0 and of where all rows have the mean of y
        curves.append(objective.curvature(middle))
        steepest = max(float(np.linalg.eigvalsh(H)[-1]) for H in curves)
        step = 0.5 * total / max(steepest, 1e-300)
    return gradient_descent(
        objective.evaluate, x, step=step / total, tol=tol, max_iter=max_iter,
        penalty=Penalty(np.append(np.full(p, l1 * total), 0.0), 1.0) if l1 > 0 else None,
    )  # fmt: skip


def without_constants(X: Any, aliased: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(b, b0) with the effects of constant columns moved into b0."""
    x, p = x.copy(), X.shape[1]
    for j in aliased[aliased < p]:
        column = X[:, [j]]
        low = float(parallel.everywhere(column.min(), min))
        high = float(parallel.largest(column.max()))
        if low == high:
            x[-1] += x[j] * low
            x[j] = 0.0
    return x


NET_EPOCHS = 1000  # of coordinate descent, for normal errors with an L1 penalty


def fit_columns(model: Any, problem: Problem) -> dict[str, Any]:
    """The learned attributes of a GLM, from the encoded columns of a problem."""
    loss = model._loss()
    normal = loss.family.name == "normal" and loss.link.name == "identity"
    with parallel.one_blas_thread():
        if not normal or model.solver == "gd":
            return _fit_iteratively(model, problem, loss)
        return (_fit_net if _l1(model) > 0 else _fit_directly)(model, problem, loss)


def _fit_directly(model: Any, problem: Problem, loss: GLMLoss) -> dict[str, Any]:
    """Normal errors, identity link: ridge regression or least squares."""
    from pellucid.linear_model._glm.information import facts, has_facts
    from pellucid.linear_model._ridge import solver

    total = float(parallel.sum_rows(problem.weights))
    with np.errstate(over="ignore"):
        alpha = np.array([min(model.alpha * total, LARGEST_PENALTY)])
    given = (problem.X, _without_offset(problem), problem.weights, alpha)
    found = solver.ridge(*given, model.fit_intercept)
    check_size(*found[:2])
    value = solver.objective(*given, found) / total
    learned = {
        "coef_": found[0][0], "intercept_": float(found[1][0]), "means_": found[2],
        "n_iter_": 1, "status_": Status("ok", "Solved directly."),
        "history_": {"iteration": np.ones(1), "objective": np.array([value])},
    }  # fmt: skip
    if has_facts(model, problem.p):
        task = _prepare(model, problem, loss, 0.0)
        x = task.scaled(np.append(learned["coef_"], learned["intercept_"]))
        learned["inference_"] = facts(task, x, problem, loss, np.zeros((len(x), 0)))
    return learned


def _fit_net(model: Any, problem: Problem, loss: GLMLoss) -> dict[str, Any]:
    """Normal errors, identity link, a penalty with an L1 part: the elastic net."""
    from pellucid.linear_model._lasso.solver import Net, elastic_net

    net = Net(
        _l1(model), float(model.alpha) - _l1(model), model.fit_intercept, False, float(model.tol),
        max(model.max_iter, NET_EPOCHS),
    )  # fmt: skip
    last = _last_fit(model, problem.p)
    start = None if last is None else last[None, :-1]
    with converting(lambda state: _named(np.append(state["coef"], state["intercept"]), True)):
        found = elastic_net(problem.X, _without_offset(problem), problem.weights, net, start)
    check_size(found.coef, found.intercept)
    return {
        "coef_": found.coef[0].copy(), "intercept_": float(found.intercept[0]),
        "means_": found.means, "n_iter_": max(int(found.n_iter[0]), 1),
        "history_": found.history, "status_": found.status,
    }  # fmt: skip


def _fit_iteratively(model: Any, problem: Problem, loss: GLMLoss) -> dict[str, Any]:
    means, largest = None, None
    if problem.schema.plain and not model.standardize:  # its columns are those of X
        means, ends = problem.schema.mean, (problem.schema.low, problem.schema.high)
        largest = np.maximum(*np.abs(ends))
    task = _prepare(model, problem, loss, model.alpha - _l1(model), largest)
    with converting(lambda state: _named(state["x"], model.fit_intercept)):
        found, x = _solve(model, problem, loss, task)
    status, inference = _diagnose(model, problem, loss, task, found)
    if inference and model.fit_intercept:
        x = without_constants(problem.X, inference["inference_"]["aliased"], x)
    check_size(x[:-1], x[-1:])
    if means is None:
        means = column_means(problem.X, problem.weights)
    return inference | {
        **_named(x, model.fit_intercept),
        "means_": means if model.fit_intercept else np.zeros(problem.p),
        "n_iter_": max(found.n_iter, 1), "history_": found.history, "status_": status,
    }  # fmt: skip


def _named(x: np.ndarray, intercept: bool) -> dict[str, Any]:
    return {"coef_": x[:-1].copy(), "intercept_": float(x[-1]) if intercept else 0.0}


def _prepare(
    model: Any, problem: Problem, loss: GLMLoss, alpha: float, largest: np.ndarray | None = None
) -> Task:
    return prepare(
        problem.X, problem.y, problem.weights, problem.offset, loss, alpha, model.fit_intercept,
        largest,
    )  # fmt: skip


def _solve(model: Any, problem: Problem, loss: GLMLoss, task: Task) -> tuple[Solution, np.ndarray]:
    """The solution in the units of the task, and (coef, intercept) on the original scale."""
    l1 = _l1(model)
    if model.solver == "gd":
        plain = replace(task.objective, X=Rows(problem.X), shift=None)
        found = descend(plain, loss, model.tol, model.max_iter, model.step, l1)
        return found, found.x
    last = _last_fit(model, problem.p)
    if l1 > 0:
        from pellucid.linear_model._glm.l1 import solve_sparse

        with np.errstate(over="ignore"):
            total = l1 * float(task.objective.weights.sum())
        with converting_x(lambda x: task.original(x.ravel())):
            found = solve_sparse(task, loss, total, model.max_iter, last)
    else:
        kind = "lbfgs" if model.solver == "lbfgs" and problem.p > NEWTON_SIZE else "auto"
        # A loss beyond the floats is no start.
        with np.errstate(over="ignore", invalid="ignore"), converting_x(task.original):
            found = solve(task, loss, kind, model.tol, model.max_iter, last)
    return found, task.original(found.x)


def _diagnose(
    model: Any, problem: Problem, loss: GLMLoss, task: Task, found: Solution
) -> tuple[Status, dict[str, Any]]:
    """The status, with columns whose coefficients grow without limit, and the facts for inference."""
    from pellucid.linear_model._glm.information import facts, has_facts

    status, inference = found.status, {}
    if has_facts(model, problem.p):
        endless = boundary.unbounded_directions(task.objective, found.x, loss)
        if endless.size and status.code != "edge":
            status = boundary.unbounded_status(endless, problem.schema.terms, loss)
        inference = {"inference_": facts(task, found.x, problem, loss, endless)}
    exact = model.alpha == 0 and model.solver != "gd"
    if exact and status.code not in ("edge", "separated"):
        status = boundary.saturated(task.objective, loss) or status
    return status, inference


def _l1(model: Any) -> float:
    """Strength of the L1 penalty in the mean objective."""
    return float(model.alpha * model.l1_ratio)


def _without_offset(problem: Problem) -> np.ndarray:
    y = problem.y if problem.offset is None else problem.y - problem.offset
    return y[:, None]


def _last_fit(model: Any, p: int) -> np.ndarray | None:
    """(coef, intercept) of the last fit, where a warm start can use them."""
    if not model.warm_start or not model.__sklearn_is_fitted__() or model.coef_.shape != (p,):
        return None
    return np.append(model.coef_, model.intercept_ * model.fit_intercept)
