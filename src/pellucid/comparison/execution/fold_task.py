"""The work on one outer fold, in a worker process: search, fit, score, save.

Steps: 1. score every candidate on the inner folds, with one message each; 2. fit the best one on the
outer training rows; 3. score it on the outer test rows; 4. save the predictions. The final round does
1 and 2 on all training rows and describes the fitted model instead of scoring it.
Invariant: the deadline and a request to stop are checked between two candidates.
"""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.comparison.analysis.statistics import corrected_error
from pellucid.comparison.execution.worker_data import (
    BlendEvaluator,
    Evaluator,
    Member,
    Predictions,
    SharedTable,
)
from pellucid.comparison.execution.worker_pool import limit_memory
from pellucid.comparison.planning.plan import Contender, Plan
from pellucid.errors import DataError
from pellucid.model_selection.metrics import Metric, metric

FINAL = "final"
SEARCH_SHARE = 0.8  # share of a round's time that the search may use
TIE_BREAK = "log_loss"
LONGEST = 300  # characters of a reason
LONGEST_WARNING = 1000
NOTHING = np.empty(0)
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
    members: tuple[Member, ...] = ()  # of a blend
    keep_inner: bool = False  # whether a blend will need the predictions on the inner folds
    max_candidates: int | None = None  # candidates to try, from the middle of the range; None: all
    cut: bool = False  # whether time allows fewer candidates than planned

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
        return cls(
            shared=shared, model=contender.id, estimator=contender.make(),
            foreign=contender.entry is None, dropped=contender.dropped,
            candidates=contender.candidates, fold=fold, train=train,
            metrics=plan.metrics,
            keep_inner=plan.blend is not None and contender in plan.blended,
            **{"test": test, **options},
        )  # fmt: skip

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the chosen candidate."""
        return self.candidates[self.best] | self.tuned

    def evaluator(self) -> Evaluator:
        """The shared table and the model, opened in the process that calls it."""
        if self.members:
            return BlendEvaluator(self.shared, self.model, self.estimator, self.members)
        return Evaluator(self.shared, self.model, self.estimator, self.dropped, self.foreign)


class OutOfTime(Exception):
    """The time of a search is over."""


class Stopped(Exception):
    """The parent asked to stop."""


def reason(error: BaseException) -> str:
    """Why a fit failed, in one line."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    text = " ".join(str(error).split()) or type(error).__name__
    name = type(error).__name__
    own = type(error).__module__.startswith("pellucid")
    text = text if own or name in text else f"{name}: {text}"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


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


def counted(caught: list[Any]) -> list[dict[str, Any]]:
    """Distinct warnings by category and text, with their counts."""
    texts = Counter(
        (w.category.__name__, " ".join(str(w.message).split())[:LONGEST_WARNING]) for w in caught
    )
    return [{"category": c, "text": t, "count": n} for (c, t), n in sorted(texts.items())]


