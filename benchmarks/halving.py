"""`python -m benchmarks halving [--tables a,b]`: what successive halving costs and saves.

Every search of small tables is run twice, with all candidates on all inner folds and with halving, and
the model that each chooses is scored on the same outer test rows (RMSE, or log loss). The difference is
in percent of the full search's score, with its standard error over models and folds; a positive one is a
loss by halving.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.accuracy import reference_tables
from pellucid.comparison.execution.fold_task import FoldTask, FoldTaskRunner
from pellucid.comparison.execution.worker_data import share_table
from pellucid.comparison.planning.prepare import prepare
from pellucid.comparison.planning.settings import Settings

DEFAULT = ("german_credit", "vehicle", "isl_carseats", "concrete", "pima_diabetes", "boston")
MODELS = {
    True: ("ridge", "lasso", "knn", "tree", "svm_rbf", "extra_trees", "gradient_boosting"),
    False: ("lda", "qda", "logistic", "knn", "tree", "svm_rbf", "extra_trees", "gradient_boosting"),
}


class Silent:
    """The channel of a task that nobody listens to."""

    def poll(self) -> bool:
        return False

    def send(self, message: Any) -> None:
        """Forget the message."""


def run(task: FoldTask) -> tuple[float, float]:
    """Score on the test rows, and CPU seconds."""
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = FoldTaskRunner(task, Silent(), caught).run()
    return found["metrics"][task.metrics[0]], time.process_time() - began


def table(path: Any, target: str, drop: tuple[str, ...], folds: int) -> np.ndarray:
    """(runs, 4): scores and CPU seconds of the full search and of halving."""
    import pandas as pd

    frame = pd.read_csv(path).drop(columns=list(drop)).dropna(subset=[target])
    numeric = frame[target].dtype.kind == "f" or frame[target].nunique() > 12
    settings = {
        "target": target, "task": "regression" if numeric else "classification", "test_size": 0,
        "metric": "rmse" if numeric else "log_loss", "models": MODELS[numeric],
    }  # fmt: skip
    plan, _ = prepare(frame, Settings.of(settings))
    out = []
    with tempfile.TemporaryDirectory() as scratch:
        shared = share_table(plan, scratch)
        for contender in plan.running:
            if contender.blends or contender.n_planned < 3:
                continue
            for k in range(folds):
                task = FoldTask.of(
                    plan, contender, str(k), shared, deadline=math.inf, parts=scratch,
                    max_candidates=contender.max_candidates,
                )  # fmt: skip
                full, some = (
                    run(replace(task, halving_factor=own)) for own in (1, task.halving_factor)
                )
                out.append((full[0], some[0], full[1], some[1]))
    return np.array(out)


def line(name: str, found: np.ndarray) -> str:
    """The mean loss by halving, its standard error, and the CPU time saved."""
    lost = 100 * (found[:, 1] / found[:, 0] - 1)
    error = lost.std(ddof=1) / np.sqrt(len(lost))
    same, saved = (lost == 0).mean(), found[:, 2].sum() / found[:, 3].sum()
    return (
        f"{name:<18}{len(lost):>5} searches, same choice {100 * same:4.0f} %, lost "
        f"{lost.mean():+6.2f} % +- {error:.2f}, CPU {saved:.2f}x less"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare both searches on the chosen tables; 0 also without the folder, which is said."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks halving")
    parser.add_argument("--tables", default=",".join(DEFAULT))
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args(arguments)
    found = []
    for name, path, target, drop in reference_tables(options.tables):
        found.append(table(path, target, drop, options.folds))
        print(line(name, found[-1]), flush=True)
    if found:
        print(line("all", np.concatenate(found)))
    return 0
