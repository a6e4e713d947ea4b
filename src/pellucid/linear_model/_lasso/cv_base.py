"""What `LassoCV` and `ElasticNetCV` share: parameters, the grid, the choice, the last fit.

Invariant: the chosen model is what `Lasso` or `ElasticNet` finds on all rows at that penalty.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model._lasso.base import SELECTION, SOLVER, descend
from pellucid.linear_model.base import POSITIVE, LinearPredictor
from pellucid.linear_model.cv_folds import CV, make_folds
from pellucid.linear_model.paths import enet_path, penalty_grid
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.parameters import (
    COPY_X,
    HISTORY,
    N_JOBS,
    NO_RANDOM_STATE,
    STANDARDIZE,
    STEP,
    VERBOSE,
    Array,
    Boolean,
    Choice,
    Either,
    Ignored,
    Integer,
    Real,
    learned,
    param,
)
from pellucid.records import Status

# Of these the paths have some too.
PARAMETERS = {
    "eps": Real(0, None, "neither"),
    "alphas": Either(Integer(1), Array),
    "max_iter": Integer(1),
    "tol": Real(0, None),
    "positive": Boolean,
}


class L1RegressorCV(LinearPredictor):
    """Base of `LassoCV` and `ElasticNetCV`."""

    eps: float = param(
        1e-3,
        PARAMETERS["eps"],
        "Smallest penalty of the grid, as a share of the largest.",
        before="fit_intercept",
    )
    alphas: Any = param(
        100,
        PARAMETERS["alphas"],
        "Number of penalties to try, evenly spaced in logarithm below the smallest that sets all "
        "coefficients to 0; or the penalties themselves.",
        before="fit_intercept",
    )
    precompute: Any = param(
        "auto",
        Ignored(
            "the solver decides what it computes beforehand.",
            Either(Choice("auto"), Boolean, Array),
        ),
    )
    max_iter: int = param(
        1000,
        PARAMETERS["max_iter"],
        "Largest number of epochs of coordinate descent for one penalty, or of steps of the solver "
        "'gd'.",
    )
    tol: float = param(
        1e-4,
        PARAMETERS["tol"],
        "A duality gap of the last fit above tol * y'y / N is reported as not converged. The solver "
        "'gd' stops when the coefficients move less than tol.",
    )
    cv: Any = param(
        None,
        CV,
        "Folds: an int is a number of contiguous folds and None means 5; else a splitter, or (train, "
        "test) pairs of row numbers.",
    )
    copy_X: bool = COPY_X
    verbose: Any = VERBOSE
    n_jobs: int | None = N_JOBS.replace(
        description="Number of folds fitted at the same time; -1 uses all CPUs, None the number of "
        "`pellucid.parallel.set_threads`. The results do not depend on it."
    )
    positive: bool = POSITIVE
    random_state: Any = NO_RANDOM_STATE
    selection: str = SELECTION
    solver: str = SOLVER.replace(
        description="Solver of the last fit, on all rows: 'cd' is coordinate descent, 'gd' is plain "
        "proximal gradient descent, which is easy to watch."
    )
    step: float | None = STEP
    standardize: bool = STANDARDIZE

    alpha_: float = learned("The chosen penalty.")
    l1_ratio_: float = learned("The chosen share of the L1 penalty; 1 for the lasso.")
    alphas_: np.ndarray = learned(
        "Penalties tried, in falling order, shape (n_alphas,), or (n_l1_ratios, n_alphas) for several "
        "l1_ratio."
    )
    mse_path_: np.ndarray = learned(
        "Mean squared errors on left-out rows, shape (n_alphas, n_folds), or (n_l1_ratios, n_alphas, "
        "n_folds) for several l1_ratio."
    )
    coef_: np.ndarray = learned(
        "Coefficients of the encoded columns, shape (n_terms,), in the order of `terms_`; exactly 0 "
        "for the columns that are not used."
    )
    dual_gap_: float = learned(
        "Upper bound on how far the objective of the last fit is above its minimum."
    )
    n_iter_: int = learned(
        "Number of rounds of active sets and epochs of coordinate descent of the last fit."
    )
    history_: dict[str, np.ndarray] = learned(HISTORY)

    _min_rows = 2
    # A short path is enough for the contract tests.
    _check_params = {"alphas": 8}
    _exempt = {
        "order_of_rows_does_not_matter": "folds are contiguous, as in scikit-learn: they follow it"
    }

    path = staticmethod(enet_path)

    def _check_state(self) -> None:
        """Refuse a file whose coefficients or chosen penalty are impossible."""
        from pellucid.persist.fitted_state import expect_number

        super()._check_state()
        expect_number(self, "alpha_", 0)
        expect_number(self, "l1_ratio_", 0)


def fit_by_folds(model: Any, problem: Problem, l1_ratios: list[float]) -> dict[str, Any]:
    """Errors along all paths, the best point, and the fit on all rows there."""
    return penalised_evenly(
        model, True, problem, lambda problem: _fit_columns(model, problem, l1_ratios)
    )


def _fit_columns(model: Any, problem: Problem, l1_ratios: list[float]) -> dict[str, Any]:
    from pellucid.linear_model._lasso import cv_solver as search
    from pellucid.linear_model._lasso.solver import Net

    with parallel.using(model.n_jobs), parallel.one_blas_thread():
        table = search.prepared(problem, model.fit_intercept)
        pull = search.target_products(table)
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
        type(model).__name__, problem.X, problem.y[:, None], problem.weights, model.alphas,
        l1_ratio, model.eps, model.fit_intercept, model.positive, pull,
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
