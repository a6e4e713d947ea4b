"""Cross-validation of logistic penalties: one path of warm-started fits per fold and l1_ratio.

Invariant: tasks (fold, l1_ratio) share nothing, so the number of threads changes no bit. A row of
weight k acts like k copies of it, which may go to both sides of a fold.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.weighted_sampling import consecutive_parts
from pellucid.errors import DataError
from pellucid.linear_model._logistic import preparation
from pellucid.linear_model._logistic.base import SOLVERS
from pellucid.linear_model._logistic.l1 import solve_l1
from pellucid.linear_model._logistic.solver import NEWTON_SIZE, Fitted, solve, sum_to_zero
from pellucid.linear_model._logistic.wide import applies
from pellucid.linear_model.cv_folds import FOLDS, Fold, make_folds
from pellucid.numerics.objectives.links import expit
from pellucid.numerics.objectives.losses import softmax
from pellucid.numerics.optimise import newton
from pellucid.numerics.row_blocks import LARGEST_PENALTY, exponents
from pellucid.parameters import Integer
from pellucid.records import converting_x

SMALLEST = np.finfo(float).eps  # probabilities are clipped to this before their logarithm is taken
# Accuracy of the coefficients on a path. Only scores are compared, which are far more accurate.
PATH_ACCURACY = 1e-7

Score = Callable[[np.ndarray, np.ndarray, np.ndarray], float]  # (scores, y, weights) -> number


@dataclass(frozen=True)
class Search:
    """The grid of the search: every C with every l1_ratio, on every fold."""

    Cs: np.ndarray
    l1_ratios: np.ndarray
    setting: preparation.Setting  # its alpha is not used
    solver: str


@dataclass(frozen=True)
class SearchResult:
    """Arrays of shape (folds, l1_ratios, Cs, ...)."""

    coefs: np.ndarray
    scores: np.ndarray
    n_iter: np.ndarray


def stratified_folds(cv: Any, problem: Problem, split: Mapping[str, Any]) -> list[Fold]:
    """Stratified folds for a number; the folds of a splitter or a list otherwise."""
    if cv is not None and not Integer(2).accepts(cv):
        return make_folds(cv, problem, split)
    k = int(cv or FOLDS)
    whole = problem.counts and problem.weights.sum() < 2.0**52
    copies = problem.weights if whole else np.ones(problem.n)
    counts = np.bincount(problem.y, copies).astype(np.int64)
    if counts.max() < k:
        raise DataError(
            f"n_splits={k} cannot be greater than the number of members in each class. The largest "
            f"class has {counts.max()} rows. Use a smaller cv."
        )
    # How many copies of each class a fold gets: as if all copies, sorted by the first row of their
    # class, were assigned to the folds in turn. scikit-learn's StratifiedKFold does the same.
    present, first = np.unique(problem.y, return_index=True)
    order = present[np.argsort(first)]
    ends = np.zeros(len(counts), dtype=np.int64)
    ends[order] = np.cumsum(counts[order])
    fold = np.arange(k)[:, None]
    quota = (ends - fold + k - 1) // k - (ends - counts - fold + k - 1) // k
    test = np.zeros((k, problem.n))
    for cls in range(len(counts)):
        rows = np.flatnonzero(problem.y == cls)
        test[:, rows] = list(consecutive_parts(copies[rows], quota[:, cls]))
    if not whole:
        test *= problem.weights
    return [Fold(problem.weights - part, part) for part in test]


def fit_one(
    problem: Problem, w: np.ndarray, C: float, l1_ratio: float, search: Search,
    x0: np.ndarray | None = None,
) -> Fitted:  # fmt: skip
    """One fit with the given penalty."""
    setting = replace(search.setting, alpha=1.0 / C, x0=x0)
    given = (problem.X, problem.y, w, problem.n_classes, setting)
    if l1_ratio > 0 and np.isfinite(C):
        return solve_l1(*given, l1_ratio)
    return solve(*given, SOLVERS[search.solver])


def fit_chosen(
    problem: Problem, w: np.ndarray, C: float, l1_ratio: float, search: Search
) -> Fitted:
    """One fit of all rows; classes without weight get the probability 0."""
    present, K = preparation.present_classes(problem, w), problem.n_classes
    if len(present) < K:
        problem, w = preparation.without_absent(problem, w, present)
    with converting_x(lambda x: preparation.all_classes(x, present, K)):
        found = fit_one(problem, w, C, l1_ratio, search)
    return replace(found, x=preparation.all_classes(found.x, present, K))


def cross_validate(
    problem: Problem, factors: np.ndarray, folds: list[Fold], search: Search, score: Score
) -> SearchResult:
    """Coefficients, scores and iterations of every fold, l1_ratio and C."""
    assert problem.classes is not None
    K = len(problem.classes)
    order = np.argsort(search.Cs, kind="stable")  # strong penalties first: each starts the next
    prepared = _prepared(problem, search)

    def task(which: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        fold, ratio = folds[which[0]], float(search.l1_ratios[which[1]])
        present, path = _training(problem, factors, fold.train, search, ratio, order, prepared)
        tested = np.flatnonzero(fold.test > 0)
        y_test, w_test = problem.y[tested], fold.test[tested]
        coefs = np.empty((len(order), 1 if K == 2 else K, problem.p + 1))
        scores, n_iter = np.empty(len(order)), np.empty(len(order), dtype=np.int32)
        for j, (x, steps) in zip(order, path):
            coefs[j] = preparation.all_classes(x, present, K)
            # The scores of all rows, which avoids a copy of the tested ones.
            Z = problem.X @ coefs[j, :, :-1].T
            scores[j] = score(Z[tested] + coefs[j, :, -1], y_test, w_test)
            n_iter[j] = max(steps, 1)
        return coefs, scores, n_iter

    shape = (len(folds), len(search.l1_ratios))
    parts = parallel.map(task, [(i, r) for i in range(shape[0]) for r in range(shape[1])])
    arrays = (np.stack([part[k] for part in parts]) for k in range(3))
    return SearchResult(*(a.reshape(*shape, *a.shape[1:]) for a in arrays))


def _prepared(problem: Problem, search: Search) -> preparation.Prepared | None:
    """The table prepared for Newton's method, once for all folds; None for another solver."""
    if SOLVERS[search.solver] not in ("auto", "newton") or not np.isfinite(search.Cs).all():
        return None
    setting = replace(search.setting, alpha=1.0)
    found = preparation.prepare_columns(
        problem.X, problem.y, problem.weights, problem.n_classes, setting
    )
    small = found.likelihood.size <= NEWTON_SIZE and not applies(found.likelihood)
    return found if small else None


