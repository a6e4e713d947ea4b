"""What `Lasso`, `ElasticNet` and their cross-validated forms share: parameters, and the steps from a
problem to a fit.

Invariant: all minimise one objective; the lasso has l1_ratio = 1. The model that cross-validation
chooses is what `Lasso` or `ElasticNet` finds on all rows at that penalty.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model.base import POSITIVE, LinearPredictor, shaped
from pellucid.linear_model.cv_folds import CV, fit_by_folds, make_folds, route_to_splitter
from pellucid.linear_model.paths import enet_path, penalty_grid
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.numerics.row_blocks import as_dense
from pellucid.parameters import (
    Array,
    Boolean,
    Choice,
    Ignored,
    Integer,
    Real,
    learned,
    number_list,
    param,
    positional,
    shared,
)
from pellucid.persist.fitted_state import expect_number
from pellucid.records import Recorder, Status, converting, is_watched, unwatched

SELECTION = param(
    "cyclic", Ignored("the solver chooses the order of the columns.", Choice("cyclic", "random"))
)
SOLVER = param(
    "cd",
    Choice("cd", "gd"),
    "'cd' is coordinate descent; 'gd' is plain proximal gradient descent, which is easy to watch.",
    last=True,
)
MAX_ITER = 1000


class L1Regressor(LinearPredictor):
    """Base of `Lasso` and `ElasticNet`."""

    alpha: float = positional(
        default=1.0,
        check=Real(0, None),
        description="Strength of the penalty; 0 is ordinary least squares.",
        kw_only=False,
    )
    precompute: Any = param(
        False, Ignored("the solver decides what it computes beforehand.", Boolean | Array)
    )
    max_iter: int | None = param(
        MAX_ITER,
        None | Integer(1),
        "Largest number of rounds of active sets and epochs of coordinate descent, or of steps of the "
        "solver 'gd'. None means 1000.",
    )
    copy_X: bool = shared.COPY_X
    tol: float = param(
        1e-4,
        Real(0, None),
        "A duality gap above tol * y'y / N is reported as not converged. The solver 'gd' stops when "
        "the coefficients move less than tol.",
    )
    warm_start: bool = shared.WARM_START
    positive: bool = POSITIVE
    random_state: Any = shared.NO_RANDOM_STATE
    selection: str = SELECTION
    solver: str = SOLVER
    step: float | None = shared.STEP
    standardize: bool = shared.STANDARDIZE

    coef_: np.ndarray = learned(
        "Coefficients of the encoded columns, shape (n_terms,) or (n_targets, n_terms), in the order "
        "of `terms_`; exactly 0 for the columns that are not used."
    )
    dual_gap_: Any = learned(
        "Upper bound on how far the objective is above its minimum, for each target."
    )
    n_iter_: Any = learned(
        "Number of rounds of active sets and epochs of coordinate descent, for each target."
    )
    history_: dict[str, np.ndarray] = learned(shared.HISTORY)

    _several_targets = True
    _target = "several"

    l1_ratio: float  # a parameter of the elastic net, 1 for the lasso
    path = staticmethod(enet_path)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return penalised_evenly(self, self.alpha > 0, problem, self._fit_columns)

    def _fit_columns(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._lasso.solver import Net, elastic_net

        alpha, ratio = self.alpha, self.l1_ratio
        if self.solver == "gd":
            return descend(self, problem, float(alpha), ratio)
        steps = self.max_iter or MAX_ITER
        net = Net(
            alpha * ratio, alpha * (1 - ratio), self.fit_intercept, self.positive, self.tol, steps
        )
        Y, start = problem.y.reshape(problem.n, -1), None
        if self.warm_start and self.__sklearn_is_fitted__():
            last = np.atleast_2d(self.coef_)
            start = last if last.shape == (Y.shape[1], problem.p) else None
        with (
            parallel.one_blas_thread(),
            converting(lambda state: shaped(state["coef"], state["intercept"], problem.y)),
        ):
            found = elastic_net(problem.X, Y, problem.weights, net, start)
        return learned_from(self, found, problem.y)

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a CSR matrix."""
        from scipy.sparse import csr_matrix

        self._check_fitted()
        return csr_matrix(np.atleast_2d(self.coef_))


