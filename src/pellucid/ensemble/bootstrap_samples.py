"""Bags: how often each row is drawn, and which columns.

Rows are the canonical ones of the problem; a row of weight k stands for k copies, each of which may be
drawn. Invariant: a bag depends on the seed, its number and the problem alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.weighted_sampling import among, copies_of
from pellucid.errors import ParameterError
from pellucid.parallel.cached import cached_property

MANY_DRAWS = 8  # draws per row from which counts are drawn instead of rows


def keys_of(seed: np.random.SeedSequence, first: int, last: int) -> np.ndarray:
    """Keys (uint64) that determine the random choices of the base estimators [first, last)."""
    return parallel.stream(seed, "learners").integers(0, 2**64, last, np.uint64)[first:]


@dataclass(frozen=True)
class Bag:
    """How often each row is drawn, and the drawn columns; None for all columns."""

    weights: np.ndarray
    columns: np.ndarray | None


class Redrawn(Sequence):
    """The bags of some keys, drawn each time they are read: a bag takes as much memory as a column."""

    def __init__(self, sampler: "Sampler", keys: np.ndarray) -> None:
        self._sampler, self._keys = sampler, keys

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, i: Any) -> Any:
        return self._sampler.bag(int(self._keys[i]))


@dataclass(frozen=True)
class Sampler:
    """Draws bags from a problem."""

    problem: Problem
    max_samples: Any
    max_features: Any
    bootstrap: bool
    bootstrap_features: bool
    # Of class weights: a row is drawn this many times as often (n,). None: all 1.
    factors: np.ndarray | None = None

    @cached_property
    def _total(self) -> int | None:
        """Number of samples if the weights count them and their sum is exact."""
        total = self.problem.weights.sum()
        return int(total) if self.problem.counts and total < 2**53 else None

    @cached_property
    def n_samples(self) -> int:
        """Number of draws for each bag."""
        total = self.problem.n if self._total is None else self._total
        if self.max_samples is None:
            return total
        if isinstance(self.max_samples, int | np.integer):
            count = int(self.max_samples)
        else:
            count = max(1, int(self.max_samples * total))
        if not self.bootstrap and count > total:
            raise ParameterError(
                f"max_samples must be <= n_samples without bootstrap: {count} samples cannot be "
                f"drawn from {total}."
            )
        return count

    @property
    def n_columns(self) -> int:
        """Number of columns for each bag."""
        d = self.problem.schema.n_columns
        if isinstance(self.max_features, int | np.integer):
            if self.max_features > d:
                raise ParameterError(
                    f"max_features must be <= n_features: {self.max_features} columns cannot be "
                    f"drawn from {d}."
                )
            return int(self.max_features)
        return max(1, int(self.max_features * d))

    def draw(self, rng: np.random.Generator) -> Bag:
        """Rows first, then columns."""
        return Bag(self._drawn_weights(rng), self._columns(rng))

    def bag(self, key: int) -> Bag:
        """The bag that a key stands for: the same draws for every ensemble."""
        if self.n_columns == self.problem.schema.n_columns and not self.bootstrap_features:
            return Bag(self.weights(key), None)
        rng = np.random.Generator(np.random.PCG64(key))
        return Bag(self.weights(key), self._columns(rng))

    def weights(self, key: int) -> np.ndarray:
        """The weights of the rows in the bag of a key."""
        if not self.bootstrap or self._total != self.problem.n or self.factors is not None:
            return self._drawn_weights(np.random.Generator(np.random.PCG64(key)))
        from pellucid.tree._presort import draw_counts

        counts = np.empty(self.problem.n)
        draw_counts(key, self.n_samples, counts)
        return counts

    @cached_property
    def _copies(self) -> np.ndarray | None:
        return copies_of(self.problem.weights)

    def outside(self, weights: np.ndarray) -> np.ndarray:
        """Expected share of the copies of each row that are not in a bootstrap bag with these weights:
        each of W copies is missed by all of c draws with probability (1 - 1/W)^c."""
        if self._copies is None:
            return (weights == 0).astype(np.float64)
        return (1.0 - 1.0 / self._copies) ** weights

    @property
    def counted(self) -> bool:
        """Whether the weights of a bag are integers."""
        return self.bootstrap or self._total is not None

    def _drawn_weights(self, rng: np.random.Generator) -> np.ndarray:
        w, n, total, count = self.problem.weights, self.problem.n, self._total, self.n_samples
        if not self.bootstrap:
            return self._weights_once(rng, count)
        if self.factors is not None:
            w = w * self.factors
        elif total == n:  # every weight is 1
            return np.bincount(rng.integers(0, n, count), minlength=n).astype(np.float64)
        if count <= MANY_DRAWS * n:
            cumulative = np.cumsum(w)
            points = rng.random(count) * cumulative[-1]
            rows = np.searchsorted(cumulative, points, side="right").clip(max=n - 1)
            return np.bincount(rows, minlength=n).astype(np.float64)
        return rng.multinomial(count, w / w.sum()).astype(np.float64)

    def _weights_once(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Without replacement: copies of rows if the weights count them, otherwise rows with weights."""
        w, n, total = self.problem.weights, self.problem.n, self._total
        if count == (n if total is None else total):
            return w.copy()
        if total is not None and n < total:
            return among(w.astype(np.int64), count, rng).astype(np.float64)
        rows = rng.choice(n, min(count, n), replace=False, shuffle=False)
        weights = np.zeros(n)
        weights[rows] = w[rows]
        return weights

    def _columns(self, rng: np.random.Generator) -> np.ndarray | None:
        d = self.problem.schema.n_columns
        if self.bootstrap_features:
            return np.sort(rng.integers(0, d, self.n_columns))
        if self.n_columns == d:
            return None
        return np.sort(rng.choice(d, self.n_columns, replace=False))
