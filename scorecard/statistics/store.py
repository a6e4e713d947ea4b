"""Files of simulated tables: one folder for each cell, one file for every few tables.

y (tables, rows), fold (tables, rows), predicted (tables, models, rows): out-of-fold predictions, and of
pairs also true (tables, models, folds, metrics): the true score of the model of each fold.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scorecard.statistics.cells import Cell


@dataclass(frozen=True)
class Table:
    """One simulated table: what the rules see, and the true scores."""

    y: np.ndarray
    fold: np.ndarray
    predicted: dict[str, np.ndarray]
    true: dict[str, np.ndarray]  # {model: (folds, metrics)}; empty if not needed


def path(cache: Path, cell: Cell, start: int, stop: int) -> Path:
    """The file of these tables of a cell."""
    return cache / cell.name / f"{start:05d}-{stop:05d}.npz"


def write(cache: Path, cell: Cell, start: int, stop: int, drawn: dict[str, np.ndarray]) -> None:
    """Write a file completely or not at all."""
    final = path(cache, cell, start, stop)
    final.parent.mkdir(parents=True, exist_ok=True)
    unfinished = final.with_suffix(f".{os.getpid()}")
    with unfinished.open("wb") as file:
        np.savez(file, allow_pickle=False, **drawn)
    unfinished.rename(final)


def stored(cache: Path, cell: Cell) -> int:
    """Number of stored tables of a cell."""
    spans = [file.stem.split("-") for file in (cache / cell.name).glob("*.npz")]
    return sum(int(stop) - int(start) for start, stop in spans)


def read(cache: Path, cell: Cell) -> Iterator[Table]:
    """The tables of a cell, in order."""
    for file in sorted((cache / cell.name).glob("*.npz")):
        with np.load(file) as drawn:
            part = {name: drawn[name] for name in drawn.files}
        for k in range(len(part["y"])):
            predicted = dict(zip(cell.models, part["predicted"][k].astype(float)))
            true = dict(zip(cell.models, part["true"][k])) if "true" in part else {}
            yield Table(part["y"][k], part["fold"][k], predicted, true)
