"""The work on one outer fold, in a worker process: search, fit, score, save.

Steps: 1. score every candidate on the inner folds, with one message each; 2. fit the best one on the
outer training rows; 3. score it on the outer test rows; 4. save the predictions. The final round fits
what the searches of all folds chose to all training rows and describes the model instead of scoring it.
Models without probabilities are calibrated by their scores on the inner folds.
"""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.comparison.execution.candidate_choice import counted, reason
from pellucid.comparison.execution.inner_search import InnerSearch, Stopped, part_path
from pellucid.comparison.execution.worker_data import (
    BlendedModel,
    BlendEvaluator,
    Evaluator,
    Predictions,
    SharedTable,
)
from pellucid.comparison.execution.worker_pool import limit_memory
from pellucid.comparison.planning.plan import HALVING_FACTOR, Contender, Plan
from pellucid.comparison.planning.registry import Entry
from pellucid.model_selection.metrics import metric

FINAL = "final"
CALIBRATION = "calibration"  # what is tuned beside the parameters of a model
DESCRIBING = 120.0  # maximum seconds for describing a model


@dataclass(frozen=True)
class FoldTask:
    """What a worker needs to know; it is pickled."""

    shared: SharedTable
    model: str
    estimator: Any
    foreign: bool
    dropped: tuple[str, ...]
    candidates: list[dict[str, Any]]
    fold: str  # "0", "1", ... or "final"
    train: np.ndarray
    test: np.ndarray
    metrics: tuple[str, ...]
    deadline: float  # seconds, soft; infinite without a limit
    memory: float = 0.0  # bytes that the process may add to what it has at the start; 0: no limit
    parts: str = ""  # folder of the predictions
    known: dict[int, dict[str, Any]] = field(default_factory=dict)  # scored before an interruption
    plane: dict[str, Any] | None = None  # the plane of the decision regions
    best_known_only: bool = False  # fit the best of the known candidates without further search
    best: int = 0  # the chosen candidate, once known
    tuned: dict[str, Any] = field(default_factory=dict)  # parameters that the search found besides
    blended: tuple[BlendedModel, ...] = ()  # of a blend
    rounds: str = ""  # the parameter that early stopping chooses
    most_rounds: int = 0
    entry: Entry | None = None  # says how a fit follows a search by rounds
    effort: str = "normal"
    searching: dict[str, Any] = field(default_factory=dict)  # parameters that make a search cheaper
    in_order: bool = False  # whether the candidates are tried in their order, not from the middle
    halving_factor: int = HALVING_FACTOR  # 1/halving_factor of the candidates reach the next fold
    keep_inner: bool = False  # whether a blend will need the predictions on the inner folds
    max_candidates: int | None = None  # candidates to try, from the middle of the range; None: all
    cut: bool = False  # whether time allows fewer candidates than planned
    n_folds: int = 0  # of one repetition

    @classmethod
    def of(
        cls, plan: Plan, contender: Contender, fold: str, shared: SharedTable, **options: Any
    ) -> FoldTask:
        """One fold of a model, or its final fit; `options` are the remaining fields.

        The final fit has no test rows unless `options` name some.
        """
        train, test = plan.train, plan.train[:0]
        if fold != FINAL:
            train, test = plan.folds[int(fold)]
        estimator = contender.make()
        blended = plan.blend is not None and contender in plan.blended
        own = contender.entry is not None and not contender.blends
        uncalibrated = plan.dataset.classes is not None and not hasattr(estimator, "predict_proba")
        return cls(
            shared=shared, model=contender.id, estimator=estimator,
            foreign=contender.entry is None, dropped=contender.dropped,
            candidates=contender.candidates, fold=fold, train=train,
            metrics=plan.metrics,
            rounds="" if contender.entry is None else contender.entry.rounds,
            most_rounds=0 if contender.entry is None else contender.entry.most_rounds,
            entry=contender.entry, effort=plan.settings.effort,
            searching={} if contender.entry is None else dict(contender.entry.searching),
            in_order=contender.entry is not None and bool(contender.entry.portfolio),
            keep_inner=blended or (own and uncalibrated), halving_factor=contender.halving_factor,
            n_folds=len(plan.folds) // plan.repeats,
            **{"test": test, **options},
        )  # fmt: skip

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the chosen candidate."""
        return self.candidates[self.best] | {
            n: v for n, v in self.tuned.items() if n != CALIBRATION
        }

    def evaluator(self) -> Evaluator:
        """The shared table and the model, opened in the process that calls it."""
        if self.blended:
            return BlendEvaluator(self.shared, self.model, self.estimator, self.blended)
        own = Evaluator(self.shared, self.model, self.estimator, self.dropped, self.foreign)
        own.calibration = self.tuned.get(CALIBRATION)
        own.rounds_chosen = bool(self.rounds)
        return own


def work(task: FoldTask, channel: Any) -> None:
    """Run one task in a worker; the last message ends it."""
    limit_memory(task.memory)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            message = FoldTaskRunner(task, channel, caught).run()
        channel.send(message)
    except Stopped:
        channel.send({"kind": "stopped"})
    except Exception as error:  # the reason is the result of this task
        channel.send({"kind": "failed", "why": reason(error)})


class FoldTaskRunner:
    """The four steps of a task."""

    def __init__(self, task: FoldTask, channel: Any, caught: list[Any]) -> None:
        self.task, self.channel, self.caught = task, channel, caught
        self.start, self.began = time.monotonic(), time.process_time()
        self.evaluator = task.evaluator()
        self.ranking = metric(task.metrics[0])

    def run(self) -> dict[str, Any]:
        """Run all steps; the message that ends the task."""
        cut = self.task.cut
        if self.task.fold != FINAL:
            cut = self.search()
        task, best = self.task, self.task.best
        searched = len(self.caught)
        X = self.evaluator.rows(task.train)
        started = time.perf_counter()
        fitted = self.evaluator.fit(self.evaluator.unfitted(task.params, task.fold), X, task.train)
        seconds = time.perf_counter() - started
        message = {"kind": "done", "best": best, "cut": cut, "fit_seconds": seconds}
        if self.evaluator.calibration is not None:
            task.tuned["calibration"] = self.evaluator.calibration
        message["tuned"] = task.tuned
        if task.fold == FINAL:
            message["portrait"] = self.describe(fitted)
        else:
            message |= self.score(fitted)
        return message | {"warnings": counted(self.caught[searched:])}

    def search(self) -> bool:
        """Step 1: choose the candidate; whether time ran out."""
        search = InnerSearch(self.task, self.evaluator, self.channel, self.caught, self.start)
        best, cut = search.run()
        self.task = replace(self.task, best=best, tuned=search.tuned(best))
        search.save_inner(best)
        self.evaluator.calibration = search.calibration(best)
        return cut

    def describe(self, fitted: Any) -> dict[str, Any]:
        """The description of the fitted model; a failure here does not affect the scores."""
        from pellucid.comparison.analysis.model_details import describe_model

        spent = time.monotonic() - self.start
        own = replace(self.task, deadline=min(self.task.deadline - spent, DESCRIBING))
        with warnings.catch_warnings():  # the number of refits depends on the time
            warnings.simplefilter("ignore")
            try:
                used = time.process_time() - self.began  # CPU time, independent of other programs
                return describe_model(self.evaluator, fitted, own, used)
            except Exception:  # the final fit describes the model again and reports the reason
                return {}

    def score(self, fitted: Any) -> dict[str, Any]:
        """Steps 3 and 4."""
        task = self.task
        X = self.evaluator.rows(task.test)
        started = time.perf_counter()
        predictions = self.evaluator.predict(fitted, X)
        seconds = time.perf_counter() - started
        return {"metrics": self.measure(fitted, X, predictions), "predict_seconds": seconds}

    def measure(self, fitted: Any, X: Any, predictions: Predictions) -> dict[str, float]:
        """The metrics of the predictions for the test rows, which are saved."""
        task = self.task
        metrics = self.evaluator.score(task.metrics, fitted, X, task.test, predictions)
        save_predictions(part_path(task.parts, task.model, task.fold), task.test, predictions)
        return metrics


def save_predictions(path: Path, rows: np.ndarray, predictions: Any) -> None:
    """Write the file completely or not at all."""
    arrays = {"rows": rows, **{k: v for k, v in vars(predictions).items() if v is not None}}
    partial = path.with_name(f".{path.name}.{os.getpid()}.npz")
    np.savez(partial, **arrays)
    partial.replace(path)
