import numpy as np

def bucket_bounds(
    cells: np.ndarray,
    weights: np.ndarray,
    n_classes: int,
    criterion: int,
    sums: np.ndarray,
    found: np.ndarray,
) -> None: ...
def best_in_buckets(
    x: np.ndarray,
    at: np.ndarray,
    cells: np.ndarray,
    weights: np.ndarray,
    labels: np.ndarray,
    starts: np.ndarray,
    sums: np.ndarray,
    n_classes: int,
    criterion: int,
    limit: float,
    tie: float,
    left: np.ndarray,
) -> tuple[float, int]: ...
