"""`SVR`: a tube around the targets, in the space of a kernel."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.parameters import Real
from pellucid.records import Recorder
from pellucid.svm.explain import linear_parts, one_speaks
from pellucid.svm.kernel_base import KERNEL_PARAMETERS, KernelMachine, one_machine


class SVR(KernelMachine, Regressor):
    """Support vector regression: minimise 1/2 |w|**2 + sum_i C_i max(0, |y_i - w f(x_i) - b| - epsilon).

    f is the map of the kernel, C_i = C times the weight of the row. Rows inside the tube of half width
    epsilon cost nothing and carry nothing. The dual has two multipliers per row and is solved by steps
    on pairs until no pair violates the conditions by more than `tol`.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable(X, Z), default="rbf"
    degree : int, default=3
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (columns x variance of all cells), "auto" 1 / columns.
    coef0 : float, default=0.0
    tol : float, default=1e-3
        Violation of the conditions allowed, in units of the largest target if that is below 1.
    C : float, default=1.0
        Price of a unit outside the tube; inf is the hard tube, and targets that no tube holds are an
        error.
    epsilon : float, default=0.1
        Half width of the tube.
    shrinking : bool, default=True
        Accepted for compatibility: working sets always leave out rows at their bounds.
    cache_size : float, default=200
        Megabytes for rows of the kernel matrix.
    verbose : bool, default=False
        Accepted for compatibility; see `pellucid.watching`.
    max_iter : int, default=-1
        Steps allowed; -1 allows ten million, or a hundred per row.
    max_time : float or None
        Seconds allowed; a fit that needs more keeps what it has and says so.
    standardize : bool, default=False
        Subtract the means of the columns and divide numbers by their standard deviations first (levels,
        flags of missing cells and words keep their unit; large sparse tables are only divided).
    table : Table, optional

    Attributes
    ----------
    support_, support_vectors_, n_support_ : rows outside the tube or on its border.
    dual_coef_ : (1, support vectors).
    intercept_, coef_ (linear kernel), shape_fit_, fit_status_
    n_iter_ : steps.
    history_ : dual objective, violation of the conditions and duality gap after each working set.
    status_ : how the solver ended.
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.svm import SVR
    >>> model = SVR(kernel="linear", C=100, epsilon=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(3)
    array([7.])
    """

    _parameters = {
        "C": Real(0, None, "right"),
        "epsilon": Real(0, None, "left"),
        **KERNEL_PARAMETERS,
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        max_time: float | None = None,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.standardize = standardize
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the tube; weight k counts as k equal rows."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._machine(problem)

    def _machine(self, problem: Problem) -> dict[str, Any]:
        X, facts = self._prepared(problem, problem.weights)
        n, y, recorder = problem.n, problem.y, Recorder("SVR")
        limits = self._limits(problem.weights)
        found = parallel.interruptible(
            lambda: self._minimum(
                X, facts["gamma_"], recorder, np.isinf(self.C), float(np.abs(y).max()),
                signs=np.repeat([1.0, -1.0], n),
                linear=np.concatenate([self.epsilon - y, self.epsilon + y]),
                limits=np.tile(limits, 2), start=np.zeros(2 * n), base=np.tile(np.arange(n), 2),
            )
        )  # fmt: skip
        if found.status.code == "not_separable":
            raise DataError(
                "C=inf asks for a tube that holds every row, but no function of this kernel comes "
                f"within epsilon={self.epsilon:g} of all targets. Give a finite C, a wider tube, or a "
                "kernel that bends more."
            )
        a, _, rho = found.x
        return one_machine(self, problem, X, facts, a[:n] - a[n:], rho, found, recorder)

    def _predict(self, X: Any) -> np.ndarray:
        return self._sums(X, self.dual_coef_.T)[:, 0] + self.intercept_[0]

    def _explain(self, X: Any) -> Any:
        """Contributions of columns (linear kernel), else the support vectors that speak."""
        if self.kernel == "linear":
            return linear_parts(self, X, self._predict(X), "response")
        return one_speaks(self, X, self._predict(X), "response")

    def _check_state(self) -> None:
        """Refuse arrays that do not belong together (model files)."""
        self._check_one_machine()
