import numpy as np

def sort_column(x: np.ndarray, order: np.ndarray) -> tuple[int, bool]: ...
def places_of(x: np.ndarray, order: np.ndarray, places: np.ndarray) -> None: ...
def cut_column(
    x: np.ndarray,
    order: np.ndarray,
    present: int,
    weights: np.ndarray | None,
    most: int,
    bins: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> int: ...
def buckets_of(
    x: np.ndarray, order: np.ndarray, labels: np.ndarray, cells: np.ndarray, starts: np.ndarray
) -> None: ...
