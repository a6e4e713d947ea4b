"""Affinities: how near every pair of rows is, as probabilities that sum to 1.

For Euclidean distances, rows are first centred and divided by a power of two, so that squares
neither overflow nor lose digits; affinities do not depend on the scale.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import DataError
from pellucid.manifold import _loops

NAMES = {"l1": "cityblock", "manhattan": "cityblock", "l2": "euclidean"}
# Metrics that do not change when a row is multiplied by a power of two.
SCALE_FREE = ("cosine", "correlation")
# Extra neighbours to consider, because rounding in products may misorder the last ones.
SPARE = 16
CELLS = 2**24  # distances at once


def centred(X: np.ndarray) -> np.ndarray:
    """Rows minus their mean, divided by a power of two so that the largest value is about 1."""
    power = int(np.frexp(np.abs(X).max(initial=0.0))[1])
    Z = np.ldexp(X, -power)
    Z = Z - Z.mean(axis=0)
    return np.ascontiguousarray(np.ldexp(Z, -int(np.frexp(np.abs(Z).max(initial=0.0))[1])))


def with_estimates(X: np.ndarray, metric: Any, params: dict[str, Any] | None) -> dict[str, Any]:
    """Parameters of a metric, with the variances that it estimates, computed once from all rows.

    Constant columns, and linear combinations of others, do not contribute to the distance.
    """
    given = dict(params or {})
    name = {"seuclidean": "V", "mahalanobis": "VI"}.get(metric) if isinstance(metric, str) else None
    if name is None or given.get(name) is not None:
        return given
    variance = X.var(axis=0, ddof=1)
    variance = np.where(variance > 0, variance, 1.0)
    if name == "V":
        return given | {"V": variance}
    Z = (X - X.mean(axis=0)) / np.sqrt(variance)
    inverse = np.linalg.pinv(Z.T @ Z / (len(X) - 1), hermitian=True)
    return given | {"VI": inverse / np.sqrt(np.outer(variance, variance))}


def squared_distances(
    X: np.ndarray, rows: slice, metric: Any, params: dict[str, Any] | None
) -> np.ndarray:
    """Squared distances of some rows to all rows; X holds distances if metric is "precomputed"."""
    if isinstance(metric, str) and metric == "precomputed":  # checked already; inf: not known
        top = X[rows].max(initial=0.0, where=np.isfinite(X[rows]))
        return np.square(X[rows] if top < 1e150 else X[rows] / top)
    if callable(metric):
        D = np.array([[metric(a, b, **(params or {})) for b in X] for a in X[rows]], dtype=float)
    else:
        from scipy.spatial.distance import cdist

        if metric in SCALE_FREE:
            X = np.ldexp(X, -np.frexp(np.abs(X).max(axis=1, keepdims=True))[1])
        try:
            D = cdist(X[rows], X, NAMES.get(metric, metric), **(params or {}))
        except (TypeError, ValueError) as error:
            raise DataError(
                f"The metric {metric!r} cannot be used with these data: {error}"
            ) from None
    invalid = ~(np.isfinite(D) & (D >= 0))
    if invalid.any():
        i, j = np.argwhere(invalid)[0]
        raise DataError(
            "The metric must give finite distances that are not negative, but the distance "
            f"between rows {rows.start + int(i)} and {int(j)} is {D[i, j]:g}."
        )
    top = D.max(initial=0.0)
    return np.ascontiguousarray(np.square(D if top < 1e150 else D / top))


def all_pairs(X: np.ndarray, perplexity: float, metric: Any, params: Any) -> np.ndarray:
    """Affinities of all pairs, (n, n)."""
    n = len(X)
    P, all_rows = np.empty((n, n)), np.arange(n, dtype=np.int64)

    def one(rows: slice) -> None:
        D = np.empty((rows.stop - rows.start, n))
        if _euclidean(metric, params):
            others = np.ascontiguousarray(np.broadcast_to(all_rows, D.shape))
            _loops.distances_to(X, rows.start, others, D)
        else:
            D = squared_distances(X, rows, metric, params)
        _loops.affinities(D, rows.start, True, perplexity, P[rows])

    parallel.map(one, parallel.row_blocks(n, n))
    P = P + P.T
    return P / P.sum()


def _blocks(n: int) -> list[slice]:
    """Blocks of rows whose distances to n rows are few enough for memory, and for Ctrl-C to end soon."""
    rows = max(1, min(parallel.block_rows(n), CELLS // n))
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


def of_neighbours(X: np.ndarray, perplexity: float, metric: Any, params: Any) -> Any:
    """Affinities of each row and its 3 * perplexity nearest neighbours, CSR."""
    from scipy import sparse

    n = len(X)
    k = min(n - 1, int(3.0 * perplexity + 1))
    squares = np.einsum("ij,ij->i", X, X)
    columns, shares = np.empty((n, k), dtype=np.int64), np.empty((n, k))

    def one(rows: slice) -> None:
        if _euclidean(metric, params):
            rough = squares - 2.0 * (X[rows] @ X.T)
            rough[np.arange(len(rough)), np.arange(rows.start, rows.stop)] = np.inf
            near = _smallest(rough, min(n - 1, k + SPARE))
            D = np.empty(near.shape)
            _loops.distances_to(X, rows.start, near, D)
        else:
            D = squared_distances(X, rows, metric, params)
            D[np.arange(len(D)), np.arange(rows.start, rows.stop)] = np.inf
            near = _smallest(D, k)
            D = np.take_along_axis(D, near, axis=1)
            _check_known(D, rows.start)
        best = np.argsort(D, axis=1, kind="stable")[:, :k]
        columns[rows] = np.take_along_axis(near, best, axis=1)
        D = np.ascontiguousarray(np.take_along_axis(D, best, axis=1))
        _loops.affinities(D, rows.start, False, perplexity, shares[rows])

    parallel.map(one, _blocks(n))
    starts = np.arange(0, n * k + 1, k)
    P = sparse.csr_array((shares.ravel(), columns.ravel(), starts), shape=(n, n))
    P = (P + P.T).tocsr()
    P.sort_indices()
    return P / P.sum()


def _check_known(D: np.ndarray, first: int) -> None:
    """Raise an error that names a row with fewer than k known distances."""
    known = np.isfinite(D).sum(axis=1)
    row = int(np.argmin(known))
    if known[row] < D.shape[1]:
        raise DataError(
            f"{D.shape[1]} neighbors are required, but some samples have only {known[row]} neighbors "
            f"in the precomputed graph (first: row {first + row}). Use a smaller perplexity, or store "
            "more distances in X."
        )


def _euclidean(metric: Any, params: Any) -> bool:
    return isinstance(metric, str) and metric in ("euclidean", "l2") and not params


def _smallest(D: np.ndarray, k: int) -> np.ndarray:
    """Columns of the k smallest entries of each row, in increasing order of column."""
    found = np.argpartition(D, k - 1, axis=1)[:, :k] if k < D.shape[1] else np.argsort(D, axis=1)
    return np.ascontiguousarray(np.sort(found[:, :k], axis=1))
