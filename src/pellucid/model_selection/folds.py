"""Ways to divide rows into training and test parts.

Each has `split(y, groups)`, which yields (train, test) row numbers; every row is tested exactly
once per repeat (in time folds: every row after the first part). Same seed, same folds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import DataError, ParameterError

Split = tuple[np.ndarray, np.ndarray]


def _rng(seed: Any, *task: Any) -> np.random.Generator:
    return parallel.stream(parallel.seed_sequence(seed), "folds", *task)


def _splits(fold: np.ndarray, n_folds: int) -> Iterator[Split]:
    for k in range(n_folds):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def _check(n_folds: int, n: int) -> None:
    if n_folds < 2:
        raise ParameterError(f"folds need at least 2 parts. Got {n_folds!r} instead.")
    if n < n_folds:
        raise DataError(f"{n_folds} folds need at least {n_folds} rows, but there are {n}.")


@dataclass(frozen=True)
class PlainFolds:
    """Shuffled rows dealt out in turn: row i of the permutation goes to fold i mod K."""

    n_folds: int = 5
    seed: Any = 0
    repeat: int = 0

    def split(self, y: Any, groups: Any = None) -> Iterator[Split]:
        n = len(y)
        _check(self.n_folds, n)
        fold = np.empty(n, dtype=np.int64)
        fold[_rng(self.seed, self.repeat).permutation(n)] = np.arange(n) % self.n_folds
        return _splits(fold, self.n_folds)


@dataclass(frozen=True)
class StratifiedFolds:
    """Each class dealt out in turn, one class after the other: shares differ by one row at most."""

    n_folds: int = 5
    seed: Any = 0
    repeat: int = 0

    def split(self, y: Any, groups: Any = None) -> Iterator[Split]:
        y = np.asarray(y)
        _check(self.n_folds, len(y))
        order = _rng(self.seed, self.repeat).permutation(len(y))
        codes = np.unique(y, return_inverse=True)[1]
        by_class = order[np.argsort(codes[order], kind="stable")]
        fold = np.empty(len(y), dtype=np.int64)
        fold[by_class] = np.arange(len(y)) % self.n_folds
        return _splits(fold, self.n_folds)


@dataclass(frozen=True)
class GroupFolds:
    """Rows of one group stay together; the largest groups first, each to the smallest fold."""

    n_folds: int = 5
    seed: Any = 0
    repeat: int = 0

    def split(self, y: Any, groups: Any = None) -> Iterator[Split]:
        if groups is None:
            raise DataError("group folds need the group of each row.")
        names, codes = np.unique(np.asarray(groups), return_inverse=True)
        if len(names) < self.n_folds:
            raise DataError(
                f"{self.n_folds} folds need that many groups, but there are {len(names)} to learn "
                f"from. Ask for fewer folds (--cv {max(2, len(names))}) or lock no group away "
                "(--test-size 0)."
            )
        sizes = np.bincount(codes)
        order = _rng(self.seed, self.repeat).permutation(len(names))
        order = order[np.argsort(-sizes[order], kind="stable")]
        load = np.zeros(self.n_folds)
        fold = np.empty(len(names), dtype=np.int64)
        for group in order:
            fold[group] = load.argmin()
            load[fold[group]] += sizes[group]
        return _splits(fold[codes], self.n_folds)


@dataclass(frozen=True)
class TimeFolds:
    """Rows in time order, the last K parts of equal size: each is predicted from all before it."""

    n_folds: int = 5

    def split(self, y: Any, groups: Any = None) -> Iterator[Split]:
        """`groups` holds the time of each row (default: the order of the rows)."""
        n = len(y)
        _check(self.n_folds + 1, n)
        times = np.arange(n) if groups is None else np.asarray(groups)
        order = np.argsort(times, kind="stable")
        size = n // (self.n_folds + 1)
        for start in range(n - self.n_folds * size, n, size):
            yield np.sort(order[:start]), np.sort(order[start : start + size])


@dataclass(frozen=True)
class LeaveOneOut:
    """Every row is its own fold."""

    def split(self, y: Any, groups: Any = None) -> Iterator[Split]:
        _check(2, len(y))
        return _splits(np.arange(len(y)), len(y))


@dataclass(frozen=True)
class RepeatedFolds:
    """Shuffled folds drawn several times; `folds` is a class above, seeded per repeat."""

    folds: Any = StratifiedFolds
    n_folds: int = 5
    n_repeats: int = 2
    seed: int = 0

    def split(self, y: Any, groups: Any = None) -> Iterator[Split]:
        for repeat in range(self.n_repeats):
            yield from self.folds(self.n_folds, self.seed, repeat).split(y, groups)


def holdout(
    y: Any, share: float, seed: Any = 0, *, groups: Any = None, time: Any = None, stratify: bool
) -> Split:
    """Training and locked test rows: by time the latest, by groups whole groups, else drawn."""
    n = len(y)
    if time is not None:
        order = np.argsort(np.asarray(time), kind="stable")
        cut = n - max(1, round(n * share))
        return np.sort(order[:cut]), np.sort(order[cut:])
    n_folds = max(2, round(1 / share))
    if groups is not None:
        return next(iter(GroupFolds(n_folds, seed).split(y, groups)))
    rng = _rng(seed, "holdout")
    test = np.zeros(n, dtype=bool)
    codes = np.unique(np.asarray(y), return_inverse=True)[1] if stratify else np.zeros(n, int)
    for k in range(codes.max() + 1):
        rows = rng.permutation(np.flatnonzero(codes == k))
        test[rows[: round(len(rows) * share)]] = True
    return np.flatnonzero(~test), np.flatnonzero(test)
