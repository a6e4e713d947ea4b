"""The search of one round: the candidates of a model on the inner folds of its training rows.

After each inner fold only the best third of the candidates goes on (successive halving; `python -m
benchmarks halving` measures what that costs), and those that reached the last fold are compared. On
small tables, half of the settings of boosting go on. A model that is fitted in rounds (boosting,
networks) stops early on each inner fold and is refitted with the median number. What our models compute
from the rows alone (encoded tables) is computed once.
Invariant: the deadline and a request to stop are checked between two fits.
"""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.comparison.execution.candidate_choice import (
    best_of,
    counted,
    cut_to,
    from_the_middle,
    merged,
    reason,
    survivors,
)
from pellucid.comparison.execution.worker_data import Evaluator, Predictions
from pellucid.comparison.planning.plan import candidates_on_fold
from pellucid.errors import ConvergenceWarning, DataError
from pellucid.model_selection.metrics import metric
from pellucid.numerics import platt

if TYPE_CHECKING:
    from pellucid.comparison.execution.fold_task import FoldTask

SEARCH_SHARE = 0.8  # share of a round's time that the search may use
TIE_BREAK = "log_loss"


class OutOfTime(Exception):
    """The time of a search is over."""


class Stopped(Exception):
    """The parent asked to stop."""


