"""The blend's work on one outer fold: choose weights, combine, score; nothing is fitted twice.

Steps: 1. choose the weights by greedy selection on what the models predicted for the inner folds of the
outer training rows, each with the candidate that its own search chose there; 2. combine the models'
predictions for the outer test rows, which the weights have not seen; 3. score and save them. The final
round does 1 on the out-of-fold predictions of all training rows, fits the blend and describes it.
Invariant: the blend is nested like any model, so its score is as honest as theirs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.comparison.analysis.out_of_fold import params_of
from pellucid.comparison.execution.candidate_choice import counted, reason
from pellucid.comparison.execution.fold_task import FINAL, FoldTask, FoldTaskRunner
from pellucid.comparison.execution.inner_search import inner_path, part_path
from pellucid.comparison.execution.journal import RunState
from pellucid.comparison.execution.worker_data import BlendedModel, Predictions
from pellucid.comparison.execution.worker_pool import limit_memory
from pellucid.comparison.planning.plan import Plan
from pellucid.errors import DataError
from pellucid.model_selection.metrics import metric

MOST_PICKS = 30


def blended_models(plan: Plan, state: RunState, fold: str) -> tuple[BlendedModel, ...]:
    """The models whose folds are all done, simple ones first, as their searches chose them."""
    done = [c for c in plan.blended if state.completed(c.id, len(plan.folds))]
    return tuple(
        BlendedModel(
            c.id, c.make(), params_of(plan, state, c.id, fold), c.dropped,
            state.done.get((c.id, fold), {}).get("fit_seconds") or 0.0,
        )
        for c in sorted(done, key=lambda c: (c.rank, c.cost, c.id))
    )  # fmt: skip


def blend_work(task: FoldTask, channel: Any) -> None:
    """Run one round of the blend in a worker."""
    limit_memory(task.memory)
    try:
        if not task.blended:
            raise DataError("no other model has a score")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            message = BlendRunner(task, channel, caught).run()
        channel.send(message)
    except Exception as error:  # the reason is the result of this task
        channel.send({"kind": "failed", "why": reason(error)})


class BlendRunner(FoldTaskRunner):
    """The three steps of a round of the blend."""

    def run(self) -> dict[str, Any]:
        """Run all steps; the message that ends the task."""
        task = self.task
        weights = self.choose_weights()
        seconds = sum(m.fit_seconds for m in task.blended if m.model in weights)
        message: dict[str, Any] = {
            "kind": "done", "best": 0, "cut": False, "fit_seconds": seconds,
            "tuned": {"weights": weights},
        }  # fmt: skip
        if task.fold == FINAL:
            self.task = replace(task, tuned={"weights": weights})
            message["portrait"] = self.describe(self.fitted(weights))
        else:
            message |= self.combine(weights)
        return message | {"warnings": counted(self.caught)}

    def fitted(self, weights: dict[str, float]) -> Any:
        """The blend, fitted to the training rows of the round."""
        model = self.evaluator.unfitted({"weights": weights}, self.task.fold)
        return self.evaluator.fit(model, self.evaluator.rows(self.task.train), self.task.train)

    def choose_weights(self) -> dict[str, float]:
        """Step 1: the weights of the picked models."""
        from pellucid.ensemble.blend import selection  # the fork server waits for no family

        final = self.task.fold == FINAL
        rows, values = self.out_of_fold() if final else self.out_of_inner_fold()
        values = {m: v for m, v in values.items() if len(v) == len(rows) and np.isfinite(v).all()}
        if not values:
            raise DataError("no model has predictions on the inner folds")
        picks, _ = selection.select(
            np.array(list(values.values())), self.evaluator.y[rows].astype(float),
            self.evaluator.weights[rows], self.loss(rows), MOST_PICKS,
        )  # fmt: skip
        shares = selection.weights_of(picks, len(values))
        return {m: float(w) for m, w in zip(values, shares) if w}

    def out_of_inner_fold(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Rows of the inner folds, and what each model predicted for them."""
        task = self.task
        splits = self.evaluator.inner_splits(task.train, task.fold, self.ranking.name)
        paths = {m.model: inner_path(task.parts, m.model, task.fold) for m in task.blended}
        found = {model: np.load(path) for model, path in paths.items() if path.exists()}
        return np.concatenate([test for _, test in splits]), found

    def out_of_fold(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Rows of the folds, and what each model predicted for them."""
        task, found, rows = self.task, dict[str, np.ndarray](), np.empty(0, dtype=np.int64)
        for one in task.blended:
            names = [part_path(task.parts, one.model, str(k)) for k in range(task.n_folds)]
            parts = [dict(np.load(name)) for name in names]
            rows = np.concatenate([part["rows"] for part in parts])
            values = [
                self.evaluator.own_values(
                    part["rows"], Predictions(part["labels"], part.get("proba"))
                )
                for part in parts
            ]
            known = [own for own in values if own is not None]
            if len(known) == len(parts):
                found[one.model] = np.concatenate(known)
        return rows, found

    def loss(self, rows: np.ndarray) -> Callable[..., float]:
        """Log loss for classes; for numbers the metric that ranks the models, if it is ours."""
        if self.evaluator.shared.n_classes:
            from pellucid.ensemble.blend.selection import log_loss

            return log_loss
        found = metric(self.ranking.name if self.ranking.needs == "numbers" else "rmse")
        w = self.evaluator.weights[rows]
        return lambda y, prediction, share: -found.sign * found.compute(y, prediction, w)

    def combine(self, weights: dict[str, float]) -> dict[str, Any]:
        """Steps 2 and 3."""
        task, started = self.task, time.perf_counter()
        total: Any = 0.0
        for model, weight in weights.items():
            part = dict(np.load(part_path(task.parts, model, task.fold)))
            total = total + weight * part["proba" if "proba" in part else "labels"]
        classes = bool(self.evaluator.shared.n_classes)
        predictions = Predictions(total.argmax(axis=1), total) if classes else Predictions(total)
        fitted = X = None
        if any(metric(name).needs == "model" for name in task.metrics):
            fitted, X = self.fitted(weights), self.evaluator.rows(task.test)
        metrics = self.measure(fitted, X, predictions)
        return {"metrics": metrics, "predict_seconds": time.perf_counter() - started}
