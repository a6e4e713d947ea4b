"""What all neighbour models share: learning the rows, and looking up the nearest of them.

Invariant: training rows stand in the order of (y, row of the user's table), so that the smallest pairs
(distance, place) are the smallest triples (distance, y, row): equally near rows are taken by class or
value first, and shuffled tables give the same votes.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.base import Estimator
from pellucid.data import InputSpec, Problem, Table
from pellucid.errors import DataError, ParameterError, PellucidWarning, shown, warn
from pellucid.neighbors import distances, neighbor_search, radius_search
from pellucid.neighbors.ragged import Lists, joined, of_table, split
from pellucid.parameters import (
    Boolean,
    Choice,
    Either,
    Function,
    Integer,
    Jobs,
    Nothing,
    Real,
    Test,
)

METRIC_PARAMETERS = {
    "algorithm": Choice("auto", "ball_tree", "kd_tree", "brute", "lsh"),
    "leaf_size": Integer(1),
    "p": Either(Real(0, None, "neither"), Choice(np.inf), Nothing),
    "metric": Either(Choice(*distances.NAMES), Function),
    "metric_params": Either(
        Test(lambda v: isinstance(v, dict) and all(isinstance(k, str) for k in v), "a dict"),
        Nothing,
    ),
    "n_jobs": Jobs,
    "standardize": Boolean,
}
WEIGHTS = Either(Choice("uniform", "distance", "exp", "rational", None), Function)


class Lookup(Estimator):
    """Base of the neighbour models: `_memorise` for fit, `_index` for everything after it."""

    _counts_neighbours = False  # True if the model asks for k rows, which hashing can find

    def _input_spec(self) -> InputSpec:
        """Gower's distance reads codes, with their missing cells; all others a matrix.

        A missing distance cannot be guessed from the others.
        """
        spec = super()._input_spec()
        if self._pairwise and self.table is None:
            spec = replace(spec, table=Table(missing="error"))
        return replace(spec, layout="codes") if self.metric == "gower" else spec

    @property
    def _pairwise(self) -> bool:  # type: ignore[override]
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _memorise(self, problem: Problem) -> dict[str, Any]:
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
            "order_": _users_rows(problem)[order],
        }  # fmt: skip
        if self.algorithm == "lsh":
            index = neighbor_search.Index(learned["rows_"], None, space, metric)
            placed = index.dense() if space["kind"] == "squared" else None
            learned |= self._hashed(placed, learned)
        return learned

    def _arranged(
        self, problem: Problem, order: np.ndarray, metric: Any, space: dict
    ) -> tuple[Any, Any, dict]:
        """Rows placed in the space of the metric, in this order, then packed, in a tree if that pays."""
        X = distances.place(space, problem.X, metric)
        if not isinstance(X, np.ndarray) and X.shape[0] * X.shape[1] <= neighbor_search.DENSE_CELLS:
            X = np.ascontiguousarray(X.toarray())
        dense = isinstance(X, np.ndarray)
        if callable(metric):
            return (X if dense else X.toarray())[order], None, space
        n, d = X.shape
        if n > neighbor_search.NONE - 1:
            most = neighbor_search.NONE - 1
            raise DataError(f"Neighbour models hold at most {most} rows, not {n}.")
        known = problem.schema if X is problem.X and problem.schema.plain else None
        space = space | neighbor_search.position(X, space["kind"], known)
        if not dense:
            return X[order], None, space
        if not self._grows(n, d, space["kind"]):
            return neighbor_search.packed(X, neighbor_search.flat_starts(n), order), None, space
        room = X[order]
        tree = neighbor_search.build_tree(room, self.leaf_size)
        starts = neighbor_search.tree_starts(n, tree["depth"])
        return neighbor_search.packed(X, starts, order[tree["order"]], room), tree, space

    def _hashed(self, X: Any, learned: dict[str, Any]) -> dict[str, Any]:
        """Buckets, their recall and which search will be used, for `algorithm="lsh"`."""
        from pellucid.neighbors import hashing

        index = neighbor_search.Index(
            learned["rows_"], None, learned["space_"], learned["effective_metric_"]
        )

        def exact(rows: np.ndarray, k: int) -> np.ndarray:
            found = index.nearest(np.ascontiguousarray(X[rows]), k + 1, self.n_jobs)[1]
            own = found == rows[:, None]
            own[~own.any(axis=1), -1] = True
            return found[~own].reshape(len(rows), k)

        kind = learned["space_"]["kind"]
        if not self._counts_neighbours:
            verdict = hashing.Verdict(None, 1.0, "rows within a radius are always found exactly")
        elif kind != "squared" or not isinstance(learned["rows_"], np.ndarray):
            verdict = hashing.Verdict(None, 1.0, self._unhashed(learned["effective_metric_"]))
        else:
            verdict = hashing.judge(X, exact, self.n_neighbors)
        if verdict.buckets is None:
            warn(
                f"{type(self).__name__}: algorithm='lsh' would not pay here: {verdict.reason}. "
                "The search is exact instead, and recall_ is 1.",
                PellucidWarning,
            )
        return {
            "buckets_": None if verdict.buckets is None else verdict.buckets.state(),
            "recall_": verdict.recall,
            "recall_neighbors_": 0 if verdict.buckets is None else int(self.n_neighbors),
            "search_": "exact" if verdict.buckets is None else "lsh",
        }

    def _unhashed(self, metric: Any) -> str:
        """Why planes cannot tell near rows from far ones, and for which metrics they can."""
        known = ", ".join(repr(name) for name, kind in distances.KINDS.items() if kind == "squared")
        told = (
            f"the metric is {metric!r}" if isinstance(metric, str) else "the metric is a function"
        )
        if distances.KINDS.get(metric if isinstance(metric, str) else "") == "squared":
            told = "the table is large and sparse"
        return f"hashing works on dense rows for the metrics {known}, and {told}"

    def _grows(self, n: int, d: int, kind: str) -> bool:
        if kind in ("hamming", "gower") or self.algorithm in ("brute", "lsh"):
            return False
        if self.algorithm != "auto":
            return True
        return d <= neighbor_search.TREE_COLUMNS and n >= neighbor_search.TREE_ROWS

    # Looking up ---------------------------------------------------------------------------------

    def _encode_table(self, rows: Any, quiet: bool = False, finite: bool = False) -> Any:
        if self._pairwise and any(mask.any() for mask in rows.missing_cells()):
            raise DataError(
                "Input X contains NaN: precomputed distances need a number for each pair."
            )
        return super()._encode_table(rows, quiet, finite)

    def _index(self, k: int = 0) -> neighbor_search.Index:
        """For k neighbours: exact beyond the number that the recall of the buckets was measured for."""
        rows = self.rows_
        if isinstance(rows, tuple):
            from scipy.sparse import csr_array

            rows = csr_array(rows, shape=(self.n_samples_fit_, len(self.space_["centre"])))
        hashed = k <= vars(self).get("recall_neighbors_", 0)
        buckets = vars(self).get("buckets_") if hashed else None
        return neighbor_search.Index(rows, self.tree_, self.space_, self.effective_metric_, buckets)

    def _placed(self, X: Any) -> Any:
        """Encoded queries in the space of the metric."""
        if self._pairwise:
            X = X if isinstance(X, np.ndarray) else X.toarray()
            if X.shape[1] != self.n_samples_fit_ or X.min(initial=0.0) < 0:
                raise DataError(
                    f"Precomputed distances need one column of numbers of at least 0 for each of "
                    f"the {self.n_samples_fit_} training rows."
                )
            return np.ascontiguousarray(X[:, self.order_])
        placed = distances.place(self.space_, X, self.effective_metric_)
        wide = isinstance(self.rows_, np.ndarray) or callable(self.effective_metric_)
        return placed if not wide or isinstance(placed, np.ndarray) else placed.toarray()

    def _known(self) -> Any:
        """The training rows as queries."""
        if self._pairwise:
            return np.ascontiguousarray(self.rows_[np.ix_(self.order_, self.order_)])
        return self.rows_ if callable(self.effective_metric_) else self._index().dense()

    def _nearest(self, placed: Any, k: int, own: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Distances and places of the k nearest training rows, by (distance, y, row); `own` of them
        are the queries themselves.
        """
        if k > self.n_samples_fit_:
            raise DataError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, "
                f"n_samples_fit = {self.n_samples_fit_}. Ask for fewer neighbours."
            )
        if self.space_["kind"]:
            return self._index(k - own).nearest(placed, k, self.n_jobs)
        from pellucid.neighbors import _loops

        m = placed.shape[0]
        near, rows = np.full((m, k), np.inf), np.full((m, k), neighbor_search.NONE, dtype=np.int32)
        for block in neighbor_search.query_blocks(m):
            _loops.offer_all(self._table(placed[block]), 0, near[block], rows[block])
        _loops.sort(near, rows)
        return near, rows

    def _table(self, placed: np.ndarray) -> np.ndarray:
        """Distances to all rows, for callables and precomputed distances."""
        if self._pairwise:
            return np.ascontiguousarray(placed, dtype=float)
        metric, params = self.effective_metric_, self.effective_metric_params_
        values = [[metric(q, x, **params) for x in self.rows_] for q in placed]
        try:
            table = np.array(values, dtype=float).reshape(len(placed), len(self.rows_))
        except (TypeError, ValueError):
            raise DataError(
                f"The metric function returned {values[0][0]!r}: a distance is one number."
            ) from None
        wrong = ~(table >= 0)
        if wrong.any():
            raise DataError(
                f"The metric function returned {table[wrong][0]}: a distance is a number of at least 0."
            )
        return table

    def _within(self, placed: Any, radius: float) -> Lists:
        """Distances and places of the training rows within the radius, nearest first."""
        if self.space_["kind"]:
            return radius_search.within(self._index(), placed, radius, self.n_jobs)
        blocks = neighbor_search.query_blocks(placed.shape[0])
        return joined([of_table(self._table(placed[block]), radius) for block in blocks])

    def _check_state(self) -> None:
        """Refuse parts that the loops cannot read (model files)."""
        from pellucid.neighbors.file_checks import check

        check(self)


