"""Moments of the rows of each class in one visit of every block: the fit of Gaussian classifiers.

Invariant: within a block every class is centred on its own mean before anything is squared, and
blocks are merged by the exact formula for two groups. Missing cells (NaN) are left out where the
caller states that there are some.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.numerics import _groups
from pellucid.numerics.row_blocks import Rows
from pellucid.numerics.simd import fastest

loops = fastest(_groups)

FIRST_ROWS = 256  # of a block, whose means serve as first centres
FAR = 3.0  # times the scatter that a centre may add to the squares: less than a digit


@dataclass(frozen=True)
class ClassMoments:
    """total (K,), or (K, p) with missing cells; mean (K, p).

    scatter: (K, p) squares, (K, p, p) products of each class, or (p, p) products of all classes.
    """

    total: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    def merge(self, other: ClassMoments) -> ClassMoments:
        """The moments of both groups of rows together."""
        a, b = (t if t.ndim == 2 else t[:, None] for t in (self.total, other.total))
        total = a + b
        share = np.divide(b, total, out=np.zeros_like(total), where=total > 0)
        delta = other.mean - self.mean
        factor = a * share  # weight of the squared distance of the two means
        if self.scatter.ndim == 2 and self.scatter.shape == self.mean.shape and self._diagonal:
            between = delta**2 * factor
        elif self.scatter.ndim == 3:
            between = (delta * factor)[:, :, None] * delta[:, None, :]
        else:
            between = (delta * factor).T @ delta
        return type(self)(
            self.total + other.total,
            self.mean + delta * share,
            self.scatter + other.scatter + between,
        )

    _diagonal = False


class DiagonalMoments(ClassMoments):
    """Squares only: a (p, p) scatter of p classes must not be taken for one."""

    _diagonal = True


def class_moments(
    X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, form: str, holes: bool = False
) -> ClassMoments:
    """Moments of the classes 0..n_classes-1; `form`: "diagonal", "own" or "shared" products."""
    table = Rows(X)
    if holes:
        return parallel.reduce(
            lambda rows: _with_holes(table.dense(rows), y[rows], w[rows], n_classes),
            ClassMoments.merge, table.blocks,
        )  # fmt: skip
    visit = _squares if form == "diagonal" else _products
    return parallel.reduce(
        lambda rows: visit(table.dense(rows), y[rows], w[rows], n_classes, form),
        ClassMoments.merge,
        table.blocks,
    )


def _means(
    block: np.ndarray, y: np.ndarray, w: np.ndarray, K: int
) -> tuple[np.ndarray, np.ndarray]:
    sums, total = np.zeros((K, block.shape[1])), np.zeros(K)
    loops.sum_by_class(block, y, w, sums, total)
    return total, np.divide(sums, total[:, None], out=sums, where=total[:, None] > 0)


def _squares(block: np.ndarray, y: np.ndarray, w: np.ndarray, K: int, form: str) -> DiagonalMoments:
    """One visit around the means of the first rows, if these are near; else around the right ones."""
    first = _means(block[:FIRST_ROWS], y[:FIRST_ROWS], w[:FIRST_ROWS], K)[1]
    total = np.bincount(y, w, minlength=K)
    mean, squares, share = _around(block, y, w, first, total)
    if len(block) > FIRST_ROWS and np.any(share > FAR * squares):
        exact = _means(block, y, w, K)[1]
        mean, squares, _ = _around(block, y, w, exact, total)
    return DiagonalMoments(total, mean, squares)


def _around(
    block: np.ndarray, y: np.ndarray, w: np.ndarray, centre: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, squares around them, and what the squares lost because the centre is not the mean."""
    squares, slips = np.zeros_like(centre), np.zeros_like(centre)
    loops.square_by_class(block, y, w, centre, squares, slips)
    count = np.where(total > 0, total, 1.0)[:, None]
    slips /= count
    lost = count * slips**2
    return centre + slips, np.maximum(squares - lost, 0.0), lost


def _products(block: np.ndarray, y: np.ndarray, w: np.ndarray, K: int, form: str) -> ClassMoments:
    total, mean = _means(block, y, w, K)
    counts = np.bincount(y, minlength=K)
    place = np.empty(len(y), dtype=np.int64)
    place[np.argsort(y, kind="stable")] = np.arange(len(y))
    centred = np.empty_like(block)
    loops.gather_centred(block, y, np.sqrt(w), mean, place, centred)
    if form == "shared":
        return ClassMoments(total, mean, centred.T @ centred)
    ends = np.concatenate([[0], np.cumsum(counts)])
    parts = [centred[a:b] for a, b in pairwise(ends)]
    return ClassMoments(total, mean, np.stack([part.T @ part for part in parts]))


def _with_holes(block: np.ndarray, y: np.ndarray, w: np.ndarray, K: int) -> DiagonalMoments:
    sums, total = np.zeros((K, block.shape[1])), np.zeros((K, block.shape[1]))
    loops.sum_present(block, y, w, sums, total)
    mean = np.divide(sums, total, out=sums, where=total > 0)
    squares, slips = np.zeros_like(mean), np.zeros_like(mean)
    loops.square_present(block, y, w, mean, squares, slips)
    count = np.where(total > 0, total, 1.0)
    slips /= count
    return DiagonalMoments(total, mean + slips, np.maximum(squares - count * slips**2, 0.0))
