"""What all neighbour models share: storing the training rows, and searching the nearest of them.

Invariant: training rows are stored in the order of (y, row of the user's table), so that the smallest
pairs (distance, position) are the smallest triples (distance, y, row): equally near rows are taken by
class or value first, and shuffled tables give the same votes.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from pellucid.base import Estimator
from pellucid.data import InputSpec, Problem, Table
from pellucid.data.encode import known_distances
from pellucid.errors import DataError, ParameterError, PellucidWarning, warn
from pellucid.neighbors import distances, neighbor_search, radius_search
from pellucid.neighbors.given_trees import rows_of
from pellucid.neighbors.ragged import Lists, joined, of_table
from pellucid.parameters import Choice, Function, Integer, Predicate, Real, learned, param, shared

_METRIC_PARAMS = Predicate(
    lambda v: isinstance(v, dict) and all(isinstance(k, str) for k in v), "a dict"
)


class NeighborModel(Estimator):
    """Base of the neighbour models: `_memorise` for fit, `_nearest` and `_within` for the search."""

    _substitute = "another model, such as HistGradientBoostingClassifier or -Regressor"

    algorithm: str = param(
        "auto",
        Choice("auto", "ball_tree", "kd_tree", "brute", "lsh"),
        "How to search. All but 'lsh' find the same rows; 'ball_tree' uses the KD-tree. 'lsh' "
        "(locality-sensitive hashing) finds most of them: `recall_` is the share that it finds. The "
        "search is exact where hashing would not be faster, and for more than the fitted `n_neighbors`.",
    )
    leaf_size: int = param(
        30,
        Integer(1),
        "Leaf size of the KD-tree: a leaf holds at most 8 * leaf_size rows, and never more than 256.",
    )
    p: float = param(
        2,
        Real(0, None, "neither") | Choice(np.inf) | None,
        "Order of the metric 'minkowski', at most 32 or inf. 1 is 'manhattan', 2 is 'euclidean', inf is "
        "'chebyshev'. None is 2.",
    )
    metric: Any = param(
        "minkowski",
        Choice(*distances.NAMES) | Function,
        "Distance between two rows. 'hamming' is the share of the table's columns that differ; two "
        "missing cells are equal. 'mahalanobis' estimates the covariance of the training rows with "
        "Ledoit and Wolf's shrinkage, unless `metric_params` gives it. 'gower' is for mixed columns: it "
        "uses ranges and categories and leaves missing cells out; all other metrics use the mean of the "
        "column and an indicator for missing numbers. With 'precomputed' X contains the distances; "
        "pairs that a sparse X does not store are no neighbours. A function gets two rows and returns a "
        "number.",
    )
    metric_params: dict[str, Any] | None = param(
        None,
        _METRIC_PARAMS | None,
        "Further arguments of the metric: 'p' and 'w' of 'minkowski', 'w' of 'euclidean', 'V' (the "
        "covariance) or 'VI' (its inverse) of 'mahalanobis', or the arguments of a metric function.",
    )
    n_jobs: int | None = shared.N_JOBS
    standardize: bool = shared.STANDARDIZE.replace(
        description="Divide numbers by their standard deviations before distances are computed; columns "
        "of categories stay 0 and 1."
    )

    n_samples_fit_: int = learned("Number of training rows.")
    effective_metric_: Any = learned("Metric without aliases: 'minkowski' with p=2 is 'euclidean'.")
    effective_metric_params_: dict[str, Any] = learned("Further arguments of `effective_metric_`.")
    rows_: Any = learned(
        "Training rows in the space of the metric, in panels, or the arrays of a CSR matrix."
    )
    order_: np.ndarray = learned("Row numbers of the stored rows in the training table.")
    tree_: dict[str, Any] | None = learned("KD-tree of the stored rows, or None.")
    space_: dict[str, Any] = learned("How encoded rows are mapped to the space of the metric.")
    buckets_: dict[str, Any] | None = learned("Hash tables, or None; only with algorithm='lsh'.")
    recall_: float = learned(
        "Share of the true neighbours that the search finds, measured on training rows; only with "
        "algorithm='lsh'."
    )
    recall_neighbors_: int = learned(
        "Largest number of neighbours that is searched by hashing; only with algorithm='lsh'."
    )
    search_: str = learned("Search in use, 'lsh' or 'exact'; only with algorithm='lsh'.")

    _no_steps = (
        "the training rows are stored. Use `kneighbors` or `radius_neighbors` to see the neighbours "
        "of a row."
    )
    _finds_k: ClassVar[bool] = False  # True if the model searches k rows, which hashing can find

    def fit(self, X: Any, y: Any) -> Self:
        """Store the training rows, in the order in which ties are decided.

        X may be a KDTree or BallTree of scikit-learn with the same metric: its rows are stored.
        """
        return self._learn(rows_of(X, self), y)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._memorise(problem)

    def _input_spec(self) -> InputSpec:
        """Gower's distance reads codes with their missing cells, all other metrics a matrix.

        A missing distance cannot be imputed.
        """
        spec = super()._input_spec()
        if self._pairwise and self.table is None:
            spec = replace(spec, table=Table(missing="error"))
        return replace(spec, layout="codes") if self.metric == "gower" else spec

    @property
    def _pairwise(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _memorise(self, problem: Problem) -> dict[str, Any]:
        """Learned attributes: the stored rows with their targets, and how to search them."""
        metric, params = distances.effective(self.metric, 2 if self.p is None else self.p,
                                           self.metric_params)  # fmt: skip
        order = tie_order(problem.y, problem.n)
        space: dict[str, Any] = {"kind": ""}
        rows, tree = problem.table, None
        if self._pairwise:
            _check_square(problem)
        else:
            space = distances.learn(problem.X, problem, metric, params, self.standardize)
            rows, tree, space = self._arranged(problem, order, metric, space)
        learned = {
            "effective_metric_": metric,
            "effective_metric_params_": params,
            "n_samples_fit_": problem.n,
            "space_": space,
            "rows_": rows if isinstance(rows, np.ndarray) else (rows.data, rows.indices, rows.indptr),
            "tree_": tree,
            "order_": problem.user_rows()[order],
        }  # fmt: skip
        if problem.y is not None:
            name = "targets_" if problem.classes is None else "codes_"
            learned[name] = problem.y[order]
        if self.algorithm == "lsh":
            learned |= self._hashed(learned)
        return learned

    def _arranged(
        self, problem: Problem, order: np.ndarray, metric: Any, space: dict
    ) -> tuple[Any, Any, dict]:
        """Rows in the space of the metric, in this order, then packed, in a tree if that is faster."""
        X = distances.place(space, problem.X, metric)
        if not isinstance(X, np.ndarray) and X.shape[0] * X.shape[1] <= neighbor_search.DENSE_CELLS:
            X = np.ascontiguousarray(X.toarray())
        dense = isinstance(X, np.ndarray)
        if callable(metric):
            return (X if dense else X.toarray())[order], None, space
        n, d = X.shape
        if n > neighbor_search.NONE - 1:
            most = neighbor_search.NONE - 1
            raise DataError(f"Neighbour models take at most {most:,} rows, but X has {n:,}.")
        known = problem.schema if X is problem.X and problem.schema.plain else None
        space = space | neighbor_search.position(X, space["kind"], known)
        if not dense:
            return X[order], None, space
        if not self._grows_tree(n, d, space["kind"]):
            panel, columns = neighbor_search.NARROW
            space = space | ({"panel": panel} if d >= columns else {})
            starts = neighbor_search.flat_starts(n, space)
            return neighbor_search.packed(X, starts, order), None, space
        ordered = X[order]
        tree = neighbor_search.build_tree(ordered, self.leaf_size)
        starts = neighbor_search.tree_starts(n, tree["depth"])
        return neighbor_search.packed(X, starts, order[tree["order"]], ordered), tree, space

    def _hashed(self, learned: dict[str, Any]) -> dict[str, Any]:
        """Hash tables, their recall and which search will be used, for `algorithm="lsh"`."""
        from pellucid.neighbors import hashing

        index = neighbor_search.Index(
            learned["rows_"], None, learned["space_"], learned["effective_metric_"]
        )
        kind = learned["space_"]["kind"]
        X: Any = index.dense() if kind == "squared" else None

        def exact(rows: np.ndarray, k: int) -> np.ndarray:
            found = index.nearest(np.ascontiguousarray(X[rows]), k + 1, self.n_jobs)[1]
            own = found == rows[:, None]
            own[~own.any(axis=1), -1] = True
            return found[~own].reshape(len(rows), k)

        if not self._finds_k:
            verdict = hashing.Verdict(None, 1.0, "rows within a radius are always found exactly")
        elif kind != "squared" or not isinstance(learned["rows_"], np.ndarray):
            reason = hashing.unsuitable(learned["effective_metric_"])
            verdict = hashing.Verdict(None, 1.0, reason)
        else:
            verdict = hashing.judge(X, exact, self.n_neighbors)
        if verdict.buckets is None:
            warn(
                f"{type(self).__name__}: algorithm='lsh' is not used, because {verdict.reason}. "
                "The search is exact instead, and recall_ is 1.",
                PellucidWarning,
            )
        return {
            "buckets_": None if verdict.buckets is None else dict(vars(verdict.buckets)),
            "recall_": verdict.recall,
            "recall_neighbors_": 0 if verdict.buckets is None else int(self.n_neighbors),
            "search_": "exact" if verdict.buckets is None else "lsh",
        }

    def _grows_tree(self, n: int, d: int, kind: str) -> bool:
        if kind in ("hamming", "gower") or self.algorithm in ("brute", "lsh"):
            return False
        if self.algorithm != "auto":
            return True
        return d <= neighbor_search.TREE_COLUMNS and n >= neighbor_search.TREE_ROWS

    # Searching -----------------------------------------------------------------------------------

    def _answer(self, method: Callable[[Any], Any], X: Any, direct: bool = False) -> Any:
        """Without X, the result for the training rows, each without itself as a neighbour."""
        if X is not None:
            return super()._answer(method, X, direct)
        self._check_fitted()
        return self._finite(method(None))

    def _encode_table(
        self, rows: Any, quiet: bool = False, finite: bool = False, narrow: bool = False
    ) -> Any:
        if self._pairwise and any(mask.any() for mask in rows.missing_cells()):
            raise DataError(
                "Input X contains NaN. Precomputed distances need a number for each pair of rows."
            )
        return super()._encode_table(rows, quiet, finite, narrow)

    def _index(self, k: int = 0) -> neighbor_search.Index:
        """The index for k neighbours; exact for more than the recall was measured for."""
        rows = self.rows_
        if isinstance(rows, tuple):
            rows = self._stored(len(self.space_["centre"]))
        hashed = k <= vars(self).get("recall_neighbors_", 0)
        buckets = vars(self).get("buckets_") if hashed else None
        return neighbor_search.Index(rows, self.tree_, self.space_, self.effective_metric_, buckets)

    def _stored(self, width: int) -> Any:
        """The training rows of sparse X."""
        from scipy.sparse import csr_array

        return csr_array(self.rows_, shape=(self.n_samples_fit_, width))

    def _placed(self, X: Any) -> Any:
        """Encoded queries in the space of the metric."""
        if self._pairwise:
            values = X if isinstance(X, np.ndarray) else X.data
            if X.shape[1] != self.n_samples_fit_ or values.min(initial=0.0) < 0:
                raise DataError(
                    "Precomputed distances must not be negative and need one column for each of the "
                    f"{self.n_samples_fit_} training rows. X has shape {X.shape}."
                )
            return X[:, self.order_]
        placed = distances.place(self.space_, X, self.effective_metric_)
        wide = isinstance(self.rows_, np.ndarray) or callable(self.effective_metric_)
        return placed if not wide or isinstance(placed, np.ndarray) else placed.toarray()

    def _training_rows(self) -> Any:
        """The training rows as queries."""
        if self._pairwise:
            X = self.rows_
            if isinstance(X, tuple):
                X = _at_itself(self._stored(self.n_samples_fit_))
            return X[self.order_][:, self.order_]
        return self.rows_ if callable(self.effective_metric_) else self._index().dense()

    def _nearest(
        self, placed: Any, k: int, own: int = 0, known: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Distances and positions of the k nearest training rows, by (distance, y, row); `own` of them
        are the queries themselves. At least `known` precomputed distances must be given, or all k."""
        if k > self.n_samples_fit_:
            raise DataError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, "
                f"n_samples_fit = {self.n_samples_fit_}. Use fewer neighbours."
            )
        if self.space_["kind"]:
            return self._index(k - own).nearest(placed, k, self.n_jobs)
        from pellucid.neighbors import _loops

        m = placed.shape[0]
        near, rows = np.full((m, k), np.inf), np.full((m, k), neighbor_search.NONE, dtype=np.int32)
        for block in neighbor_search.query_blocks(m):
            _loops.offer_all(self._table(placed[block]), 0, near[block], rows[block])
        _loops.sort(near, rows)
        if self._pairwise:
            _check_known(near[:, :known])
        return near, rows

    def _table(self, placed: Any) -> np.ndarray:
        """Distances to all training rows, for metric functions and precomputed distances."""
        if self._pairwise:
            return known_distances(placed)
        metric, params = self.effective_metric_, self.effective_metric_params_
        values = [[metric(q, x, **params) for x in self.rows_] for q in placed]
        try:
            table = np.array(values, dtype=float).reshape(len(placed), len(self.rows_))
        except (TypeError, ValueError):
            raise DataError(
                f"The metric function returned {values[0][0]!r}, but a distance must be one number."
            ) from None
        wrong = ~(table >= 0)
        if wrong.any():
            raise DataError(
                f"The metric function returned {table[wrong][0]}, but a distance must be at least 0."
            )
        return table

    def _within(self, placed: Any, radius: float) -> Lists:
        """Distances and positions of the training rows within the radius, nearest first."""
        if self.space_["kind"]:
            return radius_search.within(self._index(), placed, radius, self.n_jobs)
        blocks = neighbor_search.query_blocks(placed.shape[0])
        return joined([of_table(self._table(placed[block]), radius) for block in blocks])

    def _explain_classes(self, votes: Any, shares: np.ndarray, **facts: Any) -> Any:
        """The neighbours and their shares of the vote, for class shares (n, K)."""
        K = len(self.classes_)
        keep = slice(1, None) if K == 2 else slice(None)
        targets = (self.codes_[:, None] == np.arange(K)).astype(float)
        return votes.prototypes(
            self.order_, targets[:, keep], shares[:, keep],
            classes=tuple(self.classes_.tolist()), scale="probability", **facts,
        )  # fmt: skip

    def _target_table(self) -> np.ndarray:
        """The targets of the training rows, (rows, targets)."""
        return self.targets_.reshape(self.n_samples_fit_, -1)

    def _check_state(self) -> None:
        from pellucid.neighbors.file_checks import check, check_codes, check_targets

        check(self)
        if self._target == "classes":
            check_codes(self)
        elif self._target == "several":
            check_targets(self)


