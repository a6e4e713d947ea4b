"""Types of the compiled loops."""

from numpy import ndarray

def gradient(
    X: ndarray,
    y: ndarray,
    w: ndarray,
    intercept: bool,
    B: ndarray,
    alpha: ndarray,
    metric: ndarray,
    P: ndarray,
    G: ndarray,
) -> float: ...
def curvature(
    X: ndarray,
    w: ndarray,
    P: ndarray,
    intercept: bool,
    alpha: ndarray,
    metric: ndarray,
    H: ndarray,
    products: ndarray,
    sums: ndarray,
) -> None: ...
def newton(
    X: ndarray,
    y: ndarray,
    w: ndarray,
    intercept: bool,
    alpha: ndarray,
    metric: ndarray,
    scale: ndarray,
    accuracy: float,
    points: ndarray,
    rows: ndarray,
    P: ndarray,
    G: ndarray,
    H: ndarray,
    products: ndarray,
    sums: ndarray,
    steps: ndarray,
) -> int: ...
