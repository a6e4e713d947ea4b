import numpy as np

def use_wide(wide: bool) -> bool: ...

class Found:
    def __len__(self) -> int: ...
    def arrays(self, owners: np.ndarray, near: np.ndarray, rows: np.ndarray) -> None: ...

def collect(
    metric: int,
    p: float,
    scale: np.ndarray,
    Q: np.ndarray,
    packed: np.ndarray,
    starts: np.ndarray,
    first: int,
    limit: float,
    found: Found,
    stop: np.ndarray,
) -> None: ...
def collect_screened(
    scores: np.ndarray,
    lengths: np.ndarray,
    error: np.ndarray,
    Q: np.ndarray,
    packed: np.ndarray,
    starts: np.ndarray,
    unit: float,
    first: int,
    limit: float,
    found: Found,
    stop: np.ndarray,
) -> None: ...
def collect_down(
    metric: int,
    p: float,
    Q: np.ndarray,
    packed: np.ndarray,
    order: np.ndarray,
    boxes: np.ndarray,
    depth: int,
    limit: float,
    found: Found,
    stop: np.ndarray,
) -> None: ...
