"""Out-of-bag estimates: a score on rows that were not trained on, and the importance of each column.

1. `estimates`: the prediction of a row is the mean of the base estimators that did not see it. If a
   row stands for several samples and some were seen, the estimator counts by the share of the others.
2. `importances`: the loss of a base estimator on its out-of-bag rows, and again after the values of
   one column were shuffled among them; the mean increase is the importance of the column.

Invariant: what is drawn follows from (seed, base estimator, column) alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.ensemble.bootstrap_samples import Bag, Sampler
from pellucid.errors import warn

ROUNDING = 1e-12  # relative error of a mean of equal numbers


@dataclass(frozen=True)
class OutOfBag:
    """The base estimators of a fit and their bags; `predict(i, encoded rows)` gives (n, K)."""

    problem: Problem
    sampler: Sampler
    bags: Sequence[Bag]
    predict: Callable[[int, Any], np.ndarray]
    columns_used: Callable[[int], np.ndarray]  # columns that base estimator i depends on

    def estimates(self, score: Any) -> dict[str, Any]:
        """The learned attributes of `oob_score`; `score` is True, or a function (y, predicted)."""
        means, seen = self._means()
        classes = self.problem.classes
        found = np.nan
        if seen.any():
            found = self._loss(means[seen], seen, self.problem.weights[seen])
        if callable(score):
            found = 1.0 - self._by_function(score, means, seen)
        name = "oob_prediction_" if classes is None else "oob_decision_function_"
        mine = self._in_user_order(means)
        return {"oob_score_": float(1.0 - found), name: mine[:, 0] if self._one_number else mine}

    @property
    def _one_number(self) -> bool:
        return self.problem.classes is None and self.problem.y.ndim == 1

    def _means(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean prediction of the base estimators that did not see a row, or NaN; rows that have one."""
        *_, (sums, votes) = self._running()
        seen = votes > 0
        if not seen.all():
            warn(
                f"{int((~seen).sum())} rows were drawn for every base estimator, so they have no "
                "out-of-bag estimate. "
                "Increase n_estimators.",
                UserWarning,
            )
        with np.errstate(invalid="ignore"):
            return sums / votes[:, None], seen

    def _running(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Sums (n, K) of the predictions of rows that a base estimator did not see, and their number
        (n,), after each base estimator; the arrays are changed by the next."""
        n, K = self.problem.n, 1 if self.problem.y.ndim == 1 else self.problem.y.shape[1]
        if self.problem.classes is not None:
            K = len(self.problem.classes)
        sums, votes = np.zeros((n, K)), np.zeros(n)
        for i in range(len(self.bags)):
            rows, share = self._unseen(i)
            if len(rows):
                sums[rows] += share[:, None] * self.predict(i, self._rows(rows))
            votes[rows] += share
            yield sums, votes

    def errors(self) -> Iterator[float]:
        """Out-of-bag error after each base estimator: the share of wrong classes, or the unexplained
        share of the variance; NaN while no row has an estimate."""
        for sums, votes in self._running():
            seen = votes > 0
            if not seen.any():
                yield np.nan
                continue
            means = sums[seen] / votes[seen, None]
            yield self._loss(means, seen, self.problem.weights[seen])

    def _unseen(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows of which base estimator i did not see all copies, and the share that it did not see."""
        share = self.sampler.outside(self.bags[i].weights)
        rows = np.flatnonzero(share)
        return rows, share[rows]

    def _rows(self, rows: np.ndarray) -> Any:
        return self.problem.take(rows).gathered().X

    def _in_user_order(self, values: np.ndarray) -> np.ndarray:
        position = self.problem.position
        if position is None:
            return values
        return np.where((position < 0)[:, None], np.nan, values[position])

    def _by_function(self, score: Any, means: np.ndarray, seen: np.ndarray) -> float:
        """The score of the rows, repeated by weight if the weights are counts."""
        problem = self.problem
        rows = np.arange(problem.n)
        if problem.counts:
            rows = np.repeat(rows, problem.weights.astype(np.int64))
        rows = rows[seen[rows]]
        if problem.classes is None:
            return float(score(problem.y[rows], means[rows].reshape(problem.y[rows].shape)))
        return float(
            score(problem.classes[problem.y[rows]], problem.classes[means[rows].argmax(1)])
        )

    def _loss(self, predicted: np.ndarray, rows: np.ndarray, w: np.ndarray) -> float:
        """Share of wrong classes, or unexplained share of the variance of y (mean over targets); NaN
        if y does not vary."""
        y = self.problem.y[rows]
        if self.problem.classes is not None:
            return float(np.average(predicted.argmax(axis=1) != y, weights=w))
        y = y.reshape(predicted.shape)
        if (y == y[0]).all():
            return float("nan")
        parts = [_unexplained(y[:, k], predicted[:, k], w) for k in range(predicted.shape[1])]
        return float(np.mean(parts))

    # 2 --------------------------------------------------------------------------------------------

    def importances(self, seed: Any, first: int, n_jobs: int | None) -> dict[str, Any]:
        """The learned attributes of `oob_importances`; `first` is the number of base estimator 0."""

        def task(i: int) -> np.ndarray:
            return self._increases(i, seed, first + i)

        increases = np.array(parallel.map(task, range(len(self.bags)), n_jobs))
        valid = increases[~np.isnan(increases).any(axis=1)]
        if not len(valid):
            valid = np.full((1, self.problem.schema.n_columns), np.nan)
        return {"oob_importances_": valid.mean(axis=0), "oob_importances_std_": valid.std(axis=0)}

    def _increases(self, i: int, seed: Any, number: int) -> np.ndarray:
        """Increase of the loss of a base estimator by column (d,); NaN if it saw every row."""
        increases = np.zeros(self.problem.schema.n_columns)
        rows, share = self._unseen(i)
        X, w = self._rows(rows), share * self.problem.weights[rows]
        whole = self._loss(self.predict(i, X), rows, w) if len(rows) else np.nan
        if np.isnan(whole):
            return np.full(len(increases), np.nan)
        for j in self.columns_used(i).tolist():
            donors = _donors(parallel.stream(seed, "importance", number, j), w)
            with shuffled(X, np.flatnonzero(self.problem.schema.owner == j), donors) as other:
                increases[j] = self._loss(self.predict(i, other), rows, w) - whole
        return increases


def _unexplained(y: np.ndarray, predicted: np.ndarray, w: np.ndarray) -> float:
    """Unexplained share of the variance of one target; 0 or 1 if the target does not vary."""
    centre = np.average(y, weights=w)
    unit = float(np.max(np.abs(y - centre)))
    if (y == y[0]).all():
        return 0.0 if np.allclose(predicted, y, rtol=ROUNDING, atol=0.0) else 1.0
    spread = np.average(((y - centre) / unit) ** 2, weights=w)
    return float(np.average(((y - predicted) / unit) ** 2, weights=w) / spread)


def _donors(rng: np.random.Generator, w: np.ndarray) -> np.ndarray:
    """The row whose value each row gets: a permutation, or drawn by weight if weights differ."""
    if (w == w[0]).all():
        return rng.permutation(len(w))
    return rng.choice(len(w), len(w), p=w / w.sum())


class shuffled:
    """Context in which some columns of X hold the values of other rows."""

    def __init__(self, X: Any, columns: np.ndarray, donors: np.ndarray) -> None:
        self.X, self.columns, self.donors = X, columns, donors

    def __enter__(self) -> Any:
        if not isinstance(self.X, np.ndarray):
            return _sparse_shuffled(self.X, self.columns, self.donors)
        self.before = self.X[:, self.columns].copy()
        self.X[:, self.columns] = self.before[self.donors]
        return self.X

    def __exit__(self, *failure: Any) -> None:
        if isinstance(self.X, np.ndarray):
            self.X[:, self.columns] = self.before


def _sparse_shuffled(X: Any, columns: np.ndarray, donors: np.ndarray) -> Any:
    from scipy.sparse import diags_array

    chosen = np.zeros(X.shape[1])
    chosen[columns] = 1.0
    return (X @ diags_array(1.0 - chosen) + X[donors] @ diags_array(chosen)).tocsr()
