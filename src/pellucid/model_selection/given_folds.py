"""The splits of a `cv` argument: a number, a splitter, or pairs of row numbers."""

from typing import Any

import numpy as np

from pellucid.data.targets import as_vector
from pellucid.errors import ParameterError, shown
from pellucid.model_selection.splitters import KFold, Split, StratifiedKFold


def folds_of(
    cv: Any, X: Any, y: Any = None, groups: Any = None, *, classes: bool = False
) -> list[Split]:
    """The splits of `cv`: a number of folds (None: 5), a splitter, or pairs of row numbers.

    Folds are stratified if `classes` is true and y holds classes.
    """
    if cv is None or (isinstance(cv, int | np.integer) and not isinstance(cv, bool)):
        stratified = classes and y is not None and _holds_classes(y)
        cv = (StratifiedKFold if stratified else KFold)(5 if cv is None else int(cv))
    if hasattr(cv, "split") and not isinstance(cv, str):
        return list(cv.split(X, y, groups))
    if isinstance(cv, str) or not hasattr(cv, "__iter__"):
        raise ParameterError(
            "cv must be a number of folds, an object with `split`, or pairs of (training rows, test "
            f"rows). Got {shown(cv)} instead."
        )
    return [(np.asarray(train), np.asarray(test)) for train, test in cv]


def _holds_classes(y: Any) -> bool:
    values = as_vector(y)
    return values.ndim == 1 and not (
        values.dtype.kind == "f" and (values != np.floor(values)).any()
    )
