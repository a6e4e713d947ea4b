"""What kernel machines share: the kernel's parameters, the rows it sees, support vectors, sums.

Invariant: a fitted machine is its support vectors, their coefficients and offsets; for "rbf" all rows
are moved by the training mean first, which changes no distance and saves digits.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.base import Estimator
from pellucid.data import Problem, Wishes
from pellucid.errors import DataError
from pellucid.parameters import Boolean, Choice, Either, Function, Integer, Real, Verbose
from pellucid.svm import kernels
from pellucid.svm.kernels import Kernel

KERNEL_PARAMETERS = {
    "kernel": Either(Choice(*kernels.NAMES), Function),
    "degree": Integer(0),
    "gamma": Either(Choice("scale", "auto"), Real(0, None, "left")),
    "coef0": Real(None, None, "neither"),
    "tol": Real(0, None, "neither"),
    "shrinking": Boolean,
    "cache_size": Real(0, None, "neither"),
    "verbose": Verbose,
    "max_iter": Integer(-1),
}
TOO_LARGE = (
    "The kernel of these rows exceeds the largest float64. Divide the columns by a power of ten, or "
    "standardise them."
)


DENSE_CELLS = 2**22  # smaller sparse tables are spread out


def _spread(X: Any) -> Any:
    small = not isinstance(X, np.ndarray) and X.shape[0] * X.shape[1] <= DENSE_CELLS
    return np.ascontiguousarray(X.toarray()) if small else X


class KernelMachine(Estimator):
    """Base of SVC, SVR and OneClassSVM."""

    _canonical_rows = True
    _takes_text = True

    @property
    def _pairwise(self) -> bool:  # type: ignore[override]
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _wishes(self) -> Wishes:
        """The columns of a given kernel are rows: they stay in their order."""
        wishes = super()._wishes()
        return replace(wishes, canonical_rows=False) if self._pairwise else wishes

    def _prepared(self, problem: Problem, weights: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Training rows as the kernel sees them, and the facts that new rows need."""
        X = problem.X
        if self._pairwise:
            return self._square(problem), {"centre_": np.zeros(0), "gamma_": 0.0}
        X = _spread(X)
        dense = isinstance(X, np.ndarray)
        with np.errstate(over="ignore", invalid="ignore"):
            move = dense and isinstance(self.kernel, str) and self.kernel == "rbf"
            gamma = self._width(X, weights)
            centre = weights @ X / weights.sum() if move else np.zeros(X.shape[1])
            X = X - centre if move else X
            largest = (X.max(), -X.min()) if dense else (abs(X).max(),) if X.nnz else (0.0,)
        if not np.isfinite([gamma, *largest]).all() or max(largest) > 1e150:
            raise DataError(TOO_LARGE)
        return X, {"centre_": centre, "gamma_": float(gamma)}

    def _width(self, X: Any, weights: np.ndarray) -> float:
        """gamma; "scale" is 1 / (columns x variance of all cells), counted by weight."""
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        p = X.shape[1]
        if self.gamma == "auto":
            return 1.0 / p
        total = weights.sum() * p
        squares = X * X if isinstance(X, np.ndarray) else X.multiply(X)
        sums, cells = np.asarray(squares.sum(axis=1)).ravel(), np.asarray(X.sum(axis=1)).ravel()
        if isinstance(X, np.ndarray):
            mean = float(weights @ cells) / total
            variance = float(weights @ np.einsum("ij,ij->i", X - mean, X - mean)) / total
        else:
            variance = float(weights @ sums) / total - (float(weights @ cells) / total) ** 2
        return 1.0 / (p * variance) if variance > 1e-290 else 1.0

    def _square(self, problem: Problem) -> np.ndarray:
        X = problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray()
        if problem.position is not None:
            X = X[:, problem.position >= 0]
        if X.shape[0] != X.shape[1]:
            raise DataError(
                f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} "
                "matrix."
            )
        if not np.allclose(X, X.T, rtol=1e-8, atol=1e-10 * max(np.abs(X).max(initial=0.0), 1e-300)):
            raise DataError("The precomputed kernel matrix is not symmetric: K[i, j] != K[j, i].")
        smallest = float(np.linalg.eigvalsh(X)[0]) if len(X) <= 2000 else 0.0
        if smallest < -1e-8 * max(np.abs(X).max(initial=0.0), 1e-300) * len(X):
            raise DataError(
                f"The precomputed kernel matrix is not positive semi-definite (its smallest "
                f"eigenvalue is {smallest:.3g}): it is no inner product, and the problem has no "
                "unique minimum. Use another kernel, or add a multiple of the identity."
            )
        return np.ascontiguousarray(X)

    def _kernel(self, gamma: float) -> Kernel:
        name, function = self.kernel, None
        if not isinstance(name, str):
            name, function = "callable", self.kernel
        return Kernel(name, gamma, float(self.degree), float(self.coef0), function)

    def _supported(self, problem: Problem, X: Any, rows: np.ndarray) -> dict[str, Any]:
        """Support vectors, dense or as the parts of a CSR table, and the user's rows they are."""
        users = np.arange(problem.n)
        if problem.position is not None:
            seen = np.flatnonzero(problem.position >= 0)[::-1]
            users = np.empty(problem.n, dtype=np.int64)
            users[problem.position[seen]] = seen  # the first of equal rows
        vectors = X[rows] if not self._pairwise else np.zeros((len(rows), 0))
        if not isinstance(vectors, np.ndarray):
            vectors = (vectors.data, vectors.indices, vectors.indptr)
        return {"support_": users[rows].astype(np.int32), "vectors_": vectors}

    def _vectors(self) -> Any:
        if not isinstance(self.vectors_, tuple):
            return self.vectors_
        from scipy.sparse import csr_array

        return csr_array(self.vectors_, shape=(len(self.support_), len(self.centre_)))

    @property
    def support_vectors_(self) -> Any:
        """The support vectors, in encoded columns."""
        self._check_fitted()
        moved = isinstance(self.vectors_, np.ndarray) and not self._pairwise
        return self._vectors() + self.centre_ if moved else self._vectors()

    def _sums(self, X: Any, coefficients: np.ndarray) -> np.ndarray:
        """sum_j k(x_i, v_j) coefficients[j] for encoded rows, (n, m)."""
        if self._pairwise:
            X = X if isinstance(X, np.ndarray) else X.toarray()
            if X.shape[1] != self.shape_fit_[0]:
                raise DataError(
                    f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, the number "
                    "of samples at training time"
                )
            return X[:, self.support_] @ coefficients
        vectors = self._vectors()
        if isinstance(vectors, np.ndarray):
            X = (X if isinstance(X, np.ndarray) else X.toarray()) - self.centre_
        elif isinstance(X, np.ndarray):
            vectors = vectors.toarray()
        return kernels.weighted_sum(self._kernel(self.gamma_), X, vectors, coefficients)

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the encoded columns; only of the linear kernel."""
        self._check_fitted()
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        return self._linear_weights()

    def _linear_weights(self) -> np.ndarray:
        return np.asarray(self.dual_coef_ @ self._vectors())

    def _check_vectors(self) -> None:
        """Refuse support vectors that do not belong together (model files)."""
        from pellucid.errors import ModelFileError
        from pellucid.persist.state import expect_array, expect_number, n_terms

        m, p = len(self.support_), n_terms(self)
        expect_array(self, "support_", None, dtype=np.int32)
        expect_number(self, "gamma_", 0.0)
        expect_array(self, "centre_", 0 if self._pairwise else p, finite=True)
        if isinstance(self.vectors_, tuple):
            _check_sparse(self.vectors_, m, p)
        else:
            expect_array(self, "vectors_", m, 0 if self._pairwise else p, finite=True)
        rows, seen = self.shape_fit_[0], self.support_
        if m and not 0 <= seen.min() <= seen.max() < rows:
            raise ModelFileError("its support vectors are not among its training rows")


def _check_sparse(parts: tuple, n: int, p: int) -> None:
    from pellucid.errors import ModelFileError

    good = len(parts) == 3 and all(type(part) is np.ndarray and part.ndim == 1 for part in parts)
    if good:
        data, indices, indptr = parts
        good = data.dtype == np.float64 and bool(np.isfinite(data).all())
        good = good and indices.dtype.kind == indptr.dtype.kind == "i" and len(indptr) == n + 1
        good = good and indices.shape == data.shape and indptr[0] == 0 and indptr[-1] == len(data)
        good = good and bool((np.diff(indptr) >= 0).all())
        good = good and (not len(indices) or bool(0 <= indices.min() <= indices.max() < p))
    if not good:
        raise ModelFileError("its sparse support vectors do not fit together")
