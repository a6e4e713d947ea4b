"""Types of the compiled loops."""

from numpy import ndarray

def epochs(
    X: ndarray, data: ndarray, indices: ndarray, indptr: ndarray, places: ndarray, y: ndarray,
    w: ndarray, starts: ndarray, run: int, first: ndarray, v: ndarray, q: ndarray, mean: ndarray,
    state: ndarray, kind: int, eps: float, alpha: float, l1_share: float, rate: float,
    schedule: int, power: float, t0: float, intercept: bool, average_from: float, limit: float,
    stop_without_mistakes: bool, tol: float, patience: int, rule: ndarray, history: ndarray,
) -> tuple[int, int]: ...  # fmt: skip
def watched_rows(
    X: ndarray, data: ndarray, indices: ndarray, indptr: ndarray, places: ndarray, y: ndarray,
    w: ndarray, order: ndarray, v: ndarray, q: ndarray, mean: ndarray, state: ndarray, kind: int,
    eps: float, alpha: float, l1_share: float, rate: float, schedule: int, eta0: float,
    power: float, t0: float, intercept: bool, average_from: float, most_mistakes: float,
) -> float: ...  # fmt: skip
