"""Linear discriminant analysis: normal classes with one covariance."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError
from pellucid.numerics import bayes
from pellucid.numerics.linear_scores import class_scores, explained_scores
from pellucid.numerics.objectives.losses import class_probabilities
from pellucid.parameters import (
    Boolean,
    Choice,
    EstimatorInstance,
    Integer,
    Real,
    learned,
    positional,
    shared,
)
from pellucid.persist.fitted_state import expect_array, expect_count, n_terms
from pellucid.records import Status
from pellucid.transformer import Transformer


class LinearDiscriminantAnalysis(Classifier, Transformer):
    """Linear discriminant analysis predicts the class c that maximises

        log p(c) - 1/2 (x - m_c)' C^-1 (x - m_c)

    m_c are the means of the classes and C is their pooled covariance (divisor n). The scores are linear
    in x. `transform` projects onto the directions that separate the means best. Directions without
    variance, due to collinear columns, are left out.

    Examples
    --------
    >>> from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X = [[-1.0, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]]
    >>> model = LinearDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1]]).tolist(), model.transform(X).shape
    ([1], (6, 1))
    """

    solver: str = positional(
        default="svd",
        check=Choice("svd", "lsqr", "eigen"),
        description="'svd' takes no shrinkage; 'lsqr' and 'eigen' do. 'lsqr' has no `transform`.",
        kw_only=False,
    )
    shrinkage: Any = positional(
        default=None,
        check=None | Choice("auto") | Real(0, 1, "both"),
        description="Weight s in the shrunk covariance (1 - s) C + s v I, where v is the mean variance; "
        "'auto' is the estimate of Ledoit and Wolf for each class. For the solvers 'lsqr' and 'eigen'.",
        kw_only=False,
    )
    priors: Any = positional(
        default=None,
        check=shared.PRIORS.check,
        description=shared.PRIORS.description,
        kw_only=False,
    )
    n_components: int | None = positional(
        default=None,
        check=None | Integer(1),
        description="Number of columns of `transform`. None, and the largest value, is "
        "min(n_classes - 1, n_terms).",
        kw_only=False,
    )
    store_covariance: bool = positional(
        default=False,
        check=Boolean,
        description="Whether to keep `covariance_` with the solver 'svd'; the others always do.",
        kw_only=False,
    )
    tol: float = positional(
        default=1e-4,
        check=Real(0, None),
        description="The solver 'svd' standardises the columns within the classes and leaves out "
        "directions whose standard deviation is then at most tol.",
        kw_only=False,
    )
    covariance_estimator: Any = positional(
        default=None,
        check=None | EstimatorInstance,
        description="Estimator with `fit` and `covariance_` that replaces the covariance of each class. "
        "For the solvers 'lsqr' and 'eigen'.",
        kw_only=False,
    )

    coef_: np.ndarray = learned(
        "Coefficients of the scores, shape (1, n_terms) for two classes, otherwise (n_classes, n_terms)."
    )
    intercept_: np.ndarray = learned("Intercepts of the scores, one for each row of `coef_`.")
    means_: np.ndarray = learned("Means of the classes, shape (n_classes, n_terms).")
    xbar_: np.ndarray = learned("Mean of `means_`, weighted by `priors_`, shape (n_terms,).")
    priors_: np.ndarray = learned("Prior probabilities of the classes.")
    scalings_: np.ndarray = learned(
        "Directions of `transform`, shape (n_terms, rank); not with the solver 'lsqr'."
    )
    explained_variance_ratio_: np.ndarray = learned(
        "Share of the variance between the classes along each direction; not with the solver 'lsqr'."
    )
    covariance_: np.ndarray = learned("Covariance within the classes, shape (n_terms, n_terms).")
    n_directions_: int = learned("Number of columns of `transform`.")
    offset_: np.ndarray = learned("Intercepts of the scores for rows minus `shift_`.")
    shift_: np.ndarray = learned(
        "Values subtracted from rows before `coef_` and `offset_` are used."
    )
    status_: Status = learned(
        "How the solver ended; it names columns without a variance of their own within the classes."
    )

    _takes_sparse = False
    _shares_rows = property(
        lambda self: self.shrinkage != "auto" and self.covariance_estimator is None
    )
    _takes_text = True
    _reads_float32 = True

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.discriminant_analysis.linear_solvers import solve

        assert problem.classes is not None
        if self.solver == "svd" and (self.shrinkage, self.covariance_estimator) != (None, None):
            raise ParameterError(
                "solver='svd' takes neither shrinkage nor covariance_estimator. Use solver='lsqr' or "
                "solver='eigen'."
            )
        if problem.total <= len(problem.classes):
            raise DataError(
                "The number of samples must be more than the number of classes: "
                f"there are {problem.n_all} row(s) and {len(problem.classes)} classes."
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
                f"The coefficient of {problem.schema.terms[j]!r} overflows float64, because the numbers "
                "in this column are tiny. Rescale the column, for example multiply it by 1e18."
            )
        return learned

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes (n, K); for two classes the log-odds of the second (n,)."""
        return self._answer(self._scores, X, direct=True)

    def _propagates_nan(self) -> bool:
        """True unless a coefficient of 0 hides a cell that is not finite."""
        shown = self.solver == "lsqr" or self.scalings_[:, : self.n_directions_].any(axis=1).all()
        return bool(np.all(self.coef_) and shown)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return class_scores(X - self.shift_ if self.shift_.any() else X, self.coef_, self.offset_)

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return class_probabilities(self._finite(self._scores(X)))

    def _codes(self, X: np.ndarray) -> np.ndarray:
        scores = self._finite(self._scores(X))
        return bayes.leading(scores, lambda rows: class_probabilities(scores[rows]))

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
        base = self.coef_ @ (self.xbar_ - self.shift_) + self.offset_
        parts = explained_scores(X, self.xbar_, self.coef_, base, self._scores(X))
        return parts | {"scale": "log-odds"}

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
            expect_count(self, "n_directions_", self.scalings_.shape[1])
