"""How many rows of a random split are trained on and tested, and how many of each class."""

from math import ceil, floor
from typing import Any

import numpy as np

from pellucid.errors import DataError, ParameterError, shown


def split_sizes(n: int, test_size: Any, train_size: Any, default: float) -> tuple[int, int]:
    """(training rows, test rows) from shares or numbers; what is missing is the rest."""
    if test_size is None and train_size is None:
        test_size = default
    n_test = _rows(n, test_size, ceil, "test_size")
    n_train = _rows(n, train_size, floor, "train_size")
    n_test = n - n_train if n_test is None and n_train is not None else n_test
    n_train = n - n_test if n_train is None and n_test is not None else n_train
    assert n_train is not None and n_test is not None
    shares = isinstance(test_size, float) and isinstance(train_size, float)
    if n_train + n_test > n or (shares and test_size + train_size > 1):
        raise ParameterError(f"test_size and train_size ask for more than all {n} rows.")
    if n_train < 1:
        raise DataError(f"None of the {n} rows is left for training. Make test_size smaller.")
    return n_train, n_test


def _rows(n: int, size: Any, rounded: Any, name: str) -> int | None:
    if size is None:
        return None
    share = isinstance(size, float | np.floating)
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    if not (share and 0 < size < 1) and not (whole and 0 < size < n):
        raise ParameterError(
            f"{name} must be a share between 0 and 1 or a number of rows below {n}. Got {shown(size)} "
            "instead."
        )
    return int(rounded(size * n)) if share else int(size)


def strata_sizes(counts: np.ndarray, n: int, rng: np.random.RandomState) -> np.ndarray:
    """`n` rows divided among classes in proportion to their counts; ties of remainders are drawn."""
    exact = counts / counts.sum() * n  # scikit-learn's order of operations: ties depend on it
    sizes = np.floor(exact)
    wanted = int(n - sizes.sum())
    left = exact - sizes
    for value in np.sort(np.unique(left))[::-1]:
        if wanted == 0:
            break
        (tied,) = np.where(left == value)
        more = min(len(tied), wanted)
        sizes[rng.choice(tied, size=more, replace=False)] += 1
        wanted -= more
    return sizes.astype(np.int64)