def tie_order(y: Any, n: int) -> np.ndarray:
    """Rows by (y, row)."""
    if y is None:
        return np.arange(n)
    if y.dtype == np.int32:  # class codes; short ones are sorted digit by digit
        return np.argsort(y.astype(np.uint16) if y.max() < 2**16 else y, kind="stable")
    columns = y[:, None] if y.ndim == 1 else y
    return np.lexsort((np.arange(n), *columns.T[::-1]))


def _users_rows(problem: Problem) -> np.ndarray:
    """Row of the user's table for each row of the problem."""
    if problem.position is None:
        return np.arange(problem.n)
    rows = np.flatnonzero(problem.position >= 0)
    out = np.empty(problem.n, dtype=np.int64)
    out[problem.position[rows]] = rows
    return out


def _check_square(problem: Problem) -> None:
    X = problem.table
    if X.shape[0] != X.shape[1] or problem.position is not None:
        raise DataError(
            f"Precomputed metric requires shape (n_queries, n_indexed). Got {X.shape} for "
            f"{X.shape[0]} indexed: distances of all training rows to each other, square."
        )
    smallest = X.min(initial=0.0) if isinstance(X, np.ndarray) else X.data.min(initial=0.0)
    if smallest < 0:
        raise ParameterError("Negative values in data passed to precomputed distance matrix.")


