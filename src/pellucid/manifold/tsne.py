"""`TSNE`: `affinities` compares the rows, `embedding` places the points."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Estimator
from pellucid.data import Problem
from pellucid.data.encode import known_distances
from pellucid.data.opening import opened
from pellucid.errors import DataError, DataTypeError
from pellucid.parameters import (
    Choice,
    Function,
    Integer,
    Predicate,
    RandomState,
    Real,
    learned,
    param,
    positional,
    shared,
)
from pellucid.records import Status, converting
from pellucid.transformer import Transformer

METRICS = (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "dice", "euclidean",
    "hamming", "jaccard", "l1", "l2", "mahalanobis", "manhattan", "minkowski", "precomputed",
    "rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "sqeuclidean", "yule",
)  # fmt: skip


class TSNE(Estimator):
    """t-SNE: points in the plane that have the same neighbors as the rows. They minimise

        KL(P || Q) = sum_ij p_ij log(p_ij / q_ij)

    p_ij is the affinity of rows i and j: a Gaussian kernel around each row, whose width gives
    `perplexity` effective neighbors, made symmetric. q_ij is that of the points, with the kernel of
    Student's t distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.manifold import TSNE
    >>> X = np.arange(20.0)[:, None] * [1.0, 2.0, 3.0]
    >>> TSNE(perplexity=5, random_state=0).fit_transform(X).shape
    (20, 2)
    """

    _substitute = "PCA"
    n_components: int = positional(
        default=2,
        check=Integer(1),
        description="Dimension of the embedding; at most 3 with the method 'barnes_hut'.",
        kw_only=False,
    )
    perplexity: float = param(
        30.0,
        Real(0, None, "neither"),
        "Effective number of neighbors of a row; must be less than the number of rows.",
    )
    early_exaggeration: float = param(
        12.0, Real(1, None), "Factor on the attraction between points in the first 250 steps."
    )
    learning_rate: Any = param(
        "auto",
        Choice("auto") | Real(0, None, "neither"),
        "Step size of the gradient descent. 'auto' is max(n_rows / early_exaggeration / 4, 50).",
    )
    max_iter: int = param(1000, Integer(250), "Largest number of gradient steps.")
    n_iter_without_progress: int = param(
        300,
        Integer(-1),
        "Stop after this many steps without a smaller divergence (checked every 50 steps).",
    )
    min_grad_norm: float = param(
        1e-7, Real(0, None), "Stop when the norm of the gradient is at most this."
    )
    metric: Any = param(
        "euclidean",
        Choice(*METRICS) | Function,
        "Distance between rows: a name, or a function of two rows. 'precomputed': X holds distances; "
        "in a sparse X, pairs that are not stored are no neighbors.",
    )
    metric_params: dict | None = param(
        None,
        Predicate(lambda v: isinstance(v, dict), "a dict") | None,
        "Further keyword arguments of the metric.",
    )
    init: Any = param(
        "pca",
        Choice("pca", "random") | Predicate(lambda v: isinstance(v, np.ndarray), "an array"),
        "Where the points start: on the first principal components, at random, or at the given points "
        "(n_rows, n_components).",
    )
    verbose: int = shared.VERBOSE
    random_state: Any = param(
        None, RandomState, "Seed or generator of init='random'. Nothing else is random."
    )
    method: str = param(
        "barnes_hut",
        Choice("barnes_hut", "exact"),
        "How repulsion is computed: 'barnes_hut' treats groups of far points as one point, 'exact' "
        "visits every pair.",
    )
    angle: float = param(
        0.5,
        Real(0, 1, "both"),
        "Accuracy of 'barnes_hut': a group counts as one point if its diagonal is less than `angle` "
        "times its distance. 0 is exact.",
    )
    n_jobs: int | None = shared.N_JOBS

    embedding_: np.ndarray = learned(
        "The points, shape (n_rows, n_components); NaN for rows that `table` left out."
    )
    kl_divergence_: float = learned("Kullback-Leibler divergence at the end, without exaggeration.")
    learning_rate_: float = learned("Step size that was used.")
    n_iter_: int = learned(shared.N_ITER)
    history_: dict[str, np.ndarray] = learned(shared.HISTORY)
    status_: Status = learned(shared.STATUS)

    # Contract tests use tiny tables, and perplexity must be less than the number of rows. They compare
    # bits and errors, not the quality of the embedding, so any gradient is small enough to stop.
    _exempt = {
        "order_of_rows_does_not_matter": "the descent amplifies rounding, which depends on the order"
    }
    _check_params = {"perplexity": 2.0, "max_iter": 250, "min_grad_norm": 1e300}
    _min_rows = 2

    # Column names and containers of the points are those of any transformer, but there is no
    # `transform`: new rows cannot be embedded.
    set_output = Transformer.set_output
    get_feature_names_out = Transformer.get_feature_names_out
    _names_out = Transformer._names_out
    _wrap = Transformer._wrap

    @property
    def _pairwise(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the rows. `y` is ignored."""
        return self._learn(X, y)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Embed the rows; returns the points, in the container chosen with `set_output`."""
        X, y = opened(X, y)
        return self._wrap(self.fit(X, y).embedding_, X)  # type: ignore[misc]

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.manifold import affinities
        from pellucid.manifold.embedding import Settings, embed

        self._check_table(problem.table)
        X = known_distances(problem.table) if self._pairwise else problem.table
        X = X if isinstance(X, np.ndarray) else X.toarray()
        rate = self.learning_rate
        if rate == "auto":
            rate = max(len(X) / self.early_exaggeration / 4, 50.0)
        settings = Settings(
            float(rate), float(self.early_exaggeration), self.max_iter, self.n_iter_without_progress,
            float(self.min_grad_norm), float(self.angle),
        )  # fmt: skip
        with parallel.using(self.n_jobs), parallel.one_blas_thread(), np.errstate(all="ignore"):
            rows = X
            if isinstance(self.metric, str) and self.metric in ("euclidean", "l2"):
                rows = affinities.centred(X)
            method = affinities.all_pairs if self.method == "exact" else affinities.of_neighbours
            params = affinities.with_estimates(rows, self.metric, self.metric_params)
            P = method(rows, float(self.perplexity), self.metric, params)
            with converting(lambda state: _attributes(state, problem)):
                found = embed(P, self._start(X), settings)
        Y, divergence = found.x
        return {
            **_attributes({"points": Y, "divergence": divergence}, problem),
            "learning_rate_": float(rate),
            "n_iter_": found.n_iter,
            "history_": found.history,
            "status_": found.status,
        }

    def _check_table(self, X: Any) -> None:
        if self.method == "barnes_hut" and self.n_components > 3:
            raise DataError(
                "n_components must be at most 3 for method='barnes_hut'. Use method='exact'."
            )
        if self._pairwise:
            if isinstance(self.init, str) and self.init == "pca":
                raise DataError(
                    'The parameter init="pca" cannot be used with metric="precomputed".'
                )
            if X.shape[0] != X.shape[1]:
                raise DataError(f"X should be a square distance matrix, but has shape {X.shape}.")
            dense = isinstance(X, np.ndarray)
            if not dense and self.method == "exact":
                raise DataTypeError(
                    "method='exact' needs the distances of all pairs, but X is sparse. Use "
                    "method='barnes_hut', or a dense table of distances."
                )
            if ((X if dense else X.data) < 0).any():
                raise DataError(
                    "X contains negative values. With metric='precomputed' it must contain distances."
                )
        if self.perplexity >= X.shape[0]:
            raise DataError(
                f"perplexity ({self.perplexity}) must be less than n_samples ({X.shape[0]})"
            )

    def _start(self, X: np.ndarray) -> np.ndarray:
        from pellucid.manifold import affinities
        from pellucid.manifold.embedding import components

        shape = (len(X), self.n_components)
        if isinstance(self.init, str) and self.init == "pca":
            return components(affinities.centred(X), self.n_components)
        if isinstance(self.init, str):
            rng = parallel.stream(parallel.seed_sequence(self.random_state), "start")
            return 1e-4 * rng.standard_normal(shape)
        start = np.array(self.init, dtype=float)
        if start.shape != shape or not np.isfinite(start).all():
            raise DataError(
                f"init must be a finite array of shape {shape}, one point per row. Got shape "
                f"{start.shape}."
            )
        return start

    def _check_state(self) -> None:
        """Reject a model file whose points have the wrong shape."""
        from pellucid.persist.fitted_state import expect_array, expect_number

        expect_array(self, "embedding_", None, self.n_components)
        expect_number(self, "kl_divergence_")
        expect_number(self, "learning_rate_", 0.0)


def _attributes(state: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
    """Points of the problem's rows, and their divergence, as learned attributes."""
    Y, position = state["points"], problem.position
    if position is not None:
        Y = np.where((position >= 0)[:, None], Y[position], np.nan)
    return {"embedding_": Y, "kl_divergence_": float(state["divergence"])}
