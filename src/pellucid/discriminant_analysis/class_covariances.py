"""Means and covariances of classes, whitening, and the rule for directions without variance.

Everything here is in computing units: columns of extreme size are scaled by powers of two, and the
columns' own spread is divided out before a rank is decided; so no answer depends on units.

Invariant: covariances have divisor n; a whitening W of a covariance C has W' C W = 1 on the
directions it keeps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.data.encode import check_room
from pellucid.data.schema import TEXT
from pellucid.errors import ParameterError
from pellucid.numerics.class_moments import class_moments
from pellucid.numerics.covariance import ledoit_wolf

EXTREME = 100  # |log2| of a column's size beyond which it is scaled
# Offset in units of spread beyond which columns are centred before use: "svd" centres anyway, the
# coefficients of the other solvers are scikit-learn's only if nothing is taken off.
FAR = {"svd": 8.0, "lsqr": 32.0, "eigen": 32.0}
PART = 1e-3  # entry of a unit vector above which a column takes part in a direction
NO_VARIANCE = 1e-10  # of a standardised covariance: a direction without variance
IMPOSSIBLE = -1e300  # logarithm of a chance of 0: no distance makes up for it
PAIRS = 2**24  # entries of covariances of words at most
LEAST_SHARE = 1e-6  # of the total variance that a class may have where the pooled one has none


@dataclass(frozen=True)
class Clouds:
    """Classes in computing units: x 2**-units. own is (K, p, p) or None, pooled (p, p)."""

    units: np.ndarray
    total: np.ndarray  # weight of each class
    means: np.ndarray
    own: np.ndarray | None
    pooled: np.ndarray

    @property
    def share(self) -> np.ndarray:
        return self.total / self.total.sum()

    def between(self) -> np.ndarray:
        """Covariance of the class means."""
        apart = self.means - self.share @ self.means
        return (apart * self.share[:, None]).T @ apart


def wide(problem: Problem) -> bool:
    """Whether the rows are fewer than the columns, and of ordinary size."""
    assert problem.classes is not None
    few = problem.n + len(problem.classes) < problem.p
    return few and not problem.schema.units(EXTREME).any()


def check_pairs(problem: Problem, many: int) -> None:
    """Refuse more words than so many covariance matrices have room for."""
    if TEXT in problem.schema.kinds:
        what, fits = f"covariance matrices ({many} of them)", int((PAIRS / many) ** 0.5)
        check_room(problem.schema, what, many * problem.p**2, PAIRS, fits)


def clouds(problem: Problem, own: bool) -> Clouds:
    """One pass over the table."""
    assert problem.classes is not None
    K, units, w = len(problem.classes), problem.schema.units(EXTREME), problem.weights
    check_pairs(problem, K if own else 1)
    X = np.ldexp(problem.table, -units) if units.any() else problem.table
    w = np.ldexp(w, -int(np.frexp(w.max())[1]))
    found = class_moments(X, problem.y, w, K, "own" if own else "shared")
    if not own:
        return Clouds(units, found.total, found.mean, None, found.scatter / found.total.sum())
    count = np.where(found.total > 0, found.total, 1.0)[:, None, None]
    pooled = found.scatter.sum(axis=0) / found.total.sum()
    return Clouds(units, found.total, found.mean, found.scatter / count, pooled)


def chosen_priors(priors: Any, share: np.ndarray, owner: str) -> np.ndarray:
    """Given chances of the classes, or their shares of the weight."""
    if priors is None:
        return share
    given = np.asarray(priors, dtype=float)
    if given.shape != share.shape:
        raise ParameterError(
            f"Number of priors must match number of classes: priors of {owner} has shape "
            f"{given.shape}, there are {len(share)} classes."
        )
    if not (given >= 0).all():
        raise ParameterError(f"priors must be non-negative. Got {given.tolist()}.")
    if not abs(given.sum() - 1.0) <= 1e-5:
        raise ParameterError(
            f"The sum of the priors should be 1. Got {given.tolist()}, which sum to "
            f"{given.sum():g}: divide them by their sum."
        )
    return given / given.sum()


def log_priors(priors: np.ndarray) -> np.ndarray:
    """Logarithms; an impossible class has one below all distances instead of -inf."""
    return np.where(priors > 0, np.log(np.where(priors > 0, priors, 1.0)), IMPOSSIBLE)


def standard(cov: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The correlation matrix of a covariance, and the standard deviations (1 where there is none)."""
    spread = np.sqrt(np.maximum(np.diagonal(cov), 0.0))
    spread = np.where(spread > 0, spread, 1.0)
    return cov / spread / spread[:, None], spread


