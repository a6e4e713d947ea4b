import numpy as np

def visit(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, B: np.ndarray, P: np.ndarray, G: np.ndarray
) -> float: ...
def weigh(
    X: np.ndarray, w: np.ndarray, P: np.ndarray, k: int, l: int, intercept: bool, out: np.ndarray
) -> None: ...
