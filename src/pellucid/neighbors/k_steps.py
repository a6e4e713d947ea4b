"""The steps of a watched fit that stores rows: the model with 1, 2, ... neighbours."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pellucid.records import Recorder

ROWS, DISTANCES = 10_000, 2**22  # largest numbers of rows and distances that are searched


def sampled(n: int, k: int) -> np.ndarray:
    """Positions of an even sample of n rows with k neighbours each; of all rows, if they are few."""
    return np.unique(np.linspace(0, n - 1, min(n, ROWS, max(DISTANCES // k, 2))).astype(np.int64))


def record(recorder: Recorder, most: int, rows: np.ndarray, distances: np.ndarray) -> None:
    """A step for each number of neighbours up to `most`.

    `distances` has a row for each of the training `rows` and a column for each nearest other row.
    """
    for k in range(1, most + 1):
        event: dict[str, Any] = {"neighbors": k, "rows": rows}
        mean = None
        if k <= distances.shape[1]:  # else there are no more rows
            event["distances"] = distances[:, k - 1].copy()
            mean = float(distances[:, k - 1].mean())
        recorder.step(k, {"n_neighbors": k}, event, _sentence, mean_distance=mean)


def _sentence(event: Mapping[str, Any], numbers: dict[str, float]) -> str:
    from pellucid.draw import number

    k = event["neighbors"]
    rows = "nearest row alone decides" if k == 1 else f"{k} nearest rows decide"
    if "mean_distance" not in numbers:
        return f"The {rows}: these are all rows."
    last = "it" if k == 1 else "the last of them"
    return (
        f"The {rows}; for training rows, without themselves, {last} is at a mean distance of "
        f"{number(numbers['mean_distance'], 4)}."
    )
