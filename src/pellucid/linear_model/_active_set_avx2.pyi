"""Types of the compiled loops."""

from numpy import ndarray

def follow(
    G: ndarray,
    T: ndarray,
    d: ndarray,
    c: ndarray,
    yy: float,
    l1: ndarray,
    positive: bool,
    wanted: ndarray,
    rounds: int,
    B: ndarray,
    gaps: ndarray,
    turns: ndarray,
    stop: ndarray,
) -> int: ...
