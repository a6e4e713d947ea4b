"""x . b + b0 for many rows: the prediction of every linear model. NumPy only.

Invariant: the value of a row depends on the row and the batch alone, not on threads.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.numerics import _scores
from pellucid.numerics.row_blocks import Rows
from pellucid.numerics.simd import fastest

loops = fastest(_scores)

FEW = 4  # classes whose scores are held beside each other
SMALL = 2**13  # entries up to which BLAS does not think of threads


def linear_scores(
    X: Any, coef: np.ndarray, intercept: Any, cells: Callable[[Any], Any] = lambda block: block
) -> np.ndarray:
    """X (n, p), an array or CSR; coef (p,) or (k, p): (n,) or (n, k).

    `cells` is applied to each block of rows first; float32 becomes float64 block by block. With
    coefficients (p,), a cell of a dense X that is not finite always gives a score that is not.
    """
    if isinstance(X, np.ndarray) and coef.ndim == 1:
        return _single_scores(X, coef, intercept, cells)
    if not isinstance(X, np.ndarray) and (coef.ndim == 1 or 2 <= len(coef) <= FEW):
        return _sparse_scores(cells(X.astype(np.float64, copy=False)), coef, intercept)
    B = coef.T
    if not isinstance(X, np.ndarray) or X.size <= SMALL:
        X = X.astype(np.float64, copy=False)
        return cells(X).dot(B) + intercept  # a microsecond less than @, which services feel
    rows = Rows(X)
    out = np.empty((rows.n_here, *B.shape[1:]))

    def fill(block: slice) -> None:
        np.matmul(cells(X[block].astype(np.float64, copy=False)), B, out=out[block])
        out[block] += intercept

    parallel.map(fill, rows.blocks)
    return out


def _single_scores(
    X: np.ndarray, coef: np.ndarray, intercept: Any, cells: Callable[[Any], Any]
) -> np.ndarray:
    """One score for each row, in one pass over cells of float64 or float32."""
    out, coef = np.empty(X.shape[0]), np.ascontiguousarray(coef, dtype=float)
    b0 = np.asarray(intercept).item()

    def fill(block: slice) -> None:
        seen = cells(X[block])
        if seen.dtype != np.float32:
            seen = seen.astype(np.float64, copy=False)
        loops.row_scores(np.ascontiguousarray(seen), coef, b0, out[block])

    if X.size <= SMALL:
        fill(slice(0, X.shape[0]))
    else:
        parallel.map(fill, parallel.row_blocks(*X.shape))
    return out


def _sparse_scores(X: Any, coef: np.ndarray, intercept: Any) -> np.ndarray:
    """One score, or those of at most `FEW` classes, for each row of a CSR table."""
    kind = np.int32 if X.indices.dtype == X.indptr.dtype == np.int32 else np.int64
    indices, indptr = (np.ascontiguousarray(v, dtype=kind) for v in (X.indices, X.indptr))
    given = np.ascontiguousarray(X.data), indices, indptr
    n, blocks = X.shape[0], parallel.row_blocks(X.shape[0], max(1, X.nnz // max(X.shape[0], 1)))
    if coef.ndim == 1:
        out, b = np.empty(n), np.ascontiguousarray(coef, dtype=float)
        b0 = np.asarray(intercept).item()
        parallel.each(lambda r: loops.sparse_scores(*given, r.start, b, b0, out[r]), blocks)
        return out
    k = len(coef)
    out, B = np.empty((n, k)), np.zeros((coef.shape[1], 2 if k == 2 else FEW))
    B[:, :k] = coef.T
    shift = np.broadcast_to(np.asarray(intercept, dtype=float), k).copy()
    parallel.each(lambda r: loops.sparse_class_scores(*given, r.start, B, shift, out[r]), blocks)
    return out


def class_scores(X: Any, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Scores (n, K) of the classes; (n,) of the second of two, for which coef has one row."""
    one = len(coef) == 1
    return linear_scores(X, coef[0] if one else coef, intercept[0] if one else intercept)


def explained_scores(
    X: np.ndarray, centre: np.ndarray, coef: np.ndarray, base: np.ndarray, scores: np.ndarray
) -> dict[str, Any]:
    """The parts of an explanation: `base` are the scores at `centre`, the mean of the training rows."""
    return {
        "base": base,
        "contributions": (X - centre)[:, :, None] * coef.T,
        "prediction": scores.reshape(len(scores), -1),
        "method": "coefficient times distance from the training mean",
    }
