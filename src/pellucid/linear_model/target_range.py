"""Predictions kept within the range of the training targets, for models with a log link.

A row far outside the training table (a length of 59 mm where others have 6) is multiplied in the
exponent, so its prediction can be thousands of times the largest target. `bound_predictions=True`
stops such a prediction at the smallest or largest target of the training rows.

Invariant: `bounds_` (2,) are the ends of y / exposure on the training rows; they exist only where
the parameter is on.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import DataError
from pellucid.parameters import Boolean, param
from pellucid.persist.fitted_state import expect_array

BOUND_PREDICTIONS = param(
    False,
    Boolean,
    "Keep predictions within the range of y (of y / exposure) on the training rows, because the "
    "exponential of a row far outside the training table can be of any size. `explain` shows the "
    "difference as a part '(bound)'; `linear_predictor` and intervals are not bounded.",
    after="standardize",
)
BOUNDS = "Smallest and largest prediction, shape (2,); with `bound_predictions` only."


def learn_range(model: Any, y: np.ndarray, offset: np.ndarray | None = None) -> dict[str, Any]:
    """`bounds_`, for `_fit`; an empty dict if predictions are not bounded."""
    if not model.bound_predictions:
        return {}
    with np.errstate(over="ignore", under="ignore"):
        rates = y if offset is None else y / np.exp(offset)
    low, high = parallel.everywhere(rates.min(), min), parallel.largest(rates.max())
    return {"bounds_": np.array([low, min(high, np.finfo(float).max)])}


def clip_to_range(model: Any, mean: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
    """Predicted means, clipped to the range."""
    if not model.bound_predictions:
        return mean
    low, high = model.bounds_ if offset is None else model.bounds_[:, None] * np.exp(offset)
    return np.clip(mean, low, high)


def with_bound(model: Any, found: Any, offset: np.ndarray | None = None) -> Any:
    """An explanation of logarithms of means, with the effect of the bounds as a separate part."""
    if not model.bound_predictions:
        return found
    with np.errstate(divide="ignore"):
        low, high = np.log(model.bounds_)
    free = found.prediction[:, 0] if offset is None else found.prediction[:, 0] - offset
    moved = np.clip(free, low, high) - free
    return found.with_offset(moved, "(bound)") if moved.any() else found


def check_range(model: Any) -> None:
    """For `_check_state`: a range that a fit can have."""
    if model.bound_predictions:
        expect_array(model, "bounds_", 2, finite=True)
        if not 0 <= model.bounds_[0] <= model.bounds_[1]:
            raise DataError("its range of targets is impossible")
