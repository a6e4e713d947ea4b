"""Refit any model of the leaderboard on all training rows, with the parameters that its search chose.

Invariant: it is the same fit as the final fit of a recommended model: the same seed, rows and parameters
give the same model.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.comparison.analysis.additions import additions
from pellucid.comparison.analysis.out_of_fold import chosen_by, params_of
from pellucid.comparison.execution import fold_models
from pellucid.comparison.execution.blend_task import blended_models
from pellucid.comparison.execution.fold_task import FINAL, FoldTask
from pellucid.comparison.execution.journal import RunState
from pellucid.comparison.execution.worker_data import (
    BlendedModel,
    Evaluator,
    SharedTable,
    share_table,
)
from pellucid.comparison.planning.plan import Contender, Plan
from pellucid.errors import CannotSaveError, ParameterError


@dataclass(frozen=True)
class Refitter:
    """What is needed to refit the models of a finished run: the plan, and the chosen candidates."""

    plan: Plan
    chosen: dict[str, int]  # candidate by model, for the models that have a score
    tuned: dict[str, dict[str, Any]]  # their parameters
    blended: tuple[BlendedModel, ...]  # the models that a blend may combine
    additions: dict[str, dict[str, Any]]  # attributes that the comparison adds to the models
    # By model, what its search chose in each fold of the first repetition: fields of its task.
    by_fold: dict[str, list[dict[str, Any]]]

    @classmethod
    def of(
        cls, plan: Plan, state: RunState, predictions: Mapping[str, Mapping[str, np.ndarray]]
    ) -> Refitter:
        """From the records of a run."""
        scored = [c.id for c in plan.running if state.completed(c.id, len(plan.folds))]
        return cls(
            plan,
            {name: chosen_by(plan, state, name) for name in scored},
            {name: params_of(plan, state, name) for name in scored},
            blended_models(plan, state, FINAL),
            {name: additions(plan, predictions.get(name)) for name in scored},
            {c.id: _by_fold(plan, state, c) for c in plan.running if c.id in scored},
        )

    def contender(self, model: str) -> Contender:
        """The model of this name; an error lists the models that have a score."""
        there = ", ".join(self.chosen) or "none"
        found = next((c for c in self.plan.contenders if c.id == model), None)
        if found is None:
            raise ParameterError(
                f"there is no model {model!r} in this run. Models with a score: {there}."
            )
        if model not in self.chosen:
            why = f": {found.skipped}" if found.skipped else ""
            raise ParameterError(
                f"{model} has no score in this run{why}. Models with a score: {there}."
            )
        return found

    def params(self, model: str) -> dict[str, Any]:
        """The parameters that its search on all training rows chose."""
        self.contender(model)
        return self.tuned[model]

    def provenance(self, model: str) -> dict[str, Any]:
        """Where the fitted model comes from."""
        plan = self.plan
        return {
            "data_sha256": plan.dataset.sha256,
            "target": plan.dataset.target,
            "model": model,
            "metric": plan.metric.name,
            "seed": plan.settings.seed,
            "rows": len(plan.train),
        }

    def task(self, model: str, shared: SharedTable, **options: Any) -> FoldTask:
        """The task of fitting a model on all training rows and scoring it on the test set."""
        plan, contender = self.plan, self.contender(model)
        return FoldTask.of(
            plan, contender, FINAL, shared, test=plan.test, deadline=plan.model_timeout,
            best=self.chosen[model], tuned=self.tuned[model],
            blended=self.blended if contender.blends else (), **options,
        )  # fmt: skip

    def fold_tasks(self, model: str, shared: SharedTable) -> list[FoldTask]:
        """The tasks of fitting the models of the folds again."""
        own = self.contender(model)
        return [
            FoldTask.of(self.plan, own, str(k), shared, deadline=self.plan.model_timeout, **fields)
            for k, fields in enumerate(self.by_fold[model])
        ]

    @contextmanager
    def fitted(self, model: str) -> Iterator[tuple[Any, Evaluator, FoldTask]]:
        """The model, fitted in this process, with the evaluator and the task of the fit."""
        self.contender(model)
        with tempfile.TemporaryDirectory(prefix="pellucid-") as scratch:
            task = self.task(model, share_table(self.plan, scratch))
            evaluator = task.evaluator()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the leaderboard shows them already
                unfitted = evaluator.unfitted(task.params, "final")
                fitted = evaluator.fit(unfitted, evaluator.rows(task.train), task.train)
                evaluator.add(fitted, self.additions[model])
                yield fitted, evaluator, task

    def save(self, model: str, path: str | Path) -> Path:
        """Fit and save."""
        self.refuse_foreign(model)
        with self.fitted(model) as (fitted, _, task):
            self.save_fitted(fitted, task, path)
        return Path(path)

    def save_fitted(self, fitted: Any, task: FoldTask, path: str | Path, **more: Any) -> None:
        """Save a model that `fitted` gave, with the models of the folds."""
        model = task.model
        fold_models.save(
            fitted, str(path), self.provenance(model) | more,
            self.fold_tasks(model, task.shared), self.plan.settings.intervals,
        )  # fmt: skip

    def refuse_foreign(self, model: str) -> None:
        """Only models of Pellucid can be saved safely."""
        made = self.contender(model).make()
        if not hasattr(made, "save"):
            raise CannotSaveError(
                f"{type(made).__name__} is not a Pellucid model and cannot be saved safely."
            )


def _by_fold(plan: Plan, state: RunState, contender: Contender) -> list[dict[str, Any]]:
    if plan.folds_name == "time":
        return []
    return [
        {
            "best": state.done[contender.id, str(k)]["best"],
            "tuned": params_of(plan, state, contender.id, str(k)),
            "blended": blended_models(plan, state, str(k)) if contender.blends else (),
        }
        for k in range(len(plan.folds) // plan.repeats)
    ]
