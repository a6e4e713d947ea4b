"""Naive Bayes with a normal distribution for every column."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.schema import Schema
from pellucid.errors import DataError
from pellucid.naive_bayes.base import CLASS_PRIOR_ALPHA, NaiveBayes
from pellucid.naive_bayes.missing import filled, missing_cells, silent_terms
from pellucid.numerics.class_moments import DiagonalMoments, class_moments
from pellucid.numerics.densities import LARGEST, normal_log_density
from pellucid.parameters import Real, learned, param, shared
from pellucid.persist.fitted_state import expect_array, n_terms

PARTS = 2**20  # terms in memory at a time
EXTREME = 100  # |log2| of a column's size beyond which it is scaled


class GaussianNB(NaiveBayes):
    """Gaussian naive Bayes: the class c that maximises

        log p(c) - 1/2 sum_j [ (x_j - theta_cj)^2 / var_cj + log(2 pi var_cj) ]

    theta and var (divisor n) are the means and variances of the rows of each class; a small share of
    the largest variance is added to all. Missing numbers are left out, in training and in prediction.

    Examples
    --------
    >>> from pellucid.naive_bayes import GaussianNB
    >>> X, y = [[1.0], [2.0], [5.0], [6.0]], ["low", "low", "high", "high"]
    >>> GaussianNB().fit(X, y).predict([[1.4], [float("nan")]]).tolist()
    ['low', 'high']
    """

    priors: Any = shared.PRIORS
    var_smoothing: float = param(
        1e-9,
        Real(0, None),
        "Share of the largest variance of a column that is added to all variances.",
    )
    class_prior_alpha: float = CLASS_PRIOR_ALPHA

    theta_: np.ndarray = learned("Means of the columns in each class, shape (n_classes, n_terms).")
    var_: np.ndarray = learned("Variances of the columns in each class, with `epsilon_` added.")
    epsilon_: float = learned("Value that was added to all variances.")
    class_prior_: np.ndarray = learned("Prior probabilities of the classes.")
    centres_: np.ndarray = learned("`theta_` divided by 2.0**units_.")
    spreads_: np.ndarray = learned("Variances divided by 4.0**units_, without `epsilon_`.")
    floor_: np.ndarray = learned("`epsilon_` divided by 4.0**units_, shape (n_terms,).")
    units_: np.ndarray = learned(
        "Exponents of the powers of two that divide columns of extreme size; 0 for all others."
    )

    _takes_sparse = False
    _takes_text = True
    _prior_name = "priors"
    _invariant = ("weight scale",)

    def _statistics(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        K, X, schema = len(problem.classes), problem.table, problem.schema
        missing = None if schema.plain else missing_cells(X, schema)
        if missing is not None:
            X = filled(X, missing, schema, np.nan)
        units = schema.units(EXTREME)
        if units.any():
            X = np.ldexp(X, -units)
        w = problem.weights
        power = int(np.frexp(parallel.largest(w.max()))[1])
        found = class_moments(X, problem.y, np.ldexp(w, -power), K, "diagonal", missing is not None)
        present = found.total
        if missing is None:
            present = np.repeat(present[:, None], X.shape[1], axis=1)
        with np.errstate(over="ignore"):
            return {
                "class_count_": parallel.count_rows(problem.y, w, K),
                "present_": np.ldexp(present, power),
                "centres_": found.mean,
                "spreads_": found.scatter / np.where(present > 0, present, 1.0),
                "units_": units,
            }

    def _carried(self, schema: Schema) -> dict[str, Any]:
        """In the units of all batches."""
        sums = self._earlier_sums(("centres_", "spreads_"), schema)
        units = schema.units(EXTREME)
        if not units.any() and not self.units_.any():
            return sums | {"units_": units}
        place = {block: k for k, block in enumerate(self.schema_.blocks())}
        old = np.array([self.units_[place[b]] if b in place else 0 for b in schema.blocks()])
        return sums | {
            "centres_": np.ldexp(sums["centres_"], old - units),
            "spreads_": np.ldexp(sums["spreads_"], 2 * (old - units)),
            "units_": units,
        }

    def _merge(self, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        return merged_moments(old, new) | {
            "class_count_": old["class_count_"] + new["class_count_"],
            "units_": new["units_"],
        }

    def _finish(self, sums: dict[str, Any], problem: Problem) -> dict[str, Any]:
        prior = self._class_prior(sums["class_count_"])
        sums = fill_unknown(sums)
        units = sums["units_"]
        _, variance = pooled(sums)
        with np.errstate(over="ignore", under="ignore"):
            largest = np.max(np.log2(np.where(variance > 0, variance, np.nan)) + 2.0 * units,
                             where=variance > 0, initial=-np.inf)  # fmt: skip
            share = np.log2(self.var_smoothing) if self.var_smoothing > 0 else -np.inf
            floor = np.exp2(np.clip(largest + share - 2.0 * units, -2000, 990))
            sums |= {"floor_": np.where(np.isfinite(largest + share), floor, 0.0)}
            epsilon = np.exp2(largest + share) if np.isfinite(largest) else 0.0
            var = np.ldexp(sums["spreads_"] + sums["floor_"], 2 * units)
            theta = np.ldexp(sums["centres_"], units)
        top = np.finfo(float).max
        return sums | {
            "class_prior_": prior,
            "theta_": np.clip(theta, -top, top),
            "var_": np.minimum(var, top),
            "epsilon_": float(np.minimum(epsilon, top)),
        }

    def _variances(self) -> tuple[np.ndarray, np.ndarray]:
        """1 / variance, and log(2 pi variance) on the original scale; both 0 for constant columns."""
        var = self.spreads_ + self.floor_
        silent = (var == 0).all(axis=0) | silent_terms(self.schema_)
        var = np.maximum(var, 1e-300)
        logs = np.log(2 * np.pi * var) + 2 * np.log(2) * self.units_
        return np.where(silent, 0.0, 1 / var), np.where(silent, 0.0, logs)

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        """Rows divided by 2**units_, with NaN in every term of a missing cell."""
        missing = None if self.schema_.plain else missing_cells(X, self.schema_)
        if missing is not None:
            X = filled(X, missing, self.schema_, np.nan)
        with np.errstate(over="ignore"):
            X = np.ldexp(X, -self.units_) if self.units_.any() else X
        return np.ascontiguousarray(X)

    def _propagates_nan(self) -> bool:
        """Every cell is squared and added up in `_log_likelihood`."""
        return True

    def _log_likelihood(self, X: np.ndarray) -> np.ndarray:
        precision, logs = self._variances()
        A = self._scaled(X)
        with np.errstate(over="ignore", invalid="ignore"):
            total, fine = normal_log_density(A, self.centres_, precision, logs.sum(axis=1))
        if fine:
            return total
        if np.isinf(X).any():
            raise DataError("Input X contains infinity.")  # `_answer` finds the cell
        odd = np.isnan(total).any(axis=1)
        for rows in np.array_split(np.flatnonzero(odd), 1 + odd.sum() * precision.size // PARTS):
            total[rows] = self._parts(A[rows], precision, logs).sum(axis=1)
        return total

    def _column_likelihoods(self, X: np.ndarray) -> np.ndarray:
        return self._parts(self._scaled(X), *self._variances())

    def _parts(self, X: np.ndarray, precision: np.ndarray, logs: np.ndarray) -> np.ndarray:
        """What each column adds to the log-likelihood, (n, p, K); 0 for a missing cell."""
        with np.errstate(over="ignore", invalid="ignore"):
            squares = (X[:, :, None] - self.centres_.T) ** 2
            parts = np.minimum(squares * precision.T, LARGEST / X.shape[1])
        parts = np.where(np.isnan(parts) & (precision.T == 0), 0.0, parts) + logs.T
        return -0.5 * np.where(np.isnan(X)[:, :, None], 0.0, parts)

    def _check_state(self) -> None:
        K, p = len(self.classes_), n_terms(self)
        for name in ("theta_", "var_", "centres_", "spreads_", "present_"):
            expect_array(self, name, K, p)
        for name in ("class_prior_", "class_count_"):
            expect_array(self, name, K)
        expect_array(self, "floor_", p)
        expect_array(self, "units_", p, dtype=np.int64)


def merged_moments(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Weights, means and variances of the known cells of both groups of rows."""

    def moments(s: dict[str, Any]) -> DiagonalMoments:
        present = s["present_"]
        centres = np.where(present > 0, s["centres_"], 0.0)  # those of other classes were filled in
        return DiagonalMoments(present, centres, s["spreads_"] * present)

    both = moments(old).merge(moments(new))
    spreads = both.scatter / np.where(both.total > 0, both.total, 1.0)
    return {"present_": both.total, "centres_": both.mean, "spreads_": spreads}


def pooled(sums: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each column over all classes."""
    present = sums["present_"] / max(sums["present_"].max(), 1e-300)
    total = np.where(present.sum(axis=0) > 0, present.sum(axis=0), 1.0)
    share = present / total
    mean = (share * sums["centres_"]).sum(axis=0)
    between = (share * (sums["centres_"] - mean) ** 2).sum(axis=0)
    return mean, (share * sums["spreads_"]).sum(axis=0) + between


def fill_unknown(sums: dict[str, Any]) -> dict[str, Any]:
    """A class in which a column is always missing gets the column's mean and variance of all rows."""
    unknown = (sums["present_"] == 0) & (sums["class_count_"] > 0)[:, None]
    if not unknown.any():
        return sums
    mean, variance = pooled(sums)
    return sums | {
        "centres_": np.where(unknown, mean, sums["centres_"]),
        "spreads_": np.where(unknown, variance, sums["spreads_"]),
    }
