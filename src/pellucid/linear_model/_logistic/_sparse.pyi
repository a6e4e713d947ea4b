"""Types of the compiled loops."""

from numpy import ndarray

def visit(
    data: ndarray, indices: ndarray, indptr: ndarray, y: ndarray, w: ndarray, B: ndarray, P: ndarray,
    G: ndarray,
) -> float: ...  # fmt: skip
def bend(
    data: ndarray, indices: ndarray, indptr: ndarray, w: ndarray, P: ndarray, V: ndarray, G: ndarray
) -> None: ...  # fmt: skip
