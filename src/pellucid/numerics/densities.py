"""Distances of rows from the means of classes, as normal densities need them.

Invariant: the value of a row depends on that row alone, not on threads or on its neighbours; the
two builds of the loops give equal bits.
"""

import numpy as np

from .. import parallel
from . import _densities as _plain
from ._loops import cpu_has_avx2

loops = _plain
if cpu_has_avx2():
    from . import _densities_avx2 as loops  # type: ignore[no-redef]

TILE = 4  # columns of a whitening that are taken together


def normal_distances(X: np.ndarray, means: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """sum_j (x_j - mean_kj)^2 precision_kj of every row and class: (n, K)."""
    out = np.empty((len(X), len(means)))
    means, precision = np.ascontiguousarray(means), np.ascontiguousarray(precision)
    parallel.map(
        lambda rows: loops.normal_distances(X[rows], means, precision, out[rows]),
        parallel.row_blocks(*X.shape),
    )
    return out


def triangular(W: np.ndarray) -> np.ndarray:
    """A whitening (p, r) that gives the same lengths, and is 0 above its diagonal: half the work."""
    return np.ascontiguousarray(np.linalg.qr(W.T)[1].T)


def whitened_distances(
    X: np.ndarray, means: np.ndarray, W: np.ndarray, units: np.ndarray | None = None
) -> np.ndarray:
    """|(x 2**-units - mean_k) W_k|^2 of every row and class: (n, K); W is (K, p, r)."""
    out = np.empty((len(X), len(means)))
    tiles, begin, p = *_tiled(W), X.shape[1]
    means = np.ascontiguousarray(means)

    def fill(rows: slice) -> None:
        block = np.ascontiguousarray(X[rows] if units is None else np.ldexp(X[rows], -units))
        loops.whitened_lengths(block, means, tiles, begin, np.empty((2, p, 8)), out[rows])

    parallel.map(fill, parallel.row_blocks(*X.shape))
    return out


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
