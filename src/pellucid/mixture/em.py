"""Expectation-maximisation for Gaussian mixtures.

Rows are centred and divided by powers of two near the standard deviations of the columns, so that
squares neither overflow nor lose digits, whatever the units. One pass over the rows computes the
responsibilities of the components and the moments of the rows about the old means.

Invariant: the log likelihood does not decrease (beyond rounding), because every covariance is the best
one above the floor; blocks are combined in order, so bits do not depend on threads.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import DataError
from pellucid.mixture import _loops
from pellucid.mixture.covariance_types import CovarianceType, log_determinants
from pellucid.records import Recorder, Solution, Status

LOG_2PI = float(np.log(2.0 * np.pi))
# A component with less than this share of the rows keeps its mean and covariance: there are no data
# to estimate new ones.
NEGLIGIBLE = 1e-14
# Columns whose standard deviation is beyond 2**500 or below 2**-500 have no float64 variance.
MAX_POWER = 500


@dataclass(frozen=True)
class ScaledRows:
    """Z = (X - centre) / 2**power, weights (the largest is 1), variances of the columns of Z."""

    Z: np.ndarray
    w: np.ndarray
    centre: np.ndarray
    power: np.ndarray
    variance: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray, common: bool) -> "ScaledRows":
        """`common`: one power of two for all columns, for types that compare variances."""
        w = weights / weights.max()
        size = np.frexp(np.abs(X).max(axis=0))[1]
        Z = np.ldexp(X, -size)
        centre = (w @ Z) / w.sum()
        Z -= centre
        variance = (w @ (Z * Z)) / w.sum()
        # The variance of a constant column is only rounding error.
        constant = variance <= (4 * np.finfo(float).eps * np.abs(centre)) ** 2
        variance[constant] = np.where(centre[constant] != 0, centre[constant] ** 2, 1.0)
        Z[:, constant] = 0.0
        power = np.frexp(np.sqrt(variance))[1]
        total = size + power
        if common:
            total = np.full_like(total, total.max())
        Z = np.ascontiguousarray(np.ldexp(Z, size - total))
        _check_power(total)
        return cls(Z, w, np.ldexp(centre, size), total, np.ldexp(variance, 2 * (size - total)))

    @property
    def unit_volume(self) -> float:
        """Log of the volume in X of a unit cube of Z."""
        return float(self.power.sum()) * float(np.log(2.0))

    def inside(self, means: np.ndarray) -> np.ndarray:
        """Means in units of X, converted to units of Z."""
        return np.ldexp(means - self.centre, -self.power)

    def outside(self, mixture: "Mixture") -> tuple[np.ndarray, ...]:
        """Means, covariances, precisions and their Cholesky factors in units of X, stacked."""
        power = self.power
        upper = np.ldexp(mixture.roots, -power).transpose(0, 2, 1)
        if mixture.covariances.shape[1] == 1:  # variances
            covariances = np.ldexp(mixture.covariances, 2 * power)
            precisions = upper.transpose(0, 2, 1) ** 2
        else:
            covariances = np.ldexp(np.ldexp(mixture.covariances, power), power[:, None])
            precisions = upper @ upper.transpose(0, 2, 1)
        upper = upper if precisions.shape[1] > 1 else upper.reshape(precisions.shape)
        return np.ldexp(mixture.means, power) + self.centre, covariances, precisions, upper


def _check_power(power: np.ndarray) -> None:
    extreme = np.flatnonzero(np.abs(power) > MAX_POWER)
    if extreme.size:
        j = int(extreme[0])
        raise DataError(
            f"The variance of column {j} is outside the range of float64: its values spread over about "
            f"2**{int(power[j])}. Rescale the column."
        )


@dataclass
class Mixture:
    """Weights, means and covariances of the components in units of Z, and roots of the covariances."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    roots: np.ndarray

    @property
    def logs(self) -> np.ndarray:
        """log weight + log determinant + constant of every component."""
        K, p = self.means.shape
        with np.errstate(divide="ignore"):
            return np.log(self.weights) + log_determinants(self.roots, K) - 0.5 * p * LOG_2PI


@dataclass(frozen=True)
class Moments:
    """Sums over rows: log likelihood, responsibilities, first and second moments about the means."""

    bound: float
    mass: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def merge(self, other: "Moments") -> "Moments":
        self.mass.__iadd__(other.mass)
        self.first.__iadd__(other.first)
        self.second.__iadd__(other.second)
        return Moments(self.bound + other.bound, self.mass, self.first, self.second)


