import numpy as np

def distances_to(X: np.ndarray, first: int, others: np.ndarray, out: np.ndarray) -> None: ...
def affinities(
    D: np.ndarray, first: int, whole: bool, perplexity: float, out: np.ndarray
) -> None: ...
def exact_forces(
    Y: np.ndarray,
    P: np.ndarray,
    low: int,
    high: int,
    dof: float,
    measure: bool,
    attract: np.ndarray,
    repel: np.ndarray,
) -> tuple[float, float]: ...
def attraction(
    Y: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    low: int,
    high: int,
    dof: float,
    measure: bool,
    attract: np.ndarray,
) -> float: ...

class Tree:
    order: np.ndarray
    nodes: int
    def __init__(self, Y: np.ndarray) -> None: ...
    def repulsion(
        self, low: int, high: int, dof: float, angle: float, repel: np.ndarray
    ) -> float: ...
