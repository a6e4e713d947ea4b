"""Distances whose powers overflow or underflow: which queries have them, and how to scale both tables.

Invariant: the scaling of a query depends on the training rows and on this query only, never on other
queries; scaling by powers of two does not round.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

SMALLEST = 2.0**-900  # below it, sums of squares or powers may have lost digits
STEP = 64  # powers are multiples of this, or of less for large p, so that there are few groups
CELLS = 2**20  # compared at a time
LOWEST = -900  # smallest power, so that ordinary cells next to tiny ones do not overflow


def sizes(Q: Any) -> np.ndarray:
    """The largest absolute value in each row."""
    if isinstance(Q, np.ndarray):
        return np.maximum(Q.max(axis=1, initial=0.0), -Q.min(axis=1, initial=0.0))
    return np.asarray(abs(Q).max(axis=1).todense()).ravel()


def scaled(X: Any, power: int) -> Any:
    """X divided by a power of two.

    Cells that would overflow are mapped to values between 2**1023 and 2**1024, in the same order.
    """
    if power == 0:
        return X
    given = X if isinstance(X, np.ndarray) else X.data
    with np.errstate(over="ignore"):
        own = np.ldexp(given, -power)
    huge = np.abs(own) >= 2.0**1023
    if huge.any():
        mantissa, exponent = np.frexp(np.abs(given[huge]))
        share = (exponent - 1024 - power + (2.0 * mantissa - 1.0)) / 2048.0
        own[huge] = np.copysign(2.0**1023 * (1.0 + share), given[huge])
    return own if isinstance(X, np.ndarray) else type(X)((own, X.indices, X.indptr), shape=X.shape)


def powers(space: dict[str, Any], extents: Any, largest: Any) -> np.ndarray:
    """Powers of two near distances of these sizes; 0 where their p-th powers are float64 numbers.

    `largest` is the largest number that enters a distance.
    """
    found = np.frexp(extents)[1]
    if space["kind"] in ("gower", "hamming"):
        return 0 * found
    if space["kind"] in ("manhattan", "chebyshev"):  # no power is taken: only sums may overflow
        return np.where(np.frexp(largest)[1] > 980, 40, 0)
    small = np.abs(found) <= min(400.0, 800.0 / space["p"])
    return np.where(small, 0, np.maximum(found, LOWEST))


def lost(index: Any, Q: Any, near: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Queries whose k-th raw distance has overflowed, or is so small that it lost digits.

    A distance of 0 is right if all rows that were found equal the query.
    """
    kind, last = index.space["kind"], near[:, -1]
    if kind in ("gower", "hamming"):
        return np.zeros(0, dtype=np.int64)
    wrong = ~(last < np.inf)
    if kind in ("squared", "minkowski"):
        wrong |= (last > 0) & (last < SMALLEST)
        zero = np.flatnonzero(last == 0)
        wrong[zero] = _different(index, Q, rows, zero)
    return np.flatnonzero(wrong)


def _different(index: Any, Q: Any, rows: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Which of the chosen queries differ from a row that was found for them."""
    if not len(chosen):
        return np.zeros(0, dtype=bool)
    k, d = rows.shape[1], index.d
    cells_of, out, some = index.cells_of(), [], max(1, CELLS // (k * d))
    for first in range(0, len(chosen), some):
        part = chosen[first : first + some]
        own = Q[part] if isinstance(Q, np.ndarray) else Q[part].toarray()
        found = cells_of(rows[part].ravel()).reshape(len(part), k, d)
        out.append((found != own[:, None]).any(axis=(1, 2)))
    return np.concatenate(out)


def groups(index: Any, Q: Any, k: int, jobs: int | None) -> Iterator[tuple[int, np.ndarray]]:
    """(power, queries of Q) such that the k-th distances, divided by 2**power, are about 1.

    Largest differences of a column (Chebyshev distances) can be computed for numbers of any size. The
    k-th distance lies between the k-th smallest of these and its product with the number of columns.
    """
    plain = index.scaled(1).of_kind("chebyshev")  # divided by 2, so that no difference overflows
    extent = plain.least(scaled(Q, 1), k, jobs)[0][:, -1]
    step = max(1, min(STEP, int(256 / index.space["p"])))
    own = (step * np.round(np.frexp(extent)[1] / step)).astype(np.int64)
    own = np.maximum(np.where(extent == 0, LOWEST, own), LOWEST)
    for power in np.unique(own):
        yield int(power), np.flatnonzero(own == power)