class EM:
    """EM on fixed rows with components of one covariance type.

    1. Responsibilities of the components for each row; moments of the rows about the old means.
    2. New weights, means and covariances from the moments.
    3. Stop when the mean log likelihood of step 1 changed by less than tol.
    """

    def __init__(
        self, rows: ScaledRows, covariance: CovarianceType, max_iter: int, tol: float
    ) -> None:
        self.rows, self.covariance, self.max_iter, self.tol = rows, covariance, max_iter, tol
        # Small blocks, so that every thread gets several.
        self.blocks = parallel.row_blocks(rows.Z.shape[0], 8 * rows.Z.shape[1])
        self.stop = parallel.StopFlag()

    def solve(self, start: Mixture, previous: float = -np.inf) -> Solution:
        """Iterate from `start`; x = (mixture, mean log likelihoods)."""
        state, recorder = start, Recorder("mixture", self.max_iter)
        bounds: list[float] = []
        volume, converged = self.rows.unit_volume, False
        begun = {"mixture": state, "bounds": [], "converged": False}
        recorder.step(0, begun, {"kind": "start"}, _sentence)
        for iteration in range(1, self.max_iter + 1):
            found = self.expect(state)  # 1
            bounds.append(found.bound / float(self.rows.w.sum()) - volume)
            self.check_likelihood(bounds[-1])
            state = self.maximise(state, found)  # 2
            change = bounds[-1] - previous
            converged = abs(change) < self.tol  # 3
            shown = {"mixture": state, "bounds": bounds, "converged": converged}
            recorder.add(
                iteration=iteration, objective=-bounds[-1], log_likelihood=bounds[-1],
                change=change if np.isfinite(change) else None,
                state=shown, event={"kind": "moved"}, sentence=_sentence,
            )  # fmt: skip
            previous = bounds[-1]
            if converged:
                break
        status = self.status(converged)
        return Solution((state, bounds), status, recorder.history(), len(bounds))

    def expect(self, state: Mixture) -> Moments:
        """Moments about the means of `state` over all rows."""
        K, p = state.means.shape
        logs, Z, w = state.logs, self.rows.Z, self.rows.w

        def one(block: slice) -> Moments:
            mass, first, second = np.zeros(K), np.zeros((K, p)), self.covariance.empty(K)
            bound = _loops.expect(
                Z[block], w[block], state.means, state.roots, logs, mass, first, second,
                self.stop.array,
            )  # fmt: skip
            return Moments(bound, mass, first, second)

        found = parallel.reduce(one, Moments.merge, self.blocks)
        self.stop.check()
        return found

    def maximise(self, state: Mixture, found: Moments) -> Mixture:
        """The mixture with the largest expected log likelihood."""
        mass, total = found.mass, found.mass.sum()
        used = mass > NEGLIGIBLE * total
        safe = np.where(used, mass, 1.0)
        shift = np.where(used[:, None], found.first / safe[:, None], 0.0)
        covariances = self.covariance.covariances(self.about_new_means(found, shift), safe)
        if self.covariance.type != "tied":
            covariances = np.where(used[:, None, None], covariances, state.covariances)
        roots = self.covariance.roots(covariances)
        return Mixture(mass / total, state.means + shift, covariances, roots)

    def about_new_means(self, found: Moments, shift: np.ndarray) -> np.ndarray:
        """Sums of squares about the means after their shift."""
        second, mass = found.second.copy(), found.mass[:, None]
        if self.covariance.diagonal:
            return np.maximum(second - (mass * shift**2)[:, None], 0.0)
        upper = np.triu_indices(second.shape[1], 1)
        second[:, upper[0], upper[1]] = second[:, upper[1], upper[0]]
        between = (mass * shift)[:, :, None] * shift[:, None, :]
        return second - (between.sum(axis=0) if self.covariance.type == "tied" else between)

    def check_likelihood(self, bound: float) -> None:
        if not np.isfinite(bound):
            raise DataError(
                "The likelihood is not finite: some rows are too far from every component. Start from "
                "means closer to the data, or correct the outliers."
            )

    def status(self, converged: bool) -> Status:
        if converged:
            return Status("converged", "The log-likelihood changed by less than tol.")
        if self.max_iter == 0:
            return Status("ok", "No iteration was made, because max_iter is 0.")
        return Status(
            "max_iter",
            f"max_iter={self.max_iter} was not enough: the log-likelihood still changes.",
            "Increase max_iter or tol, or try other starts (n_init).",
        )


def mixture_for(rows: ScaledRows, covariance: CovarianceType, responsibilities: Any) -> Mixture:
    """The mixture that maximises the likelihood for given responsibilities (n, K)."""
    weighted = responsibilities * rows.w[:, None]
    mass = weighted.sum(axis=0)
    used = mass > NEGLIGIBLE * mass.sum()
    safe = np.where(used, mass, 1.0)
    means = np.where(used[:, None], (weighted.T @ rows.Z) / safe[:, None], 0.0)
    second = covariance.empty(len(mass))
    for k in range(len(mass)):
        d = rows.Z - means[k]
        part = weighted[:, k] @ (d * d) if covariance.diagonal else (d * weighted[:, k, None]).T @ d
        second[k if len(second) > 1 or len(mass) == 1 else 0] += part
    if covariance.type != "tied":  # a component without rows gets the variances of the table
        overall = np.diag(rows.variance) if not covariance.diagonal else rows.variance[None]
        second = np.where(used[:, None, None], second, overall)
    covariances = covariance.covariances(second, safe)
    return Mixture(mass / mass.sum(), means, covariances, covariance.roots(covariances))


def _sentence(event: Mapping[str, Any], numbers: dict[str, float]) -> str:
    from pellucid.draw import number

    if event["kind"] == "start":
        return "The starting components."
    return (
        f"Iteration {int(numbers['iteration'])}: the mean log-likelihood of the last components is "
        f"{number(numbers['log_likelihood'], 5)}; weights, means and covariances are fitted to their "
        "shares of the rows."
    )
