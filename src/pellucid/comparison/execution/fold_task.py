"""One piece of work in a process of its own: search inside one outer fold, fit, score, write down.

Steps: 1. score every candidate on the inner folds, one message each; 2. fit the best on the outer
training rows; 3. score the outer test rows; 4. save the answers beside the journal. The last round,
`final`, does 1 and 2 on all training rows and describes the fitted model instead of scoring it.
Invariant: between two candidates the deadline and the parent's wish to stop are heard.
"""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.comparison.analysis.statistics import corrected_error
from pellucid.comparison.execution.worker_data import Bench, Shared
from pellucid.comparison.execution.worker_pool import limit_memory
from pellucid.errors import DataError
from pellucid.model_selection.metrics import Metric, metric

FINAL = "final"
SEARCH_SHARE = 0.8  # of a round's time
TIE_BREAK = "log_loss"
LONGEST = 300  # characters of a reason
LONGEST_WARNING = 1000
DESCRIBING = 120.0  # seconds that a portrait takes at most


@dataclass(frozen=True)
class Job:
    """What a child needs to know; pickled to it."""

    shared: Shared
    model: str
    estimator: Any
    foreign: bool
    dropped: tuple[str, ...]
    candidates: list[dict[str, Any]]
    fold: str  # "0", "1", ... or "final"
    train: np.ndarray
    test: np.ndarray
    metrics: tuple[str, ...]
    known: dict[int, dict[str, Any]]  # candidates scored before an interruption
    deadline: float  # seconds, soft; infinite without a limit
    memory: float  # bytes above what the process has at the start
    parts: str  # folder of the answers
    portrait: dict[str, Any] | None = None  # the plane to draw regions on
    hurry: bool = False  # no further candidates: fit the best of those known
    best: int = 0  # the chosen candidate, once known
    most: int | None = None  # candidates to try, from the middle; None: all
    cut: bool = False  # so few for want of time


class OutOfTime(Exception):
    """A search has used up its time."""


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


def work(job: Job, channel: Any) -> None:
    """Carry out one order: what is sent last ends it."""
    limit_memory(job.memory)
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            message = Worker(job, channel, heard).run()
        channel.send(message)
    except Stopped:
        channel.send({"kind": "stopped"})
    except Exception as error:  # the reason is the result of this job
        channel.send({"kind": "failed", "why": reason(error)})


def counted(heard: list[Any]) -> list[dict[str, Any]]:
    """Warnings by category and text, each once, with how often it came."""
    texts = Counter(
        (w.category.__name__, " ".join(str(w.message).split())[:LONGEST_WARNING]) for w in heard
    )
    return [{"category": c, "text": t, "count": n} for (c, t), n in sorted(texts.items())]


