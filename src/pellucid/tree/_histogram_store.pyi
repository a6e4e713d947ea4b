import numpy as np

GROWN: np.dtype
FIELDS: dict[str, str]

class GrownTrees:
    def __init__(self) -> None: ...
    def expect(self, nodes: int) -> None: ...
    def add_values(
        self,
        words: np.ndarray,
        n_bins: np.ndarray,
        number: int,
        raw: np.ndarray,
        first: int,
        last: int,
    ) -> None: ...
    def export(self) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]: ...