def learned_from(model: Any, found: Any, y: np.ndarray) -> dict[str, Any]:
    """The learned attributes of a solution by coordinate descent."""
    several = len(found.coef) > 1
    return model._finished(found.coef, found.intercept, y) | {
        "means_": found.means,
        "dual_gap_": found.gap if several else float(found.gap[0]),
        "n_iter_": found.n_iter if several else int(found.n_iter[0]),
        "history_": found.history,
        "status_": found.status,
    }


def descend(model: Any, problem: Problem, alpha: float, l1_ratio: float) -> dict[str, Any]:
    """Proximal gradient descent on the original scale."""
    from pellucid.linear_model._ridge.descent import descend_squares
    from pellucid.numerics.objectives.penalties import Penalty

    share = problem.weights / problem.weights.sum()

    def evaluate(A: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray]:
        r = A @ b - problem.y
        return 0.5 * float(share @ r**2), A.T @ (share * r)

    penalty = Penalty(np.append(np.full(problem.p, alpha), 0.0), l1_ratio)
    means = share @ as_dense(problem.table)
    learned = descend_squares(model, problem, share, means, 0.0, penalty, evaluate)
    return learned | {"dual_gap_": np.nan}


# Of these the paths have some too.
PARAMETERS = {
    "eps": Real(0, None, "neither"),
    "alphas": Integer(1) | Array,
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
            "the solver decides what it computes beforehand.", Choice("auto") | Boolean | Array
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
    copy_X: bool = shared.COPY_X
    verbose: Any = shared.VERBOSE
    n_jobs: int | None = shared.N_JOBS.replace(
        description="Number of folds fitted at the same time; -1 uses all CPUs, None the number of "
        "`pellucid.parallel.set_threads`. The results do not depend on it."
    )
    positive: bool = POSITIVE
    random_state: Any = shared.NO_RANDOM_STATE
    selection: str = SELECTION
    solver: str = SOLVER.replace(
        description="Solver of the last fit, on all rows: 'cd' is coordinate descent, 'gd' is plain "
        "proximal gradient descent, which is easy to watch."
    )
    step: float | None = shared.STEP
    standardize: bool = shared.STANDARDIZE

    alpha_: float = learned("The chosen penalty.")
    l1_ratio_: float = learned("The chosen share of the L1 penalty; 1 for the lasso.")
    alphas_: np.ndarray = learned(
        "Penalties tried, in falling order, shape (n_alphas,), or (n_l1_ratios, n_alphas) for several "
        "l1_ratio unless `alphas` gives the penalties."
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
    history_: dict[str, np.ndarray] = learned(shared.HISTORY)

    # A short path is enough for the contract tests.
    _check_params = {"alphas": 8}
    _exempt = {
        "order_of_rows_does_not_matter": "folds are contiguous, as in scikit-learn: they follow it"
    }

    l1_ratio: Any  # a parameter of the elastic net, 1 for the lasso
    path = staticmethod(enet_path)

    fit = fit_by_folds
    get_metadata_routing = route_to_splitter

    def _fit(self, problem: Problem, split: Mapping[str, Any] = {}) -> dict[str, Any]:
        return penalised_evenly(self, True, problem, partial(self._fit_columns, split))

    def _fit_columns(self, split: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
        """Errors along all paths, the best point, and the fit on all rows there."""
        from pellucid.linear_model._lasso import cv_solver as search
        from pellucid.linear_model._lasso.solver import Net, elastic_net

        owner, shares = type(self).__name__, Real(0, 1, "both")
        l1_ratios = number_list(owner, "l1_ratio", self.l1_ratio, shares).tolist()
        net = Net(0.0, 0.0, self.fit_intercept, self.positive, self.tol, self.max_iter)
        with parallel.using(self.n_jobs), parallel.one_blas_thread():
            table = search.prepared(problem, self.fit_intercept)
            correlation = search.target_products(table)
            alphas = [_penalties(self, problem, ratio, correlation) for ratio in l1_ratios]
            folds = make_folds(self.cv, problem, split)
            grid = search.Grid(l1_ratios, alphas, net)
            errors = search.errors_by_fold(table, folds, grid)
            ratio, alpha, best = _best(errors, l1_ratios, alphas)
            if self.solver == "gd":
                learned = descend(self, problem, alpha, ratio)
            else:
                chosen = replace(net, l1=alpha * ratio, l2=alpha * (1 - ratio))
                given = (problem.X, problem.y[:, None], problem.weights)
                if is_watched():
                    _record_path(table, grid, l1_ratios.index(ratio), errors)
                with unwatched():
                    found = elastic_net(*given, chosen, None, table.task)
                learned = learned_from(self, found, problem.y)
        status = learned["status_"]
        if status.ok:
            error = f"mean squared error {best:.4g}"
            message = f"alpha = {alpha:.4g} predicts left-out rows best ({error})."
            status = Status(status.code, message)
        several, own = len(l1_ratios) > 1, Integer(1).accepts(self.alphas)
        return learned | {
            "alpha_": alpha, "l1_ratio_": ratio,
            "alphas_": np.array(alphas) if several and own else alphas[0],
            "mse_path_": errors if several else errors[0], "status_": status,
        }  # fmt: skip

    def _check_state(self) -> None:
        """Refuse a file whose coefficients or chosen penalty are impossible."""
        super()._check_state()
        expect_number(self, "alpha_", 0)
        expect_number(self, "l1_ratio_", 0)


def _record_path(table: Any, grid: Any, r: int, errors: np.ndarray) -> None:
    """One step per penalty of the chosen l1_ratio, on all rows."""
    from pellucid.linear_model._lasso.cv_solver import path_of_all_rows

    recorder, alphas = Recorder("penalties", len(grid.alphas[r])), grid.alphas[r].tolist()
    path = zip(alphas, *path_of_all_rows(table, grid, r), errors[r].mean(axis=1).tolist())
    for k, (alpha, coef, intercept, error) in enumerate(path, 1):
        used = int(np.count_nonzero(coef))
        recorder.step(
            k, {"coef_": coef, "intercept_": float(intercept)}, {"alpha": alpha}, objective=error,
            alpha=alpha, nonzero=used, sentence=f"With alpha = {alpha:.4g}, the number of nonzero "
            f"coefficients is {used} and the mean squared error on left-out rows is {error:.4g}.",
        )  # fmt: skip


def _penalties(
    model: Any, problem: Problem, l1_ratio: float, correlation: np.ndarray | None
) -> np.ndarray:
    if Integer(1).accepts(model.alphas) and l1_ratio == 0:
        raise ParameterError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid "
            "by providing your estimator with the appropriate `alphas=` argument."
        )
    return penalty_grid(
        type(model).__name__, problem.X, problem.y[:, None], problem.weights, model.alphas,
        l1_ratio, model.eps, model.fit_intercept, model.positive, correlation,
    )  # fmt: skip


def _best(
    errors: np.ndarray, l1_ratios: list[float], alphas: list[np.ndarray]
) -> tuple[float, float, float]:
    """The first of the smallest mean errors: the l1_ratio given first, the largest penalty."""
    mean = errors.mean(axis=2)
    if not np.isfinite(mean).any():
        raise DataError(
            "No penalty has a finite error on the left-out rows: their squares are larger than the "
            "largest float. Rescale y."
        )
    r, a = np.unravel_index(int(np.nanargmin(mean)), mean.shape)
    return float(l1_ratios[r]), float(alphas[r][a]), float(mean[r, a])
