"""Quadratic discriminant analysis: every class is a normal cloud of its own shape."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.discriminant_analysis.class_covariances import (
    NO_VARIANCE,
    check_pairs,
    chosen_priors,
    clouds,
    shrunk,
    shrunk_by_class,
    wide,
)
from pellucid.discriminant_analysis.quadratic import QuadraticClassifier, usable, usable_in_span
from pellucid.errors import ParameterError
from pellucid.parameters import Array, Boolean, Choice, Either, Learner, Nothing, Real


class QuadraticDiscriminantAnalysis(QuadraticClassifier):
    """Quadratic discriminant analysis: the class c that maximises

        log p(c) - 1/2 log |C_c| - 1/2 (x - m_c)' C_c^-1 (x - m_c)

    m_c and C_c (divisor n_c) are mean and covariance of the rows of class c. A class that does not
    vary in some direction (few rows, columns that others determine) has the variance of all classes
    together there; `status_` names the columns.

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        Both give the same answer; only "eigen" takes a shrinkage, as in scikit-learn.
    shrinkage : None, "auto" (Ledoit-Wolf) or float in [0, 1], with solver="eigen"
    priors : array of the chances of the classes, or None for their shares
    reg_param : float in [0, 1], default=0.0
        Covariances become (1 - reg_param) C_c + reg_param 1, with solver="svd".
    store_covariance : bool, default=False
        Keep `covariance_`.
    tol : float, without effect; directions without variance are decided in standard units
    covariance_estimator : object with `fit` and `covariance_`, with solver="eigen"
    table : Table, optional

    Attributes
    ----------
    means_ : (classes, terms), in the order of `terms_`
    priors_, classes_
    scalings_, rotations_ : lists of the variances along, and the directions of, the principal axes;
        with more columns than rows only those along which the rows of the class vary (along all
        others the variance is `reg_param`)
    covariance_ : list, with store_covariance=True
    collinear_ : columns by class in which it does not vary; status_
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> X = [[-1.0, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]]
    >>> QuadraticDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2]).predict([[-0.8, -1]]).tolist()
    [1]
    """

    _parameters = {
        "solver": Choice("svd", "eigen"),
        "shrinkage": Either(Nothing, Choice("auto"), Real(0, 1, "both")),
        "priors": Either(Nothing, Array),
        "reg_param": Real(0, 1, "both"),
        "store_covariance": Boolean,
        "tol": Real(0, None),
        "covariance_estimator": Either(Nothing, Learner),
    }

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
        table: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find mean and covariance of every class."""
        return self._learn(X, y, weights=sample_weight)

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
            found = clouds(problem, own=True)
            assert found.own is not None
            priors = chosen_priors(self.priors, found.share, type(self).__name__)
            special = shrunk_by_class(problem, found, self.shrinkage, self.covariance_estimator)
            covariances = special if special is not None else self._regular(found.own, found.units)
            learned = usable(found, covariances, problem.classes, problem.schema.terms)
            return learned | {"priors_": priors} | self._axes(covariances, found.units)

    def _fit_wide(self, problem: Problem) -> dict[str, Any] | None:
        """With more columns than rows, from the rows; None if some variances are next to nothing."""
        from pellucid.discriminant_analysis.row_space import (
            class_rows,
            plain_shapes,
            principal_axes,
            regular_shapes,
            span_of,
        )

        check_pairs(problem, problem.n_classes)
        found, reg = class_rows(problem), float(self.reg_param)
        priors = chosen_priors(self.priors, found.share, type(self).__name__)
        middle = found.between()
        total = found.pooled + np.einsum("ij,ij->j", middle, middle)
        spread = np.sqrt(np.where(total > 0, total, 1.0))
        if reg and not (reg > NO_VARIANCE * spread**2).all():
            return None
        if reg:
            span = span_of(found, np.ones_like(spread), 1.0 / reg)
            shapes = regular_shapes(found, span, reg)
        else:
            span = span_of(found, spread, 0.0)
            shapes = plain_shapes(found, span, spread)
        learned = usable_in_span(found, span, shapes, problem.classes, problem.schema.terms)
        axes = [principal_axes(found, k) for k in range(len(priors))]
        learned |= {"scalings_": [(1 - reg) * values + reg for values, _ in axes]}
        learned |= {"rotations_": [vectors for _, vectors in axes], "priors_": priors}
        if self.store_covariance:
            parts = [found.of(k) for k in range(len(priors))]
            one = np.diag(np.full(problem.p, reg))
            learned["covariance_"] = [(1 - reg) * (rows.T @ rows) + one for rows in parts]
        return learned

    def _regular(self, own: np.ndarray, units: np.ndarray) -> np.ndarray:
        if self.solver == "eigen":
            return np.stack([shrunk(cov, self.shrinkage) for cov in own])
        if not self.reg_param:
            return own
        with np.errstate(over="ignore"):
            one = np.diag(np.minimum(np.ldexp(1.0, -2 * units), 1e250))  # 1 in the user's units
        return (1 - self.reg_param) * own + self.reg_param * one

    def _axes(self, covariances: np.ndarray, units: np.ndarray) -> dict[str, Any]:
        """Principal axes in the user's units, for reading."""
        top = np.finfo(float).max / len(units)
        with np.errstate(over="ignore"):
            user = np.clip(np.ldexp(covariances, units[:, None] + units), -top, top)
        pairs = [_eigen(cov) for cov in user]
        out: dict[str, Any] = {
            "scalings_": [np.maximum(values[::-1], 0.0) for values, _ in pairs],
            "rotations_": [np.ascontiguousarray(vectors[:, ::-1]) for _, vectors in pairs],
        }
        if self.store_covariance:
            out["covariance_"] = list(user)
        return out


def _eigen(cov: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and vectors of a matrix of any size, the largest floats included."""
    lift = int(np.frexp(np.abs(cov).max(initial=0.0))[1])
    values, vectors = np.linalg.eigh(np.ldexp(cov, -lift))
    with np.errstate(over="ignore"):
        top = np.finfo(float).max
        return np.clip(np.ldexp(values, lift), -top, top), vectors
