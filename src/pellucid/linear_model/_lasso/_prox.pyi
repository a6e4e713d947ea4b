"""Types of the compiled loops."""

from numpy import ndarray

def quadratic_lasso(
    H: ndarray, g: ndarray, strength: ndarray, b: ndarray, d: ndarray, Hd: ndarray, tol: float,
    max_sweeps: int,
) -> int: ...  # fmt: skip
def quadratic_lasso_by_rows(
    cells: ndarray, rows: ndarray, starts: ndarray, column: ndarray, cls: ndarray, factors: ndarray,
    shares: ndarray, curves: ndarray, ridge: ndarray, g: ndarray, strength: ndarray, b: ndarray,
    d: ndarray, Z: ndarray, means: ndarray, tol: float, max_sweeps: int,
) -> int: ...  # fmt: skip
