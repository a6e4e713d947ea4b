"""Linear discriminant analysis: normal clouds of one shape."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError
from pellucid.numerics import bayes
from pellucid.numerics.linear_scores import linear_scores
from pellucid.numerics.objectives.links import expit
from pellucid.numerics.objectives.losses import softmax
from pellucid.parameters import Array, Boolean, Choice, Either, Integer, Learner, Nothing, Real
from pellucid.persist.fitted_state import expect_array, n_terms
from pellucid.transformer import Transformer


class LinearDiscriminantAnalysis(Classifier, Transformer):
    """Linear discriminant analysis: the class c that maximises

        log p(c) - 1/2 (x - m_c)' C^-1 (x - m_c)

    m_c are the means of the classes, C their pooled covariance (divisor n). The scores are linear in
    x. `transform` projects on the directions that separate the means best. Columns that others
    determine take no part twice: directions without variance are left out.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        "lsqr" and "eigen" take a shrinkage; "lsqr" has no `transform`.
    shrinkage : None, "auto" (Ledoit-Wolf, class by class) or float in [0, 1]
    priors : array of the chances of the classes, or None for their shares
    n_components : int, at most min(classes - 1, terms), or None for that many
        Columns of `transform`.
    store_covariance : bool, default=False
        Keep `covariance_` with solver="svd"; the others always do.
    tol : float, default=1e-4
        Spread, in units of the columns' own, below which "svd" ignores a direction.
    covariance_estimator : object with `fit` and `covariance_`, with "lsqr" or "eigen"
    table : Table, optional

    Attributes
    ----------
    coef_ : (1, terms), or (classes, terms), in the order of `terms_`; intercept_
    means_ : (classes, terms); xbar_ : their mean
    scalings_ : (terms, rank), directions of `transform`; explained_variance_ratio_
    covariance_, priors_, classes_
    status_ : names columns without variance of their own within the classes
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X = [[-1.0, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]]
    >>> model = LinearDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1]]).tolist(), model.transform(X).shape
    ([1], (6, 1))
    """

    _takes_sparse = False
    _takes_text = True
    _parameters = {
        "solver": Choice("svd", "lsqr", "eigen"),
        "shrinkage": Either(Nothing, Choice("auto"), Real(0, 1, "both")),
        "priors": Either(Nothing, Array),
        "n_components": Either(Nothing, Integer(1)),
        "store_covariance": Boolean,
        "tol": Real(0, None),
        "covariance_estimator": Either(Nothing, Learner),
    }

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
        *,
        table: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the means of the classes and their common covariance."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.discriminant_analysis.linear_solvers import solve

        assert problem.classes is not None
        if self.solver == "svd" and (self.shrinkage, self.covariance_estimator) != (None, None):
            raise ParameterError(
                "solver='svd' takes neither shrinkage nor covariance_estimator. Use 'lsqr' or 'eigen'."
            )
        if problem.total <= len(problem.classes):
            raise DataError(
                "The number of samples must be more than the number of classes: "
                f"{problem.n} row(s), {len(problem.classes)} classes."
            )
        most = min(len(problem.classes) - 1, problem.p)
        if self.n_components is not None and self.n_components > most:
            raise ParameterError(
                "n_components cannot be larger than min(n_features, n_classes - 1) = "
                f"{most}. Got {self.n_components}."
            )
        with parallel.one_blas_thread():
            learned = solve(self, problem, self.n_components or most)
        for j in np.flatnonzero(~np.isfinite(learned["coef_"]).all(axis=0)):
            raise DataError(
                f"The coefficient of {problem.schema.terms[j]!r} is larger than the largest float, "
                "because the numbers of this column are tiny. Multiply the column by 2**60 or so."
            )
        return learned

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes (n, K); for two classes the log-odds of the second (n,)."""
        return self._answer(self._scores, X, direct=True)

    def _reveals(self) -> bool:
        """Scores do, and all else asks for finite ones; not if a factor of 0 passes a cell over."""
        shown = self.solver == "lsqr" or self.scalings_[:, : self.n_directions_].any(axis=1).all()
        return bool(np.all(self.coef_) and shown)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        if self.shift_.any():
            X = X - self.shift_
        if len(self.classes_) == 2:
            return linear_scores(X, self.coef_[0], self.offset_[0])
        return linear_scores(X, self.coef_, self.offset_)

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return _chances(self._finite(self._scores(X)))

    def _codes(self, X: np.ndarray) -> np.ndarray:
        scores = self._finite(self._scores(X))
        return bayes.leading(scores, lambda rows: _chances(scores[rows]))

    def _transform(self, X: np.ndarray) -> np.ndarray:
        if self.solver == "lsqr":
            raise NotImplementedError(
                "transform not implemented for 'lsqr' solver (use 'svd' or 'eigen')."
            )
        origin = self.xbar_ if self.solver == "svd" else np.zeros(1)
        return (X - origin) @ self.scalings_[:, : self.n_directions_]

    @property
    def _n_features_out(self) -> int:
        return self.scalings_[:, : self.n_directions_].shape[1]

    def _explain(self, X: np.ndarray) -> dict[str, Any]:
        scores = self._scores(X)
        return {
            "base": self.coef_ @ (self.xbar_ - self.shift_) + self.offset_,
            "contributions": (X - self.xbar_)[:, :, None] * self.coef_.T,
            "prediction": scores.reshape(len(scores), -1),
            "scale": "log-odds",
            "method": "coefficient times distance from the training mean",
        }

    def _check_state(self) -> None:
        K, p = len(self.classes_), n_terms(self)
        rows = 1 if K == 2 else K
        expect_array(self, "coef_", rows, p)
        expect_array(self, "means_", K, p)
        expect_array(self, "priors_", K)
        for name in ("intercept_", "offset_"):
            expect_array(self, name, rows)
        for name in ("xbar_", "shift_"):
            expect_array(self, name, p)
        if self.solver != "lsqr":
            expect_array(self, "scalings_", p, None)


def _chances(scores: np.ndarray) -> np.ndarray:
    """Probabilities (n, K) of linear scores, (n,) log-odds for two classes."""
    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    return softmax(scores)
