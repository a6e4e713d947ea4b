"""Splits into training and test rows, in scikit-learn's names, call forms and numbers.

With the same integer as `random_state`, every class here gives the same rows as scikit-learn's class
of that name: both draw with NumPy's `RandomState`. `split(X, y, groups)` yields (training rows, test
rows) as arrays of row numbers.
"""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from pellucid.data.targets import as_vector
from pellucid.errors import DataError, ParameterError, PellucidWarning, shown, warn
from pellucid.model_selection.rows import n_rows, taken
from pellucid.model_selection.sizes import split_sizes, strata_sizes

Split = tuple[np.ndarray, np.ndarray]


def random_numbers(random_state: Any) -> np.random.RandomState:
    """The generator of an int, a RandomState or a Generator; a new one for None."""
    if isinstance(random_state, np.random.RandomState):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.RandomState(random_state)
    raise ParameterError(
        "random_state must be an int, None, or a generator of numpy.random. Got "
        f"{shown(random_state)} instead."
    )


def _labels(values: Any, owner: str, name: str) -> np.ndarray:
    """y or groups, as codes in the order of their sorted values."""
    if values is None:
        raise DataError(f"{owner} needs `{name}`, one value per row.")
    return np.unique(as_vector(values, name), return_inverse=True)[1].ravel()


@dataclass(frozen=True)
class _Folds:
    """Folds that test every row once."""

    n_splits: int = 5
    _: KW_ONLY
    shuffle: bool = False
    random_state: Any = None

    def __post_init__(self) -> None:
        whole = isinstance(self.n_splits, int | np.integer) and not isinstance(self.n_splits, bool)
        if not whole or self.n_splits < 2:
            raise ParameterError(
                f"n_splits must be a whole number of at least 2. Got {shown(self.n_splits)} instead."
            )
        if self.random_state is not None and not self.shuffle:
            raise ParameterError("random_state has no effect without shuffle=True.")

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return int(self.n_splits)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """(training rows, test rows) of every fold."""
        n = n_rows(X)
        if n < self.n_splits:
            raise DataError(
                f"{self.n_splits} folds need at least {self.n_splits} rows, but there are {n}."
            )
        fold = self._fold_of_rows(n, y, groups)
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)

    def _fold_of_rows(self, n: int, y: Any, groups: Any) -> np.ndarray:
        raise NotImplementedError


@dataclass(frozen=True)
class KFold(_Folds):
    """K folds of neighbouring rows, or of shuffled rows; the first ones have a row more.

    >>> from pellucid.model_selection import KFold
    >>> [test.tolist() for _, test in KFold(3).split(range(7))]
    [[0, 1, 2], [3, 4], [5, 6]]
    """

    def _fold_of_rows(self, n: int, y: Any, groups: Any) -> np.ndarray:
        rows = np.arange(n)
        if self.shuffle:
            random_numbers(self.random_state).shuffle(rows)
        fold = np.empty(n, dtype=np.int64)
        for k, part in enumerate(np.array_split(rows, self.n_splits)):
            fold[part] = k
        return fold


@dataclass(frozen=True)
class StratifiedKFold(_Folds):
    """K folds with nearly the same share of every class."""

    def _fold_of_rows(self, n: int, y: Any, groups: Any) -> np.ndarray:
        codes = _by_appearance(_labels(y, "StratifiedKFold", "y"))
        if len(codes) != n:
            raise DataError(f"X has {n} rows and y has {len(codes)}. They must match.")
        counts = np.bincount(codes)
        if (counts < self.n_splits).all():
            raise DataError(
                f"No class has the {self.n_splits} rows that {self.n_splits} folds need."
            )
        if counts.min() < self.n_splits:
            warn(
                f"The rarest class has {counts.min()} rows, fewer than the {self.n_splits} folds: "
                "some folds lack it.",
                PellucidWarning,
            )
        ordered, rng = np.sort(codes), random_numbers(self.random_state)
        fold = np.empty(n, dtype=np.int64)
        for code in range(len(counts)):
            share = [(ordered[k :: self.n_splits] == code).sum() for k in range(self.n_splits)]
            folds = np.repeat(np.arange(self.n_splits), share)
            if self.shuffle:
                rng.shuffle(folds)
            fold[codes == code] = folds
        return fold


