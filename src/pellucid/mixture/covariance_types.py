"""Covariance types: which covariances a component may have, and the lower bound on its variances.

Everything is in the units of `ScaledRows`. A type turns moments about the old means into the
covariances above the floor that maximise the expected log likelihood, and covariances into roots.
Layout of covariances and roots: (K, p, p), (1, p, p) for "tied", (K, 1, p) for "diag" and
"spherical".

Invariant: the floor is a share of the variance of the data, so it does not depend on units, and a
step that is limited by it never lowers the likelihood.
"""

from dataclasses import dataclass

import numpy as np

from pellucid.errors import DataError

TYPES = ("full", "tied", "diag", "spherical")


@dataclass(frozen=True)
class CovarianceType:
    """One of TYPES, with the variances of the columns and the share of them that is the floor."""

    type: str
    variance: np.ndarray
    floor: float

    @property
    def diagonal(self) -> bool:
        return self.type in ("diag", "spherical")

    def empty(self, K: int) -> np.ndarray:
        """Second moments of the right shape, all 0."""
        p = len(self.variance)
        return np.zeros((1 if self.type == "tied" else K, 1 if self.diagonal else p, p))

    def covariances(self, second: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """The best covariances above the floor, for sums of squares about the new means."""
        S = second / (mass.sum() if self.type == "tied" else mass[:, None, None])
        if self.type == "spherical":
            S = np.broadcast_to(S.mean(axis=2, keepdims=True), S.shape)
            return np.maximum(S, self.floor * self.variance.mean())
        if self.type == "diag":
            return np.maximum(S, self.floor * self.variance)
        return np.stack([self._above_floor(matrix) for matrix in S])

    def _above_floor(self, S: np.ndarray) -> np.ndarray:
        """S with every variance at least the floor, in any direction of the standardised columns."""
        unit = np.sqrt(self.variance)
        A = S / np.outer(unit, unit)
        try:
            np.linalg.cholesky(A - self.floor * np.eye(len(A)))
            return S
        except np.linalg.LinAlgError:
            if self.floor == 0.0:
                return S
        values, axes = np.linalg.eigh(A)
        A = (axes * np.maximum(values, self.floor)) @ axes.T
        return (A + A.T) / 2 * np.outer(unit, unit)

    def roots(self, covariances: np.ndarray) -> np.ndarray:
        """Lower triangular roots: |root d|**2 is the squared Mahalanobis length of d."""
        if self.diagonal:
            if not (covariances > 0.0).all():
                raise singular(int(np.argwhere(~(covariances > 0.0))[0, 0]))
            return 1.0 / np.sqrt(covariances)
        return np.stack([_inverse_root(C, k) for k, C in enumerate(covariances)])


def _inverse_root(C: np.ndarray, k: int) -> np.ndarray:
    try:
        L = np.linalg.cholesky(C)
    except np.linalg.LinAlgError:
        raise singular(k) from None
    return np.tril(np.linalg.solve(L, np.eye(len(L))))


def log_determinants(roots: np.ndarray, K: int) -> np.ndarray:
    """log |root_k| for every component."""
    along = roots[:, 0] if roots.shape[1] == 1 else np.diagonal(roots, axis1=1, axis2=2)
    return np.broadcast_to(np.log(along).sum(axis=1), K)


def singular(k: int) -> DataError:
    """The error for a component without a density."""
    return DataError(
        f"Fitting the mixture model failed: the covariance of component {k} is singular (too few "
        "different rows, or linearly dependent columns). Use fewer components, or increase "
        "reg_covar, the smallest variance of a component as a share of the data's variance."
    )


def covariance_shape(kind: str, K: int, p: int) -> tuple[int, ...]:
    """Shape of `covariances_` and `precisions_`, as in scikit-learn."""
    return {"full": (K, p, p), "tied": (p, p), "diag": (K, p), "spherical": (K,)}[kind]


def has_type(kind: str, upper: np.ndarray, K: int, p: int) -> bool:
    """Whether `precisions_cholesky_` is of a covariance type.

    "tied" (p, p) and "diag" (K, p) have the same shape if K = p: the first is upper triangular, the
    second has no zeros.
    """
    if upper.shape != covariance_shape(kind, K, p):
        return False
    if kind == "tied":
        return not np.tril(upper, -1).any()
    return kind != "diag" or bool((upper > 0).all())


def covariances_of(roots: np.ndarray) -> np.ndarray:
    """Covariances from their inverse roots."""
    if roots.shape[1] == 1:
        return 1.0 / roots**2
    inverse = np.linalg.inv(roots)
    return inverse @ inverse.transpose(0, 2, 1)


def from_precisions(precisions: np.ndarray, kind: str, K: int, p: int) -> np.ndarray:
    """Roots of the user's precisions (scikit-learn's layout), on the original scale."""
    shape = covariance_shape(kind, K, p)
    if precisions.shape != shape:
        raise DataError(
            f"The parameter '{kind} precision' should have the shape of {shape}, "
            f"but got {precisions.shape}"
        )
    if kind in ("diag", "spherical"):
        if not (precisions > 0.0).all():
            raise DataError(f"'{kind} precision' should be positive")
        along = precisions if kind == "diag" else np.repeat(precisions[:, None], p, axis=1)
        return np.sqrt(along)[:, None, :]
    return np.stack([_root_of(P, kind) for P in precisions.reshape(-1, p, p)])


def _root_of(P: np.ndarray, kind: str) -> np.ndarray:
    """Lower triangular L with L'L = P."""
    symmetric = np.allclose(P, P.T)
    try:
        if symmetric:
            return np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1].T
    except np.linalg.LinAlgError:
        pass
    raise DataError(f"'{kind} precision' should be symmetric, positive-definite")
