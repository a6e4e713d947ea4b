"""The Gaussian Bayes classifier: LDA, QDA and Gaussian naive Bayes as one family."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.discriminant_analysis.class_covariances import (
    chosen_priors,
    clouds,
    shrunk,
    shrunk_by_class,
)
from pellucid.discriminant_analysis.quadratic import QuadraticClassifier, usable
from pellucid.parameters import Array, Choice, Either, Nothing, Real

# How the covariance of each class is made from its own and from the pooled one.
FORMS = {
    "full": lambda own, pooled: own,
    "shared": lambda own, pooled: pooled,
    "diagonal": lambda own, pooled: np.diag(np.diagonal(own)),
    "spherical": lambda own, pooled: np.eye(len(own)) * np.trace(own) / len(own),
}


class GaussianBayesClassifier(QuadraticClassifier):
    """Bayes' rule with normal classes: the class c that maximises

        log p(c) - 1/2 log |C_c| - 1/2 (x - m_c)' C_c^-1 (x - m_c)

    `covariance` says what C_c is: "full" is quadratic discriminant analysis, "shared" (one
    covariance for all classes) linear discriminant analysis, "diagonal" Gaussian naive Bayes,
    "spherical" the distance from the class mean in units of the class's spread. All covariances have
    divisor n.

    Parameters
    ----------
    covariance : {"full", "shared", "diagonal", "spherical"}, default="full"
    priors : array of the chances of the classes, or None for their shares
    shrinkage : None, "auto" (Ledoit-Wolf) or float in [0, 1]
        Share of the mean variance times the identity in each covariance.
    table : Table, optional

    Attributes
    ----------
    means_ : (classes, terms), in the order of `terms_`
    covariances_ : (classes, terms, terms), in units of `2.0**units_`
    priors_, classes_, collinear_, status_
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.discriminant_analysis import GaussianBayesClassifier
    >>> X = [[-1.0, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]]
    >>> model = GaussianBayesClassifier(covariance="shared").fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1], [1, 2]]).tolist()
    [1, 2]
    """

    _parameters = {
        "covariance": Choice(*FORMS),
        "priors": Either(Nothing, Array),
        "shrinkage": Either(Nothing, Choice("auto"), Real(0, 1, "both")),
    }

    def __init__(
        self,
        *,
        covariance: str = "full",
        priors: Any = None,
        shrinkage: Any = None,
        table: Any = None,
    ) -> None:
        self.covariance = covariance
        self.priors = priors
        self.shrinkage = shrinkage
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find mean and covariance of every class."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        with parallel.one_blas_thread():
            found = clouds(problem, own=True)
            priors = chosen_priors(self.priors, found.share, type(self).__name__)
            own = shrunk_by_class(problem, found, self.shrinkage, None)
            own = found.own if own is None else own
            assert own is not None
            pooled = np.tensordot(found.share, own, axes=1)
            form = FORMS[self.covariance]
            covariances = np.stack([shrunk(form(cov, pooled), self.shrinkage) for cov in own])
            learned = usable(found, covariances, problem.classes, problem.schema.terms)
        return learned | {"priors_": priors, "covariances_": covariances}
