"""Means and covariances of classes, whitening, and the rule for directions without variance.

Columns of extreme size are divided by powers of two (`units`), and ranks are decided in standard units,
so no result depends on the scale of the columns.

Invariant: covariances have divisor n; a whitening W of a covariance C has W' C W = 1 on the directions
it keeps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.encode import check_room
from pellucid.data.schema import TEXT
from pellucid.errors import ParameterError
from pellucid.numerics import bayes, covariance
from pellucid.numerics.class_moments import class_moments
from pellucid.parameters import Choice, Real, param

EXTREME = 100  # |log2| of a column's size beyond which it is scaled
# Distance of a column's mean from 0, in standard deviations, beyond which columns are centred. "svd"
# centres anyway; the coefficients of the other solvers equal scikit-learn's only without centring.
FAR = {"svd": 8.0, "lsqr": 32.0, "eigen": 32.0}
PART = 1e-3  # entry of a unit vector above which a column belongs to a direction
NO_VARIANCE = 1e-10  # eigenvalue of a correlation matrix that counts as 0
IMPOSSIBLE = -1e300  # stands for log 0: below all distances
PAIRS = 2**24  # largest number of entries of covariances of words
LEAST_SHARE = 1e-6  # of the total variance, used where the pooled variance is 0

SHRINKAGE = param(
    None,
    None | Choice("auto") | Real(0, 1, "both"),
    "Share of the mean variance times the identity in each covariance; 'auto' is Ledoit and Wolf's.",
)


@dataclass(frozen=True)
class ClassCovariances:
    """Classes of rows times 2**-units. `own` is (K, p, p) or None, `pooled` (p, p)."""

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
    few = problem.n_all + len(problem.classes) < problem.p
    return few and not problem.schema.units(EXTREME).any()


def check_size(problem: Problem, many: int) -> None:
    """Raise an error if `many` covariance matrices of all words are too large."""
    if TEXT in problem.schema.kinds:
        what, fits = f"covariance matrices ({many} of them)", int((PAIRS / many) ** 0.5)
        check_room(problem.schema, what, many * problem.p**2, PAIRS, fits)


def class_covariances(problem: Problem, own: bool) -> ClassCovariances:
    """Means and covariances of the classes, each class's `own` too, in one pass over the table."""
    assert problem.classes is not None
    K, units, w = len(problem.classes), problem.schema.units(EXTREME), problem.weights
    check_size(problem, K if own else 1)
    X = np.ldexp(problem.table, -units) if units.any() else problem.table
    w = np.ldexp(w, -int(np.frexp(parallel.largest(w.max()))[1]))
    found = class_moments(X, problem.y, w, K, "own" if own else "shared")
    if not own:
        return ClassCovariances(
            units, found.total, found.mean, None, found.scatter / found.total.sum()
        )
    count = np.where(found.total > 0, found.total, 1.0)[:, None, None]
    pooled = found.scatter.sum(axis=0) / found.total.sum()
    return ClassCovariances(units, found.total, found.mean, found.scatter / count, pooled)


def chosen_priors(priors: Any, share: np.ndarray, owner: str) -> np.ndarray:
    """Prior probabilities of the classes: the given ones, or their shares of the weight."""
    if priors is None:
        return share
    given = bayes.checked_priors(priors, len(share), "priors", owner)
    return given / given.sum()


def log_priors(priors: np.ndarray) -> np.ndarray:
    """Logarithms of the priors, with `IMPOSSIBLE` instead of -inf."""
    return np.where(priors > 0, np.log(np.where(priors > 0, priors, 1.0)), IMPOSSIBLE)


