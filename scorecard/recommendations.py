"""`python -m scorecard.recommendations TABLE:TARGET[:setting=value...] ...`: was the advice good?

Each table is compared as a user would. Then every model is fitted on all training rows with the
parameters that its search chose, and scored on the test set. Each line shows the recommended model and
its test score, the best model on the test set, the baseline, and the share of the best model's gain over
the baseline that the recommendation lost. The exit code is 1 if a recommended model is worse than the
baseline on the test set, or loses more than a fifth of that gain.

Here the test set is used for every model: the figures judge the recommendation and choose no model.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pellucid.comparison.execution.journal import RunState
from pellucid.comparison.execution.refit import Refitter
from pellucid.comparison.execution.run_folder import new_folder
from pellucid.comparison.planning.plan import Plan
from pellucid.comparison.planning.prepare import prepare
from pellucid.comparison.planning.settings import Settings
from pellucid.comparison.run import Run

MAX_LOST = 0.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all tables; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m scorecard.recommendations", description=__doc__
    )
    parser.add_argument("table", nargs="+", help="FILE:TARGET, then settings as :name=value")
    parser.add_argument("--json", metavar="FILE", help="append one line per table to FILE")
    options = parser.parse_args(arguments)
    bad = 0
    for text in options.table:
        path, target, *more = text.split(":")
        given = {"effort": "quick"} | dict(part.split("=", 1) for part in more)
        try:
            found = followed(path, {"target": target, **given})
        except Exception as error:  # one table must not end the others
            found = {
                "table": Path(path).name,
                "error": f"{type(error).__name__}: {error}",
                "bad": True,
            }
        bad += found["bad"]
        print(line(found), flush=True)
        if options.json:
            with Path(options.json).open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
    return int(bad > 0)


def followed(path: str, given: dict[str, Any]) -> dict[str, Any]:
    """One table: the recommendation, and the test scores of all models."""
    began = time.monotonic()
    plan, findings = prepare(path, Settings.of(given))
    with tempfile.TemporaryDirectory() as temporary:
        folder = new_folder(f"{temporary}/run", plan.dataset.name, False)
        result = Run(plan, folder, lambda event: None, findings).run()
        seconds = time.monotonic() - began
        tests = dict(scores_on_test_set(plan, RunState.read(folder / "events.jsonl")))
    return judged(plan, result.data, tests) | {
        "table": Path(path).name,
        "seconds": round(seconds, 1),
    }


def scores_on_test_set(plan: Plan, state: RunState) -> Iterator[tuple[str, float]]:
    """Every model that finished, with its score on the test set."""
    refitter = Refitter.of(plan, state)
    for name in refitter.chosen if len(plan.test) else ():
        with refitter.fitted(name) as (fitted, evaluator, task):
            X = evaluator.rows(task.test)
            predictions = evaluator.predict(fitted, X)
            scores = evaluator.score(task.metrics[:1], fitted, X, task.test, predictions)
            yield name, scores[plan.metric.name]


def judged(plan: Plan, data: dict[str, Any], tests: dict[str, float]) -> dict[str, Any]:
    """The recommendation against the best model and the baseline on the test set."""
    sign, recommended = plan.metric.sign, data["recommended"]
    baseline = next(row["model"] for row in data["leaderboard"] if row["baseline"])
    board = {row["model"]: row["mean"] for row in data["leaderboard"] if row["place"]}
    known = {name: value for name, value in tests.items() if value == value}
    out = {
        "rows": len(plan.dataset.y), "features": len(plan.dataset.columns),
        "metric": plan.metric.name, "recommended": recommended, "board": board, "tests": known,
        "best_cv": max(board, key=lambda name: sign * board[name], default=None),
        "as_good": data["verdict"]["as_good"], "baseline": baseline, "bad": False, "lost": None,
    }  # fmt: skip
    if recommended not in known or baseline not in known:
        return out | {"best_test": None}
    best = max(known, key=lambda name: sign * known[name])
    gain = sign * (known[best] - known[baseline])
    lost = sign * (known[best] - known[recommended]) / gain if gain > 0 else 0.0
    below = sign * known[recommended] < sign * known[baseline]
    return out | {"best_test": best, "lost": lost, "bad": below or lost > MAX_LOST}


def line(found: dict[str, Any]) -> str:
    """One row of the printed table."""
    if "error" in found:
        return f"| {found['table']} | {found['error']} |"
    tests, best = found["tests"], found["best_test"]
    shown = [f"{found['rows']} x {found['features']}", f"{found['seconds']:.0f} s", found["metric"]]
    shown += [f"{m} {found['board'][m]:.4g}" for m in (found["recommended"], found["best_cv"])]
    if best is None:
        return f"| {found['table']} | {' | '.join(shown)} | no test set |"
    shown += [f"{m} {tests[m]:.4g}" for m in (found["recommended"], best, found["baseline"])]
    shown.append(f"{100 * found['lost']:.0f} %{' BAD' if found['bad'] else ''}")
    return f"| {found['table']} | {' | '.join(shown)} |"


if __name__ == "__main__":
    sys.exit(main())
