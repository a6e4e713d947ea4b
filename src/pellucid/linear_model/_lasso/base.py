"""What `Lasso` and `ElasticNet` share: parameters, and the steps from a problem to a fit.

Invariant: both minimise one objective; the lasso has l1_ratio = 1.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.linear_model.base import POSITIVE, LinearPredictor
from pellucid.linear_model.paths import enet_path
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.numerics.row_blocks import as_dense
from pellucid.parameters import (
    COPY_X,
    HISTORY,
    NO_RANDOM_STATE,
    STANDARDIZE,
    STEP,
    WARM_START,
    Array,
    Boolean,
    Choice,
    Either,
    Ignored,
    Integer,
    Nothing,
    Real,
    learned,
    param,
    positional,
)

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
        False, Ignored("the solver decides what it computes beforehand.", Either(Boolean, Array))
    )
    max_iter: int | None = param(
        MAX_ITER,
        Either(Nothing, Integer(1)),
        "Largest number of rounds of active sets and epochs of coordinate descent, or of steps of the "
        "solver 'gd'. None means 1000.",
    )
    copy_X: bool = COPY_X
    tol: float = param(
        1e-4,
        Real(0, None),
        "A duality gap above tol * y'y / N is reported as not converged. The solver 'gd' stops when "
        "the coefficients move less than tol.",
    )
    warm_start: bool = WARM_START
    positive: bool = POSITIVE
    random_state: Any = NO_RANDOM_STATE
    selection: str = SELECTION
    solver: str = SOLVER
    step: float | None = STEP
    standardize: bool = STANDARDIZE

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
    history_: dict[str, np.ndarray] = learned(HISTORY)

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
        with parallel.one_blas_thread():
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
    several = y.ndim == 2
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
