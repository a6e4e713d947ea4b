"""Types of the compiled loops."""

from numpy import ndarray

class Walk:
    def __init__(self, G: ndarray, c: ndarray, yy: float, positive: bool) -> None: ...
    def go(
        self,
        R: ndarray,
        l1: ndarray,
        wanted: ndarray,
        rounds: int,
        B: ndarray,
        F: ndarray,
        gaps: ndarray,
        used: ndarray,
        stop: ndarray,
    ) -> int: ...
