"""Checks of the data given to a `Network`: inputs, targets and weights.

Invariant: accepted data are finite and have the shape of the network, targets are valid for its loss,
and weights are neither negative nor all 0.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.errors import DataError, ParameterError, shown
from pellucid.neural_network.layers import LOSSES

if TYPE_CHECKING:
    from pellucid.neural_network.network import Network

DTYPES = ("float64", "float32")


def precision(dtype: Any) -> np.dtype:
    """float64 or float32, by name or type."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found.name not in DTYPES:
        raise ParameterError(
            f"The 'dtype' parameter of Network must be one of {list(DTYPES)}. Got {shown(dtype)} "
            "instead."
        )
    return found


def numbers(X: Any) -> Any:
    """Data as an array of floats; sparse data as CSR."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    try:
        return np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"A Network needs numeric data: {error}.") from None


def checked_inputs(network: "Network", X: Any) -> Any:
    """X as finite numbers, with one column per input."""
    X = numbers(X)
    if X.ndim != 2 or X.shape[1] != network.inputs:
        raise DataError(
            f"This network expects {network.inputs} columns, but X has shape {X.shape}."
        )
    if not _finite(X):
        raise DataError("X contains NaN or infinity; Network.predict needs finite values.")
    return X


def checked_training_data(
    network: "Network", X: Any, Y: Any, sample_weight: Any
) -> tuple[Any, np.ndarray, np.ndarray]:
    """X, targets (n, outputs) and weights, after all checks."""
    X, Y = numbers(X), numbers(Y)
    Y = Y[:, None] if Y.ndim == 1 else Y
    n = len(Y) if Y.ndim else 0
    weights = np.ones(n) if sample_weight is None else numbers(sample_weight)
    wanted = ((n, network.inputs), (n, network.units[-1]), (n,))
    if (X.shape, Y.shape, weights.shape) != wanted:
        raise DataError(
            f"This network expects X of shape (n, {network.inputs}), Y of shape "
            f"(n, {network.units[-1]}) and n weights. Got shapes {X.shape}, {Y.shape}, {weights.shape}."
        )
    if not n:
        raise DataError("X and Y have no rows; training needs at least one.")
    if not all(_finite(part) for part in (X, Y, weights)):
        raise DataError(
            "X, Y or weights contain NaN or infinity; Network.train needs finite values."
        )
    check_weights(weights)
    _check_targets(network.loss, Y, weights)
    return X, Y, weights


def check_weights(weights: np.ndarray) -> None:
    """Reject weights that are negative or all 0."""
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise DataError(f"Weights must not be negative, but row {row} has {weights[row]:g}.")
    if not weights.any():
        raise DataError("At least one weight must be positive, but all are 0.")


def _check_targets(loss: str, Y: np.ndarray, weights: np.ndarray) -> None:
    invalid = ~LOSSES[loss].valid(Y) & (weights > 0)
    if invalid.any():
        row = int(np.argmax(invalid))
        raise DataError(
            f"Targets of loss {loss!r} must be {LOSSES[loss].targets}, but row {row} has "
            f"{', '.join(f'{v:g}' for v in Y[row, :5])}{', ...' if Y.shape[1] > 5 else ''}."
        )


def _finite(X: Any) -> bool:
    return bool(np.isfinite(X if isinstance(X, np.ndarray) else X.data).all())
