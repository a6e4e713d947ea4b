"""Types of the compiled loops."""

from numpy import ndarray

def normal_log_density(
    X: ndarray, means: ndarray, precision: ndarray, constant: ndarray, largest: float, out: ndarray
) -> int: ...
def whitened_log_density(
    X: ndarray,
    means: ndarray,
    tiles: ndarray,
    begin: ndarray,
    constant: ndarray,
    largest: float,
    room: ndarray,
    out: ndarray,
) -> int: ...
def normalise(Z: ndarray, log_prior: ndarray, logs: bool, out: ndarray, failed: ndarray) -> int: ...
def leading(
    Z: ndarray, log_prior: ndarray, margin: float, codes: ndarray, close: ndarray
) -> int: ...
