from typing import Any

import numpy as np

GROWN: np.dtype

class Growth:
    def __init__(
        self,
        words: np.ndarray,
        n_bins: np.ndarray,
        kinds: np.ndarray,
        signs: np.ndarray,
        samples: np.ndarray,
        shift: int,
        columns: np.ndarray,
        groups: np.ndarray,
        n_drafts: int,
        n_desks: int,
        n_slots: int,
        limits: tuple[Any, ...],
        stop: np.ndarray,
    ) -> None: ...
    def begin(
        self,
        slopes: np.ndarray,
        rows: np.ndarray | None,
        keys: np.ndarray,
        raw: np.ndarray,
        rate: float,
        price: float,
        update: bool,
    ) -> None: ...
    def work(self, who: int) -> None: ...
    def leaf_rows(self) -> list[tuple[int, np.ndarray]]: ...
    def set_values(self, values: np.ndarray, update: bool) -> None: ...
    def expect(self, nodes: int) -> None: ...
    def store(self) -> None: ...
    def send(self, words: np.ndarray, k: int, raw: np.ndarray, first: int, last: int) -> None: ...
    def export(self) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]: ...

def squared_slopes(
    y: np.ndarray,
    raw: np.ndarray,
    weights: np.ndarray,
    slopes: np.ndarray,
    first: int,
    last: int,
) -> float: ...
def logistic_slopes(
    y: np.ndarray,
    raw: np.ndarray,
    weights: np.ndarray,
    slopes: np.ndarray,
    first: int,
    last: int,
) -> float: ...
def softmax_slopes(
    y: np.ndarray,
    raw: np.ndarray,
    weights: np.ndarray,
    slopes: np.ndarray,
    first: int,
    last: int,
) -> float: ...
def number_bins(
    values: np.ndarray, thresholds: np.ndarray, cells: np.ndarray, place: int
) -> None: ...
def level_bins(
    codes: np.ndarray, bin_of: np.ndarray, n_bins: int, cells: np.ndarray, place: int
) -> None: ...
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