def _training(
    problem: Problem, factors: np.ndarray, train: np.ndarray, search: Search, ratio: float,
    order: np.ndarray, prepared: preparation.Prepared | None,
) -> tuple[np.ndarray, Iterator[tuple[np.ndarray, int]]]:  # fmt: skip
    """The classes of a training part, and its path.

    Newton's method gives left-out rows the weight 0, which avoids a copy of the others.
    """
    Cs, w = search.Cs[order], train * factors[problem.y]
    present = np.flatnonzero(np.bincount(problem.y, w) > 0)
    K = len(present)
    if K < 2:
        raise DataError("The training part of a fold has only one class. Use fewer folds.")
    usual = problem.n_classes == K and abs(int(exponents(w.max()))) <= preparation.EXTREME
    if prepared is not None and ratio == 0 and usual:
        own = replace(prepared, likelihood=replace(prepared.likelihood, weights=w))
        return present, _newton_path(own, Cs, search.setting, K)
    part, w = preparation.without_absent(problem, w, present)
    return present, _path(part, w, search, ratio, Cs)


def _path(
    problem: Problem, w: np.ndarray, search: Search, ratio: float, Cs: np.ndarray
) -> Iterator[tuple[np.ndarray, int]]:
    """Coefficients and iterations of one penalty after another, each starting from the last."""
    x0 = None
    for C in Cs:
        found = fit_one(problem, w, C, ratio, search, x0)
        x0 = found.x
        yield found.x, found.n_iter


def _newton_path(
    prepared: preparation.Prepared, Cs: np.ndarray, setting: preparation.Setting, K: int
) -> Iterator[tuple[np.ndarray, int]]:
    """The same by Newton's method on a prepared table, in which only the penalty changes."""
    whole = prepared.likelihood
    x = np.zeros(whole.size)
    scale = np.tile(np.append(prepared.spread, 1.0), whole.q)
    for C in Cs:
        F = replace(whole, alpha=np.minimum(whole.alpha / C, LARGEST_PENALTY))
        with np.errstate(over="ignore", invalid="ignore"):  # the line search refuses such steps
            found = newton(
                F.evaluate, F.factor, x, max_iter=setting.max_iter, scale=scale,
                accuracy=PATH_ACCURACY,
            )  # fmt: skip
        x = found.x
        yield sum_to_zero(prepared.to_user(x), K, setting.intercept), found.n_iter


def probabilities(Z: np.ndarray) -> np.ndarray:
    """Probabilities (n, K) from scores of shape (n, 1) for two classes, else (n, K)."""
    return np.column_stack([expit(-Z[:, 0]), expit(Z[:, 0])]) if Z.shape[1] == 1 else softmax(Z)


def neg_log_loss(Z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    P = probabilities(Z)[np.arange(len(y)), y]
    return float(np.average(np.log(np.clip(P, SMALLEST, 1 - SMALLEST)), weights=w))


def accuracy(Z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    predicted = (Z[:, 0] > 0).astype(int) if Z.shape[1] == 1 else Z.argmax(axis=1)
    return float(np.average(predicted == y, weights=w))


SCORES: dict[str | None, Score] = {
    None: accuracy,
    "accuracy": accuracy,
    "neg_log_loss": neg_log_loss,
}


@dataclass(frozen=True)
class ScoresClassifier:
    """A classifier for scikit-learn's scorers whose X is a table of scores."""

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
