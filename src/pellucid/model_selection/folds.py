"""The folds and the test set of a comparison; `splitters` has those for users.

Each class has `split(y, groups)`, which yields (train, test) row numbers. Every row is tested exactly
once per repeat (with time folds, every row after the first part). The same seed gives the same folds.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import DataError, ParameterError
from pellucid.numerics.random_folds import random_folds

Split = tuple[np.ndarray, np.ndarray]


def _rng(seed: Any, *task: Any) -> np.random.Generator:
    return parallel.stream(parallel.seed_sequence(seed), "folds", *task)


def _splits(fold: np.ndarray, n_folds: int) -> Iterator[Split]:
    for k in range(n_folds):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def _check(n_folds: int, n: int) -> None:
    if n_folds < 2:
        raise ParameterError(f"The number of folds must be at least 2. Got {n_folds!r} instead.")
    if n < n_folds:
        raise DataError(f"{n_folds} folds need at least {n_folds} rows, but there are {n}.")


def _check_blocks(needed: int, available: int, blocks: str) -> None:
    """Folds of whole groups or times need at least that many of them."""
    if available < needed:
        fewer = f"Use fewer folds (--cv {available})" if available > 1 else f"Add {blocks}"
        raise DataError(
            f"{needed} folds need at least {needed} {blocks}, but only {available} can be used for "
            f"training. {fewer}, or hold out no test set (--test-size 0)."
        )


@dataclass(frozen=True)
class _RandomFolds:
    """Folds drawn from a seed; each repeat draws others."""

    n_folds: int = 5
    seed: Any = 0
    repeat: int = 0

    def _by_code(self, codes: np.ndarray) -> Iterator[Split]:
        _check(self.n_folds, len(codes))
        fold = random_folds(codes, self.n_folds, _rng(self.seed, self.repeat))
        return _splits(fold, self.n_folds)


@dataclass(frozen=True)
class PlainFolds(_RandomFolds):
    """Shuffled folds: row i of a random permutation goes to fold i mod K."""

    def split(self, y: Any, groups: Any = None) -> Iterator[Split]:
        return self._by_code(np.zeros(len(y)))


@dataclass(frozen=True)
class StratifiedFolds(_RandomFolds):
    """Folds with equal class proportions: the rows of a class differ by at most one between folds."""

    def split(self, y: Any, groups: Any = None) -> Iterator[Split]:
        return self._by_code(np.unique(np.asarray(y), return_inverse=True)[1])


@dataclass(frozen=True)
class GroupFolds(_RandomFolds):
    """Folds of whole groups: the largest groups come first, each goes to the smallest fold."""

    def split(self, y: Any, groups: Any = None) -> Iterator[Split]:
        if groups is None:
            raise DataError("GroupFolds needs `groups`, the group of each row.")
        _check(self.n_folds, len(y))
        names, codes = np.unique(np.asarray(groups), return_inverse=True)
        _check_blocks(self.n_folds, len(names), "groups")
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
    """Folds in time order: each of the last K parts of equal size is predicted from all rows before it.

    Rows with the same time stay together, so the sizes are equal only as far as that allows.
    """

    n_folds: int = 5

    def split(self, y: Any, groups: Any = None) -> Iterator[Split]:
        """`groups` holds the time of each row (default: the order of the rows)."""
        n = len(y)
        _check(self.n_folds + 1, n)
        times = np.arange(n) if groups is None else np.asarray(groups)
        order = np.argsort(times, kind="stable")
        size = n // (self.n_folds + 1)
        wanted = range(n - self.n_folds * size, n, size)
        cuts = [*_between_times(times[order], list(wanted)), n]
        for start, stop in itertools.pairwise(cuts):
            yield np.sort(order[:start]), np.sort(order[start:stop])


def _between_times(times: np.ndarray, wanted: list[int]) -> list[int]:
    """Rows where a new time begins, in order, each as close to the wanted row as possible."""
    begins = np.flatnonzero(times[1:] != times[:-1]) + 1
    _check_blocks(len(wanted) + 1, len(begins) + 1, "times")
    cuts, first = [], 0
    for number, row in enumerate(wanted, 1):
        allowed = begins[first : len(begins) - len(wanted) + number]
        first += int(np.abs(allowed - row).argmin()) + 1
        cuts.append(int(begins[first - 1]))
    return cuts


def holdout(
    y: Any, share: float, seed: Any = 0, *, groups: Any = None, time: Any = None, stratify: bool
) -> Split:
    """Rows of the training and the test set: the test set is the latest rows if `time` is given, whole
    groups if `groups` is given, otherwise random rows.
    """
    n = len(y)
    if time is not None:
        times = np.asarray(time)
        order = np.argsort(times, kind="stable")
        (cut,) = _between_times(times[order], [n - max(1, round(n * share))])
        return np.sort(order[:cut]), np.sort(order[cut:])
    rng = _rng(seed, "holdout")
    test = np.zeros(n, dtype=bool)
    if groups is not None:
        test[_whole_groups(np.asarray(groups), n * share, rng)] = True
        return np.flatnonzero(~test), np.flatnonzero(test)
    codes = np.unique(np.asarray(y), return_inverse=True)[1] if stratify else np.zeros(n, int)
    for k in range(codes.max() + 1):
        rows = rng.permutation(np.flatnonzero(codes == k))
        test[rows[: round(len(rows) * share)]] = True
    return np.flatnonzero(~test), np.flatnonzero(test)


def _whole_groups(groups: np.ndarray, wanted: float, rng: np.random.Generator) -> np.ndarray:
    """Rows of randomly drawn groups; a group is taken if the number of rows gets closer to `wanted`.

    At least one group is taken, and never all; if every group is too large, the smallest one is.
    """
    names, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    _check_blocks(2, len(names), "groups")
    kept: list[int] = []
    rows = 0
    for group in rng.permutation(len(names)).tolist():
        closer = abs(rows + sizes[group] - wanted) < abs(rows - wanted)
        if closer and len(kept) < len(names) - 1:
            kept.append(group)
            rows += int(sizes[group])
    return np.flatnonzero(np.isin(codes, kept or [int(sizes.argmin())]))


def folds_by_name(name: str, n_folds: int, seed: Any, repeat: int = 0) -> Any:
    """Folds by name: "time", "group", "stratified" or "shuffled"."""
    if name == "time":
        return TimeFolds(n_folds)
    classes = {"group": GroupFolds, "stratified": StratifiedFolds, "shuffled": PlainFolds}
    return classes[name](n_folds, seed, repeat)
