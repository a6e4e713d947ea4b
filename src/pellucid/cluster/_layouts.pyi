import numpy as np

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

def layout(C: np.ndarray, panels: np.ndarray) -> None: ...