def _by_appearance(codes: np.ndarray) -> np.ndarray:
    """Codes numbered in the order in which they first occur."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


@dataclass(frozen=True)
class GroupKFold(_Folds):
    """K folds of whole groups: the rows of a group are never both in training and in test.

    Without `shuffle`, the largest groups come first, each into the smallest fold. With it, groups are
    drawn in equal numbers.
    """

    def _fold_of_rows(self, n: int, y: Any, groups: Any) -> np.ndarray:
        codes = _labels(groups, "GroupKFold", "groups")
        sizes = np.bincount(codes)
        if len(sizes) < self.n_splits:
            raise DataError(f"{self.n_splits} folds need {self.n_splits} groups, not {len(sizes)}.")
        fold = np.empty(len(sizes), dtype=np.int64)
        if self.shuffle:
            order = random_numbers(self.random_state).permutation(len(sizes))
            for k, part in enumerate(np.array_split(order, self.n_splits)):
                fold[part] = k
            return fold[codes]
        load = np.zeros(self.n_splits)
        for group in np.argsort(sizes, kind="stable")[::-1]:
            fold[group] = load.argmin()
            load[fold[group]] += sizes[group]
        return fold[codes]


@dataclass(frozen=True)
class LeaveOneOut:
    """Every row is tested alone."""

    def get_n_splits(self, X: Any, y: Any = None, groups: Any = None) -> int:
        """The number of rows."""
        return n_rows(X)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """(all other rows, one row) for every row."""
        rows = np.arange(n_rows(X))
        if len(rows) < 2:
            raise DataError(f"Leaving one row out needs at least two rows, not {len(rows)}.")
        for row in rows:
            yield np.delete(rows, row), rows[row : row + 1]


@dataclass(frozen=True)
class LeaveOneGroupOut:
    """Every group is tested alone."""

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of groups."""
        return int(_labels(groups, "LeaveOneGroupOut", "groups").max()) + 1

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """(rows of all other groups, rows of one group) for every group."""
        codes = _labels(groups, "LeaveOneGroupOut", "groups")
        if not codes.any():
            raise DataError("Leaving one group out needs at least two groups.")
        for k in range(codes.max() + 1):
            yield np.flatnonzero(codes != k), np.flatnonzero(codes == k)


@dataclass(frozen=True)
class TimeSeriesSplit:
    """Folds of rows in time order: each part is predicted from the rows before it.

    `max_train_size` keeps the latest rows of the training set, `gap` leaves rows out between training
    and test set. Sort the table by time first.

    >>> from pellucid.model_selection import TimeSeriesSplit
    >>> [(len(train), test.tolist()) for train, test in TimeSeriesSplit(2).split(range(6))]
    [(2, [2, 3]), (4, [4, 5])]
    """

    n_splits: int = 5
    _: KW_ONLY
    max_train_size: int | None = None
    test_size: int | None = None
    gap: int = 0

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return int(self.n_splits)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """(rows before, rows of a part) for every part."""
        rows = np.arange(n_rows(X))
        size = self.test_size if self.test_size is not None else len(rows) // (self.n_splits + 1)
        first = len(rows) - self.n_splits * size
        if self.n_splits < 2 or size < 1 or first - self.gap < 1:
            raise DataError(
                f"{self.n_splits} test sets of {size} rows and a gap of {self.gap} leave no training "
                f"rows out of {len(rows)}."
            )
        for start in range(first, len(rows), size):
            end = start - self.gap
            begin = 0 if self.max_train_size is None else max(0, end - self.max_train_size)
            yield rows[begin:end], rows[start : start + size]


