"""Comparisons on tables that do not fit into memory.

1. A stratified sample that fits below the memory ceiling is drawn; the models are compared on it, and
   its test set is held out as always.
2. The recommended model, or the best one that can be fitted beyond memory, is fitted again on all rows
   but those of the test set, and scored on the test set. A path is read by a process of its own, so that
   the memory ceiling counts the fit and not what the comparison holds.

Invariant: no row of the test set is used in any fit.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pellucid import persist
from pellucid.base import Estimator
from pellucid.comparison.execution.worker_data import share_table
from pellucid.comparison.planning.dataset import PATH, SourceTable
from pellucid.comparison.planning.settings import Settings
from pellucid.comparison.refit_process import RefitJob
from pellucid.data.io import shared_tables
from pellucid.data.opening import source_behind
from pellucid.data.sources.find import is_large
from pellucid.data.sources.row_choice import Sample, stratified
from pellucid.errors import DataError, MemoryLimitError, ScratchError
from pellucid.parallel.memory import get_memory

MOST_ROWS = 100_000  # of a sample
SHARE = 16  # a sample takes at most this part of the ceiling


@dataclass(frozen=True)
class LargeTable:
    """A table that does not fit into memory, and the sample on which models are compared."""

    source: Any
    sample: Sample
    opened: SourceTable
    path: str | None  # of the source; None: it is not a path

    def refit(self, plan: Any, result: Any, folder: Path) -> str:
        """Fit the best model that can be fitted beyond memory on all rows but the test set, and save
        it; what was done, in words."""
        if plan.settings.group or plan.settings.time:
            return (
                "with --group or --time, the saved model is the one that was fitted to the sample"
            )
        # The recommended model, then the others, best first.
        for row in sorted(result.rows, key=lambda row: not row["recommended"]):
            if row["status"] == "ok":
                with tempfile.TemporaryDirectory(prefix="pellucid-") as scratch:
                    task = result.refitter.task(row["model"], share_table(plan, scratch))
                    evaluator = task.evaluator()
                    model = evaluator.unfitted(task.params, "final")
                    if isinstance(model, Estimator) and not model._substitute:
                        try:
                            return self._refit(plan, result, task, evaluator, model, folder)
                        except (MemoryLimitError, ScratchError) as error:
                            return f"the saved model was fitted to the sample only: {error}"
        return "no model of the leaderboard can be fitted beyond memory: the saved one knows the sample"

    def _refit(
        self, plan: Any, result: Any, task: Any, evaluator: Any, model: Any, folder: Path
    ) -> str:
        dataset, weights = plan.dataset, plan.settings.weights
        test = plan.test[plan.test < len(dataset.rows) - dataset.n_test]
        held_out = self.sample.rows[dataset.rows[test]]
        n_rows = self.source.n_rows - len(held_out) - self.sample.n_missing
        given = {"y": dataset.target} | ({} if weights is None else {"sample_weight": weights})
        job = RefitJob(
            model, self.path, np.sort(held_out), self.sample.n_missing,
            list(evaluator.table.column_names), given,
        )  # fmt: skip
        model = job.run(self.source) if self.path is None else job.run_apart()
        sentence = f"{task.model} was fitted again on {n_rows:,} rows, all but the test set"
        if task.model != result.recommended:
            sentence = f"The best other model, {sentence}"
            sentence = f"{result.recommended} needs the whole table in memory. {sentence}"
        if len(plan.test):
            name, X = plan.metric.name, evaluator.rows(plan.test)
            predictions = evaluator.predict(model, X)
            found = evaluator.score((name,), model, X, plan.test, predictions)[name]
            sentence += f": {name} {found:.4g} on the {len(plan.test):,} rows of the test set"
        evaluator.add(model, result.refitter.additions[task.model])
        provenance = result.refitter.provenance(task.model) | {"rows": n_rows}
        persist.save(model, str(folder / "model.pellucid"), provenance)
        return sentence


def large_table(
    data: Any, settings: Settings, use: str = "the models are compared on"
) -> LargeTable | None:
    """The table behind a path or another source if it does not fit into memory, with its sample;
    `use` says what the sample is for."""
    read_whole = isinstance(data, SourceTable) or (isinstance(data, str) and data == "-")
    source = None if read_whole else source_behind(data)
    if source is None or not is_large(source):
        return None
    if settings.target is None:
        raise DataError(
            f"which column of {source.name} should be predicted? Name it with --target."
        )
    source.require(settings.target)
    kind = source.schema.field(settings.target).type
    numbers = (
        str(kind).startswith(("float", "double", "halffloat")) or settings.task == "regression"
    )
    most = min(MOST_ROWS, max(get_memory() // SHARE // (8 * len(source.names)), 1000))
    sample = stratified(source, settings.target, not numbers, most, settings.seed)
    name = Path(str(source.name)).name.split(".")[0].strip("*?[]") or "table"
    fingerprint = shared_tables.fingerprint(sample.table)
    words = (
        f"{source.n_rows:,} rows do not fit into memory: {use} a stratified sample of "
        f"{len(sample.rows):,} rows"
    )
    opened = SourceTable(sample.table, name, str(source.name), fingerprint, PATH, notes=(words,))
    path = str(data) if isinstance(data, str | Path) else None
    return LargeTable(source, sample, opened, path)
