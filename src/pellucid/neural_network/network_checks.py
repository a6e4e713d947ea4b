"""What a `Network` built by hand may be given: numbers, targets of its loss, weights.

Invariant: what passes is finite and of the network's shape, has targets that its loss can have, and
weights that are not negative nor all 0.
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
    """Arrays of numbers; sparse tables as they are."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    try:
        return np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"A Network takes tables of numbers: {error}.") from None


def questions(network: "Network", X: Any) -> Any:
    """Rows that the network can answer to."""
    X = numbers(X)
    if X.ndim != 2 or X.shape[1] != network.inputs:
        raise DataError(
            f"A network of {network.inputs} inputs answers to rows of so many columns. Got "
            f"an X of shape {X.shape}."
        )
    if not _finite(X):
        raise DataError("A network answers to finite numbers; some of X are not.")
    return X


def lessons(
    network: "Network", X: Any, Y: Any, sample_weight: Any
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows, targets (n, outputs) and weights that the network can learn from."""
    X, Y = numbers(X), numbers(Y)
    Y = Y[:, None] if Y.ndim == 1 else Y
    n = len(Y) if Y.ndim else 0
    weights = np.ones(n) if sample_weight is None else numbers(sample_weight)
    wanted = ((n, network.inputs), (n, network.units[-1]), (n,))
    if (X.shape, Y.shape, weights.shape) != wanted:
        raise DataError(
            f"A network of {network.inputs} inputs and {network.units[-1]} outputs learns from n rows "
            f"of so many columns and n weights. Got {X.shape}, {Y.shape}, {weights.shape}."
        )
    if not n:
        raise DataError("A network learns from rows; X and Y have none.")
    if not all(_finite(part) for part in (X, Y, weights)):
        raise DataError("A network learns from finite numbers; some of X, Y or weights are not.")
    check_weights(weights)
    _check_targets(network.loss, Y, weights)
    return X, Y, weights


def check_weights(weights: np.ndarray) -> None:
    """Refuse weights that no mean has."""
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise DataError(f"Weights may not be negative; row {row} has {weights[row]:g}.")
    if not weights.any():
        raise DataError("Weights may not all be 0: then there is no row.")


def _check_targets(loss: str, Y: np.ndarray, weights: np.ndarray) -> None:
    wrong = ~LOSSES[loss].takes(Y) & (weights > 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"Loss {loss!r} has targets that are {LOSSES[loss].targets}; row {row} has "
            f"{', '.join(f'{v:g}' for v in Y[row, :5])}{', ...' if Y.shape[1] > 5 else ''}."
        )


def _finite(X: Any) -> bool:
    return bool(np.isfinite(X if isinstance(X, np.ndarray) else X.data).all())
