"""`GaussianMixture`: `initialisation` makes the starts, `em` runs the iterations."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Estimator
from pellucid.data import Problem
from pellucid.data.canonical import row_hash
from pellucid.errors import DataError
from pellucid.numerics.objectives.losses import softmax
from pellucid.parameters import (
    Array,
    Choice,
    Ignored,
    Integer,
    Real,
    learned,
    param,
    positional,
    shared,
)
from pellucid.records import Solution, Status, converting, is_watched, unwatched

TYPES = ("full", "tied", "diag", "spherical")
STARTS = ("kmeans", "random", "random_from_data", "k-means++")


class GaussianMixture(Estimator):
    """A mixture of normal components: weights w, means m and covariances S that maximise

        sum_i log sum_k w_k N(x_i; m_k, S_k)

    by expectation-maximisation (EM). A lower bound on the variances keeps the likelihood finite.

    Examples
    --------
    >>> from pellucid.mixture import GaussianMixture
    >>> X = [[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]]
    >>> model = GaussianMixture(2, means_init=[[0, 0], [9, 9]], random_state=0).fit(X)
    >>> model.means_.round(6)
    array([[ 1.,  2.],
           [10.,  2.]])
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1])
    """

    n_components: int = positional(
        default=1, check=Integer(1), description="Number of components.", kw_only=False
    )
    covariance_type: str = param(
        "full",
        Choice(*TYPES),
        "'full': a covariance matrix for each component; 'tied': one for all; 'diag': variances of the "
        "columns for each component; 'spherical': one variance for each component.",
    )
    tol: float = param(
        1e-3, Real(0, None, "left"), "Stop when the mean log-likelihood changes by less than this."
    )
    reg_covar: float = param(
        1e-6,
        Real(0, None, "left"),
        "Lower bound on variances, as a share of the variance of the data: no direction of a component "
        "has less. Therefore units do not matter and the likelihood never falls.",
    )
    max_iter: int = param(100, Integer(0), "Largest number of EM iterations of one start.")
    n_init: int = param(
        1, Integer(1), "Number of starts; the one with the highest likelihood is kept."
    )
    init_params: str = param(
        "kmeans",
        Choice(*STARTS),
        "How the components start: 'kmeans' at the clusters of k-means, 'k-means++' at its seeds, "
        "'random' at random responsibilities, 'random_from_data' at random rows.",
    )
    weights_init: Any = param(
        None, None | Array, "Starting weights of the components, shape (n_components,)."
    )
    means_init: Any = param(
        None,
        None | Array,
        "Starting means of the components, shape (n_components, n_encoded_columns).",
    )
    precisions_init: Any = param(
        None,
        None | Array,
        "Starting precisions (inverse covariances), in the shape of `covariances_`.",
    )
    random_state: Any = shared.RANDOM_STATE
    warm_start: bool = shared.WARM_START
    verbose: int = shared.VERBOSE
    verbose_interval: int = param(
        10, Ignored("nothing is printed; use `pellucid.watching` to follow a fit.", Integer(1))
    )

    weights_: np.ndarray = learned("Weight of each component; they sum to 1.")
    means_: np.ndarray = learned(
        "Means of the components, shape (n_components, n_encoded_columns), in the order of `terms_`."
    )
    covariances_: np.ndarray = learned(
        "Covariances: (K, p, p) for 'full', (p, p) for 'tied', (K, p) for 'diag', (K,) for 'spherical', "
        "for K components and p encoded columns."
    )
    precisions_: np.ndarray = learned("Inverses of `covariances_`, in the same shape.")
    precisions_cholesky_: np.ndarray = learned(
        "Cholesky factors of `precisions_`, in the same shape."
    )
    converged_: bool = learned("Whether the best start converged.")
    n_iter_: int = learned("Number of EM iterations of the best start.")
    lower_bound_: float = learned("Mean log-likelihood of the best start.")
    lower_bounds_: list[float] = learned(
        "Mean log-likelihood after each iteration of the best start."
    )
    history_: dict[str, np.ndarray] = learned(shared.HISTORY)
    status_: Status = learned(shared.STATUS)

    _kind = "density_estimator"
    _rows = "canonical"
    _takes_sparse = False
    _invariant = ("weight scale",)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components. `y` is ignored; a row of weight k counts as k identical rows."""
        return self._learn(X, y, weights=sample_weight)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, and return the most probable component of each row."""
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.fit(X, y, **given).predict(X)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.mixture.covariance_types import CovarianceType
        from pellucid.mixture.em import EM, ScaledRows

        if problem.total < max(self.n_components, 2):
            raise DataError(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, "
                f"n_samples = {problem.total:g}. A mixture needs at least 2 samples."
            )
        with parallel.one_blas_thread():
            rows = ScaledRows.of(
                problem.table, problem.weights, self.covariance_type == "spherical"
            )
            covariance = CovarianceType(self.covariance_type, rows.variance, float(self.reg_covar))
            run = EM(rows, covariance, self.max_iter, self.tol)
            with converting(lambda state: self._attributes(state, rows)):
                best = self._best_run(problem, run)
            return self._learned_from(best, rows, problem)

    def _best_run(self, problem: Problem, run: Any) -> Solution:
        """The result with the highest likelihood over all starts; ties go to the first."""
        if self.warm_start and self.__sklearn_is_fitted__():
            return run.solve(self._last_mixture(run), self.lower_bound_)
        seed = parallel.seed_sequence(self.random_state)
        best: Solution | None = None
        first: Any = None
        for i in range(self.n_init):
            with unwatched():
                start = self._start(problem, run, parallel.stream(seed, "start", i))
            with unwatched() if self.n_init > 1 else contextlib.nullcontext():
                found = run.solve(start)
            if best is None or (found.x[1] and found.x[1][-1] > best.x[1][-1]):
                best, first = found, start
        assert best is not None
        return run.solve(first) if self.n_init > 1 and is_watched() else best  # the same way again

    def _start(self, problem: Problem, run: Any, rng: np.random.Generator) -> Any:
        from pellucid.mixture import initialisation
        from pellucid.mixture.covariance_types import covariances_of, from_precisions
        from pellucid.mixture.em import Mixture, mixture_for

        K, p, rows = self.n_components, problem.p, run.rows
        own: dict[str, Any] = {}
        if self.weights_init is not None:
            own["weights"] = initialisation.checked_weights(self.weights_init, K)
        if self.means_init is not None:
            own["means"] = rows.inside(initialisation.checked_array(self.means_init, "means", K, p))
        if self.precisions_init is not None:
            precisions = initialisation.checked_array(self.precisions_init, "precisions")
            roots = from_precisions(precisions, self.covariance_type, K, p)
            own["roots"] = np.ascontiguousarray(np.ldexp(roots, rows.power))
            own["covariances"] = covariances_of(own["roots"])
        if {"weights", "means", "roots"} <= set(own):
            return Mixture(**own)
        responsibilities = initialisation.METHODS[self.init_params](problem.table, rows.w, K, rng)
        return replace(mixture_for(rows, run.covariance, responsibilities), **own)

    def _last_mixture(self, run: Any) -> Any:
        """The mixture of the last fit, in units of the scaled rows."""
        from pellucid.mixture.covariance_types import has_type
        from pellucid.mixture.em import Mixture

        if self.means_.shape[0] != self.n_components:
            raise DataError(
                f"warm_start continues from {len(self.means_)} components, but n_components is "
                f"{self.n_components}. Use warm_start=False."
            )
        if not has_type(self.covariance_type, self.precisions_cholesky_, *self.means_.shape):
            raise DataError(
                "warm_start continues from the covariances of the last fit, which do not have "
                f"covariance_type={self.covariance_type!r}. Use warm_start=False."
            )
        roots = np.ascontiguousarray(np.ldexp(self._roots(), run.rows.power))
        covariances = self._stacked(self.covariances_)
        power = run.rows.power
        both = -power if run.covariance.diagonal else -power[:, None]
        return Mixture(
            self.weights_, run.rows.inside(self.means_),
            np.ldexp(np.ldexp(covariances, -power), both), roots,
        )  # fmt: skip

    def _learned_from(self, best: Solution, rows: Any, problem: Problem) -> dict[str, Any]:
        mixture, bounds = best.x
        return self._attributes(
            {"mixture": mixture, "bounds": bounds, "converged": best.status.code == "converged"},
            rows,
        ) | {
            "n_iter_": best.n_iter,
            "history_": best.history,
            "status_": self._status(best, problem),
        }

    def _attributes(self, state: Mapping[str, Any], rows: Any) -> dict[str, Any]:
        """The state of an iteration as learned attributes."""
        mixture, bounds = state["mixture"], state["bounds"]
        means, *spreads = rows.outside(mixture)
        names = ("covariances_", "precisions_", "precisions_cholesky_")
        return {
            "weights_": mixture.weights,
            "means_": means,
            **{name: self._unstacked(spread) for name, spread in zip(names, spreads)},
            "converged_": state["converged"],
            "lower_bound_": bounds[-1] if bounds else -np.inf,
            "lower_bounds_": [float(bound) for bound in bounds],
        }

    def _status(self, best: Solution, problem: Problem) -> Status:
        different = problem.n
        if not problem.counts:  # then identical rows are not merged
            different = len(np.unique(row_hash(problem.X)))
        if different >= self.n_components:
            return best.status
        return Status(
            "few_rows",
            f"The table has {different} different rows, fewer than n_components="
            f"{self.n_components}: some components are empty or repeat others.",
            f"Use n_components={different} or fewer.",
        )

    def _unstacked(self, values: np.ndarray) -> np.ndarray:
        """From (K, p, p), (1, p, p) or (K, 1, p) to scikit-learn's shapes."""
        if self.covariance_type == "full":
            return np.ascontiguousarray(values)
        if self.covariance_type == "tied":
            return np.ascontiguousarray(values[0])
        return np.ascontiguousarray(
            values[:, 0] if self.covariance_type == "diag" else values[:, 0, 0]
        )

    def _stacked(self, values: np.ndarray) -> np.ndarray:
        """Back from scikit-learn's shapes."""
        if self.covariance_type in ("full", "tied"):
            return values.reshape(-1, *values.shape[-2:])
        if self.covariance_type == "diag":
            return values[:, None, :]
        return np.repeat(values[:, None, None], self.means_.shape[1], axis=2)

    def _roots(self) -> np.ndarray:
        stacked = self._stacked(self.precisions_cholesky_)
        return np.ascontiguousarray(
            stacked.transpose(0, 2, 1) if self.covariance_type in ("full", "tied") else stacked
        )

    def _check_state(self) -> None:
        from pellucid.mixture.covariance_types import covariance_shape
        from pellucid.persist.fitted_state import expect_array, n_terms

        expect_array(self, "weights_", None, finite=True)
        K, p = len(self.weights_), n_terms(self)
        shape = covariance_shape(self.covariance_type, K, p)
        expect_array(self, "means_", K, p, finite=True)
        for name in ("covariances_", "precisions_", "precisions_cholesky_"):
            expect_array(self, name, *shape, finite=True)
        shares = (self.weights_ >= 0).all() and abs(self.weights_.sum() - 1.0) < 1e-6
        if not shares or not (self._diagonals() > 0).all():
            raise DataError("weights are no probabilities, or a component has no density")

    def _diagonals(self) -> np.ndarray:
        roots = self._roots()
        return roots[:, 0] if roots.shape[1] == 1 else np.diagonal(roots, axis1=1, axis2=2)

    # Predicting ----------------------------------------------------------------------------------

    def _joint(self, X: np.ndarray) -> np.ndarray:
        """log w_k N(x; m_k, S_k), (n, K)."""
        from pellucid.mixture import _loops

        roots = self._roots()
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights_) + np.log(self._diagonals()).sum(axis=1)
        logs = logs - 0.5 * X.shape[1] * np.log(2.0 * np.pi)
        X, out = np.ascontiguousarray(X), np.empty((X.shape[0], len(logs)))
        blocks = parallel.row_blocks(X.shape[0], 8 * X.shape[1])
        parallel.map(lambda b: _loops.joint(X[b], self.means_, roots, logs, out[b]), blocks)
        return out

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return softmax(self._joint(X))

    def _explain(self, X: np.ndarray) -> dict[str, Any]:
        """Log joint densities minus their mean over the components; their softmax is `predict_proba`.

        The part of column j in the squared distance from a mean is d_j (S^-1 d)_j.
        """
        K, roots = len(self.weights_), self._roots()
        parts = np.empty((*X.shape, K))
        for k in range(K):
            root, difference = roots[k % len(roots)], X - self.means_[k]
            scaled = difference * root[0] ** 2 if len(root) == 1 else (difference @ root.T) @ root
            parts[:, :, k] = -0.5 * difference * scaled
        weights = np.maximum(self.weights_, np.finfo(float).tiny)  # log(0) is infinite
        base = np.log(weights) + np.log(self._diagonals()).sum(axis=1)
        parts -= parts.mean(axis=2, keepdims=True)
        base -= base.mean()
        return {
            "base": base,
            "contributions": parts,
            "prediction": base + parts.sum(axis=1),
            "scale": "log-odds",
            "method": "parts of the squared distances from the means, relative to the average component",
        }

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        joint = self._joint(X)
        top = joint.max(axis=1)
        return top + np.log(np.exp(joint - top[:, None]).sum(axis=1))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable component of each row; ties go to the first."""
        return self._answer(self._proba, X).argmax(axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each component, given the row."""
        return self._answer(self._proba, X)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log density of each row."""
        return self._answer(self._log_density, X)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log density of the rows."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw new rows (encoded columns, in the order of `terms_`) and their components.

        Rows of the first component come first, as in scikit-learn.
        """
        self._check_fitted()
        if not Integer(1).accepts(n_samples):
            raise DataError(
                f"Invalid value for 'n_samples': {n_samples!r}. The sampling requires at least one "
                "sample."
            )
        rng = parallel.stream(parallel.seed_sequence(self.random_state), "sample")
        counts = rng.multinomial(n_samples, self.weights_ / self.weights_.sum())
        labels = np.repeat(np.arange(len(counts)), counts)
        noise = rng.standard_normal((n_samples, self.means_.shape[1]))
        roots = np.broadcast_to(self._roots(), (len(counts), *self._roots().shape[1:]))
        X = np.empty_like(noise)
        for k, root in enumerate(roots):
            own = noise[labels == k]
            spread = own / root[0] if len(root) != len(root.T) else np.linalg.solve(root, own.T).T
            X[labels == k] = self.means_[k] + spread
        return X, labels

    def _n_parameters(self) -> int:
        K, p = self.means_.shape
        spread = {"full": K * p * (p + 1) // 2, "tied": p * (p + 1) // 2, "diag": K * p}
        return spread.get(self.covariance_type, K) + p * K + K - 1

    def bic(self, X: Any) -> float:
        """Bayesian information criterion on X: the lower the better."""
        logs = self.score_samples(X)
        return float(-2 * logs.sum() + self._n_parameters() * np.log(len(logs)))

    def aic(self, X: Any) -> float:
        """Akaike information criterion on X: the lower the better."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())
