"""The Gaussian Bayes classifier: LDA, QDA and Gaussian naive Bayes as one family."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.discriminant_analysis.class_covariances import (
    SHRINKAGE,
    chosen_priors,
    class_covariances,
    shrunk,
    shrunk_by_class,
)
from pellucid.discriminant_analysis.quadratic import QuadraticClassifier, whitened_classes
from pellucid.parameters import Choice, learned, param, shared

# The covariance that each class uses, from its own and the pooled one.
FORMS = {
    "full": lambda own, pooled: own,
    "shared": lambda own, pooled: pooled,
    "diagonal": lambda own, pooled: np.diag(np.diagonal(own)),
    "spherical": lambda own, pooled: np.eye(len(own)) * np.trace(own) / len(own),
}


class GaussianBayesClassifier(QuadraticClassifier):
    """Bayes' rule with normal classes: the class c that maximises

        log p(c) - 1/2 log |C_c| - 1/2 (x - m_c)' C_c^-1 (x - m_c)

    `covariance` is the form of C_c: "full" is quadratic discriminant analysis, "shared" (one covariance
    for all classes) is linear discriminant analysis, "diagonal" is Gaussian naive Bayes, and "spherical"
    compares Euclidean distances from the class means, scaled by class. All covariances have divisor n.

    Examples
    --------
    >>> from pellucid.discriminant_analysis import GaussianBayesClassifier
    >>> X = [[-1.0, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]]
    >>> model = GaussianBayesClassifier(covariance="shared").fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1], [1, 2]]).tolist()
    [1, 2]
    """

    covariance: str = param(
        "full",
        Choice(*FORMS),
        "Form of the covariances: 'full' (one for each class), 'shared' (one for all classes), "
        "'diagonal', or 'spherical' (a multiple of the identity).",
    )
    priors: Any = shared.PRIORS
    shrinkage: Any = SHRINKAGE

    covariances_: np.ndarray = learned(
        "Covariances of the classes, shape (n_classes, n_terms, n_terms), in units of 2.0**units_."
    )

    def _fit(self, problem: Problem) -> dict[str, Any]:
        with parallel.one_blas_thread():
            found = class_covariances(problem, own=True)
            priors = chosen_priors(self.priors, found.share, type(self).__name__)
            own = shrunk_by_class(problem, found, self.shrinkage, None)
            own = found.own if own is None else own
            assert own is not None
            pooled = np.tensordot(found.share, own, axes=1)
            form = FORMS[self.covariance]
            covariances = np.stack([shrunk(form(cov, pooled), self.shrinkage) for cov in own])
            learned = whitened_classes(found, covariances, problem.classes, problem.schema.terms)
        return learned | {"priors_": priors, "covariances_": covariances}
