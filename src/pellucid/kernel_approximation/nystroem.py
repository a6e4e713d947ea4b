"""`Nystroem`: a kernel in as many columns as there are rows in a small sample."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.kernel_approximation.kernel_functions import KERNELS
from pellucid.parameters import Choice, Either, Function, Integer, Jobs, Nothing, RandomState, Real
from pellucid.parameters import Test as Check
from pellucid.transformer import Transformer

FLOOR = 1e-12  # eigenvalues below this carry nothing but rounding
BLOCK = 1024  # rows per task
TOO_LARGE = (
    "The kernel of these rows exceeds the largest float64. Divide the columns by a power of ten, or "
    "standardise them."
)


class Nystroem(Transformer):
    """Columns t(x) with t(x)'t(z) close to k(x, z): t(x) = K_bb**(-1/2) k(b, x), b a sample of the rows.

    Exact on the sample; a linear model on these columns is close to a kernel machine, at a cost that
    grows with the number of rows and not with its square.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "polynomial", "sigmoid", "cosine"} or callable, default="rbf"
        A callable gets two rows and returns a number.
    gamma : float or None
        None is 1 / columns.
    coef0 : float or None
        None is 1.
    degree : float or None
        None is 3.
    kernel_params : dict or None
        Further arguments of a callable.
    n_components : int, default=100
        Rows in the sample; at most as many as there are different rows.
    random_state : int, generator or None
    n_jobs : int or None
    table : Table, optional

    Attributes
    ----------
    components_ : (components, terms), the sample, in encoded columns.
    component_indices_ : their rows in the training table.
    normalization_ : K_bb**(-1/2).
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.kernel_approximation import Nystroem
    >>> T = Nystroem(gamma=0.5, random_state=0).fit_transform([[0.0], [1.0], [3.0]])
    >>> (T @ T.T).round(3)[0]
    array([1.   , 0.607, 0.011])
    """

    _rows = "canonical"
    _takes_text = True

    _parameters = {
        "kernel": Either(Choice(*KERNELS), Function),
        "gamma": Either(Real(0, None, "left"), Nothing),
        "coef0": Either(Real(None, None, "neither"), Nothing),
        "degree": Either(Real(1, None, "left"), Nothing),
        "kernel_params": Either(Check(lambda v: isinstance(v, dict), "a dict"), Nothing),
        "n_components": Integer(1),
        "random_state": RandomState,
        "n_jobs": Jobs,
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | None = None,
        coef0: float | None = None,
        degree: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        table: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.table = table

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the sample and take the root of its kernel. y is not used."""
        return self._learn(X)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        count = min(self.n_components, problem.n)
        rng = parallel.stream(parallel.seed_sequence(self.random_state), "nystroem")
        rows = np.sort(rng.choice(problem.n, count, replace=False))
        basis = problem.X[rows]
        basis = basis if isinstance(basis, np.ndarray) else basis.toarray()
        with parallel.one_blas_thread():  # equal bits, whatever else runs at the time
            with np.errstate(over="ignore", invalid="ignore"):
                K = self._kernel(basis, basis)
            if not np.isfinite(K).all():
                raise DataError(TOO_LARGE)
            U, S, V = np.linalg.svd(K)
            root = (U / np.sqrt(np.maximum(S, FLOOR))) @ V
        return {
            "components_": np.ascontiguousarray(basis),
            "component_indices_": _users_rows(problem)[rows],
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
        """Refuse arrays that do not belong together (model files)."""
        from pellucid.persist.fitted_state import expect_array, n_terms

        m = len(self.components_)
        expect_array(self, "components_", m, n_terms(self), finite=True)
        expect_array(self, "normalization_", m, m, finite=True)
        expect_array(self, "component_indices_", m, dtype=np.int64)


def _users_rows(problem: Problem) -> np.ndarray:
    """Row of the user's table for each row of the problem, the first of equal ones."""
    if problem.position is None:
        return np.arange(problem.n)
    seen = np.flatnonzero(problem.position >= 0)[::-1]
    users = np.empty(problem.n, dtype=np.int64)
    users[problem.position[seen]] = seen
    return users
