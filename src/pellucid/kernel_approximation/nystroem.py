"""`Nystroem`: columns that approximate a kernel, from a sample of the rows."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.kernel_approximation.kernel_functions import KERNELS
from pellucid.parameters import (
    Choice,
    Function,
    Integer,
    Predicate,
    Real,
    learned,
    param,
    positional,
    shared,
)
from pellucid.transformer import Transformer

FLOOR = 1e-12  # smaller eigenvalues are due to rounding
BLOCK = 1024  # rows per task
TOO_LARGE = (
    "The kernel of these rows exceeds the largest float64. Divide the columns by a power of ten, or "
    "standardise them."
)


class Nystroem(Transformer):
    """Columns t(x) with t(x)'t(z) close to k(x, z): t(x) = K_bb**(-1/2) k(b, x), b a sample of the rows.

    The approximation is exact on the sample. A linear model on these columns is close to a kernel SVM,
    but its cost is linear in the number of rows instead of quadratic.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.kernel_approximation import Nystroem
    >>> T = Nystroem(gamma=0.5, random_state=0).fit_transform([[0.0], [1.0], [3.0]])
    >>> (T @ T.T).round(3)[0]
    array([1.   , 0.607, 0.011])
    """

    kernel: Any = positional(
        default="rbf",
        check=Choice(*KERNELS) | Function,
        description="Kernel of two rows. A function gets two rows and returns a number.",
        kw_only=False,
    )
    gamma: float | None = param(
        None,
        Real(0, None, "left") | None,
        "Factor gamma of the kernels 'rbf', 'poly' and 'sigmoid'. None is 1 / number of columns.",
    )
    coef0: float | None = param(
        None,
        Real(None, None, "neither") | None,
        "Constant term of the kernels 'poly' and 'sigmoid'. None is 1.",
    )
    degree: float | None = param(
        None, Real(1, None, "left") | None, "Degree of the kernel 'poly'. None is 3."
    )
    kernel_params: dict[str, Any] | None = param(
        None,
        Predicate(lambda v: isinstance(v, dict), "a dict") | None,
        "Further arguments of a kernel function.",
    )
    n_components: int = param(
        100,
        Integer(1),
        "Number of rows in the sample, and of new columns. If the table has fewer distinct rows, all "
        "of them are used.",
    )
    random_state: Any = shared.RANDOM_STATE.replace(
        description="Seed or generator that draws the sample. An int makes fits repeatable."
    )
    n_jobs: int | None = shared.N_JOBS

    components_: np.ndarray = learned("The sample, shape (n_components, n_terms).")
    component_indices_: np.ndarray = learned("Row numbers of the sample in the training table.")
    normalization_: np.ndarray = learned("K_bb**(-1/2), shape (n_components, n_components).")

    _rows = "canonical"
    _takes_text = True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the sample and take the inverse square root of its kernel matrix. y is ignored."""
        return self._learn(X)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        count = min(self.n_components, problem.n)
        rng = parallel.stream(parallel.seed_sequence(self.random_state), "nystroem")
        rows = np.sort(rng.choice(problem.n, count, replace=False))
        basis = problem.X[rows]
        basis = basis if isinstance(basis, np.ndarray) else basis.toarray()
        with parallel.one_blas_thread():  # the same bits for any number of threads
            with np.errstate(over="ignore", invalid="ignore"):
                K = self._kernel(basis, basis)
            if not np.isfinite(K).all():
                raise DataError(TOO_LARGE)
            U, S, V = np.linalg.svd(K)
            root = (U / np.sqrt(np.maximum(S, FLOOR))) @ V
        return {
            "components_": np.ascontiguousarray(basis),
            "component_indices_": problem.user_rows()[rows],
            "normalization_": root,
        }

    def _kernel(self, X: Any, Z: np.ndarray) -> np.ndarray:
        if callable(self.kernel):
            more = self.kernel_params or {}
            dense = X if isinstance(X, np.ndarray) else X.toarray()
            values = [[float(self.kernel(x, z, **more)) for z in Z] for x in dense]
            return np.array(values).reshape(len(dense), len(Z))
        gamma = 1.0 / Z.shape[1] if self.gamma is None else float(self.gamma)
        degree = 3.0 if self.degree is None else float(self.degree)
        return KERNELS[self.kernel](X, Z, gamma, degree, 1.0 if self.coef0 is None else self.coef0)

    def _transform(self, X: Any) -> np.ndarray:
        out = np.empty((X.shape[0], len(self.components_)))

        def task(start: int) -> None:
            rows = slice(start, start + BLOCK)
            with np.errstate(over="ignore", invalid="ignore"):
                out[rows] = self._kernel(X[rows], self.components_) @ self.normalization_.T

        parallel.map(task, range(0, X.shape[0], BLOCK), self.n_jobs)
        return out

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _check_state(self) -> None:
        """Raise an error for inconsistent arrays in a model file."""
        from pellucid.persist.fitted_state import expect_array, n_terms

        m = len(self.components_)
        expect_array(self, "components_", m, n_terms(self), finite=True)
        expect_array(self, "normalization_", m, m, finite=True)
        expect_array(self, "component_indices_", m, dtype=np.int64)
