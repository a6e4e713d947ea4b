"""Types of the compiled loops."""

from numpy import ndarray

def quadratic_lasso(
    H: ndarray, g: ndarray, strength: ndarray, b: ndarray, d: ndarray, Hd: ndarray, tol: float,
    max_sweeps: int,
) -> int: ...  # fmt: skip
