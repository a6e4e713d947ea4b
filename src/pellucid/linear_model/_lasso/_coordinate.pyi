"""Types of the compiled loops."""

from numpy import ndarray

def descend(
    Q: ndarray,
    q: ndarray,
    b: ndarray,
    Qb: ndarray,
    l1: ndarray,
    l2: ndarray,
    positive: bool,
    tol: float,
    epochs: int,
) -> int: ...
def descend_columns(
    A: ndarray,
    squares: ndarray,
    r: ndarray,
    b: ndarray,
    l1: ndarray,
    l2: ndarray,
    positive: bool,
    tol: float,
    epochs: int,
) -> int: ...