class InnerSearch:
    """The search of one task; `found` has the records of the candidates."""

    def __init__(
        self, task: FoldTask, evaluator: Evaluator, channel: Any, caught: list[Any], start: float
    ) -> None:
        self.task, self.evaluator, self.channel = task, evaluator, channel
        self.caught, self.start = caught, start
        self.ranking = metric(task.metrics[0])
        # The metric that ranks the candidates, and the one that breaks ties.
        self.metrics = (task.metrics[0], *(m for m in task.metrics[1:] if m == TIE_BREAK))
        self.splits = evaluator.inner_splits(task.train, task.fold, self.ranking.name)
        self.tables: dict[Any, Any] = {}
        self.inner: dict[int, list[np.ndarray]] = {}  # scores or predictions by candidate and fold
        self.found: dict[int, dict[str, Any]] = dict(task.known)

    def run(self) -> tuple[int, bool]:
        """The best candidate, and whether time ran out before all were tried."""
        task, n = self.task, len(self.task.candidates)
        if n == 1 and not task.keep_inner:
            return 0, False
        if task.best_known_only:
            return self.choose(), True
        order = (list(range(n)) if task.in_order else from_the_middle(n))[: task.max_candidates]
        if len({*order, *self.found}) == 1 and n > 1:
            return order[0], task.cut
        halving = task.halving_factor > 1 and len(order) > 2
        cut = self.by_halving(order) if halving else self.one_by_one(order)
        if n == 1:  # the fit on all rows says why if it fails here too
            return 0, cut or task.cut
        return self.choose(), cut or task.cut

    def one_by_one(self, order: list[int]) -> bool:
        """Score each candidate on all inner folds; whether time ran out.

        When time runs out, the first candidate keeps the folds it has; a later one is dropped.
        """
        cut = False
        for c in order:
            if c in self.found:
                continue
            self.heed_stop()
            if self.found and self.late():
                return True
            record, first = self.new_record(), not self.found
            try:
                for f in range(len(self.splits)):
                    if f and self.late():
                        if first:
                            break
                        raise OutOfTime
                    self.score_fold(record, c, f)
                    if record["scores"] is None:
                        break
            except OutOfTime:
                return True
            cut = cut or len(record["scores"] or self.splits) < len(self.splits)
            self.send(record, c)
        return cut

    def by_halving(self, order: list[int]) -> bool:
        """Score all candidates on the first inner fold, the best of them on the next, and so on."""
        records = {c: self.found.get(c) or self.new_record() for c in order}
        new, alive = [c for c in order if c not in self.found], list(order)
        for f in range(len(self.splits)):
            for k, c in enumerate(alive):
                record = records[c]
                if record["scores"] is None or len(record["scores"]) > f:
                    continue
                self.heed_stop()
                if (f or k) and self.late():
                    for one in [c for c in new if records[c]["scores"] != []]:
                        self.send(records[one], one)
                    return True
                self.score_fold(record, c, f)
            scored = {c: cut_to(r, f + 1) for c, r in records.items() if c in alive and r["scores"]}
            most = candidates_on_fold(len(order), f + 1, self.task.halving_factor)
            going_on = survivors(scored, most, self.ranking)
            alive = sorted(going_on, key=order.index)
        for c in new:
            self.send(records[c], c)
        return False

    def heed_stop(self) -> None:
        if self.channel.poll():  # the parent asked to stop
            raise Stopped

    def new_record(self) -> dict[str, Any]:
        return {"scores": [], "losses": [], "seconds": 0.0, "warnings": []}

    def send(self, record: dict[str, Any], c: int) -> None:
        """Report the record of a candidate that is scored or dropped."""
        self.found[c] = record
        self.channel.send({"kind": "candidate", "candidate": c, **record})

    def score_fold(self, record: dict[str, Any], c: int, f: int) -> None:
        """Add the score of a candidate on inner fold f to its record, or why it failed."""
        started, before = time.perf_counter(), len(self.caught)
        try:
            test = self.splits[f][1]
            X = self.cached(f, "test", test)
            fitted = self.fit_inner(record, c, f)
            predictions = self.smoothed(self.evaluator.predict(fitted, X), fitted)
            measured = self.evaluator.score(self.metrics, fitted, X, test, predictions)
            by_probability = tuple(m for m in self.metrics if metric(m).needs == "probabilities")
            if by_probability and predictions.proba is None:
                ranked = self.calibrated(predictions, test)
                measured |= self.evaluator.score(by_probability, fitted, X, test, ranked)
            record["scores"].append(measured[self.ranking.name])
            record["losses"].append(measured.get(TIE_BREAK, float("nan")))
            values = predictions.proba if predictions.proba is not None else predictions.scores
            kept = self.inner.setdefault(c, [])
            if self.task.keep_inner and len(kept) == f:
                kept.append(predictions.labels if values is None else values)
        except Exception as error:  # another candidate may work
            record |= {"scores": None, "why": reason(error)}
        record["seconds"] += time.perf_counter() - started
        record["warnings"] = merged(record["warnings"], counted(self.caught[before:]))

    def smoothed(self, predictions: Predictions, fitted: Any) -> Predictions:
        """With one more tree, undecided between the classes, if a search grows fewer trees than a fit.

        A class for which none of its 40 trees votes would have an infinite log loss. A few such rows
        would decide for large leaves, and against the forest in a blend, although a fit has more trees.
        """
        if not self.task.searching or predictions.proba is None:
            return predictions
        trees, K = len(fitted), predictions.proba.shape[1]
        return replace(predictions, proba=(trees * predictions.proba + 1 / K) / (trees + 1))

    def calibrated(self, predictions: Predictions, test: np.ndarray) -> Predictions:
        """With probabilities for a model that has only scores, so that they can rank its candidates.

        The sigmoid is fitted to the rows that are scored. So the log loss is a little too low, but
        equally for all candidates; no outer test row is used.
        """
        K, scores = self.evaluator.shared.n_classes, predictions.scores
        if scores is None or self.evaluator.foreign or not np.isfinite(scores).all():
            return predictions
        values, y, w = scores if K > 2 else scores[:, 1], self.evaluator.y, self.evaluator.weights
        sigmoid = platt.fit(values, y[test], w[test], K)
        return replace(predictions, proba=platt.probabilities(values, sigmoid))

    def fit_inner(self, record: dict[str, Any], c: int, f: int) -> Any:
        """A candidate fitted on inner fold f; rounds stop early on the test rows of that fold."""
        task, evaluator, (train, test) = self.task, self.evaluator, self.splits[f]
        X, params = self.cached(f, "train", train), task.candidates[c]
        if task.entry is None or not task.rounds:
            own = params | {n: v for n, v in task.searching.items() if v < params.get(n, np.inf)}
            return self.fit_in_steps(own, X, train, f)
        stopping = self.stopping(n_iter_no_change=task.entry.patience)
        model = evaluator.unfitted(params | stopping, task.fold, f)
        fitted = evaluator.fit_stopping(model, X, train, self.cached(f, "test", test), test)
        record.setdefault("rounds", []).append(best_round(fitted))
        return fitted

    def fit_in_steps(self, params: dict[str, Any], X: Any, train: np.ndarray, f: int) -> Any:
        """A fit of limited steps, if the model has such a limit; to reach it is no news then."""
        task, most = self.task, 0
        if task.entry is not None:
            most = task.entry.steps_per_row * len(train)
        model = self.evaluator.unfitted(params | ({"max_iter": most} if most else {}), task.fold, f)
        with warnings.catch_warnings():
            if most:
                warnings.simplefilter("ignore", ConvergenceWarning)
            return self.evaluator.fit(model, X, train)

    def stopping(self, **more: Any) -> dict[str, Any]:
        """Parameters of a fit that stops early."""
        return {"early_stopping": True, self.task.rounds: self.task.most_rounds, **more}

    def tuned(self, best: int) -> dict[str, Any]:
        """What the search found besides the candidate: rounds by their median, and the step size."""
        task = self.task
        if task.entry is None or not task.rounds:
            return {}
        rounds = self.found.get(best, {}).get("rounds")
        sampled = sum(len(test) for _, test in self.splits) < len(task.train)
        if not rounds or (sampled and self.evaluator.shared.split_by != "time"):
            # Without a search on all rows, a part of the training rows decides.
            return self.stopping()
        return task.entry.refitted(task.candidates[best], int(np.median(rounds)), task.effort)

    def late(self) -> bool:
        """Whether the time of the search is over; the rest is for the final fit."""
        return time.monotonic() - self.start > SEARCH_SHARE * self.task.deadline

    def cached(self, f: int, part: str, rows: np.ndarray) -> Any:
        """Rows of the table, cached because every candidate uses the same inner folds."""
        if (f, part) not in self.tables:
            self.tables[f, part] = self.evaluator.rows_again(rows)
        return self.tables[f, part]

    def choose(self) -> int:
        """The best of the scored candidates."""
        best = best_of(self.found, self.ranking)
        if best is None:
            raise DataError(next(iter(self.found.values()))["why"])
        return best

    # What a blend and a calibration need of the inner folds ---------------------------------------

    def inner_values(self, best: int) -> np.ndarray | None:
        """What the chosen candidate predicted on all inner folds; None if that is unknown.

        What was scored before an interruption is computed again.
        """
        task = self.task
        if not task.keep_inner or task.best_known_only:
            return None
        complete = len(self.found.get(best, {}).get("scores") or ()) == len(self.splits)
        if complete and len(self.inner.get(best, ())) < len(self.splits) and not self.late():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.inner[best], record = [], self.new_record()
                for f in range(len(self.splits)):
                    self.score_fold(record, best, f)
        kept = self.inner.get(best, [])
        return np.concatenate(kept) if len(kept) == len(self.splits) else None

    @property
    def rows(self) -> np.ndarray:
        """The test rows of all inner folds."""
        return np.concatenate([test for _, test in self.splits])

    def calibration(self, best: int) -> list[float] | None:
        """Platt's sigmoid of the scores on the inner folds, for a model without probabilities."""
        K, evaluator = self.evaluator.shared.n_classes, self.evaluator
        if not K or evaluator.foreign or self.has_probabilities():
            return None
        values = self.inner_values(best)
        if values is None or values.ndim != 2 or not np.isfinite(values).all():
            return None
        values = values[:, 1] if K == 2 else values
        y, w = evaluator.y[self.rows], evaluator.weights[self.rows]
        return platt.fit(values, y, w, K).tolist()

    def has_probabilities(self) -> bool:
        """Whether the model has probabilities of its own."""
        return hasattr(self.evaluator.unfitted(self.task.params), "predict_proba")

    def save_inner(self, best: int) -> None:
        """Write what a blend needs: predicted numbers, or the probability of each row's own class."""
        task = self.task
        path = inner_path(task.parts, task.model, task.fold)
        values = None if path.exists() else self.inner_values(best)
        if values is None:
            return
        if self.evaluator.shared.n_classes:
            sigmoid = self.calibration(best)
            if values.ndim != 2:
                return
            if sigmoid is not None:
                scores = values[:, 1] if values.shape[1] == 2 else values
                values = platt.probabilities(scores, np.array(sigmoid))
            elif not self.has_probabilities():
                return
            values = values[np.arange(len(values)), self.evaluator.y[self.rows]]
        partial = path.with_name(f".{path.name}.{os.getpid()}.npy")
        np.save(partial, values)
        partial.replace(path)


def best_round(fitted: Any) -> int:
    """The round with the best score on the validation rows: of trees, or of passes over the rows."""
    passes = vars(fitted).get("validation_scores_")
    if passes is not None:
        return 1 + int(np.argmax(passes))
    return max(
        1, int(np.argmax(fitted.validation_score_))
    )  # the first score is before the first tree


def part_path(folder: str | Path, model: str, fold: str) -> Path:
    """The file with the predictions of one (model, fold)."""
    return Path(folder) / f"{model}-{fold}.npz"


def inner_path(folder: str | Path, model: str, fold: str) -> Path:
    """The file with the predictions of one (model, fold) on the inner folds of its training rows."""
    return Path(folder) / f"{model}-{fold}.inner.npy"
