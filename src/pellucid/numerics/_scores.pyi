"""Types of the compiled loops."""

from numpy import ndarray

def row_scores(X: ndarray, b: ndarray, b0: float, out: ndarray) -> None: ...
def sparse_scores(
    data: ndarray,
    indices: ndarray,
    indptr: ndarray,
    first: int,
    b: ndarray,
    b0: float,
    out: ndarray,
) -> None: ...
def sparse_class_scores(
    data: ndarray,
    indices: ndarray,
    indptr: ndarray,
    first: int,
    B: ndarray,
    b0: ndarray,
    out: ndarray,
) -> None: ...
