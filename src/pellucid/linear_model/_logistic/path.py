"""Cross validation of logistic penalties: one path of warm-started fits per fold and l1_ratio.

Invariant: a task is (fold, l1_ratio) and nothing is shared between tasks, so the number of threads
changes no bit; a weight of k is k copies of a row, on either side of a fold.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.weighted_sampling import consecutive_parts
from pellucid.errors import DataError
from pellucid.linear_model._logistic.absent_classes import (
    all_classes,
    present_classes,
    without_absent,
)
from pellucid.linear_model._logistic.base import SOLVERS
from pellucid.linear_model._logistic.l1 import solve_sparse
from pellucid.linear_model._logistic.solver import (
    EXTREME,
    NEWTON_SIZE,
    Prepared,
    Setting,
    prepare,
    solve,
    symmetric,
)
from pellucid.linear_model._logistic.wide import pays
from pellucid.linear_model.cv_folds import Fold, make_folds
from pellucid.numerics.objectives.links import expit
from pellucid.numerics.objectives.losses import softmax
from pellucid.numerics.optimise import newton
from pellucid.numerics.row_blocks import exponents
from pellucid.parameters import Integer

SMALLEST = np.finfo(float).eps  # chance that a log loss counts at least
# Of the coefficients on a path, which serve to compare penalties: the objective has twice the digits.
PATH_ACCURACY = 1e-7

Score = Callable[[np.ndarray, np.ndarray, np.ndarray], float]  # (scores, y, weights) -> number


@dataclass(frozen=True)
class Search:
    """What is tried: every C with every l1_ratio, on every fold."""

    Cs: np.ndarray
    l1_ratios: np.ndarray
    setting: Setting  # without its alpha
    solver: str


@dataclass(frozen=True)
class Tried:
    """Arrays (folds, l1_ratios, Cs, ...)."""

    coefs: np.ndarray
    scores: np.ndarray
    n_iter: np.ndarray


@dataclass(frozen=True)
class Dealt:
    """A fold whose training part is all that is not tested: its weights are made when asked for."""

    weights: np.ndarray
    test: np.ndarray

    @property
    def train(self) -> np.ndarray:
        return self.weights - self.test


def class_folds(cv: Any, problem: Problem, default: int = 5) -> list[Fold] | list[Dealt]:
    """Folds in which every class has its share; splitters and lists as they are."""
    if cv is not None and not Integer(2).accepts(cv):
        return make_folds(cv, problem)
    k = int(cv or default)
    whole = problem.counts and problem.weights.sum() < 2.0**52
    copies = problem.weights if whole else np.ones(problem.n)
    counts = np.bincount(problem.y, copies).astype(np.int64)
    if counts.max() < k:
        raise DataError(
            f"n_splits={k} cannot be greater than the number of members in each class: the largest "
            f"class has {counts.max()} rows. Give a smaller cv."
        )
    # Copies, class after class in the order of their first rows, are dealt out in turn: that is
    # how many of each class a fold gets.
    present, first = np.unique(problem.y, return_index=True)
    turn = present[np.argsort(first)]
    ends = np.zeros(len(counts), dtype=np.int64)
    ends[turn] = np.cumsum(counts[turn])
    places = np.arange(k)[:, None]
    dealt = (ends - places + k - 1) // k - (ends - counts - places + k - 1) // k
    test = np.zeros((k, problem.n))
    for cls in range(len(counts)):
        rows = np.flatnonzero(problem.y == cls)
        test[:, rows] = list(consecutive_parts(copies[rows], dealt[:, cls]))
    if not whole:
        test *= problem.weights
    return [Dealt(problem.weights, part) for part in test]


def fit_one(
    problem: Problem, y: np.ndarray, w: np.ndarray, K: int, C: float, l1_ratio: float,
    search: Search, x0: np.ndarray | None,
) -> Any:  # fmt: skip
    """One penalised fit."""
    setting = replace(search.setting, alpha=1.0 / C, x0=x0)
    if l1_ratio > 0 and np.isfinite(C):
        return solve_sparse(problem.X, y, w, K, setting, l1_ratio)
    return solve(problem.X, y, w, K, SOLVERS[search.solver], setting)


def fit_chosen(problem: Problem, w: np.ndarray, C: float, l1_ratio: float, search: Search) -> Any:
    """One fit of all rows; classes that have no weight have no chance."""
    present, K = present_classes(problem, w), problem.n_classes
    if len(present) < K:
        problem, w = without_absent(problem, w, present)
    found = fit_one(problem, problem.y, w, len(present), C, l1_ratio, search, None)
    return replace(found, x=all_classes(found.x, present, K))


def cross_validate(
    problem: Problem,
    factors: np.ndarray,
    folds: list[Fold] | list[Dealt],
    search: Search,
    score: Score,
) -> Tried:
    """Coefficients, scores and iterations of every fold, l1_ratio and C."""
    assert problem.classes is not None
    K = len(problem.classes)
    order = np.argsort(search.Cs, kind="stable")  # strong penalties first: each is a start
    prepared = _prepared(problem, search)

    def task(which: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        fold, ratio = folds[which[0]], float(search.l1_ratios[which[1]])
        present, path = _training(problem, factors, fold.train, search, ratio, order, prepared)
        tested = np.flatnonzero(fold.test > 0)
        y_test, w_test = problem.y[tested], fold.test[tested]
        coefs = np.empty((len(order), 1 if K == 2 else K, problem.p + 1))
        scores, n_iter = np.empty(len(order)), np.empty(len(order), dtype=np.int32)
        for j, (x, steps) in zip(order, path):
            coefs[j] = all_classes(x, present, K)
            Z = problem.X @ coefs[j, :, :-1].T  # of all rows: no copy of those to be tested
            scores[j] = score(Z[tested] + coefs[j, :, -1], y_test, w_test)
            n_iter[j] = max(steps, 1)
        return coefs, scores, n_iter

    shape = (len(folds), len(search.l1_ratios))
    parts = parallel.map(task, [(i, r) for i in range(shape[0]) for r in range(shape[1])])
    arrays = (np.stack([part[k] for part in parts]) for k in range(3))
    return Tried(*(a.reshape(*shape, *a.shape[1:]) for a in arrays))


def _prepared(problem: Problem, search: Search) -> Prepared | None:
    """The table made ready for Newton's method, once for all folds; None for another solver."""
    if SOLVERS[search.solver] not in ("auto", "newton") or not np.isfinite(search.Cs).all():
        return None
    setting = replace(search.setting, alpha=1.0)
    found = prepare(problem.X, problem.y, problem.weights, problem.n_classes, setting)
    small = found.likelihood.size <= NEWTON_SIZE and not pays(found.likelihood)
    return found if small else None


