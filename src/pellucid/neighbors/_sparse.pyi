"""Types of the compiled loops."""

from numpy import ndarray

def search(
    data: ndarray, columns: ndarray, starts: ndarray, by_column: ndarray, members: ndarray,
    ends: ndarray, halves: ndarray, cells: ndarray, wheres: ndarray, queries: ndarray, error: float,
    absolute: bool, products: ndarray, near: ndarray, rows: ndarray, stop: ndarray,
) -> None: ...  # fmt: skip
