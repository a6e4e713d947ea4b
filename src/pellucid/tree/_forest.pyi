from typing import Any

import numpy as np

class Packing:
    def __init__(self, trees: list[Any], values: list[np.ndarray], missing: bool) -> None: ...
    def pack(self, i: int) -> None: ...
    def add(
        self, X: np.ndarray, first: int, last: int, out: np.ndarray, apart: bool = False
    ) -> None: ...
