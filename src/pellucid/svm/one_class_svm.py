"""`OneClassSVM`: the region where most rows lie, in the space of a kernel."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.parameters import Real
from pellucid.records import Recorder
from pellucid.svm.explain import linear_parts, one_speaks
from pellucid.svm.kernel_base import KERNEL_PARAMETERS, KernelMachine, one_machine


class OneClassSVM(KernelMachine):
    """The support of a distribution: minimise 1/2 |w|**2 - rho nu sum v + sum v_i (rho - w f(x_i))+.

    f is the map of the kernel, v_i the weight of a row. A row is an inlier (+1) where w f(x) > rho, else
    an outlier (-1); nu bounds the share of training rows outside from above, and the share of support
    vectors from below.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable(X, Z), default="rbf"
    degree : int, default=3
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (columns x variance of all cells), "auto" 1 / columns.
    coef0 : float, default=0.0
    tol : float, default=1e-3
        Violation of the conditions allowed, in units of nu times the weights if that is below 1.
    nu : float, default=0.5
        Largest share of training rows outside, in (0, 1].
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
    support_, support_vectors_, n_support_ : rows on the border or outside.
    dual_coef_ : (1, support vectors), between 0 and 1 (times the weight of the row).
    intercept_, offset_ (= -intercept_), coef_ (linear kernel), shape_fit_, fit_status_
    n_iter_ : steps.
    history_ : dual objective, violation of the conditions and duality gap after each working set.
    status_ : how the solver ended.
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.svm import OneClassSVM
    >>> model = OneClassSVM(gamma=1.0, nu=0.5).fit([[0.0], [0.44], [0.45], [0.46], [1.0]])
    >>> model.predict([[0.45], [3.0]])
    array([ 1, -1])
    """

    _kind = "outlier_detector"
    _free_intercept = False  # the border is as far from 0 as it can be

    _parameters = {"nu": Real(0, 1, "right"), **KERNEL_PARAMETERS}

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
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
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.standardize = standardize
        self.table = table

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the region; weight k counts as k equal rows. y is not used."""
        return self._learn(X, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._machine(problem)

    def _machine(self, problem: Problem) -> dict[str, Any]:
        X, facts = self._prepared(problem, problem.weights)
        n, weights, recorder = problem.n, problem.weights, Recorder("OneClassSVM")
        # Any point of the simplex sum a = nu sum v, 0 <= a <= v will do; rows are filled in order.
        filled = np.cumsum(weights) - weights
        start = np.clip(self.nu * weights.sum() - filled, 0.0, weights)
        found = parallel.interruptible(
            lambda: self._minimum(
                X, facts["gamma_"], recorder, unit=float(start.sum()), signs=np.ones(n),
                linear=np.zeros(n), limits=weights.copy(), start=start, base=np.arange(n),
            )
        )  # fmt: skip
        a, _, rho = found.x
        return one_machine(self, problem, X, facts, a, rho, found, recorder)

    @property
    def offset_(self) -> np.ndarray:
        """What `score_samples` must exceed for an inlier."""
        self._check_fitted()
        return -self.intercept_

    def _raw(self, X: Any) -> np.ndarray:
        return self._sums(X, self.dual_coef_.T)[:, 0]

    def _margin(self, X: Any) -> np.ndarray:
        return self._raw(X) + self.intercept_[0]

    def _sides(self, X: Any) -> np.ndarray:
        return np.where(self._finite(self._margin(X)) > 0, 1, -1)

    def score_samples(self, X: Any) -> np.ndarray:
        """Raw score of each row: the larger, the deeper inside."""
        return self._answer(self._raw, X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distance to the border: `score_samples` minus `offset_`; positive inside."""
        return self._answer(self._margin, X)

    def predict(self, X: Any) -> np.ndarray:
        """+1 for rows inside the region, -1 outside."""
        return self._answer(self._sides, X)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, then +1 or -1 for each row."""
        return self.fit(X, y, sample_weight=sample_weight).predict(X)

    def _explain(self, X: Any) -> Any:
        """Contributions of columns (linear kernel), else the support vectors that speak."""
        if self.kernel == "linear":
            return linear_parts(self, X, self._margin(X), "votes")
        return one_speaks(self, X, self._margin(X), "votes")

    def _check_state(self) -> None:
        """Refuse arrays that do not belong together (model files)."""
        self._check_one_machine()