@dataclass(frozen=True)
class ShuffleSplit:
    """Training and test rows drawn anew `n_splits` times.

    `test_size` and `train_size` are shares or numbers of rows; by default 10 % are tested.
    """

    n_splits: int = 10
    _: KW_ONLY
    test_size: float | int | None = None
    train_size: float | int | None = None
    random_state: Any = None

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of draws."""
        return int(self.n_splits)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """(training rows, test rows) of every draw."""
        n = n_rows(X)
        n_train, n_test = split_sizes(n, self.test_size, self.train_size, 0.1)
        rng = random_numbers(self.random_state)
        for _ in range(self.n_splits):
            order = rng.permutation(n)
            yield order[n_test : n_test + n_train], order[:n_test]


@dataclass(frozen=True)
class StratifiedShuffleSplit(ShuffleSplit):
    """Training and test rows drawn anew, each with nearly the same share of every class."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """(training rows, test rows) of every draw."""
        codes = _labels(y, "StratifiedShuffleSplit", "y")
        counts = np.bincount(codes)
        if counts.min() < 2:
            raise DataError("A class has a single row: it cannot be in training and in test set.")
        n_train, n_test = split_sizes(n_rows(X), self.test_size, self.train_size, 0.1)
        if min(n_train, n_test) < len(counts):
            raise DataError(
                f"Training and test set need a row of each of the {len(counts)} classes."
            )
        rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
        rng = random_numbers(self.random_state)
        for _ in range(self.n_splits):
            in_train = strata_sizes(counts, n_train, rng)
            in_test = strata_sizes(counts - in_train, n_test, rng)
            train: list[np.ndarray] = []
            test: list[np.ndarray] = []
            for own, a, b in zip(rows, in_train, in_test, strict=True):
                order = own[rng.permutation(len(own))]
                train.append(order[:a])
                test.append(order[a : a + b])
            yield rng.permutation(np.concatenate(train)), rng.permutation(np.concatenate(test))


@dataclass(frozen=True)
class GroupShuffleSplit(ShuffleSplit):
    """Whole groups drawn for the test set, anew `n_splits` times; 20 % of the groups by default."""

    n_splits: int = 5

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """(training rows, test rows) of every draw."""
        codes = _labels(groups, "GroupShuffleSplit", "groups")
        sizes = split_sizes(int(codes.max()) + 1, self.test_size, self.train_size, 0.2)
        rng = random_numbers(self.random_state)
        for _ in range(self.n_splits):
            order = rng.permutation(codes.max() + 1)
            train, test = order[sizes[1] : sum(sizes)], order[: sizes[1]]
            yield np.flatnonzero(np.isin(codes, train)), np.flatnonzero(np.isin(codes, test))


@dataclass(frozen=True)
class RepeatedKFold:
    """Shuffled K folds, drawn several times."""

    _folds: ClassVar[type[_Folds]] = KFold
    _: KW_ONLY
    n_splits: int = 5
    n_repeats: int = 10
    random_state: Any = None

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds of all repeats."""
        return int(self.n_splits * self.n_repeats)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """(training rows, test rows) of every fold of every repeat."""
        rng = random_numbers(self.random_state)
        for _ in range(self.n_repeats):
            folds = self._folds(self.n_splits, shuffle=True, random_state=rng)
            yield from folds.split(X, y, groups)


@dataclass(frozen=True)
class RepeatedStratifiedKFold(RepeatedKFold):
    """Shuffled stratified K folds, drawn several times."""

    _folds: ClassVar[type[_Folds]] = StratifiedKFold


def train_test_split(
    *arrays: Any,
    test_size: float | int | None = None,
    train_size: float | int | None = None,
    random_state: Any = None,
    shuffle: bool = True,
    stratify: Any = None,
) -> list[Any]:
    """Each table or array as two: its training rows and its test rows.

    `test_size` and `train_size` are shares or numbers of rows; by default 25 % are tested. With
    `stratify=y`, both parts have the same share of every class. `shuffle=False` cuts without drawing.

    >>> from pellucid.model_selection import train_test_split
    >>> train_test_split([1, 2, 3, 4], ["a", "b", "c", "d"], shuffle=False)
    [[1, 2, 3], [4], ['a', 'b', 'c'], ['d']]
    """
    if not arrays:
        raise DataError("train_test_split needs at least one table or array.")
    lengths = {n_rows(array) for array in arrays}
    if len(lengths) > 1:
        raise DataError(f"The arguments have {sorted(lengths)} rows. The numbers must match.")
    (n,) = lengths
    if not shuffle and stratify is not None:
        raise ParameterError("stratify needs shuffle=True.")
    n_train, n_test = split_sizes(n, test_size, train_size, 0.25)
    if not shuffle:
        train, test = np.arange(n_train), np.arange(n_train, n_train + n_test)
    else:
        drawn = ShuffleSplit if stratify is None else StratifiedShuffleSplit
        sizes = {"test_size": n_test, "train_size": n_train}
        splitter = drawn(1, random_state=random_state, **sizes)
        train, test = next(splitter.split(range(n), stratify))
    return [part for array in arrays for part in (taken(array, train), taken(array, test))]