class Worker:
    """The four steps."""

    def __init__(self, job: Job, channel: Any, heard: list[Any]) -> None:
        self.job, self.channel, self.heard = job, channel, heard
        self.start, self.began = time.monotonic(), time.process_time()
        self.bench = Bench(job.shared, job.model, job.estimator, job.dropped, job.foreign)
        self.ranking = metric(job.metrics[0])
        self.tables: dict[Any, Any] = {}

    def run(self) -> dict[str, Any]:
        """All steps; the message that ends the job."""
        best, cut = self.search()
        job, searched = self.job, len(self.heard)
        params = job.candidates[best]
        X = self.bench.rows(job.train)
        started = time.perf_counter()
        fitted = self.bench.fit(self.bench.fresh(params, job.fold), X, job.train)
        seconds = time.perf_counter() - started
        message = {"kind": "done", "best": best, "cut": cut, "fit_seconds": seconds}
        if job.fold == FINAL:
            message["portrait"] = self.describe(fitted, best)
        else:
            message |= self.score(fitted)
        return message | {"warnings": counted(self.heard[searched:])}

    def describe(self, fitted: Any, best: int) -> dict[str, Any]:
        """The model's portrait; one that cannot be drawn costs no score."""
        from pellucid.comparison.analysis.model_details import portrait

        spent = time.monotonic() - self.start
        own = replace(self.job, best=best, deadline=min(self.job.deadline - spent, DESCRIBING))
        with warnings.catch_warnings():  # how many refits it makes depends on the clock
            warnings.simplefilter("ignore")
            try:
                used = time.process_time() - self.began  # what other programs do must not add to it
                return portrait(self.bench, fitted, own, used)
            except Exception:  # the kept model's is drawn again, and that says why not
                return {}

    def search(self) -> tuple[int, bool]:
        """Step 1: the best candidate, and whether time ran out before all were tried."""
        job = self.job
        if len(job.candidates) == 1:
            return 0, False
        if job.hurry:
            return self.choose(job.known), True
        order = from_the_middle(len(job.candidates))[: job.most]
        found, cut = dict(job.known), job.cut
        if len({*order, *found}) == 1:
            return order[0], cut
        splits = self.bench.inner_splits(job.train, job.fold, self.ranking.name)
        for c in order:
            if c in found:
                continue
            self.listen()
            if found and self.late():
                cut = True
                break
            before = len(self.heard)
            try:
                found[c] = self.candidate(c, splits, first=not found)
            except OutOfTime:
                cut = True
                break
            found[c]["warnings"] = counted(self.heard[before:])
            cut = cut or len(found[c]["scores"] or splits) < len(splits)
            self.channel.send({"kind": "candidate", "candidate": c, **found[c]})
        return self.choose(found), cut

    def candidate(self, c: int, splits: list[Any], first: bool) -> dict[str, Any]:
        """Scores of one candidate on the inner folds, or why it failed.

        When time runs out, the first candidate is judged by the folds it has, another is dropped.
        """
        started = time.perf_counter()
        scores: list[float] = []
        losses: list[float] = []
        try:
            for f, (train, test) in enumerate(splits):
                if f and self.late():
                    if first:
                        break
                    raise OutOfTime
                model = self.bench.fresh(self.job.candidates[c], self.job.fold, f)
                fitted = self.bench.fit(model, self.cached(f, "train", train), train)
                X = self.cached(f, "test", test)
                answers = self.bench.ask(fitted, X)
                measured = self.bench.measure(self.judged(), fitted, X, test, answers)
                scores.append(measured[self.ranking.name])
                losses.append(measured.get(TIE_BREAK, float("nan")))
        except OutOfTime:
            raise
        except Exception as error:  # this candidate is out; another may work
            return {"scores": None, "why": reason(error), "seconds": time.perf_counter() - started}
        seconds = time.perf_counter() - started
        return {"scores": scores, "losses": losses, "seconds": seconds}

    def judged(self) -> tuple[str, ...]:
        """The metric that ranks, and the one that decides between equals."""
        more = TIE_BREAK in self.job.metrics[1:]
        return (self.ranking.name, TIE_BREAK) if more else (self.ranking.name,)

    def late(self) -> bool:
        """Whether the search has used up its time; the rest is for the last fit."""
        return time.monotonic() - self.start > SEARCH_SHARE * self.job.deadline

    def cached(self, *key: Any) -> Any:
        """The same inner rows serve every candidate."""
        if key[:2] not in self.tables:
            self.tables[key[:2]] = self.bench.rows(key[2])
        return self.tables[key[:2]]

    def choose(self, found: dict[int, dict[str, Any]]) -> int:
        """The best of the scored candidates."""
        best = best_of(found, self.ranking)
        if best is None:
            raise DataError(next(iter(found.values()))["why"])
        return best

    def listen(self) -> None:
        if self.channel.poll():
            raise Stopped

    def score(self, fitted: Any) -> dict[str, Any]:
        """Steps 3 and 4."""
        job = self.job
        X = self.bench.rows(job.test)
        started = time.perf_counter()
        answers = self.bench.ask(fitted, X)
        seconds = time.perf_counter() - started
        metrics = self.bench.measure(job.metrics, fitted, X, job.test, answers)
        save_answers(part_path(job.parts, job.model, job.fold), job.test, answers)
        return {"metrics": metrics, "predict_seconds": seconds, "classes": seen_classes(fitted)}


def from_the_middle(n: int) -> list[int]:
    """0 .. n-1, the middle first: a search that is cut short has not tried the extremes alone."""
    return sorted(range(n), key=lambda c: (abs(2 * c - (n - 1)), c))


def best_of(found: dict[int, dict[str, Any]], metric: Metric) -> int | None:
    """The best mean; of equals the lowest log loss, then the earlier one. None without scores.

    Metrics of the order of rows (AUC) are blind to probabilities that all lie on one side of 1/2:
    for them candidates are equal already if the inner folds cannot tell them from the best.
    """
    means = {c: mean_of(r["scores"]) * metric.sign for c, r in found.items() if r["scores"]}
    usable = {c: m for c, m in sorted(means.items()) if m == m}
    if not usable:
        return min(means, default=None)
    best = min(usable, key=lambda c: (-round(usable[c], 12), _loss(found[c])))
    if metric.needs != "scores":
        return best
    alike = [c for c in usable if _alike(found[best]["scores"], found[c]["scores"])]
    return min(alike, key=lambda c: (_loss(found[c]), -round(usable[c], 12)))


def _alike(best: list[float], other: list[float]) -> bool:
    """Whether the mean difference is within its corrected standard error (of folds that both have)."""
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
    """NaN where a score is: None in records that went through the journal."""
    return float(np.mean([np.nan if score is None else score for score in scores]))


def seen_classes(fitted: Any) -> int:
    """How many classes the training rows had."""
    return len(getattr(fitted, "classes_", ()))


def part_path(folder: str | Path, model: str, fold: str) -> Path:
    """The file of one (model, fold)."""
    return Path(folder) / f"{model}-{fold}.npz"


def save_answers(path: Path, rows: np.ndarray, answers: Any) -> None:
    """Write whole or not at all."""
    arrays = {"rows": rows, "labels": answers.labels}
    if answers.proba is not None:
        arrays["proba"] = answers.proba
    if answers.scores is not None:
        arrays["scores"] = answers.scores
    partial = path.with_name(f".{path.name}.{os.getpid()}.npz")
    np.savez(partial, **arrays)
    partial.replace(path)
