import numpy as np

def use_wide(wide: bool) -> bool: ...
def gaussian(products: np.ndarray, left: np.ndarray, right: np.ndarray, gamma: float) -> None: ...
def single_gaussian(
    products: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    gamma: float,
    slots: np.ndarray,
    start: int,
    out: np.ndarray,
) -> None: ...
def gaussian_sums(
    X: np.ndarray,
    panels: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    weights: np.ndarray,
    some: int,
    out: np.ndarray,
) -> None: ...
def add_rows(
    rows: np.ndarray, slots: np.ndarray, weights: np.ndarray, low: int, high: int, out: np.ndarray
) -> None: ...
def steps(
    K: np.ndarray,
    diagonal: np.ndarray,
    signs: np.ndarray,
    limits: np.ndarray,
    a: np.ndarray,
    gradient: np.ndarray,
    tol: float,
    most: int,
    cap: float,
    stop: np.ndarray,
) -> tuple[int, float, float]: ...
def conditions(
    signs: np.ndarray, linear: np.ndarray, limits: np.ndarray, a: np.ndarray, gradient: np.ndarray
) -> tuple[float, float, float, float]: ...
def joint_epoch(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    dense: bool,
    codes: np.ndarray,
    prices: np.ndarray,
    curves: np.ndarray,
    bias: float,
    order: np.ndarray,
    A: np.ndarray,
    W: np.ndarray,
    room: np.ndarray,
    stop: np.ndarray,
) -> None: ...
def soft_sweeps(
    H: np.ndarray, gradient: np.ndarray, u: np.ndarray, strength: float, sweeps: int, tol: float
) -> None: ...
