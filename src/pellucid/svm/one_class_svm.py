"""`OneClassSVM`: the region that contains most rows, in the feature space of a kernel."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.parameters import Real, changed, param
from pellucid.records import Recorder, converting
from pellucid.svm.kernel_base import SHORT_ROWS, KernelSVM


class OneClassSVM(KernelSVM):
    """The support of a distribution: minimise 1/2 |w|**2 - rho nu sum v + sum v_i (rho - w f(x_i))+.

    f is the feature map of the kernel and v_i the weight of a row. A row is an inlier (+1) if
    w f(x) > rho, otherwise an outlier (-1). At most the share nu of the training rows are outliers, and
    at least this share are support vectors.

    Examples
    --------
    >>> from pellucid.svm import OneClassSVM
    >>> model = OneClassSVM(gamma=1.0, nu=0.5).fit([[0.0], [0.44], [0.45], [0.46], [1.0]])
    >>> model.predict([[0.45], [3.0]])
    array([ 1, -1])
    """

    tol: float = changed(
        description="Largest accepted violation of the optimality conditions, times nu and the total "
        "weight of the rows if that product is below 1."
    )
    nu: float = param(
        0.5,
        Real(0, 1, "right"),
        "Largest share of training rows that may be outliers.",
        after="tol",
    )

    _kind = "outlier_detector"
    _free_intercept = False  # the border is as far from the origin as possible

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the region; weight k counts as k equal rows. y is ignored."""
        return self._learn(X, weights=sample_weight)

    def _solve(self, problem: Problem) -> dict[str, Any]:
        X, facts = self._prepared(problem, problem.weights)
        n, weights = problem.n, problem.weights
        with converting(lambda at: self._single(problem, X, facts, at["a"], at["rho"])):
            recorder = Recorder("OneClassSVM")
        # Any point with sum a = nu sum v and 0 <= a <= v is a valid start; rows are filled in order.
        filled = np.cumsum(weights) - weights
        start = np.clip(self.nu * weights.sum() - filled, 0.0, weights)
        found = parallel.interruptible(
            lambda: self._minimum(
                X, facts["gamma_"], recorder, unit=float(start.sum()), signs=np.ones(n),
                linear=np.zeros(n), limits=weights.copy(), start=start, base=np.arange(n),
            ),
            short=n <= SHORT_ROWS,
        )  # fmt: skip
        a, _, rho = found.x
        return self._learned_single(problem, X, facts, a, rho, found, recorder)

    @property
    def offset_(self) -> np.ndarray:
        """Threshold of `score_samples`: rows with a larger score are inliers."""
        self._check_fitted()
        return -self.intercept_

    def _raw(self, X: Any) -> np.ndarray:
        return self._sums(X, self.dual_coef_.T)[:, 0]

    def _margin(self, X: Any) -> np.ndarray:
        return self._raw(X) + self.intercept_[0]

    def _labels(self, X: Any) -> np.ndarray:
        return np.where(self._finite(self._margin(X)) > 0, 1, -1)

    def score_samples(self, X: Any) -> np.ndarray:
        """Raw score of each row: larger scores lie further inside the region."""
        return self._answer(self._raw, X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distance to the border: `score_samples` minus `offset_`; positive for inliers."""
        return self._answer(self._margin, X)

    def predict(self, X: Any) -> np.ndarray:
        """+1 for inliers, -1 for outliers."""
        return self._answer(self._labels, X)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, then return +1 or -1 for each row."""
        return self.fit(X, y, sample_weight=sample_weight).predict(X)

    def _explain(self, X: Any) -> Any:
        return self._explain_single(X, self._margin(X), "votes")
