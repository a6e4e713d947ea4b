"""What kernel machines share: the kernel's parameters, the rows it sees, support vectors, sums.

Invariant: a fitted machine is its support vectors, their coefficients and offsets. The kernel sees
`X * scale_ - centre_`. Dense rows are moved by the training mean where that changes nothing and saves
digits ("rbf", and "linear" beside a free intercept), or where `standardize` asks for it. `scale_` is
empty unless `standardize` asks for it, or squares of the cells are no float64 and `gamma="scale"` makes
the kernel one that has no unit. Weights and intercepts of the linear kernel are those of rows
that are not moved, so new rows of this kernel stay where they are.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.base import Estimator
from pellucid.data import InputSpec, Problem, Table
from pellucid.errors import DataError
from pellucid.numerics.column_scaling import units
from pellucid.parameters import Boolean, Choice, Either, Function, Integer, Nothing, Real, Verbose
from pellucid.records import Recorder, Solution
from pellucid.svm import cost_estimate, kernels
from pellucid.svm.kernel_checks import check_kernel
from pellucid.svm.kernels import Kernel

KERNEL_PARAMETERS = {
    "kernel": Either(Choice(*kernels.NAMES), Function),
    "degree": Integer(0),
    "gamma": Either(Choice("scale", "auto"), Real(0, None, "neither")),
    "coef0": Real(None, None, "neither"),
    "tol": Real(0, None, "neither"),
    "shrinking": Boolean,
    "cache_size": Real(0, None, "neither"),
    "verbose": Verbose,
    "max_iter": Integer(-1),
    "max_time": Either(Nothing, Real(0, None, "neither")),
    "standardize": Boolean,
}
# A multiplier beyond this, times k(x, x), means a margin below 1e-5 of the radius of the rows (for the
# linear kernel: about their mean).
HARD = 1e10
TOO_LARGE = (
    "The kernel of these rows exceeds the largest float64. Divide the columns by a power of ten, or "
    "standardise them."
)
TOO_SMALL = (
    "The cells of these rows are below 1e-150: their products vanish, and this kernel cannot tell rows "
    'apart. Multiply the columns by a power of ten, standardise them, or use gamma="scale".'
)
UNITLESS = ("rbf", "poly", "sigmoid")  # kernels of gamma x'z: with gamma="scale" units cancel


DENSE_CELLS = 2**22  # smaller sparse tables are spread out


def scaled(X: Any, scale: np.ndarray) -> Any:
    """Columns times `scale`; an empty scale leaves them alone."""
    if not len(scale):
        return X
    return X * scale if isinstance(X, np.ndarray) else type(X)(X.multiply(scale))


def _spread(X: Any) -> Any:
    small = not isinstance(X, np.ndarray) and X.shape[0] * X.shape[1] <= DENSE_CELLS
    return np.ascontiguousarray(X.toarray()) if small else X


def largest_cell(X: Any) -> float:
    """The largest size of a cell."""
    cells = X if isinstance(X, np.ndarray) else X.data
    return float(max(cells.max(initial=0.0), -cells.min(initial=0.0)))


def _common_unit(X: Any) -> np.ndarray:
    """A power of two for all columns that makes the largest cell about 1; empty if it can be squared
    as it is.
    """
    power = int(np.frexp(largest_cell(X))[1])
    if abs(power) <= 400:
        return np.zeros(0)
    return np.full(X.shape[1], np.ldexp(1.0, min(-power, 1000)))


class KernelMachine(Estimator):
    """Base of SVC, SVR and OneClassSVM."""

    _takes_text = True
    _free_intercept = True  # it takes up where rows are moved to

    @property
    def _pairwise(self) -> bool:  # type: ignore[override]
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _rows(self) -> str:  # type: ignore[override]
        """The columns of a precomputed kernel are rows, which keep their order."""
        return "user" if self._pairwise else "canonical"

    def _input_spec(self) -> InputSpec:
        """No missing cell of a precomputed kernel can be filled."""
        spec = super()._input_spec()
        if not self._pairwise:
            return spec
        return replace(spec, table=Table(missing="error") if self.table is None else None)

    def _encode_table(self, rows: Any, quiet: bool = False, finite: bool = False) -> Any:
        if self._pairwise and any(mask.any() for mask in rows.missing_cells()):
            raise DataError(
                "Input X contains NaN: a precomputed kernel needs a number for each pair."
            )
        return super()._encode_table(rows, quiet, finite)

    def _prepared(self, problem: Problem, weights: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Training rows as the kernel sees them, and the facts that new rows need."""
        X = problem.X
        scale = np.zeros(0)
        if self._pairwise:
            return self._square(problem), {"centre_": scale, "scale_": scale, "gamma_": 0.0}
        X = _spread(X)
        dense = isinstance(X, np.ndarray)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.standardize:
                scale = 1.0 / units(X, problem.weights, problem.schema)[1]
            elif self.kernel in UNITLESS and self.gamma == "scale":
                scale = _common_unit(X)
            X = scaled(X, scale)
            gamma = self._width(X, weights)
            harmless = self.kernel == "rbf" or (self.kernel == "linear" and self._free_intercept)
            move = dense and (harmless or self.standardize)
            share = problem.weights / problem.weights.sum()
            centre = share @ X if move else np.zeros(X.shape[1])
            X = X - centre if move else X
            largest = largest_cell(X)
        if not np.isfinite([gamma, largest]).all() or largest > 1e150:
            raise DataError(TOO_LARGE)
        if 0.0 < largest < 1e-150:
            raise DataError(TOO_SMALL)
        rows, p = X.shape[:2]
        parts = self._n_matrices(problem)
        cost_estimate.preview(
            type(self).__name__, rows, p, self.cache_size, parts, lambda: self._pace(problem)
        )
        return X, {"centre_": centre, "scale_": scale, "gamma_": float(gamma)}

    def _machine(self, problem: Problem) -> dict[str, Any]:
        """What is learned from these rows."""
        raise NotImplementedError

    def _pace(self, problem: Problem) -> tuple[float, float]:
        """Support vectors and steps per row, from a fit of some rows of each class."""
        order = np.arange(problem.n)
        if problem.classes is not None:
            order = np.argsort(problem.y, kind="stable")
        few = np.linspace(0, problem.n - 1, cost_estimate.PILOT).astype(np.int64)
        first = np.arange(0) if problem.classes is None else np.searchsorted(
            problem.y[order], np.arange(len(problem.classes))
        )  # fmt: skip
        rows = np.sort(order[np.union1d(few, first)])
        found = type(self)(**self.get_params(deep=False))._machine(problem.take(rows))
        return len(found["support_"]) / len(rows), float(np.max(found["n_iter_"])) / len(rows)

    def _n_matrices(self, problem: Problem) -> float:
        """Kernel matrices of all rows whose cost all machines together have."""
        return 1.0

    def _minimum(
        self, X: Any, gamma: float, recorder: Recorder, hard: bool = False, unit: float = 1.0,
        **parts: np.ndarray,
    ) -> Solution:  # fmt: skip
        """The dual problem on rows X with the given signs, linear term, limits, start and base; `tol`
        counts in units of `unit` if that is below 1 (and can be squared).
        """
        from pellucid.svm import dual

        kernel = self._kernel(gamma)
        given = X if self._pairwise else None
        with np.errstate(over="ignore", invalid="ignore"):
            size = kernel.diagonal(X) if given is None else np.diagonal(given)
        if not np.isfinite(size).all():
            raise DataError(TOO_LARGE)
        if hard and self.kernel == "linear" and isinstance(X, np.ndarray):
            size = kernel.diagonal(X - X.mean(axis=0))  # a margin does not know where 0 is
        cap = HARD / max(float(size.max()), 1e-300) if hard else np.inf
        problem = dual.Dual(X=X, kernel=kernel, K=given, **parts)
        rule = dual.Rule(
            self.tol * float(np.clip(unit or 1.0, 1e-60, 1.0)), self.max_iter, self.max_time, cap
        )
        return dual.solve(problem, rule, self.cache_size, recorder)

    def _width(self, X: Any, weights: np.ndarray) -> float:
        """gamma; "scale" is 1 / (columns x variance of all cells), counted by weight.

        Standardised columns have mean 0, though the mean is not taken off sparse ones: their cells
        vary about the mean of their column.
        """
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        p = X.shape[1]
        if self.gamma == "auto":
            return 1.0 / p
        total = weights.sum()
        means = np.asarray(weights @ X).ravel() / total
        centre = means if self.standardize else np.full(p, means.mean())
        if isinstance(X, np.ndarray):
            moved = X - centre
            variance = float(weights @ np.einsum("ij,ij->i", moved, moved)) / (total * p)
        else:
            squares = np.asarray(weights @ X.multiply(X).tocsr()).ravel() / total
            variance = float((squares - 2.0 * means * centre + centre**2).mean())
        return 1.0 / (p * variance) if variance > 1e-290 else 1.0

    def _square(self, problem: Problem) -> np.ndarray:
        X = problem.table if isinstance(problem.table, np.ndarray) else problem.table.toarray()
        if problem.position is not None:
            X = X[:, problem.position >= 0]
        if X.shape[0] != X.shape[1]:
            raise DataError(
                f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} "
                "matrix."
            )
        check_kernel(X)
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
        vectors = self._vectors()
        if self._pairwise:
            return vectors
        moved = vectors + self.centre_ if isinstance(vectors, np.ndarray) else vectors
        return scaled(moved, 1.0 / self.scale_)

    def _seen(self, X: Any) -> tuple[Any, Any]:
        """Encoded rows as the kernel sees them, and the support vectors in the same layout."""
        vectors = self._vectors()
        X = scaled(X, self.scale_)
        if isinstance(vectors, np.ndarray):
            X = X if isinstance(X, np.ndarray) else X.toarray()
            return X if self.kernel == "linear" else X - self.centre_, vectors
        return X, vectors.toarray() if isinstance(X, np.ndarray) else vectors

    def _given(self, X: Any) -> np.ndarray:
        """Columns of the support vectors of a given kernel."""
        X = X if isinstance(X, np.ndarray) else X.toarray()
        if X.shape[1] != self.shape_fit_[0]:
            raise DataError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, the number "
                "of samples at training time"
            )
        return X[:, self.support_]

    def _sums(self, X: Any, coefficients: np.ndarray) -> np.ndarray:
        """sum_j k(x_i, v_j) coefficients[j] for encoded rows, (n, m)."""
        if self._pairwise:
            return self._given(X) @ coefficients
        X, vectors = self._seen(X)
        return kernels.weighted_sum(self._kernel(self.gamma_), X, vectors, coefficients)

    def _values(self, X: Any) -> np.ndarray:
        """k(x_i, v_j) of encoded rows and all support vectors."""
        return self._given(X) if self._pairwise else self._kernel(self.gamma_).block(*self._seen(X))

    def _limits(self, weights: np.ndarray) -> np.ndarray:
        """C times the weights; rows of weight 0 carry nothing, even if C is infinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(weights > 0, self.C * np.minimum(weights, 1e300), 0.0)

    def _unmoved(self, learned: dict[str, Any], coefficients: np.ndarray) -> dict[str, Any]:
        """With the linear kernel, intercepts for rows that are not moved: w'(x - centre) + b."""
        if self.kernel == "linear" and learned["centre_"].any():
            lines = coefficients @ learned["vectors_"]
            learned["intercept_"] = learned["intercept_"] - lines @ learned["centre_"]
        return learned

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the encoded columns; only of the linear kernel."""
        self._check_fitted()
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        return self._linear_weights()

    def _linear_weights(self) -> np.ndarray:
        return scaled(np.asarray(self.dual_coef_ @ self._vectors()), self.scale_)

    def _check_vectors(self) -> None:
        """Refuse support vectors that do not belong together (model files)."""
        from pellucid.errors import ModelFileError
        from pellucid.persist.fitted_state import expect_array, expect_number, n_terms

        m, p = len(self.support_), n_terms(self)
        expect_array(self, "support_", None, dtype=np.int32)
        expect_number(self, "gamma_", 0.0)
        expect_array(self, "centre_", 0 if self._pairwise else p, finite=True)
        expect_array(self, "scale_", p if len(self.scale_) else 0, finite=True)
        if isinstance(self.vectors_, tuple):
            _check_sparse(self.vectors_, m, p)
        else:
            expect_array(self, "vectors_", m, 0 if self._pairwise else p, finite=True)
        rows, seen = self.shape_fit_[0], self.support_
        if m and not 0 <= seen.min() <= seen.max() < rows:
            raise ModelFileError("its support vectors are not among its training rows")

    def _check_one_machine(self) -> None:
        """Refuse arrays of a single machine that do not belong together (model files)."""
        from pellucid.errors import ModelFileError
        from pellucid.persist.fitted_state import expect_array

        m = len(self.support_)
        expect_array(self, "dual_coef_", 1, m, finite=True)
        expect_array(self, "intercept_", 1, finite=True)
        expect_array(self, "n_support_", 1, dtype=np.int32)
        if self.n_support_[0] != m:
            raise ModelFileError("it has other support vectors than it counts")
        self._check_vectors()


def one_machine(
    model: Any, problem: Problem, X: Any, facts: dict[str, Any], coefficients: np.ndarray,
    rho: float, found: Solution, recorder: Recorder,
) -> dict[str, Any]:  # fmt: skip
    """Learned attributes of a model with one machine: f(x) = sum_i coefficients[i] k(x_i, x) - rho."""
    rows = np.flatnonzero(coefficients)
    dual = np.ascontiguousarray(coefficients[rows])[None, :]
    learned = facts | model._supported(problem, X, rows) | {
        "dual_coef_": dual,
        "intercept_": np.array([-rho]),
        "n_support_": np.array([len(rows)], dtype=np.int32),
        "n_iter_": int(max(found.n_iter, 1)),
        "shape_fit_": (n_rows(problem), problem.p),
        "fit_status_": 0 if found.status.ok else 1,
        "history_": recorder.history(),
        "status_": found.status,
    }  # fmt: skip
    return model._unmoved(learned, dual)


def n_rows(problem: Problem) -> int:
    """Rows of the user's table, those of weight 0 too."""
    return problem.n if problem.position is None else len(problem.position)


def _check_sparse(parts: tuple, n: int, p: int) -> None:
    from pellucid.errors import ModelFileError
    from pellucid.persist.checks import valid_numbers

    if not valid_numbers(parts, (n, p)):
        raise ModelFileError("its sparse support vectors do not fit together")
