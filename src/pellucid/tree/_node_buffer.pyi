import numpy as np

class NodeBuffer:
    def __init__(self, size: int) -> None: ...
    def __len__(self) -> int: ...
    def segment(self, i: int) -> tuple[int, int, bool, float, int, int]: ...
    def close(self, i: int) -> None: ...

class Gathered:
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    set_start: np.ndarray
    sets: np.ndarray
    counts: np.ndarray
    cost: np.ndarray
    decrease: np.ndarray
    rows: np.ndarray
    weight: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    like: np.ndarray
    starts: np.ndarray
    word_starts: np.ndarray

def gather(
    buffers: list[NodeBuffer], attach: np.ndarray, n_levels: np.ndarray, bounded: bool = False
) -> Gathered: ...
