import numpy as np

def use_wide(wide: bool) -> bool: ...
def joint(
    X: np.ndarray, means: np.ndarray, roots: np.ndarray, logs: np.ndarray, out: np.ndarray
) -> None: ...
def expect(
    X: np.ndarray,
    w: np.ndarray,
    means: np.ndarray,
    roots: np.ndarray,
    logs: np.ndarray,
    mass: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    stop: np.ndarray,
) -> float: ...
