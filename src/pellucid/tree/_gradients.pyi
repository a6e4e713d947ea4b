import numpy as np

def squared_gradients(
    y: np.ndarray,
    raw: np.ndarray,
    weights: np.ndarray,
    gradients: np.ndarray,
    first: int,
    last: int,
) -> float: ...
def logistic_gradients(
    y: np.ndarray,
    raw: np.ndarray,
    weights: np.ndarray,
    gradients: np.ndarray,
    first: int,
    last: int,
) -> float: ...
def softmax_gradients(
    y: np.ndarray,
    raw: np.ndarray,
    weights: np.ndarray,
    gradients: np.ndarray,
    first: int,
    last: int,
) -> float: ...
def exact_sums(
    values: np.ndarray, codes: np.ndarray, up: float, base: float, limbs: np.ndarray
) -> None: ...
