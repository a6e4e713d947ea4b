"""Votes of the neighbours: class shares, means of targets, and their explanation.

`positions` are those of the training rows in the order of ties; `order` maps them to row numbers of the
user's table.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.neighbors.ragged import Lists, of_each
from pellucid.records import Prototypes


@dataclass(frozen=True)
class KVotes:
    """Distances, positions and weights (n, k) of the k nearest training rows, nearest first.

    `tied`: the votes of the `queries` for which more rows are as far as the k-th one.
    """

    distances: np.ndarray
    positions: np.ndarray
    weights: np.ndarray
    queries: np.ndarray | None = None
    tied: "RadiusVotes | None" = None

    def class_shares(self, codes: np.ndarray, n_classes: int) -> np.ndarray:
        """Share of each class, (n, K)."""
        own, total = codes[self.positions], np.zeros((len(self.positions), n_classes))
        every = np.arange(len(own))
        for j in range(own.shape[1]):  # nearest first, so that equal votes have equal sums
            total[every, own[:, j]] += self.weights[:, j]
        total /= total.sum(axis=1, keepdims=True)
        if self.tied is not None:
            total[self.queries] = self.tied.class_shares(codes, n_classes, None)
        return total

    def means(self, targets: np.ndarray) -> np.ndarray:
        """Weighted means of the targets (rows, K), (n, K)."""
        y = targets[self.positions]
        out = np.einsum("ij,ijk->ik", self.weights, y) / self.weights.sum(axis=1, keepdims=True)
        if self.tied is not None:
            out[self.queries] = self.tied.means(targets)
        return out

    def prototypes(
        self, order: np.ndarray, targets: np.ndarray, prediction: np.ndarray, **facts: Any
    ) -> Prototypes:
        """The neighbours and what each adds to the prediction, for targets (rows, K)."""
        shares = self.weights / self.weights.sum(axis=1, keepdims=True)
        method = f"{self.positions.shape[1]} nearest neighbours"
        if self.tied is not None:
            return self._all(shares).prototypes(order, targets, prediction, method=method, **facts)
        return Prototypes(
            rows=order[self.positions], distances=self.distances,
            votes=shares[:, :, None] * targets[self.positions], prediction=prediction, method=method,
            **facts,
        )  # fmt: skip

    def _all(self, shares: np.ndarray) -> "RadiusVotes":
        """The votes of all queries as lists of unequal length."""
        assert self.tied is not None and self.queries is not None
        each = list(zip(self.distances, self.positions))
        own = list(shares)
        starts = self.tied.lists.starts
        for i, query in enumerate(self.queries.tolist()):
            part = slice(starts[i], starts[i + 1])
            each[query] = self.tied.lists.distances[part], self.tied.lists.rows[part]
            own[query] = self.tied.shares[part]
        return RadiusVotes(of_each(each), np.concatenate(own))


@dataclass(frozen=True)
class RadiusVotes:
    """The training rows within a radius, and their shares, which sum to 1 for every row."""

    lists: Lists
    shares: np.ndarray

    @property
    def alone(self) -> np.ndarray:
        """Which rows have no neighbour."""
        return self.lists.counts == 0

    def class_shares(self, codes: np.ndarray, n_classes: int, default: int | None) -> np.ndarray:
        """Share of each class, (n, K); rows without neighbours are of the class `default`."""
        lists, m = self.lists, len(self.lists.counts)
        cell = lists.owners * n_classes + codes[lists.rows]
        out = np.bincount(cell, self.shares, m * n_classes).reshape(m, n_classes)
        if default is not None:
            out[self.alone, default] = 1.0
        return out / out.sum(axis=1, keepdims=True)

    def means(self, targets: np.ndarray) -> np.ndarray:
        """Weighted means of the targets (rows, K), (n, K); every row has a neighbour."""
        y = targets[self.lists.rows]
        return np.add.reduceat(self.shares[:, None] * y, self.lists.starts[:-1], axis=0)

    def prototypes(
        self, order: np.ndarray, targets: np.ndarray, prediction: np.ndarray, **facts: Any
    ) -> Prototypes:
        """Lists of unequal length, filled with -1; rows without neighbours have `others`."""
        lists, K = self.lists, prediction.shape[1]
        n, width = len(lists.counts), max(int(lists.counts.max(initial=0)), 1)
        rows, distances = np.full((n, width), -1), np.full((n, width), np.nan)
        votes = np.zeros((n, width, K))
        at = lists.owners, np.arange(len(lists.rows)) - np.repeat(lists.starts[:-1], lists.counts)
        rows[at], distances[at] = order[lists.rows], lists.distances
        votes[at] = self.shares[:, None] * targets[lists.rows]
        return Prototypes(
            rows=rows, distances=distances, votes=votes, prediction=prediction,
            others=np.where(self.alone[:, None], prediction, 0.0), **facts,
        )  # fmt: skip
