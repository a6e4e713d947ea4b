"""Stage 1: draw the tables of a cell, fit the models in 5 folds, keep what they told.

Table k of a cell depends on the cell's name and k alone, so a run that was stopped goes on where it
was, more tables may be added later, and the number of processes does not matter.
"""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.model_selection.folds import folds_by_name
from scorecard.statistics import learners, populations, store
from scorecard.statistics.cells import EQUAL, Cell
from scorecard.statistics.populations import HALF
from scorecard.statistics.truth import true_scores

FOLDS = 5
CHUNK = 50  # tables of a file
Drawn = dict[str, np.ndarray]


def simulate(todo: Sequence[Cell], cache: Path, processes: int = 1) -> None:
    """Every chunk that is not stored yet; prints a line for each finished cell."""
    os.environ["PELLUCID_NUM_THREADS"] = "1"
    jobs = [
        (cell, start, min(start + CHUNK, cell.tables))
        for cell in todo
        for start in range(0, cell.tables, CHUNK)
        if not store.path(cache, cell, start, min(start + CHUNK, cell.tables)).exists()
    ]
    if processes == 1:
        for job in jobs:
            _chunk(cache, *job)
            print(f"simulated {job[0].name} up to {job[2]}", flush=True)
        return
    with ProcessPoolExecutor(processes) as pool:
        running = {pool.submit(_chunk, cache, *job): job for job in jobs}
        for future in as_completed(running):
            future.result()
            job = running[future]
            print(f"simulated {job[0].name} up to {job[2]}", flush=True)


def _chunk(cache: Path, cell: Cell, start: int, stop: int) -> None:
    drawn = [one_table(cell, k) for k in range(start, stop)]
    store.write(cache, cell, start, stop, {
        name: np.stack([table[name] for table in drawn]) for name in drawn[0]
    })  # fmt: skip


def one_table(cell: Cell, k: int) -> Drawn:
    """Target, fold of each row, predictions by model and, for pairs, true scores by fold."""
    seed = [zlib.crc32(cell.name.encode()), k]
    rng = np.random.default_rng(seed)
    X = populations.columns(rng, cell.n)
    y = populations.target(rng, cell.data, X, signal=cell.arm != "noise")
    kind = "stratified" if cell.classes else "shuffled"
    folds = list(folds_by_name(kind, FOLDS, int(rng.integers(2**31))).split(y, None))
    fold = np.zeros(cell.n, dtype=np.uint8)
    for f, (_, test) in enumerate(folds):
        fold[test] = f
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = _pair if cell.arm == "pair" else _board if cell.arm == "board" else _noise
        return {"y": y, "fold": fold, **told(cell, rng, X, y, fold)}


def _pair(
    cell: Cell, rng: np.random.Generator, X: np.ndarray, y: np.ndarray, fold: np.ndarray
) -> Drawn:
    log2_rows = 13 if cell.n > 1000 else 12
    fresh = populations.fresh(rng, cell.data, log2_rows)
    told, true = [], []
    for model in cell.models:
        own = X[:, :HALF] if model in ("A", "twin") else X[:, HALF:]
        rho = cell.rho(model)
        own = populations.weakened(rng, own, rho)
        z = fresh.z if model in ("A", "B") else None
        out, seen = _in_folds(cell, cell.learner, rng, own, y, fold, z)
        told.append(out)
        if seen:
            true.append([true_scores(fresh, rho, part) for part in seen])
    return {"told": _compact(cell, told), "true": np.array(true, dtype=np.float64)}


def _board(
    cell: Cell, rng: np.random.Generator, X: np.ndarray, y: np.ndarray, fold: np.ndarray
) -> Drawn:
    """Every model looks at 4 of the 8 columns, so those of one learner are equally good."""
    told = []
    for k, model in enumerate(cell.models):
        own = X[:, rng.permutation(2 * HALF)[:HALF]]
        own = populations.weakened(rng, own, cell.rho(model))
        learner = "linear" if k <= EQUAL else "tree"
        told.append(_in_folds(cell, learner, rng, own, y, fold)[0])
    return {"told": _compact(cell, told)}


def _noise(
    cell: Cell, rng: np.random.Generator, X: np.ndarray, y: np.ndarray, fold: np.ndarray
) -> Drawn:
    told = [_in_folds(cell, model, rng, X, y, fold)[0] for model in cell.models]
    return {"told": _compact(cell, told)}


def _in_folds(
    cell: Cell,
    learner: str,
    rng: np.random.Generator,
    X: np.ndarray,
    y: np.ndarray,
    fold: np.ndarray,
    z: np.ndarray | None = None,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Out-of-fold predictions of the rows, and what the model of each fold says of rows z."""
    out, seen = np.empty(len(y)), []
    for f in range(FOLDS):
        test = fold == f
        model = _made(cell, learner, len(y), int(rng.integers(2**31)))
        model.fit(X[~test], y[~test])
        out[test] = learners.tell(model, X[test], cell.classes)
        if z is not None:
            seen.append(learners.tell(model, z, cell.classes))
    return out, seen


def _made(cell: Cell, learner: str, n: int, seed: int) -> Any:
    if cell.arm == "noise":
        return cell.makers[learner](n, seed)
    return (learners.CLASSIFIERS if cell.classes else learners.REGRESSORS)[learner](n, seed)


def _compact(cell: Cell, told: list[np.ndarray]) -> np.ndarray:
    """Probabilities next to 0 and 1 need all digits."""
    return np.array(told, dtype=np.float64 if cell.classes else np.float32)
