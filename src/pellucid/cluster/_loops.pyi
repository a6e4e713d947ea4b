import numpy as np

def use_wide(wide: bool) -> bool: ...

class Rows:
    n: int
    d: int
    def __init__(
        self,
        X: np.ndarray | None,
        places: np.ndarray | None,
        indptr: np.ndarray | None,
        indices: np.ndarray | None,
        data: np.ndarray | None,
        scratch: np.ndarray | None,
    ) -> None: ...

class Centres:
    array: np.ndarray
    def __init__(self, C: np.ndarray) -> None: ...

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
    def doubtful(self, out: np.ndarray) -> int: ...
    def screen(
        self,
        rows: np.ndarray,
        products: np.ndarray,
        row_norms: np.ndarray,
        centre_norms: np.ndarray,
        radius: float,
    ) -> None: ...

class GroupPass(Pass):
    def bind(
        self, groups: np.ndarray, shift: np.ndarray, drift: np.ndarray, half: np.ndarray
    ) -> None: ...
    def run_groups(self, stop: np.ndarray) -> None: ...

def distances(X: np.ndarray, panels: np.ndarray, out: np.ndarray) -> None: ...
def own_distances(X: Rows, C: np.ndarray, labels: np.ndarray, out: np.ndarray) -> None: ...
def trials(
    X: Rows,
    w: np.ndarray,
    panels: np.ndarray,
    closest: np.ndarray,
    potential: np.ndarray,
) -> None: ...
def merge(
    high: np.ndarray, low: np.ndarray, part_high: np.ndarray, part_low: np.ndarray
) -> None: ...
def means(
    high: np.ndarray, low: np.ndarray, old: np.ndarray, C: np.ndarray, shift: np.ndarray
) -> int: ...
def layout(C: np.ndarray, panels: np.ndarray) -> None: ...
def reach(shift: np.ndarray, way: np.ndarray, travel: np.ndarray, drift: np.ndarray) -> None: ...
def half_distances(C: np.ndarray, panels: np.ndarray, half: np.ndarray) -> None: ...
def explained(C: np.ndarray, high: np.ndarray, low: np.ndarray) -> tuple[float, float]: ...