class FoldTaskRunner:
    """The four steps of a task."""

    def __init__(self, task: FoldTask, channel: Any, caught: list[Any]) -> None:
        self.task, self.channel, self.caught = task, channel, caught
        self.start, self.began = time.monotonic(), time.process_time()
        self.evaluator = task.evaluator()
        self.ranking = metric(task.metrics[0])
        # The metric that ranks the candidates, and the one that breaks ties.
        self.metrics = (task.metrics[0], *(m for m in task.metrics[1:] if m == TIE_BREAK))
        self.tables: dict[Any, Any] = {}
        self.inner: dict[
            int, np.ndarray
        ] = {}  # what a blend needs of the inner folds, by candidate

    def run(self) -> dict[str, Any]:
        """Run all steps; the message that ends the task."""
        best, cut = self.search()
        self.save_inner(best)
        task, searched = self.task, len(self.caught)
        params = task.candidates[best]
        X = self.evaluator.rows(task.train)
        started = time.perf_counter()
        fitted = self.evaluator.fit(self.evaluator.unfitted(params, task.fold), X, task.train)
        seconds = time.perf_counter() - started
        message = {"kind": "done", "best": best, "cut": cut, "fit_seconds": seconds}
        if task.fold == FINAL:
            message["portrait"] = self.describe(fitted, best)
        else:
            message |= self.score(fitted)
        return message | {"warnings": counted(self.caught[searched:])}

    def describe(self, fitted: Any, best: int) -> dict[str, Any]:
        """The description of the fitted model; a failure here does not affect the scores."""
        from pellucid.comparison.analysis.model_details import describe_model

        spent = time.monotonic() - self.start
        own = replace(self.task, best=best, deadline=min(self.task.deadline - spent, DESCRIBING))
        with warnings.catch_warnings():  # the number of refits depends on the time
            warnings.simplefilter("ignore")
            try:
                used = time.process_time() - self.began  # CPU time, independent of other programs
                return describe_model(self.evaluator, fitted, own, used)
            except Exception:  # the final fit describes the model again and reports the reason
                return {}

    def search(self) -> tuple[int, bool]:
        """Step 1: the best candidate, and whether time ran out before all were tried."""
        task = self.task
        if len(task.candidates) == 1 and not task.keep_inner:
            return 0, False
        if task.best_known_only:
            return self.choose(task.known), True
        order = from_the_middle(len(task.candidates))[: task.max_candidates]
        found, cut = dict(task.known), task.cut
        if len({*order, *found}) == 1 and len(task.candidates) > 1:
            return order[0], cut
        splits = self.evaluator.inner_splits(task.train, task.fold, self.ranking.name)
        for c in order:
            if c in found:
                continue
            if self.channel.poll():  # the parent asked to stop
                raise Stopped
            if found and self.late():
                cut = True
                break
            before = len(self.caught)
            try:
                found[c] = self.candidate(c, splits, first=not found)
            except OutOfTime:
                cut = True
                break
            found[c]["warnings"] = counted(self.caught[before:])
            cut = cut or len(found[c]["scores"] or splits) < len(splits)
            self.channel.send({"kind": "candidate", "candidate": c, **found[c]})
        if len(task.candidates) == 1:  # the fit on all rows says why if it fails here too
            return 0, cut
        return self.choose(found), cut

    def candidate(self, c: int, splits: list[Any], first: bool) -> dict[str, Any]:
        """Scores of one candidate on the inner folds, or why it failed.

        When time runs out, the first candidate keeps the folds it has; a later one is dropped.
        """
        started = time.perf_counter()
        scores: list[float] = []
        losses: list[float] = []
        inner: list[np.ndarray | None] = []
        try:
            for f, (train, test) in enumerate(splits):
                if f and self.late():
                    if first:
                        break
                    raise OutOfTime
                model = self.evaluator.unfitted(self.task.candidates[c], self.task.fold, f)
                fitted = self.evaluator.fit(model, self.cached(f, "train", train), train)
                X = self.cached(f, "test", test)
                predictions = self.evaluator.predict(fitted, X)
                measured = self.evaluator.score(self.metrics, fitted, X, test, predictions)
                scores.append(measured[self.ranking.name])
                losses.append(measured.get(TIE_BREAK, float("nan")))
                inner.append(self.evaluator.own_values(test, predictions))
        except OutOfTime:
            raise
        except Exception as error:  # another candidate may work
            return {"scores": None, "why": reason(error), "seconds": time.perf_counter() - started}
        if self.task.keep_inner and len(inner) == len(splits):
            self.inner[c] = np.concatenate([own for own in inner if own is not None] or [NOTHING])
        seconds = time.perf_counter() - started
        return {"scores": scores, "losses": losses, "seconds": seconds}

    def save_inner(self, best: int) -> None:
        """Write the predictions of the chosen candidate on the inner folds, for a blend.

        Those of a candidate that was scored before an interruption are computed again.
        """
        task = self.task
        path = inner_path(task.parts, task.model, task.fold)
        if not task.keep_inner or task.best_known_only or path.exists():
            return
        splits = self.evaluator.inner_splits(task.train, task.fold, self.ranking.name)
        if best not in self.inner and not self.late() and best in task.known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.candidate(best, splits, first=True)
        found = self.inner.get(best)
        if found is not None and len(found) == sum(len(test) for _, test in splits):
            partial = path.with_name(f".{path.name}.{os.getpid()}.npy")
            np.save(partial, found)
            partial.replace(path)

    def late(self) -> bool:
        """Whether the time of the search is over; the rest is for the final fit."""
        return time.monotonic() - self.start > SEARCH_SHARE * self.task.deadline

    def cached(self, *key: Any) -> Any:
        """Rows of the table, cached because every candidate uses the same inner folds."""
        if key[:2] not in self.tables:
            self.tables[key[:2]] = self.evaluator.rows(key[2])
        return self.tables[key[:2]]

    def choose(self, found: dict[int, dict[str, Any]]) -> int:
        """The best of the scored candidates."""
        best = best_of(found, self.ranking)
        if best is None:
            raise DataError(next(iter(found.values()))["why"])
        return best

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


