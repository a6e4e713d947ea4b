import numpy as np

def use_wide(wide: bool) -> bool: ...
def sort(near: np.ndarray, rows: np.ndarray) -> None: ...
def sort_parts(near: np.ndarray, rows: np.ndarray, starts: np.ndarray) -> None: ...
def pack(X: np.ndarray, order: np.ndarray, packed: np.ndarray, starts: np.ndarray) -> None: ...
def scan(
    metric: int,
    p: float,
    scale: np.ndarray,
    Q: np.ndarray,
    packed: np.ndarray,
    starts: np.ndarray,
    first: int,
    near: np.ndarray,
    rows: np.ndarray,
    stop: np.ndarray,
) -> None: ...
def offer_all(values: np.ndarray, first: int, near: np.ndarray, rows: np.ndarray) -> None: ...
def halve(
    packed: np.ndarray, starts: np.ndarray, centre: np.ndarray, factor: float, out: np.ndarray
) -> None: ...
def screen(
    scores: np.ndarray,
    lengths: np.ndarray,
    error: np.ndarray,
    Q: np.ndarray,
    packed: np.ndarray,
    starts: np.ndarray,
    numbers: np.ndarray,
    unit: float,
    near: np.ndarray,
    rows: np.ndarray,
    stop: np.ndarray,
) -> None: ...
def gather(
    Q: np.ndarray,
    X: np.ndarray,
    keys: np.ndarray,
    starts: np.ndarray,
    members: np.ndarray,
    left_out: np.ndarray,
    stamps: np.ndarray,
    near: np.ndarray,
    rows: np.ndarray,
    counts: np.ndarray,
    stop: np.ndarray,
) -> None: ...