def graph(lists: list[tuple[np.ndarray, np.ndarray]], n: int, mode: str) -> Any:
    """CSR matrix of neighbours: 1 or the distance for each pair."""
    from scipy.sparse import csr_matrix

    indptr = np.concatenate([[0], np.cumsum([len(rows) for _, rows in lists])])
    columns = np.concatenate([rows for _, rows in lists]) if lists else np.zeros(0, dtype=int)
    distances = np.concatenate([d for d, _ in lists]) if lists else np.zeros(0)
    data = distances if mode == "distance" else np.ones(len(columns))
    return csr_matrix((data, columns, indptr), shape=(len(lists), n))


def check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise ParameterError(
            f'Unsupported mode, must be one of "connectivity", or "distance" but got {mode!r} instead'
        )


def check_count(k: Any) -> None:
    if not Integer(1).accepts(k):
        raise ParameterError(f"n_neighbors must be an int of at least 1. Got {shown(k)} instead.")


class KNearest(Lookup):
    """Models that ask for a number of neighbours: `kneighbors`, `kneighbors_graph`."""

    _counts_neighbours = True

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Distances and row numbers of the nearest training rows, nearest first.

        Equally near rows come by (y, row). Without X: the neighbours of the training rows, each
        without itself.
        """
        self._check_fitted()
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        check_count(k)
        if X is None:
            distances, places = self._others(k)
        else:
            distances, places = self._nearest(self._placed(self._encoded(X)), k)
        rows = self.order_[places]
        return (distances, rows) if return_distance else rows

    def _others(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The nearest other training rows, in the user's order of rows."""
        n = self.n_samples_fit_
        if k >= n:
            raise DataError(
                f"Expected n_neighbors < n_samples_fit, but n_neighbors = {k}, n_samples_fit = {n}, "
                "n_samples = (none given: the training rows themselves)."
            )
        distances, places = self._nearest(self._known(), k + 1, own=1)
        own = places == np.arange(n)[:, None]
        own[~own.any(axis=1), -1] = True  # as many equal rows come before it: leave out the last
        keep = np.argsort(self.order_, kind="stable")
        return distances[~own].reshape(n, k)[keep], places[~own].reshape(n, k)[keep]

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> Any:
        """CSR matrix with an entry for each neighbour: 1, or its distance."""
        check_mode(mode)
        distances, rows = self.kneighbors(X, n_neighbors)
        return graph(list(zip(distances, rows)), self.n_samples_fit_, mode)


class WithinRadius(Lookup):
    """Models that ask for all rows within a radius: `radius_neighbors` and its graph."""

    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """Arrays of distances and row numbers of all training rows within the radius.

        They are always sorted, by (distance, y, row). Without X: the neighbours of the training rows,
        each without itself.
        """
        self._check_fitted()
        r = self.radius if radius is None else radius
        if not Real(0, None, "left").accepts(r):
            raise ParameterError(f"radius must be a number of at least 0. Got {shown(r)} instead.")
        distances, rows = split(self._lists(X, r), self.order_)
        return (distances, rows) if return_distance else rows

    def _lists(self, X: Any, radius: float) -> Lists:
        if X is not None:
            return self._within(self._placed(self._encoded(X)), radius)
        found = self._within(self._known(), radius)
        each = found.keep(found.rows != found.owners).each()
        turn = [each[own] for own in np.argsort(self.order_, kind="stable")]
        counts = np.array([len(near) for near, _ in turn])
        return Lists(counts, *(np.concatenate(part) for part in zip(*turn)))

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> Any:
        """CSR matrix with an entry for each row within the radius: 1, or its distance."""
        check_mode(mode)
        distances, rows = self.radius_neighbors(X, radius)
        return graph(list(zip(distances, rows)), self.n_samples_fit_, mode)
