import numpy as np

class Walkers:
    def __init__(
        self,
        start: np.ndarray,
        feature: np.ndarray,
        threshold: np.ndarray,
        left: np.ndarray,
        right: np.ndarray,
        missing_left: np.ndarray,
        set_start: np.ndarray,
        sets: np.ndarray,
        value: np.ndarray,
        n_levels: np.ndarray,
        n_outputs: int,
    ) -> None: ...
    def pack(self, missing: bool) -> bool: ...
    def add(
        self, X: np.ndarray, first: int, last: int, tree: int, end: int, out: np.ndarray
    ) -> None: ...
    def contributions(self, X: np.ndarray, first: int, last: int, out: np.ndarray) -> None: ...
