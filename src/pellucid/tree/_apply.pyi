import numpy as np

class Walker:
    def __init__(
        self,
        feature: np.ndarray,
        threshold: np.ndarray,
        left: np.ndarray,
        right: np.ndarray,
        missing_left: np.ndarray,
        set_start: np.ndarray,
        sets: np.ndarray,
        n_levels: np.ndarray,
        value: np.ndarray,
        many: bool = False,
        depth: int = -1,
        by_rows: bool = False,
    ) -> None: ...
    def apply(self, X: np.ndarray, first: int, last: int, leaf: np.ndarray) -> None: ...
    def paths(self, X: np.ndarray, start: np.ndarray, nodes: np.ndarray) -> None: ...
    def contributions(
        self, X: np.ndarray, first: int, last: int, out: np.ndarray, scale: float
    ) -> None: ...
    def shap(
        self,
        X: np.ndarray,
        first: int,
        last: int,
        cover: np.ndarray,
        depth: int,
        rule: np.ndarray,
        out: np.ndarray,
        scale: float,
    ) -> None: ...

def preorder(left: np.ndarray, right: np.ndarray) -> np.ndarray: ...
def depths(left: np.ndarray, right: np.ndarray) -> np.ndarray: ...
