"""Logarithms of normal densities: (n, K) for rows and classes.

Invariant: the value of a row depends on that row alone, not on threads or on its neighbours; the
two builds of the loops give equal bits.
"""

from collections.abc import Callable

import numpy as np

from pellucid import parallel
from pellucid.numerics import _densities
from pellucid.numerics.simd import fastest

loops = fastest(_densities)

LARGEST = 1e290  # distances are cut here, so that differences of classes stay numbers
TILE = 4  # columns of a whitening that are taken together


def by_blocks(visit: Callable[[slice], int], X: np.ndarray) -> list[int]:
    """Results of a compiled loop over blocks of rows; a small table needs no threads."""
    blocks = parallel.row_blocks(*X.shape)
    return parallel.map(visit, blocks) if len(blocks) > 1 else [visit(blocks[0])]


def normal_log_density(
    X: np.ndarray, means: np.ndarray, precision: np.ndarray, constant: np.ndarray
) -> tuple[np.ndarray, bool]:
    """-1/2 (sum_j (x_j - mean_kj)^2 precision_kj + constant_k) of every row and class.

    Also whether all values are ordinary: a distance above LARGEST is replaced by it, NaN stays
    NaN.
    """
    out = np.empty((len(X), len(means)))
    means, precision = np.ascontiguousarray(means), np.ascontiguousarray(precision)
    far = by_blocks(
        lambda rows: loops.normal_log_density(
            X[rows], means, precision, constant, LARGEST, out[rows]
        ),
        X,
    )
    return out, not any(far)


def triangular(W: np.ndarray) -> np.ndarray:
    """A whitening (p, r) that gives the same lengths, and is 0 above its diagonal: half the work."""
    return np.ascontiguousarray(np.linalg.qr(W.T)[1].T)


def whitened_log_density(
    X: np.ndarray,
    means: np.ndarray,
    W: np.ndarray,
    constant: np.ndarray,
    units: np.ndarray | None = None,
) -> tuple[np.ndarray, bool]:
    """-1/2 (|(x 2**-units - mean_k) W_k|^2 + constant_k) of every row and class; W is (K, p, r).

    Also whether all values are ordinary, as in `normal_log_density`.
    """
    out = np.empty((len(X), len(means)))
    tiles, begin, p = *_tiled(W), X.shape[1]
    means = np.ascontiguousarray(means)

    def fill(rows: slice) -> int:
        block = np.ascontiguousarray(X[rows] if units is None else np.ldexp(X[rows], -units))
        room = np.empty((2, p, 8))
        return loops.whitened_log_density(
            block, means, tiles, begin, constant, LARGEST, room, out[rows]
        )

    return out, not any(by_blocks(fill, X))


def _tiled(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tiles (K, tiles, p, 4) of the columns of W, and the first row of each that is not 0."""
    K, p, r = W.shape
    n_tiles = -(-r // TILE)
    padded = np.zeros((K, p, n_tiles * TILE))
    padded[:, :, :r] = W
    tiles = np.ascontiguousarray(padded.reshape(K, p, n_tiles, TILE).transpose(0, 2, 1, 3))
    used = (tiles != 0).any(axis=3)
    begin = np.where(used.any(axis=2), used.argmax(axis=2), p)
    return tiles, np.ascontiguousarray(begin, dtype=np.int64)