def tie_order(y: Any, n: int) -> np.ndarray:
    """Rows by (y, row)."""
    if y is None:
        return np.arange(n)
    if y.dtype == np.int32:  # class codes; small ones are sorted by radix
        return np.argsort(y.astype(np.uint16) if y.max() < 2**16 else y, kind="stable")
    first = y if y.ndim == 1 else np.ascontiguousarray(y[:, 0])
    order = np.argsort(first)  # twice as fast as a stable one, and the same without ties
    found = first[order]
    if (found[1:] > found[:-1]).all():
        return order
    return np.argsort(y, kind="stable") if y.ndim == 1 else np.lexsort((np.arange(n), *y.T[::-1]))


def _at_itself(graph: Any) -> Any:
    """Sparse distances, with each row at distance 0 from itself."""
    from scipy.sparse import csr_array

    n, graph = graph.shape[0], graph.tocoo()
    others, own = graph.row != graph.col, np.arange(graph.shape[0])
    data = np.append(graph.data[others], np.zeros(n))
    places = np.append(graph.row[others], own), np.append(graph.col[others], own)
    return csr_array((data, places), shape=(n, n))


def _check_known(near: np.ndarray) -> None:
    """Raise an error that names a row with fewer than k known distances."""
    known = np.isfinite(near).sum(axis=1)
    if known.min(initial=near.shape[1]) < near.shape[1]:
        row = int(np.argmin(known))
        raise DataError(
            f"{near.shape[1]} neighbors are required, but some samples have only {known[row]} neighbors "
            f"in the precomputed graph (first: row {row}). Use fewer neighbours, or store more "
            "distances in X."
        )


def _check_square(problem: Problem) -> None:
    X = problem.table
    if X.shape[0] != X.shape[1] or problem.position is not None:
        raise DataError(
            f"Precomputed metric requires shape (n_queries, n_indexed). Got {X.shape} for "
            f"{X.shape[0]} indexed: fit needs a square matrix of the distances of all training rows."
        )
    smallest = X.min(initial=0.0) if isinstance(X, np.ndarray) else X.data.min(initial=0.0)
    if smallest < 0:
        raise ParameterError(
            "Negative values in data passed to precomputed distance matrix. Distances are at least 0."
        )
