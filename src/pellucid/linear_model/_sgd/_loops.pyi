"""Types of the compiled loops."""

from numpy import ndarray

def epoch(
    X: ndarray, data: ndarray, indices: ndarray, indptr: ndarray, places: ndarray, y: ndarray,
    w: ndarray, starts: ndarray, run: int, first: int, v: ndarray, q: ndarray, mean: ndarray,
    state: ndarray, kind: int, eps: float, alpha: float, l1_share: float, rate: float,
    schedule: int, eta0: float, power: float, t0: float, intercept: bool, average_from: float,
    watched: bool = ..., most_mistakes: float = ...,
) -> float: ...  # fmt: skip
