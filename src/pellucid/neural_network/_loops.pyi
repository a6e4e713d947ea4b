import numpy as np

def add_and_rectify(Z: np.ndarray, b: np.ndarray) -> None: ...
def rectified_slope(A: np.ndarray, D: np.ndarray) -> None: ...
def momentum(
    x: np.ndarray,
    g: np.ndarray,
    v: np.ndarray,
    decay: float,
    rate: float,
    keep: float,
    nesterov: bool,
) -> None: ...
def adam(
    x: np.ndarray,
    g: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
    decay: float,
    rate: float,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> None: ...
def log_loss(Z: np.ndarray, Y: np.ndarray, share: np.ndarray) -> float: ...