def standard(cov: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The correlation matrix of a covariance, and the standard deviations (1 where there is none)."""
    spread = np.sqrt(np.maximum(np.diagonal(cov), 0.0))
    spread = np.where(spread > 0, spread, 1.0)
    return cov / spread / spread[:, None], spread


def whitened(cov: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """W (p, r) with W' cov W = 1, largest variance first, and the positions of the columns in the
    directions that it leaves out: their standard deviation, in standard units, is at most tol.
    """
    correlation, spread = standard(cov)
    values, vectors = np.linalg.eigh(correlation)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = np.sqrt(np.maximum(values, 0.0)) > tol
    flat = np.flatnonzero((np.abs(vectors[:, ~kept]) > PART).any(axis=1))
    return vectors[:, kept] / spread[:, None] / np.sqrt(values[kept]), flat


def with_fixed_signs(directions: np.ndarray) -> np.ndarray:
    """Every column with its largest entry positive, so that signs do not depend on the solver."""
    if not directions.size:
        return directions
    largest = np.abs(directions).argmax(axis=0)
    sign = np.sign(directions[largest, np.arange(directions.shape[1])])
    return directions * np.where(sign == 0, 1.0, sign)


@dataclass(frozen=True)
class Whitening:
    """Whitening W of a covariance, its log determinant, and the columns that do not vary."""

    W: np.ndarray
    log_det: float
    lacking: np.ndarray


def class_whitenings(
    covariances: np.ndarray, pooled: np.ndarray, total: np.ndarray
) -> list[Whitening]:
    """Whitenings of the classes' covariances (K, p, p); they are decomposed together."""
    spread = standard(total)[1]
    values, vectors = np.linalg.eigh(covariances / (spread[:, None] * spread))
    return [_whitening(*pair, spread, pooled, total) for pair in zip(values, vectors)]


def _whitening(
    values: np.ndarray,
    vectors: np.ndarray,
    spread: np.ndarray,
    pooled: np.ndarray,
    total: np.ndarray,
) -> Whitening:
    """Whitening of one class, from the eigenvalues and eigenvectors of its covariance in standard
    units.

    In directions in which the class does not vary, the pooled variance of all classes is used, plus a
    small share of the total variance. Directions without any variance are left out for every class.
    """
    known = values > NO_VARIANCE
    W, log_det = vectors[:, known] / np.sqrt(values[known]), np.log(values[known]).sum()
    lacking = np.zeros(len(values), dtype=bool)
    if not known.all():
        null, unit = vectors[:, ~known], spread[:, None] * spread
        rest = null.T @ ((pooled + LEAST_SHARE * total) / unit) @ null
        more, axes = np.linalg.eigh((rest + rest.T) / 2)
        kept = more > NO_VARIANCE
        W = np.hstack([W, null @ axes[:, kept] / np.sqrt(more[kept])])
        log_det += np.log(more[kept]).sum()
        lacking = (np.abs(null) > PART).any(axis=1) & (np.diagonal(total) > 0)
    return Whitening(W / spread[:, None], float(log_det + 2 * np.log(spread).sum()), lacking)


def shrunk_by_class(
    problem: Problem, found: ClassCovariances, shrinkage: Any, estimator: Any
) -> np.ndarray | None:
    """Covariances by Ledoit-Wolf ("auto") or an estimator, class by class; None if neither is used."""
    if estimator is not None and shrinkage is not None:
        raise ParameterError(
            "covariance_estimator and shrinkage cannot be combined: both determine the covariance. Set "
            "one of them to None."
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
    """Shrunk in standard units, as in scikit-learn."""
    share = w / w.sum()
    mean = share @ X
    spread = np.sqrt(share @ (X - mean) ** 2)
    spread = np.where(spread > 0, spread, 1.0)
    cov, _ = covariance.ledoit_wolf((X - mean) / spread, w)
    return cov * spread * spread[:, None]


def _estimated_by(estimator: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def estimate(X: np.ndarray, w: np.ndarray) -> np.ndarray:
        if not (w == np.floor(w)).all():
            raise ParameterError(
                "covariance_estimator needs integer weights, because it repeats rows. Use integer "
                "weights, or shrinkage."
            )
        rows = X if (w == 1).all() else np.repeat(X, w.astype(int), axis=0)
        return np.asarray(estimator.fit(rows).covariance_, dtype=float)

    return estimate


def shrunk(cov: np.ndarray, amount: Any) -> np.ndarray:
    """(1 - amount) cov + amount (mean variance) identity."""
    return cov if amount is None or amount == "auto" else covariance.shrunk(cov, amount)


def to_user(matrix: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """matrix * 2**exponents, clipped to the largest float64."""
    if not exponents.any():
        return matrix
    top = np.finfo(float).max
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(matrix, exponents), -top, top)
