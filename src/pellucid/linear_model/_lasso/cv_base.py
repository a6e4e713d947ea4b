"""What `LassoCV` and `ElasticNetCV` share: parameters, the grid, the choice, the last fit.

Invariant: the chosen model is what `Lasso` or `ElasticNet` finds on all rows at that penalty.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model.cv_folds import CV, make_folds
from pellucid.linear_model.paths import penalty_grid
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.parameters import (
    Array,
    Boolean,
    Choice,
    Either,
    Integer,
    Jobs,
    Nothing,
    RandomState,
    Real,
    Verbose,
)
from pellucid.records import Status

PARAMETERS = {
    "eps": Real(0, None, "neither"),
    "alphas": Either(Integer(1), Array),
    "fit_intercept": Boolean,
    "precompute": Either(Choice("auto"), Boolean, Array),
    "max_iter": Integer(1),
    "tol": Real(0, None),
    "cv": CV,
    "copy_X": Boolean,
    "verbose": Verbose,
    "n_jobs": Jobs,
    "positive": Boolean,
    "random_state": RandomState,
    "selection": Choice("cyclic", "random"),
    "solver": Choice("cd", "gd"),
    "step": Either(Nothing, Real(0, None, "neither")),
    "standardize": Boolean,
}


def fit_by_folds(model: Any, problem: Problem, l1_ratios: list[float]) -> dict[str, Any]:
    """Errors along all paths, the best point, and the fit on all rows there."""
    return penalised_evenly(
        model, True, problem, lambda problem: _fit_columns(model, problem, l1_ratios)
    )


def _fit_columns(model: Any, problem: Problem, l1_ratios: list[float]) -> dict[str, Any]:
    from pellucid.linear_model._lasso import cv_solver as search
    from pellucid.linear_model._lasso.base import descend
    from pellucid.linear_model._lasso.solver import Net

    with parallel.using(model.n_jobs), parallel.one_blas_thread():
        table = search.prepared(problem, model.fit_intercept)
        pull = search.pulls(table)
        alphas = [_penalties(model, problem, ratio, pull) for ratio in l1_ratios]
        grid = search.Grid(
            l1_ratios, alphas, model.fit_intercept, model.positive, model.max_iter, model.tol
        )
        folds = make_folds(model.cv, problem)
        errors = search.errors_by_fold(table, folds, grid)
        ratio, alpha, best = _best(errors, l1_ratios, alphas)
        net = Net(
            alpha * ratio, alpha * (1 - ratio), model.fit_intercept, model.positive, model.tol,
            model.max_iter,
        )  # fmt: skip
        if model.solver == "gd":
            learned = descend(model, problem, alpha, ratio)
        else:
            learned = _last_fit(model, problem, net, table.task)
    several = len(l1_ratios) > 1
    status = learned["status_"]
    if status.ok:
        message = (
            f"alpha = {alpha:.4g} predicts left-out rows best (mean squared error {best:.4g})."
        )
        status = Status(status.code, message)
    return learned | {
        "alpha_": alpha, "l1_ratio_": ratio,
        "alphas_": np.array(alphas) if several else alphas[0],
        "mse_path_": errors if several else errors[0], "status_": status,
    }  # fmt: skip


def _last_fit(model: Any, problem: Problem, net: Any, task: Any) -> dict[str, Any]:
    """On all rows, at the chosen penalty."""
    from pellucid.linear_model._lasso.solver import elastic_net

    found = elastic_net(problem.X, problem.y[:, None], problem.weights, net, None, task)
    return model._finished(found.coef, found.intercept, problem.y) | {
        "means_": found.means, "dual_gap_": float(found.gap[0]), "n_iter_": int(found.n_iter[0]),
        "history_": found.history, "status_": found.status,
    }  # fmt: skip


def _penalties(
    model: Any, problem: Problem, l1_ratio: float, pull: np.ndarray | None
) -> np.ndarray:
    if Integer(1).accepts(model.alphas) and l1_ratio == 0:
        raise ParameterError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid "
            "by providing your estimator with the appropriate `alphas=` argument."
        )
    return penalty_grid(
        problem.X, problem.y[:, None], problem.weights, model.alphas, l1_ratio, model.eps,
        model.fit_intercept, model.positive, pull,
    )  # fmt: skip


def _best(
    errors: np.ndarray, l1_ratios: list[float], alphas: list[np.ndarray]
) -> tuple[float, float, float]:
    """The first of the smallest mean errors: the l1_ratio given first, the largest penalty."""
    mean = errors.mean(axis=2)
    if not np.isfinite(mean).any():
        raise DataError(
            "No penalty has a finite error on the left-out rows: their squares are larger than the "
            "largest float. Bring y to ordinary units."
        )
    r, a = np.unravel_index(int(np.nanargmin(mean)), mean.shape)
    return float(l1_ratios[r]), float(alphas[r][a]), float(mean[r, a])


def check_chosen(model: Any) -> None:
    """For `_check_state`: what was chosen, and the table of errors it was chosen from."""
    from pellucid.persist.fitted_state import expect_number

    expect_number(model, "alpha_", 0)
    expect_number(model, "l1_ratio_", 0)
