"""Types of the compiled loops."""

from numpy import ndarray

def row_scores(X: ndarray, b: ndarray, b0: float, out: ndarray) -> None: ...
