"""The two questions that neighbour models answer: the k nearest rows, and all rows within a radius."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError, shown
from pellucid.neighbors import k_steps, vote_weights
from pellucid.neighbors.base import NeighborModel
from pellucid.neighbors.neighbor_parameters import RADIUS
from pellucid.neighbors.ragged import Lists, of_each, split
from pellucid.neighbors.ties import Nearest, shared, tied_rows
from pellucid.neighbors.votes import KVotes, RadiusVotes
from pellucid.parameters import Integer
from pellucid.records import Recorder

ENTRIES = 2**23  # neighbours in memory at a time while rows are predicted, 32 bytes each


class KNeighborsQueries(NeighborModel):
    """Models that search a number of neighbours: `kneighbors`, `kneighbors_graph`."""

    _finds_k = True

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Distances and row numbers of the nearest training rows, nearest first.

        Equally near rows are ordered by (y, row). Without X: the neighbours of the training rows, each
        without itself.
        """
        self._check_fitted()
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not Integer(1).accepts(k):
            raise ParameterError(
                f"n_neighbors must be an int of at least 1. Got {shown(k)} instead."
            )
        if X is None:
            distances, positions = self._nearest_others(k)
        else:
            distances, positions = self._nearest(self._placed(self._encoded(X)), k)
        rows = self.order_[positions]
        return (distances, rows) if return_distance else rows

    def _nearest_others(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The nearest other training rows of each training row, in the user's order of rows."""
        self._check_others(k)
        distances, positions = self._others(np.arange(self.n_samples_fit_), k)
        keep = np.argsort(self.order_, kind="stable")
        return distances[keep], positions[keep]

    def _check_others(self, k: int) -> None:
        n = self.n_samples_fit_
        if k >= n:
            raise DataError(
                f"Expected n_neighbors < n_samples_fit, but n_neighbors = {k} and n_samples_fit = {n}: "
                "without X, a training row is not its own neighbour. Use fewer neighbours."
            )

    def _others(self, places: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The nearest other training rows of those at some positions."""
        rows = self._training_rows()
        in_order = len(places) == self.n_samples_fit_ and (np.diff(places) == 1).all()
        asked = rows if in_order else rows[places]
        distances, positions = self._nearest(asked, k + 1, own=1)
        own = positions == places[:, None]
        own[~own.any(axis=1), -1] = True  # k + 1 equal rows come before it: leave out the last
        return distances[~own].reshape(-1, k), positions[~own].reshape(-1, k)

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> Any:
        """CSR matrix with an entry for each neighbour: 1, or its distance."""
        _check_mode(mode)
        distances, rows = self.kneighbors(X, n_neighbors)
        return _graph(list(zip(distances, rows)), self.n_samples_fit_, mode)

    def _check_k(self, problem: Problem) -> None:
        if problem.n < self.n_neighbors:
            raise DataError(
                f"n_neighbors={self.n_neighbors} is larger than the number of training rows, "
                f"n_samples={problem.n}. Use fewer neighbours."
            )

    def _record_k(self, learned: dict[str, Any]) -> dict[str, Any]:
        """For those who watch: the model with 1, 2, ... neighbours, and how far they are."""
        recorder = Recorder(type(self).__name__, self.n_neighbors)
        if recorder.watched:
            model, n = copy(self), learned["n_samples_fit_"]
            vars(model).update(learned)
            most = min(self.n_neighbors, n - 1)
            places = k_steps.sampled(n, most + 1)
            distances = model._others(places, most)[0] if most else np.empty((n, 0))
            k_steps.record(recorder, self.n_neighbors, model.order_[places], distances)
        return learned

    def _k_votes(self, X: Any) -> KVotes:
        """Neighbours of encoded rows and their weights, for models with `weights` and `beta`.

        Rows that tie at the largest distance share its votes; hashing, which is approximate, keeps
        the first of them.
        """
        k, nearest, most = self.n_neighbors, *self._searcher(X)
        exact = k < most and vars(self).get("buckets_") is None
        distances, positions = nearest(np.arange(self._n_queries(X)), k + exact)
        further, distances = distances[:, -1], np.ascontiguousarray(distances[:, :k])
        weights = vote_weights.weigh(self.weights, distances, self.beta)
        votes = KVotes(distances, np.ascontiguousarray(positions[:, :k]), weights)
        last = distances[:, -1]
        queries = np.flatnonzero(further == last) if exact else np.zeros(0, dtype=np.int64)
        if not len(queries):
            return votes
        queries, lists = tied_rows(nearest, queries, last[queries], k, most)
        tied = distances[queries] == last[queries, None]
        return replace(votes, queries=queries, tied=shared(lists, weights[queries], tied))

    def _n_queries(self, X: Any) -> int:
        return self.n_samples_fit_ if X is None else int(X.shape[0])

    def _searcher(self, X: Any) -> tuple[Nearest, int]:
        """The function that finds the nearest rows of some queries, and how many rows it can find;
        without X the queries are the training rows, which do not find themselves."""
        k = self.n_neighbors
        if X is None:
            self._check_others(k)
            place = np.argsort(self.order_, kind="stable")
            return lambda queries, k: self._others(place[queries], k), self.n_samples_fit_ - 1
        placed = self._placed(X)

        def nearest(queries: np.ndarray, many: int) -> tuple[np.ndarray, np.ndarray]:
            some = placed if len(queries) == placed.shape[0] else placed[queries]
            return self._nearest(some, many, known=k)

        return nearest, self.n_samples_fit_


class RadiusQueries(NeighborModel):
    """Models that search all rows within a radius: `radius_neighbors`, `radius_neighbors_graph`."""

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
        if not RADIUS.accepts(r):
            raise ParameterError(f"radius must be a number of at least 0. Got {shown(r)} instead.")
        encoded = None if X is None else self._encoded(X)
        distances, rows = split(self._lists(encoded, r), self.order_)
        return (distances, rows) if return_distance else rows

    def _lists(self, X: Any, radius: float) -> Lists:
        """Neighbours of encoded rows; of the training rows, each without itself, if X is None."""
        if X is not None:
            return self._within(self._placed(X), radius)
        found = self._within(self._training_rows(), radius)
        each = found.keep(found.rows != found.owners).each()
        return of_each([each[own] for own in np.argsort(self.order_, kind="stable")])

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> Any:
        """CSR matrix with an entry for each row within the radius: 1, or its distance."""
        _check_mode(mode)
        distances, rows = self.radius_neighbors(X, radius)
        return _graph(list(zip(distances, rows)), self.n_samples_fit_, mode)

    def _radius_votes(self, X: Any) -> RadiusVotes:
        """Neighbours of encoded rows and their shares, for models with `weights` and `beta`."""
        lists = self._lists(X, self.radius)
        return RadiusVotes(lists, vote_weights.shares_of_lists(self.weights, lists, self.beta))

    def _in_parts(self, X: Any, predict: Callable[[RadiusVotes, int], np.ndarray]) -> np.ndarray:
        """predict(votes, first row) part by part: the lists of all rows might not fit in memory."""
        if X is None:
            return predict(self._radius_votes(None), 0)
        size = max(1, ENTRIES // self.n_samples_fit_)
        firsts = range(0, X.shape[0], size)
        return np.concatenate([predict(self._radius_votes(X[i : i + size]), i) for i in firsts])

    def _check_neighbors(self, votes: RadiusVotes, first: int, advice: str = "") -> None:
        """Raise an error that names a row without neighbours; `first` is the number of the first row."""
        if votes.alone.any():
            raise DataError(
                f"No neighbors found for test sample {first + int(np.argmax(votes.alone))}: no training "
                f"row lies within radius={self.radius:g}. Use a larger radius{advice}."
            )


def _graph(lists: list[tuple[np.ndarray, np.ndarray]], n: int, mode: str) -> Any:
    """CSR matrix of neighbours: 1 or the distance for each pair."""
    from scipy.sparse import csr_matrix

    indptr = np.concatenate([[0], np.cumsum([len(rows) for _, rows in lists])])
    columns = np.concatenate([rows for _, rows in lists]) if lists else np.zeros(0, dtype=int)
    distances = np.concatenate([d for d, _ in lists]) if lists else np.zeros(0)
    data = distances if mode == "distance" else np.ones(len(columns))
    return csr_matrix((data, columns, indptr), shape=(len(lists), n))


def _check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise ParameterError(
            f'Unsupported mode, must be one of "connectivity", or "distance" but got {mode!r} instead'
        )
