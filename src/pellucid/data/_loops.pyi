import numpy as np

def column_facts(
    X: np.ndarray, w: np.ndarray, total: np.ndarray, low: np.ndarray, high: np.ndarray
) -> None: ...
def sparse_facts(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    w: np.ndarray,
    total: np.ndarray,
    stored: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> None: ...
def hash_rows(X: np.ndarray, multiplier: np.ndarray, out: np.ndarray) -> None: ...
def mix_cells(values: np.ndarray, out: np.ndarray) -> None: ...
def to_columns(X: np.ndarray, out: np.ndarray) -> float: ...
def present_facts(
    X: np.ndarray,
    w: np.ndarray,
    total: np.ndarray,
    weight: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> None: ...
def impute(
    X: np.ndarray, mean: np.ndarray, place: np.ndarray, indicator: np.ndarray, out: np.ndarray
) -> float: ...
