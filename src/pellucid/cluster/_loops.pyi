import numpy as np

from pellucid.cluster._layouts import Centres, Rows

class Pass:
    moved: int
    evaluated: int
    finite: bool
    def __init__(
        self,
        rows: Rows,
        w: np.ndarray,
        centres: Centres,
        way: np.ndarray,
        travel: np.ndarray,
        near: np.ndarray,
        labels: np.ndarray,
        upper: np.ndarray,
        gap: np.ndarray | None,
        high: np.ndarray | None,
        low: np.ndarray | None,
    ) -> None: ...
    def run(self, tighten: bool, stop: np.ndarray) -> None: ...
    def unsettled(self, out: np.ndarray) -> int: ...
    def screen(
        self,
        rows: np.ndarray,
        products: np.ndarray,
        row_norms: np.ndarray,
        centre_norms: np.ndarray,
        radius: float,
    ) -> None: ...

def distances(X: np.ndarray, panels: np.ndarray, out: np.ndarray) -> None: ...
def own_distances(X: Rows, C: np.ndarray, labels: np.ndarray, out: np.ndarray) -> None: ...
def trials(
    X: Rows, w: np.ndarray, panels: np.ndarray, closest: np.ndarray, potential: np.ndarray
) -> None: ...
