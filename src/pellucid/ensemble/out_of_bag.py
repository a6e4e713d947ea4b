"""Rows out of the bags as judges: an honest score, and what each column is worth to it.

1. `estimates`: the answer for a row is the mean of the learners that did not see it; of a row that
   stands for several samples a learner may have seen some, and it counts by the share of the others.
2. `importances`: a learner's loss on the rows it did not see, and again after the cells of one column
   were exchanged among these rows; the rise, averaged over the learners, is the column's importance.

Invariant: what is drawn follows from (seed, learner, column) alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.ensemble.bootstrap_samples import Bag, Drawer
from pellucid.errors import warn

ROUNDING = 1e-12  # of a mean of equal numbers


@dataclass(frozen=True)
class OutOfBag:
    """New learners and their bags; `ask` learner i about encoded rows gives (n, K)."""

    problem: Problem
    drawer: Drawer
    bags: list[Bag]
    ask: Callable[[int, Any], np.ndarray]
    looks_at: Callable[[int], np.ndarray]  # columns of the user that learner i can tell apart

    def estimates(self, score: Any) -> dict[str, Any]:
        """The learned attributes of `oob_score`; `score` is True, or a function of (y, answers)."""
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
        """(mean of the learners that did not see a row, or NaN; rows that have one)."""
        n, K = self.problem.n, 1 if self.problem.y.ndim == 1 else self.problem.y.shape[1]
        if self.problem.classes is not None:
            K = len(self.problem.classes)
        sums, votes = np.zeros((n, K)), np.zeros(n)
        for i in range(len(self.bags)):
            rows, share = self._unseen(i)
            if len(rows):
                sums[rows] += share[:, None] * self.ask(i, self._rows(rows))
            votes[rows] += share
        seen = votes > 0
        if not seen.all():
            warn(
                f"{int((~seen).sum())} rows were in every bag: they have no out-of-bag estimate. "
                "More estimators would give them one.",
                UserWarning,
            )
        with np.errstate(invalid="ignore"):
            return sums / votes[:, None], seen

    def _unseen(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows that learner i did not see, or not all copies of, and the share that it did not."""
        share = self.drawer.outside(self.bags[i].weights)
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
        """A score of the rows, each as often as its weight says; once if weights are no counts."""
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

    def _loss(self, answers: np.ndarray, rows: np.ndarray, w: np.ndarray) -> float:
        """Share of wrong classes, or of the variance of y that is left, the mean over targets; NaN if y
        does not vary."""
        y = self.problem.y[rows]
        if self.problem.classes is not None:
            return float(np.average(answers.argmax(axis=1) != y, weights=w))
        y = y.reshape(answers.shape)
        if (y == y[0]).all():
            return float("nan")
        left = [_share_left(y[:, k], answers[:, k], w) for k in range(answers.shape[1])]
        return float(np.mean(left))

    # 2 --------------------------------------------------------------------------------------------

    def importances(self, seed: Any, first: int, n_jobs: int | None) -> dict[str, Any]:
        """The learned attributes of `oob_importances`; `first` is the number of learner 0."""

        def task(i: int) -> np.ndarray:
            return self._rises(i, seed, first + i)

        rises = np.array(parallel.map(task, range(len(self.bags)), n_jobs))
        judged = rises[~np.isnan(rises).any(axis=1)]
        if not len(judged):
            judged = np.full((1, self.problem.schema.n_columns), np.nan)
        return {
            "oob_importances_": judged.mean(axis=0),
            "oob_importances_std_": judged.std(axis=0),
        }

    def _rises(self, i: int, seed: Any, number: int) -> np.ndarray:
        """Rise of a learner's loss by column (d,); NaN if it saw every row."""
        rises = np.zeros(self.problem.schema.n_columns)
        rows, share = self._unseen(i)
        X, w = self._rows(rows), share * self.problem.weights[rows]
        whole = self._loss(self.ask(i, X), rows, w) if len(rows) else np.nan
        if np.isnan(whole):
            return np.full(len(rises), np.nan)
        for j in self.looks_at(i).tolist():
            donors = _donors(parallel.stream(seed, "importance", number, j), w)
            with exchanged(X, np.flatnonzero(self.problem.schema.owner == j), donors) as other:
                rises[j] = self._loss(self.ask(i, other), rows, w) - whole
        return rises


def _share_left(y: np.ndarray, answers: np.ndarray, w: np.ndarray) -> float:
    """Of the variance of one target; if it does not vary: 0 if the answers are right, else 1."""
    centre = np.average(y, weights=w)
    unit = float(np.max(np.abs(y - centre)))
    if (y == y[0]).all():
        return 0.0 if np.allclose(answers, y, rtol=ROUNDING, atol=0.0) else 1.0
    spread = np.average(((y - centre) / unit) ** 2, weights=w)
    return float(np.average(((y - answers) / unit) ** 2, weights=w) / spread)


def _donors(rng: np.random.Generator, w: np.ndarray) -> np.ndarray:
    """Whose cell each row gets: a permutation; of rows with unequal weights, drawn by weight."""
    if (w == w[0]).all():
        return rng.permutation(len(w))
    return rng.choice(len(w), len(w), p=w / w.sum())


class exchanged:
    """Rows in which some columns hold the cells of other rows, for as long as it lasts."""

    def __init__(self, X: Any, columns: np.ndarray, donors: np.ndarray) -> None:
        self.X, self.columns, self.donors = X, columns, donors

    def __enter__(self) -> Any:
        if not isinstance(self.X, np.ndarray):
            return _sparse_exchange(self.X, self.columns, self.donors)
        self.before = self.X[:, self.columns].copy()
        self.X[:, self.columns] = self.before[self.donors]
        return self.X

    def __exit__(self, *failure: Any) -> None:
        if isinstance(self.X, np.ndarray):
            self.X[:, self.columns] = self.before


def _sparse_exchange(X: Any, columns: np.ndarray, donors: np.ndarray) -> Any:
    from scipy.sparse import diags_array

    chosen = np.zeros(X.shape[1])
    chosen[columns] = 1.0
    return (X @ diags_array(1.0 - chosen) + X[donors] @ diags_array(chosen)).tocsr()
