"""What SVC, SVR and OneClassSVM share: rows as the kernel sees them, support vectors, kernel sums.

Invariant: a fitted model is its support vectors, their coefficients and intercepts. The kernel sees
`X * scale_ - centre_`. Dense rows are centred where that changes nothing and saves digits ("rbf", and
"linear" with a free intercept), or with `standardize`. `scale_` is empty unless `standardize` is set, or
the squares of the cells overflow and `gamma="scale"` makes the kernel independent of units. Coefficients
and intercepts of the linear kernel hold for rows that are not centred, so it does not centre new rows.
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from pellucid.data import InputSpec, Problem, Table
from pellucid.errors import DataError, ModelFileError
from pellucid.numerics.column_scaling import units
from pellucid.numerics.row_blocks import as_dense, largest_cell
from pellucid.persist.checks import valid_numbers
from pellucid.persist.fitted_state import expect_array, expect_number, n_terms
from pellucid.records import Recorder, Solution, unwatched
from pellucid.svm import contributions, cost_estimate, kernels
from pellucid.svm.kernel_checks import check_kernel
from pellucid.svm.kernel_parameters import KernelParameters
from pellucid.svm.kernels import Kernel

# With C=inf, a multiplier beyond this, times k(x, x), means that the margin is below 1e-5 of the radius
# of the rows (around their mean for the linear kernel).
HARD = 1e10
TOO_LARGE = (
    "The kernel of these rows exceeds the largest float64. Divide the columns by a power of ten, or "
    "use standardize=True."
)
TOO_SMALL = (
    "All cells are below 1e-150: their products vanish, so this kernel cannot distinguish the rows. "
    'Multiply the columns by a power of ten, or use standardize=True or gamma="scale".'
)
UNITLESS = ("rbf", "poly", "sigmoid")  # with gamma="scale" these do not depend on units
DENSE_CELLS = 2**22  # sparse tables of at most this size become dense
SHORT_ROWS = 128  # up to which the steps of a fit are too short to interrupt


def scaled(X: Any, scale: np.ndarray) -> Any:
    """Columns times `scale`; an empty scale changes nothing."""
    if not len(scale):
        return X
    return X * scale if isinstance(X, np.ndarray) else type(X)(X.multiply(scale))


def _common_unit(X: Any) -> np.ndarray:
    """A power of two for all columns that makes the largest cell about 1; empty if no square of a cell
    overflows.
    """
    power = int(np.frexp(largest_cell(X))[1])
    if abs(power) <= 400:
        return np.zeros(0)
    return np.full(X.shape[1], np.ldexp(1.0, min(-power, 1000)))


class KernelSVM(KernelParameters):
    """Base of SVC, SVR and OneClassSVM; a subclass writes `_solve`."""

    _takes_text = True
    _substitute = "LinearSVC, LinearSVR or Nystroem before a linear model"
    # Whether the intercept is not penalised, so that centring the rows changes nothing.
    _free_intercept: ClassVar[bool] = True

    @property
    def _pairwise(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _rows(self) -> str:
        """The columns of a precomputed kernel stand for rows, which keep their order."""
        return "user" if self._pairwise else "canonical"

    def _input_spec(self) -> InputSpec:
        """No missing cell of a precomputed kernel can be imputed."""
        spec = super()._input_spec()
        if not self._pairwise:
            return spec
        return replace(spec, table=Table(missing="error") if self.table is None else None)

    def _encode_table(
        self, rows: Any, quiet: bool = False, finite: bool = False, narrow: bool = False
    ) -> Any:
        if self._pairwise and any(mask.any() for mask in rows.missing_cells()):
            raise DataError(
                "Input X contains NaN. A precomputed kernel needs a number for each pair of rows."
            )
        return super()._encode_table(rows, quiet, finite, narrow)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._solve(problem)

    def _solve(self, problem: Problem) -> dict[str, Any]:
        """Learned attributes of the model; reads nothing that an earlier fit has learned."""
        raise NotImplementedError

    def _prepared(self, problem: Problem, weights: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Training rows as the kernel sees them, and what is needed to treat new rows alike."""
        scale = np.zeros(0)
        if self._pairwise:
            return self._kernel_matrix(problem), {"centre_": scale, "scale_": scale, "gamma_": 0.0}
        X, small = problem.X, problem.n * problem.p <= DENSE_CELLS
        X = np.ascontiguousarray(as_dense(X)) if small else X
        dense = isinstance(X, np.ndarray)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.standardize:
                scale = 1.0 / units(X, problem.weights, problem.schema)[1]
            elif self.kernel in UNITLESS and self.gamma == "scale":
                scale = _common_unit(X)
            X = scaled(X, scale)
            gamma = self._gamma(X, weights)
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
        cost_estimate.preview(
            type(self).__name__, X.shape[0], X.shape[1], self.cache_size, self._n_matrices(problem),
            lambda: self._pilot_fit(problem),
        )  # fmt: skip
        return X, {"centre_": centre, "scale_": scale, "gamma_": float(gamma)}

    def _pilot_fit(self, problem: Problem) -> tuple[float, float]:
        """Support vectors and steps per row, measured by a fit to some rows of each class."""
        order = np.arange(problem.n)
        if problem.classes is not None:
            order = np.argsort(problem.y, kind="stable")
        few = np.linspace(0, problem.n - 1, cost_estimate.PILOT).astype(np.int64)
        first = np.arange(0) if problem.classes is None else np.searchsorted(
            problem.y[order], np.arange(len(problem.classes))
        )  # fmt: skip
        rows = np.sort(order[np.union1d(few, first)])
        with unwatched():
            found = self._solve(problem.take(rows))
        return len(found["support_"]) / len(rows), float(np.max(found["n_iter_"])) / len(rows)

    def _n_matrices(self, problem: Problem) -> float:
        """Cost of all binary problems together, in kernel matrices of all rows."""
        return 1.0

    def _minimum(
        self, X: Any, gamma: float, recorder: Recorder, hard: bool = False, unit: float = 1.0,
        first: int = 0, facts: dict[str, Any] | None = None, **parts: np.ndarray,
    ) -> Solution:  # fmt: skip
        """Solve the dual problem on rows X with the given signs, linear term, limits, start and base.

        `tol` is multiplied by `unit` if that is below 1; `first` and `facts` are those of
        `dual.solve`.
        """
        from pellucid.svm import dual

        kernel = self._kernel(gamma)
        matrix = X if self._pairwise else None
        with np.errstate(over="ignore", invalid="ignore"):
            size = kernel.diagonal(X) if matrix is None else np.diagonal(matrix)
        if not np.isfinite(size).all():
            raise DataError(TOO_LARGE)
        if hard and self.kernel == "linear" and isinstance(X, np.ndarray):
            size = kernel.diagonal(X - X.mean(axis=0))  # the margin does not depend on the origin
        cap = HARD / max(float(size.max()), 1e-300) if hard else np.inf
        problem = dual.Dual(X=X, kernel=kernel, K=matrix, **parts)
        rule = dual.StoppingRule(
            self.tol * float(np.clip(unit or 1.0, 1e-60, 1.0)), self.max_iter, self.max_time, cap
        )
        return dual.solve(problem, rule, self.cache_size, recorder, first, **(facts or {}))

    def _gamma(self, X: Any, weights: np.ndarray) -> float:
        """gamma; "scale" is 1 / (columns x weighted variance of all cells).

        With `standardize` the variance is taken around the mean of each column, because sparse columns
        are not centred.
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

    def _kernel_matrix(self, problem: Problem) -> np.ndarray:
        """The precomputed kernel of the training rows, checked."""
        X = problem.table if isinstance(problem.table, np.ndarray) else problem.table.toarray()
        if problem.position is not None:
            X = X[:, problem.position >= 0]
        if X.shape[0] != X.shape[1]:
            raise DataError(
                "Precomputed matrix must be a square matrix with one row and one column for each "
                f"training row. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        check_kernel(X)
        return np.ascontiguousarray(X)

    def _kernel(self, gamma: float) -> Kernel:
        name, function = self.kernel, None
        if not isinstance(name, str):
            name, function = "callable", self.kernel
        return Kernel(name, gamma, float(self.degree), float(self.coef0), function)

    def _supported(self, problem: Problem, X: Any, rows: np.ndarray) -> dict[str, Any]:
        """Support vectors, dense or as CSR parts, and their row numbers in the user's table."""
        vectors = X[rows] if not self._pairwise else np.zeros((len(rows), 0))
        if not isinstance(vectors, np.ndarray):
            vectors = (vectors.data, vectors.indices, vectors.indptr)
        return {"support_": problem.user_rows()[rows].astype(np.int32), "vectors_": vectors}

    def _vectors(self) -> Any:
        """`vectors_` as an array or a CSR table."""
        if not isinstance(self.vectors_, tuple):
            return self.vectors_
        from scipy.sparse import csr_array

        return csr_array(self.vectors_, shape=(len(self.support_), len(self.centre_)))

    @property
    def support_vectors_(self) -> Any:
        """The support vectors in encoded columns, on the original scale."""
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

    def _precomputed_values(self, X: Any) -> np.ndarray:
        """Kernel of new rows and the support vectors, from a precomputed kernel."""
        X = X if isinstance(X, np.ndarray) else X.toarray()
        if X.shape[1] != self.shape_fit_[0]:
            raise DataError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, the number of "
                "samples at training time: a precomputed kernel needs one column per training row."
            )
        return X[:, self.support_]

    def _sums(self, X: Any, coefficients: np.ndarray) -> np.ndarray:
        """sum_j k(x_i, v_j) coefficients[j] for encoded rows, (n, m)."""
        if self._pairwise:
            return self._precomputed_values(X) @ coefficients
        X, vectors = self._seen(X)
        return kernels.weighted_sum(self._kernel(self.gamma_), X, vectors, coefficients)

    def _values(self, X: Any) -> np.ndarray:
        """k(x_i, v_j) of encoded rows and all support vectors."""
        if self._pairwise:
            return self._precomputed_values(X)
        return self._kernel(self.gamma_).block(*self._seen(X))

    def _limits(self, weights: np.ndarray) -> np.ndarray:
        """C times the weights; the limit of a row with weight 0 is 0, even if C is infinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(weights > 0, self.C * np.minimum(weights, 1e300), 0.0)

    def _for_raw_rows(
        self, learned: dict[str, Any], centre: np.ndarray, coefficients: np.ndarray
    ) -> dict[str, Any]:
        """With the linear kernel, intercepts for rows that are not centred: b - w'centre."""
        if self.kernel == "linear" and centre.any():
            weights = coefficients @ learned["vectors_"]
            learned["intercept_"] = learned["intercept_"] - weights @ centre
        return learned

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the encoded columns on the original scale; only with the linear kernel."""
        self._check_fitted()
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel.")
        return self._linear_weights()

    def _linear_weights(self) -> np.ndarray:
        return scaled(np.asarray(self.dual_coef_ @ self._vectors()), self.scale_)

    def _linear_terms(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """With the linear kernel: scores at the training mean (for sparse rows at 0), and what each
        column of each row adds to them, (n, columns, scores).
        """
        X = X if isinstance(X, np.ndarray) else X.toarray()
        mean = scaled(self.centre_, 1.0 / self.scale_)
        coef = np.atleast_2d(self.coef_)
        return coef @ mean + self.intercept_, (X - mean)[:, :, None] * coef.T

    def _support_distances(self, X: Any, order: np.ndarray) -> np.ndarray:
        """Euclidean distances of rows and chosen support vectors (n, k), as the kernel sees them.

        NaN for a precomputed kernel, which has no rows to measure.
        """
        if self._pairwise:
            return np.full(order.shape, np.nan)
        X = scaled(X, self.scale_)
        dense = [T if isinstance(T, np.ndarray) else T.toarray() for T in (X, self._vectors())]
        return np.sqrt(((dense[0][:, None] - self.centre_ - dense[1][order]) ** 2).sum(axis=2))

    def _check_vectors(self) -> None:
        """Raise an error if the support vectors in a model file and their places are inconsistent."""
        m, p, width = len(self.support_), n_terms(self), 0 if self._pairwise else n_terms(self)
        expect_array(self, "support_", None, dtype=np.int32)
        expect_number(self, "gamma_", 0.0)
        expect_array(self, "centre_", width, finite=True)
        expect_array(self, "scale_", p if len(self.scale_) else 0, finite=True)
        if not isinstance(self.vectors_, tuple):
            expect_array(self, "vectors_", m, width, finite=True)
        elif not valid_numbers(self.vectors_, (m, p)):
            raise ModelFileError("the arrays of its sparse support vectors are inconsistent")
        if m and not 0 <= self.support_.min() <= self.support_.max() < self.shape_fit_[0]:
            raise ModelFileError("one of its support vectors is not a row of its training table")

    # Models with one decision function: SVR and OneClassSVM ------------------------------------------

    def _learned_single(
        self, problem: Problem, X: Any, facts: dict[str, Any], coefficients: np.ndarray, rho: float,
        found: Solution, recorder: Recorder,
    ) -> dict[str, Any]:  # fmt: skip
        """Learned attributes of f(x) = sum_i coefficients[i] k(x_i, x) - rho."""
        return facts | self._single(problem, X, facts, coefficients, rho) | {
            "n_iter_": int(max(found.n_iter, 1)),
            "shape_fit_": (n_rows(problem), problem.p),
            "fit_status_": 0 if found.status.ok else 1,
            "history_": recorder.history(),
            "status_": found.status,
        }  # fmt: skip

    def _single(
        self, problem: Problem, X: Any, facts: dict[str, Any], coefficients: np.ndarray, rho: float
    ) -> dict[str, Any]:
        """The support vectors, coefficients and intercept of the function."""
        rows = np.flatnonzero(coefficients)
        dual = np.ascontiguousarray(coefficients[rows])[None, :]
        learned = self._supported(problem, X, rows) | {
            "dual_coef_": dual,
            "intercept_": np.array([-rho]),
            "n_support_": np.array([len(rows)], dtype=np.int32),
        }
        return self._for_raw_rows(learned, facts["centre_"], dual)

    def _check_state(self) -> None:
        """Raise an error for inconsistent arrays in a model file."""
        expect_array(self, "dual_coef_", 1, len(self.support_), finite=True)
        expect_array(self, "intercept_", 1, finite=True)
        expect_array(self, "n_support_", 1, dtype=np.int32)
        if self.n_support_[0] != len(self.support_):
            raise ModelFileError("its n_support_ is not the number of its support vectors")
        self._check_vectors()

    def _explain_single(self, X: Any, prediction: np.ndarray, scale: str) -> Any:
        """Contributions of columns (linear kernel), else the most influential support vectors."""
        if self.kernel == "linear":
            return contributions.linear_parts(*self._linear_terms(X), prediction, scale)
        vectors = contributions.SupportVectors(
            self.support_,
            lambda X: (self._values(X) * self.dual_coef_[0])[:, :, None],
            self._support_distances,
        )
        return contributions.largest_terms(
            vectors, X, prediction[:, None], self.intercept_, None, scale
        )


def n_rows(problem: Problem) -> int:
    """Number of rows of the user's table, including those of weight 0."""
    return problem.n if problem.position is None else len(problem.position)
