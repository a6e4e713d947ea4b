"""Folds of rows at random."""

import numpy as np


def random_folds(codes: np.ndarray, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """The fold of each row: the rows in random order, sorted by code; row i of these goes to fold
    i mod K. So the rows of a code differ by at most one between folds."""
    order = rng.permutation(len(codes))
    fold = np.empty(len(codes), dtype=np.int64)
    fold[order[np.argsort(codes[order], kind="stable")]] = np.arange(len(codes)) % n_folds
    return fold
