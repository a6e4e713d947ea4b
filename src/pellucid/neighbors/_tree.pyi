import numpy as np

def use_wide(wide: bool) -> bool: ...
def build(
    X: np.ndarray,
    depth: int,
    order: np.ndarray,
    boxes: np.ndarray,
    least: np.ndarray,
    stop: np.ndarray,
) -> None: ...
def search(
    metric: int,
    p: float,
    Q: np.ndarray,
    packed: np.ndarray,
    order: np.ndarray,
    boxes: np.ndarray,
    least: np.ndarray,
    depth: int,
    group: int,
    near: np.ndarray,
    rows: np.ndarray,
    stop: np.ndarray,
) -> int: ...
def homes(
    metric: int, p: float, Q: np.ndarray, boxes: np.ndarray, depth: int, out: np.ndarray
) -> None: ...
