"""`PCA`: `principal_axes` computes the axes, `dimension` chooses their number."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError, DataTypeError, shown
from pellucid.parameters import (
    Boolean,
    Choice,
    Ignored,
    Integer,
    RandomState,
    Real,
    learned,
    param,
    positional,
    shared,
)
from pellucid.transformer import Transformer

SOLVERS = ("auto", "full", "covariance_eigh", "arpack", "randomized")


class PCA(Transformer):
    """Principal component analysis: orthonormal axes v_1, v_2, ... of largest variance.

    v_k maximises the variance of X v among unit vectors orthogonal to v_1, ..., v_(k-1). Its sign is
    chosen so that the entry of largest absolute value is positive.

    Examples
    --------
    >>> from pellucid.decomposition import PCA
    >>> X = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]]
    >>> model = PCA(n_components=1).fit(X)
    >>> model.explained_variance_ratio_.round(4)
    array([0.9924])
    >>> model.transform([[2, 1]]).round(4)
    array([[2.2219]])
    """

    n_components: Any = positional(
        default=None,
        check=None | Choice("mle") | Integer(0) | Real(0, 1, "neither"),
        description="Number of components; or the share of the variance that they must exceed; 'mle' is "
        "Minka's choice. None keeps all.",
        kw_only=False,
    )
    copy: bool = shared.COPY_X
    whiten: bool = param(
        False,
        Boolean,
        "Divide each component by its standard deviation. Components without variance become 0.",
    )
    svd_solver: str = param(
        "auto",
        Choice(*SOLVERS),
        "'auto' is exact: it uses the covariance matrix only where that costs no digits, else an SVD. "
        "'full' always uses an SVD, 'covariance_eigh' always the covariance matrix, 'arpack' Lanczos "
        "steps, and 'randomized' approximates by random directions.",
    )
    tol: float = param(
        0.0, Real(0, None, "left"), "Tolerance of 'arpack'; 0 means machine precision."
    )
    iterated_power: Any = param(
        "auto",
        Choice("auto") | Integer(0),
        "Power iterations of 'randomized'; 'auto' is 7 if few components are wanted, else 4.",
    )
    n_oversamples: int = param(10, Integer(1), "Number of extra random directions of 'randomized'.")
    power_iteration_normalizer: str = param(
        "auto",
        Ignored("directions are always made orthonormal.", Choice("auto", "QR", "LU", "none")),
    )
    random_state: Any = param(
        None,
        RandomState,
        "Seed or generator of 'arpack' and 'randomized'. The exact solvers do not depend on it.",
    )

    components_: np.ndarray = learned(
        "Principal axes, shape (n_components_, n_encoded_columns), by decreasing variance."
    )
    explained_variance_: np.ndarray = learned("Variance of each component.")
    explained_variance_ratio_: np.ndarray = learned(
        "Share of each component in the total variance."
    )
    singular_values_: np.ndarray = learned("Singular value of each component.")
    mean_: np.ndarray = learned("Mean of each encoded column, which `transform` subtracts.")
    noise_variance_: float = learned(
        "Mean variance of the axes that were left out (probabilistic PCA)."
    )
    n_components_: int = learned("Number of components that were kept.")
    n_samples_: int = learned("Number of training rows, counted by weight.")

    _shares_rows = True
    _reads_float32 = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the axes. `y` is ignored; a row of weight k counts as k identical rows."""
        return self._learn(X, y, weights=sample_weight)

    @parallel.one_blas_thread()
    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.decomposition.centred import Centred, OutOfRange
        from pellucid.decomposition.principal_axes import fix_signs
        from pellucid.numerics.row_blocks import divided, largest_cell

        n = problem.total
        limit = int(min(n, problem.p))
        if n < 2:
            raise DataError("PCA needs at least 2 rows to estimate variances; got 1 sample.")
        sparse = not isinstance(problem.X, np.ndarray)
        n_axes = self._n_axes(n, problem.p, limit, sparse)
        weights, power = _moderate(problem.weights), 0
        try:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                known = None if sparse or not problem.schema.plain else problem.schema
                table = Centred(problem.X, weights, known, checked=True)
                found = self._axes(table, n_axes, limit)
        except OutOfRange:
            power = int(np.frexp(parallel.largest(largest_cell(problem.X)))[1])
            table = Centred(divided(problem.X, power), weights)
            found = self._axes(table, n_axes, limit)
        divisor = table.total * (1.0 - 1.0 / n) if table.total != n else n - 1.0
        variance = found.singular**2 / divisor
        k = self._n_kept(variance[:limit], found.squares / divisor, n, len(found.axes))
        noise = type(found)(found.singular, found.axes[:k], found.squares).rest(limit) / divisor
        total = found.squares / divisor
        attributes = {
            "components_": fix_signs(found.axes[:k]),
            "explained_variance_": _unscaled(variance[:k], 2 * power),
            "explained_variance_ratio_": variance[:k] / total if total > 0 else np.zeros(k),
            "singular_values_": _unscaled(np.sqrt(variance[:k] * (n - 1.0)), power),
            "mean_": np.ldexp(table.mean, power),
            "noise_variance_": float(_unscaled(noise, 2 * power)),
            "n_components_": k,
            "n_samples_": int(n),
        }
        _check_finite(attributes, power)
        return attributes

    def _n_axes(self, n: float, p: int, limit: int, sparse: bool) -> int:
        """Number of axes to compute, after checks against the shape of the table."""
        solver, k = self.svd_solver, self.n_components
        if sparse and solver == "full":
            raise DataTypeError(
                'PCA takes sparse X with svd_solver "auto", "covariance_eigh", "arpack" or '
                f'"randomized", not "{solver}". Use X.toarray() if it fits into memory.'
            )
        few = solver in ("arpack", "randomized")
        if k is None:
            return max(limit - (solver == "arpack"), 1)
        if k == "mle":
            if few:
                raise DataError(f"n_components='mle' cannot be a string with svd_solver='{solver}'")
            if n < p:
                raise DataError("n_components='mle' is only supported if n_samples >= n_features")
            return limit
        if not few and 0 < k < 1:
            return limit
        if not int(few) <= k <= limit:
            raise DataError(
                f"n_components={shown(k)} must be between {int(few)} and min(n_samples, n_features)="
                f"{limit} with svd_solver='{solver}'"
            )
        if solver == "arpack" and k == limit:
            raise DataError(
                f"n_components={shown(k)} must be strictly less than min(n_samples, n_features)="
                f"{limit} with svd_solver='arpack'"
            )
        return k

    def _axes(self, table: Any, k: int, limit: int) -> Any:
        """The k leading axes, computed by `svd_solver`."""
        from pellucid.decomposition import principal_axes

        def fixed() -> np.random.Generator:
            return parallel.stream(parallel.seed_sequence(0), "axes")

        if self.svd_solver == "auto":
            return principal_axes.automatic(table, k, fixed)
        if self.svd_solver == "full":
            return principal_axes.by_svd(table, k)
        if self.svd_solver == "covariance_eigh" or table.p == 1:
            return principal_axes.by_covariance(table, k, fixed)
        drawn = parallel.stream(parallel.seed_sequence(self.random_state), "axes")
        if self.svd_solver == "arpack":
            return principal_axes.by_lanczos(table, k, self.tol, lambda: drawn)
        passes = self.iterated_power
        if passes == "auto":
            passes = 7 if k < 0.1 * limit else 4
        return principal_axes.by_random_range(table, k, self.n_oversamples, passes, drawn)

    def _n_kept(self, variance: np.ndarray, total: float, n: float, computed: int) -> int:
        """Number of the computed axes to keep."""
        from pellucid.decomposition import dimension

        if self.n_components == "mle":
            return dimension.axes_by_evidence(variance, n)
        if isinstance(self.n_components, float | np.floating):
            ratio = variance / total if total > 0 else np.zeros(len(variance))
            return dimension.axes_for_share(ratio, float(self.n_components))
        return computed

    def _check_state(self) -> None:
        """Reject a model file whose axes do not fit the columns or are not orthonormal."""
        from pellucid.persist.fitted_state import expect_array, expect_number, n_terms

        k, p = len(self.components_), n_terms(self)
        expect_array(self, "components_", k, p, finite=True)
        expect_array(self, "mean_", p, finite=True)
        expect_number(self, "noise_variance_", 0.0)
        for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
            expect_array(self, name, k, finite=True)
            if (getattr(self, name) < 0).any():
                raise DataError(f"{name} is negative")
        if self.n_components_ != k:
            raise DataError("n_components_ is not the number of components")
        if k > p or not np.allclose(self.components_ @ self.components_.T, np.eye(k), atol=1e-6):
            raise DataError("its components are not orthonormal")

    # Transforming --------------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _scale(self) -> np.ndarray:
        """Standard deviations to divide by; infinity where the variance is only rounding error."""
        scale = np.sqrt(self.explained_variance_)
        return np.where(scale > np.finfo(float).eps * scale.max(initial=0.0), scale, np.inf)

    def _transform(self, X: Any) -> np.ndarray:
        """Components of encoded rows."""
        out = self._projected(X)
        return out / self._scale() if self.whiten else out

    def _propagates_nan(self) -> bool:
        """NaN in a cell makes the sums NaN, unless a loading of 0 skips the cell."""
        return bool(self.components_.size and np.all(self.components_))

    def _explain(self, X: Any) -> dict[str, Any]:
        """Each component as a sum over the columns: loading times centred value."""
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        loadings = self.components_ / self._scale()[:, None] if self.whiten else self.components_
        return {
            "base": np.zeros(len(loadings)),
            "contributions": (dense - self.mean_)[:, :, None] * loadings.T,
            "prediction": self._transform(X),
            "scale": "response",
            "method": "loadings times centred values",
        }

    def _projected(self, X: Any) -> np.ndarray:
        axes = np.ascontiguousarray(self.components_.T)
        out, moved = np.empty((X.shape[0], axes.shape[1])), self.mean_ @ axes
        schema, center_last = self.schema_, not isinstance(X, np.ndarray)
        if schema.plain:  # small means cost no digits after the product
            center_last |= bool((np.abs(self.mean_) <= schema.high - schema.low).all())

        def one_block(rows: slice) -> None:
            block = X[rows].astype(np.float64, copy=False)
            if center_last:
                out[rows] = block @ axes
                out[rows] -= moved
            else:
                np.matmul(block - self.mean_, axes, out=out[rows])

        parallel.map(one_block, parallel.row_blocks(*X.shape))
        return out

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows (encoded columns, in the order of `terms_`) whose components are X."""
        self._check_fitted()
        try:
            Z = np.asarray(X)
            if Z.dtype.kind == "c":
                raise TypeError
            Z = Z.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            raise DataTypeError(
                "inverse_transform needs numbers, one column per component, but X contains others."
            ) from None
        if Z.ndim != 2 or Z.shape[1] != self.n_components_:
            raise DataError(
                f"inverse_transform takes {self.n_components_} columns, one per component. "
                f"Got an array of shape {Z.shape}."
            )
        if not np.isfinite(Z).all():
            raise DataError(
                "inverse_transform needs finite values, but X contains NaN or infinite ones."
            )
        scale = np.sqrt(self.explained_variance_) if self.whiten else 1.0
        return (Z * scale) @ self.components_ + self.mean_

    # The probabilistic model --------------------------------------------------------------------

    def get_covariance(self) -> np.ndarray:
        """Covariance matrix of the probabilistic model: that along the axes, plus noise."""
        self._check_fitted()
        above = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        noise = self.noise_variance_ * np.eye(self.components_.shape[1])
        return (self.components_.T * above) @ self.components_ + noise

    def get_precision(self) -> np.ndarray:
        """Inverse of `get_covariance()`; directions without variance get a small positive one."""
        variance, noise = self._model()
        along = 1.0 / variance
        if noise > 0.0:
            along -= 1.0 / noise
        around = np.eye(self.components_.shape[1]) / noise if noise > 0.0 else 0.0
        return (self.components_.T * along) @ self.components_ + around

    def _model(self) -> tuple[np.ndarray, float]:
        """Variances of the model along the axes, and of the noise (0 if all axes are kept).

        A singular normal distribution has no density: directions without variance get the variance
        of rounding errors, so that rows in its subspace are likelier than all others.
        """
        self._check_fitted()
        k, p = self.components_.shape
        eps, largest = np.finfo(float).eps, self.explained_variance_.max(initial=0.0)
        largest = max(float(largest), self.noise_variance_)
        floor = eps * largest + (8.0 * eps * float(np.abs(self.mean_).max())) ** 2
        if not largest > 0.0 or not np.isfinite(floor):
            raise DataError(
                "This PCA model has no density: its training rows are all equal, or their variance "
                "exceeds the range of float64. Fit it to rows that differ, and rescale extreme columns."
            )
        variance = np.maximum(self.explained_variance_, max(self.noise_variance_, floor))
        return variance, max(self.noise_variance_, floor) if k < p else 0.0

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each row under the probabilistic model (see `get_precision`)."""
        variance, noise = self._model()
        encoded = self._encoded(X)
        encoded = encoded if isinstance(encoded, np.ndarray) else encoded.toarray()
        k, p = self.components_.shape
        Z = self._projected(encoded)
        distance = (Z**2 / variance).sum(axis=1)
        volume = np.log(variance).sum()
        if k < p:
            rest = (encoded - self.mean_) - Z @ self.components_
            distance += (rest**2).sum(axis=1) / noise
            volume += (p - k) * np.log(noise)
        return -0.5 * (p * np.log(2.0 * np.pi) + volume + distance)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the rows under the probabilistic model."""
        return float(self.score_samples(X).mean())


def _moderate(weights: np.ndarray) -> np.ndarray:
    """Very large or small weights divided by a power of two: only their ratios matter."""
    power = int(np.frexp(weights.max())[1])
    return np.ldexp(weights, -power) if abs(power) > 100 else weights


def _unscaled(values: Any, power: int) -> Any:
    with np.errstate(over="ignore"):
        return np.ldexp(values, power)


def _check_finite(attributes: dict[str, Any], power: int) -> None:
    for name, value in attributes.items():
        if not isinstance(value, int) and not np.isfinite(value).all():
            raise DataError(
                f"PCA: {name} exceeds the largest float64. Divide the columns by a power of ten: "
                f"their values reach {np.ldexp(1.0, power - 1):.0e}."
            )
