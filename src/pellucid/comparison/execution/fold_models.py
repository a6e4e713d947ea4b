"""The models of the folds, which a saved model keeps for its prediction intervals and sets (CV+).

They are fitted again, with the rows, parameters and seeds of their folds, so they are the models that
made the out-of-fold predictions. K folds make the file about K + 1 times as large; `--intervals auto`
therefore leaves them out if they would add more than `MOST_BYTES`. Folds by time get none: later rows
cannot be exchanged with earlier ones, so there is no guarantee to keep.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from pellucid import persist
from pellucid.comparison.execution.fold_task import FoldTask

MOST_BYTES = 50_000_000


def save(
    fitted: Any, path: str, provenance: dict[str, Any], tasks: list[FoldTask], choice: str
) -> str:
    """Save a model, with the models of the folds if they are wanted; how its intervals are made."""
    persist.save(fitted, path, provenance)
    if choice == "plain" or not tasks or "unseen_errors_" not in vars(fitted):
        return "plain"
    if choice == "auto" and len(tasks) * os.path.getsize(path) > MOST_BYTES:
        return "plain"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the leaderboard shows them already
        fitted.fold_models_ = [_again(task) for task in tasks]
    persist.save(fitted, path, provenance)
    return "cv+"


def _again(task: FoldTask) -> Any:
    evaluator = task.evaluator()
    model = evaluator.unfitted(task.params, task.fold)
    return evaluator.fit(model, evaluator.rows(task.train), task.train)
