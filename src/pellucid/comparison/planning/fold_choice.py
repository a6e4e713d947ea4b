"""The choice of folds: one rule for the outer folds of a plan and the inner folds of a search.

Folds respect the times or groups of the rows if there are any, otherwise the classes. Outer folds that
cannot be made are an error; the number of inner folds is reduced to what the training rows allow.
"""

from typing import Any

import numpy as np

from pellucid.model_selection.folds import Split, folds_by_name

EVERY_CLASS = {"roc_auc", "average_precision"}  # undefined on a fold without rows of some class


def kind_of(split_by: str, classes: bool) -> str:
    """The name of the folds; `split_by` is "time", "group" or ""."""
    return split_by or ("stratified" if classes else "shuffled")


def outer_splits(
    kind: str, n_folds: int, y: np.ndarray, values: Any, ranking: str, seed: Any, repeat: int = 0
) -> list[Split]:
    """Folds for the score of a model; `values` are the times or groups of the rows.

    The number of folds is reduced so that each has two rows and, if the metric `ranking` needs them,
    all classes.
    """
    n_folds = min(n_folds, max(2, len(y) // 2))
    if kind == "stratified" and ranking in EVERY_CLASS:
        n_folds = max(2, min(n_folds, int(np.unique(y, return_counts=True)[1].min())))
    return list(folds_by_name(kind, n_folds, seed, repeat).split(y, values))


def inner_splits(
    kind: str, n_folds: int, y: np.ndarray, values: Any, ranking: str, seed: Any, classes: bool
) -> list[Split]:
    """Folds for a search; rows that all share one time or group are split as if they had none."""
    if values is not None:
        most = len(np.unique(values)) - (kind == "time")
        n_folds = min(n_folds, most)
        if most < (1 if kind == "time" else 2):
            kind, values, n_folds = kind_of("", classes), None, 2
    return outer_splits(kind, n_folds, y, values, ranking, seed)
