"""Types of the compiled loops."""

from numpy import ndarray

def visit(
    X: ndarray,
    y: ndarray,
    logs: ndarray,
    w: ndarray,
    offset: ndarray,
    b: ndarray,
    eta: ndarray,
    g: ndarray,
) -> float: ...
def weigh(X: ndarray, root: ndarray, intercept: bool, A: ndarray) -> None: ...
