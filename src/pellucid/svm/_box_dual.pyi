"""Types of the compiled loops."""

from numpy import ndarray

def epochs(
    data: ndarray, indices: ndarray, indptr: ndarray, dense: bool, targets: ndarray, epsilon: float,
    low: ndarray, high: ndarray, soft: ndarray, curves: ndarray, bias: float, order: ndarray,
    seed: ndarray, progress: ndarray, count: int, tol: float, beta: ndarray, w: ndarray, stop: ndarray,
) -> int: ...  # fmt: skip
