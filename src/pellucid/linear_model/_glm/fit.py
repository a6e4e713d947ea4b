"""From a problem to the learned attributes of a generalised linear model."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.linear_model.base import check_size
from pellucid.linear_model.linear_classifier import column_means
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.row_blocks import LARGEST_PENALTY
from pellucid.records import Solution, Status

if TYPE_CHECKING:
    from pellucid.linear_model._glm.solver import Task

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

    total = float(problem.weights.sum())
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
    found = elastic_net(problem.X, _without_offset(problem), problem.weights, net, start)
    check_size(found.coef, found.intercept)
    return {
        "coef_": found.coef[0].copy(), "intercept_": float(found.intercept[0]),
        "means_": found.means, "n_iter_": max(int(found.n_iter[0]), 1),
        "history_": found.history, "status_": found.status,
    }  # fmt: skip


def _fit_iteratively(model: Any, problem: Problem, loss: GLMLoss) -> dict[str, Any]:
    from pellucid.linear_model._glm.solver import without_constants

    means, largest = None, None
    if problem.schema.plain and not model.standardize:  # its columns are those of X
        means, ends = problem.schema.mean, (problem.schema.low, problem.schema.high)
        largest = np.maximum(*np.abs(ends))
    task = _prepare(model, problem, loss, model.alpha - _l1(model), largest)
    found, x = _solve(model, problem, loss, task)
    status, inference = _diagnose(model, problem, loss, task, found)
    if inference and model.fit_intercept:
        x = without_constants(problem.X, inference["inference_"]["aliased"], x)
    check_size(x[:-1], x[-1:])
    if means is None:
        means = column_means(problem.X, problem.weights)
    return inference | {
        "coef_": x[:-1].copy(), "intercept_": float(x[-1]) if model.fit_intercept else 0.0,
        "means_": means if model.fit_intercept else np.zeros(problem.p),
        "n_iter_": max(found.n_iter, 1), "history_": found.history, "status_": status,
    }  # fmt: skip


def _prepare(
    model: Any, problem: Problem, loss: GLMLoss, alpha: float, largest: np.ndarray | None = None
) -> "Task":
    from pellucid.linear_model._glm.solver import prepare

    return prepare(
        problem.X, problem.y, problem.weights, problem.offset, loss, alpha, model.fit_intercept,
        largest,
    )  # fmt: skip


def _solve(
    model: Any, problem: Problem, loss: GLMLoss, task: "Task"
) -> tuple[Solution, np.ndarray]:
    """The solution in the units of the task, and (coef, intercept) on the original scale."""
    from pellucid.linear_model._glm import solver

    l1 = _l1(model)
    if model.solver == "gd":
        plain = replace(task.objective, X=solver.Rows(problem.X), shift=None)
        found = solver.descend(plain, loss, model.tol, model.max_iter, model.step, l1)
        return found, found.x
    start = _last_fit(model, problem.p)
    if l1 > 0:
        from pellucid.linear_model._glm.l1 import solve_sparse

        with np.errstate(over="ignore"):
            total = l1 * float(task.objective.weights.sum())
        found = solve_sparse(task, loss, total, model.max_iter, start)
    else:
        kind = "lbfgs" if model.solver == "lbfgs" and problem.p > solver.NEWTON_SIZE else "auto"
        with np.errstate(over="ignore", invalid="ignore"):  # a loss beyond the floats is no start
            found = solver.solve(task, loss, kind, model.tol, model.max_iter, start)
    return found, task.original(found.x)


def _diagnose(
    model: Any, problem: Problem, loss: GLMLoss, task: "Task", found: Solution
) -> tuple[Status, dict[str, Any]]:
    """The status, with columns whose coefficients grow without limit, and the facts for inference."""
    from pellucid.linear_model._glm.boundary import (
        saturated,
        unbounded_directions,
        unbounded_status,
    )
    from pellucid.linear_model._glm.information import facts, has_facts

    status, inference = found.status, {}
    if has_facts(model, problem.p):
        endless = unbounded_directions(task.objective, found.x, loss)
        if endless.size and status.code != "edge":
            status = unbounded_status(endless, problem.schema.terms, loss)
        inference = {"inference_": facts(task, found.x, problem, loss, endless)}
    exact = model.alpha == 0 and model.solver != "gd"
    if exact and status.code not in ("edge", "separated"):
        status = saturated(task.objective, loss) or status
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