def from_the_middle(n: int) -> list[int]:
    """0 .. n-1, the middle first, so that a search that is cut short has not only tried extremes."""
    return sorted(range(n), key=lambda c: (abs(2 * c - (n - 1)), c))


def best_of(found: dict[int, dict[str, Any]], metric: Metric) -> int | None:
    """The candidate with the best mean score; None without scores.

    Ties go to the lowest log loss, then to the earlier candidate. Ranking metrics (AUC) ignore the
    calibration of probabilities, so for them all candidates within a standard error of the best tie.
    """
    means = {c: mean_of(r["scores"]) * metric.sign for c, r in found.items() if r["scores"]}
    usable = {c: m for c, m in sorted(means.items()) if m == m}
    if not usable:
        return min(means, default=None)
    best = min(usable, key=lambda c: (-round(usable[c], 12), _loss(found[c])))
    if metric.needs != "scores":
        return best
    tied = [c for c in usable if _tied(found[best]["scores"], found[c]["scores"])]
    return min(tied, key=lambda c: (_loss(found[c]), -round(usable[c], 12)))


def _tied(best: list[float], other: list[float]) -> bool:
    """Whether the mean difference is within its corrected standard error, on the folds of both."""
    pairs = list(zip(best, other))
    difference = np.array([a - b for a, b in pairs])
    if len(pairs) < 2:
        return not difference.any()
    error = corrected_error(difference, 1 / (len(pairs) - 1))
    return bool(abs(difference.mean()) <= error + 1e-12)


def _loss(record: dict[str, Any]) -> float:
    mean = mean_of(record.get("losses") or [None])
    return mean if mean == mean else float("inf")


def mean_of(scores: list[float | None]) -> float:
    """The mean score; NaN if a score is missing (None in the journal)."""
    return float(np.mean([np.nan if score is None else score for score in scores]))


def part_path(folder: str | Path, model: str, fold: str) -> Path:
    """The file with the predictions of one (model, fold)."""
    return Path(folder) / f"{model}-{fold}.npz"


def inner_path(folder: str | Path, model: str, fold: str) -> Path:
    """The file with the predictions of one (model, fold) on the inner folds of its training rows."""
    return Path(folder) / f"{model}-{fold}.inner.npy"


def save_predictions(path: Path, rows: np.ndarray, predictions: Any) -> None:
    """Write the file completely or not at all."""
    arrays = {"rows": rows, **{k: v for k, v in vars(predictions).items() if v is not None}}
    partial = path.with_name(f".{path.name}.{os.getpid()}.npz")
    np.savez(partial, **arrays)
    partial.replace(path)