def whitening(cov: np.ndarray, tol: float) -> np.ndarray:
    """W (p, r) with W' cov W = 1, strongest direction first; those of a spread <= tol are left out."""
    return whitened(cov, tol)[0]


def whitened(cov: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """`whitening`, and the positions of the columns that take part in what it leaves out."""
    correlation, spread = standard(cov)
    values, vectors = np.linalg.eigh(correlation)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = np.sqrt(np.maximum(values, 0.0)) > tol
    flat = np.flatnonzero((np.abs(vectors[:, ~kept]) > PART).any(axis=1))
    return vectors[:, kept] / spread[:, None] / np.sqrt(values[kept]), flat


def turned(directions: np.ndarray) -> np.ndarray:
    """Every column with its largest entry positive, so that signs do not depend on the way."""
    if not directions.size:
        return directions
    largest = np.abs(directions).argmax(axis=0)
    sign = np.sign(directions[largest, np.arange(directions.shape[1])])
    return directions * np.where(sign == 0, 1.0, sign)


@dataclass(frozen=True)
class Shape:
    """A covariance made usable: W, its log determinant, and the columns that do not vary."""

    W: np.ndarray
    log_det: float
    lacking: np.ndarray


def shape_of(cov: np.ndarray, pooled: np.ndarray, total: np.ndarray) -> Shape:
    """Whitening of one class's covariance.

    In directions where the class does not vary, it is given the pooled variance of all classes, or
    a small share of the total variance; directions without any variance say nothing and are left
    out for every class.
    """
    _, spread = standard(total)
    unit = spread[:, None] * spread
    values, vectors = np.linalg.eigh(cov / unit)
    known = values > NO_VARIANCE
    W, log_det = vectors[:, known] / np.sqrt(values[known]), np.log(values[known]).sum()
    lacking = np.zeros(len(cov), dtype=bool)
    if not known.all():
        null = vectors[:, ~known]
        room = null.T @ ((pooled + LEAST_SHARE * total) / unit) @ null
        more, turn = np.linalg.eigh((room + room.T) / 2)
        kept = more > NO_VARIANCE
        W = np.hstack([W, null @ turn[:, kept] / np.sqrt(more[kept])])
        log_det += np.log(more[kept]).sum()
        lacking = (np.abs(null) > PART).any(axis=1) & (np.diagonal(total) > 0)
    return Shape(W / spread[:, None], float(log_det + 2 * np.log(spread).sum()), lacking)


def shrunk_by_class(
    problem: Problem, found: Clouds, shrinkage: Any, estimator: Any
) -> np.ndarray | None:
    """Covariances by Ledoit-Wolf ("auto") or a given estimator, class by class; None for neither."""
    if estimator is not None and shrinkage is not None:
        raise ParameterError(
            "covariance_estimator and shrinkage are two ways to one covariance: give one of them, "
            "leave the other None."
        )
    if estimator is None and shrinkage != "auto":
        return None
    estimate = _ledoit_wolf if estimator is None else _estimated_by(estimator)
    X = np.ldexp(problem.table, -found.units) if found.units.any() else problem.table
    parts = []
    for k in range(len(found.means)):
        rows = problem.y == k
        parts.append(estimate(np.ascontiguousarray(X[rows]), problem.weights[rows]))
    return np.stack(parts)


def _ledoit_wolf(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Shrunk in units of the columns' spread, as scikit-learn does."""
    share = w / w.sum()
    mean = share @ X
    spread = np.sqrt(share @ (X - mean) ** 2)
    spread = np.where(spread > 0, spread, 1.0)
    cov, _ = ledoit_wolf((X - mean) / spread, w)
    return cov * spread * spread[:, None]


def _estimated_by(estimator: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def estimate(X: np.ndarray, w: np.ndarray) -> np.ndarray:
        if not (w == np.floor(w)).all():
            raise ParameterError("A covariance_estimator takes whole numbers as weights only.")
        rows = X if (w == 1).all() else np.repeat(X, w.astype(int), axis=0)
        return np.asarray(estimator.fit(rows).covariance_, dtype=float)

    return estimate


def shrunk(cov: np.ndarray, amount: Any) -> np.ndarray:
    """(1 - amount) cov + amount (mean variance) identity."""
    if amount is None or amount == "auto":
        return cov
    p = len(cov)
    return (1 - amount) * cov + amount * np.trace(cov) / p * np.eye(p)


def to_user(matrix: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """matrix * 2**exponents, the largest float where that is none."""
    if not exponents.any():
        return matrix
    top = np.finfo(float).max
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(matrix, exponents), -top, top)
