"""Quadratic discriminant analysis: normal classes, each with its own covariance."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.discriminant_analysis.class_covariances import (
    NO_VARIANCE,
    SHRINKAGE,
    check_size,
    chosen_priors,
    class_covariances,
    shrunk,
    shrunk_by_class,
    wide,
)
from pellucid.discriminant_analysis.quadratic import (
    QuadraticClassifier,
    whitened_classes,
    whitened_in_span,
)
from pellucid.errors import ParameterError
from pellucid.parameters import (
    Boolean,
    Choice,
    EstimatorInstance,
    Ignored,
    Real,
    learned,
    param,
    shared,
)


class QuadraticDiscriminantAnalysis(QuadraticClassifier):
    """Quadratic discriminant analysis: the class c that maximises

        log p(c) - 1/2 log |C_c| - 1/2 (x - m_c)' C_c^-1 (x - m_c)

    m_c and C_c (divisor n_c) are the mean and covariance of the rows of class c. In directions in which
    a class does not vary (too few rows, or collinear columns) the pooled variance of all classes is
    used; `status_` names the columns.

    Examples
    --------
    >>> from pellucid.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> X = [[-1.0, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]]
    >>> QuadraticDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2]).predict([[-0.8, -1]]).tolist()
    [1]
    """

    solver: str = param(
        "svd",
        Choice("svd", "eigen"),
        "Both give the same result. 'svd' takes `reg_param`; 'eigen' takes a shrinkage.",
    )
    shrinkage: Any = SHRINKAGE.replace(
        description=f"{SHRINKAGE.description} For the solver 'eigen'."
    )
    priors: Any = shared.PRIORS
    reg_param: float = param(
        0.0,
        Real(0, 1, "both"),
        "Share of the identity in each covariance: (1 - reg_param) C_c + reg_param 1. For the solver "
        "'svd'.",
    )
    store_covariance: bool = param(False, Boolean, "Whether to keep `covariance_`.")
    tol: float = param(
        1e-4, Ignored("directions without variance are found in standard units.", Real(0, None))
    )
    covariance_estimator: Any = param(
        None,
        None | EstimatorInstance,
        "Estimator with `fit` and `covariance_` that replaces the covariance of each class. For the "
        "solver 'eigen'.",
    )

    scalings_: list[np.ndarray] = learned(
        "Variances of each class along its principal axes. With more columns than rows, only axes along "
        "which its rows vary; the variance along all others is `reg_param`."
    )
    rotations_: list[np.ndarray] = learned("Directions of the principal axes of each class.")
    covariance_: list[np.ndarray] = learned(
        "Covariance of each class; only with `store_covariance=True`."
    )

    def _fit(self, problem: Problem) -> dict[str, Any]:
        if self.solver == "svd" and (self.shrinkage, self.covariance_estimator) != (None, None):
            raise ParameterError(
                "solver='svd' takes neither shrinkage nor covariance_estimator. Use solver='eigen', "
                "or reg_param."
            )
        with parallel.one_blas_thread():
            learned = self._fit_wide(problem) if self.solver == "svd" and wide(problem) else None
            if learned is not None:
                return learned
            found = class_covariances(problem, own=True)
            assert found.own is not None
            priors = chosen_priors(self.priors, found.share, type(self).__name__)
            special = shrunk_by_class(problem, found, self.shrinkage, self.covariance_estimator)
            covariances = (
                special if special is not None else self._regularised(found.own, found.units)
            )
            learned = whitened_classes(found, covariances, problem.classes, problem.schema.terms)
            return learned | {"priors_": priors} | self._axes(covariances, found.units)

    def _fit_wide(self, problem: Problem) -> dict[str, Any] | None:
        """With more columns than rows: in the space of the rows; None if `reg_param` is too small."""
        from pellucid.discriminant_analysis.row_space import (
            class_rows,
            plain_whitenings,
            principal_axes,
            regular_whitenings,
            span_of,
        )

        check_size(problem, problem.n_classes)
        found, reg = class_rows(problem), float(self.reg_param)
        priors = chosen_priors(self.priors, found.share, type(self).__name__)
        middle = found.between()
        total = found.pooled + np.einsum("ij,ij->j", middle, middle)
        spread = np.sqrt(np.where(total > 0, total, 1.0))
        if reg and not (reg > NO_VARIANCE * spread**2).all():
            return None
        if reg:
            span = span_of(found, np.ones_like(spread), 1.0 / reg)
            whitenings = regular_whitenings(found, span, reg)
        else:
            span = span_of(found, spread, 0.0)
            whitenings = plain_whitenings(found, span, spread)
        learned = whitened_in_span(found, span, whitenings, problem.classes, problem.schema.terms)
        axes = [principal_axes(found, k) for k in range(len(priors))]
        learned |= {"scalings_": [(1 - reg) * values + reg for values, _ in axes]}
        learned |= {"rotations_": [vectors for _, vectors in axes], "priors_": priors}
        if self.store_covariance:
            parts = [found.of(k) for k in range(len(priors))]
            one = np.diag(np.full(problem.p, reg))
            learned["covariance_"] = [(1 - reg) * (rows.T @ rows) + one for rows in parts]
        return learned

    def _regularised(self, own: np.ndarray, units: np.ndarray) -> np.ndarray:
        if self.solver == "eigen":
            return np.stack([shrunk(cov, self.shrinkage) for cov in own])
        if not self.reg_param:
            return own
        with np.errstate(over="ignore"):
            # The identity on the original scale.
            one = np.diag(np.minimum(np.ldexp(1.0, -2 * units), 1e250))
        return (1 - self.reg_param) * own + self.reg_param * one

    def _axes(self, covariances: np.ndarray, units: np.ndarray) -> dict[str, Any]:
        """Principal axes on the original scale, for the user."""
        top = np.finfo(float).max / len(units)
        with np.errstate(over="ignore"):
            user = np.clip(np.ldexp(covariances, units[:, None] + units), -top, top)
        values, vectors = _eigen(user)
        out: dict[str, Any] = {
            "scalings_": list(np.maximum(values[:, ::-1], 0.0)),
            "rotations_": list(np.ascontiguousarray(vectors[:, :, ::-1])),
        }
        if self.store_covariance:
            out["covariance_"] = list(user)
        return out


def _eigen(covariances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of each, without overflow for cells near the largest float64."""
    powers = np.frexp(np.abs(covariances).max(axis=(1, 2), initial=0.0))[1]
    values, vectors = np.linalg.eigh(np.ldexp(covariances, -powers[:, None, None]))
    with np.errstate(over="ignore"):
        top = np.finfo(float).max
        return np.clip(np.ldexp(values, powers[:, None]), -top, top), vectors