def _training(
    problem: Problem, factors: np.ndarray, train: np.ndarray, search: Search, ratio: float,
    order: np.ndarray, prepared: Prepared | None,
) -> tuple[np.ndarray, Iterator[tuple[np.ndarray, int]]]:  # fmt: skip
    """The classes of a training part, and its path.

    Newton's method leaves rows out by a weight of 0, without a copy of the others.
    """
    Cs, w = search.Cs[order], train * factors[problem.y]
    present = np.flatnonzero(np.bincount(problem.y, w) > 0)
    K = len(present)
    if K < 2:
        raise DataError("A training part of cv has only one class. Give fewer folds.")
    usual = problem.n_classes == K and abs(int(exponents(w.max()))) <= EXTREME
    if prepared is not None and ratio == 0 and usual:
        own = replace(prepared, likelihood=replace(prepared.likelihood, weights=w))
        return present, _newton_path(own, Cs, search.setting, K)
    part, w = without_absent(problem, w, present)
    return present, _path(part, part.y, w, K, search, ratio, Cs)


def _path(
    problem: Problem, y: np.ndarray, w: np.ndarray, K: int, search: Search, ratio: float,
    Cs: np.ndarray,
) -> Iterator[tuple[np.ndarray, int]]:  # fmt: skip
    """Coefficients and iterations of one penalty after the other, each the start of the next."""
    x0 = None
    for C in Cs:
        found = fit_one(problem, y, w, K, C, ratio, search, x0)
        x0 = found.x
        yield found.x, found.n_iter


def _newton_path(
    prepared: Prepared, Cs: np.ndarray, setting: Setting, K: int
) -> Iterator[tuple[np.ndarray, int]]:
    """The table is prepared once; only the penalty changes."""
    whole = prepared.likelihood
    x = np.zeros(whole.size)
    scale = np.tile(np.append(prepared.spread, 1.0), whole.q)
    for C in Cs:
        F = replace(whole, alpha=np.minimum(whole.alpha / C, 1e250))
        with np.errstate(over="ignore", invalid="ignore"):  # such steps are refused by the search
            found = newton(
                F.evaluate, F.factor, x, max_iter=setting.max_iter, scale=scale,
                accuracy=PATH_ACCURACY,
            )  # fmt: skip
        x = found.x
        yield symmetric(prepared.to_user(x), K, setting.intercept), found.n_iter


def probabilities(Z: np.ndarray) -> np.ndarray:
    """(n, K) from scores (n, 1) of two classes or (n, K)."""
    return np.column_stack([expit(-Z[:, 0]), expit(Z[:, 0])]) if Z.shape[1] == 1 else softmax(Z)


def neg_log_loss(Z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    P = probabilities(Z)[np.arange(len(y)), y]
    return float(np.average(np.log(np.clip(P, SMALLEST, 1 - SMALLEST)), weights=w))


def accuracy(Z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    guess = (Z[:, 0] > 0).astype(int) if Z.shape[1] == 1 else Z.argmax(axis=1)
    return float(np.average(guess == y, weights=w))


SCORES: dict[str | None, Score] = {
    None: accuracy,
    "accuracy": accuracy,
    "neg_log_loss": neg_log_loss,
}


@dataclass(frozen=True)
class Said:
    """What a scorer may ask of a classifier, answered from scores that are given as X."""

    classes_: np.ndarray
    tags: Any

    def decision_function(self, Z: np.ndarray) -> np.ndarray:
        return Z[:, 0] if Z.shape[1] == 1 else Z

    def predict_proba(self, Z: np.ndarray) -> np.ndarray:
        return probabilities(Z)

    def predict(self, Z: np.ndarray) -> np.ndarray:
        return self.classes_[self.predict_proba(Z).argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        return self.tags
