"""Stage 1: draw the tables of a cell, fit the models in 5 folds, store their predictions.

Table k of a cell depends only on the name of the cell and k. So a stopped run can be resumed, more
tables can be added later, and the number of processes does not matter.
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


def simulate(selected: Sequence[Cell], cache: Path, processes: int = 1) -> None:
    """Simulate every chunk that is not stored yet; print a line for each."""
    os.environ["PELLUCID_NUM_THREADS"] = "1"
    jobs = [
        (cell, start, min(start + CHUNK, cell.tables))
        for cell in selected
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
        simulated = _pair if cell.arm == "pair" else _board if cell.arm == "board" else _noise
        return {"y": y, "fold": fold, **simulated(cell, rng, X, y, fold)}


def _pair(
    cell: Cell, rng: np.random.Generator, X: np.ndarray, y: np.ndarray, fold: np.ndarray
) -> Drawn:
    log2_rows = 13 if cell.n > 1000 else 12
    fresh = populations.fresh(rng, cell.data, log2_rows)
    predicted, true = [], []
    for model in cell.models:
        own = X[:, :HALF] if model in ("A", "twin") else X[:, HALF:]
        rho = cell.rho(model)
        own = populations.weakened(rng, own, rho)
        z = fresh.z if model in ("A", "B") else None
        out, on_fresh = _in_folds(cell, cell.learner, rng, own, y, fold, z)
        predicted.append(out)
        if on_fresh:
            true.append([true_scores(fresh, rho, part) for part in on_fresh])
    return {"predicted": _compact(cell, predicted), "true": np.array(true, dtype=np.float64)}


def _board(
    cell: Cell, rng: np.random.Generator, X: np.ndarray, y: np.ndarray, fold: np.ndarray
) -> Drawn:
    """Every model uses 4 of the 8 columns, so the models of one learner are equally good."""
    predicted = []
    for k, model in enumerate(cell.models):
        own = X[:, rng.permutation(2 * HALF)[:HALF]]
        own = populations.weakened(rng, own, cell.rho(model))
        learner = "linear" if k <= EQUAL else "tree"
        predicted.append(_in_folds(cell, learner, rng, own, y, fold)[0])
    return {"predicted": _compact(cell, predicted)}


def _noise(
    cell: Cell, rng: np.random.Generator, X: np.ndarray, y: np.ndarray, fold: np.ndarray
) -> Drawn:
    predicted = [_in_folds(cell, model, rng, X, y, fold)[0] for model in cell.models]
    return {"predicted": _compact(cell, predicted)}


def _in_folds(
    cell: Cell,
    learner: str,
    rng: np.random.Generator,
    X: np.ndarray,
    y: np.ndarray,
    fold: np.ndarray,
    z: np.ndarray | None = None,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Out-of-fold predictions, and the predictions of the model of each fold for the fresh rows z."""
    out, on_fresh = np.empty(len(y)), []
    for f in range(FOLDS):
        test = fold == f
        model = _made(cell, learner, len(y), int(rng.integers(2**31)))
        model.fit(X[~test], y[~test])
        out[test] = learners.predict(model, X[test], cell.classes)
        if z is not None:
            on_fresh.append(learners.predict(model, z, cell.classes))
    return out, on_fresh


def _made(cell: Cell, learner: str, n: int, seed: int) -> Any:
    if cell.arm == "noise":
        return cell.makers[learner](n, seed)
    return (learners.CLASSIFIERS if cell.classes else learners.REGRESSORS)[learner](n, seed)


def _compact(cell: Cell, predicted: list[np.ndarray]) -> np.ndarray:
    """Predictions as an array; probabilities near 0 and 1 need double precision."""
    return np.array(predicted, dtype=np.float64 if cell.classes else np.float32)
