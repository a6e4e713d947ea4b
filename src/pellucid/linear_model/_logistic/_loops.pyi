"""Types of the compiled loops."""

from numpy import ndarray

def class_losses(Z: ndarray, y: ndarray, w: ndarray, pivot: bool, R: ndarray) -> float: ...
def bend(S: ndarray, P: ndarray, w: ndarray) -> None: ...
def all_right(Z: ndarray, y: ndarray, pivot: bool) -> bool: ...
def descend(
    X: ndarray,
    y: ndarray,
    w: ndarray,
    pivot: bool,
    B: ndarray,
    step: float,
    strength: float,
    tol: float,
    first: int,
    steps: int,
    every: int,
    rows: ndarray,
    G: ndarray,
    z: ndarray,
) -> tuple[int, int, float]: ...
